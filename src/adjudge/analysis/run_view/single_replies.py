"""What is collected from single replies, because results do not hold it: samples, positions and spans of
choices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...records import PART_KINDS, Judgment, Order, Protocol, Subject
from ...results.combine import Kind, choice_criterion
from ...stats import Position
from ...store import Judged
from .positions import Positions, choices_in, position_of, positions_of
from .result_facts import as_number
from .run_view import SampleKey
from .tally import CriterionKey


class SingleReplies:
    """What is collected from single judgments before they are combined."""

    def __init__(self, protocols: Mapping[str, Protocol], has_samples: bool, keeps_spans: bool) -> None:
        self.choice_spans: dict[tuple[int, int], tuple[int, int]] = {}
        self.protocols = protocols
        self._has_samples = has_samples
        self._keeps_spans = keeps_spans
        self.shown: dict[CriterionKey, dict[tuple[int, int, str], list[Position | None]]] = {}
        """criterion → (item, sample, model) → the position chosen in order ab, and in order ba"""
        self._seq = -1
        self._calls: dict[tuple[str, str, str, int], Judged] = {}
        """the first call of each comparison of the current item"""
        self._samples: dict[SampleKey, dict[Order, list[float]]] = {}

    @property
    def are_needed(self) -> bool:
        """Whether there is anything to collect."""
        has_pairs = any(protocol.task == "compare" for protocol in self.protocols.values())
        return has_pairs or self._has_samples or self._keeps_spans

    def watch(self, judgments: Iterable[Judged]) -> Iterator[Judged]:
        for judged in judgments:
            if judged.judgment is not None and judged.seq >= 0 and judged.about.kind not in PART_KINDS:
                self._add_positions(judged, judged.judgment)
                if self._has_samples:
                    self._add_samples(judged, judged.judgment)
                if self._keeps_spans:
                    self._add_span(judged, judged.judgment)
            yield judged

    def _add_positions(self, judged: Judged, judgment: Judgment) -> None:
        protocol = self.protocols.get(judged.about.protocol)
        if protocol is None or protocol.task != "compare":
            return
        for criterion, choice in choices_in(judgment, protocol):
            shown = self.shown.setdefault((judged.about.protocol, criterion), {})
            place = (judged.seq, judged.about.sample, judged.about.model)
            if self._is_one_reply(judged, criterion):
                shown.pop(place, None)
                continue
            positions = shown.setdefault(place, [None, None])
            positions[0 if judged.about.order == "ab" else 1] = position_of(choice, judged.about.order)

    def _is_one_reply(self, judged: Judged, criterion: str) -> bool:
        """Whether the other order of this pair is the same call:
        its responses are identical, and have no position.
        """
        about = judged.about
        key = (about.protocol, criterion, about.model, about.sample)
        if judged.seq != self._seq:
            self._seq, self._calls = judged.seq, {}
        first = self._calls.setdefault(key, judged)
        return first.call == judged.call and first.about.order != about.order

    def _add_samples(self, judged: Judged, judgment: Judgment) -> None:
        if judged.item is None:
            return
        about = judged.about

        def add(criterion: str, subject: Subject | None, kind: Kind, value: float) -> None:
            assert judged.item is not None
            key = (about.protocol, criterion, about.model, judged.item.id, subject, kind)
            self._samples.setdefault(key, {}).setdefault(about.order, []).append(value)

        for score in judgment.scores:
            if score.value is not None:
                add(score.criterion, score.subject, "scores", score.value)
        if judgment.choice is not None and about.criteria:
            add(choice_criterion(about.criteria), None, "choices", as_number(judgment.choice))

    def _add_span(self, judged: Judged, judgment: Judgment) -> None:
        # A choice that was read from a second question is in another reply.
        if judgment.choice_span is not None and judgment.choice_how != "reask":
            self.choice_spans[judged.seq, judged.call_index] = judgment.choice_span

    def position_biases(self) -> dict[CriterionKey, Positions]:
        return {key: positions_of(shown) for key, shown in self.shown.items()}

    def sample_values(self) -> dict[SampleKey, tuple[float, ...]]:
        """The samples of each result; of the two orders of a pair, those of the order with more samples."""
        values: dict[SampleKey, tuple[float, ...]] = {}
        for key, orders in self._samples.items():
            longest = max(orders, key=lambda order: len(orders[order]))
            values[key] = tuple(orders[longest])
        return values

"""What is collected from single replies before they are
combined: samples, positions, digests and spans of choices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b

import msgspec

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

    def __init__(
        self, protocols: Mapping[str, Protocol], has_samples: bool, digest_salt: str | None, keeps_spans: bool
    ) -> None:
        self.n_reasks_failed = 0
        self.digests: dict[tuple[str, str], dict[str, int]] = {}
        self.choice_spans: dict[tuple[int, int], tuple[int, int]] = {}
        self._protocols = protocols
        self._has_samples = has_samples
        self._digest_salt = digest_salt
        self._keeps_spans = keeps_spans
        self.shown: dict[CriterionKey, dict[tuple[int, int, str], list[Position | None]]] = {}
        """criterion → (item, sample, model) → the position chosen in order ab, and in order ba"""
        self._seq = -1
        self._calls: dict[tuple[str, str, str, int], Judged] = {}
        """the first call of each comparison of the current item"""
        self._samples: dict[SampleKey, dict[Order, list[float]]] = {}

    def watch(self, judgments: Iterable[Judged]) -> Iterator[Judged]:
        for judged in judgments:
            self.n_reasks_failed += judged.about.kind == "reask" and judged.error is not None
            if self._digest_salt is not None:
                self._add_digest(judged, self._digest_salt)
            if judged.judgment is not None and judged.seq >= 0 and judged.about.kind not in PART_KINDS:
                self._add_positions(judged, judged.judgment)
                if self._has_samples:
                    self._add_samples(judged, judged.judgment)
                if self._keeps_spans:
                    self._add_span(judged, judged.judgment)
            yield judged

    def _add_positions(self, judged: Judged, judgment: Judgment) -> None:
        protocol = self._protocols.get(judged.about.protocol)
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

    def _add_digest(self, judged: Judged, salt: str) -> None:
        """Equal digests mean the same calls (texts, prompt, judge, settings) and the same reading of each
        reply.

        A call without a reply equals no other: its reply is unknown.
        """
        if judged.item is None:
            return
        # The reply to a second question is part of the judgment of the first reply.
        is_read = judged.judgment is not None or judged.about.kind in PART_KINDS
        call_salt = "" if is_read and judged.error is None else salt
        content = msgspec.json.encode((judged.call, judged.about, judged.judgment, call_salt))
        by_model = self.digests.setdefault((judged.item.id, judged.about.protocol), {})
        # A sum, because two runs may make their calls in different orders.
        number = int.from_bytes(blake2b(content, digest_size=8).digest())
        by_model[judged.about.model] = by_model.get(judged.about.model, 0) + number

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

"""The notable items of a run: far from human labels, failed, worst, least certain, most disagreed on.

They are chosen in one pass over the results; nothing is random, so the same run always shows the same items.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from msgspec import Struct

from ..analysis.labels.labelled import LabelledTable
from ..records import Result, Scale
from ..words import score_text, status_text

# Notable items: far from human labels, failed, worst, least certain, most disagreed on

MOST_ITEMS = 20


_OF_A_KIND = 3


_FAILURE_WEIGHT = {"conflicting": 3.0, "refused": 3.0, "out_of_range": 2.0, "unparsed": 2.0, "truncated": 1.0}
"""A refusal or a conflict is rarer and says more than a missing reply."""


Scales = Mapping[tuple[str, str], Scale | None]
"""(protocol, criterion) → scale"""


class NotableItem(Struct, frozen=True):
    """An item and why it is shown."""

    item: str
    reasons: tuple[str, ...]
    criteria: frozenset[str] = frozenset()
    """the criteria that the reasons are about: calls on these are shown first"""


class Reason(Struct, frozen=True):
    """Why an item is shown, and the criterion that this is about."""

    words: str
    criterion: str


class _Heaviest:
    """The few items of largest weight; of equals those that came first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[tuple[float, int, str, Reason]] = []
        self._n_offered = 0

    def offer(self, weight: float, item: str, words: str, criterion: str) -> None:
        self._n_offered += 1
        entry = (weight, -self._n_offered, item, Reason(words, criterion))
        if any(kept[2] == item for kept in self._kept):
            return
        if len(self._kept) < self._most:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)

    def __iter__(self) -> Iterator[tuple[str, Reason]]:
        for _, _, item, reason in sorted(self._kept, reverse=True):
            yield item, reason


def notable_items(
    results: Iterable[Result],
    scales: Scales,
    points: Mapping[str, LabelledTable] | None = None,
    most: int = MOST_ITEMS,
) -> list[NotableItem]:
    """The most notable items, those farthest from people first.
    Each kind adds a few; an item may have several reasons.
    """
    kinds: dict[str, _Heaviest] = {
        name: _Heaviest(_OF_A_KIND)
        for name in ("far", "failed", "worst", "order", "judges", "samples", "unsure", "flagged")
    }
    _offer_far_from_people(kinds["far"], points or {})
    for _, group in groupby(results, key=lambda result: result.item):
        item_results = list(group)
        for result in item_results:
            _offer_result(result, scales, kinds)
        _offer_disagreement(item_results, scales, kinds["judges"])
    return _take_turns(kinds, most)


def _offer_result(result: Result, scales: Scales, kinds: Mapping[str, _Heaviest]) -> None:
    """Reasons that one result gives by itself."""
    item, criterion = result.item, result.criterion
    scale = scales.get((result.protocol, criterion))
    name = f"{criterion} of {result.subject}" if result.subject else criterion
    if result.status != "ok":
        words = f"{name}: {status_text(result.status)}"
        kinds["failed"].offer(_FAILURE_WEIGHT.get(result.status, 0.0), item, words, criterion)
    elif result.value is not None and (badness := _badness(result.value, scale)):
        kinds["worst"].offer(
            badness, item, f"among the lowest on {name}: {score_text(result.value)}", criterion
        )
    if result.spread:
        words = f"samples differ on {name} (standard deviation {result.spread:.2f})"
        kinds["samples"].offer(result.spread / _width(scale), item, words, criterion)
    if result.confidence is not None and result.status == "ok":
        words = f"lowest stated confidence on {name} ({result.confidence:.2f})"
        kinds["unsure"].offer(-result.confidence, item, words, criterion)
    if "order_conflict" in result.flags:
        kinds["order"].offer(0.0, item, f"the choice on {name} changed with the order", criterion)
    for flag in ("injection_suspected", "verdict_contradicts_scores"):
        if flag in result.flags:
            kinds["flagged"].offer(0.0, item, flag.replace("_", " "), criterion)


def _offer_disagreement(results: list[Result], scales: Scales, judges: _Heaviest) -> None:
    """Several judges that disagree on one item."""
    if len({result.model for result in results}) < 2:
        return
    by_question: dict[tuple[str, str, str | None], list[Result]] = {}
    for result in results:
        by_question.setdefault((result.protocol, result.criterion, result.subject), []).append(result)
    item = results[0].item
    for (protocol, criterion, _), answers in by_question.items():
        values = [result.value for result in answers if result.value is not None]
        choices = {result.choice for result in answers if result.choice is not None}
        if len(values) > 1 and max(values) > min(values):
            difference = (max(values) - min(values)) / _width(scales.get((protocol, criterion)))
            words = f"judges differ on {criterion}: {score_text(min(values))} and {score_text(max(values))}"
            judges.offer(difference, item, words, criterion)
        elif {"a", "b"} <= choices:
            judges.offer(1.0, item, f"judges choose opposite sides on {criterion}", criterion)


def _offer_far_from_people(far: _Heaviest, points: Mapping[str, LabelledTable]) -> None:
    for name, joined in points.items():
        if not joined.is_same_scale:
            continue
        for row in joined.labelled():
            if isinstance(row.answer, float | int) and isinstance(row.label, float | int):
                difference = abs(row.answer - row.label)
                if difference:
                    words = f"{name}: judge {score_text(row.answer)}, people {score_text(row.label)}"
                    far.offer(difference / _width(joined.scale), row.item, words, joined.criterion)
            elif isinstance(row.answer, str) and isinstance(row.label, str) and row.answer != row.label:
                weight = 0.5 if "tie" in (row.answer, row.label) else 1.0
                words = f"{name}: judge chose {row.answer}, people {row.label}"
                far.offer(weight, row.item, words, joined.criterion)


def _take_turns(kinds: Mapping[str, _Heaviest], most: int) -> list[NotableItem]:
    """One of each kind, then the second of each, so that no kind crowds out the others."""
    reasons: dict[str, list[Reason]] = {}
    queues = [list(few) for few in kinds.values()]
    for position in range(_OF_A_KIND):
        for queue in queues:
            if position < len(queue):
                item, reason = queue[position]
                if item in reasons or len(reasons) < most:
                    reasons.setdefault(item, []).append(reason)
    return [
        NotableItem(
            item,
            tuple(dict.fromkeys(reason.words for reason in of_item)),
            frozenset(reason.criterion for reason in of_item),
        )
        for item, of_item in reasons.items()
    ]


def _badness(value: float, scale: Scale | None) -> float | None:
    """How bad a score is, comparable between criteria: 0 at
    the best end of the scale; none where that is unknown.
    """
    if scale is None or scale.direction == 0:
        return None
    normal = scale.normalized(value)
    return 1 - normal if normal is not None else -value * scale.direction / 1e6


def _width(scale: Scale | None) -> float:
    if scale is None or scale.low is None or scale.high is None or scale.high <= scale.low:
        return 1.0
    return scale.high - scale.low

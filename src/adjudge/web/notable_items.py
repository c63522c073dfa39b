"""Which items tell most about a run: far from people, failed, worst, most uncertain, most disagreeing.

One pass over the results, keeping a few of each kind; nothing is drawn at random, so the same run always shows the
same items. Knows nothing of pages.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from msgspec import Struct

from ..analysis.label_join import Joined
from ..records import Result, Scale

MOST_ITEMS = 20
_OF_A_KIND = 3
_FAILURE_WEIGHT = {"conflicting": 3.0, "refused": 3.0, "out_of_range": 2.0, "unparsed": 2.0, "truncated": 1.0}
"""A refusal or a conflict is rarer than a missing reply, and tells more."""

Scales = Mapping[tuple[str, str], Scale | None]
"""(protocol, criterion) → scale"""


class Telling(Struct, frozen=True):
    """An item and why it is shown."""

    item: str
    reasons: tuple[str, ...]
    criteria: frozenset[str] = frozenset()
    """what the reasons are about: replies on these come first"""


class Why(Struct, frozen=True):
    """One reason, and the criterion that it is about."""

    words: str
    criterion: str


class _Few:
    """The few candidates that weigh most; of equals those that came first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[tuple[float, int, str, Why]] = []
        self._n = 0

    def offer(self, weight: float, item: str, words: str, criterion: str) -> None:
        self._n += 1
        entry = (weight, -self._n, item, Why(words, criterion))
        if any(kept[2] == item for kept in self._kept):
            return
        if len(self._kept) < self._most:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)

    def __iter__(self) -> Iterator[tuple[str, Why]]:
        for _, _, item, reason in sorted(self._kept, reverse=True):
            yield item, reason


def telling_items(
    results: Iterable[Result],
    scales: Scales,
    points: Mapping[str, Joined] | None = None,
    most: int = MOST_ITEMS,
) -> list[Telling]:
    """The most telling items, those farthest from people first. Each kind gives a few; an item may have several reasons."""
    kinds: dict[str, _Few] = {
        name: _Few(_OF_A_KIND)
        for name in ("far", "failed", "worst", "order", "judges", "samples", "unsure", "flagged")
    }
    _far_from_people(kinds["far"], points or {})
    for _, same in groupby(results, key=lambda result: result.item):
        of_item = list(same)
        for result in of_item:
            _look_at(result, scales, kinds)
        _look_across(of_item, scales, kinds["judges"])
    return _in_turn(kinds, most)


def _look_at(result: Result, scales: Scales, kinds: Mapping[str, _Few]) -> None:
    """What one result tells by itself."""
    item, criterion = result.item, result.criterion
    scale = scales.get((result.protocol, criterion))
    name = f"{criterion} of {result.subject}" if result.subject else criterion
    if result.status != "ok":
        words = f"{name}: {result.status.replace('_', ' ')}"
        kinds["failed"].offer(_FAILURE_WEIGHT.get(result.status, 0.0), item, words, criterion)
    elif result.value is not None and (badness := _badness(result.value, scale)):
        kinds["worst"].offer(badness, item, f"among the lowest on {name}: {result.value:.4g}", criterion)
    if result.spread:
        words = f"samples differ on {name} (standard deviation {result.spread:.2f})"
        kinds["samples"].offer(result.spread / _width(scale), item, words, criterion)
    if result.confidence is not None and result.status == "ok":
        words = f"the judge was least sure of {name} ({result.confidence:.2f})"
        kinds["unsure"].offer(-result.confidence, item, words, criterion)
    if "order_conflict" in result.flags:
        kinds["order"].offer(0.0, item, f"the order shown decided {name}", criterion)
    for flag in ("injection_suspected", "verdict_contradicts_scores"):
        if flag in result.flags:
            kinds["flagged"].offer(0.0, item, flag.replace("_", " "), criterion)


def _look_across(of_item: list[Result], scales: Scales, judges: _Few) -> None:
    """What several judges say of the same thing."""
    if len({result.model for result in of_item}) < 2:
        return
    said: dict[tuple[str, str, str | None], list[Result]] = {}
    for result in of_item:
        said.setdefault((result.protocol, result.criterion, result.subject), []).append(result)
    for (protocol, criterion, _), own in said.items():
        values = [result.value for result in own if result.value is not None]
        choices = {result.choice for result in own if result.choice is not None}
        if len(values) > 1 and max(values) > min(values):
            apart = (max(values) - min(values)) / _width(scales.get((protocol, criterion)))
            words = f"judges differ on {criterion}: {min(values):.4g} and {max(values):.4g}"
            judges.offer(apart, own[0].item, words, criterion)
        elif {"a", "b"} <= choices:
            judges.offer(1.0, own[0].item, f"judges choose opposite sides on {criterion}", criterion)


def _far_from_people(far: _Few, points: Mapping[str, Joined]) -> None:
    for name, joined in points.items():
        if not joined.is_same_scale:
            continue
        for row in joined.labelled():
            if isinstance(row.answer, float | int) and isinstance(row.label, float | int):
                apart = abs(row.answer - row.label)
                if apart:
                    words = f"{name}: the judge says {row.answer:.4g}, people {row.label:.4g}"
                    far.offer(apart / _width(joined.scale), row.item, words, joined.criterion)
            elif isinstance(row.answer, str) and isinstance(row.label, str) and row.answer != row.label:
                weight = 0.5 if "tie" in (row.answer, row.label) else 1.0
                words = f"{name}: the judge chose {row.answer}, people {row.label}"
                far.offer(weight, row.item, words, joined.criterion)


def _in_turn(kinds: Mapping[str, _Few], most: int) -> list[Telling]:
    """One of each kind, then the second of each, so that no kind crowds out the others."""
    reasons: dict[str, list[Why]] = {}
    queues = [list(few) for few in kinds.values()]
    for place in range(_OF_A_KIND):
        for queue in queues:
            if place < len(queue):
                item, why = queue[place]
                if item in reasons or len(reasons) < most:
                    reasons.setdefault(item, []).append(why)
    return [
        Telling(item, tuple(dict.fromkeys(why.words for why in own)), frozenset(why.criterion for why in own))
        for item, own in reasons.items()
    ]


def _badness(value: float, scale: Scale | None) -> float | None:
    """How bad a score is, on one measure for all criteria with ends: 0 at the best end, none where no end is known."""
    if scale is None or scale.direction == 0:
        return None
    normal = scale.normalized(value)
    return 1 - normal if normal is not None else -value * scale.direction / 1e6


def _width(scale: Scale | None) -> float:
    if scale is None or scale.low is None or scale.high is None or scale.high <= scale.low:
        return 1.0
    return scale.high - scale.low

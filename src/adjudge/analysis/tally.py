"""Takes results one by one and keeps of each only numbers, so that a run of any size can be reported.

Items are known by a 64-bit hash of their id: at a hundred thousand items two of them share one
with a chance below one in a thousand million. Texts (ids, explanations) are not kept.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from hashlib import blake2b
from statistics import median
from typing import Literal, TypeVar, get_args

from msgspec import structs

from ..combine import Kind
from ..records import Result, Scale, Status
from ..stats import Column, Spread, bounds, joined, minimum_detectable, missing_from, pooled, spread
from .result_types import Cell, CriterionSummary

STATUSES: tuple[Status, ...] = get_args(Status)
SIGN = {"a": 1.0, "b": -1.0, "tie": 0.0}
"""A choice as a number, so that several judges' choices can be averaged to a vote."""

Pair = tuple[str, str]
Where = tuple[str, str]
"""protocol and criterion"""


class Scores:
    """What one judge gave on one criterion to one system, or said of one pair of systems."""

    __slots__ = ("failed", "n_partial", "n_samples", "n_samples_failed", "ok")

    def __init__(self) -> None:
        self.ok = Column()
        self.failed = Column()
        """the value is the place of the status in `STATUSES`"""
        self.n_partial = 0
        self.n_samples = 0
        """replies that were to be read; more than results where each item was judged several times"""
        self.n_samples_failed = 0

    @property
    def n(self) -> int:
        return len(self.ok) + len(self.failed)

    def failures(self) -> dict[str, int]:
        """status → how many failed so."""
        return {STATUSES[int(code)]: count for code, count in self.failed.counts().items()}


def panel(parts: list[Scores]) -> Scores:
    """Several judges' scores as one: the mean per item; an item fails only where every judge failed."""
    if len(parts) == 1:
        return parts[0]
    whole = Scores()
    whole.ok, whole.n_partial = pooled([part.ok for part in parts])
    whole.n_samples = sum(part.n_samples for part in parts)
    whole.n_samples_failed = sum(part.n_samples_failed for part in parts)
    whole.failed = missing_from(joined([part.failed for part in parts]), whole.ok)
    return whole


class Tally:
    """All results of a run, added up. Keys keep the order in which they were first seen."""

    def __init__(self) -> None:
        self.scores: dict[Where, dict[str, dict[str, Scores]]] = {}
        """(protocol, criterion) → model → system"""
        self.choices: dict[Where, dict[str, dict[Pair, Scores]]] = {}
        """(protocol, criterion) → model → (system_a, system_b)"""
        self.rungs: dict[str, Counter[str]] = {}
        self.flagged: dict[str, array[int]] = {}
        self.items = array("q")
        self.models: dict[str, None] = {}
        self.protocols: dict[str, None] = {}
        self._frames: set[Pair] = set()
        """pairs as they were first seen: a pair that comes the other way round is turned to match"""
        self._last: tuple[str, int] = ("", key_of(""))

    def add(self, result: Result, kind: Kind) -> None:
        """Add one result, which is a score or a choice."""
        item = self._item_key(result.item)
        self.models.setdefault(result.model)
        self.protocols.setdefault(result.protocol)
        for flag in result.flags:
            seen = self.flagged.setdefault(flag, array("q"))
            if not seen or seen[-1] != item:
                seen.append(item)
        rungs = self.rungs.setdefault(result.model, Counter())
        is_read = self._add_choice(result, item) if kind == "choices" else self._add_score(result, item)
        rungs[(result.how or "not recorded") if is_read else "failed"] += 1

    def _add_score(self, result: Result, item: int) -> bool:
        where = (result.protocol, result.criterion)
        scores = _at(_at_model(self.scores, where, result.model), system_of(result))
        # Both responses of a pair may come from one system: they are two scores of one item.
        key = item if result.subject is None else item ^ _SUBJECT_KEYS[result.subject]
        is_marked = "injection_suspected" in result.flags
        return _put(scores, result, key, item, result.value if result.status == "ok" else None, is_marked)

    def _add_choice(self, result: Result, item: int) -> bool:
        pair, sign = self._framed((result.system_a or "a", result.system_b or "b"))
        where = (result.protocol, result.criterion)
        scores = _at(_at_model(self.choices, where, result.model), pair)
        value = sign * SIGN[result.choice] if result.status == "ok" and result.choice is not None else None
        return _put(scores, result, item, item, value, "order_conflict" in result.flags)

    def _framed(self, pair: Pair) -> tuple[Pair, float]:
        """A pair as it was first seen, and -1 where it had to be turned for that."""
        sign = 1.0
        if pair[::-1] in self._frames and pair[0] != pair[1]:
            pair, sign = (pair[1], pair[0]), -1.0
        self._frames.add(pair)
        return pair, sign

    def _item_key(self, item: str) -> int:
        """The hash of an item's id; results of one item mostly follow each other."""
        if not self.items or self._last[0] != item:
            self._last = (item, key_of(item))
            self.items.append(self._last[1])
        return self._last[1]


TallyKey = TypeVar("TallyKey", bound=Hashable)


def _at_model(
    places: dict[Where, dict[str, dict[TallyKey, Scores]]], where: Where, model: str
) -> dict[TallyKey, Scores]:
    return places.setdefault(where, {}).setdefault(model, {})


def _at(places: dict[TallyKey, Scores], place: TallyKey) -> Scores:
    if place not in places:
        places[place] = Scores()
    return places[place]


def system_of(result: Result) -> str:
    """The system whose output was scored."""
    if result.subject is None:
        return result.system
    named = result.system_a if result.subject == "a" else result.system_b
    return named or (result.system if result.system != "all" else result.subject)


def key_of(text: str) -> int:
    """A number for a text, the same in every process."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


_SUBJECT_KEYS = {subject: key_of(f"subject {subject}") for subject in ("a", "b")}


def _put(scores: Scores, result: Result, key: int, item: int, value: float | None, is_marked: bool) -> bool:
    """Note one result; whether it has a usable value."""
    group = item if result.group is None else key_of(result.group)
    is_grouped = result.group is not None
    n_samples = max(1, result.n_samples)
    is_usable = value is not None and math.isfinite(value)
    scores.n_samples += n_samples
    # Of a pair that came to nothing, one order may have been read all the same.
    n_failed = result.n_failed or (0 if is_usable else n_samples)
    scores.n_samples_failed += min(n_samples, n_failed)
    if value is not None and is_usable:
        scores.ok.add(key, value, group, is_grouped=is_grouped, is_marked=is_marked)
        return True
    # A result that calls itself ok without a usable number is a failure all the same.
    status: Status = result.status
    if status == "ok":
        status = "unparsed" if value is None else "out_of_range"
    scores.failed.add(key, STATUSES.index(status), group, is_grouped=is_grouped, is_marked=is_marked)
    return False


# One cell of a report: a criterion's mean for a system, with its failures and how its scores are spread.


_MOST_VALUES = 25
"""Of more different values than this, a count by value tells nobody anything."""


def cell(scores: Scores, scale: Scale | None) -> Cell:
    n_failed = len(scores.failed)
    low, high = (scale.low, scale.high) if scale is not None else (None, None)
    limits = scale.limits if scale is not None else None
    estimate = scores.ok.mean(n_failed, limits)
    n_flagged = sum(scores.ok.marks)
    counts, of = _counts(scores.ok, scale)
    return Cell(
        **structs.asdict(estimate),
        failures=scores.failures(),
        bounds=bounds(scores.ok.values, n_failed, low, high),
        distribution={key_text(value): count for value, count in counts.items()} if of != "nothing" else {},
        distribution_of=of,
        n_samples=scores.n_samples,
        n_samples_failed=scores.n_samples_failed,
        n_groups=scores.ok.n_groups() if scores.ok.clusters() is not None else None,
        n_partial=scores.n_partial,
        n_flagged=n_flagged,
        without_flagged=scores.ok.unmarked().mean(n_failed, limits) if n_flagged else None,
    )


def criterion_summary(
    protocol: str, criterion: str, by_system: Mapping[str, Scores], scale: Scale | None
) -> CriterionSummary:
    """What holds for one criterion over all systems."""
    columns = [scores.ok for scores in by_system.values()]
    return CriterionSummary(
        protocol=protocol,
        criterion=criterion,
        scale=scale,
        spread=spread_of(joined(columns), scale),
        minimum_detectable=_minimum_detectable(columns),
    )


def spread_of(column: Column, scale: Scale | None) -> Spread:
    """The spread over the levels of the scale, or over the values seen where it has none."""
    levels = scale.values(_MOST_VALUES) if scale is not None else []
    if not levels:
        return spread(column.counts())
    return spread(_at_nearest(column.counts(), levels), len(levels))


def best_first(
    systems: Mapping[str, dict[str, Cell]], scales: Sequence[Scale | None]
) -> dict[str, dict[str, Cell]]:
    """Systems in the order of their means on the first criterion; as they came where no end is known as good."""
    criteria = list(dict.fromkeys(name for cells in systems.values() for name in cells))
    sign = scales[0].direction if scales and scales[0] is not None else 0
    if not criteria or sign == 0:
        return dict(systems)

    def place(system: str) -> tuple[bool, float]:
        found = systems[system].get(criteria[0])
        if found is None or found.value is None:
            return True, 0.0
        return False, -sign * found.value

    return {system: systems[system] for system in sorted(systems, key=place)}


def _counts(
    column: Column, scale: Scale | None
) -> tuple[dict[float, int], Literal["values", "nearest levels", "nothing"]]:
    counts = column.counts()
    if len(counts) <= _MOST_VALUES:
        return counts, "values"
    levels = scale.values(_MOST_VALUES) if scale is not None else []
    return (_at_nearest(counts, levels), "nearest levels") if levels else ({}, "nothing")


def _at_nearest(counts: Mapping[float, int], levels: Sequence[float]) -> dict[float, int]:
    """Counts moved to the nearest level: means of samples lie between the levels."""
    near: dict[float, int] = {}
    for value, count in counts.items():
        level = min(levels, key=lambda level: (abs(level - value), level))
        near[level] = near.get(level, 0) + count
    return near


def _minimum_detectable(columns: Sequence[Column]) -> float | None:
    """For two systems of this run's typical size, compared without pairing their items."""
    found = [precision for column in columns if (precision := column.precision()) is not None]
    if not found:
        return None
    n_units = round(median(precision.n_units for precision in found))
    sd = math.hypot(*(precision.se for precision in found)) * math.sqrt(n_units / len(found))
    return minimum_detectable(n_units, sd)


def key_text(value: float) -> str:
    """A value as a key: 4 rather than 4.0."""
    value = float(value)  # the ends of a scale may be whole numbers in its file
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)

"""Several judges of one criterion: which of two goes with people better, on the items that both scored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations

from ..stats import Resample, compare_judges
from .join import Joined, numbers
from .shapes import JudgesApart

MOST_JUDGES = 4
"""Judges of which every two are compared; of more, each only with the first."""


def judges_apart(tables: Mapping[str, Joined], resample: Resample, seed: int) -> tuple[JudgesApart, ...]:
    """Every two judges of a criterion, a judge being a model with a protocol."""
    by_criterion: dict[str, list[str]] = defaultdict(list)
    for name, joined in tables.items():
        if joined.kind == "scores" and joined.labelled():
            by_criterion[joined.criterion].append(name)
    return tuple(
        _apart(criterion, first, second, tables, resample, seed)
        for criterion, names in by_criterion.items()
        for first, second in combinations(names, 2)
        if len(names) <= MOST_JUDGES or first == names[0]
    )


def _apart(
    criterion: str, first: str, second: str, tables: Mapping[str, Joined], resample: Resample, seed: int
) -> JudgesApart:
    rows = tables[first].labelled()
    other = {(row.item, row.subject): row.answer for row in tables[second].rows}
    found = compare_judges(
        numbers(row.answer for row in rows),
        numbers(other.get((row.item, row.subject)) for row in rows),
        numbers(row.label for row in rows),
        groups=tables[first].groups(rows),
        systems=[row.system for row in rows],
        resample=resample,
        seed=seed,
    )
    return JudgesApart(criterion, first, second, found)

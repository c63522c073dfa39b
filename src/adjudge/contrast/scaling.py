"""Whether two runs' scores of one criterion may be subtracted from each other, and which sign means better.

Where the scales are the same, scores are taken as they are. Where they differ, each is taken as a share of its own scale,
from the bad end. Where that has no meaning (an open scale, or one whose good end nobody knows), only the order compares.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ..records import Result, Scale
from .shapes import Unit


class Scaling(Struct, frozen=True):
    """How the scores of one criterion are made comparable."""

    unit: Unit
    limits: tuple[float, float] | None
    """the ends in that unit; none where the scale is open or the unit is a rank"""
    direction: int
    """of the difference: 1 where more is better, -1 where less is, 0 where nobody knows"""
    signs: tuple[int, int]
    """which sign makes the better score the greater one, in either run"""
    note: str = ""


def direction(scale: Scale | None) -> int:
    """1 where more is better, -1 where less is, 0 where nobody knows."""
    if scale is None or scale.best == "unknown":
        return 0
    return 1 if scale.best == "high" or scale.best == scale.high else -1


def scaling(first: Scale | None, second: Scale | None, runs: tuple[str, str]) -> Scaling:
    """The strongest comparison that the two scales allow."""
    if first is None or second is None:
        if first is not None or second is not None:
            which = runs[0] if first is None else runs[1]
            note = f"The scale of {which} is not known: scores are compared as they are."
            return Scaling("points", None, 0, (1, 1), note)
        return Scaling("points", None, 0, (1, 1))
    ways = direction(first), direction(second)
    same_ends = (first.low, first.high) == (second.low, second.high)
    limits = _limits(first)
    if same_ends and ways[0] == ways[1] != 0:
        return Scaling("points", limits, ways[0], ways)
    if 0 in ways:
        return _of_unknown_direction(first, ways, same_ends, runs)
    if limits is not None and _limits(second) is not None:
        told = f"{_ends(first)} in {runs[0]}, {_ends(second)} in {runs[1]}"
        note = (
            f"The scales differ ({told}): each score counts as its share of its own scale, from 0, bad, to 1, good. "
            "A difference may come from the scale alone."
        )
        return Scaling("normalized", (0.0, 1.0), 1, (1, 1), note)
    return Scaling(
        "rank",
        None,
        0,
        ways,
        "The scales have nothing in common: only the order of items and systems compares.",
    )


def _of_unknown_direction(
    first: Scale, ways: tuple[int, int], same_ends: bool, runs: tuple[str, str]
) -> Scaling:
    unknown = " and ".join(run for run, way in zip(runs, ways, strict=True) if way == 0)
    told = f"Nobody knows which end of the scale is good in {unknown}: no word here about better or worse"
    if same_ends:
        return Scaling("points", _limits(first), 0, (1, 1), f"{told}; scores are compared as they are.")
    return Scaling(
        "rank",
        None,
        0,
        (1, 1),
        f"{told}, and the scales differ: only the order of items and systems compares.",
    )


def _limits(scale: Scale) -> tuple[float, float] | None:
    return None if scale.low is None or scale.high is None else (scale.low, scale.high)


def _ends(scale: Scale) -> str:
    better = "high" if direction(scale) == 1 else "low"
    return f"{scale.low:g}–{scale.high:g}, {better} is good"


def inferred(results: Iterable[Result]) -> Scale | None:
    """The scale behind results that carry a normalised score too; none where two different values are missing."""
    points = sorted(
        {
            (row.value, row.normalized)
            for row in results
            if row.value is not None and row.normalized is not None
        }
    )
    if not points:
        return None
    (value, share), (other, other_share) = points[0], points[-1]
    if value == other or share == other_share:
        return None
    width = (other - value) / (other_share - share)
    bad = round(value - share * width, 9)
    good = round(bad + width, 9)
    return Scale(min(bad, good), max(bad, good), good)

"""Whether the scores of two runs can be subtracted, and which sign is better."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ...records import Result, Scale
from .comparison import Unit

#
# On the same scale, raw scores are compared. On different scales, each score counts as a share of its
# scale, from the bad end. Where that has no meaning (unbounded scale, unknown direction), only ranks can be
# compared.


class Scaling(Struct, frozen=True):
    """How the scores of one criterion become comparable."""

    unit: Unit
    limits: tuple[float, float] | None
    """lowest and highest value in that unit; none where the scale is unbounded or the unit is a rank"""
    direction: int
    """of the difference: 1 where higher is better, -1 where lower is, 0 where that is unknown"""
    signs: tuple[int, int]
    """for each run the sign that makes higher better"""
    note: str = ""


def choose_scaling(first: Scale | None, second: Scale | None, runs: tuple[str, str]) -> Scaling:
    """The most precise comparison that the two scales allow."""
    if first is None or second is None:
        if first is not None or second is not None:
            which = runs[0] if first is None else runs[1]
            note = f"The scale of {which} is unknown: raw scores are compared."
            return Scaling("points", None, 0, (1, 1), note)
        return Scaling("points", None, 0, (1, 1))
    directions = first.direction, second.direction
    same_ends = (first.low, first.high) == (second.low, second.high)
    limits = first.limits
    if same_ends and directions[0] == directions[1] != 0:
        return Scaling("points", limits, directions[0], directions)
    if 0 in directions:
        return _unknown_direction(first, directions, same_ends, runs)
    if limits is not None and second.limits is not None:
        ends = f"{_ends(first)} in {runs[0]}, {_ends(second)} in {runs[1]}"
        note = (
            f"The scales differ ({ends}): each score is normalized to its own scale, from 0 (worst) "
            "to 1 (best). A difference may come from the scale alone."
        )
        return Scaling("normalized", (0.0, 1.0), 1, (1, 1), note)
    return Scaling(
        "rank",
        None,
        0,
        directions,
        "The scales are not comparable: only the ranks of items and systems are compared.",
    )


def _unknown_direction(
    first: Scale, directions: tuple[int, int], same_ends: bool, runs: tuple[str, str]
) -> Scaling:
    unknown = " and ".join(run for run, direction in zip(runs, directions, strict=True) if direction == 0)
    start = f"It is unknown which end of the scale is good in {unknown}: nothing is called better or worse"
    if same_ends:
        return Scaling("points", first.limits, 0, (1, 1), f"{start}; raw scores are compared.")
    return Scaling(
        "rank",
        None,
        0,
        (1, 1),
        f"{start}, and the scales differ: only the ranks of items and systems are compared.",
    )


def _ends(scale: Scale) -> str:
    better = "high" if scale.direction == 1 else "low"
    return f"{scale.low:g}–{scale.high:g}, {better} is good"


def inferred(results: Iterable[Result]) -> Scale | None:
    """The scale of results that also have a normalized score; none without two different values."""
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

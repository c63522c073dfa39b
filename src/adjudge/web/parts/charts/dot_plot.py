"""Dot plots: dots with their intervals, one row to a picture, all rows on one axis."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from ....sections import Mark
from .axis import Domain, ticks
from .svg import chart, circle, gridlines, line

_HEIGHT = 24


def strip(
    marks: Sequence[Mark],
    domain: Domain,
    title: str,
    *,
    reference: float | None = None,
) -> Markup:
    """One row: a dot with its interval for each mark, hollow after the first. An undefined value has no dot,
    but its range is drawn.
    """
    parts = [gridlines([domain.along(tick) for tick in ticks(domain)], _HEIGHT)]
    if reference is not None:
        parts.append(line(domain.along(reference), 0, domain.along(reference), _HEIGHT, "ref"))
    lanes = _HEIGHT / (len(marks) + 1)
    for place, mark in enumerate(marks, start=1):
        parts += _mark(mark, domain, place * lanes, "" if place == 1 else "hollow")
    return chart("100%", _HEIGHT, title, parts)


def _mark(mark: Mark, domain: Domain, y: float, css: str) -> list[Markup]:
    parts = []
    if mark.possible is not None and mark.possible[0] < mark.possible[1]:
        parts.append(line(domain.along(mark.possible[0]), y, domain.along(mark.possible[1]), y, "possible"))
    if mark.value is None:
        return parts
    if mark.low is not None and mark.high is not None:
        parts.append(line(domain.along(mark.low), y, domain.along(mark.high), y, f"whisker {css}".strip()))
    parts.append(circle(domain.along(mark.value), y, 4.5, f"dot {css}".strip()))
    return parts

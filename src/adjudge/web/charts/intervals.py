"""Dots with their intervals, one to a row, all rows of a table on the same axis."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from . import svg
from .scales import Domain, tick_text, ticks

_HEIGHT = 24


class Mark(Struct, frozen=True):
    """A value with its interval, and the span that failures leave possible."""

    value: float | None
    low: float | None = None
    high: float | None = None
    possible: tuple[float, float] | None = None
    css: str = ""
    """`hollow` for a second value beside the first"""


def strip(marks: Sequence[Mark], domain: Domain, title: str, *, reference: float | None = None) -> Markup:
    """One row: for each mark a dot on its interval. A value that is undefined leaves no dot, but what is possible is drawn."""
    parts = [svg.uprights([domain.along(tick) for tick in ticks(domain)], _HEIGHT, "gridline")]
    if reference is not None:
        parts.append(svg.line(domain.along(reference), 0, domain.along(reference), _HEIGHT, "ref"))
    lanes = _HEIGHT / (len(marks) + 1)
    for place, mark in enumerate(marks, start=1):
        parts += _mark(mark, domain, place * lanes)
    return svg.chart("100%", _HEIGHT, title, parts)


def axis(domain: Domain) -> Markup:
    """The numbers of the axis, to stand over the strips."""
    found = ticks(domain, 5)
    parts = [svg.text(domain.along(tick), 12, tick_text(tick), "t-muted", anchor="middle") for tick in found]
    return svg.chart("100%", 16, f"axis from {tick_text(domain.low)} to {tick_text(domain.high)}", parts)


def axis_of_levels(levels: Sequence[float]) -> Markup:
    """The first, the last and a few levels between, to stand over bars."""
    n = len(levels)
    wanted = range(n) if n <= 6 else sorted({0, n // 2, n - 1})
    parts = [
        svg.text(f"{(place + 0.5) / n * 100:.2f}%", 12, tick_text(levels[place]), "t-muted", anchor="middle")
        for place in wanted
    ]
    return svg.chart("100%", 16, "levels of the scale", parts)


def axis_of_bins(low: float, high: float) -> Markup:
    """The two ends, to stand over bars that are bins."""
    parts = [
        svg.text("0%", 12, tick_text(low), "t-muted"),
        svg.text("100%", 12, tick_text(high), "t-muted", anchor="end"),
    ]
    return svg.chart("100%", 16, f"from {tick_text(low)} to {tick_text(high)}", parts)


def _mark(mark: Mark, domain: Domain, y: float) -> list[Markup]:
    parts = []
    if mark.possible is not None and mark.possible[0] < mark.possible[1]:
        parts.append(
            svg.line(domain.along(mark.possible[0]), y, domain.along(mark.possible[1]), y, "possible")
        )
    if mark.value is None:
        return parts
    if mark.low is not None and mark.high is not None:
        parts.append(
            svg.line(domain.along(mark.low), y, domain.along(mark.high), y, f"whisker {mark.css}".strip())
        )
    parts.append(svg.circle(domain.along(mark.value), y, 4.5, f"dot {mark.css}".strip()))
    return parts

"""Systems on one axis in one picture: corrected mean filled, the judge's hollow, people's a tick.

Names, axis and values are parts of the same picture, so that every row has the axis that is drawn above it.
The axis is as narrow as its numbers, and has a mark at each end that is not the end of the scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup
from msgspec import Struct

from ....records import Scale
from ....sections import Mark
from ....words import share
from ..names import middle
from .axis import Domain, domain_of, tick_text, ticks
from .svg import chart, circle, group, line, linked, rect, text

_ROW = 24


_HEAD = 24


_LEFT, _RIGHT = 34.0, 84.0
"""Where the axis begins and ends, in % of the width; names are on the left of it, values on the right."""


_LONGEST_NAME = 18


_WHOLE = 0.7
"""An axis that needs so much of the scale shows all of it."""


_ROOM = 0.04
"""Room beyond the outermost numbers, as a share of their range."""


_SAME = 1e-9


class PlotRow(Struct, frozen=True):
    """One system: its corrected mean, the judge's, and that of the labels alone; the value in words."""

    name: str
    corrected: Mark | None
    judge: Mark | None
    people: Mark | None
    possible: tuple[float, float] | None
    """the judge's mean including failures"""
    value: str
    title: str
    url: str = ""


class CutAxis(Struct, frozen=True):
    """An axis, and at which ends it leaves out a part of the scale."""

    domain: Domain
    is_cut_low: bool = False
    is_cut_high: bool = False

    @property
    def is_cut(self) -> bool:
        return self.is_cut_low or self.is_cut_high

    def place(self, value: float) -> float:
        """Where a value is, in % of the width."""
        return _LEFT + self.domain.share(value) * (_RIGHT - _LEFT)

    def along(self, value: float) -> str:
        return f"{self.place(value):.2f}%"


def axis_for(rows: Sequence[PlotRow], scale: Scale | None) -> CutAxis:
    """The axis of the rows: as much of the scale as their numbers need."""
    marks = [mark for row in rows for mark in (row.corrected, row.judge, row.people) if mark is not None]
    ends = [end for mark in marks for end in (mark.low, mark.value, mark.high) if end is not None]
    ends += [end for row in rows for end in row.possible or ()]
    if not ends or max(ends) - min(ends) <= _SAME:
        return CutAxis(domain_of(scale, ends))
    room = _ROOM * (max(ends) - min(ends))
    low, high = min(ends) - room, max(ends) + room
    if scale is None or scale.low is None or scale.high is None:
        return CutAxis(Domain(low, high))
    low, high = max(float(scale.low), low), min(float(scale.high), high)
    if low >= high or (high - low) >= _WHOLE * (scale.high - scale.low):
        return CutAxis(Domain(float(scale.low), float(scale.high)))
    return CutAxis(Domain(low, high), low > scale.low, high < scale.high)


def systems_plot(
    rows: Sequence[PlotRow], axis: CutAxis, title: str, *, value: str, reference: float | None = None
) -> Markup:
    """One row for each system under one axis; `value` is the head of the values on the right."""
    height = _HEAD + _ROW * len(rows) + 4
    parts = [*_frame(axis, height), *_cuts(axis), text("100%", 14, value, "t-muted", anchor="end")]
    if reference is not None:
        x = axis.along(reference)
        parts.append(line(x, _HEAD, x, height, "ref"))
    for place, row in enumerate(rows):
        parts.append(_row(row, axis, _HEAD + _ROW * place))
    return chart("100%", height, title, parts, css="systems", has_links=any(row.url for row in rows))


def _frame(axis: CutAxis, height: float) -> Iterator[Markup]:
    for tick in ticks(axis.domain, 5):
        x = axis.along(tick)
        yield line(x, _HEAD - 4, x, height, "gridline")
        words = share(tick) if axis.domain.is_in_percent else tick_text(tick)
        yield text(x, 14, words, "t-muted", anchor="middle")


def _cuts(axis: CutAxis) -> Iterator[Markup]:
    """Two short lines across each end of the axis that is not the end of the scale."""
    ends = ((axis.is_cut_low, _LEFT), (axis.is_cut_high, _RIGHT))
    for is_cut, at in ends:
        if is_cut:
            yield text(f"{at}%", 14, "//", "t-muted cut", anchor="middle")


def _row(row: PlotRow, axis: CutAxis, top: float) -> Markup:
    y = top + _ROW / 2
    parts = [
        rect("0%", top, "100%", _ROW, "hit"),
        text("0%", y + 4, _shortened(row.name), "t-name"),
        text("100%", y + 4, row.value, "t-num t-strong", anchor="end"),
    ]
    if row.possible is not None:
        begin, end = (axis.place(value) for value in row.possible)
        parts.append(rect(f"{begin:.2f}%", y - 4, f"{max(0.0, end - begin):.2f}%", 8, "s-unparsed"))
    is_alone = row.corrected is None
    if row.judge is not None and row.judge.value is not None:
        x = axis.along(row.judge.value)
        if is_alone:
            parts += _whisker(row.judge, axis, y, "whisker judge")
        parts.append(circle(x, y, 4.5, "dot judge hollow"))
    if row.people is not None and row.people.value is not None:
        x = axis.along(row.people.value)
        parts.append(line(x, y - 8, x, y + 8, "people-tick"))
    if row.corrected is not None and row.corrected.value is not None:
        parts += _whisker(row.corrected, axis, y, "whisker corrected")
        parts.append(circle(axis.along(row.corrected.value), y, 4.5, "dot corrected"))
    drawn = group(parts, "system", row.title)
    return linked(drawn, row.url, row.title, is_reached=True) if row.url else drawn


def _whisker(mark: Mark, axis: CutAxis, y: float, css: str) -> Iterator[Markup]:
    if mark.low is not None and mark.high is not None:
        yield line(axis.along(mark.low), y, axis.along(mark.high), y, css)


def _shortened(name: str) -> str:
    """A name that fits left of the axis; signs of East Asian scripts are twice as wide."""
    is_wide = sum(ord(sign) > 0x2E7F for sign in name) > len(name) / 3
    return middle(name, _LONGEST_NAME // 2 if is_wide else _LONGEST_NAME)

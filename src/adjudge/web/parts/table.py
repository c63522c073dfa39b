"""A table of a section as HTML: numbers are drawn, all rows of a column on one axis."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup
from msgspec import Struct, structs

from ...sections import REMARK, Axis, Bars, Column, Counts, DrawnInterval, Section, Shade, Value, cell_text
from ...words import score_text
from .charts.axis import Domain, axis, axis_of_bins, axis_of_levels, domain_of
from .charts.bars import BarPart, bars, stacked
from .charts.dot_plot import strip
from .charts.dumbbell import dumbbell
from .doors import Door
from .names import judge_name

FIRST, LAST = 50, 10
"""A longer table shows only its first and last rows, and the number of the others."""


_SHADES = 9


_PART_CSS = {
    "first": "side-a",
    "second": "side-b",
    "strict": "s-ok",
    "anchored": "side-a",
    "likelihood": "s-truncated",
    "reask": "s-conflicting",
    "failed": "s-unparsed",
}


_NUMERIC = re.compile(r"[\d\s.,%\[\]()/+\-–−±<∞]*(to [\d\s.,%+\-–−]+)?")


_SHORT = 8
"""the width of a narrow column of numbers, in characters"""


_USUAL_TEXT = 17
"""the width of such a number in a column without a picture"""


_USUAL = 20
"""the width of a number with its interval and two digits after the point"""


_WIDE_HEAT = 9
"""A table of all pairs with more columns shows no intervals in its cells, so that none is cut off."""


_LEVELS = ("rank", "level")
"""heads of short columns before the name of a row"""


class HeadView(Struct, frozen=True):
    """The head of a column; above pictures an axis, with the name for screen readers only."""

    name: str
    css: str
    axis: Markup | None = None


class CellView(Struct, frozen=True):
    """A cell: text, a number with its interval, or a picture with its text below."""

    text: str
    css: str
    head: str = ""
    interval: str = ""
    picture: Markup | None = None
    is_name: bool = False
    url: str = ""
    """of the items behind it"""


class RowView(Struct, frozen=True):
    """A row, and the remark that stands below it where the row is drawn."""

    cells: tuple[CellView, ...]
    remark: str = ""

    @property
    def name(self) -> str:
        return next((cell.text for cell in self.cells if cell.is_name), "")

    def with_url(self, url: str) -> RowView:
        """The row with a link at its name."""
        cells = (structs.replace(cell, url=url) if cell.is_name else cell for cell in self.cells)
        return structs.replace(self, cells=tuple(cells))


class TableView(Struct, frozen=True):
    """A table as HTML."""

    css: str
    heads: tuple[HeadView, ...]
    rows: tuple[RowView, ...]
    n_hidden: int

    @property
    def is_dense(self) -> bool:
        """Whether its cells have no room for their intervals."""
        return self.css == "heat dense"


def shade(share: float) -> str:
    """The CSS class for the colour of a share: h0 is 0 %, h4 is 50 %, h8 is 100 %."""
    return f"h{min(_SHADES - 1, max(0, round(share * (_SHADES - 1))))}"


def part_css(kind: str) -> str:
    return _PART_CSS.get(kind, f"s-{kind}")


class _Track(NamedTuple):
    """A column of a table, from its head to its last cell."""

    head: HeadView
    cells: list[CellView]


def table_of(
    section: Section, columns: Sequence[int], *, is_drawn: bool, door: Door | None = None
) -> TableView:
    n_rows = len(section.rows)
    shown = section.rows if n_rows <= FIRST + LAST else (*section.rows[:FIRST], *section.rows[-LAST:])
    tracks = list(_tracks(section.heads, shown, columns, is_drawn, door))
    css, remarks = "table", [""] * len(shown)
    if any(isinstance(value, Shade) for row in shown for value in row):
        css = "heat" if len(tracks) <= _WIDE_HEAT or not is_drawn else "heat dense"
    elif any(cell.picture for track in tracks for cell in track.cells):
        css = "table drawn"
        if len(tracks) > 1 and tracks[-1].head.name == REMARK:
            remarks = [cell.text for cell in tracks.pop().cells]
    rows = zip(*(track.cells for track in tracks), strict=True)
    views = tuple(RowView(cells, remark) for cells, remark in zip(rows, remarks, strict=True))
    return TableView(css, tuple(track.head for track in tracks), views, n_rows - len(shown))


def _tracks(
    heads: Sequence[Column],
    rows: Sequence[Sequence[Value]],
    columns: Sequence[int],
    is_drawn: bool,
    door: Door | None,
) -> Iterator[_Track]:
    name_at = columns[1 if heads[columns[0]].name in _LEVELS and len(columns) > 1 else 0]
    names = [cell_text(row[name_at]) for row in rows]
    n_pictures = sum(is_drawn and _is_picture(heads[at], rows, at) for at in columns)
    width = {1: "c-strip", 2: "c-half"}.get(n_pictures, "c-fifth")
    has_main = False
    # Only the marks of systems, pairs and judges have items behind them; the win matrix has no name over its
    # rows.
    kind = heads[name_at].name or "system"
    door = door if kind in ("system", "pair", "judge") else None
    later: list[_Track] = []
    for at in columns:
        column, values = heads[at], [row[at] for row in rows]
        if is_drawn and _is_picture(column, rows, at) and column.name in _LEVELS:
            # Its text stands before the name, its picture beside that of the main number.
            yield _texts(column, values, "c-level")
            later.append(_pictures(column, values, names, f"pic {width} hide-narrow", door, kind))
        elif is_drawn and _is_picture(column, rows, at):
            is_interval = column.axis is not None
            more = " hide-narrow" if has_main and is_interval else ""
            yield _pictures(column, values, names, f"pic {width}{more}", door, kind)
            if is_interval:
                wide = _wide_css(max((_width(cell_text(value)) for value in values), default=0))
                yield _texts(column, values, f"num {'c-more c-interval' if has_main else 'c-value'}{wide}")
                has_main = True
                yield from later
                later.clear()
        elif is_drawn and any(isinstance(value, Bars) for value in values):
            yield _pictures(column, values, names, "pic c-spread", door)
        elif at == name_at:
            yield _texts(column, values, "c-name", is_name=True, door=door, kind=kind)
        else:
            css = "c-level" if at == columns[0] else _text_css(column, values)
            yield _texts(column, values, css, names=names, door=door)


def _is_picture(column: Column, rows: Sequence[Sequence[Value]], at: int) -> bool:
    kinds = (DrawnInterval, Counts) if column.axis is not None else Counts
    return any(isinstance(row[at], kinds) for row in rows)


def _text_css(column: Column, values: Sequence[Value]) -> str:
    texts = [cell_text(value) for value in values]
    if column.name == REMARK:
        return "wrap small muted remark"
    if not all(_NUMERIC.fullmatch(text) for text in texts):
        return "wrap c-more"
    longest = max(map(_width, (*texts, *column.name.split())))
    return "num c-n" if longest <= _SHORT else f"num c-more{_wide_css(longest, _USUAL_TEXT)}"


def _width(text: str) -> int:
    """The length of a number; a percent sign is nearly as wide as two digits."""
    return len(text) + text.count("%")


def _wide_css(longest: int, usual: int = _USUAL) -> str:
    """Three digits after the point need more room than two."""
    return " c-wide" if longest > usual else ""


def _texts(
    column: Column,
    values: Sequence[Value],
    css: str,
    *,
    is_name: bool = False,
    names: Sequence[str] = (),
    door: Door | None = None,
    kind: str = "system",
) -> _Track:
    cells = []
    for at, value in enumerate(values):
        text, bracket, rest = cell_text(value), "", ""
        if isinstance(value, DrawnInterval):
            text, bracket, rest = text.partition(" [")
        if isinstance(value, Shade):
            # A cell of the win matrix: the row's system against the column's.
            met = (
                door.url(system=names[at], other=column.name, status="ok")
                if door is not None and names
                else ""
            )
            cells.append(CellView(text, shade(value.share), column.name, interval=value.detail, url=met))
            continue
        url = door.url(**door.of_row(kind, text)) if door is not None and is_name else ""
        if column.name == "judge":
            text = judge_name(text)
        cells.append(CellView(text, css, column.name, bracket.strip() + rest, is_name=is_name, url=url))
    return _Track(HeadView(column.name, css), cells)


def _pictures(
    column: Column,
    values: Sequence[Value],
    names: Sequence[str],
    css: str,
    door: Door | None = None,
    kind: str = "system",
) -> _Track:
    """The cells of a column drawn on one axis."""
    marks = [mark for value in values if isinstance(value, DrawnInterval) for mark in value.marks]
    domain = _domain(
        column.axis or Axis(), [end for mark in marks for end in (mark.low, mark.value, mark.high)]
    )
    reference = column.axis.reference if column.axis is not None else None
    head: Markup | None = axis(domain) if marks else None
    # By shares, because counts would hide a system with few scores.
    shares = [
        max(value.counts, default=0) / max(1, sum(value.counts))
        for value in values
        if isinstance(value, Bars)
    ]
    cells = []
    for name, value in zip(names, values, strict=True):
        picture, text, title = None, "", f"{name}: {cell_text(value)}"
        if isinstance(value, DrawnInterval):
            if value.is_change and len(value.marks) == 2:
                picture = dumbbell(value.marks[0], value.marks[1], domain, title)
            else:
                picture = strip(value.marks, domain, title, reference=reference)
        elif isinstance(value, Counts):
            parts = [
                BarPart(
                    part.name,
                    part.n,
                    part_css(part.kind),
                    door.of_part(kind, name, part) if door is not None else "",
                )
                for part in value.parts
            ]
            picture, text = stacked(parts, title), value.text
        elif isinstance(value, Bars):
            urls = _bar_urls(value, name, door) if door is not None and door.has_scores else ()
            tallest = max(shares) * sum(value.counts)
            picture, head = (
                bars_of(value, f"scores of {name}", tallest=tallest, urls=urls),
                axis_of_bars(value),
            )
        cells.append(CellView(text, css, column.name, picture=picture))
    return _Track(HeadView(column.name, css, head), cells)


def _domain(axis: Axis, values: Sequence[float | None]) -> Domain:
    if axis.low is not None and axis.high is not None and axis.low < axis.high:
        return Domain(float(axis.low), float(axis.high), axis.is_whole, axis.is_in_percent)
    return domain_of(None, values)


def axis_of_bars(value: Bars) -> Markup:
    is_binned = len(value.levels) > len(value.counts)
    return axis_of_bins(value.levels[0], value.levels[-1]) if is_binned else axis_of_levels(value.levels)


def _bar_urls(value: Bars, system: str, door: Door) -> tuple[str, ...]:
    """The items of each bar: a level and what is nearest to it, or a bin."""
    levels = value.levels
    if len(levels) > len(value.counts):
        ends = [(low, high - _LESS * (high - low)) for low, high in pairwise(levels)]
        ends[-1] = (ends[-1][0], levels[-1])
    else:
        gap = min((high - low for low, high in pairwise(levels)), default=1.0)
        ends = [(level - gap / 2, level + gap * (0.5 - _LESS)) for level in levels]
    return tuple(door.url(system=system, low=float(low), high=float(high)) for low, high in ends)


_LESS = 1e-6
"""The upper end of a bin belongs to the next one."""


def bars_of(
    value: Bars,
    title: str,
    height: float = 24,
    *,
    tallest: float | None = None,
    urls: Sequence[str] = (),
) -> Markup:
    names = [score_text(level) for level in value.levels]
    if len(names) > len(value.counts):
        names = [f"{low} to {high}" for low, high in pairwise(names)]
    counts = list(zip(names, value.counts, strict=True))
    return bars(counts, title, height=height, tallest=tallest or value.tallest, urls=urls)

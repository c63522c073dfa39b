"""A section as HTML: numbers are drawn, all rows of a column on one axis.

Text and tables are the same as on a terminal. Minor columns and details are folded; nothing is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from msgspec import Struct

from ..analysis.report_words import STATUSES
from ..analysis.result_types import Summary
from ..sections import Axis, Bars, Column, Counts, Interval, Part, Section, Shade, Value, text_of
from ..words import short_name
from .charts import Domain, axis, axis_of_bins, axis_of_levels, bars, domain_of, stacked, strip, swatch
from .charts import Part as BarPart
from .templating import judge_name

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
_USUAL = 20
"""the width of a number with its interval and two digits after the point"""
_LEVELS = ("rank", "level")
"""heads of short columns before the name of a row"""


class Doors(Struct, frozen=True):
    """The addresses of the items behind the marks of a run's page."""

    run: str
    keys: dict[str, tuple[str, str]]
    """title of a section → protocol and criterion"""
    n_judges: int = 1
    pairs: dict[str, tuple[str, str]] = {}
    """name of a pair as a table has it → its systems"""

    @classmethod
    def of(cls, summary: Summary) -> Doors:
        keys = {
            short_name(name): (about.protocol, about.criterion) for name, about in summary.criteria.items()
        }
        # A choice has no scale, so that it is not among the criteria; its name ends with its criterion.
        keys |= {
            short_name(name): ("", name.rpartition("/")[2]) for name in summary.pairs if name not in keys
        }
        pairs = {
            f"{pair.system_a} vs {pair.system_b}": (pair.system_a, pair.system_b)
            for several in summary.pairs.values()
            for pair in several
        }
        return cls(summary.run, keys, len(summary.models), pairs)

    def of_section(self, section: Section) -> Door:
        """The door of a section; one without a criterion leads to the items of all of them."""
        protocol, criterion = self.keys.get(section.title, ("", ""))
        return Door(self.run, protocol, criterion, self.n_judges == 1 and bool(criterion), self.pairs)


class Door(Struct, frozen=True):
    """The addresses of the items behind the marks of one section."""

    run: str
    protocol: str = ""
    criterion: str = ""
    has_scores: bool = True
    """whether a bar is of single results; with several judges it is of their means, which no item has"""
    pairs: dict[str, tuple[str, str]] = {}

    def url(self, **query: str | float) -> str:
        """The items of a filter."""
        given = {"run": self.run, "protocol": self.protocol, "criterion": self.criterion, **query}
        texts = {
            name: f"{value:.15g}" if isinstance(value, float) else value for name, value in given.items()
        }
        return f"/items?{urlencode({name: value for name, value in texts.items() if value != ''})}"

    def of_row(self, kind: str, name: str) -> dict[str, str | float]:
        """The filter of a row of a table: a system, a pair of them, or a judge."""
        if kind == "pair" and name in self.pairs:
            return dict(zip(("system", "other"), self.pairs[name], strict=True))
        return {"model" if kind == "judge" else "system": name}

    def of_part(self, kind: str, row: str, part: Part) -> str:
        """The items of one part of a bar; empty where they cannot be told apart."""
        known = self.of_row(kind, row)
        if part.kind in STATUSES:
            return self.url(**known, status=part.kind)
        if kind == "pair" and self.has_scores:
            return self.url(**known, winner="tie" if part.kind == "tie" else part.name)
        if kind == "judge":
            return self.url(
                **known, **({"status": "failed"} if part.kind == "failed" else {"how": part.kind})
            )
        return ""


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


class TableView(Struct, frozen=True):
    """A table as HTML."""

    css: str
    heads: tuple[HeadView, ...]
    rows: tuple[tuple[CellView, ...], ...]
    n_hidden: int


class LegendEntry(Struct, frozen=True):
    """A colour and its meaning."""

    name: str
    swatch: Markup


class Figure(Struct, frozen=True):
    """A picture of a section, with its caption and an explanation."""

    caption: str
    picture: Markup
    note: str = ""
    is_detail: bool = False


class SectionView(Struct, frozen=True):
    """A section with its drawn table and figures."""

    section: Section
    notes: tuple[str, ...] = ()
    table: TableView | None = None
    unabridged: TableView | None = None
    """the same table with its minor columns and without pictures; none where it has no such columns"""
    legend: tuple[LegendEntry, ...] = ()
    figures: tuple[Figure, ...] = ()


def views_of(sections: Iterable[Section], doors: Doors | None = None) -> tuple[SectionView, ...]:
    """All sections, in their order."""
    return tuple(view_of(section, doors=doors) for section in sections)


def view_of(section: Section, figures: Sequence[Figure] = (), doors: Doors | None = None) -> SectionView:
    """The section, drawn; with `doors`, its marks open the items behind them."""
    filled = section.filled()
    door = doors.of_section(section) if doors is not None else None
    major = [at for at, column in enumerate(filled.heads) if not column.is_minor]
    notes = section.notes
    marks = [
        mark for row in filled.rows for value in row if isinstance(value, Interval) for mark in value.marks
    ]
    if any(mark.possible for mark in marks):
        notes += ("Pale band: range of the mean including failures.",)
    legends = [
        value.legend or "Filled dot: corrected. Hollow dot: judge alone."
        for row in filled.rows
        for value in row
        if isinstance(value, Interval) and len(value.marks) > 1
    ]
    notes += tuple(dict.fromkeys(legends))
    return SectionView(
        section,
        notes,
        _table(filled, major, is_drawn=True, door=door) if major else None,
        _table(filled, range(len(filled.columns)), is_drawn=False)
        if len(major) < len(filled.columns)
        else None,
        tuple(_legend(filled)),
        tuple(figures),
    )


def shade(share: float) -> str:
    """The CSS class for the colour of a share: h0 is 0 %, h4 is 50 %, h8 is 100 %."""
    return f"h{min(_SHADES - 1, max(0, round(share * (_SHADES - 1))))}"


def _legend(section: Section) -> Iterator[LegendEntry]:
    """The colours of bars whose parts have the same names in all rows."""
    parts = [
        part for row in section.rows for value in row if isinstance(value, Counts) for part in value.parts
    ]
    names: dict[str, str] = {}
    for part in parts:
        if names.setdefault(part.kind, part.name) != part.name:
            return
    yield from (LegendEntry(name, swatch(_part_css(kind))) for kind, name in names.items())


def _part_css(kind: str) -> str:
    return _PART_CSS.get(kind, f"s-{kind}")


class _Track(NamedTuple):
    """A column of a table, from its head to its last cell."""

    head: HeadView
    cells: list[CellView]


def _table(
    section: Section, columns: Sequence[int], *, is_drawn: bool, door: Door | None = None
) -> TableView:
    n_rows = len(section.rows)
    shown = section.rows if n_rows <= FIRST + LAST else (*section.rows[:FIRST], *section.rows[-LAST:])
    tracks = list(_tracks(section.heads, shown, columns, is_drawn, door))
    css = "table"
    if any(isinstance(value, Shade) for row in shown for value in row):
        css = "heat"
    elif any(cell.picture for track in tracks for cell in track.cells):
        css = "table drawn"
    rows = tuple(zip(*(track.cells for track in tracks), strict=True))
    return TableView(css, tuple(track.head for track in tracks), rows, n_rows - len(shown))


def _tracks(
    heads: Sequence[Column],
    rows: Sequence[Sequence[Value]],
    columns: Sequence[int],
    is_drawn: bool,
    door: Door | None,
) -> Iterator[_Track]:
    name_at = columns[1 if heads[columns[0]].name in _LEVELS and len(columns) > 1 else 0]
    names = [text_of(row[name_at]) for row in rows]
    n_pictures = sum(is_drawn and _is_picture(heads[at], rows, at) for at in columns)
    width = {1: "c-strip", 2: "c-half"}.get(n_pictures, "c-fifth")
    has_main = False
    # Only the marks of systems, pairs and judges have items behind them; the win matrix has no name over its rows.
    kind = heads[name_at].name or "system"
    door = door if kind in ("system", "pair", "judge") else None
    for at in columns:
        column, values = heads[at], [row[at] for row in rows]
        if is_drawn and _is_picture(column, rows, at):
            is_interval = column.axis is not None
            more = " hide-narrow" if has_main and is_interval else ""
            yield _pictures(column, values, names, f"pic {width}{more}", door, kind)
            if is_interval:
                wide = _wide_css(max((len(text_of(value)) for value in values), default=0))
                yield _texts(column, values, f"num {'c-more' if has_main else 'c-value'}{wide}")
                has_main = True
        elif is_drawn and any(isinstance(value, Bars) for value in values):
            yield _pictures(column, values, names, "pic c-spread", door)
        elif at == name_at:
            yield _texts(column, values, "c-name", is_name=True, door=door, kind=kind)
        else:
            css = "c-level" if at == columns[0] else _text_css(column, values)
            yield _texts(column, values, css, names=names, door=door)


def _is_picture(column: Column, rows: Sequence[Sequence[Value]], at: int) -> bool:
    kinds = (Interval, Counts) if column.axis is not None else Counts
    return any(isinstance(row[at], kinds) for row in rows)


def _text_css(column: Column, values: Sequence[Value]) -> str:
    texts = [text_of(value) for value in values]
    if column.name == "remark":
        return "wrap small muted remark"
    if not all(_NUMERIC.fullmatch(text) for text in texts):
        return "wrap c-more"
    longest = max(map(len, (*texts, *column.name.split())))
    return "num c-n" if longest <= _SHORT else f"num c-more{_wide_css(longest)}"


def _wide_css(longest: int) -> str:
    """Three digits after the point need more room than two."""
    return " c-wide" if longest > _USUAL else ""


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
        text, bracket, rest = text_of(value), "", ""
        if isinstance(value, Interval):
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
    marks = [mark for value in values if isinstance(value, Interval) for mark in value.marks]
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
        picture, text, title = None, "", f"{name}: {text_of(value)}"
        if isinstance(value, Interval):
            picture = strip(value.marks, domain, title, reference=reference, is_change=value.is_change)
        elif isinstance(value, Counts):
            parts = [
                BarPart(
                    part.name,
                    part.n,
                    _part_css(part.kind),
                    door.of_part(kind, name, part) if door is not None else "",
                )
                for part in value.parts
            ]
            picture, text = stacked(parts, title), value.text
        elif isinstance(value, Bars):
            urls = _bar_urls(value, name, door) if door is not None and door.has_scores else ()
            tallest = max(shares) * sum(value.counts)
            picture, head = _bars(value, f"scores of {name}", tallest=tallest, urls=urls), _levels(value)
        cells.append(CellView(text, css, column.name, picture=picture))
    return _Track(HeadView(column.name, css, head), cells)


def _domain(axis: Axis, values: Sequence[float | None]) -> Domain:
    if axis.low is not None and axis.high is not None and axis.low < axis.high:
        return Domain(float(axis.low), float(axis.high))
    return domain_of(None, values)


def _levels(value: Bars) -> Markup:
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


def _bars(
    value: Bars,
    title: str,
    height: float = 24,
    *,
    tallest: float | None = None,
    urls: Sequence[str] = (),
) -> Markup:
    names = [f"{level:.4g}" for level in value.levels]
    if len(names) > len(value.counts):
        names = [f"{low} to {high}" for low, high in pairwise(names)]
    counts = list(zip(names, value.counts, strict=True))
    return bars(counts, title, height=height, tallest=tallest or value.tallest, urls=urls)


def spread_figure(section: Section) -> tuple[Figure, ...]:
    """The scores of all systems of a section together; nothing for a single system or unknown scores."""
    spreads = [value for row in section.rows for value in row if isinstance(value, Bars)]
    if len(spreads) < 2:
        return ()
    sums = tuple(map(sum, zip(*(spread.counts for spread in spreads), strict=True)))
    together = Bars("", spreads[0].levels, sums, max(sums))
    picture = _bars(together, f"all scores on {section.title}", 72) + _levels(together)
    return (Figure("Scores of all systems", picture, is_detail=True),)

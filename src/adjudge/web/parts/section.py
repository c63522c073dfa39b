"""A section as HTML: its table drawn, its legend, its notes and its figures.

Text and tables are the same as on a terminal. Minor columns and details are folded; nothing is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup
from msgspec import Struct

from ...sections import Bars, Counts, DrawnInterval, Section
from .charts.svg import swatch
from .doors import Doors
from .table import TableView, axis_of_bars, bars_of, part_css, table_of


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
    pairs: TableView | None = None
    """a wide table of all pairs with the intervals that its cells have no room for"""
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
        mark
        for row in filled.rows
        for value in row
        if isinstance(value, DrawnInterval)
        for mark in value.marks
    ]
    if any(mark.possible for mark in marks):
        notes += ("Pale band: range of the mean including failures.",)
    legends = [
        value.legend or "Filled dot: corrected. Hollow dot: judge alone."
        for row in filled.rows
        for value in row
        if isinstance(value, DrawnInterval) and (value.legend or len(value.marks) > 1)
    ]
    notes += tuple(dict.fromkeys(legends))
    table = table_of(filled, major, is_drawn=True, door=door) if major else None
    every = range(len(filled.columns))
    return SectionView(
        section,
        notes,
        table,
        table_of(filled, every, is_drawn=False) if len(major) < len(every) else None,
        table_of(filled, every, is_drawn=False) if table is not None and table.is_dense else None,
        tuple(_legend(filled)),
        tuple(figures),
    )


def _legend(section: Section) -> Iterator[LegendEntry]:
    """The colours of bars whose parts have the same names in all rows."""
    parts = [
        part for row in section.rows for value in row if isinstance(value, Counts) for part in value.parts
    ]
    names: dict[str, str] = {}
    for part in parts:
        if names.setdefault(part.kind, part.name) != part.name:
            return
    yield from (LegendEntry(name, swatch(part_css(kind))) for kind, name in names.items())


def spread_figure(section: Section) -> tuple[Figure, ...]:
    """The scores of all systems of a section together; nothing for a single system or unknown scores."""
    spreads = [value for row in section.rows for value in row if isinstance(value, Bars)]
    if len(spreads) < 2:
        return ()
    sums = tuple(map(sum, zip(*(spread.counts for spread in spreads), strict=True)))
    together = Bars("", spreads[0].levels, sums, max(sums))
    picture = bars_of(together, f"all scores on {section.title}", 72) + axis_of_bars(together)
    return (Figure("Scores of all systems", picture, is_detail=True),)

"""The sections of a comparison as HTML: means joined by lines, ranks as a picture, items that are links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from ...analysis.compare.comparison import Comparison
from ...analysis.compare.words import MOVED, RANKS, compare_sections
from ..page_addresses import item_url
from .charts.slope_chart import slopes
from .section import Figure, SectionView, view_of

MOST_RANKED = 40


_LONGEST_NAME = 18


def parts_of(comparison: Comparison, places: Mapping[str, int] | None = None) -> tuple[SectionView, ...]:
    """The sections of a comparison as HTML, with the ranks as a picture.

    Items are links where their numbers in the first run are given.
    """
    moved = [card.moved for card in comparison.criteria.values() if card.moved]
    orders = [card.order for card in comparison.criteria.values() if card.order is not None]
    views = []
    for section in compare_sections(comparison):
        figures: tuple[Figure, ...] = ()
        if section.title == RANKS and orders:
            order = orders.pop(0)
            figures = tuple(_rank_figure(order.first, order.second, comparison))
        view = view_of(section, figures)
        if section.title == MOVED and section.rows:
            items = [one.item for one in moved.pop(0)]
            if places is not None:
                runs = (comparison.first, comparison.second)
                view = _with_links(view, [item_url(runs, item, places.get(item)) for item in items])
        views.append(view)
    return tuple(views)


def _with_links(view: SectionView, urls: Sequence[str]) -> SectionView:
    """The section with a link on each name of its table."""
    if view.table is None:
        return view
    rows = tuple(
        tuple(structs.replace(cell, url=url) if cell.is_name else cell for cell in row)
        for row, url in zip(view.table.rows, urls, strict=True)
    )
    return structs.replace(view, table=structs.replace(view.table, rows=rows))


def _rank_figure(first: Sequence[str], second: Sequence[str], comparison: Comparison) -> Iterator[Figure]:
    if not 1 < len(first) <= MOST_RANKED:
        return
    place = {name: rank for rank, name in enumerate(second, start=1)}
    names = [(_short(name), rank, place[name]) for rank, name in enumerate(first, start=1)]
    heads = (_short(comparison.first), _short(comparison.second))
    title = f"ranks of the systems in {comparison.first} and {comparison.second}"
    yield Figure("Rank by mean, 1 is best", slopes(names, heads, title))


def _short(name: str) -> str:
    """A name that fits beside a chart: the middle is left out."""
    half = (_LONGEST_NAME - 1) // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[:half]}…{name[-half:]}"

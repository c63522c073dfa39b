"""The sections of a comparison as HTML: means joined by lines, ranks as a picture, items that are links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct, structs

from ...analysis.compare.comparison import Comparison, CriterionComparison
from ...analysis.compare.sentences import people_sentence
from ...analysis.compare.words import changes_line, compare_sections
from ...sections import Notice
from ...words import count, number, share, short_name
from ..page_addresses import item_url
from .charts.bars import BarPart, stacked
from .charts.slope_chart import slopes
from .section import Figure, SectionView, view_of

MOST_RANKED = 40


class CriterionParts(Struct, frozen=True):
    """One criterion of a comparison, as a tab of its page."""

    name: str
    sentences: tuple[str, ...]
    """the finding"""
    n_moved: int
    n_items: int
    sides: tuple[BarPart, ...]
    """labels nearer to the first run, equally near, and nearer to the second; empty without labels"""
    sides_bar: Markup | None
    sections: tuple[SectionView, ...]
    """the systems in both runs, open"""
    moved: SectionView | None
    folded: tuple[tuple[SectionView, str], ...]
    """whose side people take, ranks, differences between systems, agreement between the runs; each with its
    number"""


class ComparisonParts(Struct, frozen=True):
    """What the page and the file of a comparison show, the finding first."""

    first: str
    second: str
    title: str
    summary: tuple[str, ...]
    notices: tuple[Notice, ...]
    changes: str
    """what differs between the runs themselves"""
    criteria: tuple[CriterionParts, ...]
    folded: tuple[SectionView, ...]


def comparison_parts(comparison: Comparison, places: Mapping[str, int] | None = None) -> ComparisonParts:
    """The parts of a comparison by criterion. Items are links where their numbers are given."""
    about, *views = comparison_sections(comparison, places)
    by_criterion: list[list[SectionView]] = []
    folded = []
    for view in views:
        if view.section.kind == "how_to_read":
            folded.append(view)
        elif view.section.kind == "criterion":
            by_criterion.append([view])
        else:
            by_criterion[-1].append(view)
    people = people_sentence(comparison)
    summary = tuple(line for line in about.section.lines if isinstance(line, str))
    return ComparisonParts(
        comparison.first,
        comparison.second,
        people or (summary[0] if summary else f"{comparison.first} and {comparison.second}"),
        summary if people else summary[1:],
        about.section.notices,
        changes_line(comparison),
        tuple(
            _criterion_parts(name, card, several, comparison)
            for (name, card), several in zip(comparison.criteria.items(), by_criterion, strict=True)
        ),
        tuple(folded),
    )


def _criterion_parts(
    name: str, card: CriterionComparison, views: Sequence[SectionView], comparison: Comparison
) -> CriterionParts:
    sides: tuple[BarPart, ...] = ()
    if card.people is not None:
        sides = (
            BarPart(f"nearer to {comparison.first}", card.people.n_first, "side-first"),
            BarPart("equally near", card.people.n_equal, "s-tie"),
            BarPart(f"nearer to {comparison.second}", card.people.n_second, "side-second"),
        )
    is_alone = len(comparison.criteria) == 1
    main = views[0]
    if not is_alone:
        lines = tuple(line for line in main.section.lines if line not in card.sentences)
        main = structs.replace(main, section=structs.replace(main.section, lines=lines))
    return CriterionParts(
        short_name(name),
        () if is_alone else card.sentences,
        card.n_moved,
        card.n_items,
        sides,
        stacked(sides, f"{short_name(name)}: labels by the run they are nearer to") if sides else None,
        (main,),
        next((view for view in views if view.section.kind == "moved" and view.section.rows), None),
        tuple((view, _number(view, card)) for view in views[1:] if view.section.kind != "moved"),
    )


def _number(view: SectionView, card: CriterionComparison) -> str:
    """The number that a drawer says while it is closed."""
    if view.section.kind == "ranks" and card.order is not None:
        return f"{count(card.order.n_flipped, 'pair')} in another order"
    if view.section.kind == "people" and card.people is not None:
        return count(card.people.n, "labelled item")
    if view.section.kind == "agreement" and card.agreement:
        name, found = next(iter(card.agreement.items()))
        if found.value is not None:
            return (
                f"Spearman {number(found.value)}" if name == "spearman" else f"{share(found.value)} the same"
            )
    return count(len(card.order.pairs), "pair") if view.section.kind == "order" and card.order else ""


_LONGEST_NAME = 18


def comparison_sections(
    comparison: Comparison, places: Mapping[str, int] | None = None
) -> tuple[SectionView, ...]:
    """The sections of a comparison as HTML, with the ranks as a picture.

    Items are links where their numbers in the first run are given.
    """
    moved = [card.moved for card in comparison.criteria.values() if card.moved]
    orders = [card.order for card in comparison.criteria.values() if card.order is not None]
    views = []
    for section in compare_sections(comparison):
        figures: tuple[Figure, ...] = ()
        if section.kind == "ranks" and orders:
            order = orders.pop(0)
            figures = tuple(_rank_figure(order.first, order.second, comparison))
        view = view_of(section, figures)
        if section.kind == "moved" and section.rows:
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
    rows = tuple(row.with_url(url) for row, url in zip(view.table.rows, urls, strict=True))
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

"""The trust maps of a run with several judges: one for each, with a bar of agreement over it."""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.trust.card import Card
from ...analysis.trust.words.sentences import agreement_of
from ...sections import Mark, Section
from ...words import interval, number, short_name
from .charts.axis import Domain
from .charts.bars import agreement_bar
from .doors import Door, Doors
from .known_of_run import Points
from .section import Figure, SectionView
from .trust_map import map_of_items


def trust_maps(card: Card | None, points: Points, doors: Doors | None) -> Iterator[SectionView]:
    """Judge × people as a heat map for each judge and criterion, with a bar of agreement over it."""
    for name, about in card.criteria.items() if card is not None else ():
        joined = points.get(name)
        agreement, people = agreement_of(about)
        if joined is None or agreement.value is None or not joined.labelled():
            continue
        is_share = about.kind == "choices" or agreement.value >= 0
        domain = Domain(0.0 if is_share else -1.0, 1.0)
        beside = "" if people is None else f", where people reach {number(people.value or 0.0)}"
        title = f"{short_name(name)}: agreement {number(agreement.value)}{beside}"
        bar = agreement_bar(
            Mark(agreement.value, agreement.low, agreement.high),
            None if people is None else Mark(people.value),
            domain,
            title,
        )
        section = Section(f"Judge and people: {short_name(name)}", notes=(_MAP_NOTE,))
        door = Door(doors.run, about.protocol, about.criterion) if doors is not None else None
        model = about.model if doors is not None and doors.n_judges > 1 else ""
        note = f"Agreement with people: {interval(agreement)}{beside}."
        yield SectionView(
            section,
            section.notes,
            map_of_items(joined, door, model),
            figures=(Figure("Agreement", bar, note),),
        )


_MAP_NOTE = (
    "Each number counts items: the judge's answer from left, what people said from above. Blue: the judge is "
    "higher, violet: people are, grey: the same."
)

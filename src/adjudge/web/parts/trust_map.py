"""The trust map: judge × people as a heat map whose cells open their items, with a bar of agreement over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from ...analysis.labels.labelled import LabelledTable, numbers
from ...analysis.run_view.criteria import levels_of
from ...analysis.trust.card import Card
from ...analysis.trust.words.sentences import agreement_of
from ...sections import Mark, Section
from ...stats import nearest
from ...words import interval, number, short_name
from .charts.axis import Domain, domain_of, tick_text
from .charts.bars import agreement_bar
from .doors import Door, Doors
from .known_of_run import Points
from .section import Figure, SectionView
from .table import CellView, HeadView, TableView, shade

_MOST_MAP_LEVELS = 11


_MAP_BINS = 6


class _Ends(Struct, frozen=True):
    """A row or a column of the map: its name, and the answers
    in it, which are texts or lie between two numbers.
    """

    name: str
    low: float | str
    high: float | str

    def has(self, answer: float | str | None) -> bool:
        return answer is not None and self.low <= answer <= self.high  # type: ignore[operator]

    def query(self, prefix: str = "") -> dict[str, str | float]:
        if isinstance(self.low, str) or isinstance(self.high, str):
            return {prefix or "choice": str(self.low)}
        start = f"{prefix}_" if prefix else ""
        return {f"{start}low": self.low, f"{start}high": self.high}


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
        door = None
        if doors is not None:
            model = about.model if doors.n_judges > 1 else ""
            door = (Door(doors.run, about.protocol, about.criterion), model)
        note = f"Agreement with people: {interval(agreement)}{beside}."
        yield SectionView(
            section, section.notes, _map_table(joined, door), figures=(Figure("Agreement", bar, note),)
        )


_MAP_NOTE = (
    "Each number counts items: the judge's answer from left, what people said from above. Blue: both agree."
)


def _map_table(joined: LabelledTable, door: tuple[Door, str] | None) -> TableView:
    rows = joined.labelled()
    judge, people = (
        _map_ends(joined, [row.answer for row in rows]),
        _map_ends(joined, [row.label for row in rows]),
    )
    counts = [
        [sum(left.has(row.answer) and top.has(row.label) for row in rows) for top in people] for left in judge
    ]
    most = max((n for line in counts for n in line), default=1) or 1
    heads = (HeadView("judge ↓ people →", "c-name"), *(HeadView(top.name, "num") for top in people))
    table = []
    for left, line in reversed(list(zip(judge, counts, strict=True))):
        cells = [CellView(left.name, "c-name", is_name=True)]
        for top, n in zip(people, line, strict=True):
            weight = n / most / 2
            css = "none" if not n else shade(0.5 + weight if left.name == top.name else 0.5 - weight)
            words = f"{n} items: judge {left.name}, people {top.name}"
            url = ""
            if door is not None and n:
                model = {"model": door[1]} if door[1] else {}
                url = door[0].url(**left.query(), **top.query("people"), **model)
            cells.append(CellView(f"{n:,}" if n else "", css, words, url=url))
        table.append(tuple(cells))
    return TableView("heat map", heads, tuple(table), 0)


def _map_ends(joined: LabelledTable, answers: Sequence[float | str | None]) -> list[_Ends]:
    """The rows of a map: choices; the levels of the scale,
    each with what is nearest to it; or bins of equal width.
    """
    if joined.kind == "choices":
        return [_Ends(choice, choice, choice) for choice in ("a", "tie", "b")]
    seen = sorted(value for value in numbers(answers) if value is not None)
    levels = levels_of(joined.scale) if joined.is_same_scale else None
    if levels is not None and len(levels) <= _MOST_MAP_LEVELS:
        names = {tick_text(level): (level, nearest(seen, levels)) for level in levels}
        parts = {
            name: [value for value, near in zip(seen, nears, strict=True) if near == level]
            for name, (level, nears) in names.items()
        }
    else:
        domain = domain_of(joined.scale if joined.is_same_scale else None, seen)
        step = (domain.high - domain.low) / _MAP_BINS
        edges = [domain.low + place * step for place in range(_MAP_BINS + 1)]
        parts = {f"{tick_text(low)} to {tick_text(high)}": [] for low, high in pairwise(edges)}
        for value in seen:
            place = min(_MAP_BINS - 1, max(0, int((value - domain.low) / step)))
            parts[list(parts)[place]].append(value)
    # The ends are answers that occur, so that a filter finds exactly these items.
    return [
        _Ends(name, min(part), max(part)) if part else _Ends(name, 1.0, 0.0) for name, part in parts.items()
    ]

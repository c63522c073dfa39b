"""The trust map, judge × people: a table whose cells count items and open them.

Blue where the judge is higher, violet where people are, grey where both say the same. Choices have no order:
all cells are grey.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from msgspec import Struct

from ...analysis.labels.labelled import LabelledTable, numbers
from ...analysis.run_view.criteria import levels_of
from ...analysis.trust.card import ConfusionMatrix
from ...stats import nearest_levels
from .charts.axis import domain_of, tick_text
from .doors import Door
from .table import CellView, HeadView, RowView, TableView

_MOST_LEVELS = 11


_BINS = 6


_SHADES = 4


class Ends(Struct, frozen=True):
    """A row or a column of the map: its name, and the answers in it: texts, or between two numbers."""

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


def map_of_items(joined: LabelledTable, door: Door | None = None, model: str = "") -> TableView:
    """The map of labelled items; with a `door`, each cell opens its items, of one `model` among several."""
    rows = joined.labelled()
    judge = _ends_of(joined, [row.answer for row in rows])
    people = _ends_of(joined, [row.label for row in rows])
    counts = [
        [sum(left.has(row.answer) and top.has(row.label) for row in rows) for top in people] for left in judge
    ]

    def url(left: int, top: int) -> str:
        if door is None:
            return ""
        of_model = {"model": model} if model else {}
        return door.url(**judge[left].query(), **people[top].query("people"), **of_model)

    names = [end.name for end in judge]
    return _table(names, [end.name for end in people], counts, url, is_ordered=joined.kind == "scores")


def map_of_counts(confusion: ConfusionMatrix, *, is_ordered: bool) -> TableView:
    """The same map of a card without its items; a failed answer of the judge is no row of it."""
    places = [at for at, name in enumerate(confusion.judge) if name != "failed"]
    judge = [confusion.judge[at] for at in places]
    counts = [confusion.counts[at] for at in places]
    return _table(judge, confusion.human, counts, lambda _left, _top: "", is_ordered=is_ordered)


def _table(
    judge: Sequence[str],
    people: Sequence[str],
    counts: Sequence[Sequence[int]],
    url: Callable[[int, int], str],
    *,
    is_ordered: bool,
) -> TableView:
    """The judge's highest answer on top, people's highest on the right."""
    most = max((n for line in counts for n in line), default=1) or 1
    heads = (HeadView("judge ↓ people →", "c-name"), *(HeadView(name, "num") for name in people))
    rows = []
    for left in reversed(range(len(judge))):
        cells = [CellView(judge[left], "c-name", is_name=True)]
        for top, n in enumerate(counts[left]):
            words = f"{n} items: judge {judge[left]}, people {people[top]}"
            at_judge, at_people = (_place(people, judge, name) for name in (judge[left], people[top]))
            cells.append(
                CellView(
                    f"{n:,}" if n else "",
                    _css(at_judge - at_people, n / most, is_ordered=is_ordered) if n else "none",
                    words,
                    url=url(left, top) if n else "",
                )
            )
        rows.append(RowView(tuple(cells)))
    return TableView("heat map", heads, tuple(rows), 0)


def _place(people: Sequence[str], judge: Sequence[str], name: str) -> int:
    """The place of an answer among all of them."""
    longer = judge if len(judge) >= len(people) else people
    return longer.index(name) if name in longer else 0


def _css(difference: int, share: float, *, is_ordered: bool) -> str:
    """m: equal; j: the judge is higher; p: people are; x: without an order. Darker with more items."""
    kind = "m" if difference == 0 else "x" if not is_ordered else "j" if difference > 0 else "p"
    return f"{kind}{min(_SHADES, max(1, round(share * _SHADES + 0.5)))}"


def _ends_of(joined: LabelledTable, answers: Sequence[float | str | None]) -> list[Ends]:
    """The rows of a map: choices; the levels of the scale, each with what is nearest to it; or bins of equal
    width.
    """
    if joined.kind == "choices":
        return [Ends(choice, choice, choice) for choice in joined.classes or ("b", "tie", "a")]
    seen = sorted(value for value in numbers(answers) if value is not None)
    levels = levels_of(joined.scale) if joined.is_same_scale else None
    if levels is not None and len(levels) <= _MOST_LEVELS:
        names = {tick_text(level): (level, nearest_levels(seen, levels)) for level in levels}
        parts = {
            name: [value for value, near in zip(seen, nears, strict=True) if near == level]
            for name, (level, nears) in names.items()
        }
    else:
        domain = domain_of(joined.scale if joined.is_same_scale else None, seen)
        step = (domain.high - domain.low) / _BINS
        edges = [domain.low + place * step for place in range(_BINS + 1)]
        parts = {f"{tick_text(low)} to {tick_text(high)}": [] for low, high in pairwise(edges)}
        for value in seen:
            place = min(_BINS - 1, max(0, int((value - domain.low) / step)))
            parts[list(parts)[place]].append(value)
    # The ends are answers that occur, so that a filter finds exactly these items.
    return [
        Ends(name, min(part), max(part)) if part else Ends(name, 1.0, 0.0) for name, part in parts.items()
    ]

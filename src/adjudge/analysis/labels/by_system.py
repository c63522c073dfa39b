"""The labelled items of each system as numbers, with the probability of each to be drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from ..run_view.result_facts import as_number
from .labelled import Answer, LabelledItem, LabelledTable, number_or_none


class Entry(Struct, frozen=True):
    """One item as a number for one system."""

    row: LabelledItem
    judge: float | None
    label: float | None


def entries_by_system(table: LabelledTable) -> dict[str, list[Entry]]:
    """The items of each system, in their order; a pair belongs to both of its systems."""
    by_system: dict[str, list[Entry]] = defaultdict(list)
    for row in table.rows:
        if table.classes:
            places = [
                None if answer is None else float(table.classes.index(str(answer)))
                for answer in (row.answer, row.label)
            ]
            by_system[row.system].append(Entry(row, *places))
            continue
        if table.kind == "scores":
            by_system[row.system].append(Entry(row, number_or_none(row.answer), number_or_none(row.label)))
            continue
        for system, side in zip(row.systems, ("a", "b"), strict=True):
            by_system[system].append(Entry(row, _share_won(row.answer, side), _share_won(row.label, side)))
    return dict(by_system)


def _share_won(answer: Answer | None, side: str) -> float | None:
    """What the system on one side gets: 1 for a win, 0 for a loss, one half for a tie."""
    if not isinstance(answer, str):
        return None
    return as_number(answer) if side == "a" else 1 - as_number(answer)


def probabilities_of(entries: Sequence[Entry]) -> list[float | None] | None:
    """The probability of each labelled item to be drawn; none where it is the same for all items."""
    if drawn_with([entry.row for entry in entries if entry.label is not None]) is None:
        return None
    return [entry.row.probability if entry.label is not None else None for entry in entries]


def drawn_with(labelled: Sequence[LabelledItem]) -> list[float] | None:
    """The probabilities of labelled items to be drawn; none where they are the same, or unknown."""
    drawn = [row.probability for row in labelled if row.probability is not None]
    return drawn if len(drawn) == len(labelled) and len(set(drawn)) > 1 else None


def limits_of(table: LabelledTable) -> tuple[float, float] | None:
    """The ends of the scale that judge and people share; none where there is none."""
    if table.kind == "choices":
        return 0.0, 1.0
    return table.scale.limits if table.scale is not None and table.is_same_scale else None

"""The labelled items of each system as numbers, with the probability of each to be drawn."""

from __future__ import annotations

from collections.abc import Sequence

from .labelled import Entry, LabelledItem, LabelledTable


def entries_by_system(table: LabelledTable) -> dict[str, list[Entry]]:
    """The items of each system, in their order; a pair belongs to both of its systems."""
    return dict(table.entries)


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

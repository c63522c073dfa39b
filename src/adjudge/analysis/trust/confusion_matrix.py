"""The judge's answers by people's labels, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...stats import halved
from ..labels.labelled import LabelledItem, LabelledTable, number_or_none, numbers
from ..run_view.criteria import levels_of
from .card import ConfusionMatrix
from .estimates import MOST_LEVELS


def confusion_matrix(table: LabelledTable) -> ConfusionMatrix | None:
    """The judge's answers against each rating; a score between
    two levels counts as the nearest, midway as the upper.
    """
    rows = table.rated()
    counts: Counter[tuple[str, str]] = Counter()
    if table.kind == "choices":
        columns = list(table.classes or ("a", "b", "tie"))
        for row in rows:
            counts.update(
                (str(row.answer or "failed"), str(rating)) for rating in row.ratings if rating is not None
            )
    else:
        levels = _levels(table, rows)
        if not levels or not table.is_same_scale:
            return None
        columns = [f"{level:g}" for level in levels]
        for row in rows:
            answer = _at_level(number_or_none(row.answer), levels)
            for rating in numbers(row.ratings):
                if rating is not None:
                    counts[answer or "failed", _at_level(rating, levels) or ""] += 1
    lines = [*columns, *(["failed"] if any(judge == "failed" for judge, _ in counts) else [])]
    return ConfusionMatrix(
        judge=tuple(lines),
        human=tuple(columns),
        counts=tuple(tuple(counts[line, column] for column in columns) for line in lines),
        n_items=len(rows),
        n_ratings=sum(counts.values()),
    )


def _levels(table: LabelledTable, rows: Sequence[LabelledItem]) -> list[float]:
    """The levels of the scale, or the values that occur where it is unknown; none where there are too
    many."""
    levels = levels_of(table.scale)
    if levels is None and table.scale is None:
        answers = [answer for row in rows for answer in (row.answer, *row.ratings)]
        levels = sorted({answer for answer in numbers(answers) if answer is not None})
    return levels if levels and 2 <= len(levels) <= MOST_LEVELS else []


def _at_level(value: float | None, levels: Sequence[float]) -> str | None:
    (both,) = halved([value], levels)
    return None if both is None else f"{both[1]:g}"

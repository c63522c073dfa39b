"""Whether the probabilities of a judge agree with people's labels: which event each probability is of.

On a scale of two levels the event is the upper level. On longer scales, and for classes and choices, it is
that people give the answer that the judge finds likeliest. Knows nothing of how the probabilities came about.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...render import offered_levels
from ...stats import Probabilities, probability_quality
from ..labels.labelled import LabelledItem, LabelledTable


def believed_probabilities(table: LabelledTable) -> Probabilities | None:
    """The calibration of a judge's probabilities against labels; none where it gives none."""
    rows = [row for row in table.labelled() if row.probabilities]
    if not rows or not table.is_same_scale:
        return None
    events = _events(table, rows)
    if events is None:
        return None
    probabilities, happened = events
    likeliest = [max(row.probabilities.items(), key=lambda entry: entry[1]) for row in rows]
    return probability_quality(
        probabilities,
        happened,
        certainties=[share for _, share in likeliest],
        wrong=[not _is_answer(answer, row, table) for (answer, _), row in zip(likeliest, rows, strict=True)],
        clusters=table.groups(rows),
    )


def _events(
    table: LabelledTable, rows: Sequence[LabelledItem]
) -> tuple[list[float], list[bool | None]] | None:
    """For each item the probability of an event, and whether it happened."""
    scale = table.scale
    levels = [] if scale is None or table.kind == "choices" else offered_levels(scale)
    if table.kind == "scores" and len(levels) < 2:
        return None
    if len(levels) == 2:
        upper = f"{levels[1]:g}"
        middle = sum(levels) / 2
        return (
            [row.probabilities.get(upper, 0.0) for row in rows],
            [isinstance(row.label, int | float) and row.label > middle for row in rows],
        )
    likeliest = [max(row.probabilities.items(), key=lambda entry: entry[1]) for row in rows]
    happened: list[bool | None] = [
        _is_answer(answer, row, table) for (answer, _), row in zip(likeliest, rows, strict=True)
    ]
    return [share for _, share in likeliest], happened


def _is_answer(answer: str, row: LabelledItem, table: LabelledTable) -> bool:
    """Whether people gave this answer; the mean of several raters counts as the nearest level."""
    if table.kind == "choices":
        return answer == str(row.label)
    levels = [] if table.scale is None else offered_levels(table.scale)
    if not isinstance(row.label, int | float) or not levels:
        return False
    label = float(row.label)
    return f"{min(levels, key=lambda level: abs(level - label)):g}" == answer

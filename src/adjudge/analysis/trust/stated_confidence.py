"""Whether the confidence that a judge states is as good as its answers."""

from __future__ import annotations

from ...stats import Confidence, confidence_quality, halved
from ..labels.labelled import LabelledTable, numbers
from ..run_view.criteria import levels_of


def stated_confidence(table: LabelledTable, seed: int) -> Confidence | None:
    """The calibration of stated confidence; right means the nearest level of the label, or the same
    choice."""
    rows = [row for row in table.labelled() if row.answer is not None]
    levels = levels_of(table.scale)
    if not any(row.confidence is not None for row in rows) or not table.is_same_scale:
        return None
    if table.kind == "choices":
        is_right = [row.answer == row.label for row in rows]
    elif levels is None:
        return None
    else:
        judge = halved(numbers(row.answer for row in rows), levels)
        human = halved(numbers(row.label for row in rows), levels)
        is_right = [
            share_a_level(judge_levels, rater_levels)
            for judge_levels, rater_levels in zip(judge, human, strict=True)
        ]
    return confidence_quality(
        [row.confidence for row in rows], is_right, clusters=table.groups(rows), seed=seed
    )


def share_a_level(first: tuple[float, float] | None, second: tuple[float, float] | None) -> bool:
    return first is not None and second is not None and not set(first).isdisjoint(second)

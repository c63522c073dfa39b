"""Scores of a candidate with another scale, as they would stand on the scale of the start.

People's labels are on that scale, and agreement is compared on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from ...data.judge_answers import JudgeAnswer
from ...records import Scale


def on_scale_of_start(
    rows: Sequence[JudgeAnswer], own: Scale | None, of_start: Scale | None
) -> list[JudgeAnswer]:
    """Worst end on worst end, best end on best end; unchanged where a scale has no such ends."""
    if own is None or of_start is None or of_start.ends is None or own.ends in (None, of_start.ends):
        return list(rows)
    worst, best = of_start.ends
    moved = []
    for row in rows:
        share = own.normalized(row.answer) if isinstance(row.answer, float | int) else None
        answer = row.answer if share is None else worst + share * (best - worst)
        moved.append(structs.replace(row, answer=answer))
    return moved


def rises_alike(own: Scale | None, of_start: Scale | None) -> bool:
    """Whether both scales have their best end at the same side; a calibration map is of one direction."""
    return own is None or of_start is None or own.direction == of_start.direction

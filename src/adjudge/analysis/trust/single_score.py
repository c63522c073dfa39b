"""Between which labels of people a single score stands."""

from __future__ import annotations

from collections.abc import Sequence

from ...records import Label
from ...stats import ScoreInterval, score_interval
from ..labels.by_system import drawn_with
from ..labels.join import join
from ..labels.labelled import LabelledTable, numbers
from ..run_view.run_view import RunView


def single_score(table: LabelledTable, seed: int) -> ScoreInterval | None:
    """Between which labels of people a single score stands; none for choices and for labels on another scale."""
    rows = table.labelled()
    if table.kind != "scores" or not table.is_same_scale or not rows:
        return None
    return score_interval(
        numbers(row.label for row in rows), numbers(row.answer for row in rows), clusters=table.groups(rows),
        probabilities=drawn_with(rows), limits=table.scale.limits if table.scale is not None else None, seed=seed,
    )  # fmt: skip


ScoreIntervals = dict[tuple[str, str, str], ScoreInterval]
"""(protocol, criterion, model) → the interval of its single scores"""


def score_intervals(view: RunView, labels: Sequence[Label], seed: int = 0) -> ScoreIntervals:
    """The intervals of the scores of a run; only those that exist."""
    intervals: ScoreIntervals = {}
    for table in join(view, labels).values():
        interval = single_score(table, seed)
        if interval is not None and interval.below is not None:
            intervals[table.protocol, table.criterion, table.model] = interval
    return intervals

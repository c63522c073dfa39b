"""Between which labels of people a single score stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...records import Label
from ...stats import ScoreInterval, score_interval
from ...store import RunRow, Store
from ..labels.belonging import check_belong
from ..labels.by_system import drawn_with
from ..labels.in_store import labels_in_store
from ..labels.join import join
from ..labels.judged_texts import labels_of_run, other_texts_note
from ..labels.labelled import LabelledTable, numbers
from ..labels.read import read_labels_for
from ..run_view.run_view import RunView
from ..run_view.tabulate import tabulate


def single_score(table: LabelledTable, seed: int) -> ScoreInterval | None:
    """Between which labels of people a single score stands; none for choices and for labels on another
    scale."""
    rows = table.labelled()
    if table.kind != "scores" or not table.is_same_scale or not rows:
        return None
    return score_interval(
        numbers(row.label for row in rows), numbers(row.answer for row in rows), clusters=table.groups(rows),
        probabilities=drawn_with(rows), limits=table.scale.limits if table.scale is not None else None,
        seed=seed,
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


def intervals_of_run(store: Store, run: RunRow, labels: Path | None) -> tuple[ScoreIntervals, str]:
    """The intervals of single scores, from the labels of a file or those in the store, and a note on labels
    that are not used."""
    if labels is None and not labels_in_store(store, run):
        return {}, ""
    view = tabulate(store, run)
    given = None if labels is None else read_labels_for([view], labels)
    if given is not None:
        check_belong(store, [run], given)
    used = labels_of_run(store, run, given)
    return score_intervals(view, used.labels), other_texts_note(used) or ""

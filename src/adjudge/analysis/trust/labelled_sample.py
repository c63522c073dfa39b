"""Whether the labelled items of a criterion look like a random sample, and which systems lack labels."""

from __future__ import annotations

from ...stats import labelled_sample
from ..labels.by_system import drawn_with
from ..labels.labelled import LabelledTable
from ..run_view.result_facts import as_number
from .card import SampleOfLabels
from .corrected_means import systems_without_labels


def sample_of_labels(table: LabelledTable, n_tests: int = 1) -> SampleOfLabels | None:
    """None where no item, or every item, has a label. Of `n_tests` criteria and judges of one card, labels
    drawn at random are called selected on any in at most 5 % of cards.
    """
    rows, labelled = table.rows, table.labelled()
    if table.classes or not 0 < len(labelled) < len(rows):
        return None
    judge = None
    if drawn_with(labelled) is None:
        judge = labelled_sample(
            [None if row.answer is None else as_number(row.answer) for row in rows],
            [row.label is not None for row in rows],
            [row.systems if table.kind == "choices" else row.system for row in rows],
            table.groups(rows),
            n_tests=n_tests,
        )
    return SampleOfLabels(len(labelled), len(rows), tuple(systems_without_labels(table)), judge)

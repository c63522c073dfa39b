"""Whether the judge fails on items that people rate lower, from the labels that exist."""

from __future__ import annotations

from ...stats import InformativeFailures, informative_failures
from ..labels.by_system import drawn_with, limits_of
from ..labels.labelled import LabelledTable, numbers


def failures_of(table: LabelledTable) -> InformativeFailures | None:
    """People's labels of failed items beside the others; none without failures, and where labels are no
    scores.
    """
    labelled = table.labelled()
    if table.kind != "scores" or not table.is_same_scale or all(row.answer is not None for row in labelled):
        return None
    is_even = drawn_with(labelled) is None
    return informative_failures(
        numbers(row.label for row in table.rows),
        numbers(row.answer for row in table.rows),
        clusters=table.groups(table.rows),
        probabilities=None if is_even else [row.probability for row in table.rows],
        limits=limits_of(table),
    )

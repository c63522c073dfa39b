"""Items that moved between two runs, and whose side people take."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import cast

from ...records import Choice, Label
from ...stats.resample import N_RESAMPLES
from ..labels.join import label_of
from ..labels.labelled import Answer, LabelledItem, LabelledTable
from ..run_view.result_facts import as_number
from ..trust.card import Resampling
from ..trust.two_judges import two_judges
from .comparison import MovedItem, PeopleSide, Side
from .match import ComparedItem, ComparisonTable, swapped
from .paired_scores import ScorePair
from .scaling import Scaling
from .sentences import Runs
from .system_order import FEWEST_RESAMPLES, MOST_WORK

MOST_MOVED = 20


Labels = Mapping[tuple[str, str, str | None], Answer]
"""(item, criterion, subject) → the label of people"""


def labels_by_cell(labels: Iterable[Label]) -> dict[tuple[str, str, str | None], Answer]:
    """One label for several raters: the mean of numbers, the majority of choices."""
    ratings: dict[tuple[str, str, str | None], list[Answer]] = defaultdict(list)
    for label in labels:
        ratings[label.item, label.criterion, label.subject].append(label.value)
    return {cell: value for cell, values in ratings.items() if (value := label_of(values)) is not None}


def _label(table: ComparisonTable, row: ComparedItem, labels: Labels) -> Answer | None:
    """The label of an item, of a pair in the frame of its
    name; none where it is of another kind than the answers.
    """
    label = labels.get((row.item, table.criterion, row.subject))
    if label is None or isinstance(label, str) != (table.kind == "choices"):
        return None
    return swapped(cast("Choice", label), row.is_swapped) if isinstance(label, str) else label


def moved_items(
    table: ComparisonTable, scaling: Scaling, pairs: Sequence[ScorePair], labels: Labels
) -> tuple[int, tuple[MovedItem, ...]]:
    """How many items have another answer in the second run, and those with the largest difference."""
    if scaling.unit == "rank":
        return 0, ()
    differing = [
        (pair, pair.second - pair.first)
        for pair in pairs
        if pair.first is not None and pair.second is not None and pair.first != pair.second
    ]
    largest = nsmallest(MOST_MOVED, differing, key=lambda each: -abs(each[1]))
    items = []
    for pair, difference in largest:
        row = pair.row
        label = _label(table, row, labels)
        assert row.first is not None
        assert row.second is not None
        items.append(
            MovedItem(
                row.item, row.system, row.subject, row.first, row.second, difference, label,
                _nearer(row.first, row.second, label) if _is_comparable(table, scaling) else None,
            )
        )  # fmt: skip
    return len(differing), tuple(items)


def _is_comparable(table: ComparisonTable, scaling: Scaling) -> bool:
    """Whether a distance from a label means the same in both runs."""
    return table.kind == "choices" or (scaling.unit == "points" and table.scales[0] is not None)


def _nearer(first: Answer, second: Answer, label: Answer | None) -> Side | None:
    if label is None:
        return None
    gaps = [abs(as_number(answer) - as_number(label)) for answer in (first, second)]
    if abs(gaps[0] - gaps[1]) < 1e-9:
        return "both"
    return "first" if gaps[0] < gaps[1] else "second"


def people_side(
    table: ComparisonTable, scaling: Scaling, labels: Labels, runs: Runs, seed: int
) -> PeopleSide | None:
    """The test of `trust --versus` on the labelled items of this
    comparison, and how many labels are nearer to which run.
    """
    rows = table.rows if labels else ()
    labelled = [(row, label) for row in rows if (label := _label(table, row, labels)) is not None]
    if not labelled:
        return None
    tables = {
        f"{table.criterion} · {run}": LabelledTable(
            criterion=table.criterion, protocol=table.protocols[which], model=run, kind=table.kind,
            scale=table.scales[which], raters=("people",), n_unknown=0, is_same_scale=True, notes=(),
            rows=tuple(_labelled(row, label, (row.first, row.second)[which]) for row, label in labelled),
        )
        for which, run in enumerate((runs.first, runs.second))
    }  # fmt: skip
    n_resamples = max(FEWEST_RESAMPLES, min(N_RESAMPLES, MOST_WORK // len(labelled)))
    (pair,) = two_judges(tables, Resampling("inputs", n_resamples, seed))
    sides = Counter(
        _nearer(row.first, row.second, label)
        for row, label in labelled
        if row.first is not None and row.second is not None
    )
    if not _is_comparable(table, scaling):
        sides = Counter(dict.fromkeys((None,), sides.total()))
    return PeopleSide(sides.total(), sides["first"], sides["second"], sides["both"], pair)


def _labelled(row: ComparedItem, label: Answer, answer: Answer | None) -> LabelledItem:
    return LabelledItem(
        row.item, row.subject, row.system, row.systems, row.group, "ok" if answer is not None else "unparsed",
        answer, (label,), label,
    )  # fmt: skip

"""The queues of the review: which cells are reviewed, in which order, and where a reviewer goes on.

A cell is what a label is about: an item on one criterion, and for a pair one of its responses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from ..analysis.labels.reviews import RANDOM
from ..records import Subject
from ..results.columns import Columns, Mask
from ..words import signed
from .items.listing import ItemsTable

MOST_CELLS = 5000
"""Of a longer queue, the first so many: no one reviews more."""


class Queue(Struct, frozen=True):
    """Which cells are reviewed, and in which order."""

    name: str
    title: str
    about: str
    column: str = ""
    """the column by which the rows are sorted"""
    is_down: bool = True


QUEUES = (
    Queue(
        "people",
        "Judge and people",
        "The judge's answer and people's label differ; the largest difference first.",
        "label_gap",
    ),
    Queue(
        "judges",
        "Panel splits",
        "The judges of this run differ; the largest difference first.",
        "judges_gap",
    ),
    Queue(
        "orders",
        "Conflicting orders",
        "The judge's answer depends on which response is shown first.",
        "orders_gap",
    ),
    Queue(
        "confidence",
        "Low confidence",
        "The judge is not certain; the lowest confidence first.",
        "confidence",
        is_down=False,
    ),
    Queue(
        "injection",
        "Suspected injection",
        "The judged text may contain instructions to the judge.",
    ),
    Queue(
        RANDOM,
        "Random check",
        "Labels at random, whether judge and people agree or not: only these show how many of the "
        "other labels are wrong.",
    ),
)


CellKey = tuple[str, str, Subject | None]
"""item, criterion, subject"""


class QueuePlace(Struct, frozen=True):
    """One place of a queue: the row that put it there."""

    row: int
    seq: int
    key: CellKey


def cells_of(listing: ItemsTable, queue: Queue, criterion: str = "") -> list[QueuePlace]:
    """The cells of a queue in their order; a cell with several judges is there once."""
    known = listing.rows.queues
    if (queue.name, criterion) not in known:
        known[queue.name, criterion] = _cells(listing, queue, criterion)
    cells: list[QueuePlace] = known[queue.name, criterion]
    return cells


def _cells(listing: ItemsTable, queue: Queue, criterion: str) -> list[QueuePlace]:
    columns = listing.columns
    mask = _rows_of(columns, queue)
    if criterion:
        mask &= columns.equals("criterion", criterion)
    rows = columns.selected(mask, queue.column, is_down=queue.is_down).tolist()
    if queue.name == RANDOM:
        rows.sort(key=lambda row: (listing.row_id(row) * 2654435761 % 4294967291, row))
    items, criteria, subjects = (columns.names[name] for name in ("item", "criterion", "subject"))
    cells: dict[CellKey, QueuePlace] = {}
    for row in rows[:MOST_CELLS]:
        key = (items[row] or "", criteria[row] or "", cast("Subject | None", subjects[row]))
        cells.setdefault(key, QueuePlace(listing.row_id(row), int(columns.seq[row]), key))
    return list(cells.values())


def _rows_of(columns: Columns, queue: Queue) -> Mask:
    if queue.name == RANDOM:
        return columns.has("label") | columns.has("label_name")
    if queue.name == "injection":
        return columns.with_flag("injection_suspected")
    if queue.name == "confidence":
        return ~columns.within("confidence", 1.0) & columns.has("confidence")
    return columns.above(queue.column, 0.0)


GOAL = 30
"""So many decisions say enough: the largest disagreements come first."""


def goal_text(listing: ItemsTable, queue: Queue, cells: Sequence[QueuePlace], criterion: str = "") -> str:
    """How much the first decisions of the queue of judge and people can change; empty for other queues."""
    if queue.name != "people" or len(cells) <= GOAL:
        return ""
    columns = listing.columns
    mask = columns.has("value") & columns.has("label")
    if criterion:
        mask &= columns.equals("criterion", criterion)
    rows = columns.selected(mask)
    names = columns.names["criterion"]
    start = f"{GOAL} decide it: of {len(cells):,} disagreements the largest come first."
    if not len(rows) or len(names.counts(rows)) > 1:
        return f"{start} Choose a criterion to see what they can change."
    gaps = (columns.numbers["value"][rows] - columns.numbers["label"][rows]).tolist()
    first = sorted(gaps, key=abs, reverse=True)[:GOAL]
    before, after = sum(gaps) / len(gaps), (sum(gaps) - sum(first)) / len(gaps)
    return (
        f"{start} If the judge is right in all {GOAL}, the mean difference from people goes from "
        f"{signed(before)} to {signed(after)}; if people are, it stays."
    )


def queue_named(name: str | None, sizes: dict[str, int]) -> Queue:
    """The queue of that name; else the first that has cells."""
    for queue in QUEUES:
        if queue.name == name:
            return queue
    return next((queue for queue in QUEUES if sizes.get(queue.name)), QUEUES[0])


def place_in_queue(cells: Sequence[QueuePlace], done: set[CellKey], wanted: int | None) -> int | None:
    """The place of the cell that the address names; else of the first that is not reviewed."""
    if wanted is not None:
        found = next((place for place, cell in enumerate(cells) if cell.row == wanted), None)
        if found is not None:
            return found
    return next((place for place, cell in enumerate(cells) if cell.key not in done), None)


def next_open(cells: Sequence[QueuePlace], done: set[CellKey], here: int | None) -> int | None:
    """The next place that is not reviewed, after the end from the start: what was skipped comes again."""
    start = 0 if here is None else here + 1
    order = [*range(start, len(cells)), *range(min(start - 1, len(cells)) if start else 0)]
    return next((place for place in order if cells[place].key not in done), None)

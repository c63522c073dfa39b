"""The queues of the review: which cells are reviewed, in which order, and where a reviewer goes on.

A cell is what a label is about: an item on one criterion, and for a pair one of its responses. The queues are
read from the copy that `items.index` keeps.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..analysis.labels.reviews import RANDOM
from ..records import Subject
from .items.listing import Listing

MOST_CELLS = 5000
"""Of a longer queue, the first so many: nobody reviews more."""


class Queue(Struct, frozen=True):
    """Which cells are reviewed, and in which order."""

    name: str
    title: str
    about: str
    rule: str
    order: str


QUEUES = (
    Queue(
        "people",
        "Judge and people",
        "The judge's answer and people's label differ; the largest difference first.",
        "label_gap > 0",
        "label_gap DESC, id",
    ),
    Queue(
        "judges",
        "Panel splits",
        "The judges of this run differ; the largest difference first.",
        "judges_gap > 0",
        "judges_gap DESC, id",
    ),
    Queue(
        "orders",
        "Conflicting orders",
        "The judge's answer depends on which response is shown first.",
        "orders_gap > 0",
        "orders_gap DESC, id",
    ),
    Queue(
        "confidence",
        "Low confidence",
        "The judge is not certain; the lowest confidence first.",
        "confidence < 1",
        "confidence, id",
    ),
    Queue(
        "injection",
        "Suspected injection",
        "The judged text seems to address the judge.",
        "instr(flags, ' injection_suspected ')",
        "id",
    ),
    Queue(
        RANDOM,
        "Random check",
        "Labels at random, whether judge and people agree or not: only these show how many of the "
        "other labels are wrong.",
        "label IS NOT NULL",
        "(id * 2654435761) % 4294967291, id",
    ),
)


CellKey = tuple[str, str, Subject | None]
"""item, criterion, subject"""


class Cell(Struct, frozen=True):
    """One place of a queue: the row that put it there."""

    row: int
    seq: int
    key: CellKey


def cells_of(listing: Listing, queue: Queue, criterion: str = "") -> list[Cell]:
    """The cells of a queue in their order; a cell with several judges is there once."""
    rule = f"{queue.rule} AND criterion = ?" if criterion else queue.rule
    with listing.index.reading() as connection:
        found = listing.remembered(
            connection,
            f"SELECT id, seq, item, criterion, subject FROM rows WHERE {rule} ORDER BY {queue.order} "
            f"LIMIT {MOST_CELLS}",
            (criterion,) if criterion else (),
        )
    cells: dict[CellKey, Cell] = {}
    for row, seq, *key in found:
        cells.setdefault((key[0], key[1], key[2]), Cell(row, seq, (key[0], key[1], key[2])))
    return list(cells.values())


def queue_named(name: str | None, sizes: dict[str, int]) -> Queue:
    """The queue of that name; else the first that has cells."""
    for queue in QUEUES:
        if queue.name == name:
            return queue
    return next((queue for queue in QUEUES if sizes.get(queue.name)), QUEUES[0])


def place_in_queue(cells: Sequence[Cell], done: set[CellKey], wanted: int | None) -> int | None:
    """The place of the cell that the address names; else of the first that is not reviewed."""
    if wanted is not None:
        found = next((place for place, cell in enumerate(cells) if cell.row == wanted), None)
        if found is not None:
            return found
    return next((place for place, cell in enumerate(cells) if cell.key not in done), None)


def next_open(cells: Sequence[Cell], done: set[CellKey], here: int | None) -> int | None:
    """The next place that is not reviewed, after the end from the start: what was skipped comes again."""
    start = 0 if here is None else here + 1
    order = [*range(start, len(cells)), *range(min(start - 1, len(cells)) if start else 0)]
    return next((place for place in order if cells[place].key not in done), None)

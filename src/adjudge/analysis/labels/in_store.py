"""The labels in the store that a run can use: its own, and those of other runs of the same texts.

People label texts, not runs. A label of another run counts where it is of the same item, text and criterion
on the same scale; the same rater's label of this run comes before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...data import text_hashes
from ...records import Label, Protocol, Scale
from ...results.manifest import protocols_of
from ...store import RunRow, Store
from ...store.browsing import item_at, items_named

Cell = tuple[str, str, str | None, str]
"""item, criterion, subject and rater: what has one label"""


def labels_in_store(store: Store, run: RunRow) -> list[Label]:
    """The labels of a run, then those of other runs that are of its texts; oldest first."""
    stored = store.labels_with_runs()
    own = [label for whose, label in stored if whose == run.id]
    known = set(map(cell_of, own))
    foreign = [
        (whose, label)
        for whose, label in stored
        if whose not in (None, run.id) and label.text_hash is not None and cell_of(label) not in known
    ]
    return [*own, *_of_same_texts(store, run, foreign)] if foreign else own


def cell_of(label: Label) -> Cell:
    return label.item, label.criterion, label.subject, label.rater


def _of_same_texts(store: Store, run: RunRow, stored: Sequence[tuple[int | None, Label]]) -> list[Label]:
    """The labels that are of a text of the run; of one rater's for the same text the latest."""
    numbers = items_named(store, run, sorted({label.item for _, label in stored}))
    labels = [(whose, label) for whose, label in stored if label.item in numbers]
    others = {other.id: other for other in store.runs()} if labels else {}
    protocols = list(protocols_of(store, run).values())
    items = {name: item_at(store, run, number) for name, number in numbers.items()}
    same: dict[tuple[int, str], bool] = {}
    found: dict[Cell, Label] = {}
    for whose, label in labels:
        other, item = others.get(whose or 0), items[label.item]
        if other is None or item is None:
            continue
        about = other.id, label.criterion
        if about not in same:
            same[about] = _asks_the_same(label.criterion, protocols, protocols_of(store, other).values())
        is_drawn_alike = label.probability is None or _items_of(other) == _items_of(run)
        if (
            same[about]
            and is_drawn_alike
            and label.text_hash in text_hashes(label.criterion, protocols, item.fields)
        ):
            found[cell_of(label)] = label
    return list(found.values())


def _asks_the_same(criterion: str, first: Iterable[Protocol], second: Iterable[Protocol]) -> bool:
    """Whether both judge a criterion of this name, on the same scale."""
    ours = [_values(one, criterion) for one in first if criterion in one.criteria]
    theirs = [_values(one, criterion) for one in second if criterion in one.criteria]
    return any(values in theirs for values in ours)


def _values(protocol: Protocol, criterion: str) -> tuple[object, ...]:
    """What answers a label can be compared with: the ends of a scale, or the names of its classes."""
    scale: Scale | None = protocol.criteria[criterion]
    if scale is None:
        return protocol.task, None
    return protocol.task, scale.low, scale.high, scale.best, tuple(sorted(scale.classes))


def _items_of(run: RunRow) -> tuple[object, ...]:
    """Which items a run has: the probability of a label is that of being drawn among them."""
    items = run.manifest["items"]
    return items.get("sha256"), items.get("n")

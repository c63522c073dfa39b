"""Leaves out labels of other texts: an id may stand for another text than when the label was given."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import structs

from ...data import LabelFile, text_hashes
from ...errors import DataError
from ...records import Item, Label, Protocol
from ...results.manifest import protocols_of
from ...store import RunRow, Store
from ...store.browsing import item_at, items_named
from ...words import count
from .in_store import labels_in_store


def of_judged_texts(store: Store, runs: Sequence[RunRow], labels: LabelFile) -> LabelFile:
    """The labels without those whose text hash differs from the text that one of the runs judged.

    A label without a hash, and one of an item that no run has, is kept.
    """
    items = {label.item for label in labels.labels if label.text_hash is not None}
    if not items:
        return labels
    kept = labels.labels
    for run in runs:
        known = _KnownTexts(store, run, items)
        kept = tuple(label for label in kept if known.may_be_of(label))
    n_left_out = len(labels.labels) - len(kept)
    return structs.replace(labels, labels=kept, n_of_other_texts=labels.n_of_other_texts + n_left_out)


def is_of_text(label: Label, item: Item, protocols: Collection[Protocol]) -> bool:
    """Whether a label is of the text of an item, or nothing says otherwise."""
    hashes = [] if label.text_hash is None else text_hashes(label.criterion, protocols, item.fields)
    return not hashes or label.text_hash in hashes


class _KnownTexts:
    """The judged texts of the labelled items of one run."""

    def __init__(self, store: Store, run: RunRow, items: Collection[str]) -> None:
        self._protocols = list(protocols_of(store, run).values())
        # Only these are decoded: a run may have a million items, and a page asks again with each new label.
        numbers = items_named(store, run, sorted(items))
        self._items = {name: item_at(store, run, number) for name, number in numbers.items()}

    def may_be_of(self, label: Label) -> bool:
        """Whether a label is of the judged text, or nothing says otherwise."""
        item = self._items.get(label.item)
        return item is None or is_of_text(label, item, self._protocols)


def labels_of_run(store: Store, run: RunRow, given: LabelFile | None = None) -> LabelFile:
    """The labels of a run: those of a file, or those in the store, without those of other texts."""
    labels = given if given is not None else LabelFile(tuple(labels_in_store(store, run)))
    return of_judged_texts(store, [run], labels)


def check_of_judged_texts(labels: LabelFile, run: str) -> None:
    """Raise where every label is of another text than the one that was judged."""
    if labels.n_of_other_texts and not labels.labels:
        raise DataError(
            f"{other_texts_note(labels)}\n"
            f"Label the texts of this run: adjudge sample {run} -n 50 -o labels.csv"
        )


def other_texts_note(labels: LabelFile) -> str:
    """How many labels are of other texts; empty where none is."""
    n, n_all = labels.n_of_other_texts, labels.n_of_other_texts + len(labels.labels)
    if not n:
        return ""
    verb = "is" if n == 1 else "are"
    return (
        f"{n:,} of {count(n_all, 'label')} {verb} of another text than the one that was judged, and not used:"
        " the response under this id has changed since the label was given."
    )

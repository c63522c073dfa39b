"""Which labels belong to a run: of its items, on its criteria, and of the kind that its judge gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs

from ...data import LabelFile
from ...did_you_mean import did_you_mean
from ...errors import DataError
from ...records import Item, Label, Protocol
from ...results.manifest import protocols_of
from ...store import RunRow, Store
from ...store.browsing import item_at, items_named
from ...words import count
from .unusable_labels import how_ids_differ


class JudgedLabel(NamedTuple):
    """A label, and the item that it is of."""

    label: Label
    item: Item


def check_belong(store: Store, runs: Sequence[RunRow], labels: LabelFile) -> None:
    """An error where labels are given and none is of an item and a criterion of any of the runs."""
    names = sorted({label.item for label in labels.labels})
    for run in runs:
        criteria = {name for protocol in protocols_of(store, run).values() for name in protocol.criteria}
        items = items_named(store, run, names)
        if any(label.item in items and label.criterion in {*criteria, ""} for label in labels.labels):
            return
    if labels.labels and runs:
        notes = [note for run in runs[:_MOST_NAMED] for note in labels_belonging(store, run, labels)[1]]
        whose = f"run {runs[0].name}" if len(runs) == 1 else "the runs"
        raise DataError("\n".join((f"No label belongs to {whose}.", *dict.fromkeys(notes))))


_MOST_NAMED = 3
"""Runs of which an error says why no label belongs to them."""


def _with_criterion(labels: LabelFile, protocols: Sequence[Protocol]) -> LabelFile:
    """The labels; those without a criterion get the only one of the run."""
    names = sorted({name for protocol in protocols for name in protocol.criteria})
    if all(label.criterion for label in labels.labels):
        return labels
    if len(names) != 1:
        raise DataError(
            f"The labels name no criterion, and the run has {len(names)}: {', '.join(names)}. Add a column "
            "'criterion' to the file."
        )
    named = (
        label if label.criterion else structs.replace(label, criterion=names[0]) for label in labels.labels
    )
    return structs.replace(labels, labels=tuple(named))


def labels_belonging(store: Store, run: RunRow, given: LabelFile) -> tuple[list[JudgedLabel], list[str]]:
    """The labels of items and criteria of a run, and notes on the others."""
    protocols = list(protocols_of(store, run).values())
    labels = _with_criterion(given, protocols)
    criteria = sorted({name for protocol in protocols for name in protocol.criteria})
    numbers = items_named(store, run, sorted({label.item for label in labels.labels}))
    items = {name: item_at(store, run, number) for name, number in numbers.items()}
    usable: list[JudgedLabel] = []
    unknown: Counter[str] = Counter()
    other_kind: Counter[str] = Counter()
    absent: list[str] = []
    for label in labels.labels:
        if label.criterion not in criteria:
            unknown[label.criterion] += 1
        elif not _is_of_kind(label, protocols):
            other_kind[label.criterion] += 1
        elif label.item not in items:
            absent.append(label.item)
        else:
            usable.append(JudgedLabel(label, items[label.item]))
    notes = [
        f"{count(n, 'label')} of '{name}' not used: the criteria of the run are {', '.join(criteria)}. "
        f"{did_you_mean(name, criteria)}".rstrip()
        for name, n in unknown.items()
    ]
    notes += [
        f"{count(n, 'label')} of '{name}' not used: the values are not what the judge gives (a score; or a, "
        f"b "
        "or tie)."
        for name, n in other_kind.items()
    ]
    if absent:
        first = next(iter(store.items(run)), None)
        advice = (
            f" The run has items like '{first.id}'. {how_ids_differ(absent[0], first.id)}" if first else ""
        )
        notes.append(
            f"{count(len(absent), 'label')} not used: the run has no item '{absent[0]}'"
            + (f", nor {count(len(set(absent)) - 1, 'other')} of the file" if len(set(absent)) > 1 else "")
            + f".{advice}"
        )
    return usable, notes


def _is_of_kind(label: Label, protocols: Sequence[Protocol]) -> bool:
    """Whether a protocol gives what the label is: a choice, a class, or a score."""
    judging = [protocol for protocol in protocols if label.criterion in protocol.criteria]
    if not isinstance(label.value, str):
        return any(protocol.criteria[label.criterion] is not None for protocol in judging)
    return any(
        protocol.task == "compare" or (scale is not None and scale.is_nominal)
        for protocol in judging
        if (scale := protocol.criteria[label.criterion]) is not None or protocol.task == "compare"
    )

"""Reads the labels of a run: from a file, from its store, or from the stores of several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...data import LabelFile, read_labels
from ...records import Label
from ...results.manifest import protocols_of
from ...store import Store, open_store
from ..run_view.run_view import RunView


def read_labels_for(
    views: Sequence[RunView], path: str | Path, renames: Mapping[str, str] | None = None
) -> LabelFile:
    """The labels of a file about these runs, whose classes it may name."""
    scales = [scale for view in views for scale in view.scales.values() if scale is not None]
    classes = tuple(dict.fromkeys(name for scale in scales for name in scale.classes))
    return read_labels(path, renames, classes, [p for view in views for p in view.protocols.values()])


def read_labels_of_store(store: Path, path: Path) -> LabelFile:
    """The labels of a file about any run of a store."""
    with open_store(store, write=False) as opened:
        protocols = [protocol for run in opened.runs() for protocol in protocols_of(opened, run).values()]
    scales = [scale for protocol in protocols for scale in protocol.criteria.values() if scale is not None]
    classes = tuple(dict.fromkeys(name for scale in scales for name in scale.classes))
    return read_labels(path, classes=classes, protocols=protocols)


def labels_of_runs(store: Store, names: Sequence[str]) -> list[Label]:
    """The stored labels of several runs; one that is in both counts once."""
    unique: dict[tuple[object, ...], Label] = {}
    for name in names:
        for label in store.labels(store.run(name)):
            unique.setdefault((label.item, label.criterion, label.subject, label.rater), label)
    return list(unique.values())

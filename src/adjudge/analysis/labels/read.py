"""Reads the labels of a run: from a file, from its store, or from the stores of several runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ...data import LabelFile, LabelScales, read_labels, scales_by_criterion
from ...data.label_scales import Ends
from ...records import Label, Protocol, Scale
from ...results.manifest import protocols_of, text_columns_of
from ...store import RunRow, Store, open_store
from ..run_view.run_view import RunView
from .belonging import check_belong
from .in_store import Cell, cell_of, labels_in_store


def read_labels_for(
    views: Sequence[RunView],
    path: str | Path,
    renames: Mapping[str, str] | None = None,
    label_scale: Ends | None = None,
) -> LabelFile:
    """The labels of a file about these runs: on their scales, or on `label_scale`."""
    scales = [(criterion, scale) for view in views for (_, criterion), scale in view.scales.items()]
    protocols = [protocol for view in views for protocol in view.protocols.values()]
    columns = _text_columns(view.run for view in views if view.run is not None)
    return _read(path, renames, scales, protocols, label_scale, columns)


def read_labels_of(
    runs: Sequence[RunRow],
    protocols: Iterable[Protocol],
    path: str | Path,
    renames: Mapping[str, str] | None = None,
    label_scale: Ends | None = None,
) -> LabelFile:
    """The labels of a file about runs, which have these protocols."""
    known = list(protocols)
    scales = [entry for protocol in known for entry in protocol.criteria.items()]
    return _read(path, renames, scales, known, label_scale, _text_columns(runs))


def read_labels_of_store(store: Path, path: Path) -> LabelFile:
    """The labels of a file about any run of a store; an error where none belongs to one."""
    with open_store(store, write=False) as opened:
        runs = opened.runs()
        protocols = [protocol for run in runs for protocol in protocols_of(opened, run).values()]
        labels = read_labels_of(runs, protocols, path)
        check_belong(opened, runs, labels)
    return labels


def _read(
    path: str | Path,
    renames: Mapping[str, str] | None,
    scales: Sequence[tuple[str, Scale | None]],
    protocols: Sequence[Protocol],
    label_scale: Ends | None,
    text_columns: Mapping[str, str],
) -> LabelFile:
    classes = dict.fromkeys(name for _, scale in scales if scale is not None for name in scale.classes)
    return read_labels(
        path, renames, tuple(classes), protocols, label_scales(scales, label_scale), text_columns
    )


def _text_columns(runs: Iterable[RunRow]) -> dict[str, str]:
    return {field: column for run in runs for field, column in text_columns_of(run).items()}


def label_scales(scales: Iterable[tuple[str, Scale | None]], label_scale: Ends | None) -> LabelScales:
    """The scales that labels must be on: `label_scale`, or those of the criteria."""
    known = scales_by_criterion(scales)
    return LabelScales(known) if label_scale is None else LabelScales(known, label_scale, advice="")


def labels_of_runs(store: Store, names: Sequence[str]) -> list[Label]:
    """The labels that runs can use; one that several can use counts once."""
    unique: dict[Cell, Label] = {}
    for name in names:
        for label in labels_in_store(store, store.run(name)):
            unique.setdefault(cell_of(label), label)
    return list(unique.values())

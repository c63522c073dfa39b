"""What a gate reads: the run, its baseline, and the labels of both."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import structs

from ...data import LabelFile
from ...errors import DataError
from ...records import Label, Protocol
from ...results.manifest import protocols_of
from ...stats import n_distinct
from ...store import RunRow, Store
from ..about import About
from ..compare.same_input import same_inputs, with_ids
from ..labels.join import join
from ..labels.judged_texts import labels_of_run, other_texts_note
from ..labels.read import read_labels_of
from ..run_view.panel import pooled_over_models
from ..run_view.run_view import RunView
from ..run_view.tabulate import tabulate
from .gated_criterion import GatedTable, numbers_alone, with_items

FROM_STORE = "store"
"""As the value of --labels: use the labels in the store rather than a file."""


class GateInput:
    """A run with its labels, ready for checks; `for_comparison` with a baseline, `baseline_of` for a
    baseline."""

    def __init__(
        self,
        store: Store,
        run: RunRow,
        labels: str | None,
        *,
        for_comparison: bool = True,
        about: About = "new-inputs",
        baseline_of: GateInput | None = None,
    ) -> None:
        self.run, self.about = run, about
        is_plain = all(protocol.task == "score" for protocol in protocols_of(store, run).values())
        keeps_items = for_comparison or labels is not None or len(run.manifest["models"]) > 1 or not is_plain
        view = tabulate(store, run, keep_results=keeps_items, for_comparison=for_comparison)
        if not view.tally.items:
            raise DataError(f"{run.name} has judged nothing yet. Run it first.")
        self.n_items = n_distinct([view.tally.items])
        given = _labels(store, run, labels, list(view.protocols.values()))
        self.labels: Sequence[Label] = given.labels
        self.labels_note = other_texts_note(given)
        self.n_unused_labels = len(labels_of_run(store, run).labels) if labels is None else 0
        """labels of this run in the store that this gate was not told to use"""
        self.matched: Collection[str] = ()
        """items of a baseline that were matched by their inputs, having no ids"""
        if baseline_of is not None:
            ids = same_inputs(view, baseline_of.view)
            view, self.matched = with_ids(view, ids), frozenset(ids.values())
            self.labels = [
                structs.replace(label, item=ids[label.item]) if label.item in ids else label
                for label in given.labels
            ]
        self.view: RunView
        self.view, self.note = pooled_over_models(view)
        tables = join(self.view, self.labels) if keeps_items else {}
        self.tables: dict[str, GatedTable] = (
            {name: with_items(table) for name, table in tables.items()}
            if keeps_items
            else numbers_alone(view)
        )
        self.tables = {
            name: structs.replace(gated, table=structs.replace(gated.table, about=about))
            for name, gated in self.tables.items()
        }

    def unjudged(self) -> tuple[int, int]:
        """How many items of the run have no result yet, and how many there are."""
        planned = int(self.run.manifest["items"].get("n") or 0)
        return max(0, planned - self.n_items), max(planned, self.n_items)


def _labels(store: Store, run: RunRow, source: str | None, protocols: Sequence[Protocol]) -> LabelFile:
    if source is None:
        return LabelFile(())
    if source != FROM_STORE:
        return labels_of_run(store, run, read_labels_of([run], protocols, Path(source)))
    labels = labels_of_run(store, run)
    if not labels.labels and not labels.n_of_other_texts:
        raise DataError(
            f"{run.name} has no labels in {store.path}. Rate some answers (adjudge annotate "
            f"{run.name} -n 30), give a file with --labels FILE, or leave --labels out."
        )
    return labels

"""What a gate reads: the run, its baseline, and the labels of both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from ...data import read_labels
from ...errors import DataError
from ...records import Label
from ...results.manifest import protocols_of
from ...stats import n_distinct
from ...store import RunRow, Store
from ..labels.join import join
from ..labels.labelled import About
from ..run_view.panel import pooled_over_models
from ..run_view.tabulate import tabulate
from .gated_criterion import GatedTable, numbers_alone, with_items

FROM_STORE = "store"
"""As the value of --labels: use the labels in the store rather than a file."""


class GateInput:
    """A run with its labels, ready for checks; `for_comparison` with a baseline."""

    def __init__(
        self,
        store: Store,
        run: RunRow,
        labels: str | None,
        *,
        for_comparison: bool = True,
        about: About = "new-inputs",
    ) -> None:
        self.run = run
        is_plain = all(protocol.task == "score" for protocol in protocols_of(store, run).values())
        keeps_items = for_comparison or labels is not None or len(run.manifest["models"]) > 1 or not is_plain
        view = tabulate(store, run, keep_results=keeps_items, for_comparison=for_comparison)
        if not view.tally.items:
            raise DataError(f"{run.name} has judged nothing yet. Run it first.")
        self.n_items = n_distinct([view.tally.items])
        self.labels: Sequence[Label] = _labels(store, run, labels)
        self.view, self.note = pooled_over_models(view)
        self.tables: dict[str, GatedTable] = (
            {name: with_items(table) for name, table in join(self.view, self.labels).items()}
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


def _labels(store: Store, run: RunRow, source: str | None) -> Sequence[Label]:
    if source is None:
        return ()
    if source != FROM_STORE:
        return read_labels(Path(source)).labels
    labels = store.labels(run)
    if not labels:
        raise DataError(
            f"{run.name} has no labels in {store.path}. Give a file with --labels FILE, or leave "
            "--labels out."
        )
    return labels

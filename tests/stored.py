"""The promise of the table `results`, for every test that leaves a store behind: what is stored is what is
combined."""

from __future__ import annotations

from pathlib import Path

from adjudge.results.combine import VERSION
from adjudge.results.stored_results import combined_items, stored_items
from adjudge.store import open_store


def assert_stored_as_combined(path: Path) -> None:
    """Every run of a store: its stored results are complete, and those that combining its judgments gives."""
    with open_store(path, write=False) as store:
        for run in store.runs():
            stored = [
                (seq, list(results or ())) for seq, results in stored_items(store, run, with_texts=True)
            ]
            assert store.results_are_current(run, VERSION), run.name
            combined = [(seq, list(results or ())) for seq, results in combined_items(store, run)]
            # The text of a number shows more than equality does: 4 is not 4.0.
            assert repr([item for item in stored if item[1]]) == repr(combined), run.name

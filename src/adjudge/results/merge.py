"""`adjudge runs merge`: merges other stores into one, and parses
replies again where their judgments contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..records import Item, Judgment
from ..store import AskedCall, RunRow, open_store
from ..store.merge import MergedFile, merge
from .manifest import recorded_protocols, settings_of
from .reread import reread_judgments


def extract_run(store: Path, run: str, into: Path) -> None:
    """Write a store with one run: its items, calls, replies, judgments, labels, reviews and notes."""
    with open_store(store, write=False) as opened:
        name = opened.run(run).name
    merge_stores(into, [store], only=name)


def merge_stores(into: Path, files: Sequence[Path], *, only: str | None = None) -> list[MergedFile]:
    """Merge the runs, replies, judgments and labels of other stores into one; with `only` one run alone."""

    def parse_again(
        run: RunRow, items: Iterator[Item], read_asked: Callable[[], Iterator[AskedCall]]
    ) -> Iterator[tuple[int, int, Judgment]]:
        return reread_judgments(read_asked(), items, run, recorded_protocols(run, read_asked))

    return merge(into, files, parse_again=parse_again, calls_needed=calls_needed, only=only)


def calls_needed(run: RunRow) -> int | None:
    """How many calls a complete run has, follow-up questions
    not included; none where its manifest does not say.
    """
    n_items = run.manifest.get("items", {}).get("n")
    if not isinstance(n_items, int):
        return None
    settings = settings_of(run)
    orders = sum(
        2 if protocol.get("task") == "compare" and settings.order == "both" else 1
        for protocol in run.manifest["protocols"]
    )
    return n_items * orders * len(run.manifest["models"]) * settings.samples

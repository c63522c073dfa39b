"""The latest tuning that began with a run, as the store keeps it, with the prompts of start and winner."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, ValidationError, convert

from ...results.manifest import protocols_of
from ...store import TUNING, RunRow, Store
from .tuning import Tuning


class KeptTuning(Struct, frozen=True):
    """A tuning, and what is needed to read it again."""

    tuning: Tuning
    runs: dict[str, str]
    """candidate → its run, of those that are still in the store"""
    prompts: tuple[str, str]
    """of the start and of the winner; empty where its run was deleted"""


def kept_tuning(store: Store, run: RunRow) -> KeptTuning | None:
    """None where no tuning began with this run."""
    kept: dict[str, Any] = run.manifest.get(TUNING) or {}
    try:
        tuning = convert(kept.get("result"), Tuning)
    except ValidationError:
        return None
    known = {row.name: row for row in store.runs()}
    runs = {name: of_run for name, of_run in kept["runs"].items() if of_run in known}
    start, winner = (
        _prompt_of(store, known[runs[name]], kept["criterion"]) if name in runs else ""
        for name in (tuning.start, tuning.winner)
    )
    return KeptTuning(tuning, runs, (start, winner))


def _prompt_of(store: Store, run: RunRow, criterion: str) -> str:
    protocols = protocols_of(store, run).values()
    texts = [
        (protocol.system_text, protocol.user_text) for protocol in protocols if criterion in protocol.criteria
    ]
    return "\n\n".join(part for part in texts[0] if part) if texts else ""

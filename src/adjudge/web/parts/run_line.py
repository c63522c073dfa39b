"""One run as a row of a table: its totals, its judges and its cost."""

from __future__ import annotations

from msgspec import Struct

from ...store import RunRow, Totals


class RunLine(Struct, frozen=True):
    """One run as a row of a table."""

    run: str
    status: str
    started: str
    seconds: float
    items: int
    calls: int
    judged: int
    failed: int
    """calls that brought no reply"""
    failures: dict[str, int]
    protocols: list[str]
    models: list[str]
    fakes: list[str]
    cost_usd: float | None
    """none where no price is known"""
    planned: int | None
    unread: int | None = None
    """replies that could not be read in full; none where they were not counted"""


def run_line(run: RunRow, totals: Totals) -> RunLine:
    """A run with its totals."""
    manifest = run.manifest
    return RunLine(
        run=run.name,
        status=run.status,
        started=run.started,
        seconds=run.seconds,
        items=totals.items,
        calls=totals.calls,
        judged=totals.judged,
        failed=sum(totals.failed.values()),
        failures={kind: n for kind, n in totals.failed.items() if n},
        protocols=run.protocol_refs,
        models=[model["spec"] for model in manifest.get("models", [])],
        fakes=[model["spec"] for model in manifest.get("models", []) if model.get("is_fake")],
        cost_usd=totals.cost_usd if totals.replies > totals.unpriced else None,
        planned=manifest.get("items", {}).get("n"),
    )

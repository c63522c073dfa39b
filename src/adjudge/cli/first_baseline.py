"""`adjudge gate --baseline-or-create RUN`: the first run of a pipeline becomes the baseline of the next.

Without a baseline a drop cannot be measured, so the first gate decides by the other thresholds alone. A run
that fails them, or on which the judge failed too often, does not become the baseline.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from msgspec import structs

from ..errors import DataError
from ..exit_codes import DONE, NOT_ENOUGH_EVIDENCE

if TYPE_CHECKING:
    from ..analysis.gate.gate_report import GateReport
    from ..analysis.gate.rules import Rules

_KEPT = (DONE, NOT_ENOUGH_EVIDENCE)
"""The exit codes with which a run becomes the baseline."""


def check_one_baseline(baseline: str | None, create: str | None, baseline_store: str | None) -> None:
    if create is not None and (baseline is not None or baseline_store is not None):
        raise DataError(
            "--baseline-or-create names a run of this store, in place of --baseline and --baseline-store. "
            "Give one of them."
        )


def is_missing(name: str | None, store: Path) -> bool:
    """Whether a baseline is asked for and does not exist yet."""
    if name is None or not store.exists():
        return name is not None
    from ..store import open_store

    with open_store(store, write=False) as opened:
        return name not in {row.name for row in opened.runs()}


def without_drops(rules: Rules) -> Rules:
    """The rules that can be decided without a baseline."""
    return structs.replace(rules, baseline=None, max_drop={}, baseline_labels=None)


def keep_as_baseline(report: GateReport, run: str, name: str, store: Path) -> None:
    """Rename the run to the baseline's name where it may be one, and say so."""
    from ..store import open_store

    if report.exit_code not in _KEPT:
        typer.echo(f"No baseline {name} yet; {run} does not become it, because its gate failed.", err=True)
        return
    with open_store(store) as opened:
        opened.rename_run(run, name)
    typer.echo(
        f"No baseline {name} yet: run {run} is now run {name}, the baseline of the next gate.", err=True
    )

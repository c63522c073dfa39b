"""`adjudge run --dry-run`: what would be sent and what it would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ..untrusted import safe
from ..words import count, price
from .terminal import print_json, print_text

if TYPE_CHECKING:
    from ..engine import Request
    from ..engine.dry_run import DryRun


def print_dry_run(request: Request, as_json: bool) -> None:
    from ..engine.dry_run import dry_run

    estimate = dry_run(request)
    if as_json:
        print_json(estimate)
        return
    for message in estimate.first_messages:
        print_text(f"--- {message.role} ---\n{message.shown}")
    cost = (
        (f", about {price(estimate.cost_usd)}" if estimate.cost_usd else ", free")
        if estimate.cost_usd is not None
        else " (set --price to estimate the cost)"
    )
    if estimate.cost_usd and estimate.price_dates:
        cost += f" by published prices of {', '.join(sorted(set(estimate.price_dates.values())))}"
    typer.echo(
        f"\n{count(estimate.items, 'item')}, {count(estimate.calls, 'call')}: "
        f"{estimate.stored:,} are in the store, "
        f"{estimate.calls - estimate.stored:,} would be sent.\n"
        f"{_identical(estimate)}{_ruled(estimate.ruled)}{_open(estimate.n_open)}"
        f"About {estimate.tokens_in} input tokens{cost}; replies not included. Nothing was sent."
    )
    for batches in estimate.batches:
        most = "" if batches.cost_usd is None else f", at most {price(batches.cost_usd)} with replies"
        parts = "1 batch" if batches.parts == 1 else f"{batches.parts} batches"
        typer.echo(f"{batches.model}: {batches.calls:,} calls in {parts}, {batches.megabytes:.1f} MB{most}.")
    if estimate.batches:
        typer.echo("Prices are those of batches: half of what single calls cost.")


def _identical(estimate: DryRun) -> str:
    """How many calls repeat a prompt, and of which items."""
    n = estimate.n_identical
    if not n:
        return ""
    shown = ", ".join(map(safe, estimate.identical)) + (", …" if n > len(estimate.identical) else "")
    return (
        f"{n:,} more {'has' if n == 1 else 'have'} the same prompt as another call, which is made once for "
        f"all: are there identical items ({shown})?\n"
    )


def _ruled(n: int) -> str:
    return f"{n} more {'is' if n == 1 else 'are'} answered by a rule, without a judge.\n" if n else ""


def _open(n_open: int) -> str:
    """Judgments in steps whose checks are not known before their list is."""
    if not n_open:
        return ""
    return (
        f"Of {n_open:,} judgments only the first call is counted: how many checks follow depends on its "
        "reply.\n"
    )

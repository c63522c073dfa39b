"""`adjudge run --dry-run`: what would be sent and what it would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from .terminal import print_json, print_text

if TYPE_CHECKING:
    from ..engine import Request


def print_dry_run(request: Request, as_json: bool) -> None:
    from ..engine.dry_run import dry_run

    estimate = dry_run(request)
    if as_json:
        print_json(estimate)
        return
    for message in estimate.first_messages:
        print_text(f"--- {message.role} ---\n{message.shown}")
    cost = (
        f", about ${estimate.cost_usd:.4f}"
        if estimate.cost_usd is not None
        else " (set --price to estimate the cost)"
    )
    if estimate.cost_usd and estimate.price_dates:
        cost += f" by published prices of {', '.join(sorted(set(estimate.price_dates.values())))}"
    typer.echo(
        f"\n{estimate.items} items, {estimate.calls} calls: {estimate.stored} are in the store, "
        f"{estimate.calls - estimate.stored} would be "
        f"sent.\n{_ruled(estimate.ruled)}{_open(estimate.n_open)}About {estimate.tokens_in} input "
        f"tokens{cost}; replies not included. Nothing was sent."
    )
    for batches in estimate.batches:
        most = "" if batches.cost_usd is None else f", at most ${batches.cost_usd:.4f} with replies"
        parts = "1 batch" if batches.parts == 1 else f"{batches.parts} batches"
        typer.echo(f"{batches.model}: {batches.calls:,} calls in {parts}, {batches.megabytes:.1f} MB{most}.")
    if estimate.batches:
        typer.echo("Prices are those of batches: half of what single calls cost.")


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

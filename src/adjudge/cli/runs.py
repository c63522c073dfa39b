"""`adjudge runs`: list the runs of a store and their batches, rename, delete and merge runs, cancel
batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..analysis.trust.words.first_screen import judge_in_sentence
from ..words import price
from .options import AS_JSON, NAMED_RUN, STORE
from .run_file import TRUST_RUN_FILE, confirmed_on_terminal
from .runs_show import show_replies
from .terminal import print_json, print_table, print_text

if TYPE_CHECKING:
    from ..store import BatchRow
    from ..store.merge import MergedFile


runs_app = typer.Typer(
    help=(
        "List the runs of a store and their batches, show replies, rename, delete and merge runs, cancel "
        "batches."
    ),
    rich_markup_mode=None,
)
runs_app.command("show")(show_replies)


@runs_app.callback(invoke_without_command=True)
def list_runs(context: typer.Context, store: Path = STORE, as_json: bool = AS_JSON) -> None:
    """List all runs of a store, latest last."""
    if context.invoked_subcommand is not None:
        return
    print_runs(store, as_json)


@runs_app.command("list")
def list_runs_too(store: Path = STORE, as_json: bool = AS_JSON) -> None:
    """List all runs of a store, latest last."""
    print_runs(store, as_json)


def print_runs(store: Path, as_json: bool) -> None:
    from ..store import open_store

    with open_store(store, write=False) as opened:
        rows = [_run_row(opened, run) for run in opened.runs()]
    if as_json:
        print_json(rows)
        return
    open_batches = [batch for row in rows for batch in row["batches"] if batch["state"] not in _SETTLED]
    columns = ["run", "status", "items", "calls", "failed_calls", "cost", "models", "protocols", "started"]
    if any(row["reviews"] for row in rows):
        columns.insert(5, "reviews")
    print_table(
        [name.replace("_", " ") for name in columns],
        [tuple(_in_list(column, row[column]) for column in columns) for row in rows],
        spare=("started", "protocols", "reviews", "calls"),
    )
    if open_batches:
        shown = (
            "run",
            "batch",
            "model",
            "state",
            "provider_state",
            "calls",
            "answered",
            "failed",
            "submitted",
            "note",
        )
        print_table(
            [name.replace("_", " ") for name in shown],
            [tuple(_cell(batch[column]) for column in shown) for batch in open_batches],
        )


_SETTLED = ("collected", "closed")


def batch_row(batch: BatchRow, run: str) -> dict[str, Any]:
    """A batch as `adjudge runs` lists it."""
    return {
        "run": run,
        "batch": batch.remote or None,
        "model": batch.model,
        "state": batch.state,
        "provider_state": batch.provider_state or None,
        "calls": batch.n_calls,
        "answered": batch.n_done,
        "failed": batch.n_failed,
        "estimate": batch.estimate_usd,
        "submitted": batch.created,
        "name": batch.name,
        "note": batch.note or None,
    }


def _run_row(store: Any, run: Any) -> dict[str, Any]:
    totals = store.totals(run)
    return {
        "run": run.name,
        "status": run.status,
        "started": run.started,
        "items": totals.items,
        "calls": totals.calls,
        "failed_calls": sum(totals.failed.values()),
        "protocols": run.protocol_refs,
        "models": [model["spec"] for model in run.manifest["models"]],
        "cost": totals.cost_usd if totals.replies > totals.unpriced else None,
        "paid": totals.paid_usd if totals.replies > totals.unpriced else None,
        "reviews": len(store.reviews(run)),
        "batches": [batch_row(batch, run.name) for batch in store.batches(run)],
    }


def _in_list(column: str, value: Any) -> str:
    """A cell of the list of runs: names without addresses and digests, which --json has."""
    if column == "models":
        return ", ".join(dict.fromkeys(map(judge_in_sentence, value)))
    if column == "protocols":
        return ", ".join(dict.fromkeys(ref.partition("@")[0] for ref in value))
    if column == "started":
        return str(value)[:16]
    if column == "cost" and value is not None:
        return price(value)
    return _cell(value)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, float):
        return f"{value:.4f}"
    return "–" if value is None else str(value)


@runs_app.command("rename")
def rename_run(
    run: str = NAMED_RUN, name: str = typer.Argument(..., metavar="NAME"), store: Path = STORE
) -> None:
    """Rename a run."""
    from ..store import open_store

    with open_store(store) as opened:
        opened.rename_run(run, name)
    typer.echo(f"Renamed {run} to {name}")


@runs_app.command("delete")
def delete_run(
    run: str = NAMED_RUN,
    yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask for confirmation."),
    store: Path = STORE,
) -> None:
    """Delete a run, and the replies that no other run uses.
    This cannot be undone, and the replies were paid for.
    """
    from ..store import open_store

    with open_store(store) as opened:
        row = opened.run(run)
        written = _written_text(len(opened.reviews(row)), len(opened.notes(row)))
        if not yes:
            typer.confirm(f"Delete {row.name}{written} and the replies that no other run uses?", abort=True)
        opened.delete_run(row.name)
    typer.echo(f"Deleted {row.name}{written}")


def _written_text(n_reviews: int, n_notes: int) -> str:
    """What is deleted with a run; empty where there is nothing."""
    from ..words import count

    parts = [count(n, what) for n, what in ((n_reviews, "review"), (n_notes, "note")) if n]
    return f" with {' and '.join(parts)}" if parts else ""


@runs_app.command("cancel")
def cancel_batches(
    run: str = NAMED_RUN,
    key_env: list[str] = typer.Option(
        [],
        "--key-env",
        metavar="[MODEL=]VAR",
        help="The environment variable with the API key, as in the run.",
    ),
    _trust_run_file: bool = TRUST_RUN_FILE,
    store: Path = STORE,
) -> None:
    """Cancel the open batches of a run. What is answered by then stays; the command of the run collects
    it."""
    import asyncio

    from ..engine.cancel_batches import cancel_all, models_to_cancel_at
    from ..run_file.stored_models import check_stored_models
    from ..store import open_store
    from .flag_values import parse_key_env

    keys = parse_key_env(key_env) if key_env else None
    with open_store(store) as opened:
        row = opened.run(run)
        check_stored_models(store, models_to_cancel_at(opened, row), confirmed_on_terminal)
        cancelled, left = asyncio.run(cancel_all(opened, row, keys))
    typer.echo(f"Cancelled {cancelled} of {cancelled + len(left)} open batches of {row.name}")
    for note in left:
        typer.echo(f"  {note}", err=True)
    if left:
        raise typer.Exit(1)


@runs_app.command("merge")
def merge_command(
    files: list[Path] = typer.Argument(..., metavar="FILE…", help="The stores to merge; they are only read."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Merge the runs, replies, labels and reviews of other stores into one: shards of a run, or work of
    several machines.

    Where both stores have a reply to a call, the one in --store is kept. Merging a file again changes
    nothing.
    """
    from ..results.merge import merge_stores

    merged = merge_stores(store, files)
    if as_json:
        print_json({"store": str(store), "files": merged})
        return
    names = ("items", "calls", "judgments", "labels")
    table = [
        (file.file, run.run, run.into, run.status, *(str(getattr(run, name)) for name in names))
        for file in merged
        for run in file.runs
    ]
    print_table(("file", "run", "merged into", "status", *(f"new {name}" for name in names)), table)
    for note in (note for file in merged for note in _merge_notes(file)):
        print_text(note)


def _merge_notes(file: MergedFile) -> Iterator[str]:
    """Where a merged file and the store differ."""
    from ..words import count

    for run in file.runs:
        if run.is_new and run.into != run.run:
            yield f"{file.file}: the store has another run named {run.run}; this one is {run.into} there."
        if run.differing_replies:
            yield (
                f"{file.file}, run {run.run}: "
                f"{count(run.differing_replies, 'call has', 'calls have')} another reply in the "
                f"store, which was kept; {count(run.parsed_again, 'judgment was', 'judgments were')} "
                "parsed again from it."
            )
        for n, what in ((run.reviews, "review"), (run.notes, "note")):
            if n:
                yield f"{file.file}, run {run.run}: {count(n, what)} added."
        for n, what in (
            (run.differing_labels, "label"),
            (run.differing_reviews, "review"),
            (run.differing_notes, "note"),
        ):
            if n:
                yield _kept_note(f"{file.file}, run {run.run}", n, what)
    if file.labels:
        yield f"{file.file}: {count(file.labels, 'label')} of no run added."
    if file.differing_labels:
        yield _kept_note(f"{file.file}, labels of no run", file.differing_labels, "label")


def _kept_note(where: str, n: int, what: str) -> str:
    from ..words import count

    return f"{where}: {count(n, f'{what} has', f'{what}s have')} another value in the store, which was kept."

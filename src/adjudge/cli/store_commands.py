"""Commands on the contents of a store: `report`, `runs` with its replies, `reread`, `export` and `doctor`.

`adjudge view` and `adjudge annotate`: pages in the browser, served on this machine only unless they are shared.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import typer

from ..errors import DataError, StoreError
from ..records import Item, Result
from .options import ABOUT, AS_JSON, NAMED_RUN, RUN, STORE
from .terminal import (
    as_text,
    call_text,
    markdown_of,
    print_json,
    print_sections,
    print_table,
    print_text,
    writing,
)

if TYPE_CHECKING:
    from ..analysis.human_agreement import ScoreIntervals
    from ..data.labels import LabelFile
    from ..store import BatchRow, RunRow, Store
    from ..store.browsing import CallOutcome
    from ..store.merge import MergedFile
    from ..store.reading import Judged
    from ..store.repair import Damage
    from ..web.server import Announced
    from ..web.sharing import Invitations, Sharing


# Replies: what was sent, what came back, and what was read from it, verbatim


def show_replies(
    run: str = RUN,
    item: str = typer.Option(None, "--item", metavar="ID", help="Show only the replies for this item."),
    failed: bool = typer.Option(
        False, "--failed", help="Only replies without a readable score, and failed calls."
    ),
    limit: int = typer.Option(5, "--limit", metavar="N", min=1, help="Show at most N replies."),
    prompt: bool = typer.Option(False, "--prompt", help="Show the prompt too, exactly as sent."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Show replies of a run verbatim, with the scores read from them, where, and how."""
    from ..analysis.item_view import item_view
    from ..engine import protocols_of
    from ..store import open_store

    with open_store(store, write=False) as opened:
        row = opened.run(run)
        selected = islice(_selected(opened.judgments(row), item, failed), limit)
        places = [
            (judged.item, _place(opened, row, judged, with_prompt=prompt or as_json)) for judged in selected
        ]
        has_item = bool(places) or any(known.id == item for known in opened.items(row))
        protocols = protocols_of(opened, row)
    if as_json:
        print_json([_place_json(known, place) for known, place in places])
        return
    if not places:
        if item is not None and not has_item:
            raise DataError(f"{row.name} has no item {item!r}. To list all items: adjudge export {row.name}.")
        typer.echo("No matching replies.", err=True)
    for known, place in places:
        view = item_view(known, [place], protocols)
        for call in view.calls:
            print_text(call_text(known.id if known is not None else "whole run", call))


def _selected(places: Iterable[Judged], item: str | None, failed: bool) -> Iterator[Judged]:
    from ..analysis.item_view import has_unread

    for place in places:
        if item is not None and (place.item is None or place.item.id != item):
            continue
        has_failed = place.error is not None or (place.judgment is not None and has_unread(place.judgment))
        if has_failed or not failed:
            yield place


def _place(store: Store, run: RunRow, judged: Judged, *, with_prompt: bool) -> CallOutcome:
    """A call of a run with its reply; with its messages only where they are shown."""
    from ..store.browsing import CallOutcome
    from ..store.writer import damage_error

    call = store.call(run, judged.call) if with_prompt else None
    if with_prompt and call is None:
        raise damage_error(store.path, f"call {judged.call} is not found by its key")
    return CallOutcome(
        call_index=judged.call_index,
        about=judged.about,
        call=call,
        reply=store.shown_replies([judged.call]).get(judged.call) if judged.error is None else None,
        error=judged.error,
        judgment=judged.judgment,
    )


def _place_json(item: Item | None, place: CallOutcome) -> dict[str, Any]:
    about, call, reply = place.about, place.call, place.reply
    return {
        "item": item.id if item is not None else None,
        "protocol": about.protocol,
        "model": about.model,
        "kind": about.kind,
        "order": about.order,
        "sample": about.sample,
        "messages": call.messages if call is not None else None,
        "reply": reply.text if reply is not None else None,
        "reasoning": reply.reasoning if reply is not None else None,
        "error": place.error,
        "judgment": place.judgment,
    }


# Reports, the list of runs, exports


def report_command(
    run: str = RUN,
    html: Path = typer.Option(
        None, "--html", metavar="FILE", help="Write a self-contained HTML report that opens offline."
    ),
    labels: Path = typer.Option(
        None,
        "--labels",
        metavar="FILE",
        help="With --html: human labels for the judge card. Default: the labels in the store.",
    ),
    about: str = ABOUT,
    markdown: bool = typer.Option(False, "--markdown", help="Print Markdown, for a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Show scores by system and criterion, with intervals, failures and warnings."""
    from ..analysis.trust import check_about

    check_about(about)
    if html is not None:
        _write_html(store, run, html, labels)
        if not as_json and not markdown:
            return
    elif labels is not None:
        raise DataError(
            f"--labels needs --html FILE. To print the judge card here: adjudge trust {run} --labels {labels}"
        )
    show_report(str(store), run, as_json=as_json, as_markdown=markdown, is_finite=about == "these-items")


def _write_html(store: Path, run: str, html: Path, labels: Path | None) -> None:
    """Write the report as a page, and name the file on standard error."""
    from ..store import open_store
    from ..untrusted import safe
    from ..web.report_file import write_report

    with open_store(store, write=False) as opened:
        summary, n_bytes = write_report(opened, opened.run(run), html, labels)
    name = safe(summary.run)
    typer.echo(f"Wrote the report of {name} to {safe(str(html))} ({max(1, n_bytes // 1000):,} kB)", err=True)


MOST_BRIEFED = 100_000
"""Up to so many items a report on the terminal begins with the run in short."""


def show_report(
    store: str, name: str, *, as_json: bool = False, as_markdown: bool = False, is_finite: bool = False
) -> tuple[int, int]:
    """Print the report of a run, and return how many of its scores and choices were read, and how many there are."""
    from ..analysis.brief import brief_of_run
    from ..analysis.report import about_these_items, summarise
    from ..analysis.report_words import report_sections
    from ..analysis.run_view import tabulate
    from ..store import open_store

    with open_store(store, write=False) as opened:
        run = opened.run(name)
        # Who leads takes all results at once; a run that is too large for that has the tables alone.
        is_brief = not as_json and run.manifest["items"]["n"] <= MOST_BRIEFED
        view = tabulate(opened, run, keep_results=is_brief)
        summary = summarise(view)
        brief = brief_of_run(opened, view, summary) if is_brief else None
    if is_finite:
        summary = about_these_items(summary)
    if as_json:
        print_json(summary)
    elif as_markdown:
        print_text(markdown_of(report_sections(summary, brief=brief)))
    else:
        print_sections(report_sections(summary, brief=brief))
    return summary.n_scores - summary.n_failed, summary.n_scores


runs_app = typer.Typer(
    help="List the runs of a store and their batches, show replies, rename, delete and merge runs, cancel batches.",
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
    columns = ["run", "status", "started", "items", "calls", "failed_calls", "cost", "protocols", "models"]
    if any(row["reviews"] for row in rows):
        columns.insert(6, "reviews")
    print_table(
        [name.replace("_", " ") for name in columns],
        [tuple(_cell(row[column]) for column in columns) for row in rows],
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
        "protocols": [f"{protocol['id']}@{protocol['digest']}" for protocol in run.manifest["protocols"]],
        "models": [model["spec"] for model in run.manifest["models"]],
        "cost": totals.cost_usd if totals.replies > totals.unpriced else None,
        "reviews": len(store.reviews(run)),
        "batches": [batch_row(batch, run.name) for batch in store.batches(run)],
    }


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
    """Delete a run, and the replies that no other run uses. This cannot be undone, and the replies were paid for."""
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
    store: Path = STORE,
) -> None:
    """Cancel the open batches of a run. What is answered by then stays; the command of the run collects it."""
    import asyncio

    from ..engine.batching import cancel_all
    from ..store import open_store
    from .run_command import parse_key_env

    keys = parse_key_env(key_env) if key_env else None
    with open_store(store) as opened:
        row = opened.run(run)
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
    """Merge the runs, replies, labels and reviews of other stores into one: shards of a run, or work of several machines.

    Where both stores have a reply to a call, the one in --store is kept. Merging a file again changes nothing.
    """
    from ..engine.results import merge_stores

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
                f"{file.file}, run {run.run}: {count(run.differing_replies, 'call has', 'calls have')} another reply "
                f"in the store, which was kept; {count(run.parsed_again, 'judgment was', 'judgments were')} parsed "
                "again from it."
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


def reread_command(run: str = RUN, store: Path = STORE, as_json: bool = AS_JSON) -> None:
    """Parse all stored replies of a run again with this version's readers. No model is called."""
    from ..engine import reread
    from ..store import open_store

    with open_store(store) as opened:
        row = opened.run(run)
        n_read = reread(opened, row)
    if as_json:
        print_json({"run": row.name, "judgments": n_read})
    else:
        typer.echo(
            f"Parsed {n_read} replies of {row.name} again. To see the result: adjudge report {row.name}"
        )


def export_command(
    run: str = RUN,
    form: str = typer.Option(
        None,
        "--format",
        metavar="jsonl|csv|parquet",
        help="The file format; default: by the suffix of -o, otherwise jsonl.",
    ),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="The file to write. Default: standard output."
    ),
    labels: Path = typer.Option(
        None,
        "--labels",
        metavar="FILE",
        help="Human labels for low and high; default: the labels in the store.",
    ),
    reviews: bool = typer.Option(
        False, "--reviews", help="Export the reviews made with `adjudge view` instead: one row per review."
    ),
    elements: bool = typer.Option(
        False,
        "--elements",
        help="Export what the steps of a protocol have checked instead: one row per element.",
    ),
    store: Path = STORE,
) -> None:
    """Export one row per item, protocol, criterion, subject and model, in item order.

    With enough labels, low and high are the interval of each score: 95 % of items have a human label inside. Where items
    have tags or notes, so do the rows.
    """
    from ..store import open_store

    form = form or _format_by_suffix(output)
    if form not in ("jsonl", "csv", "parquet"):
        raise DataError(f"--format {form}: choose jsonl, csv or parquet.")
    if form == "parquet" and output is None:
        raise DataError(
            "--format parquet writes binary data, which a terminal cannot show. Name a file with -o FILE."
        )
    with open_store(store, write=False) as opened:
        exported = opened.run(run)
        if elements:
            columns, rows = _elements(opened, exported)
        else:
            columns, rows = _reviews(opened, exported) if reviews else _results(opened, exported, labels)
        with writing(output) as file:
            if form == "jsonl":
                _write_jsonl(rows, file)
            elif form == "csv":
                _write_csv(rows, tuple(columns), file)
            else:
                from ..data import write_parquet

                write_parquet(rows, columns, file)


def _elements(store: Store, run: RunRow) -> tuple[dict[str, type], Iterator[dict[str, Any]]]:
    from ..engine import ELEMENT_COLUMNS, element_rows, protocols_of

    if not any(protocol.pipeline for protocol in protocols_of(store, run).values()):
        raise DataError(
            f"--elements: no protocol of {run.name} judges in steps, so there are no elements. Leave it out."
        )
    return ELEMENT_COLUMNS, element_rows(store, run)


def _results(
    store: Store, run: RunRow, labels: Path | None
) -> tuple[dict[str, type], Iterator[dict[str, Any]]]:
    """The columns and rows of the results, with what people wrote about the items."""
    from ..engine import EXPORT_COLUMNS, export_row, results

    intervals = _score_intervals(store, run, labels)
    notes = store.notes(run)
    columns = {**EXPORT_COLUMNS, "low": float, "high": float} if intervals else dict(EXPORT_COLUMNS)
    tags_of: dict[str, list[str]] = {}
    texts_of: dict[str, list[str]] = {}
    for note in notes:
        tags = tags_of.setdefault(note.item, [])
        tags += [tag for tag in note.tags if tag not in tags]
        if note.text:
            texts_of.setdefault(note.item, []).append(f"{note.author}: {note.text}")
    if notes:
        columns |= {"tags": list}

    def written(row: dict[str, Any]) -> dict[str, Any]:
        """The row with the tags of people, and with what they wrote beside the notes of the judge."""
        if not notes:
            return row
        said = {"people": "\n".join(texts_of[row["item"]])} if row["item"] in texts_of else {}
        return {**row, "notes": {**row["notes"], **said}, "tags": tags_of.get(row["item"], [])}

    rows = (
        written({**export_row(result), **(_ends(result, intervals) if intervals else {})})
        for result in results(store, run)
    )
    return columns, rows


def _reviews(store: Store, run: RunRow) -> tuple[dict[str, type], Iterator[dict[str, Any]]]:
    """The columns and rows of the reviews."""
    from ..analysis.label_join import REVIEW_COLUMNS, review_row

    found = store.reviews(run)
    if not found:
        raise DataError(
            f"{run.name} has no reviews. Make some: adjudge view {run.name}, page Review; or leave --reviews out."
        )
    return REVIEW_COLUMNS, map(review_row, found)


def _score_intervals(store: Store, run: RunRow, labels: Path | None) -> ScoreIntervals:
    """The intervals of single scores, from the labels of a file or those in the store."""
    from ..analysis.human_agreement import score_intervals
    from ..analysis.label_join import read_labels_for
    from ..analysis.run_view import tabulate

    if labels is None and not (stored := tuple(store.labels(run))):
        return {}
    view = tabulate(store, run)
    return score_intervals(view, stored if labels is None else read_labels_for([view], labels).labels)


def _ends(result: Result, intervals: ScoreIntervals) -> dict[str, float | None]:
    interval = intervals.get((result.protocol, result.criterion, result.model))
    ends = None if interval is None or result.value is None else interval.around(result.value)
    return {"low": None, "high": None} if ends is None else {"low": ends[0], "high": ends[1]}


def _format_by_suffix(output: Path | None) -> str:
    """The format that the name of a file promises; a name that promises one that is not written is an error."""
    suffix = "" if output is None else output.suffix.lower().lstrip(".")
    if suffix in ("json", "tsv", "xlsx", "gz"):
        raise DataError(
            f"-o {output}: no export is written as .{suffix}. Name it .jsonl, .csv or .parquet, or give --format."
        )
    return suffix if suffix in ("csv", "parquet") else "jsonl"


def _write_jsonl(rows: Iterator[dict[str, Any]], file: IO[bytes]) -> None:
    import msgspec

    for row in rows:
        file.write(msgspec.json.encode(row) + b"\n")


def _write_csv(rows: Iterator[dict[str, Any]], columns: tuple[str, ...], file: IO[bytes]) -> None:
    """CSV that a spreadsheet shows as text: a cell that could be a formula starts with an apostrophe."""
    import msgspec

    from ..data import guarded

    def cell(value: Any) -> Any:
        if isinstance(value, dict) or (
            isinstance(value, list) and any(isinstance(entry, dict) for entry in value)
        ):
            value = msgspec.json.encode(value).decode()
        text = " ".join(value) if isinstance(value, list) else value
        return guarded(text) if isinstance(text, str) else text

    with as_text(file) as text:
        writer = csv.writer(text)
        writer.writerow(columns)
        for row in rows:
            writer.writerow(
                [
                    cell(row[column]) if row[column] != [] or column != "evidence" else "[]"
                    for column in columns
                ]
            )


def doctor_command(
    store: Path = STORE,
    repair: Path = typer.Option(
        None,
        "--repair",
        metavar="FILE",
        help="Save what is intact into this new store; the old one is not changed.",
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Check every page and every row of a store; damaged replies are quarantined and requested again.

    A store that cannot be written is only checked.
    """
    from ..store import open_store
    from ..store.repair import examine

    if repair is not None:
        _repair(store, repair, as_json)
        return
    with open_store(store, write=False):
        pass  # a missing store is an error; opening it for writing would create one
    # Damaged replies can be set aside; a reply that is gone cannot.
    damage = [part for part in examine(store) if part.what != "replies" or part.run is not None]
    damaged: list[str] = []
    runs: list[str] = []
    not_done: str | None = None
    if not damage:
        with open_store(store, write=False) as opened:
            damaged = opened.verify()
            runs = [run.name for run in opened.runs()]
    if damaged:
        not_done = _set_aside(store)
    if as_json:
        print_json(
            {"store": str(store), "runs": runs, "damaged": damaged, "problems": damage, "not_done": not_done}
        )
    elif damage:
        print_text("\n".join([f"{store} is damaged:", *(f"  {_damage_text(part)}" for part in damage)]))
        print_text(f"Save what is whole: adjudge doctor --store {store} --repair NEW.db")
    else:
        _print_whole(store, runs, damaged, not_done)
    if damage or not_done:
        raise typer.Exit(2)


def _set_aside(store: Path) -> str | None:
    """Quarantine the damaged replies; why they could not be, or none."""
    from ..store import open_store

    try:
        with open_store(store) as opened:
            opened.verify()
    except StoreError as refusal:
        return str(refusal)
    return None


def _repair(store: Path, out: Path, as_json: bool) -> None:
    """Save what is whole, and say what is not."""
    from ..store import open_store
    from ..store.repair import repair

    if not store.exists():
        open_store(store, write=False)  # raises
    saved, damage = repair(store, out)
    if as_json:
        print_json({"store": str(store), "repaired": str(out), "runs": saved, "problems": damage})
        return
    columns = ("run", "items", "calls", "judgments")
    rows = [
        (run.run, *(f"{n} of {n_all}" for n, n_all in (
            (run.items, run.items_written), (run.calls, run.calls_written), (run.judgments, run.judgments_written)
        )))
        for run in saved
    ]  # fmt: skip
    print_table(columns, rows)
    print_text(
        "\n".join([f"{out} has what is whole of {store}.", *(f"  {_damage_text(part)}" for part in damage)])
    )
    if not all(run.is_whole for run in saved):
        print_text(f"To fill in what is missing, give the command of each run again with --store {out}.")


def _damage_text(part: Damage) -> str:
    """One line: what is missing or damaged, and how much of it."""
    where = f" of run {part.run}" if part.run is not None else ""
    number = f"{part.n} " if part.n else ""
    detail = f": {part.detail}" if part.detail else " missing or damaged"
    return f"{number}{part.what}{where}{detail}"


def _print_whole(store: Path, runs: list[str], damaged: list[str], not_done: str | None) -> None:
    print_text(f"{store}: {len(runs)} run{'' if len(runs) == 1 else 's'}, the file is intact.")
    if damaged:
        is_single = len(damaged) == 1
        done = "damaged, but could not be quarantined" if not_done else "damaged and quarantined"
        print_text(f"{len(damaged)} repl{'y is' if is_single else 'ies are'} {done}.")
        print_text(
            not_done or f"Run the command of the run again to request {'it' if is_single else 'them'} again."
        )
    else:
        print_text("Every reply is intact.")


_PORT = typer.Option(
    0, "--port", metavar="N", min=0, max=65535, help="The port. Default: any free port; with --share, 8347."
)
_NO_BROWSER = typer.Option(False, "--no-browser", help="Print the address, and do not open a browser.")
_SHARE = typer.Option(
    False, "--share", help="Listen for other machines too. Each person needs an invitation link."
)
_HOST = typer.Option(
    "",
    "--host",
    metavar="ADDRESS",
    help="With --share: the address to listen on. Default: all interfaces; behind a proxy (--public-url), 127.0.0.1.",
)
_PUBLIC_URL = typer.Option(
    "",
    "--public-url",
    metavar="URL",
    help="With --share: the address of the server for others, such as a reverse proxy's.",
)
_TLS = typer.Option(
    None,
    "--tls",
    metavar="CERT KEY",
    help="With --share: encrypt with this certificate and its key, both in PEM.",
)
_INVITATIONS = typer.Option(False, "--invitations", help="List the invitations, and open no page.")
_REVOKE = typer.Option(
    [], "--revoke", metavar="NAME", help="End the invitation of NAME at once, and open no page; repeatable."
)


def _shared(is_shared: bool, host: str, public_url: str, tls: tuple[Path, Path] | None) -> Sharing | None:
    """How the pages are shared; none where they are not."""
    from ..web.sharing import Sharing

    if is_shared:
        sharing = Sharing(host, public_url, tls)
        sharing.check()
        return sharing
    for flag, given in (("--host", host), ("--public-url", public_url), ("--tls", tls)):
        if given:
            raise DataError(f"{flag} needs --share: without it, the pages are for this machine only.")
    return None


def _manage_invitations(invitations: Invitations, revoked: list[str]) -> None:
    """Revoke invitations, or list them; a running server notices at the next request."""
    for name in revoked:
        if not invitations.revoke(name):
            raise DataError(f"{name} has no open invitation. To list them: --invitations")
        print_text(f"Revoked the invitation of {name}.")
    if not revoked:
        rows = [(one.name, one.made, one.revoked or "open") for one in invitations.all()]
        print_table(("name", "invited", "revoked"), rows)


def _announcing(
    sharing: Sharing | None, invitations: Invitations | None, names: list[str]
) -> Callable[[Announced], None]:
    """Prints the addresses of a server, and the new links."""

    def announce(server: Announced) -> None:
        typer.echo(server.url)
        if sharing is not None and invitations is not None:
            _print_links(server, sharing, invitations, names)
        typer.echo("Press Ctrl-C to stop.")

    return announce


def _print_links(server: Announced, sharing: Sharing, invitations: Invitations, names: list[str]) -> None:
    from ..web.sharing import link_of

    where = "all interfaces" if server.bind in ("0.0.0.0", "::") else server.bind
    typer.echo(
        f"The address above is yours alone. Others need a link. Listening on {where}, port {server.port}."
    )
    if warning := sharing.warning():
        typer.echo(warning)
    new = invitations.invite(names)
    for name, token in new.items():
        print_text(f"{name}  {link_of(server.reach, token)}")
    for one in invitations.all():
        if one.revoked is None and one.name not in new:
            print_text(
                f"{one.name}  was invited at {one.made}: that link still works. For another: --revoke, then invite again."
            )


def view_command(
    run: str = typer.Argument(None, metavar="[RUN]", help="The run to open first, or 'last'."),
    labels: Path = typer.Option(
        None, "--labels", metavar="FILE", help="Human labels to show. Default: the labels in the store."
    ),
    export: Path = typer.Option(
        None,
        "--export",
        metavar="DIR",
        help="Write the pages of RUN, or of all runs, as files that open without a server, and start none.",
    ),
    most_items: int = typer.Option(
        2000, "--items", metavar="N", min=1, help="With --export: at most N items of each run."
    ),
    share: bool = _SHARE,
    guest: list[str] = typer.Option(
        [], "--guest", metavar="NAME", help="With --share: invite NAME to read all runs; repeatable."
    ),
    host: str = _HOST,
    public_url: str = _PUBLIC_URL,
    tls: tuple[Path, Path] = _TLS,
    invitations: bool = _INVITATIONS,
    revoke: list[str] = _REVOKE,
    port: int = _PORT,
    no_browser: bool = _NO_BROWSER,
    store: Path = STORE,
) -> None:
    """Browse runs, items, prompts and replies, and review disagreements. Only reviews and notes are written."""
    from ..analysis.label_join import read_labels_of_store
    from ..store import open_store
    from ..web import sharing
    from ..web.annotate_session import rater_name
    from ..web.server import build_app, serve

    given = read_labels_of_store(store, labels) if labels is not None else None
    if export is not None:
        _export_pages(store, run, export, most_items, given)
        return
    shared = _shared(share, host, public_url, tls)
    if guest and shared is None:
        raise DataError("--guest needs --share: without it, the pages are for this machine only.")
    with open_store(store, write=False) as opened:
        path = "/" if run is None else f"/run?{urlencode({'run': opened.run(run).name})}"
    invited = sharing.Invitations(store, "guest")
    if invitations or revoke:
        _manage_invitations(invited, revoke)
        return
    serve(
        lambda reach, bound_port, secrets: build_app(
            store, port=bound_port, secrets=secrets, given=given, reach=reach,
            invitations=invited if shared else None, is_behind_proxy=shared is not None and shared.is_behind_proxy,
        ),
        path=path,
        port=port or (sharing.PORT if shared else 0),
        sharing=shared,
        is_opened=not no_browser,
        announce=_announcing(shared, invited, [rater_name(name) for name in guest]),
    )  # fmt: skip


def _export_pages(
    store: Path, run: str | None, folder: Path, most_items: int, given: LabelFile | None
) -> None:
    """Write a static copy, and say on standard error what it has and what was left out."""
    from ..untrusted import safe
    from ..web.static_copy import write_copy
    from ..words import count
    from .progress import page_progress

    with page_progress() as on_progress:
        written = write_copy(store, run, folder, most_items=most_items, given=given, on_progress=on_progress)
    size = f"{written.n_bytes / 1e6:,.1f} MB" if written.n_bytes >= 1e6 else f"{written.n_bytes // 1000:,} kB"
    names = ", ".join(written.runs) if len(written.runs) <= 5 else count(len(written.runs), "run")
    lines = [
        f"Wrote {count(written.n_pages, 'page')} of {names} to {folder} ({size}). Open {folder / 'index.html'}"
    ]
    lines += [
        f"{one.run}: the copy has {one.n_items:,} of {count(one.n_all, 'item')}. For more: --items N"
        for one in written.left_out
    ]
    lines += [f"{name} has not ended and is not in the copy." for name in written.running]
    if written.is_capped:
        lines.append(
            "There are too many views and comparisons to copy all; links to the others are left out."
        )
    for line in lines:
        typer.echo(safe(line), err=True)


def annotate_command(
    run: str = RUN,
    n: int = typer.Option(50, "-n", metavar="N", min=1, help="How many items to label."),
    criterion: list[str] = typer.Option(
        [], "--criterion", metavar="NAME", help="A criterion to label; repeatable. Default: all criteria."
    ),
    rater: list[str] = typer.Option(
        [],
        "--rater",
        metavar="NAME",
        help="The rater's name. Default: the page asks. With --share: invite NAME; repeatable.",
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed draws the same items."),
    export: Path = typer.Option(
        None, "--export", metavar="FILE", help="Write the labels made so far to a CSV file, and open no page."
    ),
    share: bool = _SHARE,
    host: str = _HOST,
    public_url: str = _PUBLIC_URL,
    tls: tuple[Path, Path] = _TLS,
    invitations: bool = _INVITATIONS,
    revoke: list[str] = _REVOKE,
    port: int = _PORT,
    no_browser: bool = _NO_BROWSER,
    store: Path = STORE,
) -> None:
    """Label items in the browser without seeing the judge's scores. Each label is stored at once."""
    from ..store import open_store
    from ..web import sharing
    from ..web.annotate_session import export_labels, rater_name

    if export is not None:
        n_labels = export_labels(store, run, export)
        typer.echo(f"Wrote {n_labels} labels to {export}", err=True)
        return
    with open_store(store, write=False) as opened:
        invited = sharing.Invitations(store, "rater", opened.run(run))
    if invitations or revoke:
        _manage_invitations(invited, revoke)
        return
    shared = _shared(share, host, public_url, tls)
    names = [rater_name(name) for name in rater]
    if shared is None and len(names) > 1:
        raise DataError(
            "Only one --rater can be given without --share. The page asks others for their names."
        )
    if shared is not None and not names and all(one.revoked for one in invited.all()):
        raise DataError("Nobody is invited to label this run. Name the raters: --share --rater NAME")
    _label(store, run, Draw(n, seed, criterion), names, (shared, invited), port, no_browser)


class Draw(NamedTuple):
    """Which items are labelled, and on which criteria."""

    n: int
    seed: int
    criteria: list[str]


def _label(
    store: Path,
    run: str,
    draw: Draw,
    names: list[str],
    shared_with: tuple[Sharing | None, Invitations],
    port: int,
    no_browser: bool,
) -> None:
    """Serve the labelling pages until interrupted."""
    from ..untrusted import safe
    from ..web.annotate import start_path
    from ..web.annotate_session import open_session
    from ..web.server import build_app, serve
    from ..web.sharing import PORT

    shared, invited = shared_with
    path = start_path(names[0] if names and shared is None else None)
    with open_session(store, run, draw.n, draw.seed, draw.criteria) as session:
        serve(
            lambda reach, bound_port, secrets: build_app(
                store, port=bound_port, secrets=secrets, session=session, reach=reach,
                invitations=invited if shared else None, is_behind_proxy=shared is not None and shared.is_behind_proxy,
            ),
            path=path,
            port=port or (PORT if shared else 0),
            sharing=shared,
            is_opened=not no_browser,
            announce=_announcing(shared, invited, names),
        )  # fmt: skip
        typer.echo(
            f"The labels are in {store}. To compare the judge with them: {safe(session.trust_command)}"
        )

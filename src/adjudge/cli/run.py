"""`adjudge run`: judge items and print the scores. Other commands carry out their runs with it too."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import BudgetReached, DataError, HostDown, RateLimited
from ..exit_codes import ALL_FAILED, DONE, INTERRUPTED, STOPPED, SUBMITTED
from .completion import protocol_ids
from .declared_parameters import takes_run_options
from .dry_run import print_dry_run
from .options import AS_JSON, STORE
from .proposed_columns import with_proposed_columns, with_proposed_judge
from .run_file import CONFIG, TRUST_RUN_FILE
from .run_request import request_of_flags
from .terminal import print_error, print_json, print_text

if TYPE_CHECKING:
    from ..engine import Request, Run
    from .progress import ProgressWatcher


@takes_run_options
def run_command(
    ctx: typer.Context,
    items: str = typer.Argument(
        None,
        metavar="[ITEMS|NAME]",
        help=(
            "JSONL, JSON, CSV, Excel or Parquet (also .gz), hf://…, or - for standard input; or a run of "
            "the run file."
        ),
        show_default=False,
    ),
    protocols: list[str] = typer.Option(
        [],
        "-p",
        "--protocol",
        metavar="ID|DIR",
        help="A built-in protocol or a protocol folder; repeatable.",
        autocompletion=protocol_ids,
    ),
    models: list[str] = typer.Option(
        [],
        "-m",
        "--model",
        metavar="[ALIAS=]MODEL",
        help=(
            "openai:NAME, http://HOST/v1#NAME, anthropic:NAME, replay:FILE, fake:text=…, or a model of "
            "the run file; repeatable. Default: $ADJUDGE_MODEL."
        ),
    ),
    *,
    config: Path = CONFIG,
    _trust_run_file: bool = TRUST_RUN_FILE,
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Show what would be sent and estimate the cost; send nothing."
    ),
    cascade: Path = typer.Option(
        None,
        "--cascade",
        metavar="FILE",
        help=(
            "Judge with the cascade that adjudge cascade wrote: the cheap judge first, the dearer ones "
            "where it is unsure."
        ),
    ),
    check: str = typer.Option(
        None,
        "--check",
        metavar="SHARE",
        help="With --cascade: share of decided items that people check, such as 2%.",
    ),
    yes: bool = typer.Option(
        False,
        "--yes",
        "-y",
        help="Accept the proposed columns and criterion where they are missing; ask nothing.",
    ),
    no_reask: bool = typer.Option(False, "--no-reask", help="The same as --reask 0."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
    **options: Any,
) -> None:
    """Judge items with one or more models, and report the scores. Run the same command again to resume."""
    given = {**options, "store": str(store)}
    of_file: dict[str, Any] = {"reask": 0} if no_reask else {}
    from .cascade_run import request_of_cascade, run_cascade

    if cascade is not None:
        request = request_of_cascade(ctx, items, (protocols, models), given, config, cascade)
        raise typer.Exit(run_cascade(request, cascade, check, quiet, as_json=as_json))
    request = request_of_flags(
        ctx, items, protocols, models, given, config, of_file,
        lambda keywords: with_proposed_judge(keywords, yes or bool(of_file["yes"])),
    )  # fmt: skip
    quiet = quiet or bool(of_file["quiet"])
    if of_file["cascade"]:
        path, share = Path(of_file["cascade"]), check or of_file["check"]
        raise typer.Exit(run_cascade(request, path, share, quiet, as_json=as_json))
    if check is not None:
        raise DataError("--check is for cascades. Give the cascade file with --cascade FILE.")
    request = with_proposed_columns(request, yes or bool(of_file["yes"]))
    if of_file["dry_run"] or dry_run:
        print_dry_run(request, as_json)
        return
    finished, code = carry_out(request, quiet, as_json=as_json)
    if finished is not None:
        from .report import show_report

        n_read, n_scores = show_report(str(request.store), finished, as_json=as_json)
        # Without a score none has failed: there was nothing to score, or a shard has no items.
        code = DONE if n_read or not n_scores else ALL_FAILED
    raise typer.Exit(code)


def carry_out(request: Request, quiet: bool, *, as_json: bool = False) -> tuple[str | None, int]:
    """Run a request: the name of the finished run, or the exit code. Prints why it stopped and how to
    resume."""
    from ..engine import Interrupted, run_in_thread
    from .progress import ProgressWatcher

    # `kill` and closing the terminal stop a run as Ctrl-C does.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    watcher = ProgressWatcher(is_quiet=quiet)
    command = shlex.join(request.command)
    try:
        with watcher:
            finished = run_in_thread(request, watcher)
    except Interrupted:
        print_error(
            "interrupted; all replies received so far are stored. To resume, run the same "
            f"command:\n  {command}"
        )
        return None, INTERRUPTED
    except (BudgetReached, RateLimited, HostDown) as reached:
        longer = " --patience MINUTES waits longer." if isinstance(reached, HostDown) else ""
        print_error(
            f"{reached}{longer}\nAll replies received so far are stored. To resume later, run the "
            f"same command:\n  {command}"
        )
        return None, STOPPED
    for text in finished.adjustments:
        sys.stderr.write(f"note: {text}\n")
    if note := watcher.shard_note(finished.status):
        sys.stderr.write(f"{note}\n")
    if finished.status == "submitted":
        _print_submitted(finished, watcher, command, as_json)
        return None, SUBMITTED
    return finished.name, DONE


def _print_submitted(finished: Run, watcher: ProgressWatcher, command: str, as_json: bool) -> None:
    """Say what is in batches, and how to collect it."""
    from .progress import batch_words
    from .runs import batch_row

    held = [row for row in watcher.batches if row.holds_calls]
    if as_json:
        batches = [batch_row(row, finished.name) for row in held]
        print_json({"run": finished.name, "status": finished.status, "batches": batches})
        return
    n_other = finished.progress.in_batches - sum(row.n_calls for row in held)
    lines = [f"Submitted run {finished.name}: {batch_words(held) or 'no batch of this run is open'}."]
    lines += [f"  {row.model}: {row.note}" for row in held if row.note]
    if n_other > 0 and not held:
        lines.append(
            f"{n_other:,} calls are in open batches of other runs; adjudge runs lists them. Collect "
            "those first."
        )
    print_text(
        "\n".join(
            [
                *lines,
                "To collect the answers, run the same command later, or now with --wait:",
                f"  {command}",
            ]
        )
    )

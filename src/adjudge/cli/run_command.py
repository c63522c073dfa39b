"""`adjudge run`: judge items and print the scores."""

from __future__ import annotations

import gc
import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import BudgetReached, DataError, RateLimited
from .options import AS_JSON, STORE, parse_renames, protocol_ids, takes_run_options
from .terminal import print_error, print_json, print_text

if TYPE_CHECKING:
    from ..engine import Request


@takes_run_options
def run_command(
    items: Path = typer.Argument(
        ...,
        metavar="ITEMS",
        help="JSONL, JSON, CSV, Excel or Parquet (also .gz), hf://…, or - for standard input.",
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
        metavar="MODEL",
        help="openai:NAME, http://HOST/v1#NAME, anthropic:NAME, replay:FILE, fake:text=…; repeatable. Default: $ADJUDGE_MODEL.",
    ),
    *,
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Show what would be sent and estimate the cost; send nothing."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
    **options: Any,
) -> None:
    """Judge items with one or more models, and report the scores. Run the same command again to resume."""
    from ..engine import Request

    _check_given(protocols, models, options["criterion"])
    # The thread that writes to the store releases Python's lock at every statement and must get it back soon.
    sys.setswitchinterval(0.001)
    for name, parse in _PARSERS.items():
        if options[name] is not None:
            options[name] = parse(options[name])
    request = Request(
        items=str(items),
        protocol=protocols,
        model=models,
        command=("adjudge", *sys.argv[1:]),
        store=str(store),
        # Options that are not given have their declared default.
        **{name: value for name, value in options.items() if value is not None},
    )
    if dry_run:
        _print_dry_run(request, as_json)
        return
    finished, code = carry_out(request, quiet)
    if finished is not None:
        from .store_commands import show_report

        n_read = show_report(str(store), finished, as_json=as_json)
        code = 0 if n_read else 4
    raise typer.Exit(code)


def _check_given(protocols: list[str], models: list[str], criterion: str) -> None:
    """Raise where there is no protocol or no model, before anything is read."""
    if not protocols and not criterion:
        raise DataError(
            "a run needs a protocol. Choose one with -p ID; adjudge protocols list shows them all.\n"
            "To judge by a criterion in your own words (geval/score): --criterion 'Is the answer polite?'"
        )
    if not models and not os.environ.get("ADJUDGE_MODEL"):
        raise DataError(
            "a run needs a judge model: -m MODEL, such as -m openai:NAME or -m local, or the variable ADJUDGE_MODEL; "
            "adjudge models list shows all kinds."
        )


def carry_out(request: Request, quiet: bool) -> tuple[str | None, int]:
    """Run a request: the name of the finished run, or the exit code. Prints why it stopped and how to resume."""
    from ..engine import Interrupted, run_in_thread
    from .progress import ProgressWatcher

    # `kill` and closing the terminal stop a run as Ctrl-C does.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    # A run makes many short-lived objects and few cycles. Collecting cycles at Python's default rate costs a twelfth
    # of its CPU.
    gc.set_threshold(50_000, 10, 10)
    watcher = ProgressWatcher(is_quiet=quiet)
    command = shlex.join(request.command)
    try:
        with watcher:
            finished = run_in_thread(request, watcher)
    except Interrupted:
        print_error(
            f"interrupted; all replies received so far are stored. To resume, run the same command:\n  {command}"
        )
        return None, 130
    except (BudgetReached, RateLimited) as reached:
        print_error(
            f"{reached}\nAll replies received so far are stored. To resume later, run the same command:\n  {command}"
        )
        return None, 5
    for text in finished.adjustments:
        sys.stderr.write(f"note: {text}\n")
    return finished.name, 0


def _parse_steps(text: str) -> str | tuple[str, ...]:
    if text == "generate":
        return text
    try:
        lines = Path(text).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"--steps {text}: cannot be read ({error}). Give 'generate', or a file with one step per line."
        ) from error
    return tuple(line.strip() for line in lines if line.strip())


def _parse_price(text: str) -> tuple[float, float]:
    try:
        tokens_in, tokens_out = (float(part) for part in text.split(","))
    except ValueError:
        raise DataError(
            f"--price {text}: write it as IN,OUT in USD per million tokens, for example --price 0.15,0.60."
        ) from None
    return tokens_in, tokens_out


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "steps": _parse_steps,
    "map": parse_renames,
    "price": _parse_price,
}
"""How to turn the text of a flag into the value of the option, where it is not a plain type."""


def _print_dry_run(request: Request, as_json: bool) -> None:
    from ..engine.api import dry_run

    estimate = dry_run(request)
    if as_json:
        print_json(estimate)
        return
    for message in estimate.first_messages:
        print_text(f"--- {message.role} ---\n{message.content}")
    cost = (
        f", about ${estimate.cost_usd:.4f}"
        if estimate.cost_usd is not None
        else " (set --price to estimate the cost)"
    )
    typer.echo(
        f"\n{estimate.items} items, {estimate.calls} calls: {estimate.stored} are in the store, {estimate.calls - estimate.stored} would be sent.\n"
        f"About {estimate.tokens_in} input tokens{cost}; replies not included. Nothing was sent."
    )

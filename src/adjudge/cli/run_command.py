"""`adjudge run`: judge items, and say what came of it."""

from __future__ import annotations

import gc
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import BudgetReached, DataError, RateLimited
from .options import AS_JSON, STORE, takes_run_options
from .protocol_commands import parse_renames
from .terminal import print_error, print_json, print_text

if TYPE_CHECKING:
    from ..engine import Request


@takes_run_options
def run_command(
    items: Path = typer.Argument(
        ..., metavar="ITEMS", help="JSONL, CSV or Parquet, .gz too: one item a line."
    ),
    protocols: list[str] = typer.Option(
        [], "-p", "--protocol", metavar="ID|DIR", help="A built-in protocol or a folder; repeatable."
    ),
    models: list[str] = typer.Option(
        [],
        "-m",
        "--model",
        metavar="MODEL",
        help="openai:NAME, http://HOST/v1#NAME, anthropic:NAME, replay:FILE, fake:text=…; repeatable.",
    ),
    *,
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Say what would be sent and what it may cost; send nothing."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
    **options: Any,
) -> None:
    """Judge items with one or more models, and report the scores. The same command again asks only for what is missing."""
    from ..engine import Request

    _need(protocols, models, options["criterion"])
    # The thread that stores gives up Python's lock at every statement and must not wait long to have it back.
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
        # What is not given has the default of the declaration.
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


def _need(protocols: list[str], models: list[str], criterion: str) -> None:
    """Say what is missing before anything is read, with where to find it."""
    if not protocols and not criterion:
        raise DataError(
            "a run needs a protocol: which way of judging? Choose one with -p ID; adjudge protocols list has them all.\n"
            "To judge by a criterion in words, by geval/score: --criterion 'Is the answer polite?'"
        )
    if not models:
        raise DataError(
            "a run needs a model to judge with: -m MODEL, such as -m openai:NAME or -m local; "
            "adjudge models list has the forms."
        )


def carry_out(request: Request, quiet: bool) -> tuple[str | None, int]:
    """Run it; the name of the finished run, or the exit code. What stopped it is said with how to go on."""
    from ..engine import Interrupted, run_in_thread
    from .progress import ProgressWatcher

    # `kill` and a closed terminal stop a run as Ctrl-C does.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    # A run makes many objects that are soon gone and few cycles. Looking for those as often as Python does by
    # default costs a twelfth of its CPU.
    gc.set_threshold(50_000, 10, 10)
    watcher = ProgressWatcher(is_quiet=quiet)
    again = shlex.join(request.command)
    try:
        with watcher:
            finished = run_in_thread(request, watcher)
    except Interrupted:
        print_error(
            f"interrupted; nothing that was answered is lost. To go on, give the same command:\n  {again}"
        )
        return None, 130
    except (BudgetReached, RateLimited) as reached:
        print_error(
            f"{reached}\nWhat was answered is stored. To go on later, give the same command:\n  {again}"
        )
        return None, 5
    for text in finished.adjustments:
        sys.stderr.write(f"note: {text}\n")
    return finished.name, 0


def _steps(given: str) -> str | tuple[str, ...]:
    if given == "generate":
        return given
    try:
        lines = Path(given).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"--steps {given}: cannot be read ({error}). Write 'generate', or a file with one step a line."
        ) from error
    return tuple(line.strip() for line in lines if line.strip())


def _price(given: str) -> tuple[float, float]:
    try:
        tokens_in, tokens_out = (float(part) for part in given.split(","))
    except ValueError:
        raise DataError(
            f"--price {given}: write it as IN,OUT in USD per million tokens, for example --price 0.15,0.60."
        ) from None
    return tokens_in, tokens_out


_PARSERS: dict[str, Callable[[Any], Any]] = {"steps": _steps, "map": parse_renames, "price": _price}
"""Options whose text the command line's parser does not turn into a value."""


def _print_dry_run(request: Request, as_json: bool) -> None:
    from ..engine.dry_run import dry_run

    told = dry_run(request)
    if as_json:
        print_json(told)
        return
    for message in told.first_messages:
        print_text(f"--- {message.role} ---\n{message.content}")
    cost = (
        f", about ${told.cost_usd:.4f} for them"
        if told.cost_usd is not None
        else " (give --price for the cost)"
    )
    typer.echo(
        f"\n{told.items} items, {told.calls} calls: {told.stored} are in the store, {told.calls - told.stored} would be sent.\n"
        f"About {told.tokens_in} tokens in{cost}; replies come on top. Nothing was sent."
    )

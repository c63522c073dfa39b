"""`adjudge run`: judge items, and say what came of it."""

from __future__ import annotations

import gc
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import typer

from ..errors import BudgetReached, DataError, RateLimited
from .options import AS_JSON, STORE
from .protocol_commands import parse_renames
from .terminal import print_error, print_json, print_text


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
    samples: int = typer.Option(1, "--samples", metavar="N", help="Ask N times for each item."),
    estimator: str = typer.Option(
        None, "--estimator", metavar="E", help="parsed, samples, probability or likelihood."
    ),
    rubric: Path = typer.Option(
        None, "--rubric", metavar="FILE", help="A rubric of your own (TOML or JSON)."
    ),
    examples: Path = typer.Option(
        None, "--examples", metavar="FILE", help="Judged examples to show the judge (JSONL)."
    ),
    criterion: str = typer.Option(
        "", "--criterion", metavar="TEXT", help='Judge by a criterion in words: "Is the answer polite?"'
    ),
    steps: str = typer.Option(
        None,
        "--steps",
        metavar="generate|FILE",
        help="Evaluation steps: written by the judge once per run, or one a line in FILE.",
    ),
    renames: list[str] = typer.Option(
        [], "--map", metavar="INPUT=FIELD", help="Take an input from another field; repeatable."
    ),
    name: str = typer.Option(
        None, "--run", metavar="NAME", help="Name the run; the same name goes on with it."
    ),
    limit: int = typer.Option(None, "--limit", metavar="N", help="Judge only the first N items."),
    order: str = typer.Option(
        "both",
        "--order",
        metavar="both|random|given",
        help="In which order the responses of a pair are shown.",
    ),
    concurrency: int = typer.Option(
        64, "--concurrency", metavar="N", min=1, help="At most N calls in flight at one host."
    ),
    rpm: float = typer.Option(None, "--rpm", metavar="N", help="At most N calls a minute."),
    tpm: float = typer.Option(None, "--tpm", metavar="N", help="At most N tokens a minute."),
    budget: float = typer.Option(
        None,
        "--budget",
        metavar="USD",
        help="Start no further call once this start of the run has spent so much; what earlier starts spent does not count.",
    ),
    price: str = typer.Option(None, "--price", metavar="IN,OUT", help="USD per million tokens in and out."),
    key_env: str = typer.Option(
        None, "--key-env", metavar="VAR", help="The environment variable that holds the key."
    ),
    temperature: float = typer.Option(
        None, "--temperature", metavar="T", help="Default: 0, or 1 with several samples."
    ),
    max_tokens: int = typer.Option(
        None, "--max-tokens", metavar="N", help="The longest reply. Default: the model's own."
    ),
    seed: int = typer.Option(None, "--seed", metavar="N", help="Passed on to models that take a seed."),
    reask: bool = typer.Option(
        True, "--reask/--no-reask", help="Ask once more for the score alone where a reply holds none."
    ),
    skip_bad: bool = typer.Option(False, "--skip-bad", help="Leave bad lines out, and list them."),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Say what would be sent and what it may cost; send nothing."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Judge items with one or more models, and report the scores. The same command again asks only for what is missing."""
    from ..engine import Request

    _need(protocols, models, criterion)
    # The thread that stores gives up Python's lock at every statement and must not wait long to have it back.
    sys.setswitchinterval(0.001)
    request = Request(
        items=str(items), protocols=tuple(protocols), models=tuple(models), store=str(store), run=name, rubric=rubric,
        examples=examples, criterion=criterion, steps=_steps(steps), map=parse_renames(renames), samples=samples,
        estimator=estimator, order=order, temperature=temperature, max_tokens=max_tokens, seed=seed, reask=reask,  # type: ignore[arg-type]
        limit=limit, concurrency=concurrency, rpm=rpm, tpm=tpm, budget=budget, price=_price(price), key_env=key_env,
        skip_bad=skip_bad, command=("adjudge", *sys.argv[1:]),
    )  # fmt: skip
    if dry_run:
        _print_dry_run(request, as_json)
        return
    finished, code = _carry_out(request, quiet)
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


def _carry_out(request: Any, quiet: bool) -> tuple[str | None, int]:
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


def _steps(given: str | None) -> Any:
    if given is None or given == "generate":
        return given or ()
    try:
        lines = Path(given).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"--steps {given}: cannot be read ({error}). Write 'generate', or a file with one step a line."
        ) from error
    return tuple(line.strip() for line in lines if line.strip())


def _price(given: str | None) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        tokens_in, tokens_out = (float(part) for part in given.split(","))
    except ValueError:
        raise DataError(
            f"--price {given}: write it as IN,OUT in USD per million tokens, for example --price 0.15,0.60."
        ) from None
    return tokens_in, tokens_out


def _print_dry_run(request: Any, as_json: bool) -> None:
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

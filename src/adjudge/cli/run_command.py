"""`adjudge run`: judge items and print the scores."""

from __future__ import annotations

import gc
import os
import shlex
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..data import is_address
from ..errors import BudgetReached, DataError, HostDown, RateLimited
from .options import AS_JSON, STORE, parse_renames, protocol_ids, takes_run_options, was_given
from .terminal import print_error, print_json, print_text

if TYPE_CHECKING:
    from ..engine import Request


@takes_run_options
def run_command(
    ctx: typer.Context,
    items: str = typer.Argument(
        None,
        metavar="[ITEMS|NAME]",
        help="JSONL, JSON, CSV, Excel or Parquet (also .gz), hf://…, or - for standard input; or a run of the run file.",
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
        help="openai:NAME, http://HOST/v1#NAME, anthropic:NAME, replay:FILE, fake:text=…, or a model of the run file; repeatable. "
        "Default: $ADJUDGE_MODEL.",
    ),
    *,
    config: Path = typer.Option(
        None, "--config", metavar="FILE", help="Run file; default: adjudge.toml, if it exists."
    ),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Show what would be sent and estimate the cost; send nothing."
    ),
    no_reask: bool = typer.Option(False, "--no-reask", help="The same as --reask 0."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
    **options: Any,
) -> None:
    """Judge items with one or more models, and report the scores. Run the same command again to resume."""
    from ..engine import Request

    # The thread that writes to the store releases Python's lock at every statement and must get it back soon.
    sys.setswitchinterval(0.001)
    flags = _given_flags(ctx, {**options, "store": str(store)})
    if no_reask:
        flags["reask"] = 0
    flags |= {name: value for name, value in (("protocol", protocols), ("model", models)) if value}
    keywords = _keywords(items, flags, config)
    # Flags of this command alone, which a run of the file may set too.
    quiet, dry_run = (keywords.pop("quiet", False) or quiet, keywords.pop("dry_run", False) or dry_run)
    _check_given(keywords)
    request = Request(command=("adjudge", *sys.argv[1:]), **keywords)
    if dry_run:
        _print_dry_run(request, as_json)
        return
    finished, code = carry_out(request, quiet)
    if finished is not None:
        from .store_commands import show_report

        n_read = show_report(str(request.store), finished, as_json=as_json)
        code = 0 if n_read else 4
    raise typer.Exit(code)


def _given_flags(ctx: typer.Context, options: dict[str, Any]) -> dict[str, Any]:
    """The options that the user gave, parsed. The others have the default of their declaration, or of the run file."""
    given = {}
    for name, value in options.items():
        if was_given(ctx, name):
            parse = _PARSERS.get(name)
            given[name] = parse(value) if parse is not None else value
    return given


def _keywords(items: str | None, flags: dict[str, Any], config: Path | None) -> dict[str, Any]:
    """The keywords of a request: those of the run that the run file declares, overridden by flags."""
    names = flags.get("model", [])
    is_table = items is not None and (is_address(items) or Path(items).exists())
    needs_file = not is_table or config is not None or any(map(_may_be_alias, names))
    file = None
    if needs_file:
        from ..analysis.gate_rules import read_checked

        file = read_checked(config)
    if file is None:
        if items is None:
            raise DataError(
                "a run needs a file of items: adjudge run ITEMS. Or describe the run in adjudge.toml: adjudge init DATA."
            )
        return {"items": items, **flags}
    name = file.run_named(items)
    if name is None:
        return {"items": items, **flags, "model": [file.model(spec) for spec in names]}
    keywords = file.keywords(name, flags)
    if "items" not in keywords:
        raise DataError(f"{file.path} runs.{name}: it has no items. Add items = …, the file of items.")
    if isinstance(keywords.get("steps"), str):
        keywords["steps"] = _parse_steps(keywords["steps"])
    return keywords


def _may_be_alias(spec: str) -> bool:
    return not any(sign in spec for sign in ":=/") and spec != "local"


def _check_given(keywords: Mapping[str, Any]) -> None:
    """Raise where there is no protocol or no model, before anything is read."""
    if not any(keywords.get(name) for name in ("protocol", "judge", "criterion")):
        raise DataError(
            "a run needs a protocol. Choose one with -p ID; adjudge protocols list shows them all.\n"
            "To judge by a criterion in your own words (geval/score): --criterion 'Is the answer polite?'"
        )
    if not keywords.get("model") and not os.environ.get("ADJUDGE_MODEL"):
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
    except (BudgetReached, RateLimited, HostDown) as reached:
        longer = " --patience MINUTES waits longer." if isinstance(reached, HostDown) else ""
        print_error(
            f"{reached}{longer}\nAll replies received so far are stored. To resume later, run the same command:\n  {command}"
        )
        return None, 5
    for text in finished.adjustments:
        sys.stderr.write(f"note: {text}\n")
    return finished.name, 0


def _parse_steps(text: str) -> str | tuple[str, ...]:
    from ..engine.api import read_steps

    return read_steps(text)


def _parse_prices(texts: list[str]) -> tuple[float, float] | dict[str, tuple[float, float]]:
    named = _by_model(texts, "--price", "IN,OUT")
    prices = {}
    for name, text in named.items():
        try:
            tokens_in, tokens_out = (float(part) for part in text.split(","))
        except ValueError:
            raise DataError(
                f"--price {text}: write it as IN,OUT in USD per million tokens, for example --price 0.15,0.60."
            ) from None
        prices[name] = (tokens_in, tokens_out)
    return prices[""] if list(prices) == [""] else prices


def parse_key_env(texts: list[str]) -> str | dict[str, str]:
    """`--key-env VAR`, or MODEL=VAR for each of several models."""
    named = _by_model(texts, "--key-env", "VAR")
    return named[""] if list(named) == [""] else named


def _by_model(texts: list[str], flag: str, form: str) -> dict[str, str]:
    """model → value, of flags as MODEL=VALUE; the only value may stand without a model, under the name ""."""
    named: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not value or (sign and not name) or (not sign and len(texts) > 1):
            raise DataError(f"{flag} {text}: write it as MODEL={form}, once for each model.")
        if name in named:
            raise DataError(f"{flag} {text}: {name} is there twice. Keep one.")
        named[name] = value
    return named


def _parse_criteria(texts: list[str]) -> str | list[str]:
    return texts[0] if len(texts) == 1 else texts


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "steps": _parse_steps,
    "map": parse_renames,
    "price": _parse_prices,
    "key_env": parse_key_env,
    "criterion": _parse_criteria,
    "rubric": _parse_criteria,
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
    if estimate.cost_usd and estimate.price_dates:
        cost += f" by published prices of {', '.join(sorted(set(estimate.price_dates.values())))}"
    typer.echo(
        f"\n{estimate.items} items, {estimate.calls} calls: {estimate.stored} are in the store, {estimate.calls - estimate.stored} would be sent.\n"
        f"About {estimate.tokens_in} input tokens{cost}; replies not included. Nothing was sent."
    )

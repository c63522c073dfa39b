"""`adjudge run`: judge items and print the scores.

`adjudge init`: a run file for a data file, from its columns and a few answers; `adjudge schema`: its JSON schema.

The columns are guessed by the names that people give them. Nothing is sent, and no file is overwritten.
"""

from __future__ import annotations

import difflib
import gc
import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from ..data import is_address
from ..errors import BudgetReached, DataError, HostDown, RateLimited
from .options import AS_JSON, STORE, parse_renames, protocol_ids, takes_run_options, was_given
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
    cascade: Path = typer.Option(
        None,
        "--cascade",
        metavar="FILE",
        help="Judge with the cascade that adjudge cascade wrote: the cheap judge first, the dearer ones where it is unsure.",
    ),
    check: str = typer.Option(
        None,
        "--check",
        metavar="SHARE",
        help="With --cascade: share of decided items that people check, such as 2%.",
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
    if cascade is not None:
        from .cascade_run import request_of_cascade, run_cascade

        request = request_of_cascade(ctx, items, (protocols, models), given, config, cascade)
        raise typer.Exit(run_cascade(request, cascade, check, quiet, as_json=as_json))
    if check is not None:
        raise DataError("--check is for cascades. Give the cascade file with --cascade FILE.")
    request = request_of(ctx, items, protocols, models, given, config, of_file)
    if of_file.get("dry_run") or dry_run:
        print_dry_run(request, as_json)
        return
    finished, code = carry_out(request, of_file.get("quiet") or quiet, as_json=as_json)
    if finished is not None:
        from .store_commands import show_report

        n_read, n_scores = show_report(str(request.store), finished, as_json=as_json)
        # A shard has no items where there are fewer items than shards.
        is_empty = request.shard is not None and n_scores == 0
        code = 0 if n_read or is_empty else 4
    raise typer.Exit(code)


def request_of(
    ctx: typer.Context,
    items: str | None,
    protocols: list[str],
    models: list[str],
    options: dict[str, Any],
    config: Path | None,
    extra: dict[str, Any] | None = None,
) -> Request:
    """The request that the flags of a command and the run file make.

    `extra` are flags besides the options; it receives what a run of the file sets for the command alone.
    """
    from ..engine import Request

    # The thread that writes to the store releases Python's lock at every statement and must get it back soon.
    sys.setswitchinterval(0.001)
    extra = {} if extra is None else extra
    flags = _given_flags(ctx, options) | extra
    flags |= {name: value for name, value in (("protocol", protocols), ("model", models)) if value}
    keywords = _keywords(items, flags, config)
    for name in ("quiet", "dry_run"):
        extra[name] = keywords.pop(name, False)
    _check_given(keywords)
    return Request(command=("adjudge", *sys.argv[1:]), **keywords)


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


SUBMITTED = 6
"""The exit code where calls are in batches that are not answered yet."""


def carry_out(request: Request, quiet: bool, *, as_json: bool = False) -> tuple[str | None, int]:
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
    if note := watcher.shard_note(finished.status):
        sys.stderr.write(f"{note}\n")
    if finished.status == "submitted":
        _print_submitted(finished, watcher, command, as_json)
        return None, SUBMITTED
    return finished.name, 0


def _print_submitted(finished: Run, watcher: ProgressWatcher, command: str, as_json: bool) -> None:
    """Say what is in batches, and how to collect it."""
    from .progress import batch_words
    from .store_commands import batch_row

    held = [row for row in watcher.batches if row.holds_calls]
    if as_json:
        batches = [batch_row(row, finished.name) for row in held]
        print_json({"run": finished.name, "status": finished.status, "batches": batches})
        return
    n_other = finished.progress.in_batches - sum(row.n_calls for row in held)
    lines = [f"Submitted run {finished.name}: {batch_words(held) or 'no batch of its own is open'}."]
    lines += [f"  {row.model}: {row.note}" for row in held if row.note]
    if n_other > 0 and not held:
        lines.append(
            f"{n_other:,} calls are in open batches of other runs; adjudge runs lists them. Collect those first."
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
                f"--price {text}: write it as IN,OUT in USD per million tokens, for example --price 0.10,0.50."
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


def _ruled(n: int) -> str:
    return f"{n} more {'is' if n == 1 else 'are'} answered by a rule, without a judge.\n" if n else ""


def print_dry_run(request: Request, as_json: bool) -> None:
    from ..engine.api import dry_run

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
        f"\n{estimate.items} items, {estimate.calls} calls: {estimate.stored} are in the store, {estimate.calls - estimate.stored} would be sent.\n"
        f"{_ruled(estimate.ruled)}"
        f"{_open(estimate.n_open)}"
        f"About {estimate.tokens_in} input tokens{cost}; replies not included. Nothing was sent."
    )
    for batches in estimate.batches:
        most = "" if batches.cost_usd is None else f", at most ${batches.cost_usd:.4f} with replies"
        parts = "1 batch" if batches.parts == 1 else f"{batches.parts} batches"
        typer.echo(f"{batches.model}: {batches.calls:,} calls in {parts}, {batches.megabytes:.1f} MB{most}.")
    if estimate.batches:
        typer.echo("Prices are those of batches: half of what single calls cost.")


def _open(n_open: int) -> str:
    """Judgments in steps whose checks are not known before their list is."""
    if not n_open:
        return ""
    return f"Of {n_open:,} judgments only the first call is counted: how many checks follow depends on its reply.\n"


_NAMES = {
    "task": ("task", "instruction", "question", "prompt", "query", "input", "request", "user", "ticket"),
    "response": ("response", "answer", "output", "completion", "generation", "reply", "prediction", "text", "summary"),
    "response_a": ("response_a", "answer_a", "output_a", "a"),
    "response_b": ("response_b", "answer_b", "output_b", "b"),
    "reference": ("reference", "expected", "gold", "ideal", "target", "reference_answer", "ground_truth"),
    "source": ("source", "context", "document", "article", "passage"),
    "system": ("system", "bot", "model", "variant", "version", "assistant"),
    "group": ("group", "conversation", "conversation_id", "doc_id", "document_id", "question_id"),
    "id": ("id", "item", "item_id", "uid", "key"),
}  # fmt: skip
"""input → the names that columns with it often have, the likeliest first"""

_QUESTIONS = {
    "task": "Column with the task or question",
    "response": "Column with the response to judge",
    "response_a": "Column with the first response",
    "response_b": "Column with the second response",
    "reference": "Column with a reference answer",
    "source": "Column with a source text",
    "system": "Column that says which system wrote the response",
}
_NEEDED = ("task", "response", "response_a", "response_b")
_NONE = "-"

CRITERION = "Does the response do what the task asks for, correctly and completely?"
CRITERION_NAME = "helpfulness"

_MODELS = (
    ("OPENAI_API_KEY", "openai:gpt-6-luna"),
    ("ANTHROPIC_API_KEY", "anthropic:claude-haiku-5-5"),
    ("GEMINI_API_KEY", "gemini:gemini-2.5-flash"),
)
"""The model that is proposed, by the key that is set; the first one where none is."""

_ROWS = 50


class Plan(NamedTuple):
    """What the file will say."""

    items: str
    name: str
    columns: dict[str, str]
    model: str
    criterion: str
    criterion_name: str

    @property
    def is_pair(self) -> bool:
        return "response_a" in self.columns


def init_command(
    data: Path = typer.Argument(None, metavar="[DATA]", help="The data to judge: JSONL, CSV or Parquet."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Ask nothing: guess from the columns."),
    model: str = typer.Option(None, "--model", "-m", metavar="MODEL", help="The model to judge with."),
    config: Path = typer.Option(Path("adjudge.toml"), "--config", metavar="FILE", help="The file to write."),
) -> None:
    """Write a run file for your data, and show the first prompt. Nothing is sent."""
    if config.exists():
        raise DataError(
            f"{config} exists already, and nothing was written. Edit it, or name another with --config FILE."
        )
    file = data or _data_file(yes)
    plan = _plan(file, _columns(file), config, model, yes)
    text = file_text(plan)
    _write(config, text)
    print_text(text)
    _show_first_prompt(config, plan)
    where = "" if config == Path("adjudge.toml") else f" --config {config}"
    typer.echo(f"\nWrote {config}. Edit it, then run: adjudge run {plan.name}{where}", err=True)


def schema_command() -> None:
    """The JSON schema of the run file, for editors."""
    from ..run_file import json_schema

    print_json(json_schema())


def _data_file(yes: bool) -> Path:
    from ..data import SUFFIXES

    files = sorted(
        path for path in Path().iterdir() if path.name.endswith(tuple(SUFFIXES)) and path.is_file()
    )
    if yes and len(files) == 1:
        return files[0]
    if yes:
        names = ", ".join(path.name for path in files[:10]) or "none here"
        raise DataError(f"which data? Name the file: adjudge init DATA. Data files: {names}.")
    return Path(_ask("Data file", files[0].name if len(files) == 1 else ""))


def _columns(file: Path) -> dict[str, list[str]]:
    """The columns of the first rows, in their order, with their values."""
    from ..data import Problems, Table

    table = Table(file)
    problems = Problems(table)
    columns: dict[str, list[str]] = {}
    for number, (_, row) in enumerate(table.rows(problems.add)):
        for name, value in row.items():
            columns.setdefault(name, []).append(str(value))
        if number >= _ROWS:
            break
    if not columns:
        raise problems.error() if problems else DataError(f"{file} has no rows. Give a file with items.")
    return columns


_LONGEST_ID = 64


def guessed(columns: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """input → column, by their names; without a name for the id, the first column whose values are short and all differ.

    Items with the same task belong to one group: they are not independent.
    """
    guess = _by_name(list(columns))
    if "id" not in guess:
        n_rows = max(map(len, columns.values()))
        for column, values in columns.items():
            is_key = len(set(values)) == len(values) == n_rows > 1 and max(map(len, values)) <= _LONGEST_ID
            if is_key and column not in guess.values():
                guess["id"] = column
                break
    tasks = columns[guess["task"]] if "task" in guess else ()
    if "group" not in guess and len(set(tasks)) < len(tasks):
        guess["group"] = guess["task"]
    return guess


def _by_name(columns: Sequence[str]) -> dict[str, str]:
    """input → column, by their names; a column is used once."""
    plain = {re.sub(r"[^a-z0-9]+", "_", column.lower()).strip("_"): column for column in columns}
    is_pair = all(any(name in plain for name in _NAMES[side]) for side in ("response_a", "response_b"))
    wanted = [name for name in _NAMES if (name not in ("response_a", "response_b")) or is_pair]
    matches: dict[str, str] = {}
    for exact in (True, False):
        for name in wanted:
            if name in matches or (is_pair and name in ("response", "system")):
                continue
            for column in _candidates(_NAMES[name], plain, exact):
                if column not in matches.values():
                    matches[name] = column
                    break
    return {name: matches[name] for name in _NAMES if name in matches}


def _candidates(names: Sequence[str], plain: dict[str, str], exact: bool) -> list[str]:
    if exact:
        return [plain[name] for name in names if name in plain]
    long = [name for name in names if len(name) > 3]
    return [column for name in long for key, column in plain.items() if name in key.split("_")]


def _plan(
    file: Path, values: Mapping[str, Sequence[str]], config: Path, model: str | None, yes: bool
) -> Plan:
    guess, columns = guessed(values), list(values)
    proposed = model or next((spec for key, spec in _MODELS if os.environ.get(key)), _MODELS[0][1])
    criterion, name = CRITERION, CRITERION_NAME
    if not yes:
        asked = (
            ("task", "response_a", "response_b")
            if "response_a" in guess
            else ("task", "response", "reference", "system")
        )
        guess |= {
            input_name: _ask_column(input_name, guess.get(input_name, ""), columns) for input_name in asked
        }
        guess = {input_name: column for input_name, column in guess.items() if column}
        if "response_a" not in guess:
            criterion = _ask("Criterion, in words", CRITERION)
            name = _ask("Short name of the criterion", CRITERION_NAME if criterion == CRITERION else "")
        proposed = model or _ask("Model", proposed)
    missing = [
        name
        for name in ("task", "response")
        if name not in guess and not ("response_a" in guess and name == "response")
    ]
    if missing:
        raise DataError(
            f"{file}: no column looks like the {missing[0]}. The columns are: {', '.join(columns)}.\n"
            "Run adjudge init without --yes and say which it is."
        )
    stem = re.sub(r"[^\w-]+", "-", file.name.partition(".")[0]).strip("-") or "run"
    items = os.path.relpath(str(file), str(config.parent))
    return Plan(items, stem, guess, proposed, criterion, name)


def _ask(question: str, default: str) -> str:
    try:
        return str(typer.prompt(question, default=default or None, err=True)).strip()
    except typer.Abort:
        raise DataError("there are no more answers to read. Answer the questions, or give --yes.") from None


def _ask_column(name: str, default: str, columns: Sequence[str]) -> str:
    """A column; none where the user answers with a dash."""
    hint = "" if name in _NEEDED else f" ({_NONE} for none)"
    while True:
        answer = _ask(f"{_QUESTIONS[name]}{hint}", default or ("" if name in _NEEDED else _NONE))
        if answer in columns:
            return answer
        if answer == _NONE and name not in _NEEDED:
            return ""
        near = difflib.get_close_matches(answer, columns, 1)
        meant = f"Did you mean {near[0]}?" if near else f"The columns are: {', '.join(columns)}."
        typer.echo(f"There is no column '{answer}'. {meant}", err=True)


def file_text(plan: Plan) -> str:
    """The run file."""
    renames = {name: column for name, column in plan.columns.items() if name != column}
    pairs = ", ".join(f"{name} = {_quoted(column)}" for name, column in renames.items())
    if plan.is_pair:
        judge = '{ protocol = "geval/compare" }'
        gate = 'min = { overall = "50%" }\n# system = "NAME"'
    else:
        judge = f"{{ criterion = {_quoted(plan.criterion)}, name = {_quoted(plan.criterion_name)} }}"
        gate = f"min = {{ {_key(plan.criterion_name)} = 4.0 }}"
    lines = [
        "# How to judge: adjudge run. Flags override this file; paths are relative to it.",
        "# For completion in editors: adjudge schema > adjudge.schema.json",
        "",
        "[models.judge]",
        f"model = {_quoted(plan.model)}",
        '# key_env = "VARIABLE"      the environment variable with the key, in place of the usual one',
        "# price = [0.40, 1.60]      USD per million tokens in and out",
        "",
        f"[runs.{_key(plan.name)}]",
        f"items = {_quoted(plan.items)}",
        *([f"map = {{ {pairs} }}"] if pairs else []),
        "judge = [",
        f"  {judge},",
        "]",
        'models = ["judge"]',
        "",
        f"# [gate.{_key(plan.name)}]",
        f"# {gate}",
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A text as TOML writes it; JSON's escapes are among TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}. Choose another place.") from error


def _show_first_prompt(config: Path, plan: Plan) -> None:
    from ..engine import Request
    from ..engine.api import dry_run
    from ..run_file import read_run_file

    file = read_run_file(config)
    assert file is not None
    try:
        estimate = dry_run(Request(**file.keywords(plan.name, {"limit": 1})))
    except DataError as error:
        raise DataError(f"{config} was written, but the first item cannot be judged yet:\n{error}") from error
    for message in estimate.first_messages:
        print_text(f"--- {message.role} ---\n{message.shown}")


def traces_command(
    file: Path = typer.Argument(..., metavar="FILE", help="Traces, JSON or JSONL (.gz too)."),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Output file (JSONL); default: the terminal."
    ),
    form: str = typer.Option(
        "auto", "--format", metavar="FORMAT", help="auto, openai, anthropic, langsmith, langfuse or otel."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print a summary as JSON; needs -o."),
) -> None:
    """Turn traces of agents and chats into items, to look at before they are judged."""
    from ..data import read_traces

    if as_json and output is None:
        raise DataError(
            "--json and the items cannot both go to the terminal. Write the items to a file with -o FILE."
        )
    traces = read_traces(file, form)
    lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in traces.rows)
    if output is None:
        typer.echo(lines, nl=False)
    else:
        output.write_text(lines, encoding="utf-8")
    if as_json:
        print_json({"traces": len(traces.rows), "format": traces.form, "output": str(output)})
        return
    where = f" in {output}" if output is not None else ""
    typer.echo(f"{len(traces.rows)} traces in the format {traces.form}, one item each{where}", err=True)

"""`adjudge init`: a run file for a data file, from its columns and a few answers.

The columns are guessed by the names that people give them. Nothing is sent, and no file is overwritten."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import typer

from ..data.guessed_columns import first_columns, guessed
from ..did_you_mean import did_you_mean
from ..errors import AdjudgeError, DataError
from .terminal import print_text

_QUESTIONS = {
    "task": "Column with the task or question",
    "response": "Column with the response to judge",
    "response_a": "Column with the first response",
    "response_b": "Column with the second response",
    "reference": "Column with a reference answer",
    "source": "Column with a source text",
    "system": "Column that says which system wrote the response",
    "id": "Column with a unique id of each row",
}


_NEEDED = ("task", "response", "response_a", "response_b")


_NONE = "-"


CRITERION = "Does the response do what the task asks for, correctly and completely?"


CRITERION_NAME = "helpfulness"


PAIRS_PROTOCOL = "geval/compare"


_MODELS = (
    ("OPENAI_API_KEY", "openai:gpt-6-luna"),
    ("ANTHROPIC_API_KEY", "anthropic:claude-haiku-5-5"),
    ("GEMINI_API_KEY", "gemini:gemini-3.5-flash"),
)
"""The model that is proposed, by the key that is set; the first one where none is."""


class FilePlan(NamedTuple):
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
        other = f" To judge its runs with another model: adjudge run NAME -m {model}" if model else ""
        raise DataError(
            f"{config} exists already, and nothing was written. Edit it, or name another with --config "
            f"FILE.{other}"
        )
    file = data or _data_file(yes)
    columns = first_columns(file)
    if model:
        _check_model(model, config)
    plan = _plan(file, columns, config, model, yes)
    text = run_file_text(plan)
    _write(config, text)
    print_text(text)
    _show_first_prompt(config, plan, [columns[name][0] for name in plan.columns.values() if columns[name]])
    if note := _missing_key(plan.model):
        typer.echo(f"\n! {note}", err=True)
    where = "" if config == Path("adjudge.toml") else f" --config {config}"
    typer.echo(f"\nWrote {config}. Edit it, then run: adjudge run {plan.name}{where}", err=True)


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


def _plan(
    file: Path, values: Mapping[str, Sequence[str]], config: Path, model: str | None, yes: bool
) -> FilePlan:
    guess, columns = guessed(values), list(values)
    proposed = model or next((spec for key, spec in _MODELS if os.environ.get(key)), _MODELS[0][1])
    criterion, name = CRITERION, CRITERION_NAME
    if not yes:
        asked = (
            ("task", "response_a", "response_b")
            if "response_a" in guess
            else ("task", "response", "reference", "system")
        )
        if guess.get("id", "id") != "id":
            asked = (*asked, "id")  # proposed by its values or a similar name, so it may be something else
        guess |= {
            input_name: _ask_column(input_name, guess.get(input_name, ""), columns) for input_name in asked
        }
        guess = {input_name: column for input_name, column in guess.items() if column}
        if "response_a" not in guess:
            criterion = _ask("Criterion, in words", CRITERION)
            name = _ask("Short name of the criterion", CRITERION_NAME if criterion == CRITERION else "")
        proposed = model or _ask_model(proposed, config)
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
    return FilePlan(items, stem, guess, proposed, criterion, name)


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
        meant = did_you_mean(answer, columns, f"The columns are: {', '.join(columns)}.")
        typer.echo(f"There is no column '{answer}'. {meant}", err=True)


def _ask_model(default: str, config: Path) -> str:
    """A model of a known form."""
    while True:
        answer = _ask("Model (of an HTTP server: http://HOST/v1#NAME)", default)
        try:
            _check_model(answer, config)
        except AdjudgeError as error:
            typer.echo(str(error), err=True)
        else:
            return answer


def _check_model(spec: str, config: Path) -> None:
    """Raise where the file would name a model that cannot be opened. Nothing is sent."""
    from ..models import parse_model
    from ..records import ModelSettings
    from ..run_file.paths import model_path

    parse_model(ModelSettings(model=model_path(spec, config)))


def _missing_key(model: str) -> str:
    """What to do where the key of a proposed model is not set."""
    key = next((key for key, spec in _MODELS if spec == model and not os.environ.get(key)), "")
    if not key:
        return ""
    return (
        f"{key} is not set: set it, or name another model in the file, such as http://localhost:8000/v1#NAME."
    )


def run_file_text(plan: FilePlan) -> str:
    """The run file."""
    renames = {name: column for name, column in plan.columns.items() if name != column}
    pairs = ", ".join(f"{name} = {_quoted(column)}" for name, column in renames.items())
    if plan.is_pair:
        judge = f'{{ protocol = "{PAIRS_PROTOCOL}" }}'
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


_MOST_PROMPT_LINES = 12
"""Of the first prompt; `adjudge run NAME --dry-run` shows all of it."""
_LONGEST_LINE = 240


def _in_short(text: str, values: Sequence[str]) -> list[str]:
    """The lines of a prompt that show the item, each with its neighbours, and the last one; a longer prompt
    has a gap in place of the others."""
    lines = [line for line in text.splitlines() if line.strip()]
    firsts = {value.strip().partition("\n")[0] for value in values if value.strip()}
    near = {
        at + step
        for at, line in enumerate(lines)
        if any(first in line for first in firsts)
        for step in (-1, 0, 1)
    }
    kept = sorted(near & set(range(len(lines))))[: _MOST_PROMPT_LINES - 2]
    shown: list[str] = []
    before = -1
    for at in [*kept, len(lines) - 1]:
        if at <= before:
            continue
        if at > before + 1:
            shown.append("…")
        shown.append(textwrap.shorten(lines[at], _LONGEST_LINE, placeholder=" …"))
        before = at
    return shown


def _show_first_prompt(config: Path, plan: FilePlan, values: Sequence[str]) -> None:
    from ..engine import Request
    from ..engine.dry_run import dry_run
    from ..run_file.read import read_run_file

    # The user has just chosen what the file names.
    file = read_run_file(config, lambda _file, _names: True)
    assert file is not None
    try:
        estimate = dry_run(Request(**file.keywords(plan.name, {"limit": 1})))
    except DataError as error:
        raise DataError(f"{config} was written, but the first item cannot be judged yet:\n{error}") from error
    if not estimate.first_messages:
        return
    where = "" if config == Path("adjudge.toml") else f" --config {config}"
    print_text(f"--- the first prompt, in short; all of it: adjudge run {plan.name} --dry-run{where} ---")
    print_text("\n".join(_in_short(estimate.first_messages[-1].shown, values)))

"""`adjudge init`: a run file for a data file, from its columns and a few answers.

The columns are guessed by the names that people give them. Nothing is sent, and no file is overwritten."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import typer

from ..did_you_mean import did_you_mean
from ..errors import DataError
from .terminal import print_text

_NAMES = {
    "task": ("task", "instruction", "question", "prompt", "query", "input", "request", "user", "ticket"),
    "response": (
        "response",
        "answer",
        "output",
        "completion",
        "generation",
        "reply",
        "prediction",
        "text",
        "summary",
    ),
    "response_a": ("response_a", "answer_a", "output_a", "a"),
    "response_b": ("response_b", "answer_b", "output_b", "b"),
    "reference": ("reference", "expected", "gold", "ideal", "target", "reference_answer", "ground_truth"),
    "source": ("source", "context", "document", "article", "passage"),
    "system": ("system", "bot", "model", "variant", "version", "assistant"),
    "group": ("group", "conversation", "conversation_id", "doc_id", "document_id", "question_id"),
    "id": ("id", "item", "item_id", "uid", "key"),
}
"""input → the names that columns with it often have, the likeliest first"""


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
    """input → column, by their names; without a name for the id, the first column whose values are short and
    all differ.

    Items with the same task belong to one group: they are not independent.
    """
    guess = _by_name(list(columns))
    if "id" in guess and len(set(columns[guess["id"]])) < len(columns[guess["id"]]):
        del guess["id"]  # a name alone makes no id: its values repeat
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
        if guess.get("id", "id") != "id":
            asked = (*asked, "id")  # proposed by its values or a similar name, so it may be something else
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
        meant = did_you_mean(answer, columns, f"The columns are: {', '.join(columns)}.")
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
    from ..engine.dry_run import dry_run
    from ..run_file.read import read_run_file

    # The user has just chosen what the file names.
    file = read_run_file(config, lambda _file, _names: True)
    assert file is not None
    try:
        estimate = dry_run(Request(**file.keywords(plan.name, {"limit": 1})))
    except DataError as error:
        raise DataError(f"{config} was written, but the first item cannot be judged yet:\n{error}") from error
    for message in estimate.first_messages:
        print_text(f"--- {message.role} ---\n{message.shown}")

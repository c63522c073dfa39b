"""What `adjudge init` would write for a table, proposed where a command lacks it.

`adjudge run answers.csv` with the columns `question` and `answer` asks whether they are the task and the
response, and which criterion to judge; `--yes` answers in a script. No money is spent without consent. `pair`
spends none, so it says which columns it takes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from msgspec import structs

from ..data.guessed_columns import first_columns, guessed
from ..errors import DataError
from .init import CRITERION, CRITERION_NAME, PAIRS_PROTOCOL
from .run_request import has_model

if TYPE_CHECKING:
    from ..engine import Request


def with_proposed_columns(request: Request, yes: bool) -> Request:
    """The request with a column for each input, where one is missing and the user accepts the proposal."""
    if request.traces is not None or not isinstance(request.items, str) or not Path(request.items).is_file():
        return request
    proposed = _proposal(request)
    if not proposed:
        return request
    said = _said(proposed)
    if yes:
        typer.echo(f"Taking {said}.", err=True)
    elif not _can_ask():
        flags = " ".join(f"--map {name}={column}" for name, column in proposed.items())
        # The run lists what is missing; this says what would help.
        typer.echo(f"Probably: {said}. Accept this with --yes, or: {flags}", err=True)
        return request
    elif not typer.confirm(f"{request.items}: take {said}?", default=True, err=True):
        raise DataError("Name the columns with --map INPUT=COLUMN, or write a run file: adjudge init DATA.")
    return structs.replace(request, map={**request.map, **proposed})


def with_proposed_judge(keywords: Mapping[str, Any], yes: bool) -> dict[str, Any]:
    """The keywords of a request with what `init` would judge, where none is named and the user accepts it."""
    items = keywords.get("items")
    if keywords.get("traces") or not isinstance(items, str) or not Path(items).is_file():
        return dict(keywords)
    try:
        guess = guessed(first_columns(Path(items)))
    except DataError:
        return dict(keywords)  # the run lists every problem of the file
    is_pair = "response_a" in guess
    needed = ("task", "response_a", "response_b") if is_pair else ("task", "response")
    if not all(name in guess for name in needed):
        return dict(keywords)
    flag = f"-p {PAIRS_PROTOCOL}" if is_pair else f"--criterion '{CRITERION_NAME}={CRITERION}'"
    if yes:
        typer.echo(f"Judging with {flag}", err=True)
    elif not _can_ask() or not has_model(keywords):
        columns = {name: guess[name] for name in needed}
        typer.echo(f"Probably: {_said(columns)}; judged with {flag}. Accept this with --yes.", err=True)
        return dict(keywords)
    elif not typer.confirm(f"{items}: judge with {flag}?", default=True, err=True):
        return dict(keywords)
    judge = {"protocol": [PAIRS_PROTOCOL]} if is_pair else {"criterion": f"{CRITERION_NAME}={CRITERION}"}
    return {**keywords, **judge}


def columns_of_outputs(files: Sequence[Path], field: str, renames: Mapping[str, str]) -> dict[str, str]:
    """The columns of the outputs to pair; of one file, also that of the systems. Says what it takes."""
    taken: dict[str, str] = {}
    if files[0].is_file():
        columns = first_columns(files[0])
        guess = guessed(columns)
        wanted = [field] if field == "response" else []
        wanted += ["system"] if len(files) == 1 else []
        taken = {name: guess[name] for name in wanted if name in guess and name not in {*columns, *renames}}
    if taken:
        typer.echo(f"Taking {_said(taken)}.", err=True)
    return {**renames, **taken}


def _said(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} from column '{column}'" for name, column in columns.items())


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _proposal(request: Request) -> dict[str, str]:
    """input → column, where that gives each protocol all inputs that it needs; else nothing."""
    from ..engine.judges import judges_of, loaded_protocols

    try:
        columns = first_columns(Path(str(request.items)))
    except DataError:
        return {}  # the run lists every problem of the file
    given = _given(columns) | set(request.map)
    protocols = loaded_protocols(request, judges_of(request))
    needed = [(protocol, name) for protocol in protocols for name in protocol.inputs]
    if all(protocol.field_for(name, given) is not None for protocol, name in needed):
        return {}
    guess = {name: column for name, column in guessed(columns).items() if name not in given | {column}}
    found = given | set(guess)
    is_enough = all(protocol.field_for(name, found) is not None for protocol, name in needed)
    return guess if is_enough else {}


def _given(columns: Mapping[str, list[str]]) -> set[str]:
    return {name for name, values in columns.items() if any(value.strip() for value in values)}

"""`adjudge drift`: has the judge changed since this run was stored?"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import DataError
from ..exit_codes import DONE, NOT_ENOUGH_EVIDENCE, WORSE
from .options import AS_JSON, STORE
from .terminal import print_json, print_sections

if TYPE_CHECKING:
    from ..analysis.run_view.run_view import RunView

EXIT_CODES = {"not changed": DONE, "changed": WORSE, "not enough evidence": NOT_ENOUGH_EVIDENCE}


def drift_command(
    run: str = typer.Argument(
        "last", metavar="[RUN]", help="The run with the stored replies; default: the last one."
    ),
    refresh: bool = typer.Option(
        False, "--refresh", help="Judge the items again with new calls; the stored replies are kept."
    ),
    margin: float = typer.Option(
        None, "--margin", metavar="X", help="A smaller change does not matter; default: 5 % of the scale."
    ),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Say whether the judge changed since a run was stored:
    changed (exit 1), not changed (0), not enough evidence (3).
    """
    from ..analysis.compare.equivalence import check_margin
    from ..analysis.drift import drift_of, drift_sections

    check_margin(margin)
    stored, command = _stored(store, run)
    folder = store.with_name(f"{store.name}.drift")
    if refresh:
        _look_again(command, folder, stored.name)
    looks = [_stored(path, stored.name)[0] for path in _looks(folder, stored.name)]
    drifted = drift_of(stored, looks, margin)
    if as_json:
        print_json(drifted)
    else:
        print_sections(drift_sections(drifted))
    raise typer.Exit(EXIT_CODES[drifted.verdict])


def _stored(store: Path, run: str) -> tuple[RunView, list[str]]:
    """A run as analyses see it, and the command that made it."""
    from ..analysis.run_view.tabulate import tabulate
    from ..store import open_store

    with open_store(store, write=False) as opened:
        row = opened.run(run)
        return tabulate(opened, row), list(row.manifest.get("command") or [])


def _looks(folder: Path, run: str) -> list[Path]:
    """The stores of the looks at a run, in their order."""
    return sorted(folder.glob(f"{run}.*.db"), key=lambda path: int(path.name.split(".")[-2]))


def _look_again(command: list[str], folder: Path, run: str) -> None:
    """Run the command of the stored run once more, into a separate store: no reply is reused or
    replaced."""
    from .app import app

    arguments = _without_store(command)
    if not arguments or arguments[0] != "run":
        raise DataError(
            f"run {run} was not made by `adjudge run`, so its command is unknown. Make it with the "
            "command line first."
        )
    folder.mkdir(exist_ok=True)
    path = folder / f"{run}.{len(_looks(folder, run)) + 1}.db"
    # The report of the look is not the answer to the question.
    words = [*arguments, "--run", run, "--store", str(path), "--quiet"]
    with contextlib.redirect_stdout(io.StringIO()):
        code = app(words, prog_name="adjudge", standalone_mode=False)
    if code:
        raise DataError(f"the items could not be judged again: the run ended with exit code {code}.")


def _without_store(command: list[str]) -> list[str]:
    """The arguments of the run without its name and its store."""
    words = command[1:] if command and Path(command[0]).name.startswith("adjudge") else list(command)
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("--run", "--store"):
            skip = True
        elif not word.startswith(("--run=", "--store=")) and word not in ("-q", "--quiet"):
            kept.append(word)
    return kept

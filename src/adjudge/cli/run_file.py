"""Reads the run file for a command: shows what it names outside its folder, and asks once on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ..run_file.read import RunFile


def _trust(is_given: bool) -> None:
    from ..confirmed import VARIABLE

    if is_given:
        os.environ[VARIABLE] = "1"


CONFIG = typer.Option(None, "--config", metavar="FILE", help="Run file; default: adjudge.toml, if it exists.")


TRUST_RUN_FILE = typer.Option(
    False,
    "--trust-run-file",
    callback=_trust,
    help="Let the run file, or the store of a cascade or tuning, use variables, hosts and files outside its "
    "folder without asking; for CI.",
)


def read_confirmed(config: Path | None, *, for_gate: bool = False) -> RunFile | None:
    """The run file, confirmed by the user; none where no file is named and there is no default one."""
    from ..run_file.read import read_run_file

    return read_run_file(config, confirmed_on_terminal, for_gate=for_gate)


def confirmed_on_terminal(file: Path, names: Sequence[str]) -> bool:
    """Show what a run file or a store wants, and ask; no where there is no terminal."""
    from ..confirmed import printed_names
    from ..untrusted import safe

    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        return False
    typer.echo(f"{safe(str(file))} wants to\n{printed_names(names)}", err=True)
    return typer.confirm("Allow this, now and later?", default=False, err=True)


def _is_terminal(stream: object) -> bool:
    return bool(getattr(stream, "isatty", bool)())

"""The command line: what each command takes and prints. The work is done elsewhere."""

from __future__ import annotations

import typer

from ..version import __version__
from .protocols import protocols_app

app = typer.Typer(
    name="adjudge",
    help="Score model outputs with LLM judges, and know how far each score can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(protocols_app, name="protocols")


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"adjudge {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass

"""Arguments and options that several commands share."""

from __future__ import annotations

import typer

from .completion import run_names
from .run_options import run_option

ABOUT = typer.Option(
    "new-inputs",
    "--about",
    metavar="new-inputs|these-items",
    help="What the numbers are about: inputs like these, or these items alone.",
)


AS_JSON = typer.Option(False, "--json", help="Print JSON instead of a table.")


RUN = typer.Argument(
    "last",
    metavar="[RUN]",
    help="The name of a run; default: the last one.",
    show_default=False,
    autocompletion=run_names,
)


NAMED_RUN = typer.Argument(..., metavar="RUN", help="The name of a run, or 'last'.", autocompletion=run_names)
"""Where a command changes or deletes a run."""


STORE = run_option("store")


FULL = typer.Option(False, "--full", help="Print every table and number, not only the first screen.")

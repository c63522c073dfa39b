"""Options that several commands share, declared once."""

from __future__ import annotations

import typer

AS_JSON = typer.Option(False, "--json", help="Print JSON instead of a table.")
STORE = typer.Option("adjudge.db", "--store", metavar="FILE", help="The store: one file that holds all runs.")
RUN = typer.Argument(..., metavar="RUN", help="The name of a run, or 'last'.")

"""`adjudge traces`: traces of agents and chats as items."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from ..errors import DataError
from ..run_options.options import TRACE_FORMATS
from .terminal import print_json, print_note


def traces_command(
    file: Path = typer.Argument(..., metavar="FILE", help="Traces, JSON or JSONL (.gz too)."),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Output file (JSONL); default: the terminal."
    ),
    form: str = typer.Option("auto", "--format", metavar="FORMAT", help=f"{TRACE_FORMATS}."),
    skip_bad: bool = typer.Option(
        False, "--skip-bad", help="Skip traces that cannot be read, and list them."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print a summary as JSON; needs -o."),
) -> None:
    """Turn traces of agents and chats into items, to look at before they are judged."""
    from ..data import read_traces

    if as_json and output is None:
        raise DataError(
            "--json and the items cannot both go to the terminal. Write the items to a file with -o FILE."
        )
    traces = read_traces(file, form, skip_bad=skip_bad)
    lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in traces.rows)
    if output is None:
        typer.echo(lines, nl=False)
    else:
        output.write_text(lines, encoding="utf-8")
    notes = (f"note: {note}" for note in traces.notes)
    for text in (*notes, *(f"skipped: {bad}" for bad in traces.bad)):
        print_note(f"{text}\n")
    if as_json:
        print_json({"traces": len(traces.rows), "format": traces.form, "output": str(output)})
        return
    where = f" in {output}" if output is not None else ""
    typer.echo(f"{len(traces.rows)} traces in the format {traces.form}, one item each{where}", err=True)

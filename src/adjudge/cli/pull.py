"""`adjudge pull`: traces of a platform as items; or a run from a hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import DataError
from .options import STORE
from .output_file import writing
from .terminal import print_json, print_note

if TYPE_CHECKING:
    from ..data import Traces
    from ..platforms.query import Query


def pull_command(
    source: str = typer.Argument(
        ...,
        metavar="SOURCE",
        help="mlflow:EXPERIMENT, phoenix:PROJECT, langfuse:, langsmith:PROJECT, or the hub of a team: "
        "https://HOST.",
    ),
    run: str = typer.Argument(None, metavar="[RUN]", help="With a hub: the run to get."),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="The items file (JSONL); default: the terminal."
    ),
    since: str = typer.Option(
        None, "--since", metavar="TIME", help="Only traces since a time, or an age: 24h, 7d, 2026-11-01."
    ),
    limit: int = typer.Option(None, "--limit", metavar="N", min=1, help="The newest N traces. Default: all."),
    condition: str = typer.Option(
        "", "--filter", metavar="FILTER", help="A filter in the platform's own language."
    ),
    skip_bad: bool = typer.Option(
        False, "--skip-bad", help="Skip traces that cannot be read, and list them."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print a summary as JSON; needs -o."),
    store: Path = STORE,
) -> None:
    """Get traces as items, each with its turns, tool calls and retrieved documents; the id is the trace's.

    Addresses and keys are those of the platform's own variables: MLFLOW_TRACKING_URI,
    PHOENIX_COLLECTOR_ENDPOINT, LANGFUSE_HOST and its keys, LANGSMITH_API_KEY. From a hub a run is merged into
    --store; ADJUDGE_HUB_TOKEN holds your token.
    """
    from ..platforms.hub import is_hub
    from ..platforms.query import Query, since_of

    if is_hub(source):
        _pull_from_hub(source, run, store, as_json=as_json)
        return
    if run is not None:
        raise DataError(f"{source} gives traces, not runs. Leave {run} out.")
    if as_json and output is None:
        raise DataError(
            "--json and the items cannot both go to the terminal. Write the items to a file with -o."
        )
    traces = _pulled(source, Query(since_of(since), limit, condition), skip_bad=skip_bad)
    with writing(output) as file:
        for row in traces.rows:
            file.write(f"{json.dumps(row, ensure_ascii=False)}\n".encode())
    notes = (f"note: {note}" for note in traces.notes)
    for text in (*notes, *(f"skipped: {bad}" for bad in traces.bad)):
        print_note(f"{text}\n")
    if as_json:
        print_json({"source": source, "items": len(traces.rows), "skipped": len(traces.bad)})
        return
    where = f" in {output}" if output is not None else ""
    typer.echo(f"{len(traces.rows)} traces of {source}, one item each{where}", err=True)


def _pull_from_hub(hub: str, run: str | None, store: Path, *, as_json: bool) -> None:
    from ..platforms.hub import pull_run

    if run is None:
        raise DataError(f"{hub}: name the run to get: adjudge pull {hub} RUN.")
    merged = pull_run(hub, run, store)
    if as_json:
        print_json({"source": hub, "runs": merged})
        return
    for one in merged:
        typer.echo(f"{one.into} in {store}: {one.items} new items, {one.calls} new calls", err=True)


def _pulled(text: str, query: Query, *, skip_bad: bool) -> Traces:
    import asyncio

    from ..platforms.pull import open_source, pull_traces

    source = open_source(text)

    async def pull() -> Traces:
        try:
            return await pull_traces(
                source, query, skip_bad=skip_bad, on_progress=lambda n: print_note(f"{n} records\n")
            )
        finally:
            await source.close()

    return asyncio.run(pull())

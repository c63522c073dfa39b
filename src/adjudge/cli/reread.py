"""`adjudge reread`: stored replies parsed again with this version's readers."""

from __future__ import annotations

from pathlib import Path

import typer

from .options import AS_JSON, RUN, STORE
from .terminal import print_json


def reread_command(run: str = RUN, store: Path = STORE, as_json: bool = AS_JSON) -> None:
    """Parse all stored replies of a run again with this version's readers. No model is called."""
    from ..results.reread import reread
    from ..store import open_store

    with open_store(store) as opened:
        row = opened.run(run)
        n_read = reread(opened, row)
    if as_json:
        print_json({"run": row.name, "judgments": n_read})
    else:
        typer.echo(
            f"Parsed {n_read} replies of {row.name} again. To see the result: adjudge report {row.name}"
        )

"""`adjudge view` and `adjudge annotate`: pages in the browser, served on this machine only."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import typer

from .options import RUN, STORE

_PORT = typer.Option(0, "--port", metavar="N", min=0, max=65535, help="The port. Default: any free port.")
_NO_BROWSER = typer.Option(False, "--no-browser", help="Print the address, and do not open a browser.")


def view_command(
    run: str = typer.Argument(None, metavar="[RUN]", help="The run to open first, or 'last'."),
    labels: Path = typer.Option(
        None, "--labels", metavar="FILE", help="Human labels to show. Default: the labels in the store."
    ),
    port: int = _PORT,
    no_browser: bool = _NO_BROWSER,
    store: Path = STORE,
) -> None:
    """Browse runs, items, prompts and replies. Read-only: nothing in the store changes."""
    from ..data import read_labels
    from ..store import open_store
    from ..web.server import build_app, serve

    given = read_labels(labels) if labels is not None else None
    with open_store(store, write=False) as opened:
        path = "/" if run is None else f"/run?{urlencode({'run': opened.run(run).name})}"
    serve(
        lambda bound_port, secrets: build_app(store, port=bound_port, secrets=secrets, given=given),
        path=path,
        port=port,
        is_opened=not no_browser,
        announce=_announce,
    )


def annotate_command(
    run: str = RUN,
    n: int = typer.Option(50, "-n", metavar="N", min=1, help="How many items to label."),
    criterion: list[str] = typer.Option(
        [], "--criterion", metavar="NAME", help="A criterion to label; repeatable. Default: all criteria."
    ),
    rater: str = typer.Option(
        "", "--rater", metavar="NAME", help="The rater's name. Default: the page asks."
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed draws the same items."),
    export: Path = typer.Option(
        None, "--export", metavar="FILE", help="Write the labels made so far to a CSV file, and open no page."
    ),
    port: int = _PORT,
    no_browser: bool = _NO_BROWSER,
    store: Path = STORE,
) -> None:
    """Label items in the browser without seeing the judge's scores. Each label is stored at once."""
    from ..web.annotate_session import export_labels, open_session

    if export is not None:
        n_labels = export_labels(store, run, export)
        typer.echo(f"Wrote {n_labels} labels to {export}", err=True)
        return
    from ..untrusted import safe
    from ..web.annotate import start_path
    from ..web.server import build_app, serve

    path = start_path(rater or None)
    with open_session(store, run, n, seed, criterion) as session:
        serve(
            lambda bound_port, secrets: build_app(store, port=bound_port, secrets=secrets, session=session),
            path=path,
            port=port,
            is_opened=not no_browser,
            announce=_announce,
        )
        typer.echo(
            f"The labels are in {store}. To compare the judge with them: {safe(session.trust_command)}"
        )


def _announce(url: str) -> None:
    typer.echo(f"{url}\nPress Ctrl-C to stop.")

"""`adjudge view` and `adjudge annotate`: pages in the browser, served on this machine only."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import typer

from .options import RUN, STORE

_PORT = typer.Option(0, "--port", metavar="N", min=0, max=65535, help="The port; default: any that is free.")
_NO_BROWSER = typer.Option(False, "--no-browser", help="Only print the address, open nothing.")


def view_command(
    run: str = typer.Argument(None, metavar="[RUN]", help="A run to begin with, or 'last'."),
    port: int = _PORT,
    no_browser: bool = _NO_BROWSER,
    store: Path = STORE,
) -> None:
    """Look at runs, items, prompts and replies in the browser. Nothing in the store is changed."""
    from ..store import open_store
    from ..web.server import build_app, serve

    with open_store(store, write=False) as opened:
        path = "/" if run is None else f"/run?{urlencode({'run': opened.run(run).name})}"
    serve(
        lambda bound_port, secrets: build_app(store, port=bound_port, secrets=secrets),
        path=path,
        port=port,
        is_opened=not no_browser,
        announce=_announce,
    )


def annotate_command(
    run: str = RUN,
    n: int = typer.Option(50, "-n", metavar="N", min=1, help="How many items to label."),
    criterion: list[str] = typer.Option(
        [], "--criterion", metavar="NAME", help="What to label by; repeatable; default: all criteria."
    ),
    rater: str = typer.Option("", "--rater", metavar="NAME", help="Who labels; asked for if it is left out."),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed draws the same items."),
    export: Path = typer.Option(
        None, "--export", metavar="FILE", help="Write the labels made so far as CSV, and open no page."
    ),
    port: int = _PORT,
    no_browser: bool = _NO_BROWSER,
    store: Path = STORE,
) -> None:
    """Label items in the browser without seeing the judge's scores. Labels go into the store one by one."""
    from ..web.annotate_session import export_labels, open_session

    if export is not None:
        n_labels = export_labels(store, run, export)
        typer.echo(f"{n_labels} labels in {export}", err=True)
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
        typer.echo(f"The labels are in {store}. What they say of the judge: {safe(session.trust_command)}")


def _announce(url: str) -> None:
    typer.echo(f"{url}\nPress Ctrl-C to end.")

"""`adjudge annotate`: people label items in the browser without seeing the judge's scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from ..errors import DataError
from .options import RUN, STORE
from .sharing import (
    HOST,
    INVITATIONS,
    NO_BROWSER,
    PORT_OPTION,
    PUBLIC_URL,
    REVOKE,
    SHARE,
    TLS,
    announcing,
    manage_invitations,
    sharing_of,
)

if TYPE_CHECKING:
    from ..web.invitation import Invitations
    from ..web.sharing import Sharing


def annotate_command(
    run: str = RUN,
    n: int = typer.Option(50, "-n", metavar="N", min=1, help="How many items to label."),
    criterion: list[str] = typer.Option(
        [], "--criterion", metavar="NAME", help="A criterion to label; repeatable. Default: all criteria."
    ),
    rater: list[str] = typer.Option(
        [],
        "--rater",
        metavar="NAME",
        help="The rater's name. Default: the page asks. With --share: invite NAME; repeatable.",
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", min=0, help="The same seed draws the same items."),
    export: Path = typer.Option(
        None, "--export", metavar="FILE", help="Write the labels made so far to a CSV file, and open no page."
    ),
    share: bool = SHARE,
    host: str = HOST,
    public_url: str = PUBLIC_URL,
    tls: tuple[Path, Path] = TLS,
    invitations: bool = INVITATIONS,
    revoke: list[str] = REVOKE,
    port: int = PORT_OPTION,
    no_browser: bool = NO_BROWSER,
    store: Path = STORE,
) -> None:
    """Label items in the browser without seeing the judge's scores. Each label is stored at once."""
    from ..store import open_store
    from ..web import invitation as sharing
    from ..web.labelling.labels_file import export_labels
    from ..web.labelling.rater_name import rater_name

    if export is not None:
        n_labels = export_labels(store, run, export)
        typer.echo(f"Wrote {n_labels} labels to {export}", err=True)
        return
    with open_store(store, write=False) as opened:
        invited = sharing.Invitations(store, "rater", opened.run(run))
    if invitations or revoke:
        manage_invitations(invited, revoke)
        return
    shared = sharing_of(share, host, public_url, tls)
    names = [rater_name(name) for name in rater]
    if shared is None and len(names) > 1:
        raise DataError(
            "Only one --rater can be given without --share. The page asks others for their names."
        )
    if shared is not None and not names and all(one.revoked for one in invited.all()):
        raise DataError("No one is invited to label this run. Name the raters: --share --rater NAME")
    _label(store, run, LabellingDraw(n, seed, criterion), names, (shared, invited), port, no_browser)


class LabellingDraw(NamedTuple):
    """Which items are labelled, and on which criteria."""

    n: int
    seed: int
    criteria: list[str]


def _label(
    store: Path,
    run: str,
    draw: LabellingDraw,
    names: list[str],
    shared_with: tuple[Sharing | None, Invitations],
    port: int,
    no_browser: bool,
) -> None:
    """Serve the labelling pages until interrupted."""
    from ..untrusted import safe
    from ..web.labelling.session import open_session
    from ..web.pages.annotate import start_path
    from ..web.routes import build_app
    from ..web.server import serve
    from ..web.sharing import PORT

    shared, invited = shared_with
    path = start_path(names[0] if names and shared is None else None)
    with open_session(store, run, draw.n, draw.seed, draw.criteria) as session:
        serve(
            lambda reach, bound_port, secrets: build_app(
                store,
                port=bound_port,
                secrets=secrets,
                session=session,
                reach=reach,
                invitations=invited if shared else None,
                is_behind_proxy=shared is not None and shared.is_behind_proxy,
            ),
            path=path,
            port=port or (PORT if shared else 0),
            sharing=shared,
            is_opened=not no_browser,
            announce=announcing(shared, invited, names),
        )
        typer.echo(
            f"The labels are in {store}. To compare the judge with them: {safe(session.trust_command)}"
        )

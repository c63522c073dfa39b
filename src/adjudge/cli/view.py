"""`adjudge view`: runs in the browser, or as files that open without a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import typer

from ..errors import DataError
from .options import STORE
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
    from ..data.labels import LabelFile


def view_command(
    run: str = typer.Argument(None, metavar="[RUN]", help="The run to open first, or 'last'."),
    labels: Path = typer.Option(
        None, "--labels", metavar="FILE", help="Human labels to show. Default: the labels in the store."
    ),
    export: Path = typer.Option(
        None,
        "--export",
        metavar="DIR",
        help="Write the pages of RUN, or of all runs, as files that open without a server, and start none.",
    ),
    most_items: int = typer.Option(
        2000, "--items", metavar="N", min=1, help="With --export: at most N items of each run."
    ),
    share: bool = SHARE,
    guest: list[str] = typer.Option(
        [], "--guest", metavar="NAME", help="With --share: invite NAME to read all runs; repeatable."
    ),
    member: list[str] = typer.Option(
        [],
        "--member",
        metavar="NAME",
        help="With --share: make a token for NAME to push and pull runs; repeatable.",
    ),
    host: str = HOST,
    public_url: str = PUBLIC_URL,
    tls: tuple[Path, Path] = TLS,
    invitations: bool = INVITATIONS,
    revoke: list[str] = REVOKE,
    port: int = PORT_OPTION,
    no_browser: bool = NO_BROWSER,
    store: Path = STORE,
) -> None:
    """Browse runs, items, prompts and replies, and review disagreements. Only reviews and notes are
    written."""
    from ..analysis.labels.read import read_labels_of_store
    from ..store import open_store
    from ..web import invitation, sharing
    from ..web.labelling.rater_name import rater_name
    from ..web.routes import build_app
    from ..web.server import serve

    given = read_labels_of_store(store, labels) if labels is not None else None
    if export is not None:
        _export_pages(store, run, export, most_items, given)
        return
    shared = sharing_of(share, host, public_url, tls)
    if guest and shared is None:
        raise DataError("--guest needs --share: without it, the pages are for this machine only.")
    if member and shared is None:
        raise DataError("--member needs --share: without it, no one else can reach this machine.")
    if member:
        open_store(store).close()  # a hub may begin with an empty store
    with open_store(store, write=False) as opened:
        path = "/" if run is None else f"/run?{urlencode({'run': opened.run(run).name})}"
    invited = invitation.Invitations(store, "guest")
    members = invitation.Invitations(store, "member")
    if invitations or revoke:
        manage_invitations(invited, revoke, members)
        return
    serve(
        lambda reach, bound_port, secrets: build_app(
            store,
            port=bound_port,
            secrets=secrets,
            given=given,
            reach=reach,
            invitations=invited if shared else None,
            members=members if shared else None,
            is_behind_proxy=shared is not None and shared.is_behind_proxy,
        ),
        path=path,
        port=port or (sharing.PORT if shared else 0),
        sharing=shared,
        is_opened=not no_browser,
        announce=announcing(
            shared, invited, [rater_name(name) for name in guest], members=members, new_members=member
        ),
    )


def _export_pages(
    store: Path, run: str | None, folder: Path, most_items: int, given: LabelFile | None
) -> None:
    """Write a static copy, and say on standard error what it has and what was left out."""
    from ..untrusted import safe
    from ..web.static_copy.copy import write_copy
    from ..words import count
    from .progress import page_progress

    with page_progress() as on_progress:
        written = write_copy(store, run, folder, most_items=most_items, given=given, on_progress=on_progress)
    size = f"{written.n_bytes / 1e6:,.1f} MB" if written.n_bytes >= 1e6 else f"{written.n_bytes // 1000:,} kB"
    names = ", ".join(written.runs) if len(written.runs) <= 5 else count(len(written.runs), "run")
    lines = [
        f"Wrote {count(written.n_pages, 'page')} of {names} to {folder} ({size}). Open "
        f"{folder / 'index.html'}"
    ]
    lines += [
        f"{one.run}: the copy has {one.n_items:,} of {count(one.n_all, 'item')}. For more: --items N"
        for one in written.left_out
    ]
    lines += [f"{name} has not ended and is not in the copy." for name in written.running]
    if written.is_capped:
        lines.append(
            "There are too many views and comparisons to copy all; links to the others are left out."
        )
    for line in lines:
        typer.echo(safe(line), err=True)

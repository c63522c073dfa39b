"""The options of commands that serve pages, and how the
pages are shared: addresses, invitations and their links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import DataError
from .terminal import print_table, print_text

if TYPE_CHECKING:
    from ..web.invitation import Invitations
    from ..web.server import Announced
    from ..web.sharing import Sharing


PORT_OPTION = typer.Option(
    0, "--port", metavar="N", min=0, max=65535, help="The port. Default: any free port; with --share, 8347."
)


NO_BROWSER = typer.Option(False, "--no-browser", help="Print the address, and do not open a browser.")


SHARE = typer.Option(
    False, "--share", help="Listen for other machines too. Each person needs an invitation link."
)


HOST = typer.Option(
    "",
    "--host",
    metavar="ADDRESS",
    help=(
        "With --share: the address to listen on. Default: all interfaces; behind a proxy (--public-url), "
        "127.0.0.1."
    ),
)


PUBLIC_URL = typer.Option(
    "",
    "--public-url",
    metavar="URL",
    help="With --share: the address of the server for others, such as a reverse proxy's.",
)


TLS = typer.Option(
    None,
    "--tls",
    metavar="CERT KEY",
    help="With --share: encrypt with this certificate and its key, both in PEM.",
)


INVITATIONS = typer.Option(False, "--invitations", help="List the invitations, and open no page.")


REVOKE = typer.Option(
    [], "--revoke", metavar="NAME", help="End the invitation of NAME at once, and open no page; repeatable."
)


def sharing_of(is_shared: bool, host: str, public_url: str, tls: tuple[Path, Path] | None) -> Sharing | None:
    """How the pages are shared; none where they are not."""
    from ..web.sharing import Sharing

    if is_shared:
        sharing = Sharing(host, public_url, tls)
        sharing.check()
        return sharing
    for flag, given in (("--host", host), ("--public-url", public_url), ("--tls", tls)):
        if given:
            raise DataError(f"{flag} needs --share: without it, the pages are for this machine only.")
    return None


def manage_invitations(
    invitations: Invitations, revoked: list[str], members: Invitations | None = None
) -> None:
    """Revoke invitations and tokens, or list them; a running server notices at the next request."""
    kinds = [("invitation", invitations), *([("token", members)] if members is not None else [])]
    for name in revoked:
        ended = [noun for noun, of_kind in kinds if of_kind.revoke(name)]
        if not ended:
            raise DataError(f"{name} has no open invitation. To list them: --invitations")
        print_text(f"Revoked the {' and the '.join(ended)} of {name}.")
    if not revoked:
        rows = [
            (one.name, noun, one.made, one.revoked or "open") if members is not None
            else (one.name, one.made, one.revoked or "open")
            for noun, of_kind in kinds
            for one in of_kind.all()
        ]  # fmt: skip
        columns = ("name", "kind", "invited", "revoked")
        print_table(columns if members is not None else ("name", "invited", "revoked"), rows)


def announcing(
    sharing: Sharing | None,
    invitations: Invitations | None,
    names: list[str],
    *,
    members: Invitations | None = None,
    new_members: Sequence[str] = (),
) -> Callable[[Announced], None]:
    """Prints the addresses of a server, and the new links."""

    def announce(server: Announced) -> None:
        typer.echo(server.url)
        if sharing is not None and invitations is not None:
            _print_links(server, sharing, invitations, names)
        for name, token in members.invite(new_members).items() if members is not None else ():
            print_text(f"{name}  token for ADJUDGE_HUB_TOKEN: {token}")
        typer.echo("Press Ctrl-C to stop.")

    return announce


def _print_links(server: Announced, sharing: Sharing, invitations: Invitations, names: list[str]) -> None:
    from ..web.invitation import link_of

    where = "all interfaces" if server.bind in ("0.0.0.0", "::") else server.bind
    typer.echo(
        f"The address above is yours alone. Others need a link. Listening on {where}, port {server.port}."
    )
    if warning := sharing.warning():
        typer.echo(warning)
    new = invitations.invite(names)
    for name, token in new.items():
        print_text(f"{name}  {link_of(server.reach, token)}")
    for one in invitations.all():
        if one.revoked is None and one.name not in new:
            print_text(
                f"{one.name}  was invited at {one.made}: that link still works. For another: "
                "--revoke, then invite again."
            )

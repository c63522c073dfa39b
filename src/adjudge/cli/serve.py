"""`adjudge serve`: judges of the run file as a service, for tools that take decision models and for
trainers."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

import typer

from ..errors import DataError
from .options import STORE
from .run_file import CONFIG, TRUST_RUN_FILE, confirmed_on_terminal, read_confirmed
from .sharing import (
    HOST,
    INVITATIONS,
    PORT_OPTION,
    PUBLIC_URL,
    REVOKE,
    SHARE,
    TLS,
    manage_invitations,
    sharing_of,
)
from .terminal import print_note, print_text

if TYPE_CHECKING:
    from ..engine import Request
    from ..run_file.read import RunFile
    from ..serve.service import ServedCascade
    from ..web.server import Announced

TOKEN = "ADJUDGE_SERVE_TOKEN"


def serve_command(
    names: list[str] = typer.Argument(
        None, metavar="[NAME]...", help="Runs of the run file to serve. Default: all."
    ),
    cascade: list[Path] = typer.Option(
        [],
        "--cascade",
        metavar="FILE",
        help="Serve the cascade of this file, by its name without the suffix; repeatable.",
    ),
    config: Path = CONFIG,
    _trusted: bool = TRUST_RUN_FILE,
    log: bool = typer.Option(
        False, "--log", help="Keep every request as an item of run serve/NAME, durable before it is answered."
    ),
    share: bool = SHARE,
    client: list[str] = typer.Option(
        [], "--client", metavar="NAME", help="With --share: make a token for NAME; repeatable."
    ),
    host: str = HOST,
    public_url: str = PUBLIC_URL,
    tls: tuple[Path, Path] = TLS,
    invitations: bool = INVITATIONS,
    revoke: list[str] = REVOKE,
    port: int = PORT_OPTION,
    store: Path = STORE,
) -> None:
    """Serve judges on this machine: /v1/decisions, /v1/systemone, /score and /metrics, with a token."""
    from ..serve.app import serve_judges
    from ..store import open_store
    from ..web.invitation import Invitations

    shared = sharing_of(share, host, public_url, tls)
    if client and shared is None:
        raise DataError("--client needs --share: without it, the service is for this machine only.")
    if shared is not None or invitations or revoke:
        open_store(store).close()
    clients = Invitations(store, "client")
    if invitations or revoke:
        manage_invitations(clients, revoke)
        return
    cascades = {path.stem: _cascade(path, path.stem, store) for path in cascade}
    is_file_needed = bool(names) or not cascades
    file = read_confirmed(config) if is_file_needed else None
    requests, of_file = _served(file, names or [], store) if is_file_needed else ({}, {})
    if both := sorted({*requests, *of_file} & set(cascades)):
        raise DataError(f"{', '.join(both)}: a run and a cascade have this name. Rename the cascade file.")
    cascades |= of_file
    given = os.environ.get(TOKEN, "")
    token = given or token_urlsafe(32)

    def announce(server: Announced) -> None:
        typer.echo(f"Serving {', '.join((*requests, *cascades))} at {server.url}/v1")
        typer.echo(f"Token: in ${TOKEN}" if given else f"Token: {token}")
        if shared is not None:
            if warning := shared.warning():
                typer.echo(warning)
            for name, secret in clients.invite(client).items():
                print_text(f"{name}  {secret}")
        typer.echo("Press Ctrl-C to stop.")

    serve_judges(
        requests,
        cascades=cascades,
        token=token,
        port=port,
        is_logged=log,
        sharing=shared,
        invitations=clients if shared is not None else None,
        announce=announce,
        note=lambda text: print_note(f"{text}\n"),
    )


def _served(
    file: RunFile | None, names: list[str], store: Path
) -> tuple[dict[str, Request], dict[str, ServedCascade]]:
    """The runs to serve, each as a request without items, and those that are cascades."""
    if file is None:
        raise DataError("adjudge serve needs a run file, adjudge.toml, with [runs.NAME] for each judge.")
    unknown = [name for name in names if name not in file.runs]
    if unknown or not file.runs:
        raise DataError(
            f"{file.path} has no run {', '.join(unknown)}. It has: {', '.join(file.runs) or 'none'}."
        )
    paths = {name: file.runs[name].get("cascade") for name in names or file.runs}
    cascades = {name: _cascade(Path(path), name, store) for name, path in paths.items() if path is not None}
    return {name: _request(file, name, store) for name in paths if name not in cascades}, cascades


def _cascade(path: Path, name: str, store: Path) -> ServedCascade:
    """The judges of a cascade that may decide, as they were calibrated."""
    from ..analysis.cascade.cascade_file import read_cascade
    from ..analysis.cascade.stage_judge import stage_judge
    from ..engine import request_of
    from ..serve.service import ServedCascade

    file = read_cascade(path)
    stages = [stage for stage in file.stages if stage.threshold is not None]
    if not stages:
        raise DataError(f"{path}: no judge has a threshold, so none decides. Calibrate with more labels.")
    requests = []
    for place, stage in enumerate(stages, 1):
        judge = stage_judge(store, stage, confirmed_on_terminal)
        asked = {"protocol": judge.protocols, "model": judge.models, **judge.settings}
        run = f"serve/{name}.{place}"
        requests.append(
            request_of(items=(), run=run, store=str(store), command=("adjudge", "serve"), **asked)
        )
    return ServedCascade(file, tuple(requests))


def _request(file: RunFile, name: str, store: Path) -> Request:
    from ..engine import request_of
    from ..judge.judge import OPTIONS
    from .flag_values import parse_steps

    keywords: dict[str, Any] = file.keywords(name, {})
    kept = {
        key: value
        for key, value in keywords.items()
        if key in OPTIONS or key in ("protocol", "judge", "model")
    }
    if isinstance(kept.get("steps"), str):
        kept["steps"] = parse_steps(kept["steps"])
    return request_of(items=(), run=f"serve/{name}", store=str(store), command=("adjudge", "serve"), **kept)

"""A team's hub as its members use it: a run is sent there as a store, and comes back as one.

The token is in ADJUDGE_HUB_TOKEN and goes to the hub that the user names, by https or on this machine.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, unquote, urlsplit

import msgspec

from ..errors import DataError, PlatformError, sentences
from ..models.http_errors import Fault, Response
from ..models.keys import Secret
from ..models.network import Network
from ..results.merge import extract_run, merge_stores
from .client import Address, checked_address

TOKEN = "ADJUDGE_HUB_TOKEN"
_SECONDS = 1800.0
_ATTEMPTS = 5


def is_hub(text: str) -> bool:
    return text.startswith(("https://", "http://"))


def hub_and_run(text: str) -> tuple[str, str]:
    """The hub and the run of https://HOST/RUN."""
    parts = urlsplit(text)
    name = unquote(parts.path.strip("/"))
    if not name:
        raise DataError(f"{text:.200}: name the run: https://HOST/RUN.")
    return f"{parts.scheme}://{parts.netloc}", name


def push_run(store: Path, run: str, hub: str, *, replace: bool = False) -> list[dict[str, Any]]:
    """Send a run to a hub; what was added there, once it is durable. Sending it again changes nothing.

    Where the hub has another run of this name, it gets a number; with `replace` the other run does.
    """
    address = _address(hub)
    with tempfile.TemporaryDirectory(prefix="adjudge-") as folder:
        file = Path(folder) / "run.db"
        extract_run(store, run, file)
        response = asyncio.run(
            _asked(address, "POST", "/hub/runs?replace=1" if replace else "/hub/runs", file=file)
        )
    added: list[dict[str, Any]] = msgspec.json.decode(response.body)
    return added


@contextmanager
def pulled_run(hub: str, run: str) -> Iterator[Path]:
    """A store with a run of a hub, until the end of the block."""
    address = _address(hub)
    with tempfile.TemporaryDirectory(prefix="adjudge-") as folder:
        file = Path(folder) / "run.db"
        asyncio.run(_asked(address, "GET", f"/hub/runs/{quote(run, safe='')}", sink=file))
        yield file


def pull_run(hub: str, run: str, store: Path) -> list[Any]:
    """Merge a run of a hub into a store, as the store of a stranger."""
    with pulled_run(hub, run) as file:
        (merged,) = merge_stores(store, [file])
        return list(merged.runs)


def _address(hub: str) -> Address:
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise DataError(
            f"{hub}: set {TOKEN} to your token. The owner of the hub makes one: adjudge view --share "
            "--member NAME."
        )
    headers = {"Authorization": f"Bearer {token}"}
    return Address("hub", checked_address("hub", hub, hub, headers), headers, (Secret(token),))


async def _asked(
    address: Address, method: str, path: str, *, file: Path | None = None, sink: Path | None = None
) -> Response:
    """One request; repeated where the hub cannot be reached or is busy, because that changes nothing."""
    network = Network()
    try:
        for attempt in range(1, _ATTEMPTS + 1):
            outcome = await _sent(network, address, method, path, file, sink)
            if isinstance(outcome, Response) and outcome.status == 200:
                return outcome
            is_passing = outcome.status in (408, 429, 502, 503, 504) or (
                isinstance(outcome, Fault) and outcome.is_retryable
            )
            if attempt == _ATTEMPTS or not is_passing:
                raise PlatformError(address.secrets[0].redact(_words(address, outcome)))
            await asyncio.sleep(2.0**attempt)
    finally:
        await network.close()
    raise AssertionError


async def _sent(
    network: Network, address: Address, method: str, path: str, file: Path | None, sink: Path | None
) -> Response | Fault:
    opened: IO[bytes] | None = None if sink is None else sink.open("wb")
    try:
        return await network.transport(address.url).send(
            method, f"{address.url}{path}", address.headers, _SECONDS,
            file=() if file is None else (file,), sink=opened,
        )  # fmt: skip
    finally:
        if opened is not None:
            opened.close()


def _words(address: Address, outcome: Response | Fault) -> str:
    if isinstance(outcome, Fault):
        return sentences(
            f"{address.url}: {outcome.message}", "Give the command again: what has arrived is not sent twice."
        )
    try:
        said = str(msgspec.json.decode(outcome.body)["error"])
    except (msgspec.DecodeError, KeyError, TypeError):
        said = f"status {outcome.status}. Check that this is the address of a hub."
    return f"{address.url}: {said}"

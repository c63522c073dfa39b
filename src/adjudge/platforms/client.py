"""JSON over HTTP to a platform: its key goes to its address alone; answers are bounded, redirects refused."""

from __future__ import annotations

import asyncio
import base64
import os
import random
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from ..errors import DataError, PlatformError, sentences
from ..models.addresses import checked_url
from ..models.http_errors import Fault, Response
from ..models.keys import Secret
from ..models.network import Network
from ..models.retry_after import stated_wait

_SECONDS = 60.0
_ATTEMPTS = 6
_LONGEST_WAIT = 30.0
_BUSY = (429, 502, 503, 504)
Params = Sequence[tuple[str, str | int]]


class Address(Struct, frozen=True):
    """Where a platform is, and what it is sent with each request."""

    platform: str
    url: str
    headers: dict[str, str]
    secrets: tuple[Secret, ...] = ()


def address_of(
    platform: str, variables: Sequence[str], default: str, headers: Mapping[str, str] | None = None
) -> Address:
    """The address in the platform's own environment variables; `headers` hold its key."""
    variable = next((name for name in variables if os.environ.get(name, "").strip()), "")
    given = os.environ.get(variable, "").strip() if variable else default
    if not given:
        raise DataError(f"{platform}: set {variables[0]} to the address of the server, http://HOST:PORT.")
    sent = dict(headers or {})
    url = checked_address(platform, given, variable or platform, sent)
    secrets = tuple(Secret(value.split(" ", 1)[-1]) for value in sent.values())
    return Address(platform, url, sent, secrets)


def checked_address(platform: str, given: str, where: str, headers: Mapping[str, str]) -> str:
    """An address; `DataError` where a key would travel in plain text."""
    url = checked_url(given, where)
    host = urlsplit(url).hostname or ""
    if headers and url.startswith("http://") and not _is_loopback(host):
        raise DataError(f"{platform}: a key is not sent over plain http to {host}. Use https.")
    return url


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "::1"


def bearer(variable: str) -> dict[str, str]:
    """The header of a key in an environment variable; none where it is not set."""
    key = os.environ.get(variable, "").strip()
    return {"Authorization": f"Bearer {key}"} if key else {}


def basic(user: str, password: str) -> dict[str, str]:
    """The header of a name and a password in two environment variables; none where one is not set."""
    pair = [os.environ.get(name, "").strip() for name in (user, password)]
    if not all(pair):
        return {}
    return {"Authorization": f"Basic {base64.b64encode(':'.join(pair).encode()).decode()}"}


class Refused(PlatformError):
    """A platform answered with an error."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class PlatformClient:
    """Requests to a platform. One that may have been carried out is repeated only where that is safe."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._network = Network()

    async def close(self) -> None:
        await self._network.close()

    async def get(self, path: str, params: Params = ()) -> Any:
        return await self.ask("GET", path, params, is_repeatable=True)

    async def post(self, path: str, body: object, *, params: Params = (), is_repeatable: bool = False) -> Any:
        return await self.ask("POST", path, params, body, is_repeatable=is_repeatable)

    async def ask(
        self, method: str, path: str, params: Params = (), body: object = None, *, is_repeatable: bool
    ) -> Any:
        """The JSON of an answer; `Refused` for a status that is no success, `PlatformError` without any."""
        url = f"{self.address.url}{path}" + (f"?{urlencode(params)}" if params else "")
        content = b"" if body is None else msgspec.json.encode(body)
        for attempt in range(1, _ATTEMPTS + 1):
            outcome = await self._network.transport(self.address.url).send(
                method, url, self.address.headers, _SECONDS, body=content
            )
            if isinstance(outcome, Response) and outcome.status not in _BUSY:
                return self._decoded(method, path, outcome)
            # A gateway that gives up (502, 504) may have passed the request on.
            may_repeat = is_repeatable or (
                outcome.status in (429, 503) if isinstance(outcome, Response) else outcome.is_unreached
            )
            if attempt == _ATTEMPTS or not may_repeat or (isinstance(outcome, Fault) and outcome.is_final):
                raise self._failure(method, path, outcome)
            stated = stated_wait(outcome.headers) if isinstance(outcome, Response) else None
            wait = min(_LONGEST_WAIT, 0.25 * 2**attempt if stated is None else stated)
            await asyncio.sleep(wait * random.uniform(0.8, 1.2))
        raise AssertionError

    def _decoded(self, method: str, path: str, response: Response) -> Any:
        if not 200 <= response.status < 300:
            raise self._failure(method, path, response)
        if not response.body.strip():
            return None
        try:
            return msgspec.json.decode(response.body)
        except msgspec.DecodeError as fault:
            raise PlatformError(
                f"{self.address.platform}: {method} {path} was not answered with JSON. "
                "Check that the address is that of the API."
            ) from fault

    def _failure(self, method: str, path: str, outcome: Response | Fault) -> PlatformError:
        shown = f"{self.address.platform}: {method} {path[:120]}"
        if isinstance(outcome, Fault):
            return PlatformError(
                self._redacted(sentences(f"{shown}: {outcome.message}", "Give the command again."))
            )
        said = outcome.body[:300].decode("utf-8", "replace").strip()
        hint = ""
        if outcome.status in (401, 403):
            hint = " Check the key in the environment."
        elif 300 <= outcome.status < 400:
            hint = " Redirects are not followed; set the final address."
        return Refused(self._redacted(f"{shown}: status {outcome.status}: {said}{hint}"), outcome.status)

    def _redacted(self, text: str) -> str:
        for secret in self.address.secrets:
            text = secret.redact(text)
        return text

"""Keys of model hosts: read where they are used, shown nowhere.

A key lives in an environment variable and in a `Secret`, which prints as dots. Redaction goes by
value, so it also finds a key that a host echoes back, plain, quoted for a URL, or in base64.
"""

from __future__ import annotations

import base64
import os
from functools import cached_property
from typing import NoReturn
from urllib.parse import quote, quote_plus

from ..errors import AuthError

HIDDEN = "[key]"

SHORTEST_IN_TEXT = 4
SHORTEST_IN_REPLY = 16
"""Local servers are given keys such as "EMPTY"; to cut that word out of replies would change them."""


class Secret:
    """A key. Its value is handed out by `reveal` alone."""

    def __init__(self, value: str) -> None:
        self.__value = value

    def reveal(self) -> str:
        return self.__value

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not written anywhere")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self.__value

    def __hash__(self) -> int:
        return hash(self.__value)

    @cached_property
    def _forms(self) -> tuple[str, ...]:
        """The key as it may turn up in a text, longest first."""
        value = self.__value
        forms = {value, quote(value, safe=""), quote(value), quote_plus(value), value.replace("/", "\\/")}
        raw = value.encode()
        for before in range(3):
            # Base64 of a longer text that holds the key somewhere: each of the three ways in which
            # the key can fall on groups of three bytes, without the characters that neighbours share.
            whole = base64.b64encode(b"\0" * before + raw)
            inner = whole[(0, 2, 3)[before] : (before + len(raw)) * 4 // 3].decode()
            if len(inner) >= SHORTEST_IN_REPLY // 2:
                forms.update((inner, inner.replace("+", "-").replace("/", "_")))
        return tuple(sorted((form for form in forms if len(form) >= SHORTEST_IN_TEXT), key=len, reverse=True))

    def redact(self, text: str) -> str:
        """The text without the key in any of its forms."""
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return text

    @cached_property
    def _raw(self) -> tuple[bytes, ...]:
        value = self.__value
        if len(value) < SHORTEST_IN_REPLY:
            return ()
        return tuple({value.encode(), value.replace("/", "\\/").encode()})

    def redact_bytes(self, body: bytes) -> bytes:
        """The same for the body of a reply, of which every call has one: plain forms only."""
        for raw in self._raw:
            if raw in body:
                body = body.replace(raw, HIDDEN.encode())
        return body


class KeySource:
    """Where a key comes from. It is read anew for each call, so a rotated key is found."""

    def __init__(self, env: str) -> None:
        self.env = env
        self._last: Secret | None = None

    def read(self) -> Secret:
        """The key as it is now; `AuthError` where there is none, or none that can be sent."""
        value = os.environ.get(self.env, "").strip()
        if self._last is not None and self._last.reveal() == value:
            return self._last
        if not value:
            raise AuthError(
                f"There is no key: the environment variable {self.env} is not set. Set it to the key."
            )
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise AuthError(
                f"The key in {self.env} holds spaces, line breaks or characters beyond ASCII. "
                "Set the variable to the key alone."
            )
        self._last = Secret(value)
        return self._last

"""API keys: read from the environment where they are used, and shown nowhere.

A key is only in an environment variable and in a `Secret`, which never prints it. Redaction searches for
the value, so it also finds a key that a host echoes back: plain, URL-quoted, or in base64.
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
"""Local servers use keys such as "EMPTY"; removing that word from replies would change them."""


class Secret:
    """An API key. Only `reveal` returns its value."""

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
        """The encodings in which the key may occur in a text, longest first."""
        value = self.__value
        forms = {value, quote(value, safe=""), quote(value), quote_plus(value), value.replace("/", "\\/")}
        raw = value.encode()
        for before in range(3):
            # Base64 of a longer text that contains the key: each of the three alignments of the key to
            # groups of three bytes, without the characters that also encode its neighbours.
            encoded = base64.b64encode(b"\0" * before + raw)
            inner = encoded[(0, 2, 3)[before] : (before + len(raw)) * 4 // 3].decode()
            if len(inner) >= SHORTEST_IN_REPLY // 2:
                forms.update((inner, inner.replace("+", "-").replace("/", "_")))
        return tuple(sorted((form for form in forms if len(form) >= SHORTEST_IN_TEXT), key=len, reverse=True))

    def redact(self, text: str) -> str:
        """The text with the key replaced in all of its encodings."""
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
        """The same for the body of a reply; plain forms only, because every call passes here."""
        for raw in self._raw:
            if raw in body:
                body = body.replace(raw, HIDDEN.encode())
        return body


class KeySource:
    """The environment variable of a key. It is read for each call, so that a rotated key is used."""

    def __init__(self, env: str) -> None:
        self.env = env
        self._last: Secret | None = None

    def read(self) -> Secret:
        """The current key; `AuthError` where there is none, or none that can be sent."""
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

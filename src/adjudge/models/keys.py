"""API keys: read from the environment for each call, and hidden in every text that may repeat them."""

from __future__ import annotations

import base64
import os
import re
from functools import cached_property
from typing import NoReturn
from urllib.parse import quote, quote_plus

from ..errors import AuthError

HIDDEN = "[key]"


SHORTEST_IN_TEXT = 4


SHORTEST_IN_REPLY = 16
"""Local servers use keys such as "EMPTY"; removing that word from replies would change them."""


SHORTEST_PART = 8
"""So many characters of a key in a row, beyond the prefix that all keys of a provider share, count as the
key."""


_PREFIX = re.compile(r"[A-Za-z]{1,6}[-_](?:[a-z]{1,5}[0-9]{0,2}-)*|AIza")


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

    @cached_property
    def _escaped(self) -> re.Pattern[str]:
        """The key with any of its characters escaped as in JSON, an address or a page."""
        return re.compile("".join(f"(?:{_escapes(letter)})" for letter in self.__value))

    def redact(self, text: str) -> str:
        """The text with the key replaced in all of its encodings."""
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        if len(self.__value) >= SHORTEST_IN_TEXT and ("\\" in text or "%" in text or "&#" in text):
            text = self._escaped.sub(HIDDEN, text)
        for start, end in reversed(self._parts_in(text)):
            text = text[:start] + HIDDEN + text[end:]
        return text

    @cached_property
    def _parts(self) -> frozenset[str]:
        """Every run of `SHORTEST_PART` characters of a key, without those that may be words."""
        value = self.__value
        if len(value) < SHORTEST_IN_REPLY:
            return frozenset()
        prefix = _PREFIX.match(value)
        starts = range(prefix.end() if prefix else 0, len(value) - SHORTEST_PART + 1)
        runs = (value[start : start + SHORTEST_PART] for start in starts)
        return frozenset(run for run in runs if not _may_be_word(run))

    def _parts_in(self, text: str) -> list[tuple[int, int]]:
        """Where a part of the key stands in a text, each as long as the text agrees with the key."""
        value, found = self.__value, list[tuple[int, int]]()
        if not any(part in text for part in self._parts):
            return found
        at = 0
        while at <= len(text) - SHORTEST_PART:
            if text[at : at + SHORTEST_PART] not in self._parts:
                at += 1
                continue
            start, end = at, at + SHORTEST_PART
            floor = found[-1][1] if found else 0
            while start > floor and text[start - 1 : end] in value:
                start -= 1
            while end < len(text) and text[start : end + 1] in value:
                end += 1
            found.append((start, end))
            at = end
        return found

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the key stands in a text, in any of its encodings."""
        forms = "|".join(re.escape(form) for form in self._forms)
        whole = [match.span() for match in re.finditer(f"{forms}|{self._escaped.pattern}", text)]
        return whole + self._parts_in(text)

    def redact_reply(self, text: str) -> str:
        """The same for what a model wrote; a key that may be a common word stays."""
        return text if len(self.__value) < SHORTEST_IN_REPLY else self.redact(text)

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


def _may_be_word(run: str) -> bool:
    """Whether a run of characters has no digit, and no capital inside."""
    return not any(letter.isdigit() for letter in run) and run in (run.lower(), run.upper(), run.title())


def _escapes(letter: str) -> str:
    """A pattern for one character of a key: plain, or as \\u0041, \\x41, %41 or &#65;."""
    code = "".join(f"[{digit}{digit.upper()}]" for digit in f"{ord(letter):02x}")
    forms = (rf"\\+u00{code}", rf"\\+x{code}", f"%(?:25)*{code}", f"&#0*{ord(letter)};", f"&#[xX]0*{code};")
    return "|".join((rf"\\*{re.escape(letter)}" if letter in "/\"'" else re.escape(letter), *forms))


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
                f"No API key: the environment variable {self.env} is not set. Set it to the "
                "key, or judge with another model."
            )
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise AuthError(
                f"The key in {self.env} contains spaces, line breaks or non-ASCII characters. "
                "Set the variable to the key alone."
            )
        self._last = Secret(value)
        return self._last

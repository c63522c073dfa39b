"""Makes text from files, judges and hosts safe to show: characters that act or hide are written out as
`\u202e`.

The terminal, Markdown, the pytest plugin and the pages share the one table here; Markdown and HTML add their
own escaping. Letters of every script stay as they are, as do the two joiners that Persian, Hindi and emoji
need.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import IO, Any

ACTING = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters; escape sequences begin with one
    "\u2028\u2029"  # line and paragraph separator
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # overrides and marks of the writing direction
    "\xad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb"  # no width, or only for old software
    # layout of hieroglyphs, shorthand, music
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # tags: text that no reader sees
    "\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff"  # halves of characters, and private use
    "]"
    # joiners after Latin letters or alone, where they only hide
    "|(?<![^\x00-\u024f\u200c\u200d])[\u200c\u200d]"
)
"""Characters that can act on a terminal, reorder or hide text. Variation selectors are not among them, nor
are U+200C and U+200D after letters and signs that they can join.
"""

_COMMAND = re.compile(r"(^|\s)(?=::)|(#)(?=#\[)")
"""A runner of GitHub reads `::name::` at the beginning of a line, and `##[name]` wherever it stands."""


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def has_control(name: str) -> bool:
    """Whether a name has a control character, a line separator or half a character, which no name needs."""
    return _CONTROL.search(name) is not None


def safe_text(text: str, keep: str = "\n\t") -> str:
    """The text with acting characters written out, all but those in `keep`."""
    return ACTING.sub(lambda match: match[0] if match[0] in keep else code_point(match[0]), text)


def safe(text: str) -> str:
    """The text as one line without acting characters or
    commands to a CI runner; for names, cells and messages.
    """
    line = ACTING.sub(lambda match: " " if match[0] in "\t\n\r" else code_point(match[0]), text)
    return _COMMAND.sub(lambda match: f"{match[0]}\\", line)


class EscapedStream:
    """A terminal as a text stream: what is written to it is made
    harmless. Styled text goes to `raw`, already harmless.
    """

    def __init__(self, raw: IO[str]) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        self.raw.write(safe_text(text.replace("\r\n", "\n")))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def raw_stream(stream: Any) -> IO[str]:
    """The terminal behind an `EscapedStream`, or the stream
    itself: for text whose parts were made harmless one by one.
    """
    raw: IO[str] = stream.raw if isinstance(stream, EscapedStream) else stream
    return raw


def code_point(character: str) -> str:
    """A character as `\\u202e` or `\\U000e0041`."""
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

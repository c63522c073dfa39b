"""Characters as one form each: full-width as ASCII, odd spaces as spaces, small letters.

Everything here keeps the length of the text, so a place found in the result is the same place in the
original.
"""

from __future__ import annotations

import re

from ...lazy_patterns import lazily

_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_BLANK = "\u115f\u1160\u3164\uffa0"
"""Fillers of Hangul, which show as a space."""
_HYPHENS = "\u2010\u2011\u2012\u2212"
"""The hyphens and the minus sign that look like the one of ASCII."""
_NARROW = (
    {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
    | {0x1D7CE + n: ord("0") + n % 10 for n in range(50)}
    | {ord(space): " " for space in _SPACES + _BLANK}
    | {ord(hyphen): "-" for hyphen in _HYPHENS}
)
_WIDE_SET = "[\uff01-\uff5e\U0001d7ce-\U0001d7ff" + _SPACES + _BLANK + _HYPHENS + "]"
_WIDE = lazily(_WIDE_SET + _WIDE_SET + "*+")  # a plain set in front lets the search skip ahead
_OUTER_UNDERSCORE = lazily(r"_(?:(?<![0-9A-Za-z]_)|(?![0-9A-Za-z]))")
_STRUCK_OUT = lazily(r"(?<![~\\])~~(?=[^~\s])[^~\n]{1,80}~~(?!~)|<(del|s|strike)>[^<\n]{1,80}</\1>", re.I)
_HTML_EMPHASIS = lazily(r"</?(?:b|i|em|strong|u|p|h[1-6]|li)>", re.I)
_HEADING = lazily(r"^[ \t]{0,3}#{1,6}(?=[ \t])", re.M)


def narrow(text: str) -> str:
    """Full-width letters, digits and signs as ASCII, odd spaces as spaces; one character for each."""
    if text.isascii():
        return text
    if len(text) > 100_000:
        return text.translate(_NARROW)
    return _WIDE.sub(lambda wide: wide[0].translate(_NARROW), text)


def folded(text: str) -> str:
    """The text in lower case; a letter whose small form is longer stays, so that places stay."""
    lower = text.lower()
    return (
        lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    )


def without_emphasis(text: str) -> str:
    """The text with bold, italic and heading marks blanked, and all that is struck out; an underscore inside
    a word stays.
    """
    if "~~" in text or "</" in text:
        text = _STRUCK_OUT.sub(lambda struck: " " * len(struck[0]), text)
    if "</" in text:
        text = _HTML_EMPHASIS.sub(lambda mark: " " * len(mark[0]), text)
    if "*" in text:
        text = text.replace("*", " ")
    if "#" in text:
        text = _HEADING.sub(lambda mark: " " * len(mark[0]), text)
    if "_" in text:
        text = _OUTER_UNDERSCORE.sub(" ", text)
    return text

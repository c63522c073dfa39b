"""Any text as HTML that cannot act: escaped, with control and invisible characters written out."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from ...untrusted import ACTING, code_point, safe_text

_LAYOUT = "\t\n\r"
"""White space that HTML shows or ignores by itself."""


def visible_text(text: str) -> str:
    """The text with acting characters written out, `\\u202e`; for names, titles and attributes."""
    return safe_text(text, _LAYOUT)


def shown(text: str) -> Markup:
    """The text as HTML, with acting characters written out in a box."""
    parts = []
    start = 0
    for match in ACTING.finditer(text):
        if match[0] in _LAYOUT:
            continue
        parts.append(escape(text[start : match.start()]))
        parts.append(Markup('<span class="ctl">{}</span>').format(code_point(match[0])))
        start = match.end()
    parts.append(escape(text[start:]))
    return Markup("").join(parts)


_RTL = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
    "(?:[^\\w\n]{0,3}[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff])*"
)


_TOGETHER = re.compile(
    r"\[[\d.,\s%+\u2212–]{1,24}\]"  # an interval
    r"|[\d.,]+ %"
    r"|\b[np] [=<] [\d.,]*\d"
    r"|(?<!\S)[^\s\-/\\(),;:]{1,16}(?:-[^\s\-/\\(),;:]{1,16})+(?![^\s,;:)])"  # a name such as gpt-4, no path
)
"""What a line must not break within."""


def with_bdi(text: str) -> Markup:
    """A sentence with names in it: a right-to-left name gets a `bdi` element, so that it cannot reorder the
    numbers beside it; a number stays on one line with its unit.
    """
    parts = []
    start = 0
    for match in _RTL.finditer(text):
        parts.append(_unbroken(text[start : match.start()]))
        parts.append(Markup("<bdi>{}</bdi>").format(shown(match[0])))
        start = match.end()
    parts.append(_unbroken(text[start:]))
    return Markup("").join(parts)


_FITS = 30
"""So short a text, such as a cell of a table, stands on one line anyway."""


def _unbroken(text: str) -> Markup:
    if len(text) <= _FITS:
        return shown(text)
    parts = []
    start = 0
    for match in _TOGETHER.finditer(text):
        parts.append(shown(text[start : match.start()]))
        parts.append(Markup('<span class="unbroken">{}</span>').format(shown(match[0])))
        start = match.end()
    parts.append(shown(text[start:]))
    return Markup("").join(parts)

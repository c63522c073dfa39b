"""Text of items, judges and users as HTML that cannot act: escaped, with characters that hide or reverse text written out.

Knows nothing of templates. What `shown`, `marked` and `told` return is safe in a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from markupsafe import Markup, escape

from ..analysis.item_view import Span
from ..untrusted import ACTING, code_point, safe_text

_LAYOUT = "\t\n\r"
"""White space that HTML shows or ignores by itself."""


def plain(text: str) -> str:
    """The text with acting characters written out, `\\u202e`; for names, titles and attributes."""
    return safe_text(text, _LAYOUT)


def shown(text: str) -> Markup:
    """The text as HTML, with acting characters written out in a box of their own."""
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


def marked(text: str, spans: Iterable[Span | None], title: str = "") -> Markup:
    """The text as HTML with its spans marked; spans outside the text or inside others are ignored."""
    parts = []
    position = 0
    for start, end in sorted(span for span in spans if span is not None):
        if not position <= start < end <= len(text):
            continue
        parts.append(shown(text[position:start]))
        parts.append(Markup('<mark class="span" title="{}">{}</mark>').format(title, shown(text[start:end])))
        position = end
    parts.append(shown(text[position:]))
    return Markup("").join(parts)


_RTL = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
    "(?:[^\\w\n]{0,3}[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff])*"
)


def told(text: str) -> Markup:
    """A sentence of the report with names in it: a right-to-left name must not reorder the numbers beside it."""
    parts = []
    start = 0
    for match in _RTL.finditer(text):
        parts.append(shown(text[start : match.start()]))
        parts.append(Markup("<bdi>{}</bdi>").format(shown(match[0])))
        start = match.end()
    parts.append(shown(text[start:]))
    return Markup("").join(parts)


def judge_name(spec: str) -> str:
    """A judge's name for a line: a model in a file is named without its folders."""
    kind, _, path = spec.partition(":")
    if kind not in ("replay", "local") or not path:
        return spec
    name = path.replace("\\", "/").rpartition("/")[2]
    return f"{kind}:{name or path}"

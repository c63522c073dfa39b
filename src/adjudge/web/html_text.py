"""Judged text as HTML that cannot act: escaped, with characters that hide or reverse text made visible.

Knows nothing of templates. Whatever comes out of `shown` and `marked` is safe to stand in a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from markupsafe import Markup, escape

Span = tuple[int, int]

# Control characters, overrides of the writing direction, tag characters (text that no reader sees) and halves of
# characters, which cannot be written as UTF-8.
_ACTING = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain(text: str) -> str:
    """The text with acting characters written out, `\\u202e`; for names, titles and attributes."""
    return _ACTING.sub(lambda found: _written(found[0]), text)


def shown(text: str) -> Markup:
    """The text as HTML, acting characters written out and set apart."""
    parts = []
    place = 0
    for found in _ACTING.finditer(text):
        parts.append(escape(text[place : found.start()]))
        parts.append(Markup('<span class="ctl">{}</span>').format(_written(found[0])))
        place = found.end()
    parts.append(escape(text[place:]))
    return Markup("").join(parts)


def marked(text: str, spans: Iterable[Span | None], title: str = "") -> Markup:
    """The text as HTML with the places that were read marked; places outside the text or inside others are left out."""
    parts = []
    place = 0
    for start, end in sorted(span for span in spans if span is not None):
        if not place <= start < end <= len(text):
            continue
        parts.append(shown(text[place:start]))
        parts.append(Markup('<mark class="span" title="{}">{}</mark>').format(title, shown(text[start:end])))
        place = end
    parts.append(shown(text[place:]))
    return Markup("").join(parts)


_RTL = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
    "(?:[^\\w\n]{0,3}[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff])*"
)


def told(text: str) -> Markup:
    """A sentence of ours with names in it: a name in a right-to-left script must not turn the numbers around it."""
    parts = []
    place = 0
    for found in _RTL.finditer(text):
        parts.append(shown(text[place : found.start()]))
        parts.append(Markup("<bdi>{}</bdi>").format(shown(found[0])))
        place = found.end()
    parts.append(shown(text[place:]))
    return Markup("").join(parts)


def judge_name(spec: str) -> str:
    """A judge in a line: of recorded replies or weights in a file, the file's own name without its folders."""
    kind, _, path = spec.partition(":")
    if kind not in ("replay", "local") or not path:
        return spec
    name = path.replace("\\", "/").rpartition("/")[2]
    return f"{kind}:{name or path}"


def _written(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

"""Placeholders as documents write them, turned into the slots that our templates have.

`{x}`, `{{x}}`, `{{ x }}` and `*{**x**}*` become `{{x}}`; every other byte stays as it is, JSON
braces included. This file does not know where a text comes from or what a slot means.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable

from msgspec import Struct

from ...render import slots_of

_NAME = r"[^\W\d][\w.-]*"
_PLACEHOLDER = re.compile(
    rf"\*\{{\*\*({_NAME})\*\*\}}\*"  # Markdown emphasis around the braces and around the name
    rf"|\{{\{{[ \t]*({_NAME})[ \t]*\}}\}}"
    rf"|(?<!\$)\{{({_NAME})\}}"  # ${x} belongs to another template language
)
_FULL_NAME = re.compile(_NAME)

# \frac{a}{b} and \text{score} are formulas.
_LATEX = re.compile(
    r"\\(?:d?frac|boxed|text\w*|math\w+|sqrt|begin|end|hat|bar|vec|operatorname|emph|cite|ref|label)"
    r"(?:\{[^{}]*\})*\Z"
)
_LATEX_REACH = 120
"""How far back a formula's command is looked for."""

# What looks like a placeholder of some other kind: shown to a person, never touched.
_FOREIGN = re.compile(
    r"\$\{\w{1,40}\}|<<\w{1,40}>>|\{%.{1,60}?%\}|\{\{[#/^>&].{1,60}?\}\}|\{\d{0,2}\}|%\(\w{1,40}\)s"
)


class Template(Struct, frozen=True):
    """A text in the form of `user.md`, and its slots in the order of their first appearance."""

    text: str
    slots: tuple[str, ...]
    literal: str
    """the text without its slots, to look for words in"""
    doubled_braces: bool = False
    """whether `{{` was undone to `{`, as `str.format` does"""


def templated(text: str) -> Template:
    """The text with its placeholders as slots; all else unchanged."""
    pieces: list[str | _Slot] = []
    done = 0
    for found in _PLACEHOLDER.finditer(text):
        if found[3] and _LATEX.search(text, max(0, found.start() - _LATEX_REACH), found.start()):
            continue
        pieces += [text[done : found.start()], _Slot(found[1] or found[2] or found[3])]
        done = found.end()
    pieces.append(text[done:])
    return _joined(pieces)


def templated_as_format(text: str) -> Template | None:
    """The text as `str.format` would fill it; none where that, or our slots, cannot say it."""
    pieces: list[str | _Slot] = []
    try:
        for literal, field, spec, conversion in string.Formatter().parse(text):
            pieces.append(literal)
            if field is None:
                continue
            if spec or conversion or not _FULL_NAME.fullmatch(field):
                return None
            pieces.append(_Slot(field))
    except ValueError:
        return None
    template = _joined(pieces, doubled_braces="{{" in text or "}}" in text)
    # `{{{{x}}}}` stands for the text `{{x}}`, which a template of ours would take for a slot.
    if _PLACEHOLDER.search(template.literal) and "{{" in template.literal:
        return None
    wanted = [piece.name for piece in pieces if isinstance(piece, _Slot)]
    return template if list(slots_of(template.text)) == wanted else None


def templated_by_braces(text: str) -> tuple[Template, bool]:
    """The text as its own braces say that it is filled, and whether that is in doubt.

    Where placeholders are written `{x}` and no name stands in double braces, doubled braces are what
    `str.format` makes single ones of: `{{"score": 4}}` is meant as `{"score": 4}`.
    """
    plain = templated(text)
    written = list(_PLACEHOLDER.finditer(text))
    without = _PLACEHOLDER.sub("", text)
    if not any(found[3] for found in written) or not ("{{" in without or "}}" in without):
        return plain, False
    if any(found[2] for found in written):
        return plain, "{{" in without
    undone = templated_as_format(text)
    return (undone, True) if undone is not None else (plain, "{{" in without)


def slotted(text: str, forms: Iterable[str], names: Iterable[str]) -> str:
    """The text with just these placeholders as slots, for a document whose slots are known.

    A form is the placeholder with `x` for its name, such as `{x}`. Every name must be there.
    """
    wanted = {form.replace("x", name): name for form in forms for name in names}
    pattern = re.compile("|".join(re.escape(written) for written in sorted(wanted, key=len, reverse=True)))
    return pattern.sub(lambda found: "{{" + wanted[found[0]] + "}}", text)


def foreign_placeholders(text: str) -> list[str]:
    """What looks like a placeholder of another template language, once each, the first few."""
    return list(dict.fromkeys(found[0] for found in _FOREIGN.finditer(text)))[:5]


class _Slot(Struct, frozen=True):
    name: str


def _joined(pieces: list[str | _Slot], *, doubled_braces: bool = False) -> Template:
    written, literal, names = [], [], []
    for piece in pieces:
        if isinstance(piece, _Slot):
            written.append("{{" + piece.name + "}}")
            # Something must keep the words on both sides apart.
            literal.append("\N{OBJECT REPLACEMENT CHARACTER}")
            names.append(piece.name)
        else:
            written.append(piece)
            literal.append(piece)
    return Template("".join(written), tuple(dict.fromkeys(names)), "".join(literal), doubled_braces)

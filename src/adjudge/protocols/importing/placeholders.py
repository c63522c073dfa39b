"""Placeholders as documents write them, turned into the slots that our templates have.

Every byte beside them stays as it is, JSON braces included. This file does not know where a text comes
from or what a slot means.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable

from msgspec import Struct

from ...render import slots_of

_NAME = r"[^\W\d][\w.-]*"
_PATH = rf"{_NAME}(?:\[[\w'\"-]{{1,40}}\])*"
"""A name, or an entry of what has that name: `answers[0]`."""

_PLACEHOLDER = re.compile(
    rf"\*\{{\*\*(?P<emphasis>{_NAME})\*\*\}}\*"  # Markdown emphasis around the braces and around the name
    rf"|\{{\{{\{{[ \t]*(?P<triple>{_PATH})[ \t]*\}}\}}\}}"
    rf"|\{{\{{[ \t]*\$?(?P<double>{_PATH}(?: [\w.-]{{1,40}}){{0,3}})[ \t]*\}}\}}"
    rf"|\{{\$(?P<inner>{_NAME})\}}"
    rf"|(?<![\\$\w])\$\{{(?P<dollar>{_PATH})\}}(?![$^_])"
    rf"|(?<!\$)\{{(?P<single>{_NAME})\}}"
)
_FULL_NAME = re.compile(_NAME)
_FULL_PATH = re.compile(_PATH)
_OBJECT = "\N{OBJECT REPLACEMENT CHARACTER}"

# Looked for only where a text has none of the placeholders above.
_RARE = re.compile(
    rf"<<(?P<angles>{_NAME})>>|%\((?P<percent>{_NAME})\)s"
    r"|(?:(?<=: )|(?<=:\n)|(?<=>\n)|(?<=\n\n)|(?<=>))\[(?P<brackets>[A-Z][A-Z0-9_ ]{2,40})\](?=\s*\Z"
    r"|\n\n|\n<|<)"
)
_NO_PLACEHOLDERS = re.compile(
    r"(?:THE )?(?:BEGIN|START|END|FINAL|INST|SYS)\b.*|RESULT|SCORE|RATING|VERDICT|GRADE|N ?/ ?A|NOTE"
    r"|IMPORTANT"
)

# \frac{a}{b} and \text{score} are formulas.
_LATEX = re.compile(
    r"\\(?:d?frac|boxed|text\w*|math\w+|sqrt|begin|end|hat|bar|vec|operatorname|emph|cite|ref|label)"
    r"(?:\{[^{}]*\})*\Z"
)
_SCRIPT = re.compile(r"[\w)\]}][_^]\Z")
"""What makes braces an index or an exponent: `n_{k-1}`."""
_LATEX_REACH = 120
"""How far back a formula's command is looked for."""

# What looks like a placeholder of some other kind: shown to a person, never touched.
_FOREIGN = re.compile(
    r"\$\{[^{}\n]{1,60}\}|<<\w{1,40}>>|\{%.{1,60}?%\}|\{\{[#/^>&].{1,60}?\}\}|\{\d{0,2}\}|%\(\w{1,40}\)s"
)


class Template(Struct, frozen=True):
    """A text in the form of `user.md`, and its slots in the order of their first appearance."""

    text: str
    slots: tuple[str, ...]
    literal: str
    """the text without its slots, to look for words in"""
    doubled_braces: bool = False
    """whether `{{` was undone to `{`, as `str.format` does"""


class Slot(Struct, frozen=True):
    """A place of a template that a field fills."""

    name: str


def templated(text: str) -> Template:
    """The text with its placeholders as slots; all else unchanged."""
    matches = [match for match in _PLACEHOLDER.finditer(text) if not _is_formula(text, match)]
    # ${x} beside {x} belongs to another template language.
    matches = [match for match in matches if match.lastgroup != "dollar"] or matches
    matches = matches or [
        match for match in _RARE.finditer(text) if not _NO_PLACEHOLDERS.fullmatch(_name(match))
    ]
    pieces: list[str | Slot] = []
    done = 0
    for match in matches:
        pieces += [text[done : match.start()], Slot(slot_name(_name(match)))]
        done = match.end()
    pieces.append(text[done:])
    return template_of(pieces)


def _name(match: re.Match[str]) -> str:
    return str(match[match.lastgroup or 0])


def _is_formula(text: str, match: re.Match[str]) -> bool:
    if match.lastgroup != "single":
        return False
    if _LATEX.search(text, max(0, match.start() - _LATEX_REACH), match.start()):
        return True
    if not _SCRIPT.search(text, max(0, match.start() - 3), match.start()):
        return False
    line = text[text.rfind("\n", 0, match.start()) + 1 : text.find("\n", match.end()) + 1 or len(text)]
    return "$" in line or "\\" in line


def slot_name(path: str) -> str:
    """The slot for a placeholder: `answers[0]` becomes `answers_0`, `USER QUESTION` becomes
    `user_question`."""
    if _FULL_NAME.fullmatch(path):
        return path
    name = re.sub(r"\W+", "_", path).strip("_")
    return name.lower() if " " in path else name


def part_of(template: Template, text: str) -> Template:
    """A stretch of a template as a separate one; what looks like a placeholder and is none stays text."""
    slots = tuple(slot for slot in template.slots if "{{" + slot + "}}" in text)
    literal = text
    for slot in slots:
        literal = literal.replace("{{" + slot + "}}", _OBJECT)
    return Template(text, slots, literal, template.doubled_braces)


def templated_as_format(text: str) -> Template | None:
    """The text as `str.format` would fill it; none where that, or our slots, cannot say it."""
    pieces: list[str | Slot] = []
    try:
        for literal, field, _, _ in string.Formatter().parse(text):
            pieces.append(literal)
            if field is None:
                continue
            if not _FULL_PATH.fullmatch(field):
                return None
            pieces.append(Slot(slot_name(field)))
    except ValueError:
        return None
    template = template_of(pieces, doubled_braces="{{" in text or "}}" in text)
    # `{{{{x}}}}` stands for the text `{{x}}`, which a template of ours would take for a slot.
    if _PLACEHOLDER.search(template.literal) and "{{" in template.literal:
        return None
    wanted = [piece.name for piece in pieces if isinstance(piece, Slot)]
    return template if list(slots_of(template.text)) == wanted else None


def templated_by_braces(text: str) -> tuple[Template, bool]:
    """The text as its own braces say that it is filled, and whether that is in doubt.

    Where placeholders are written `{x}` and no name stands in double braces, doubled braces are what
    `str.format` makes single ones of: `{{"score": 4}}` is meant as `{"score": 4}`.
    """
    plain = templated(text)
    written = list(_PLACEHOLDER.finditer(text))
    without = _PLACEHOLDER.sub("", text)
    if not any(match["single"] for match in written) or not ("{{" in without or "}}" in without):
        return plain, False
    if any(match["double"] for match in written):
        return plain, "{{" in without
    undone = templated_as_format(text)
    return (undone, True) if undone is not None else (plain, "{{" in without)


def slotted(text: str, forms: Iterable[str], names: Iterable[str]) -> str:
    """The text with just these placeholders as slots, for a document whose slots are known.

    A form is the placeholder with `x` for its name, such as `{x}`. Every name must be there.
    """
    wanted = {form.replace("x", name): name for form in forms for name in names}
    pattern = re.compile("|".join(re.escape(written) for written in sorted(wanted, key=len, reverse=True)))
    return pattern.sub(lambda match: "{{" + wanted[match[0]] + "}}", text)


def foreign_placeholders(text: str) -> list[str]:
    """What looks like a placeholder of another template language, once each, the first few."""
    return list(dict.fromkeys(match[0] for match in _FOREIGN.finditer(text)))[:5]


def template_of(pieces: list[str | Slot], *, doubled_braces: bool = False) -> Template:
    """Texts and slots in their order as one template."""
    written, literal, names = [], [], []
    for piece in pieces:
        if isinstance(piece, Slot):
            written.append("{{" + piece.name + "}}")
            # Something must keep the words on both sides apart.
            literal.append(_OBJECT)
            names.append(piece.name)
        else:
            written.append(piece)
            literal.append(piece)
    return Template("".join(written), tuple(dict.fromkeys(names)), "".join(literal), doubled_braces)

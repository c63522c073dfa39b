"""Putting imported folders on the disk: all of them, or none.

The folders are built and loaded in a temporary place beside their destination, and renamed
into it at the end. Nothing that exists is ever overwritten.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import string
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ...errors import DataError, ProtocolError, listed
from ...render import slots_of
from ..folder import read_folder

# Placeholders as documents write them, turned into the slots that our templates have.
#
# `{x}`, `{{x}}`, `{{ x }}` and `*{**x**}*` become `{{x}}`; every other byte stays as it is, JSON
# braces included. This file does not know where a text comes from or what a slot means.


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
    for match in _PLACEHOLDER.finditer(text):
        if match[3] and _LATEX.search(text, max(0, match.start() - _LATEX_REACH), match.start()):
            continue
        pieces += [text[done : match.start()], _Slot(match[1] or match[2] or match[3])]
        done = match.end()
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
    if not any(match[3] for match in written) or not ("{{" in without or "}}" in without):
        return plain, False
    if any(match[2] for match in written):
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


# Writing `protocol.toml`: settings in order, each with a comment where it is a guess.
#
# A small writer for just the values that a protocol has. The standard library reads TOML and
# does not write it, and a writer that drops comments would drop the marks for review.


Value = str | int | float | bool | Sequence[str] | Mapping[str, str]

REVIEW = "# REVIEW: "
"""What every guess of an import is marked with."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")


class Setting(Struct, frozen=True):
    """One line of a table; `review` says what a person should look at."""

    key: str
    value: Value
    review: str = ""


class Remark(Struct, frozen=True):
    """A line for a person where there is no value to set."""

    review: str


class Table(Struct, frozen=True):
    """A heading such as `[answer]` (empty for the top) and its lines."""

    heading: str
    lines: Sequence[Setting | Remark]


def written(tables: Iterable[Table]) -> str:
    """The tables as the text of a TOML file."""
    blocks = []
    for table in tables:
        lines = [table.heading] if table.heading else []
        for line in table.lines:
            if isinstance(line, Remark):
                lines.append(_comment(line.review))
                continue
            comment = f"  {_comment(line.review)}" if line.review else ""
            lines.append(f"{_key(line.key)} = {_value(line.value)}{comment}")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _comment(text: str) -> str:
    return REVIEW + _CONTROLS.sub(" ", text)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _value(value: Value) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_string(text)}" for key, text in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    return "[" + ", ".join(_string(text) for text in value) + "]"


def _string(text: str) -> str:
    # A basic string of TOML is a JSON string, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


class NewFolder(Struct, frozen=True):
    """A protocol folder to be: its name, and the text of each of its files."""

    name: str
    files: Mapping[str, str]


def file_text(prompt: str) -> str:
    """A prompt as the content of `user.md` or `system.md`, which is sent without one final newline."""
    return prompt + "\n"


def write_folders(folders: Sequence[NewFolder], to: Path) -> tuple[Path, ...]:
    """Write the folders below `to` and return their paths. A failure leaves nothing behind."""
    _refuse_existing(folders, to)
    created = _missing_parents(to)
    try:
        to.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(prefix=".adjudge-import-", dir=to))
    except OSError as error:
        _remove_empty(created)
        raise _cannot_write(to, error) from error
    is_done = False
    moved: list[Path] = []
    try:
        for folder in folders:
            _stage(staged / folder.name, folder)
        for folder in folders:
            (staged / folder.name).rename(to / folder.name)
            moved.append(to / folder.name)
        is_done = True
    except OSError as error:
        raise _cannot_write(to, error) from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        if not is_done:
            for path in moved:
                shutil.rmtree(path, ignore_errors=True)
            _remove_empty(created)
    return tuple(moved)


def _refuse_existing(folders: Sequence[NewFolder], to: Path) -> None:
    if os.path.lexists(to) and not to.is_dir():
        raise DataError(f"{to}: this is not a folder. Name a folder, new or not, with --to DIR.")
    # A dangling link counts as something that exists.
    existing = [
        f"{folder.name}/ is already there." for folder in folders if os.path.lexists(to / folder.name)
    ]
    if existing:
        what_to_do = "Nothing was written. Name another folder with --to DIR, or move these away."
        raise ProtocolError(f"{listed(str(to), existing)}\n{what_to_do}")


def _stage(path: Path, folder: NewFolder) -> None:
    """Write one folder and load it: what was imported can be shown and checked at once."""
    path.mkdir()
    for name, text in folder.files.items():
        (path / name).write_bytes(text.encode("utf-8"))
    protocol, findings = read_folder(path, folder.name)
    if protocol is None:
        problems = [f"{Path(finding.file).name}: {finding.message} {finding.todo}" for finding in findings]
        what_to_do = "Nothing was written. Copy this prompt into a folder made by: adjudge protocols new DIR."
        raise ProtocolError(f"{listed(f'the import of {folder.name}', problems)}\n{what_to_do}")


def _missing_parents(to: Path) -> list[Path]:
    """The folders that have to be made for `to`, the innermost first."""
    return [path for path in (to, *to.parents) if not path.exists()]


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _cannot_write(to: Path, error: OSError) -> DataError:
    reason = error.strerror or str(error)
    return DataError(f"{to}: cannot write there ({reason}). Name a folder of yours with --to DIR.")

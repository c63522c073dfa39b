"""Whether a document is one of the known ones, also where it was saved, wrapped or edited a little.

People add a newline, a title or a line, save with other line ends, quote or indent the whole. What is left
after undoing that must be the known document byte for byte: its sha256 says so, and nothing is guessed. A
copy with a typo is found by its lines (`edited_copy.py`), one that was wrapped anew or has other fences by
the words of its prompts (`fingerprints.py`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from os.path import commonprefix
from typing import NamedTuple

from msgspec import structs

from ...errors import AdjudgeError
from .document import Document
from .edited_copy import EditedCopy, edited_copy
from .fingerprints import known_prompts
from .formats.python import string_variables
from .known_documents import KnownDocument, known_documents

_LONGEST = 64_000
"""No known document is longer, in characters, with what may have been added to it."""
_MOST_ADDED = 30
"""How many lines before or behind the document are left out to find it."""

_QUOTE = re.compile(r"^[ \t]{0,3}> ?", re.MULTILINE)

_WHOLE = "The document was recognised: the folders hold its prompts byte for byte."
_BY_LINES = "The document was recognised by its lines, and the settings are those of the original."
_BY_WORDS = (
    "The document was recognised by the words of its prompts, and the settings are those of the original."
)
_OTHER_LAYOUT = (
    "The file differs from it in line breaks, spaces or code fences; the prompts are sent as the file has"
    " them."
)


class Recognised(NamedTuple):
    """A known document, its text, and what to tell about the file."""

    known: KnownDocument
    document: Document
    notes: tuple[str, ...]
    """that it was recognised, and what differs"""
    texts: Mapping[str, str] | None = None
    """its prompts as the file writes them, where they were found by their words alone"""


def recognise(document: Document) -> Recognised | None:
    """The known document that a file holds, whole; none where it holds none."""
    known = known_documents().get(document.sha256)
    if known is not None:
        return Recognised(known, document, (_WHOLE,))
    if len(document.text) > _LONGEST:
        return None
    for text, difference in _variants(document.text):
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest in known_documents():
            same = structs.replace(document, sha256=digest, text=text)
            notes = (_WHOLE, f"The file differs from it by {difference}; that was left out.")
            return Recognised(known_documents()[digest], same, notes)
    for text, _ in _without_container(_with_line_feeds(document.text)):
        copy = edited_copy(text)
        if copy is not None and _is_usable(copy):
            kept = structs.replace(document, text=copy.text)
            return Recognised(known_documents()[copy.sha256], kept, (_BY_LINES, *_differences(copy)))
    if (found := known_prompts(document.text)) is not None:
        digest, texts = found
        return Recognised(known_documents()[digest], document, (_BY_WORDS, _OTHER_LAYOUT), texts)
    return None


def _is_usable(copy: EditedCopy) -> bool:
    """Whether the strings of a Python file can still be found in a copy of it."""
    if not any(recipe.user.name for recipe in known_documents()[copy.sha256].recipes):
        return True
    try:
        return bool(string_variables(copy.text))
    except (AdjudgeError, SyntaxError):
        return False


def _differences(copy: EditedCopy) -> list[str]:
    """What a copy has that the document has not, a sentence each."""
    said = []
    if copy.edited:
        lines = ", ".join(f"line {number} ({line.strip()[:60]!r})" for number, line in copy.edited)
        said.append(f"The file differs from it in {lines}; sent as the file has it.")
    if copy.n_added:
        said.append(f"The file differs from it by {copy.n_added} more lines; those were left out.")
    return said or [_OTHER_LAYOUT]


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _without_container(text: str) -> Iterator[tuple[str, str]]:
    """The text as it is, and without the quotation marks or the indentation of all its lines, each with words
    for what that was."""
    yield text, ""
    lines = text.split("\n")
    written = [line for line in lines if line.strip()]
    if written and all(_QUOTE.match(line) for line in written):
        yield _QUOTE.sub("", text), "the marks of a quotation"
    for some in (written, written[1:]):  # a title may stand before an indented block
        leads = [line[: len(line) - len(line.lstrip())] for line in some]
        lead = commonprefix(leads)  # noqa: RUF071  of characters, not of a path
        if lead:
            yield "\n".join(line.removeprefix(lead) for line in lines), "the indentation of its lines"


def _variants(text: str) -> Iterator[tuple[str, str]]:
    """The text without what people add, each with words for what that was."""
    for whole, container in _without_container(_with_line_feeds(text)):
        for kept, difference in _without_lines(whole):
            yield kept, container or difference


def _without_lines(text: str) -> Iterator[tuple[str, str]]:
    """The text without lines around it, and without one inside it."""
    lines = text.split("\n")
    spaces = "line ends or blank lines around the text"
    for before in range(min(_MOST_ADDED, len(lines))):
        for behind in range(min(_MOST_ADDED, len(lines) - before)):
            kept = "\n".join(lines[before : len(lines) - behind])
            left_out = [*lines[:before], *lines[len(lines) - behind :]]
            n_written = sum(bool(line.strip()) for line in left_out)
            difference = f"{n_written} lines before or behind it" if n_written else spaces
            yield kept, difference
            yield kept + "\n", difference
    inner = "\n".join(lines).strip("\n").split("\n")
    for at, line in enumerate(inner):
        kept = "\n".join(inner[:at] + inner[at + 1 :])
        difference = (
            f"a separate line: {line.strip()[:60]!r}" if line.strip() else "a blank line inside the text"
        )
        yield kept, difference
        yield kept + "\n", difference

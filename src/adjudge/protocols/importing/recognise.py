"""Whether a document is one of the known ones, also where it was saved or wrapped differently.

People add a newline, a title or a line, or save with other line ends. What is left after undoing
that must be the known document byte for byte: its sha256 says so, and nothing is guessed. A copy that was
wrapped anew, or whose fences are other ones, is found by the words of its prompts (`fingerprints.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import structs

from .document import Document
from .fingerprints import known_prompts
from .known_documents import KnownDocument, known_documents

_LONGEST = 64_000
"""No known document is longer, in characters, with what may have been added to it."""
_MOST_ADDED = 30
"""How many lines before or behind the document are left out to find it."""


class Recognised(NamedTuple):
    """A known document, its own text, and what the file has beside it."""

    known: KnownDocument
    document: Document
    differences: tuple[str, ...] = ()
    texts: Mapping[str, str] | None = None
    """its prompts as the file writes them, where they were found by their words alone"""


def recognise(document: Document) -> Recognised | None:
    """The known document that a file holds, whole; none where it holds none."""
    known = known_documents().get(document.sha256)
    if known is not None:
        return Recognised(known, document)
    if len(document.text) > _LONGEST:
        return None
    for text, difference in _variants(document.text):
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest in known_documents():
            same = structs.replace(document, sha256=digest, text=text)
            return Recognised(known_documents()[digest], same, (difference,))
    if (found := known_prompts(document.text)) is not None:
        digest, texts = found
        return Recognised(known_documents()[digest], document, (), texts)
    return None


def _variants(text: str) -> Iterator[tuple[str, str]]:
    """The text without what people add, each with words for what that was."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    spaces = "line ends or blank lines around the text"
    for before in range(min(_MOST_ADDED, len(lines))):
        for behind in range(min(_MOST_ADDED, len(lines) - before)):
            kept = "\n".join(lines[before : len(lines) - behind])
            left_out = [*lines[:before], *lines[len(lines) - behind :]]
            n_written = sum(bool(line.strip()) for line in left_out)
            difference = f"{n_written} lines before or behind it" if n_written else spaces
            yield kept, difference
            yield kept + "\n", difference
    whole = "\n".join(lines).strip("\n").split("\n")
    for at, line in enumerate(whole):
        kept = "\n".join(whole[:at] + whole[at + 1 :])
        difference = (
            f"a separate line: {line.strip()[:60]!r}" if line.strip() else "a blank line inside the text"
        )
        yield kept, difference
        yield kept + "\n", difference

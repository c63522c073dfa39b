"""A copy of a known document in which a few lines were edited: a typo, a word.

Each line of a known document is held as its length and hashes of its words and of its facts (numbers,
placeholders, marks, keys, words for the ends of a scale). A line whose facts changed is no typo: the settings
of the original need not hold for it, and the file is no copy then. No sentence of a document stands here.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from .fingerprints import words_of

_FILE = Path(__file__).with_name("line_hashes.toml")
_MOST_EDITED = 5
"""More lines than these are edited in no copy, but in another version."""

_LONGEST_TYPO = 2
"""By how many characters an edited line may be longer or shorter."""

_LONGEST_GAP = 60
"""How many lines may stand between two lines of the document."""

_FACTS = re.compile(
    r"[0-9]+|\{[^{}]*\}|<[^<>]*>|\[[^\[\]]*\]|\"\w+\"(?=\s*:)|\w+(?=\s?\([0-9])"
    r"|\b(?:best|worst|good|bad|poor|high|low|better|worse|higher|lower|not|no|never)\b|[不无没优劣好差]",
    re.IGNORECASE,
)


class EditedCopy(NamedTuple):
    """A known document as a file has it: its text in the lines of the original, and the edited ones."""

    sha256: str
    """of the known document"""
    text: str
    edited: tuple[tuple[int, str], ...]
    """the edited lines by their numbers in the file"""
    n_added: int
    """how many written lines the file has beside the document"""


def line_hash(line: str) -> str:
    """The length of a line without its layout, and hashes of its words and its facts; empty for no words."""
    words = words_of(line).text
    facts = " ".join(_FACTS.findall(line)).casefold()
    return f"{len(words)}:{_digest(words, 6)}:{_digest(facts, 4)}" if words else ""


def edited_copy(text: str) -> EditedCopy | None:
    """The known document that a text is, apart from a few edited lines; none where it is none."""
    lines = text.split("\n")
    hashes = [line_hash(line) for line in lines]
    for sha256, known in known_lines().items():
        if (copy := _aligned(sha256, known, lines, hashes)) is not None:
            return copy
    return None


@lru_cache(maxsize=1)
def known_lines() -> dict[str, list[str]]:
    """The hashes of the lines of each known document, by its sha256."""
    documents = tomllib.loads(_FILE.read_text(encoding="utf-8"))["document"]
    return {entry["sha256"]: [line.strip() for line in entry["lines"].split("\n")] for entry in documents}


def _aligned(sha256: str, known: list[str], lines: list[str], hashes: list[str]) -> EditedCopy | None:
    """The lines of a file in the places of those of a known document; none where one is missing."""
    kept: list[str] = []
    edited: list[tuple[int, str]] = []
    at = n_added = 0
    for wanted in known:
        if not wanted:
            # A blank line of the file may hold spaces, and may be missing.
            is_blank = at < len(lines) and not hashes[at]
            kept.append(lines[at] if is_blank else "")
            at += is_blank
            continue
        place = _place_of(wanted, hashes, at)
        if place is None:
            return None
        n_added += sum(bool(one) for one in hashes[at:place])
        if hashes[place] != wanted:
            edited.append((place + 1, lines[place]))
            if len(edited) > _MOST_EDITED:
                return None
        kept.append(lines[place])
        at = place + 1
    n_added += sum(bool(one) for one in hashes[at:])
    return EditedCopy(sha256, "\n".join(kept), tuple(edited), n_added)


def _place_of(wanted: str, hashes: list[str], at: int) -> int | None:
    """Where the next line of a known document stands in a file: the next written line, whole or with a typo,
    or a whole one behind added lines."""
    written = [place for place in range(at, min(len(hashes), at + _LONGEST_GAP)) if hashes[place]]
    if written and _is_typo(wanted, hashes[written[0]]):
        return written[0]
    return next((place for place in written if hashes[place] == wanted), None)


def _is_typo(known: str, found: str) -> bool:
    """Whether one line may have become another by a typo, so that its facts are the same."""
    (length, _, facts), (other, _, other_facts) = known.split(":"), found.split(":")
    return facts == other_facts and abs(int(length) - int(other)) <= _LONGEST_TYPO


def _digest(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]

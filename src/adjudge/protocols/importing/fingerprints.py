"""The prompts of known documents by their words, however they are wrapped, indented or fenced.

A fingerprint is a hash of a prompt without white space and marks of layout, and the white space at its
ends. So a copy that was wrapped anew is found, and no sentence of the prompt stands in this project.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, convert

_FILE = Path(__file__).with_name("fingerprints.toml")
_HEAD = 16
_LAYOUT = re.compile(r"\s|[`~]|\\n|^[ \t]*>", re.MULTILINE)
_QUOTED = re.compile(r"^[ \t]*> ?", re.MULTILINE)


class PromptFingerprint(Struct, frozen=True):
    """A prompt of a known document: hashes of its words, and the white space around them."""

    document: str
    """the sha256 of the known document"""
    place: str
    """where the prompt stands in it, as a recipe says it"""
    head: str
    length: int
    sha256: str
    before: str = ""
    after: str = ""


class PlacedWords(Struct, frozen=True):
    """A text without layout, and where each of its characters stands."""

    text: str
    places: Sequence[int]


def words_of(text: str) -> PlacedWords:
    """The characters of a text that are no layout."""
    layout = bytearray(len(text))
    for match in _LAYOUT.finditer(text):
        layout[match.start() : match.end()] = b"\1" * (match.end() - match.start())
    places = [at for at, is_layout in enumerate(layout) if not is_layout]
    return PlacedWords("".join(text[at] for at in places), places)


def prompt_fingerprint(document: str, place: str, text: str) -> PromptFingerprint:
    """The fingerprint of a prompt."""
    words = words_of(text).text
    return PromptFingerprint(
        document=document,
        place=place,
        head=_digest(words[:_HEAD])[:16],
        length=len(words),
        sha256=_digest(words),
        before=text[: len(text) - len(text.lstrip())],
        after=text[len(text.rstrip()) :],
    )


@lru_cache(maxsize=1)
def fingerprints() -> dict[str, list[PromptFingerprint]]:
    """The fingerprints of each known document."""
    found: dict[str, list[PromptFingerprint]] = {}
    for entry in tomllib.loads(_FILE.read_text(encoding="utf-8"))["prompt"]:
        one = convert(entry, PromptFingerprint)
        found.setdefault(one.document, []).append(one)
    return found


def known_prompts(text: str) -> tuple[str, dict[str, str]] | None:
    """The known document whose prompts all stand in a text, and each prompt as the text has it, by its
    place."""
    words = words_of(text)
    heads: dict[str, list[int]] = {}
    wanted = {one.head for prints in fingerprints().values() for one in prints}
    for at in range(len(words.text) - _HEAD + 1):
        digest = _digest(words.text[at : at + _HEAD])[:16]
        if digest in wanted:
            heads.setdefault(digest, []).append(at)
    for document, prints in fingerprints().items():
        prompts = {one.place: _prompt(one, text, words, heads.get(one.head, ())) for one in prints}
        found = {place: prompt for place, prompt in prompts.items() if prompt is not None}
        if len(found) == len(prompts):
            return document, found
    return None


def _prompt(one: PromptFingerprint, text: str, words: PlacedWords, starts: Sequence[int]) -> str | None:
    for start in starts:
        end = start + one.length
        if end <= len(words.places) and _digest(words.text[start:end]) == one.sha256:
            first, last = words.places[start], words.places[end - 1] + 1
            return one.before + _without_container(text, first, last) + one.after
    return None


def _without_container(text: str, first: int, last: int) -> str:
    """A stretch without the marks of a quotation and the indentation that all its lines share."""
    line = text.rfind("\n", 0, first) + 1
    lead = text[line:first]
    prompt = text[first:last].replace("\r\n", "\n")
    if _QUOTED.match(lead):
        prompt = _QUOTED.sub("", prompt)
    elif lead and not lead.strip():
        prompt = textwrap.dedent(lead + prompt)
    return prompt


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

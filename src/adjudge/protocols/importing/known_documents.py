"""The documents that are recognised by their sha256, and how the recipes of `known_documents.toml` work.

A recipe holds positions, slot names, scales and readers. The sentences of a prompt come from the user's own
copy of the document and nowhere else.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct, convert

from .document import Document
from .folders import NewFolder, file_text
from .formats.python import string_variables
from .placeholders import slotted
from .settings_text import Setting, SettingsTable, Value, toml_text

_FILE = Path(__file__).with_suffix(".toml")


class Place(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a text stands: lines, from 1 and both included, or a string constant of a Python file."""

    first: int = 0
    last: int = 0
    indent: int = 0
    """the spaces that the container put before each line"""
    skip: int = 0
    """the characters of the container before the text, on the first line"""
    name: str = ""
    """that the string is assigned to"""

    def __str__(self) -> str:
        """The place as the fingerprints name it."""
        return self.name or f"{self.first}-{self.last}"


class KnownScale(Struct, frozen=True, forbid_unknown_fields=True):
    """The scale of all criteria of a recipe."""

    low: float
    high: float
    best: float | str
    step: float | None = None


class Recipe(Struct, frozen=True, forbid_unknown_fields=True):
    """One prompt of a known document."""

    name: str
    title: str
    user: Place
    answer: Mapping[str, Value]
    inputs: tuple[str, ...]
    slots: Mapping[str, str]
    """slot → item field, in the order in which they are listed in the settings"""
    criteria: tuple[str, ...] = ()
    """where it is not the name"""
    scale: KnownScale | None = None
    system: Place | None = None
    task: str = "score"
    optional: tuple[str, ...] = ()
    at_least_one: tuple[str, ...] = ()
    not_given: str = ""
    refuses: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()
    """decisions that concern this prompt alone"""


class KnownDocument(Struct, frozen=True):
    """A document that is recognised by its sha256."""

    sha256: str
    source: str
    language: Mapping[str, str]
    slot_form: str
    """a placeholder as the document writes it, with `x` for the name"""
    recipes: tuple[Recipe, ...]
    undone: tuple[str, ...]
    decisions: tuple[str, ...]


@lru_cache(maxsize=1)
def known_documents() -> dict[str, KnownDocument]:
    """sha256 → what is known of the document with these bytes."""
    documents = tomllib.loads(_FILE.read_text(encoding="utf-8"))["document"]
    return {entry["sha256"]: convert(_whole(entry), KnownDocument) for entry in documents}


def _whole(entry: dict[str, Any]) -> dict[str, Any]:
    """A document with the keys that all its recipes share in each of them."""
    return {**entry, "recipes": [{**entry.get("each", {}), **recipe} for recipe in entry["recipe"]]}


def follow(
    known: KnownDocument, document: Document, texts: Mapping[str, str] | None = None
) -> list[NewFolder]:
    """The folders of a known document, its texts unchanged but for the container.

    Where the document was found by its words, `texts` has its prompts as the file writes them, by their
    places.
    """
    return [_folder(known, recipe, document, texts) for recipe in known.recipes]


def _folder(
    known: KnownDocument, recipe: Recipe, document: Document, texts: Mapping[str, str] | None
) -> NewFolder:
    files = {
        "protocol.toml": _settings(known, recipe, document),
        "user.md": file_text(_prompt(known, recipe, recipe.user, document, texts)),
    }
    if recipe.system is not None:
        files["system.md"] = file_text(_prompt(known, recipe, recipe.system, document, texts))
    files["NOTES.md"] = _notes(known, recipe, document)
    return NewFolder(recipe.name, files)


def _prompt(
    known: KnownDocument,
    recipe: Recipe,
    place: Place,
    document: Document,
    texts: Mapping[str, str] | None,
) -> str:
    text = text_at(place, document.text) if texts is None else texts[str(place)]
    if texts is not None and place.name:
        text = text.replace("\\n", "\n")
    return slotted(text, [known.slot_form], recipe.slots)


def text_at(place: Place, text: str) -> str:
    """The text at a place of the document, without its container and without its last line end."""
    if place.name:
        return string_variables(text)[place.name]
    lines = text.split("\n")[place.first - 1 : place.last]
    # A blank line need not carry the indentation.
    dedented = [line[min(place.indent, len(line) - len(line.lstrip(" "))) :] for line in lines]
    dedented[0] = lines[0][place.skip :] if place.skip else dedented[0]
    return "\n".join(dedented)


def _settings(known: KnownDocument, recipe: Recipe, document: Document) -> str:
    top = [
        Setting("title", f"{recipe.title}: an imported original"),
        Setting("task", recipe.task),
        Setting("language", known.language),
        Setting("source", f"{known.source}; the text as it stands in {document.name}"),
        Setting("imported", document.sha256),
        Setting("inputs", recipe.inputs),
    ]
    optional = ("optional", "at_least_one", "not_given", "refuses")
    top += [Setting(key, value) for key in optional if (value := getattr(recipe, key))]
    top.append(Setting("fence", False))
    tables = [SettingsTable("", top)]
    for name in recipe.criteria or (recipe.name,):
        tables.append(SettingsTable("[[criteria]]", [Setting("name", name)]))
        if recipe.scale is not None:
            tables.append(SettingsTable("[criteria.scale]", _scale(recipe.scale)))
    renamed = [Setting(slot, field) for slot, field in recipe.slots.items() if slot != field]
    if renamed:
        tables.append(SettingsTable("[alias]", renamed))
    tables.append(SettingsTable("[answer]", [Setting(key, value) for key, value in recipe.answer.items()]))
    return toml_text(tables)


def _scale(scale: KnownScale) -> list[Setting]:
    lines = [Setting("low", scale.low), Setting("high", scale.high)]
    if scale.step is not None:
        lines.append(Setting("step", scale.step))
    return [*lines, Setting("best", scale.best)]


def _notes(known: KnownDocument, recipe: Recipe, document: Document) -> str:
    places = [f"`user.md`: {_location_text(recipe.user)}"]
    if recipe.system is not None:
        places.append(f"`system.md`: {_location_text(recipe.system)}")
    renamed = [
        f"`{{{{{slot}}}}}` shows the field `{field}`" for slot, field in recipe.slots.items() if slot != field
    ]
    parts = [
        f"# {recipe.name}: an imported original",
        (
            f"From `{document.name}` (sha256 {document.sha256}), recognised by its hash. The words of the"
            " prompt are its author's, unchanged, faults included; to change them, copy this folder under"
            " another name."
            if document.sha256 == known.sha256
            else f"From `{document.name}` (sha256 {document.sha256}), which is not byte for byte the known"
            f" document (sha256 {known.sha256}): the settings are those of the original, and the words of the"
            " prompt are those of the file."
        ),
        _list("Where it stands in the document", places),
        _list("What was undone", known.undone),
        _list("What was decided", (*known.decisions, *recipe.notes)),
    ]
    if renamed:
        parts.append(_list("Slots and item fields", renamed))
    return "\n\n".join(parts) + "\n"


def _location_text(place: Place) -> str:
    if place.name:
        return f"the string `{place.name}`"
    return f"line {place.first}" if place.first == place.last else f"lines {place.first} to {place.last}"


def _list(heading: str, points: tuple[str, ...] | list[str]) -> str:
    return "\n".join([f"## {heading}", "", *(f"- {point}" for point in points)])

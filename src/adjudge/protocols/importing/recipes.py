"""What a recipe for a known document says, and how it is carried out.

A recipe holds positions, slot names, scales and readers. The sentences of a prompt come from
the user's own copy of the document and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from .document import Document
from .python_strings import string_variables
from .settings import Setting, Table, Value, written
from .slots import slotted
from .write import NewFolder, file_text


class Lines(Struct, frozen=True):
    """A stretch of the document: line numbers from 1, both included."""

    first: int
    last: int
    indent: int = 0
    """the spaces that the container put before each line"""
    skip: int = 0
    """the characters of the container before the text, on the first line"""


class Variable(Struct, frozen=True):
    """A string constant of a Python document, by the name that it is assigned to."""

    name: str


Place = Lines | Variable


class KnownScale(Struct, frozen=True):
    """The scale of all criteria of a recipe."""

    low: float
    high: float
    best: float | str
    step: float | None = None


class Recipe(Struct, frozen=True):
    """One prompt of a known document."""

    name: str
    title: str
    user: Place
    criteria: tuple[str, ...]
    scale: KnownScale | None
    answer: Mapping[str, Value]
    inputs: tuple[str, ...]
    slots: Mapping[str, str]
    """slot → item field, in the order in which they are listed in the settings"""
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


def follow(known: KnownDocument, document: Document) -> list[NewFolder]:
    """The folders of a known document, its texts unchanged but for the container."""
    return [_folder(known, recipe, document) for recipe in known.recipes]


def _folder(known: KnownDocument, recipe: Recipe, document: Document) -> NewFolder:
    files = {
        "protocol.toml": _settings(known, recipe, document),
        "user.md": file_text(_prompt(known, recipe, recipe.user, document)),
    }
    if recipe.system is not None:
        files["system.md"] = file_text(_prompt(known, recipe, recipe.system, document))
    files["NOTES.md"] = _notes(known, recipe, document)
    return NewFolder(recipe.name, files)


def _prompt(known: KnownDocument, recipe: Recipe, place: Place, document: Document) -> str:
    return slotted(text_at(place, document.text), [known.slot_form], recipe.slots)


def text_at(place: Place, text: str) -> str:
    """The text at a place of the document, without its container and without its last line end."""
    if isinstance(place, Variable):
        return string_variables(text)[place.name]
    lines = text.split("\n")[place.first - 1 : place.last]
    # A blank line need not carry the indentation.
    dedented = [line[min(place.indent, len(line) - len(line.lstrip(" "))) :] for line in lines]
    dedented[0] = lines[0][place.skip :] if place.skip else dedented[0]
    return "\n".join(dedented)


def _settings(known: KnownDocument, recipe: Recipe, document: Document) -> str:
    top = [
        Setting("title", recipe.title),
        Setting("task", recipe.task),
        Setting("language", known.language),
        Setting("source", f"{known.source}; the text as it stands in {document.name}"),
        Setting("imported", document.sha256),
        Setting("inputs", recipe.inputs),
    ]
    optional = ("optional", "at_least_one", "not_given", "refuses")
    top += [Setting(key, value) for key in optional if (value := getattr(recipe, key))]
    top.append(Setting("fence", False))
    tables = [Table("", top)]
    for name in recipe.criteria:
        tables.append(Table("[[criteria]]", [Setting("name", name)]))
        if recipe.scale is not None:
            tables.append(Table("[criteria.scale]", _scale(recipe.scale)))
    renamed = [Setting(slot, field) for slot, field in recipe.slots.items() if slot != field]
    if renamed:
        tables.append(Table("[alias]", renamed))
    tables.append(Table("[answer]", [Setting(key, value) for key, value in recipe.answer.items()]))
    return written(tables)


def _scale(scale: KnownScale) -> list[Setting]:
    lines = [Setting("low", scale.low), Setting("high", scale.high)]
    if scale.step is not None:
        lines.append(Setting("step", scale.step))
    return [*lines, Setting("best", scale.best)]


def _notes(known: KnownDocument, recipe: Recipe, document: Document) -> str:
    places = [f"`user.md`: {_place(recipe.user)}"]
    if recipe.system is not None:
        places.append(f"`system.md`: {_place(recipe.system)}")
    renamed = [
        f"`{{{{{slot}}}}}` shows the field `{field}`" for slot, field in recipe.slots.items() if slot != field
    ]
    parts = [
        f"# {recipe.name}: an imported original",
        f"From `{document.name}` (sha256 {document.sha256}), recognised by its hash. The words of the prompt are "
        "its author's, unchanged, faults included; to change them, copy this folder under another name.",
        _list("Where it stands in the document", places),
        _list("What was undone", known.undone),
        _list("What was decided", (*known.decisions, *recipe.notes)),
    ]
    if renamed:
        parts.append(_list("Slots and item fields", renamed))
    return "\n\n".join(parts) + "\n"


def _place(place: Place) -> str:
    if isinstance(place, Variable):
        return f"the string `{place.name}`"
    return f"line {place.first}" if place.first == place.last else f"lines {place.first} to {place.last}"


def _list(heading: str, points: tuple[str, ...] | list[str]) -> str:
    return "\n".join([f"## {heading}", "", *(f"- {point}" for point in points)])

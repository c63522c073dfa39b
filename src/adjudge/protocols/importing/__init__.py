"""Importing documents of prompts: `import_document` turns a file into protocol folders.

Five documents are known by the sha256 of their text and come out as exact originals (`recognise.py`). Any
other Markdown or Python file comes out as drafts whose guesses are marked for review (`drafts.py`).
Either way the text of a prompt is the document's own, with only its container undone.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ...errors import ProtocolError
from .document import Document, read_document
from .draft import draft_folder
from .folders import NewFolder, write_folders
from .formats import NAMED_BY_FILE, find_prompts
from .known_documents import follow
from .pairing import paired
from .recognise import recognise

MAX_PROMPTS = 200
"""More prompts in one file than anyone writes by hand: surely a program or a data set."""

__all__ = ["Imported", "import_document"]


class Imported(Struct, frozen=True):
    """What an import wrote."""

    folders: tuple[str, ...]
    """their paths"""
    ids: tuple[str, ...]
    """the folders' names, which are the protocols' ids"""
    is_known: bool
    """whether the document was recognised, so that nothing had to be guessed"""
    notes: tuple[str, ...]
    """what the user should know, a sentence each"""


def import_document(path: str | Path, to: str | Path) -> Imported:
    """Turn the prompts of a document into protocol folders below `to`; all of them, or none.

    Raises `DataError` where the file or the destination cannot be used, and `ProtocolError` where
    the document holds no prompt or a folder is already there.
    """
    document = read_document(path)
    recognised = recognise(document)
    if recognised is not None:
        folders = follow(recognised.known, recognised.document, recognised.texts)
        notes = list(recognised.notes)
        if any("example." in folder.files["protocol.toml"] for folder in folders):
            notes.append("Some prompts have slots for an example: give one with --examples FILE.")
    else:
        folders, notes = _drafts(document, Path(path))
    written = write_folders(folders, Path(to))
    return Imported(
        folders=tuple(str(folder) for folder in written),
        ids=tuple(folder.name for folder in written),
        is_known=recognised is not None,
        notes=tuple(notes),
    )


def _drafts(document: Document, path: Path) -> tuple[list[NewFolder], list[str]]:
    search = find_prompts(document, path)
    if not search.prompts:
        left_out = "".join(f"\n  {note}" for note in search.notes)
        raise ProtocolError(
            f"{path}: no prompts were found in it.{left_out}\n"
            "A prompt is a fence, a section or a Python string that mentions scoring and has "
            "placeholders such as "
            "{response}. Mark the prompt like that, or write a folder by hand: adjudge protocols new DIR."
        )
    if len(search.prompts) > MAX_PROMPTS:
        raise ProtocolError(
            f"{path}: {len(search.prompts)} texts in it look like prompts, more than the "
            f"{MAX_PROMPTS} that are "
            "imported at once. Cut out the part that you need and import that."
        )
    drafts, notes = paired(search.prompts, path.stem if document.suffix in NAMED_BY_FILE else "prompt")
    notes = [
        "These are drafts: every guess is marked with # REVIEW in protocol.toml. Review each, then run: "
        "adjudge protocols check DIR.",
        *search.notes,
        *notes,
    ]
    return [draft_folder(draft, document) for draft in drafts], notes

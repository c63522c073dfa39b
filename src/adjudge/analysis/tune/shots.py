"""A candidate that shows the judge labelled items of the search part, each with the answer that people gave.

The examples stand in the prompt itself, so the candidate is a protocol folder like any other. Items that are
shown are left out of the comparison on the search part; none is of the locked part.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import json

from ...errors import DataError
from ...protocols.copied_folder import copy_folder
from ...records import Item, Protocol
from ...render import written_answer

SHOWN_FILE = "shown.json"
"""In the folder of such a candidate: the ids of the items that its prompt shows."""
_LONGEST = 3000
"""Characters of an item that is shown."""
_HEAD = "These examples show the answers that people gave."


def items_to_show(
    search: Sequence[str], people: Mapping[str, float | str], items: Mapping[str, Item], n: int
) -> list[str]:
    """Items of the search part, as different in their labels as there are labels, in a fixed random order."""
    order = sorted(search, key=lambda item: hashlib.sha256(f"shots\0{item}".encode()).digest())
    by_label: dict[float | str, list[str]] = {}
    for item in order:
        text = "".join(value for _, value in _texts(items[item]))
        if people[item] != "tie" and len(text) <= _LONGEST and "{{" not in text:
            by_label.setdefault(people[item], []).append(item)
    chosen: list[str] = []
    labels = sorted(by_label, key=str)
    while len(chosen) < n and any(by_label.values()):
        for label in labels:
            if by_label[label] and len(chosen) < n:
                chosen.append(by_label[label].pop(0))
    return chosen


def write_shots(
    start: Protocol,
    shown: Sequence[str],
    people: Mapping[str, float | str],
    items: Mapping[str, Item],
    folder: Path,
) -> None:
    """A copy of the start's folder whose prompt begins with examples; in place only when it is complete."""
    if start.answer.reader == "json" or not start.user_text:
        raise DataError(
            "--shots writes answers of one line, and this protocol asks for something else. Write examples "
            "in its form and give them to a run: adjudge run --examples FILE."
        )
    blocks, inputs = [_HEAD], (*start.inputs, *start.optional)
    for number, item in enumerate(shown, 1):
        lines = [f"{name}: {text}" for name, text in _texts(items[item]) if name in inputs]
        answer = written_answer(start.answer, _written(people[item]))
        blocks.append("\n".join([f"Example {number}", *lines, f"Answer: {answer}"]))
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    copy_folder(Path(start.folder), unfinished)
    text = "\n\n".join([*blocks, start.user_text])
    (unfinished / "user.md").write_text(f"{text}\n", encoding="utf-8")
    (unfinished / SHOWN_FILE).write_bytes(json.encode(list(shown)))
    unfinished.rename(folder)


def shown_items(folder: Path) -> tuple[str, ...]:
    """The items that a candidate's prompt shows on purpose."""
    file = folder / SHOWN_FILE
    return json.decode(file.read_bytes(), type=tuple[str, ...]) if file.exists() else ()


def _texts(item: Item) -> Iterator[tuple[str, str]]:
    for name, value in item.fields.items():
        if isinstance(value, str):
            yield name, value


def _written(label: float | str) -> str:
    if isinstance(label, str):
        return label.upper() if label in ("a", "b") else label
    return f"{label:g}"

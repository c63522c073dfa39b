"""The candidates of a tuning: protocol folders, each checked before it costs anything.

A candidate judges the criterion of the start, needs nothing besides the items, and contains no text of
labelled items.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import json

from ...errors import DataError
from ...protocols import load_protocol
from ...records import Item, Protocol
from .copied_text import copied_text
from .tuning import Tuning

PROVENANCE = "tuned.json"


def read_candidates(
    folder: Path, start: Protocol, criterion: str, labelled: Sequence[Item]
) -> dict[str, Protocol]:
    """Name → protocol of each folder in a folder; one error that lists every problem."""
    folders = sorted(path.parent for path in folder.glob("*/protocol.toml"))
    if not folders:
        raise DataError(f"{folder}: no protocol folders. Each candidate is a folder with a protocol.toml.")
    texts = [text for item in labelled for text in texts_of(item)]
    found: dict[str, Protocol] = {}
    problems: list[str] = []
    for path in folders:
        protocol = load_protocol(path)
        copy = copied_text(_prompt(protocol), texts, _prompt(start))
        if copy is not None:
            problems.append(f"{path.name}: its prompt contains text of a labelled item: “{copy}”. Remove it.")
        elif criterion not in protocol.criteria:
            problems.append(f"{path.name}: it judges {', '.join(protocol.criteria)}, not {criterion}.")
        elif protocol.takes:
            problems.append(f"{path.name}: it needs {', '.join(protocol.takes)}. Write it into the prompt.")
        found[path.name] = protocol
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise DataError(f"{folder}: {len(problems)} problem(s)\n{lines}")
    return found


def texts_of(item: Item) -> Iterable[str]:
    """The texts of an item that a prompt must not contain."""
    for value in item.fields.values():
        if isinstance(value, str):
            yield value
        else:
            yield from (part if isinstance(part, str) else str(part.content) for part in value)


def _prompt(protocol: Protocol) -> str:
    examples = " ".join(str(example) for example in protocol.examples)
    return f"{protocol.system_text}\n{protocol.user_text}\n{examples}"


def write_winner(source: Path, output: Path, tuning: Tuning, digest: str) -> None:
    """Copy the winner's folder, with how it was chosen; an existing folder is never overwritten."""
    if output.exists():
        raise DataError(f"{output} already exists. Choose another folder with -o.")
    shutil.copytree(source, output)
    provenance = {"start": tuning.start, "winner": tuning.winner, "digest": digest, "result": tuning}
    (output / PROVENANCE).write_bytes(json.format(json.encode(provenance), indent=2) + b"\n")

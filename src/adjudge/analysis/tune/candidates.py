"""The candidates of a tuning: protocol folders, each checked before it costs anything.

A candidate judges the criterion of the start, needs nothing besides the items, and contains no text of
labelled items.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import json

from ...errors import DataError
from ...protocols import load_protocol
from ...protocols.copied_folder import copy_folder
from ...records import Item, Protocol
from ...score_map import ScoreCurve, ScoreMap, written_score_map
from .copied_text import copied_text
from .shots import shown_items
from .tuning import Tuning

PROVENANCE, MAP_FILE = "tuned.json", "map.toml"


def read_candidates(
    folder: Path, start: Protocol, criterion: str, labelled: Sequence[Item], search: Collection[str] = ()
) -> dict[str, Protocol]:
    """Name → protocol of each folder in a folder; one error that lists every problem.

    Few-shot candidates may show the items that their folder names, if all are of the search part.
    """
    folders = sorted(path.parent for path in folder.glob("*/protocol.toml"))
    if not folders:
        raise DataError(f"{folder}: no protocol folders. Each candidate is a folder with a protocol.toml.")
    found: dict[str, Protocol] = {}
    problems: list[str] = []
    for path in folders:
        protocol = load_candidate(path, start, criterion)
        shown = shown_items(path)
        texts = [text for item in labelled if item.id not in shown for text in texts_of(item)]
        copy = copied_text(_prompt(protocol), texts, _prompt(start))
        if any(item not in search for item in shown):
            problems.append(
                f"{path.name}: it shows items that are not of the search part of these labels. Delete it."
            )
        elif copy is not None:
            problems.append(f"{path.name}: its prompt contains text of a labelled item: “{copy}”. Remove it.")
        elif criterion not in protocol.criteria:
            problems.append(f"{path.name}: it judges {', '.join(protocol.criteria)}, not {criterion}.")
        elif missing := [name for name in protocol.takes if not _has(protocol, name)]:
            problems.append(f"{path.name}: it needs {', '.join(missing)}. Write it into the prompt.")
        found[path.name] = protocol
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise DataError(f"{folder}: {len(problems)} problem(s)\n{lines}")
    return found


def load_candidate(folder: Path, start: Protocol, criterion: str) -> Protocol:
    """The protocol of a folder, with the rubric, criterion or steps of the start where it takes them."""
    plain = load_protocol(folder)
    if not plain.takes:
        return plain
    return load_protocol(
        folder,
        rubric=start.rubric if "rubric" in plain.takes else None,
        criterion=start.criterion_text if "criterion" in plain.takes else "",
        steps=start.steps if "steps" in plain.takes else (),
        name=criterion if start.is_named else "",
    )


def _has(protocol: Protocol, name: str) -> bool:
    """Whether a protocol was given what it takes; steps may be left out."""
    if name == "rubric":
        return protocol.rubric is not None
    return name != "criterion" or bool(protocol.criterion_text)


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


def write_winner(
    source: Path, output: Path, tuning: Tuning, provenance: Mapping[str, Any], curve: ScoreCurve | None
) -> None:
    """Copy the winner's folder, with how it was chosen and its calibration map; an existing folder is never
    overwritten."""
    if output.exists():
        raise DataError(f"{output} already exists. Choose another folder with -o.")
    copy_folder(source, output)
    record = {"start": tuning.start, "winner": tuning.winner, **provenance, "result": tuning}
    (output / PROVENANCE).write_bytes(json.format(json.encode(record), indent=2) + b"\n")
    if curve is not None:
        (output / MAP_FILE).write_text(written_score_map(ScoreMap((curve,))), encoding="utf-8")

"""Pairs from the outputs of several systems: the same inputs, two responses side by side.

Outputs belong together by their id (or their group). Nothing is judged here, and nothing is dropped in silence: ids that
do not match and fields that differ are counted and named. All outputs are held in memory.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from ..errors import DataError
from ..records import FieldValue, Item, Message
from .items import ItemFile
from .tables import Problems, Table

Design = Literal["all", "ring", "random"]
By = Literal["id", "group"]

_NAMED = 5


class PairSet(Struct, frozen=True):
    """The pairs as rows of an items file, and what became of the outputs."""

    rows: tuple[dict[str, Any], ...]
    systems: tuple[str, ...]
    n_inputs: int
    """ids of which at least one pair was made"""
    unmatched: dict[str, tuple[str, ...]]
    """by system, the ids of its outputs that met no other system's"""
    missing: dict[str, tuple[str, ...]]
    """by system, the ids that others have and it lacks"""
    differing: dict[str, tuple[str, ...]]
    """fields that two outputs of one id do not share, left out of that pair; with the ids"""

    def notes(self) -> Iterator[str]:
        """What a user should look at, in sentences."""
        for system, ids in self.unmatched.items():
            yield f"{len(ids)} outputs of {system} met no other: {_some(ids)}"
        for system, ids in self.missing.items():
            yield f"{system} has no output for {len(ids)} ids that others have: {_some(ids)}"
        for field, ids in self.differing.items():
            yield (
                f"field '{field}' differs between the outputs of {len(ids)} ids and is left out there: {_some(ids)}. "
                "If it is part of the input, the two responses do not answer the same."
            )


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:_NAMED])
    return shown if len(ids) <= _NAMED else f"{shown} and {len(ids) - _NAMED} more"


def pair_id(key: str, first: str, second: str) -> str:
    """The id of a pair, whichever of the two stands first: no two pairs share one, whatever the names hold."""
    systems = sorted(name.replace("%", "%25").replace(":", "%3A") for name in (first, second))
    return ":".join((key, *systems))


def make_pairs(
    paths: Sequence[str | Path],
    *,
    field: str = "response",
    by: By = "id",
    design: Design = "all",
    per_item: int | None = None,
    seed: int = 0,
) -> PairSet:
    """Pair the outputs of all systems in these files; a system is named by its field `system`, or by its file.

    `ring` compares each system with two others per input, `random` draws `per_item` pairs; both depend on the seed and the
    id alone. Which of two responses is `a` is dealt out evenly.
    """
    if design == "all" and per_item is not None:
        raise DataError(
            "--per-item is for --design ring or random: --design all makes every pair of every input."
        )
    outputs = read_outputs(paths, field, by)
    systems = tuple(dict.fromkeys(system for own in outputs.values() for system in own))
    if len(systems) < 2:
        raise DataError(
            f"There is one system, {systems[0] if systems else 'none'}: a pair takes two. Give the outputs of another, or "
            "name the systems in the field 'system'."
        )
    rows, differing = _rows(outputs, systems, field, design, per_item, seed)
    if not rows:
        raise DataError(_nothing_matches(outputs, by))
    matched = {key for key, own in outputs.items() if len(own) > 1}
    return PairSet(
        rows=tuple(rows),
        systems=systems,
        n_inputs=len(matched),
        unmatched=_unmatched(outputs, systems),
        missing={
            system: ids
            for system in systems
            if (ids := tuple(key for key in outputs if key in matched and system not in outputs[key]))
        },
        differing={name: tuple(ids) for name, ids in differing.items()},
    )


def read_outputs(
    paths: Sequence[str | Path], field: str = "response", by: By = "id"
) -> dict[str, dict[str, Item]]:
    """All outputs by what joins them and by system; every problem of every file at once."""
    found: dict[str, dict[str, Item]] = defaultdict(dict)
    errors: list[str] = []
    for path in paths:
        file = ItemFile(path)
        file.check()
        problems = Problems(Table(path))
        stem = _stem(Path(path))
        for item in file:
            system = item.system if item.system != "all" else stem
            key = item.id if by == "id" else item.group
            if problem := _problem(item, system, key, field, by, found):
                problems.add(item.line or 0, problem)
            elif key is not None:
                found[key][system] = item
        if problems:
            errors.append(str(problems.error()))
    if errors:
        raise DataError("\n".join(errors))
    return {key: own for key, own in found.items() if own}


def _problem(
    item: Item, system: str, key: str | None, field: str, by: By, found: dict[str, dict[str, Item]]
) -> str:
    """Why an output cannot be paired, or nothing."""
    if item.system_a is not None or item.system_b is not None:
        return "this is a pair already. Give files of single outputs."
    if key is None:
        return "it has no group to be joined by. Add one, or join by id (--by id)."
    if field not in item.fields:
        fields = ", ".join(sorted(item.fields)) or "none"
        return (
            f"there is no field '{field}'. Say which one holds the output with --field; there are: {fields}."
        )
    if system not in found[key]:
        return ""
    other = found[key][system]
    where = f"line {other.line}" if by == "id" else f"item {other.id}"
    return (
        f"{by} '{key}' of system '{system}' is there already ({where}). Give each output an id of its own, and each "
        "system a name of its own in the field 'system'."
    )


def _stem(path: Path) -> str:
    name = path.name.removesuffix(".gz")
    return Path(name).stem


def _rows(
    outputs: dict[str, dict[str, Item]], systems: Sequence[str], field: str, design: Design, per_item: int | None, seed: int
) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:  # fmt: skip
    rows: list[dict[str, Any]] = []
    differing: dict[str, list[str]] = defaultdict(list)
    n_first: Counter[tuple[str, str]] = Counter()
    n_of_pair: Counter[tuple[str, str]] = Counter()
    for key, own in outputs.items():
        there = [system for system in systems if system in own]
        for one, other in _chosen(there, design, per_item, f"{seed}:{key}"):
            first, second = _sides(one, other, seed, n_first, n_of_pair)
            row, strange = _row(key, own[first], own[second], first, second, field)
            rows.append(row)
            for name in strange:
                if not differing[name] or differing[name][-1] != key:
                    differing[name].append(key)
    return rows, differing


def _chosen(systems: Sequence[str], design: Design, per_item: int | None, seed: str) -> list[tuple[str, str]]:
    """The pairs of one input."""
    pairs = list(combinations(systems, 2))
    if design == "all" or len(pairs) < 2:
        return pairs
    rng = random.Random(seed)
    if design == "random":
        return rng.sample(pairs, min(per_item or len(systems), len(pairs)))
    # Another ring for each input: over many inputs all pairs meet about as often.
    ring = rng.sample(list(systems), len(systems))
    neighbours = [(one, ring[(at + 1) % len(ring)]) for at, one in enumerate(ring)]
    distinct = list({tuple(sorted(pair)): pair for pair in neighbours}.values())
    return distinct[: per_item or len(distinct)]


def _sides(
    one: str, other: str, seed: int, n_first: Counter[tuple[str, str]], n_of_pair: Counter[tuple[str, str]]
) -> tuple[str, str]:
    """Who is `a`: whoever of these two was it less often; the seed decides where both were it as often."""
    pair = (min(one, other), max(one, other))
    mine, its = n_first[pair], n_of_pair[pair] - n_first[pair]
    is_first = mine < its if mine != its else random.Random(f"{seed}:{pair}:{n_of_pair[pair]}").random() < 0.5
    n_of_pair[pair] += 1
    n_first[pair] += is_first
    return pair if is_first else (pair[1], pair[0])


def _row(
    key: str, one: Item, other: Item, first: str, second: str, field: str
) -> tuple[dict[str, Any], list[str]]:
    """One pair as a row; fields that differ are left out and named."""
    differing = [
        name for name, value in one.fields.items() if name != field and other.fields.get(name, value) != value
    ]
    carried = {**other.fields, **one.fields}
    group = one.group if one.group is not None and one.group == other.group else key
    if one.group != other.group and one.group is not None and other.group is not None:
        differing.append("group")
    row: dict[str, Any] = {
        "id": pair_id(key, first, second), "group": group, "system_a": first, "system_b": second,
        **{name: plain(value) for name, value in carried.items() if name != field and name not in differing},
        "response_a": plain(one.fields[field]), "response_b": plain(other.fields[field]),
    }  # fmt: skip
    return row, differing


def plain(value: FieldValue) -> str | list[Any]:
    """A field as it is written to a file."""
    if isinstance(value, str):
        return value
    return [
        {"role": entry.role, "content": entry.content} if isinstance(entry, Message) else entry
        for entry in value
    ]


def _unmatched(outputs: dict[str, dict[str, Item]], systems: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found = {
        system: tuple(key for key, own in outputs.items() if len(own) == 1 and system in own)
        for system in systems
    }
    return {system: ids for system, ids in found.items() if ids}


def _nothing_matches(outputs: dict[str, dict[str, Item]], by: By) -> str:
    examples: dict[str, str] = {}
    for key, own in outputs.items():
        examples.setdefault(next(iter(own)), key)
    shown = ", ".join(f"{system}: '{key}'" for system, key in list(examples.items())[:3])
    other = "group" if by == "id" else "id"
    return (
        f"No two outputs have the same {by} ({shown}). Give the outputs of one input the same {by} in every file, or join them "
        f"by their {other} with --by {other}."
    )

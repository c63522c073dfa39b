"""Pairs from the outputs of several systems: the same inputs, two responses side by side.

Outputs are joined by their id (or their group). Nothing is dropped silently: ids that do not match and fields
that differ are counted and listed. All outputs are held in memory.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, structs

from ..errors import DataError
from ..records import Item
from .item_ids import input_id
from .items import ItemFile
from .messages import plain
from .table import Problems, Table

Design = Literal["all", "ring", "random"]
By = Literal["id", "group"]
_IDS_SHOWN = 5
Outputs = dict[str, dict[str, Item]]
"""By join key and system."""


class PairSet(Struct, frozen=True):
    """The pairs as rows of an items file, and what became of the outputs."""

    rows: tuple[dict[str, Any], ...]
    systems: tuple[str, ...]
    n_inputs: int
    """ids with at least one pair"""
    unmatched: dict[str, tuple[str, ...]]
    """by system, the ids that no other system has"""
    missing: dict[str, tuple[str, ...]]
    """by system, the ids that it lacks and others have"""
    differing: dict[str, tuple[str, ...]]
    """by field, the ids whose outputs differ in it; the field is left out of those pairs"""

    def notes(self) -> Iterator[str]:
        """Warnings for the user, as sentences."""
        for system, ids in self.unmatched.items():
            verb = "has" if len(ids) == 1 else "have"
            yield f"{_n(ids, 'output')} of {system} {verb} no counterpart: {_some(ids)}"
        for system, ids in self.missing.items():
            yield f"{system} has no output for {_n(ids, 'id')} that others have: {_some(ids)}"
        for field, ids in self.differing.items():
            yield (
                f"field '{field}' differs between the outputs of {_n(ids, 'id')} and is left out there:"
                f" {_some(ids)}. If it is part of the input, the two responses do not answer the same input."
            )


def _n(ids: Sequence[str], noun: str) -> str:
    return f"{len(ids)} {noun}{'' if len(ids) == 1 else 's'}"


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:_IDS_SHOWN])
    return shown if len(ids) <= _IDS_SHOWN else f"{shown} and {len(ids) - _IDS_SHOWN} more"


def pair_id(key: str, first: str, second: str) -> str:
    """The id of a pair, the same in both orders of the systems and unique for any names."""
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
    renames: Mapping[str, str] | None = None,
) -> PairSet:
    """Pair the outputs of all systems in the files; a system is named by its field `system`, or by its file.

    `ring` compares each system with two others per input, `random` draws `per_item` pairs; both depend on the
    seed and the id alone. Each of two systems is `a` equally often.
    """
    if design == "all" and per_item is not None:
        raise DataError(
            "--per-item is for --design ring or random: --design all makes every pair of every input."
        )
    outputs = read_outputs(paths, field, by, renames)
    systems = tuple(dict.fromkeys(system for by_system in outputs.values() for system in by_system))
    if len(systems) < 2:
        raise DataError(
            f"There is one system, {systems[0] if systems else 'none'}: a pair takes two. Give the outputs of"
            " another, or name the systems in the field 'system'."
        )
    rows, differing = _rows(outputs, systems, field, design, per_item, seed)
    if not rows:
        raise DataError(_nothing_matches(outputs, by, field))
    matched = {key for key, by_system in outputs.items() if len(by_system) > 1}
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
    paths: Sequence[str | Path],
    field: str = "response",
    by: By = "id",
    renames: Mapping[str, str] | None = None,
) -> Outputs:
    """All outputs of the files; one error lists every problem of every file.

    Outputs without an id belong to the same input where all their fields but `field` are the same.
    """
    outputs: Outputs = defaultdict(dict)
    n_of_input: Counter[tuple[str, str]] = Counter()
    errors: list[str] = []
    for path in paths:
        file = ItemFile(path, renames, outputs=lambda row: (field,) if field in row else (), unique_ids=False)
        file.check()
        problems = Problems(Table(path))
        stem = _stem(Path(path))
        for item in file:
            item = _without_names_of_systems(item, renames)
            system = item.system if item.system != "all" else stem
            key = item.group if by == "group" else item.id
            if by == "id" and not item.has_id:
                key = _input_key(item, system, field, n_of_input)
            if problem := _problem(item, system, key, field, by, outputs):
                problems.add(item.line or 0, problem)
            elif key is not None:
                outputs[key][system] = item
        if problems:
            errors.append(str(problems.error()))
    if errors:
        raise DataError("\n".join(errors))
    return {key: by_system for key, by_system in outputs.items() if by_system}


def _without_names_of_systems(item: Item, renames: Mapping[str, str] | None) -> Item:
    """The output without the column that its system was taken from: it is no part of the input."""
    column = (renames or {}).get("system")
    if column is None or column not in item.fields:
        return item
    fields = {name: value for name, value in item.fields.items() if name != column}
    return structs.replace(item, fields=fields)


def _input_key(item: Item, system: str, field: str, n_of_input: Counter[tuple[str, str]]) -> str:
    """What outputs without ids for the same input share; a system's second output for it gets `-2`."""
    key = input_id(item.fields, (field,))
    n_of_input[system, key] += 1
    n = n_of_input[system, key]
    return key if n == 1 else f"{key}-{n}"


def _problem(item: Item, system: str, key: str | None, field: str, by: By, outputs: Outputs) -> str:
    """Why an output cannot be paired; empty where it can."""
    if item.system_a is not None or item.system_b is not None:
        return "this is a pair already. Give files of single outputs."
    if key is None:
        return "it has no group to join by. Add one, or join by id (--by id)."
    if field not in item.fields:
        fields = ", ".join(sorted(item.fields)) or "none"
        return (
            f"there is no field '{field}'. Name the field with the output with --field; available: {fields}."
        )
    if system not in outputs[key]:
        return ""
    other = outputs[key][system]
    where = f"line {other.line}" if by == "id" else f"item {other.id}"
    return (
        f"{by} '{key}' of system '{system}' already exists ({where}). Give each output a unique id; if the "
        "outputs are of several systems, name the column that says of which: --map system=COLUMN."
    )


def _stem(path: Path) -> str:
    name = path.name.removesuffix(".gz")
    return Path(name).stem


def _rows(
    outputs: Outputs, systems: Sequence[str], field: str, design: Design, per_item: int | None, seed: int
) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """One row per pair, and by field the ids whose outputs differ in it."""
    rows: list[dict[str, Any]] = []
    differing: dict[str, list[str]] = defaultdict(list)
    n_first: Counter[tuple[str, str]] = Counter()
    n_of_pair: Counter[tuple[str, str]] = Counter()
    for key, by_system in outputs.items():
        present = [system for system in systems if system in by_system]
        for pair in _chosen_pairs(present, design, per_item, f"{seed}:{key}"):
            first, second = _ordered(pair, seed, n_first, n_of_pair)
            row, differing_fields = _row(key, by_system[first], by_system[second], first, second, field)
            rows.append(row)
            for name in differing_fields:
                if not differing[name] or differing[name][-1] != key:
                    differing[name].append(key)
    return rows, differing


def _chosen_pairs(
    systems: Sequence[str], design: Design, per_item: int | None, seed: str
) -> list[tuple[str, str]]:
    """The pairs of systems that are compared on one input."""
    pairs = list(combinations(systems, 2))
    if design == "all" or len(pairs) < 2:
        return pairs
    rng = random.Random(seed)
    if design == "random":
        return rng.sample(pairs, min(per_item or len(systems), len(pairs)))
    # A new ring for each input: over many inputs all pairs occur about equally often.
    ring = rng.sample(list(systems), len(systems))
    neighbours = [(system, ring[(index + 1) % len(ring)]) for index, system in enumerate(ring)]
    distinct = list({tuple(sorted(pair)): pair for pair in neighbours}.values())
    return distinct[: per_item or len(distinct)]


def _ordered(
    pair: tuple[str, str], seed: int, n_first: Counter[tuple[str, str]], n_of_pair: Counter[tuple[str, str]]
) -> tuple[str, str]:
    """The pair with the system first that was first less often; the seed decides a tie."""
    low, high = min(pair), max(pair)
    n, n_low = n_of_pair[low, high], n_first[low, high]
    n_high = n - n_low
    is_low_first = n_low < n_high
    if n_low == n_high:
        is_low_first = random.Random(f"{seed}:{(low, high)}:{n}").random() < 0.5
    n_of_pair[low, high] += 1
    n_first[low, high] += is_low_first
    return (low, high) if is_low_first else (high, low)


def _row(
    key: str, a: Item, b: Item, system_a: str, system_b: str, field: str
) -> tuple[dict[str, Any], list[str]]:
    """One pair as a row, and the fields that differ and are left out of it."""
    differing = [
        name for name, value in a.fields.items() if name != field and b.fields.get(name, value) != value
    ]
    fields = {**b.fields, **a.fields}
    # Several outputs without ids for one input have keys that differ in their number alone.
    of_input = key if a.has_id else key.partition("-")[0]
    group = a.group if a.group is not None and a.group == b.group else of_input
    if a.group != b.group and a.group is not None and b.group is not None:
        differing.append("group")
    row: dict[str, Any] = {
        "id": pair_id(key, system_a, system_b), "group": group, "system_a": system_a, "system_b": system_b,
        **{name: plain(value) for name, value in fields.items() if name != field and name not in differing},
        "response_a": plain(a.fields[field]), "response_b": plain(b.fields[field]),
    }  # fmt: skip
    return row, differing


def _unmatched(outputs: Outputs, systems: Sequence[str]) -> dict[str, tuple[str, ...]]:
    unmatched = {
        system: tuple(key for key, by_system in outputs.items() if by_system.keys() == {system})
        for system in systems
    }
    return {system: ids for system, ids in unmatched.items() if ids}


def _nothing_matches(outputs: Outputs, by: By, field: str) -> str:
    first_of: dict[str, tuple[str, Item]] = {}
    for key, by_system in outputs.items():
        system, item = next(iter(by_system.items()))
        first_of.setdefault(system, (key, item))
    if by == "id" and not all(item.has_id for _, item in first_of.values()):
        return (
            "No two outputs have the same input: outputs without ids are matched by all their fields but"
            f" '{field}' ({', '.join(_other_fields(outputs, field)) or 'there are none'}).\nGive the outputs"
            " of one input the same id in every file (--map id=COLUMN), or join them by group: --by group."
        )
    shown = ", ".join(f"{system}: '{key}'" for system, (key, _) in list(first_of.items())[:3])
    other = "group" if by == "id" else "id"
    return (
        f"No two outputs have the same {by} ({shown}). Give the outputs of one input the same {by} in every "
        f"file, or join them by their {other} with --by {other}."
    )


def _other_fields(outputs: Outputs, field: str) -> list[str]:
    items = [item for by_system in outputs.values() for item in by_system.values()]
    return list(dict.fromkeys(name for item in items for name in item.fields if name != field))[:10]

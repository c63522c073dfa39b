"""The tables [gate] and [gate.NAME] of a run file: their keys, and what is wrong with a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..did_you_mean import did_you_mean
from ..errors import DataError
from .thresholds import parse_allowed, parse_most, parse_number

GATE_TABLES = ("min", "max", "max_drop")


GATE_FILES = ("baseline_store", "labels", "baseline_labels")


GATE_TEXTS = ("baseline", *GATE_FILES)


GATE_AUDIT = ("max_shift", "max_injection")
"""Thresholds of an audit, each one number for all criteria."""


GATE_KEYS = (*GATE_TABLES, *GATE_TEXTS, *GATE_AUDIT, "max_failed", "system")
"""The keys of `[gate]` and `[gate.NAME]`."""


def gate_problems(gate: Mapping[str, Any]) -> list[str]:
    """All problems of [gate] and of each [gate.NAME]."""
    problems: list[str] = []
    for key, value in gate.items():
        if key in GATE_KEYS or not isinstance(value, Mapping) or _is_misspelt(value):
            read_gate_table({key: value}, "gate", problems)
        else:
            read_gate_table(value, f"gate.{key}", problems)
    return problems


def _is_misspelt(table: Mapping[str, Any]) -> bool:
    """Whether a table in [gate] is no gate of a run but a key that is not spelled right."""
    return bool(table) and not any(inner in GATE_KEYS or isinstance(table[inner], Mapping) for inner in table)


def read_gate_table(table: Mapping[str, Any], where: str, problems: list[str]) -> dict[str, Any]:
    values = {}
    for key, value in table.items():
        of_key: list[str] = []
        values[key] = _read_key(key, value, of_key)
        problems += [f"[{where}] {problem}" for problem in of_key]
    return values


def _read_key(key: str, value: Any, problems: list[str]) -> Any:
    if key not in GATE_KEYS:
        hint = did_you_mean(key, GATE_KEYS, f"The keys are {', '.join(GATE_KEYS)}.")
        problems.append(f"unknown key '{key}'. {hint}")
    elif key in GATE_TABLES:
        return _read_table(key, value, problems)
    elif key == "max_failed":
        try:
            return parse_allowed(value, "max_failed =")
        except DataError as error:
            problems.append(str(error))
    elif key in GATE_AUDIT:
        try:
            return parse_most(value, f"{key} =")
        except DataError as error:
            problems.append(str(error))
    elif key == "system":
        if not (
            isinstance(value, str)
            or (isinstance(value, list) and all(isinstance(name, str) for name in value))
        ):
            problems.append("system: give a name, or a list of names.")
    elif not isinstance(value, str):
        problems.append(f'{key}: give a string, as in {key} = "main".')
    return value


def _read_table(key: str, value: Any, problems: list[str]) -> dict[str, float]:
    if not isinstance(value, Mapping):
        problems.append(f"{key}: give a criterion and a number, as in {key} = {{ clarity = 4.0 }}.")
        return {}
    read = {}
    for name, entry in value.items():
        number = None if isinstance(entry, bool) else parse_number(str(entry))
        if number is None:
            problems.append(f"{key}.{name}: '{entry}' is not a number.")
        else:
            read[name] = number
    return read

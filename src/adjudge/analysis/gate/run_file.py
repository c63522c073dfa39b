"""The rules of gates in the run file, `[gate]` and `[gate.NAME]`: read and checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import DataError
from ...run_file.gate_table import GATE_AUDIT, GATE_KEYS, GATE_TABLES
from ...run_file.read import RunFile, read_run_file
from .thresholds import parse_allowed, parse_most, parse_number


def read_checked(config: str | Path | None) -> RunFile | None:
    """The run file with its gates checked; none where no file is named and there is no default one."""
    return read_run_file(config, _gate_problems)


def _gate_problems(gate: Mapping[str, Any]) -> list[str]:
    """All problems of [gate] and of each [gate.NAME]."""
    problems: list[str] = []
    for key, value in gate.items():
        if key in GATE_KEYS or not isinstance(value, Mapping) or _is_misspelt(value):
            _read_keys({key: value}, "gate", problems)
        else:
            _read_keys(value, f"gate.{key}", problems)
    return problems


def _is_misspelt(table: Mapping[str, Any]) -> bool:
    """Whether a table in [gate] is no gate of a run but a key that is not spelled right."""
    return bool(table) and not any(inner in GATE_KEYS or isinstance(table[inner], Mapping) for inner in table)


def _read_keys(table: Mapping[str, Any], where: str, problems: list[str]) -> dict[str, Any]:
    values = {}
    for key, value in table.items():
        of_key: list[str] = []
        values[key] = _read_key(key, value, of_key)
        problems += [f"[{where}] {problem}" for problem in of_key]
    return values


def store_of(config: str | Path | None, run: str) -> Path | None:
    """The store that the run file names for a run; none where it names none."""
    file = read_run_file(config, for_gate=True)
    path = file.runs.get(run, {}).get("store") if file is not None else None
    return None if path is None else Path(path)


def read_gate(path: str | Path | None, run: str) -> dict[str, Any]:
    """The thresholds of a file for a run. Only the default file may be missing."""
    file = read_run_file(path, _gate_problems, for_gate=True)
    return {} if file is None else _read_keys(file.gate_for(run), "gate", [])


def _read_key(key: str, value: Any, problems: list[str]) -> Any:
    if key not in GATE_KEYS:
        near = difflib.get_close_matches(key, GATE_KEYS, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"the keys are {', '.join(GATE_KEYS)}."
        problems.append(f"unknown key '{key}': {hint}")
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

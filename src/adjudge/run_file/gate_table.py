"""The tables [gate] and [gate.NAME] of a run file, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..did_you_mean import did_you_mean
from .gate_options import GATE_OPTIONS, read_key


def gate_problems(gate: Mapping[str, Any]) -> list[str]:
    """All problems of [gate] and of each [gate.NAME]."""
    problems: list[str] = []
    for key, value in gate.items():
        if key in GATE_OPTIONS or not isinstance(value, Mapping) or _is_misspelt(value):
            read_gate_table({key: value}, "gate", problems)
        else:
            read_gate_table(value, f"gate.{key}", problems)
    return problems


def _is_misspelt(table: Mapping[str, Any]) -> bool:
    """Whether a table in [gate] is no gate of a run but a key that is not spelled right."""
    return bool(table) and not any(
        inner in GATE_OPTIONS or isinstance(table[inner], Mapping) for inner in table
    )


def read_gate_table(table: Mapping[str, Any], where: str, problems: list[str]) -> dict[str, Any]:
    """The values of a table; what is wrong with them joins the problems."""
    values = {}
    for key, value in table.items():
        of_key: list[str] = []
        if key in GATE_OPTIONS:
            values[key] = read_key(key, value, of_key)
        else:
            hint = did_you_mean(key, GATE_OPTIONS, f"The keys are {', '.join(GATE_OPTIONS)}.")
            of_key.append(f"unknown key '{key}'. {hint}")
        problems += [f"[{where}] {problem}" for problem in of_key]
    return values

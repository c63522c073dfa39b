"""The rules of a gate: thresholds from flags and from `adjudge.toml`. Flags win, criterion by criterion.

Errors are reported here, before a store is opened, except for names that only a run knows.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..errors import DataError
from ..run_file import DEFAULT_FILE, GATE_AUDIT, GATE_KEYS, GATE_TABLES, RunFile, read_run_file


class Allowed(Struct, frozen=True):
    """How many failures are allowed: a share of the items, or a number of them."""

    share: float | None = None
    n: int | None = None

    def most(self, n_items: int) -> int:
        """The highest number of failures that passes."""
        if self.n is not None:
            return self.n
        # 5 % of 60 items must be 3, even if 0.05 * 60 is rounded down.
        return math.floor((self.share or 0.0) * n_items + 1e-9)

    def text(self) -> str:
        return f"{self.n}" if self.n is not None else f"{100 * (self.share or 0.0):g} %"


DEFAULT_ALLOWED = Allowed(share=0.05)


class Rules(Struct, frozen=True):
    """The thresholds of a gate."""

    min: dict[str, float] = {}
    max: dict[str, float] = {}
    max_drop: dict[str, float] = {}
    max_failed: Allowed = DEFAULT_ALLOWED
    is_failed_given: bool = False
    baseline: str | None = None
    baseline_store: str | None = None
    labels: str | None = None
    baseline_labels: str | None = None
    systems: tuple[str, ...] = ()
    is_audit: bool = False
    """whether the run is an audit, compared with the two thresholds below"""
    max_shift: float | None = None
    """none: the margin of the audit, 5 % of the scale's width"""
    max_injection: float | None = None
    """none: 5 %"""

    def criteria(self) -> list[str]:
        """Every criterion that has a threshold."""
        return list(dict.fromkeys((*self.min, *self.max, *self.max_drop)))


def make_rules(
    config: str | Path | None,
    *,
    min: Sequence[str] = (),
    max: Sequence[str] = (),
    max_drop: Sequence[str] = (),
    max_failed: str | None = None,
    baseline: str | None = None,
    baseline_store: str | None = None,
    labels: str | None = None,
    baseline_labels: str | None = None,
    systems: Sequence[str] = (),
    run: str = "",
    is_audit: bool = False,
    max_shift: str | None = None,
    max_injection: str | None = None,
) -> Rules:
    """The rules of a file for a run, overridden by those of the flags."""
    config_table = _read_config(config, run)
    systems_in_file = config_table.get("system", ())

    def table(key: str, flag_value: Sequence[str]) -> dict[str, float]:
        flag = f"--{key.replace('_', '-')}"
        return {**config_table.get(key, {}), **dict(_parse_threshold(text, flag) for text in flag_value)}

    def most(key: str, flag_value: str | None) -> float | None:
        flag = f"--{key.replace('_', '-')}"
        return config_table.get(key) if flag_value is None else _parse_most(flag_value, flag)

    has_means = bool(min or max or max_drop) or baseline is not None or labels is not None
    _check_audit_flags(is_audit, has_means, max_shift is not None or max_injection is not None)

    def text(key: str, flag_value: str | None) -> str | None:
        return flag_value if flag_value is not None else config_table.get(key)

    allowed = (
        _parse_allowed(max_failed, "--max-failed")
        if max_failed is not None
        else config_table.get("max_failed")
    )
    rules = Rules(
        min=table("min", min),
        max=table("max", max),
        max_drop=table("max_drop", max_drop),
        max_failed=allowed or DEFAULT_ALLOWED,
        is_failed_given=allowed is not None,
        baseline=text("baseline", baseline),
        baseline_store=text("baseline_store", baseline_store),
        labels=text("labels", labels),
        baseline_labels=text("baseline_labels", baseline_labels),
        systems=tuple(systems)
        or ((systems_in_file,) if isinstance(systems_in_file, str) else tuple(systems_in_file)),
        is_audit=is_audit,
        max_shift=most("max_shift", max_shift),
        max_injection=most("max_injection", max_injection),
    )
    _check_rules(rules)
    return rules


def _check_audit_flags(is_audit: bool, has_means: bool, has_audit_thresholds: bool) -> None:
    if not is_audit and has_audit_thresholds:
        raise DataError("--max-shift and --max-injection are thresholds of an audit. Add --audit.")
    if is_audit and has_means:
        raise DataError(
            "--audit compares probes with --max-shift and --max-injection. Leave the other thresholds out, and gate the ordinary run with them."
        )


def _check_rules(rules: Rules) -> None:
    if rules.is_audit:
        return
    if not rules.criteria() and not rules.is_failed_given:
        raise DataError(
            "The gate has no threshold. Give one, --min CRITERION=X or --max-drop CRITERION=D with --baseline RUN,\n"
            f"or write them into [gate] of {DEFAULT_FILE}: min = {{ clarity = 4.0 }}"
        )
    if rules.max_drop and rules.baseline is None:
        raise DataError("--max-drop needs a baseline to compare with. Name it with --baseline RUN.")
    negative = [name for name, value in rules.max_drop.items() if value < 0]
    if negative:
        raise DataError(
            f"--max-drop {negative[0]}={rules.max_drop[negative[0]]:g}: a drop cannot be below 0.\n"
            f"To allow a drop of {-rules.max_drop[negative[0]]:g}: --max-drop {negative[0]}={-rules.max_drop[negative[0]]:g}"
        )


def _parse_threshold(text: str, flag: str) -> tuple[str, float]:
    """clarity=4.0, or overall=50%."""
    name, sign, value = text.rpartition("=")
    number = _parse_number(value) if sign else None
    if not name.strip() or number is None:
        raise DataError(f"{flag} {text}: give a criterion and a number, as in {flag} clarity=4.0")
    return name.strip(), number


def _parse_number(text: str) -> float | None:
    text = text.strip()
    factor = 0.01 if text.endswith("%") else 1.0
    try:
        value = float(text.removesuffix("%")) * factor
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _parse_most(value: Any, where: str) -> float:
    """A threshold from 0 on: points of the scale, or a share as 5% or 0.05."""
    number = None if isinstance(value, bool) else _parse_number(str(value))
    if number is None or number < 0:
        raise DataError(f"{where} {value}: give a number from 0 on, as in {where} 0.05")
    return number


def _parse_allowed(value: Any, where: str) -> Allowed:
    """5% and 0.05 are shares, integers are numbers of items."""
    text = str(value).strip()
    number = None if isinstance(value, bool) else _parse_number(text)
    if number is not None and number >= 0:
        if not text.endswith("%") and number.is_integer():
            return Allowed(n=int(number))
        if number <= 1:
            return Allowed(share=number)
    raise DataError(f"{where} {text}: give a share of the items, as in 5%, or a number of them, as in 3.")


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


def _read_config(path: str | Path | None, run: str) -> dict[str, Any]:
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
            return _parse_allowed(value, "max_failed =")
        except DataError as error:
            problems.append(str(error))
    elif key in GATE_AUDIT:
        try:
            return _parse_most(value, f"{key} =")
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
        number = None if isinstance(entry, bool) else _parse_number(str(entry))
        if number is None:
            problems.append(f"{key}.{name}: '{entry}' is not a number.")
        else:
            read[name] = number
    return read

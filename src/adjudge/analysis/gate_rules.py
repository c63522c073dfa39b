"""The rules of a gate: thresholds from flags and from `adjudge.toml`. Flags win, criterion by criterion.

Errors are reported here, before a store is opened, except for names that only a run knows.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..data import read_small
from ..errors import DataError, listed

DEFAULT_FILE = "adjudge.toml"
_TABLES = ("min", "max", "max_drop")
_TEXTS = ("baseline", "baseline_store", "labels", "baseline_labels")
_KEYS = (*_TABLES, *_TEXTS, "max_failed", "system")


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
) -> Rules:
    """The rules of a file, overridden by those of the flags."""
    config_table = _read_config(config)
    systems_in_file = config_table.get("system", ())

    def table(key: str, flag_value: Sequence[str]) -> dict[str, float]:
        flag = f"--{key.replace('_', '-')}"
        return {**config_table.get(key, {}), **dict(_parse_threshold(text, flag) for text in flag_value)}

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
    )
    _check_rules(rules)
    return rules


def _check_rules(rules: Rules) -> None:
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


def _read_config(path: str | Path | None) -> dict[str, Any]:
    """The table [gate] of a file. Only the default file may be missing."""
    file = Path(path) if path is not None else Path(DEFAULT_FILE)
    if path is None and not file.is_file():
        return {}
    try:
        document = tomllib.loads(read_small(file).decode("utf-8-sig"))
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}. Check --config.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file} is not TOML: {error}. Correct it.") from error
    gate_table = document.get("gate", {})
    if not isinstance(gate_table, dict):
        raise DataError(f"{file}: 'gate' must be a table. Write [gate] and its keys below.")
    problems: list[str] = []
    read = {key: _read_key(key, value, problems) for key, value in gate_table.items()}
    if problems:
        raise DataError(listed(f"{file} [gate]", problems))
    return read


def _read_key(key: str, value: Any, problems: list[str]) -> Any:
    if key not in _KEYS:
        near = difflib.get_close_matches(key, _KEYS, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"the keys are {', '.join(_KEYS)}."
        problems.append(f"unknown key '{key}': {hint}")
    elif key in _TABLES:
        return _read_table(key, value, problems)
    elif key == "max_failed":
        try:
            return _parse_allowed(value, "max_failed =")
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

"""The rules of a gate: thresholds from flags and from `adjudge.toml`. Flags win, criterion by criterion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ...errors import DataError
from ...run_file.gate_options import options_of_kind, read_flag
from ...run_file.gate_table import read_gate_table
from ...run_file.read import DEFAULT_FILE, RunFile
from ...run_file.thresholds import DEFAULT_ALLOWED, Allowed


class Rules(Struct, frozen=True):
    """The thresholds of a gate: a field for each option of `run_file/gate_options.py`."""

    min: dict[str, float] = {}
    max: dict[str, float] = {}
    max_drop: dict[str, float] = {}
    max_failed: Allowed = DEFAULT_ALLOWED
    is_failed_given: bool = False
    baseline: str | None = None
    baseline_store: str | None = None
    labels: str | None = None
    baseline_labels: str | None = None
    system: tuple[str, ...] = ()
    is_audit: bool = False
    """whether the run is an audit, compared with the two thresholds below"""
    max_shift: float | None = None
    """none: the margin of the audit, 5 % of the scale's width"""
    max_injection: float | None = None
    """none: 5 %"""

    def criteria(self) -> list[str]:
        """Every criterion that has a threshold."""
        return list(dict.fromkeys((*self.min, *self.max, *self.max_drop)))


def make_rules(file: RunFile | None, *, run: str = "", is_audit: bool = False, **flags: Any) -> Rules:
    """The rules of the run file for a run, overridden by those of the flags, which are as they were
    written."""
    given = {name: read_flag(name, value) for name, value in flags.items() if value not in (None, [], ())}
    _check_audit_flags(given, is_audit)
    values = {} if file is None else read_gate_table(file.gate_for(run), "gate", [])
    for name in options_of_kind("thresholds"):
        given[name] = {**values.get(name, {}), **given.get(name, {})}
    values |= given
    rules = Rules(**values, is_failed_given="max_failed" in values, is_audit=is_audit)
    _check_rules(rules)
    return rules


def _check_audit_flags(given: Mapping[str, Any], is_audit: bool) -> None:
    if not is_audit and given.keys() & {"max_shift", "max_injection"}:
        raise DataError("--max-shift and --max-injection are thresholds of an audit. Add --audit.")
    if is_audit and given.keys() & {"min", "max", "max_drop", "baseline", "labels"}:
        raise DataError(
            "--audit compares probes with --max-shift and --max-injection. Leave the other "
            "thresholds out, and gate the ordinary run with them."
        )


def _check_rules(rules: Rules) -> None:
    if rules.is_audit:
        return
    if not rules.criteria() and not rules.is_failed_given:
        raise DataError(
            "The gate has no threshold. Give one, --min CRITERION=X or --max-drop CRITERION=D with "
            f"--baseline RUN,\nor write them into [gate] of {DEFAULT_FILE}: min = {{ clarity = 4.0 }}"
        )
    if rules.max_drop and rules.baseline is None:
        raise DataError("--max-drop needs a baseline to compare with. Name it with --baseline RUN.")
    negative = [name for name, value in rules.max_drop.items() if value < 0]
    if negative:
        raise DataError(
            f"--max-drop {negative[0]}={rules.max_drop[negative[0]]:g}: a drop cannot be below 0.\n"
            f"To allow a drop of {-rules.max_drop[negative[0]]:g}: --max-drop "
            f"{negative[0]}={-rules.max_drop[negative[0]]:g}"
        )

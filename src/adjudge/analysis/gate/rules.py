"""The rules of a gate: thresholds from flags and from `adjudge.toml`. Flags win, criterion by criterion."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...errors import DataError
from ...run_file.gate_table import read_gate_table
from ...run_file.read import DEFAULT_FILE, RunFile
from ...run_file.thresholds import DEFAULT_ALLOWED, Allowed, parse_allowed, parse_most, parse_threshold


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
    file: RunFile | None,
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
    """The rules of the run file for a run, overridden by those of the flags."""
    config_table = {} if file is None else read_gate_table(file.gate_for(run), "gate", [])
    systems_in_file = config_table.get("system", ())

    def table(key: str, flag_value: Sequence[str]) -> dict[str, float]:
        flag = f"--{key.replace('_', '-')}"
        return {**config_table.get(key, {}), **dict(parse_threshold(text, flag) for text in flag_value)}

    def most(key: str, flag_value: str | None) -> float | None:
        flag = f"--{key.replace('_', '-')}"
        return config_table.get(key) if flag_value is None else parse_most(flag_value, flag)

    has_means = bool(min or max or max_drop) or baseline is not None or labels is not None
    _check_audit_flags(is_audit, has_means, max_shift is not None or max_injection is not None)

    def text(key: str, flag_value: str | None) -> str | None:
        return flag_value if flag_value is not None else config_table.get(key)

    allowed = (
        parse_allowed(max_failed, "--max-failed")
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

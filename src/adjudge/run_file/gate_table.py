"""The keys of the table [gate] of a run file; its numbers are read by the gate itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

GATE_TABLES = ("min", "max", "max_drop")


GATE_TEXTS = ("baseline", "baseline_store", "labels", "baseline_labels")


GATE_AUDIT = ("max_shift", "max_injection")
"""Thresholds of an audit, each one number for all criteria."""


GATE_KEYS = (*GATE_TABLES, *GATE_TEXTS, *GATE_AUDIT, "max_failed", "system")
"""The keys of `[gate]` and `[gate.NAME]`."""


GateCheck = Callable[[Mapping[str, Any]], Sequence[str]]
"""The problems of the table [gate]; its numbers are read by the gate itself."""

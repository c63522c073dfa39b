"""The report of a gate: all its checks and their outcome, `worse`
corrected for their number (Holm). What `--json` prints.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from ...stats import adjusted
from ...words import p_phrase
from ..significance import SIGNIFICANCE
from .check import Check
from .decision import Decision
from .outcome import Outcome


class GateReport(Struct, frozen=True):
    """All checks of a gate, and their outcome."""

    outcome: Outcome
    exit_code: int
    run: str
    baseline: str | None
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    is_fake: bool
    """whether a judge is a fake for tests: then the outcome says nothing about any system"""
    is_corrected: bool
    """whether the means are corrected with human labels"""
    n_decisions: int = 0
    """checks that an estimate decides; `worse` is corrected for their number (Holm)"""


def corrected_for_number(checks: Sequence[Check]) -> list[Check]:
    """The checks with `worse` only where it stays significant among all of them (Holm)."""
    p_values = [None if check.decision is None else check.decision.p_worse for check in checks]
    n = sum(p is not None for p in p_values)
    return [
        check if check.decision is None else _corrected_outcome(check, check.decision, p, n)
        for check, p in zip(checks, adjusted(p_values), strict=True)
    ]


def _corrected_outcome(check: Check, decision: Decision, p: float | None, n: int) -> Check:
    check = structs.replace(check, decision=structs.replace(decision, p_worse_adjusted=p))
    if check.outcome != "worse" or p is None or p <= SIGNIFICANCE:
        return check
    return structs.replace(
        check,
        outcome="open",
        text=(
            f"{check.text} Worse by itself ({p_phrase(decision.p_worse)}), but not statistically "
            f"significant among {n} checks (Holm-adjusted {p_phrase(p)})."
        ),
    )

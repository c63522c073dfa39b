"""The checks of failures against the number that is allowed."""

from __future__ import annotations

from ...run_file.thresholds import Allowed
from ...stats import wilson
from ...words import count, share
from .check import Check
from .gated_criterion import GatedCriterion
from .outcome import Outcome
from .rules import Rules


def failure_check(
    name: str, system: str, n_failed: int, n: int, allowed: Allowed, subject: str = ""
) -> Check:
    """Compare the number of failures with what is allowed. It is known, so no interval is needed."""
    most = allowed.most(n)
    estimate = wilson(n_failed, n)
    outcome: Outcome = "failed" if n_failed > most else "good"
    subject = subject or f"failures of {system} on {name}"
    rate = f"{share(n_failed / n)}" if n else "none"
    text = f"{subject}: {n_failed:,} of {count(n, 'item')} ({rate}), allowed: {allowed.text()}"
    if allowed.share is not None:
        text += f" ({most:,})"
    sentence = f"{text[0].upper()}{text[1:]}."
    return Check(
        "max_failed",
        name,
        system,
        allowed.share if allowed.share is not None else float(most),
        estimate,
        outcome,
        sentence,
        is_share=allowed.share is not None,
    )


def failure_checks(criterion: GatedCriterion, rules: Rules) -> list[Check]:
    """The failures of each system on one criterion."""
    return [
        failure_check(criterion.name, system, scores.n_failed, scores.n, rules.max_failed)
        for system, scores in criterion.systems.items()
    ]

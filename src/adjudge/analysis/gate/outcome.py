"""The outcomes of a gate: their severity, their words and their exit codes."""

from __future__ import annotations

from typing import Literal

from ...exit_codes import ALL_FAILED, DONE, NOT_ENOUGH_EVIDENCE, WORSE

Outcome = Literal["good", "worse", "open", "failed"]


EXIT_CODES: dict[Outcome, int] = {
    "good": DONE,
    "worse": WORSE,
    "open": NOT_ENOUGH_EVIDENCE,
    "failed": ALL_FAILED,
}


SEVERITY: tuple[Outcome, ...] = ("failed", "worse", "open", "good")
"""The most severe outcome of all checks decides. Too many
failures come first: they make the other checks unreliable.
"""


WORDS: dict[Outcome, str] = {
    "good": "pass",
    "worse": "fail",
    "open": "not enough evidence",
    "failed": "the judge failed too often",
}


def most_severe(outcomes: list[Outcome]) -> Outcome:
    """The outcome of several checks together."""
    return min(outcomes, key=SEVERITY.index, default="good")

"""The outcomes of a gate: good, worse, not enough evidence, too many
failures. Their words and exit codes are a contract with scripts.
"""

from __future__ import annotations

from typing import Literal

# 0 good, 1 worse, 3 not enough evidence, 4 the judge failed too often.


Outcome = Literal["good", "worse", "open", "failed"]


EXIT_CODES: dict[Outcome, int] = {"good": 0, "worse": 1, "open": 3, "failed": 4}


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

"""What a gate decided and on what, as values. Nothing here computes.

The exit codes are part of the contract with scripts: 0 good, 1 worse, 3 not enough evidence, 4 the judge failed too often.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ..records import Estimate

Outcome = Literal["good", "worse", "open", "failed"]
Rule = Literal["min", "max", "max_drop", "max_failed"]

EXIT_CODES: dict[Outcome, int] = {"good": 0, "worse": 1, "open": 3, "failed": 4}
GRAVITY: tuple[Outcome, ...] = ("failed", "worse", "open", "good")
"""Of several checks the gravest outcome is the gate's. A judge that fails too often comes first: what it says of the rest
is not to be relied on."""
WORDS: dict[Outcome, str] = {
    "good": "good",
    "worse": "worse",
    "open": "not enough evidence",
    "failed": "the judge failed too often",
}


class Check(Struct, frozen=True):
    """One threshold held against one estimate."""

    rule: Rule
    criterion: str
    system: str
    threshold: float
    estimate: Estimate
    """what was decided on: a mean, a change against the baseline, or a share of failures"""
    outcome: Outcome
    text: str
    """the decision as a sentence"""
    remarks: tuple[str, ...] = ()
    minimum_detectable: float | None = None
    """the distance from the threshold that as many items decide four times in five"""
    n_more: int | None = None
    """how many more it would take to decide four times in five; none where it is decided or no number would do"""
    n_more_of: str = ""
    """items, groups or labels"""
    is_share: bool = False
    """whether the threshold is a share, written in per cent: a win rate, or failures of all items"""

    @property
    def asked(self) -> str:
        """The threshold as a reader is shown it."""
        return f"{100 * self.threshold:.10g} %" if self.is_share else f"{self.threshold:g}"


class Verdict(Struct, frozen=True):
    """All checks of a gate, and what they come to."""

    outcome: Outcome
    exit_code: int
    run: str
    baseline: str | None
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    is_fake: bool
    """whether a judge was a fake for tests: then the outcome says nothing about any system"""
    is_corrected: bool
    """whether labels of people corrected the means"""


def gravest(outcomes: list[Outcome]) -> Outcome:
    """What several checks come to."""
    return min(outcomes, key=GRAVITY.index, default="good")

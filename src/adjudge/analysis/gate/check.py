"""One check of a gate: an estimate compared with a threshold, and the sentence that says so."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ...records import Estimate
from ...stats import Equivalence
from ...words import count, number, share
from .decision import Decision
from .not_enough_evidence import MOST_PRACTICAL, MoreNeeded, outcome_of
from .outcome import Outcome

Rule = Literal["min", "max", "max_drop", "max_failed", "max_shift", "max_injection"]


class Check(Struct, frozen=True):
    """One estimate compared with one threshold."""

    rule: Rule
    criterion: str
    system: str
    threshold: float
    estimate: Estimate
    """a mean, a change from the baseline, or a share of failures"""
    outcome: Outcome
    text: str
    """the decision as a sentence"""
    remarks: tuple[str, ...] = ()
    minimum_detectable: float | None = None
    """the distance from the threshold that this many items detect with 80 % power"""
    n_more: int | None = None
    """how many more are needed to decide with 80 % power;
    none where it is decided or no number would be enough
    """
    n_more_of: str = ""
    """items, groups or labels"""
    is_share: bool = False
    """whether the threshold is a share, shown in per cent: a win rate, or a share of failed items"""
    decision: Decision | None = None
    """none where nothing is estimated: a count of failures, or two runs with the same replies"""

    equivalence: Equivalence | None = None
    """of a change from the baseline: whether it is shown to be within the allowed drop in either direction"""

    @property
    def asked(self) -> str:
        """The threshold as text."""
        return f"{100 * self.threshold:.10g} %" if self.is_share else f"{self.threshold:g}"

    @property
    def allowed(self) -> str:
        """The threshold as the cell of a table; a number of failures with its noun."""
        if self.rule == "max_failed" and not self.is_share:
            return count(round(self.threshold), "item")
        return self.asked

    @property
    def n_failed(self) -> int:
        """How many items failed; of a check of failures they are its estimate."""
        if self.rule != "max_failed":
            return self.estimate.n_failed
        return round((self.estimate.value or 0.0) * self.estimate.n)


def check_sentence(
    text: str, estimate: Estimate, decision: Decision | None, needed: MoreNeeded, is_share: bool = False
) -> str:
    """The sentence of a check; for an open one with how many more observations it needs."""
    text = text[0].upper() + text[1:]
    if outcome_of(decision) != "open":
        return f"{text}."
    if estimate.low is None or estimate.high is None:
        return f"{text}. Undecided: {estimate.reason}."
    bounds = ""
    if decision is not None and decision.low is not None and decision.high is not None:
        ends = [share(end) if is_share else number(end) for end in (decision.low, decision.high)]
        bounds = f" [{', '.join(ends)}]"
    text = f"{text}. The confidence bounds{bounds} contain the threshold"
    if decision is None:
        text = (
            text.removesuffix(" The confidence bounds contain the threshold")
            + " Undecided: too few labels count"
        )
    if needed.n is not None and needed.n > MOST_PRACTICAL:
        return f"{text}. Deciding it would take far more {needed.of}s than is practical."
    if needed.n is None:
        return f"{text}{', and ' if needed.why else ''}{needed.why}."
    more = count(needed.n, f"more {needed.of}", f"more {needed.of}s")
    return f"{text}. About {more} would decide it with 80 % power if the estimate is right."

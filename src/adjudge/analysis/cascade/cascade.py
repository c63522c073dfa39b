"""A calibrated cascade: the thresholds of each judge, what
they decide, and what is promised. What `--json` prints.
"""

from __future__ import annotations

from msgspec import Struct

from ...records import Estimate


class Stage(Struct, frozen=True):
    """One judge of a cascade. It decides an item if its confidence is at least the threshold."""

    judge: str
    threshold: float | None
    """none: it never decides"""
    decided: Estimate
    """share of all items that this judge decides"""
    agreement: Estimate
    """share of its decided labelled items that agree with people"""
    price_per_1000: float | None
    """USD for this judge on 1,000 items that enter the cascade; none where no price is known"""


class Cascade(Struct, frozen=True):
    """Thresholds, and the promise: agreement among decided items
    is at least `agree`, in all but `risk` of calibrations.
    """

    stages: tuple[Stage, ...]
    decided: Estimate
    agreement: Estimate
    """of the decided labelled items; `low` is the bound that holds with probability 1 - risk"""
    agree: float
    risk: float
    holds: bool
    labels_needed: int | None
    """about how many labels show a threshold in 80 % of draws; none where one was shown, or none will be"""
    n_labels: int
    within: float | None = None
    labels_needed_range: tuple[int, int | None] | None = None
    """in which that number lies in eight of ten cases; no upper end where it could be any"""
    price_per_1000: float | None = None
    alone_price_per_1000: float | None = None
    """the last judge on every item"""
    notes: tuple[str, ...] = ()

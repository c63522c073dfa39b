"""The result of a tuning: agreement on the search part,
and the gain on the locked part. What `--json` prints.
"""

from __future__ import annotations

from msgspec import Struct

from ...records import Estimate


class Locked(Struct, frozen=True):
    """What the labels say that chose nothing."""

    n: int
    """labelled items in the locked part"""
    looks: int
    """how often these labels were looked at, this time included"""
    gain: Estimate
    """agreement of the winner - agreement of the start, with an interval for this look"""


class Tuning(Struct, frozen=True):
    """The winner of a search, and whether it is shown to agree with people better than the start."""

    start: str
    winner: str
    search: dict[str, Estimate]
    """candidate → agreement with people on the search part"""
    locked: Locked
    claim: bool
    needed: int | None
    """about how many labels show a gain of this size in 80
    % of cases; none where it is shown, or there is none
    """
    detectable: float | None
    """the smallest gain that these labels show in 80 % of cases"""
    n_labels: int
    prices: dict[str, float] = {}
    """candidate → USD for 1,000 items"""
    frontier: tuple[str, ...] = ()
    """candidates that no other one beats in both price and agreement, the cheapest first"""
    notes: tuple[str, ...] = ()

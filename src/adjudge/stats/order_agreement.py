"""Position bias: the same pair shown in both orders should have the same winner.

Choices are the places shown (`first`, `second`, `tie`), one for each order: a judge that goes by content
changes the place with the order, one that goes by position keeps it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Literal

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import undefined
from .binomial import lower_bound, upper_bound
from .means import mean_interval
from .proportions import wilson
from .win_rates import clustered_share

Position = Literal["first", "second", "tie"]


class PositionBias(Struct, frozen=True):
    """How choices go with the place. Shares are of the pairs that were read in both orders."""

    agreement: Estimate
    """pairs with the same winner in both orders"""
    first_share: Estimate
    """of all single choices that decided: those for the response shown first"""
    n_pairs: int
    """read in both orders"""
    n_one_order: int
    """judged or read in one order only"""
    first_both: int
    """the first place won in both orders"""
    second_both: int
    other_conflicts: int
    """a tie in one order alone"""
    p: float | None
    """binomial test: among changed winners, is one place favoured? With one order alone: among all choices"""


def position_bias(
    shown: Sequence[Position | None],
    swapped: Sequence[Position | None],
    pairs: Sequence[Hashable] | None = None,
) -> PositionBias:
    """Both orders of each pair, none where a choice was not judged or not read; `pairs` says what belongs
    together."""
    if len(shown) != len(swapped):
        raise ValueError(f"{len(shown)} choices in one order, {len(swapped)} in the other")
    both = [(a, b) for a, b in zip(shown, swapped, strict=True) if a and b]
    n_one_order = sum((a is None) != (b is None) for a, b in zip(shown, swapped, strict=True))
    same = sum(_is_consistent(a, b) for a, b in both)
    first_both = sum(a == b == "first" for a, b in both)
    second_both = sum(a == b == "second" for a, b in both)
    places: list[float] = []
    clusters: list[Hashable] = []
    for number, choices in enumerate(zip(shown, swapped, strict=True)):
        for choice in choices:
            if choice is not None and choice != "tie":
                places.append(float(choice == "first"))
                clusters.append(number if pairs is None else pairs[number])
    agreement = undefined("no pair was read in both orders", unit="pair")
    if both:
        name = "share of pairs with the same winner in both orders"
        agreement = wilson(same, len(both), name=name, unit="pair")
    if both:
        p = _binomial(first_both, second_both)
    else:
        p = _binomial(int(sum(places)), len(places) - int(sum(places)))
    return PositionBias(
        agreement=agreement,
        first_share=_first_share(places, clusters, (first_both, second_both)),
        n_pairs=len(both),
        n_one_order=n_one_order,
        first_both=first_both,
        second_both=second_both,
        other_conflicts=len(both) - same - first_both - second_both,
        p=p,
    )


def _first_share(places: Sequence[float], clusters: Sequence[Hashable], changed: tuple[int, int]) -> Estimate:
    """The share of decided choices for the response shown first.

    A pair with one winner in both orders chose each place once, which is no chance: only pairs whose winner
    `changed` (to the first place in both orders, or to the second) make the share vary. Its interval is that
    of the pairs, and reaches as far as the exact interval that belongs to the binomial test of these.
    """
    name = "share of decided choices for the response shown first"
    if not places:
        return undefined("no choice decided", unit="choice")
    n, (n_first, n_second) = len(places), changed
    n_changed, share = n_first + n_second, sum(places) / n
    of_pair: dict[Hashable, float] = defaultdict(float)
    for place, pair in zip(places, clusters, strict=True):
        of_pair[pair] += place - share
    by_pair = mean_interval([share + off * len(of_pair) / n for off in of_pair.values()])
    if not n_changed or by_pair.low is None or by_pair.high is None:
        return structs.replace(
            clustered_share(places, clusters), method=f"{name}, Wilson interval", unit="choice", caution=""
        )
    others = sum(places) - 2 * n_first
    low = (others + 2 * n_changed * lower_bound(n_first, n_changed, 0.025)) / n
    high = (others + 2 * n_changed * upper_bound(n_first, n_changed, 0.025)) / n
    return structs.replace(
        by_pair,
        value=share,
        low=max(0.0, min(by_pair.low, low)),
        high=min(1.0, max(by_pair.high, high)),
        n=n,
        method=f"{name}, t interval over pairs, at least the exact one of changed winners",
        unit="choice",
        caution="",
    )


def _is_consistent(shown: Position, swapped: Position) -> bool:
    """Whether both orders have the same winner, or are both a tie: a winner changes its place with the
    order."""
    return shown == swapped if "tie" in (shown, swapped) else shown != swapped


def _binomial(n_first: int, n_second: int) -> float | None:
    """The exact two-sided test of an even chance; none where there is nothing to test."""
    from scipy.special import bdtr

    n = n_first + n_second
    return min(1.0, 2 * float(bdtr(min(n_first, n_second), n, 0.5))) if n else None

"""Position bias: the same pair shown in both orders should have the same winner.

Choices are the places shown (`first`, `second`, `tie`), one for each order: a judge that goes by content changes the
place with the order, one that goes by position keeps it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import undefined
from .proportions import wilson
from .win_rates import clustered_share

if TYPE_CHECKING:
    pass


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
    """Both orders of each pair, none where a choice was not judged or not read; `pairs` says what belongs together."""
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
    # Both orders of one pair are rather opposite than alike, so that few pairs need no caution.
    first_share = structs.replace(
        clustered_share(places, clusters),
        method="share of decided choices for the response shown first, Wilson interval",
        unit="choice",
        caution="",
    )
    if not places:
        first_share = undefined("no choice decided", unit="choice")
    return PositionBias(
        agreement=agreement,
        first_share=first_share,
        n_pairs=len(both),
        n_one_order=n_one_order,
        first_both=first_both,
        second_both=second_both,
        other_conflicts=len(both) - same - first_both - second_both,
        p=p,
    )


def _is_consistent(shown: Position, swapped: Position) -> bool:
    """Whether both orders have the same winner, or are both a tie: a winner changes its place with the order."""
    return shown == swapped if "tie" in (shown, swapped) else shown != swapped


def _binomial(n_first: int, n_second: int) -> float | None:
    """The exact two-sided test of an even chance; none where there is nothing to test."""
    from scipy.special import bdtr

    n = n_first + n_second
    return min(1.0, 2 * float(bdtr(min(n_first, n_second), n, 0.5))) if n else None

"""Whether a judge favours a place: the same pair shown in both orders should have the same winner.

Choices are given as the places shown (`first`, `second`, `tie`), one for each order: a judge that goes by content
changes the place, one that goes by place keeps it. Knows nothing of systems.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

from msgspec import Struct, structs

from ..records import Choice, Estimate
from .arrays import undefined
from .proportions import wilson
from .win_rates import clustered_share

Place = Literal["first", "second", "tie"]


class PositionBias(Struct, frozen=True):
    """How choices go with the place. Shares are of the pairs that were read in both orders."""

    agreement: Estimate
    """pairs with the same winner in both orders"""
    first_share: Estimate
    """of all single choices that decided: those for the response shown first"""
    n_pairs: int
    """read in both orders"""
    n_one_order: int
    """asked or read in one order alone"""
    first_both: int
    """the first place won in both orders"""
    second_both: int
    other_conflicts: int
    """a tie in one order alone"""
    p: float | None
    """binomial test: among changed winners, is one place favoured? With one order alone: among all choices"""


def position_bias(
    shown: Sequence[Place | None], swapped: Sequence[Place | None], pairs: Sequence[Hashable] | None = None
) -> PositionBias:
    """Both orders of each pair, none where a choice was not asked or not read; `pairs` says what belongs together."""
    if len(shown) != len(swapped):
        raise ValueError(f"{len(shown)} choices in one order, {len(swapped)} in the other")
    both = [(one, other) for one, other in zip(shown, swapped, strict=True) if one and other]
    n_one = sum((one is None) != (other is None) for one, other in zip(shown, swapped, strict=True))
    same = sum(_winner(one, other) is not None for one, other in both)
    first_both = sum(one == other == "first" for one, other in both)
    second_both = sum(one == other == "second" for one, other in both)
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
    first_share = structs.replace(
        clustered_share(places, clusters),
        method="share of decided choices for the response shown first, Wilson interval",
        unit="choice",
    )
    if not places:
        first_share = undefined("no choice decided", unit="choice")
    return PositionBias(
        agreement=agreement,
        first_share=first_share,
        n_pairs=len(both),
        n_one_order=n_one,
        first_both=first_both,
        second_both=second_both,
        other_conflicts=len(both) - same - first_both - second_both,
        p=p,
    )


def _winner(shown: Place, swapped: Place) -> Choice | None:
    if shown == "tie" or swapped == "tie":
        return "tie" if shown == swapped else None
    if shown == swapped:
        return None
    return "a" if shown == "first" else "b"


def _binomial(one: int, other: int) -> float | None:
    """The exact two-sided test of an even chance; none where there is nothing to test."""
    from scipy.special import bdtr

    n = one + other
    return min(1.0, 2 * float(bdtr(min(one, other), n, 0.5))) if n else None

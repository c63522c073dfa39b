"""How far the judge's mean may lie from people's: its bias, and the items on which it failed.

The bias is known on items with a score. Where people rate failed items lower, the judge's mean is too high
without a single wrong score.
"""

from __future__ import annotations

from ...stats.means import ALL_SAME, SAME_MEANS
from .card import CriterionCard

TOLERANCE = 0.05
"""The share of the scale within which the mean of a judge that is used alone has to lie."""

Ends = tuple[float, float]


def is_mean_near(card: CriterionCard) -> bool:
    """Whether the judge's mean is shown to lie within the tolerance, failures included; choices have no bias
    in points."""
    if card.kind == "choices":
        return True
    bias, moved = bias_ends(card), ends_of_failures(card)
    return bias is not None and _is_within(card, (bias[0] + moved[0], bias[1] + moved[1]))


def is_bias_small(card: CriterionCard) -> bool:
    """Whether the interval of the bias lies within the tolerance, on the items with a score."""
    ends = bias_ends(card)
    return ends is not None and _is_within(card, ends)


def _is_within(card: CriterionCard, ends: Ends) -> bool:
    return card.tolerance is not None and max(map(abs, ends)) <= card.tolerance


def bias_ends(card: CriterionCard) -> Ends | None:
    """The interval of the bias. Where all labelled items have the same bias, one that is larger by the whole
    scale may be among the others with the share that n items are still likely to miss.
    """
    bias, constant = card.bias, card.constant
    if bias.value is None or card.tolerance is None:
        return None
    if bias.low is not None and bias.high is not None:
        return bias.low, bias.high
    if bias.reason not in (ALL_SAME, SAME_MEANS) or constant is None:
        return None
    missed = (1 - 0.025 ** (1 / constant.n_units)) * card.tolerance / TOLERANCE
    return bias.value - missed, bias.value + missed


def ends_of_failures(card: CriterionCard) -> Ends:
    """By how much the failures move the judge's mean away from people's mean of all items; anything that the
    scale allows where too few failed items have a label."""
    quality, found = card.quality, card.informative_failures
    share = quality.n_failed / quality.n if quality.n else 0.0
    if found is not None and found.difference.low is not None and found.difference.high is not None:
        return -share * found.difference.high, -share * found.difference.low
    width = (card.tolerance or 0.0) / TOLERANCE
    return -share * width, share * width

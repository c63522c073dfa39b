"""A comparison about these items alone: all were judged, so only failures leave anything open."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from ...records import Estimate
from .comparison import CriterionComparison, SystemComparison, SystemOrder, SystemPair
from .system_order import change_of

_METHOD = "of these items, all judged; failures at either end of the scale"


def comparison_of_these_items(card: CriterionComparison) -> CriterionComparison:
    """The same comparison with means and differences that are known but for the items that failed."""
    systems = {name: _exact(card, comparison) for name, comparison in card.systems.items()}
    order = None if card.order is None else _exact_order(card.order, systems)
    return structs.replace(card, systems=systems, order=order)


def _exact(card: CriterionComparison, comparison: SystemComparison) -> SystemComparison:
    means = [
        _known_mean(estimate, _limits(card, which))
        for which, estimate in enumerate((comparison.first, comparison.second))
    ]
    comparison = structs.replace(comparison, first=means[0], second=means[1])
    difference = comparison.difference
    if difference.value is None:
        return comparison
    n_failed = comparison.n_failed_first + comparison.n_failed_second + comparison.n_failed_both
    ends: tuple[float | None, float | None] = (difference.value, difference.value)
    if n_failed:
        ends = (None, None) if comparison.bounds is None else (comparison.bounds.low, comparison.bounds.high)
    exact = structs.replace(
        difference, low=ends[0], high=ends[1], method=f"difference {_METHOD}", reason="", caution=""
    )
    return structs.replace(
        comparison,
        difference=exact,
        p=_p(exact),
        test="known for these items",
        minimum_detectable=None,
    )


def _known_mean(estimate: Estimate, limits: tuple[float, float] | None) -> Estimate:
    """A mean of items that were all judged; each that failed could have been at either end of the scale."""
    value, n, n_failed = estimate.value, estimate.n, estimate.n_failed
    if value is None:
        return estimate
    low: float | None = value
    high: float | None = value
    if n_failed:
        low, high = (
            (None, None)
            if limits is None
            else ((value * n + end * n_failed) / (n + n_failed) for end in limits)
        )
    return structs.replace(estimate, low=low, high=high, method=f"mean {_METHOD}", reason="", caution="")


def _limits(card: CriterionComparison, which: int) -> tuple[float, float] | None:
    """The ends of the scale on which the means of a run are given."""
    scale = card.scales[which]
    if card.kind == "choices" or card.unit == "normalized":
        return 0.0, 1.0
    return None if scale is None else scale.limits


def _p(difference: Estimate) -> float:
    """0 where the sign of a difference is known, 1 where failures leave it open."""
    low, high = difference.low, difference.high
    return float(low is None or high is None or low <= 0 <= high)


def _exact_order(order: SystemOrder, systems: Mapping[str, SystemComparison]) -> SystemOrder:
    return structs.replace(order, pairs=tuple(_exact_pair(pair, systems) for pair in order.pairs))


def _exact_pair(pair: SystemPair, systems: Mapping[str, SystemComparison]) -> SystemPair:
    """Two systems, whose difference is known up to what failures leave open of their means."""
    sides = [systems[name] for name in pair.systems]
    first = _known_difference(pair.first, [side.first for side in sides])
    second = _known_difference(pair.second, [side.second for side in sides])
    p_first, p_second = _p(first), _p(second)
    return SystemPair(
        pair.systems, first, second, p_first, p_second, change_of(first, p_first, second, p_second)
    )


def _known_difference(difference: Estimate, means: list[Estimate]) -> Estimate:
    value = difference.value
    known = [
        (mean.value, mean.low, mean.high)
        for mean in means
        if mean.value is not None and mean.low is not None and mean.high is not None
    ]
    if value is None or len(known) < len(means):
        return structs.replace(difference, low=None, high=None)
    # How far failures can move the means away from each other; a lower score may be the better one.
    reach = sum(max(mean - low, high - mean) for mean, low, high in known)
    method = f"difference {_METHOD}"
    return structs.replace(difference, low=value - reach, high=value + reach, method=method)

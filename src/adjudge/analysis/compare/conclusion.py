"""Whether the conclusion of the first run holds in the second."""

from __future__ import annotations

from collections.abc import Mapping

from .comparison import Conclusion, CriterionComparison, SystemComparison, SystemOrder


def conclusion_of(card: CriterionComparison) -> Conclusion:
    if card.kind == "choices":
        return _choice_conclusion(card.systems)
    if card.order is not None:
        return _order_conclusion(card.order)
    comparisons = [
        comparison for comparison in card.systems.values() if comparison.difference.value is not None
    ]
    if not comparisons:
        return "undefined"
    return "shifted" if any(comparison.is_shown for comparison in comparisons) else "not shown"


def _order_conclusion(order: SystemOrder) -> Conclusion:
    changes = {pair.change for pair in order.pairs}
    if "reversed" in changes:
        return "reversed"
    if changes & {"only first", "only second"}:
        return "differs"
    return "holds" if "same" in changes else "not shown"


def _choice_conclusion(systems: Mapping[str, SystemComparison]) -> Conclusion:
    """By which system wins significantly more than half of a pair, in each run."""
    verdicts = set()
    for comparison in systems.values():
        winners = [_winner(estimate.low, estimate.high) for estimate in (comparison.first, comparison.second)]
        if winners[0] * winners[1] < 0:
            return "reversed"
        verdicts.add((abs(winners[0]), abs(winners[1])))
    if verdicts & {(0, 1), (1, 0)}:
        return "differs"
    return "holds" if (1, 1) in verdicts else "not shown"


def _winner(low: float | None, high: float | None) -> int:
    if low is None or high is None or low <= 0.5 <= high:
        return 0
    return 1 if low > 0.5 else -1

"""The best systems by their corrected means: the best one, then those that are not significantly behind
it."""

from __future__ import annotations

from ...records import Estimate
from .card import CorrectedMean, CriterionCard


def corrected_leaders(card: CriterionCard) -> tuple[str, ...]:
    """Best first; empty with fewer than two corrected means, or where the direction of the scale is
    unknown."""
    known = {name: mean for name, mean in card.corrected.items() if mean.value is not None}
    direction = 1 if card.scale is None or card.kind == "choices" else card.scale.direction
    if len(known) < 2 or direction == 0:
        return ()
    in_order = sorted(known, key=lambda name: -direction * (known[name].value or 0.0))
    best = in_order[0]
    return best, *(name for name in in_order[1:] if not _is_behind(name, best, card))


def _is_behind(name: str, best: str, card: CriterionCard) -> bool:
    """Whether the difference is significant; intervals of the means that do not overlap show it too."""
    difference = card.differences.get(f"{best} - {name}") or card.differences.get(f"{name} - {best}")
    low, high = (None, None) if difference is None else (difference.low, difference.high)
    if low is not None and high is not None and not low <= 0 <= high:
        return True
    return not _overlap(card.corrected[best], card.corrected[name])


def corrected_gap(card: CriterionCard, best: str) -> Estimate | None:
    """The corrected difference of the only two systems, the best one first; none where it has no interval."""
    if len(card.corrected) != 2 or len(card.differences) != 1:
        return None
    ((name, found),) = card.differences.items()
    if found.low is None or found.high is None or found.value is None:
        return None
    if name.startswith(f"{best} - "):
        return Estimate(value=found.value, low=found.low, high=found.high, n=found.n)
    return Estimate(value=-found.value, low=-found.high, high=-found.low, n=found.n)


def _overlap(first: CorrectedMean, second: CorrectedMean) -> bool:
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return True
    return first.low <= second.high and second.low <= first.high

"""Whether two runs are shown to differ by less than a margin: a separate verdict, beside significance.

A difference that is not significant may be of any size. Equivalence is shown by two one-sided tests, for all
differences of a comparison together; where failures could hide a larger difference, it is not shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import structs

from ...errors import DataError
from ...records import Estimate
from ...stats import Equivalence, EquivalenceVerdict, equivalence, equivalent_together
from ..significance import MARGIN_SHARE
from .comparison import CriterionComparison, SystemComparison


def check_margin(margin: float | None) -> None:
    """An error where the margin is not above 0."""
    if margin is not None and not 0 < margin < math.inf:
        raise DataError(f"--margin {margin:g}: give a number above 0, in points of the scale.")


def with_equivalence(
    cards: Mapping[str, CriterionComparison], margin: float | None
) -> dict[str, CriterionComparison]:
    """The cards with the verdict of each system; the default margin is 5 % of the scale."""
    found = {
        (name, system): made
        for name, card in cards.items()
        for system, comparison in card.systems.items()
        if (made := _compared(card, comparison, margin)) is not None
    }
    together = dict(zip(found, equivalent_together(list(found.values())), strict=True))

    def verdict(
        card: CriterionComparison, name: str, system: str, comparison: SystemComparison
    ) -> SystemComparison:
        made = together.get((name, system))
        return (
            comparison
            if made is None
            else structs.replace(comparison, equivalence=_allowed(comparison, made, card.direction or 1))
        )

    return {
        name: structs.replace(
            card,
            systems={
                system: verdict(card, name, system, comparison) for system, comparison in card.systems.items()
            },
        )
        for name, card in cards.items()
    }


def _compared(
    card: CriterionComparison, comparison: SystemComparison, margin: float | None
) -> Equivalence | None:
    """One difference against the margin; none where ranks alone can be compared."""
    width = _width(card)
    if margin is None and width is None:
        return None
    if card.unit == "rank" or comparison.difference.value is None:
        return None
    allowed = MARGIN_SHARE * (width or 0.0) if margin is None else margin
    if comparison.is_same:
        return Equivalence(allowed, 0.0, 0.0, "equivalent")
    difference: Estimate = comparison.difference
    return equivalence(difference, allowed, max(1, comparison.n_units - 1), card.direction or 1)


def _allowed(comparison: SystemComparison, made: Equivalence, direction: int) -> Equivalence:
    """What of a verdict is left where failures may be at either end of the scale."""
    if comparison.bounds is None or made.verdict == "not shown":
        return made
    low, high = sorted(direction * end for end in (comparison.bounds.low, comparison.bounds.high))
    is_not_worse, is_not_better = low >= -made.margin, high <= made.margin
    verdict: EquivalenceVerdict = "not worse" if is_not_worse else "not shown"
    is_kept = {
        "equivalent": is_not_worse and is_not_better,
        "not worse": is_not_worse,
        "worse": high < -made.margin,
        "better": low > made.margin,
    }[made.verdict]
    if made.verdict == "worse" and not is_kept:
        verdict = "not shown"
    return made if is_kept else structs.replace(made, verdict=verdict)


def _width(card: CriterionComparison) -> float | None:
    """The largest difference; none where the scale is unbounded."""
    if card.kind == "choices" or card.unit == "normalized":
        return 1.0
    scale = card.scales[0]
    limits = None if scale is None else scale.limits
    return None if limits is None else limits[1] - limits[0]

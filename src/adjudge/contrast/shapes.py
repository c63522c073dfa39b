"""What a comparison of two runs says, as values. Nothing here computes.

Every difference is second - first. A number that cannot be given is an `Estimate` without a value whose `method` says why.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ..records import Estimate, Scale
from ..stats import Bounds

Kind = Literal["scores", "choices"]
Unit = Literal["points", "normalized", "rank"]
"""What is subtracted: scores as they are, scores as a share of their scale, or nothing, because only ranks compare."""

Change = Literal["same", "reversed", "only first", "only second", "open"]
"""What becomes of the claim that one system beats another: shown in both runs, shown the other way round, shown in one
alone, or in neither."""

Conclusion = Literal["holds", "differs", "reversed", "shifted", "not shown", "undefined"]
"""Of several systems: whether what is shown about them in one run is shown in the other. Of one: whether its score moved."""


class SystemContrast(Struct, frozen=True):
    """One system (or one pair of systems) in both runs, on the items that both judged."""

    first: Estimate
    """the mean in the first run; of a pair the win rate of the system that is named first"""
    second: Estimate
    difference: Estimate
    p: float | None
    p_adjusted: float | None
    """by Holm over all differences of the comparison"""
    test: str
    n_items: int
    """items that both runs have"""
    n_failed_first: int
    """items without a score in the first run alone"""
    n_failed_second: int
    n_failed_both: int
    bounds: Bounds | None
    """the mean difference whatever the failed were; none where the scale is open"""
    minimum_detectable: float | None
    """the true difference that as many items would find four times in five"""
    system_first: str
    system_second: str
    n_same: int = 0
    """items of which both runs have the same calls and the same replies"""

    @property
    def is_same(self) -> bool:
        """Whether nothing can differ: all items have the same calls and the same replies in both runs."""
        return 0 < self.n_items == self.n_same

    @property
    def is_doubtful(self) -> bool:
        """Whether the interval leaves 0 out and the corrected test shows nothing: the two answer different questions."""
        low, high = self.difference.low, self.difference.high
        return low is not None and high is not None and not self.is_shown and not low <= 0 <= high

    @property
    def is_shown(self) -> bool:
        return self.p_adjusted is not None and self.p_adjusted <= 0.05


class SystemPair(Struct, frozen=True):
    """Two systems under both runs; above 0 the one that is named first is better (higher, where no end is known as good)."""

    systems: tuple[str, str]
    first: Estimate
    second: Estimate
    p_first: float | None
    """by Holm over all pairs of systems in that run"""
    p_second: float | None
    change: Change


class SystemOrder(Struct, frozen=True):
    """The systems from the best mean to the worst, in both runs."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    winners_first: tuple[str, ...]
    """the systems with the best mean: several where they share it"""
    winners_second: tuple[str, ...]
    kendall: Estimate
    pairs: tuple[SystemPair, ...]
    n_flipped: int
    """pairs of systems whose means stand in another order, shown or not"""


class CriterionContrast(Struct, frozen=True):
    """One criterion in both runs."""

    criterion: str
    kind: Kind
    protocols: tuple[str, str]
    models: tuple[str, str]
    scales: tuple[Scale | None, Scale | None]
    unit: Unit
    direction: int
    """1 where more is better, -1 where less is, 0 where nobody knows"""
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    conclusion: Conclusion
    n_items: int
    n_only_first: int
    n_only_second: int
    systems: dict[str, SystemContrast]
    order: SystemOrder | None
    """none for one system, and for choices"""
    agreement: dict[str, Estimate]
    """`spearman` over items; of choices `exact`, `decided` and `kappa`"""


class Comparison(Struct, frozen=True):
    """Two runs on the same items."""

    summary: tuple[str, ...]
    first: str
    second: str
    criteria: dict[str, CriterionContrast]
    changed: tuple[str, ...]
    """what differs between the runs beside their scores, in words"""
    n_items: int
    """items that both runs have"""
    n_only_first: int
    n_only_second: int
    n_content_differs: int | None
    """common items whose texts differ; none where that is not known"""
    fields_that_differ: dict[str, int]
    notes: tuple[str, ...]
    seed: int
    is_fake: bool = False

"""The comparison of two runs; every difference is second
- first. What `--json` prints; nothing here computes.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ...records import Estimate, Scale
from ...results.combine import Kind
from ...stats import Bounds, Equivalence
from ..significance import SIGNIFICANCE
from ..trust.card import JudgePair

Unit = Literal["points", "normalized", "rank"]
"""What is subtracted: raw scores, scores as a share of their
scale, or nothing, because only ranks can be compared.
"""


Change = Literal["same", "reversed", "only first", "only second", "open"]
"""Whether one system beats another significantly: in both runs,
in opposite directions, in one run only, or in neither.
"""


Conclusion = Literal["holds", "differs", "reversed", "shifted", "not shown", "undefined"]
"""With several systems: whether their significant differences
agree between the runs. With one: whether its score moved.
"""


class SystemComparison(Struct, frozen=True):
    """One system (or one pair of systems) in both runs, on the items that both judged."""

    first: Estimate
    """mean in the first run; for a pair the win rate of the system named first"""
    second: Estimate
    difference: Estimate
    p: float | None
    p_adjusted: float | None
    """Holm's, over all differences of the comparison"""
    test: str
    n_items: int
    """items in both runs"""
    n_failed_first: int
    """items that failed in the first run only"""
    n_failed_second: int
    n_failed_both: int
    bounds: Bounds | None
    """range of the mean difference including failures; none where the scale is unbounded"""
    minimum_detectable: float | None
    """the true difference that this many items detect with 80 % power"""
    system_first: str
    system_second: str
    n_units: int = 0
    """independent observations: items, or groups where items share one"""
    equivalence: Equivalence | None = None
    """the difference compared with a margin; none without a margin or a difference"""
    n_same: int = 0
    """items with the same calls and the same replies in both runs"""

    @property
    def is_same(self) -> bool:
        """Whether all items have the same calls and the same
        replies in both runs, so that nothing can differ.
        """
        return 0 < self.n_items == self.n_same

    @property
    def is_doubtful(self) -> bool:
        """Whether the interval excludes 0 although the adjusted test is not significant."""
        low, high = self.difference.low, self.difference.high
        is_outside = low is not None and high is not None and not low <= 0 <= high
        return is_outside and not self.is_shown and not self.is_left_to_failures

    @property
    def is_shown(self) -> bool:
        """Whether the difference is significant, and failures could not explain it."""
        return self.is_significant and not self.is_left_to_failures

    @property
    def is_significant(self) -> bool:
        """Whether the difference of the items that both judged is significant."""
        return self.p_adjusted is not None and self.p_adjusted <= SIGNIFICANCE

    @property
    def is_left_to_failures(self) -> bool:
        """Whether a significant difference could be 0, or the opposite, with the items that failed."""
        value = self.difference.value
        if not self.is_significant or self.bounds is None or value is None:
            return False
        return self.bounds.low <= 0 if value > 0 else self.bounds.high >= 0

    @property
    def is_equivalent(self) -> bool:
        """Whether the difference is shown to be within the margin."""
        return self.equivalence is not None and self.equivalence.verdict == "equivalent"


class SystemPair(Struct, frozen=True):
    """Two systems in both runs; above 0 the one named first
    is better (or higher, where the direction is unknown).
    """

    systems: tuple[str, str]
    first: Estimate
    second: Estimate
    p_first: float | None
    """Holm's, over all pairs of systems in that run"""
    p_second: float | None
    change: Change


class SystemOrder(Struct, frozen=True):
    """The systems in both runs, from the best mean to the worst."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    winners_first: tuple[str, ...]
    """the system with the best mean; several where they tie"""
    winners_second: tuple[str, ...]
    kendall: Estimate
    pairs: tuple[SystemPair, ...]
    n_flipped: int
    """pairs of systems whose means changed order, significantly or not"""


Side = Literal["first", "second", "both"]


class MovedItem(Struct, frozen=True):
    """An item whose answers differ between two runs."""

    item: str
    system: str
    subject: str | None
    first: float | str
    """the answer of the first run; of a pair the system that its name puts first is a"""
    second: float | str
    difference: float
    """second - first, in the unit of the comparison; of choices in shares won"""
    label: float | str | None = None
    """people's label; none without one"""
    nearer: Side | None = None
    """the run whose answer is nearer to the label; none where that is unknown"""


class PeopleSide(Struct, frozen=True):
    """Which of two runs people agree with, on the labelled items that both answered."""

    n: int
    """labelled items that both runs answered"""
    n_first: int
    """labels that are nearer to the answer of the first run"""
    n_second: int
    n_equal: int
    pair: JudgePair
    """the test of `trust --versus`"""


class CriterionComparison(Struct, frozen=True):
    """One criterion in both runs."""

    criterion: str
    kind: Kind
    protocols: tuple[str, str]
    models: tuple[str, str]
    scales: tuple[Scale | None, Scale | None]
    unit: Unit
    direction: int
    """1 where a higher score is better, -1 where a lower one is, 0 where that is unknown"""
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    conclusion: Conclusion
    n_items: int
    n_only_first: int
    n_only_second: int
    systems: dict[str, SystemComparison]
    order: SystemOrder | None
    """none for one system, and for choices"""
    agreement: dict[str, Estimate]
    """`spearman` over items; for choices `exact`, `decided` and `kappa`"""
    n_moved: int = 0
    """items whose answers differ"""
    moved: tuple[MovedItem, ...] = ()
    """those that moved most, the largest difference first"""
    people: PeopleSide | None = None
    """none without labels, and where the texts differ: a label belongs to one of two texts"""


class Comparison(Struct, frozen=True):
    """Two runs on the same items."""

    summary: tuple[str, ...]
    first: str
    second: str
    criteria: dict[str, CriterionComparison]
    changed: tuple[str, ...]
    """what differs between the runs apart from their scores"""
    judging_changes: tuple[str, ...]
    """the changes among them to the judge: protocol, model, settings"""
    n_items: int
    """items in both runs"""
    n_only_first: int
    n_only_second: int
    n_content_differs: int | None
    """common items whose texts differ; none where that is unknown"""
    fields_that_differ: dict[str, int]
    notes: tuple[str, ...]
    seed: int
    is_fake: bool = False

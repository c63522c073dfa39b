"""The parts of a summary, as they are written to JSON. No number stands without n and failures."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from ..records import Estimate, Estimator, Scale
from ..stats import Bounds, PositionBias, Spread
from .panel import PanelSummary

CautionKind = Literal[
    "incomplete", "left_out", "failed_calls", "all_failed", "fake_model", "weak_judge", "model_changed", "uneven_failures",
    "partial_panel", "panel_disagrees", "judge_apart", "self_preference", "no_information", "few_groups", "near_duplicates",
    "injection_suspected", "order_conflict", "position", "one_order", "contradiction", "direction_unknown", "not_comparable",
]  # fmt: skip


Spreads = dict[tuple[str, str], Spread]
"""(criterion, model) → how the scores are spread over all systems"""


class Cell(Estimate, frozen=True):
    """The mean of one criterion for one system, with what became of all its scores."""

    failures: dict[str, int] = field(default_factory=dict)
    """status → scores; together they are `n_failed`"""
    bounds: Bounds | None = None
    """the mean if all failures had been at the one or the other end of the scale"""
    distribution: dict[str, int] = field(default_factory=dict)
    """value → scores; see `distribution_of`"""
    distribution_of: Literal["values", "nearest levels", "nothing"] = "values"
    """`nearest levels` where scores lie between the levels, `nothing` where there are too many values"""
    n_samples: int = 0
    """replies behind these scores; more than scores where each item was judged several times"""
    n_samples_failed: int = 0
    """those that could not be read; a score is ok as long as one of its samples is"""
    n_groups: int | None = None
    """groups behind the interval; none where each item stands alone"""
    n_partial: int = 0
    """items that only some of several judges scored"""
    n_flagged: int = 0
    """scores of items with `injection_suspected`"""
    without_flagged: Estimate | None = None
    """the mean without those"""
    reason: str = ""
    """why the value or the interval is missing"""


class CriterionSummary(Struct, frozen=True):
    """What holds for one criterion over all systems."""

    protocol: str
    criterion: str
    scale: Scale | None
    spread: Spread
    minimum_detectable: float | None
    """the smallest true difference of two systems that this many items show four times in five"""


class FailureShare(Struct, frozen=True):
    """How many of a system's scores could not be read, over all judges and criteria."""

    n: int
    failed: int
    by_status: dict[str, int]
    n_samples: int
    n_samples_failed: int
    """also those whose score stands, because another sample of it could be read"""
    n_items: int
    share: Estimate
    """of the samples that failed; the interval counts items, since criteria of one reply fail together"""


class Correlation(Struct, frozen=True):
    """How two criteria move together over items."""

    criteria: tuple[str, str]
    spearman: Estimate


class PairSummary(Struct, frozen=True):
    """The choices between two systems. `a` and `b` count wins of `system_a` and `system_b`."""

    system_a: str
    system_b: str
    a: int
    b: int
    tie: int
    failed: int
    failures: dict[str, int]
    won_by_a: Estimate
    """a tie counts as half a win"""
    n_partial: int
    """pairs that only some of several judges decided"""
    order_conflicts: Estimate
    """the share of choices that changed with the order shown, and count as ties; undefined with one order"""


class ModelSummary(Struct, frozen=True):
    """One judge: who it said it was, and its own means where there are several judges."""

    names: dict[str, int]
    fingerprints: dict[str, int]
    is_fake: bool
    systems: dict[str, dict[str, Cell]] = {}
    pairs: dict[str, tuple[PairSummary, ...]] = {}
    order: dict[str, PositionBias] = {}


class RungShare(Struct, frozen=True):
    """How many scores were read on one rung of the ladder."""

    n: int
    share: float


class Caution(Struct, frozen=True):
    """Something a reader must know before using a number."""

    kind: CautionKind
    text: str


class Summary(Struct, frozen=True):
    """All that a report says, in the order in which it says it."""

    run: str
    started: str
    status: str
    version: str
    n_items: int
    n_scores: int
    """scores and choices, failed ones included"""
    n_failed: int
    n_samples: int
    n_samples_failed: int
    systems: dict[str, dict[str, Cell]]
    """best first by the first criterion; over several judges, of each item's mean"""
    criteria: dict[str, CriterionSummary]
    pairs: dict[str, tuple[PairSummary, ...]]
    position: dict[str, Estimate]
    """criterion → share of choices for the response shown first"""
    order: dict[str, PositionBias]
    """criterion → whether the place shown decides: both orders, the first place, a test"""
    panel: dict[str, PanelSummary]
    """criterion → how several judges agree; empty with one judge"""
    models: dict[str, ModelSummary]
    rungs: dict[str, dict[str, RungShare]]
    """model → rung, or `failed` → scores"""
    failures_by_system: dict[str, FailureShare]
    correlations: tuple[Correlation, ...]
    flags: dict[str, int]
    warnings: tuple[Caution, ...]
    protocols: dict[str, str]
    estimator: Estimator | None
    parameters: dict[str, Any]
    adjustments: tuple[str, ...]
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    seconds: float
    n_calls: int
    n_cached: int
    n_planned: int | None = None
    n_left_out: int = 0
    n_unpriced: int = 0
    """replies whose cost is not known, and not in `cost_usd`"""
    call_errors: dict[str, int] = {}

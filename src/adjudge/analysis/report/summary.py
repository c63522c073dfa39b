"""The summary of a run: every number of its report. What `--json` prints; nothing here computes."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

from ...records import ElementSummary, Estimate, Estimator, Scale
from ...stats import Bounds, PositionBias, Spread
from ..about import About
from ..trust.card import Recommendation

CautionKind = Literal[
    "incomplete",
    "left_out",
    "failed_calls",
    "all_failed",
    "fake_model",
    "weak_judge",
    "judge_ends",
    "model_changed",
    "uneven_failures",
    "partial_panel",
    "panel_disagrees",
    "judge_apart",
    "self_preference",
    "identical_samples",
    "no_information",
    "few_groups",
    "near_duplicates",
    "injection_suspected",
    "order_conflict",
    "position",
    "one_order",
    "contradiction",
    "direction_unknown",
    "not_comparable",
    "transcript_cut",
    "identical_responses",
    "between_levels",
    "evidence_not_found",
]


Spreads = dict[tuple[str, str], Spread]
"""(criterion, model) → the spread of the scores over all systems"""


class Cell(Estimate, frozen=True):
    """The mean of one criterion for one system, with its failures and the distribution of its scores."""

    failures: dict[str, int] = field(default_factory=dict)
    """status → number of scores; they add up to `n_failed`"""
    bounds: Bounds | None = None
    """the mean if all failures had been at the low end of the scale, or all at the high end"""
    distribution: dict[str, int] = field(default_factory=dict)
    """value → number of scores; see `distribution_of`"""
    distribution_of: Literal["values", "nearest levels", "nothing"] = "values"
    """`nearest levels` where scores lie between the levels, `nothing` where there are too many values"""
    n_samples: int = 0
    """replies behind these scores; more than the scores where each item was judged several times"""
    n_samples_failed: int = 0
    """unreadable replies; a score is ok as long as one of its samples could be read"""
    n_groups: int | None = None
    """groups behind the interval; none where items are independent"""
    n_partial: int = 0
    """items that only some of several judges scored"""
    n_flagged: int = 0
    """scores of items with `injection_suspected`"""
    without_flagged: Estimate | None = None
    """the mean without the flagged scores"""
    shares: dict[str, Estimate] | UnsetType = UNSET
    """class → its share; unset where the scores are numbers on a scale"""


class CriterionSummary(Struct, frozen=True):
    """One criterion over all systems."""

    protocol: str
    criterion: str
    scale: Scale | None
    spread: Spread
    minimum_detectable: float | None
    """the smallest true difference of two systems that this many items detect with 80 % power"""
    failures_p: float | None = None
    """of the test that all systems fail equally often on this criterion; none where there is nothing to test
    """
    text: str | UnsetType = UNSET
    """the criterion in the user's words; unset where it was not given so"""
    recommendation: Recommendation | UnsetType = UNSET
    """whether the judge can be used for it; unset where the labels were not looked at"""


class FailureShare(Struct, frozen=True):
    """How many of a system's scores could not be read, over all judges and criteria."""

    n: int
    failed: int
    by_status: dict[str, int]
    n_samples: int
    n_samples_failed: int
    """includes samples whose score is ok because another sample of it could be read"""
    n_items: int
    share: Estimate
    """share of failed samples; the interval counts items, because the criteria of one reply fail together"""


class Correlation(Struct, frozen=True):
    """The correlation of two criteria over items."""

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
    """share of choices that changed with the order shown and count as ties; undefined with one order"""


class QuoteShare(Struct, frozen=True):
    """How many of the passages that a judge quoted stand in the judged text."""

    n: int
    n_grounded: int
    share: float


class ModelSummary(Struct, frozen=True):
    """One judge: how it identified itself, and its means where there are several judges."""

    names: dict[str, int]
    fingerprints: dict[str, int]
    is_fake: bool
    systems: dict[str, dict[str, Cell]] = {}
    pairs: dict[str, tuple[PairSummary, ...]] = {}
    order: dict[str, PositionBias] = {}
    evidence: QuoteShare | UnsetType = UNSET
    """its quoted evidence, where a protocol asks for it"""


class RungShare(Struct, frozen=True):
    """How many scores were read by one reading rule."""

    n: int
    share: float


class JudgeInPanel(Struct, frozen=True):
    """One judge compared with the others, on the items that it and at least one other have judged."""

    shift: Estimate
    """mean of its score minus the mean of the others': how much more lenient it is; undefined for choices"""
    with_rest: Estimate
    """Spearman correlation with the mean of the others"""
    alpha_without: Estimate
    """Krippendorff's alpha of the other judges"""


class PanelSummary(Struct, frozen=True):
    """Inter-rater agreement of several judges on one criterion."""

    pooled: Literal["mean", "vote"]
    """how the judges become one in the numbers of the run:
    each item's mean, or the side that more judges chose
    """
    alpha: Estimate
    judges: dict[str, JudgeInPanel]
    stands_apart: str | None
    """the judge without which the others agree clearly better"""


class Caution(Struct, frozen=True):
    """A warning to read before using a number."""

    kind: CautionKind
    text: str
    criterion: str | UnsetType = UNSET
    """the criterion that it is about; unset where it is about several"""
    system: str | UnsetType = UNSET
    """the system that it is about; unset where it is about several"""
    brief: str | UnsetType = UNSET
    """the warning in a few words, without its criterion"""


class Summary(Struct, frozen=True):
    """Everything in a report, in the order of its sections."""

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
    """best first by the first criterion; with several judges, from each item's mean"""
    criteria: dict[str, CriterionSummary]
    pairs: dict[str, tuple[PairSummary, ...]]
    position: dict[str, Estimate]
    """criterion → share of choices of the response shown first"""
    order: dict[str, PositionBias]
    """criterion → position bias"""
    panel: dict[str, PanelSummary]
    """criterion → agreement of the judges; empty with one judge"""
    models: dict[str, ModelSummary]
    rungs: dict[str, dict[str, RungShare]]
    """model → reading rule, or `failed` → scores"""
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
    """replies whose cost is unknown and not in `cost_usd`"""
    call_errors: dict[str, int] = {}
    failures_p: float | None = None
    """of the test that all systems fail equally often, over
    all judges and criteria; none where nothing failed
    """
    n_reasks: int = 0
    """replies to follow-up questions for an answer that was missing"""
    reasks_usd: float = 0.0
    """their part of `cost_usd`"""
    paid_earlier_usd: float | UnsetType = UNSET
    """the part of `cost_usd` that earlier runs paid; unset where there is none"""
    price_dates: dict[str, str] | UnsetType = UNSET
    """model → date of the published price behind `cost_usd`; unset where users gave all prices"""
    cached_tokens: int | UnsetType = UNSET
    """of `tokens_in`, those that providers read from their prompt caches; unset where none"""
    cache_saved_usd: float | UnsetType = UNSET
    """what that saved, less what writing to the caches cost"""
    cascade: dict[str, Any] | UnsetType = UNSET
    """which stage of a cascade decided how many items; unset for other runs"""
    without_explanation: tuple[str, ...] | UnsetType = UNSET
    """judges that answer typed questions and give no explanation; unset where each gives one"""
    about: About | UnsetType = UNSET
    """what the means are about, where that is not new inputs"""
    pair_recommendations: dict[str, Recommendation] = {}
    """criterion → whether the judge can be used to choose between two responses"""
    elements: dict[str, tuple[ElementSummary, ...]] | UnsetType = UNSET
    """criterion → what was checked one by one, by system and judge; unset without steps"""

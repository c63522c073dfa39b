"""What a gate decided and on what, as values. Nothing here computes.

The exit codes are part of the contract with scripts: 0 good, 1 worse, 3 not enough evidence, 4 the judge failed too often.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from ..combine import Kind
from ..records import Estimate, Estimator, Scale
from ..stats import (
    AltTest,
    Bounds,
    Confidence,
    Plan,
    PositionBias,
    Resample,
    Retest,
    Spread,
    Test,
    TieCalibration,
    TwoJudges,
)
from ..stats.resample import N_RESAMPLES
from .panel import PanelSummary

# The parts of a summary, as they are written to JSON. No number stands without n and failures.


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


# What a judge card says, as values: agreement, ceiling, correction, failures, and the sentences in front.
#
# Nothing here computes. A number that cannot be given is an `Estimate` without a value whose `method` says why.


class Draws(Struct, frozen=True):
    """How intervals are resampled: what a claim is about, how often, and from which seed."""

    unit: Resample = "inputs"
    n: int = N_RESAMPLES
    """where a resample is costly (the ceiling, permutations), half as many"""
    seed: int = 0


class Sentence(Struct, frozen=True):
    """A finding for someone who is not a statistician, and where it comes from."""

    text: str
    source: str


class PeopleCeiling(Estimate, frozen=True, kw_only=True):
    """One rater against the others, as an estimate; what the judge reaches of it is beside it."""

    upper: Estimate | None = None
    """one rater against the mean of all, the rater included"""
    judge: Estimate
    """the judge, held against the same raters"""
    share: Estimate
    """judge / ceiling; above 1 the judge is closer to the others than a rater is"""
    by_rater: dict[str, float | None] = field(default_factory=dict)


class CorrectedMean(Estimate, frozen=True, kw_only=True):
    """The mean that people would have given, from a few labels and the judge's scores of all items."""

    judge_only: Estimate
    labels_only: Estimate
    bias: Estimate
    """judge - people on the labelled items"""
    power: float | None = None
    """how far the judge is believed; 0 is not at all"""
    effective_labels: float | None = None
    """how many labels without a judge would give as narrow an interval; at most all items"""


class SystemFailures(Struct, frozen=True):
    """How often the judge gave nothing for a system, and what that leaves open."""

    n: int
    """items that were asked about"""
    failed: Estimate
    """the share without a score"""
    by_status: dict[str, int]
    n_samples: int
    n_samples_failed: int
    bounds: Bounds | None
    """the least and the greatest mean that the failures leave possible"""


class Quality(Struct, frozen=True):
    """What the scores show without people."""

    n: int
    n_failed: int
    spread: Spread | None
    """none for choices"""
    counts: dict[str, int]
    """how often each answer was given, for choices"""
    sample_sd: float | None
    """the standard deviation of repeated samples of one item, pooled"""
    retest: Retest | None
    """within- and between-item variance and reliability of repeated samples; none where none was repeated"""
    minimum_detectable: float | None
    """the smallest difference of two systems that as many items would show"""
    failures: dict[str, SystemFailures]


class CriterionCard(Struct, frozen=True):
    """One judge on one criterion, held against people."""

    criterion: str
    protocol: str
    model: str
    kind: Kind
    scale: Scale | None
    raters: tuple[str, ...]
    n_items: int
    n_labelled: int
    """items with a label"""
    n_failed: int
    """labelled items on which the judge failed"""
    n_unknown: int
    """labelled items that were not judged"""
    sentences: tuple[Sentence, ...]
    notes: tuple[str, ...]
    """what a reader must know before using the numbers"""
    item: dict[str, Estimate]
    group: dict[str, Estimate]
    system: dict[str, Estimate]
    pairwise: TieCalibration | None
    ceiling: PeopleCeiling | None
    alt_test: AltTest | None
    bias: Estimate
    corrected: dict[str, CorrectedMean]
    pooled: CorrectedMean | None
    """the corrected mean over all systems; none for choices or a single system"""
    differences: dict[str, CorrectedMean]
    """first - second: on the inputs that both answered, or of independent items where they share none"""
    pass_share: dict[str, Estimate]
    """by system the share that people would pass (Rogan-Gladen), on a scale of two levels"""
    calibration: dict[str, Estimate]
    """the mean distance from people on held-out items: `before`, `after` an isotonic calibration, after an `ordinal` one;
    with `error_` in front the calibration error"""
    plan: dict[str, Plan]
    """by system the labels needed for the width that was asked for"""
    confidence: Confidence | None
    """stated confidence against being right; none where none was stated"""
    quality: Quality


class JudgesApart(Struct, frozen=True):
    """Two judges of one criterion on the same labelled items: which one goes with people better."""

    criterion: str
    first: str
    second: str
    sentence: Sentence
    result: TwoJudges
    """of scores the Spearman correlations with people, of choices the shares of equal choices"""
    mcnemar: Test | None = None
    """for choices: of the items that one judge alone got right, how many were the first's"""


class Card(Struct, frozen=True):
    """The judge card: whether scores can be trusted, and what they are really."""

    summary: tuple[Sentence, ...]
    criteria: dict[str, CriterionCard]
    judges: tuple[JudgesApart, ...]
    resample: str
    seed: int
    n_labels: int
    n_labels_empty: int
    """rows of the label file that nobody filled in yet"""
    notes: tuple[str, ...]
    run: str = ""
    misread: Estimate | None = None
    """the share of readings that a person found wrong; none where nobody checked"""


# What a ranking says, as values: where each system stands, what cannot be told apart, and what to beware of.
#
# Nothing here computes. A number that cannot be given is an `Estimate` without a value whose `method` says why.


class Counts(Struct, frozen=True):
    """Games won, lost and tied; by probability, won is above one half."""

    won: int
    lost: int
    tied: int


class Standing(Struct, frozen=True):
    """One system among the others."""

    system: str
    place: int
    """by the point estimates; 1 is best"""
    places: tuple[int, int]
    """the best and the worst place that the tests leave open"""
    win_rate: Estimate
    """a tie is half a win"""
    strength: Estimate
    """on the log scale; 0 is the mean of the systems; sandwich interval"""
    strength_bootstrap: Estimate
    elo: Estimate
    """the strength on an Elo-like scale: 400 points are odds of ten to one, 1000 is the mean"""
    counts: Counts
    n_failed: int
    """pairs or scores of this system without a usable judgment"""
    mean: Estimate | None = None
    """of scores; none where the judge chose between responses"""
    weighted: Estimate | None = None
    """the win rate by how likely each choice was; none without log-probabilities"""
    length_controlled: Estimate | None = None
    """the win rate, were all responses equally long"""
    length_difference: float | None = None
    """characters by which its responses are longer than those they met, on the mean"""


class Difference(Struct, frozen=True):
    """Two systems: how far apart they are, and whether that could be chance."""

    first: str
    second: str
    difference: Estimate
    """first - second: strengths, or the paired difference of scores"""
    p: float | None
    p_adjusted: float | None
    """Holm's, over all pairs of systems"""
    test: str
    is_open: bool
    """whether the two cannot be told apart"""
    any_time: Estimate | None = None
    """of neighbours: the share of their own games that the first took, with an interval for whoever looks again and again"""


class Met(Struct, frozen=True):
    """What a system took of its games with another."""

    share: Estimate
    counts: Counts


class Length(Struct, frozen=True):
    """How the length of a response moves the judge."""

    coefficient: Estimate
    """change of the log odds per typical difference of lengths"""
    typical_difference: float | None
    """in characters"""


class CriterionRanking(Struct, frozen=True, kw_only=True):
    """The systems by one criterion, best first."""

    criterion: str
    protocol: str
    kind: Kind
    models: tuple[str, ...]
    systems: tuple[Standing, ...]
    order: PositionBias
    """of choices: whether the place decides; without numbers for scores"""
    order_by_model: dict[str, PositionBias] = field(default_factory=dict)
    matrix: dict[str, dict[str, Met]]
    differences: tuple[Difference, ...]
    length: Length | None
    by_model: dict[str, dict[str, Estimate]]
    """the win rates by each judge alone, where there are several"""
    model: str
    """how strengths were fitted"""
    tie_parameter: float | None
    components: tuple[tuple[str, ...], ...]
    """systems whose strengths can be compared, those above first"""
    islands: tuple[tuple[str, ...], ...]
    """systems that met, directly or through others"""
    never_lost: tuple[str, ...]
    never_won: tuple[str, ...]
    n_games: int
    n_failed: int
    n_groups: int | None
    """independent prompts, where items share them"""
    notes: tuple[str, ...]


class Proposal(Struct, frozen=True):
    """A comparison worth asking for."""

    system_a: str
    system_b: str
    group: str | None
    """the prompt on which both outputs are known and were not compared; none: one that is not in the run yet"""
    id: str | None


class Ranking(CriterionRanking, frozen=True, kw_only=True):
    """The first criterion in full, and all of them by name."""

    criteria: dict[str, CriterionRanking]
    next: tuple[Proposal, ...] = ()
    run: str = ""
    seed: int = 0


# What a comparison of two runs says, as values. Nothing here computes.
#
# Every difference is second - first. A number that cannot be given is an `Estimate` without a value whose `method` says why.


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
    judging_changes: tuple[str, ...]
    """those among them that make another judge: the protocol, the model, the settings"""
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


Outcome = Literal["good", "worse", "open", "failed"]
Rule = Literal["min", "max", "max_drop", "max_failed"]

EXIT_CODES: dict[Outcome, int] = {"good": 0, "worse": 1, "open": 3, "failed": 4}
GRAVITY: tuple[Outcome, ...] = ("failed", "worse", "open", "good")
"""Of several checks the gravest outcome is the gate's. A judge that fails too often comes first: what it says of the rest
is not to be relied on."""
WORDS: dict[Outcome, str] = {
    "good": "good",
    "worse": "worse",
    "open": "not enough evidence",
    "failed": "the judge failed too often",
}


class Check(Struct, frozen=True):
    """One threshold held against one estimate."""

    rule: Rule
    criterion: str
    system: str
    threshold: float
    estimate: Estimate
    """what was decided on: a mean, a change against the baseline, or a share of failures"""
    outcome: Outcome
    text: str
    """the decision as a sentence"""
    remarks: tuple[str, ...] = ()
    minimum_detectable: float | None = None
    """the distance from the threshold that as many items decide four times in five"""
    n_more: int | None = None
    """how many more it would take to decide four times in five; none where it is decided or no number would do"""
    n_more_of: str = ""
    """items, groups or labels"""
    is_share: bool = False
    """whether the threshold is a share, written in per cent: a win rate, or failures of all items"""

    @property
    def asked(self) -> str:
        """The threshold as a reader is shown it."""
        return f"{100 * self.threshold:.10g} %" if self.is_share else f"{self.threshold:g}"


class Verdict(Struct, frozen=True):
    """All checks of a gate, and what they come to."""

    outcome: Outcome
    exit_code: int
    run: str
    baseline: str | None
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    is_fake: bool
    """whether a judge was a fake for tests: then the outcome says nothing about any system"""
    is_corrected: bool
    """whether labels of people corrected the means"""


def gravest(outcomes: list[Outcome]) -> Outcome:
    """What several checks come to."""
    return min(outcomes, key=GRAVITY.index, default="good")

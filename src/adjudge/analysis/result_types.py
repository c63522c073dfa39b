"""The results of every analysis as plain values: report, judge card, ranking, comparison, audit, gate. Nothing here computes.

Field names are JSON keys and part of the public contract, as are the exit codes of the gate. Every number comes with
its n and its failures. A number that cannot be given is an `Estimate` without a value, and with the reason.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

from ..combine import Kind
from ..probes import ProbeKind
from ..records import ElementSummary, Estimate, Estimator, Scale
from ..stats import (
    AltTest,
    Bounds,
    ClassAgreement,
    Confidence,
    PartAgreement,
    Plan,
    PositionBias,
    Probabilities,
    Resample,
    Retest,
    ScoreInterval,
    Spread,
    Test,
    TieCalibration,
    TwoJudges,
)
from ..stats.resample import N_RESAMPLES

SIGNIFICANCE = 0.05
"""Differences with an adjusted p-value up to this are statistically significant."""

# -- The report of a run


CautionKind = Literal[
    "incomplete", "left_out", "failed_calls", "all_failed", "fake_model", "weak_judge", "model_changed", "uneven_failures",
    "partial_panel", "panel_disagrees", "judge_apart", "self_preference", "identical_samples", "no_information", "few_groups", "near_duplicates",
    "injection_suspected", "order_conflict", "position", "one_order", "contradiction", "direction_unknown", "not_comparable", "transcript_cut",
    "identical_responses", "between_levels",
]  # fmt: skip


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
    """of the test that all systems fail equally often on this criterion; none where there is nothing to test"""
    text: str | UnsetType = UNSET
    """the criterion in the user's words; unset where it was not given so"""


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


class ModelSummary(Struct, frozen=True):
    """One judge: how it identified itself, and its means where there are several judges."""

    names: dict[str, int]
    fingerprints: dict[str, int]
    is_fake: bool
    systems: dict[str, dict[str, Cell]] = {}
    pairs: dict[str, tuple[PairSummary, ...]] = {}
    order: dict[str, PositionBias] = {}


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
    """how the judges become one in the numbers of the run: each item's mean, or the side that more judges chose"""
    alpha: Estimate
    judges: dict[str, JudgeInPanel]
    stands_apart: str | None
    """the judge without which the others agree clearly better"""


class Caution(Struct, frozen=True):
    """A warning to read before using a number."""

    kind: CautionKind
    text: str


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
    """of the test that all systems fail equally often, over all judges and criteria; none where nothing failed"""
    n_reasks: int = 0
    """replies to follow-up questions for an answer that was missing"""
    reasks_usd: float = 0.0
    """their part of `cost_usd`"""
    paid_earlier_usd: float | UnsetType = UNSET
    """the part of `cost_usd` that earlier runs paid; unset where there is none"""
    price_dates: dict[str, str] | UnsetType = UNSET
    """model → date of the published price behind `cost_usd`; unset where users gave all prices"""
    elements: dict[str, tuple[ElementSummary, ...]] | UnsetType = UNSET
    """criterion → what was checked one by one, by system and judge; unset without steps"""


# -- The judge card: agreement with people, noise ceiling, corrected means, failures


class Resampling(Struct, frozen=True):
    """How intervals are resampled: the unit to resample, how often, and the seed."""

    unit: Resample = "inputs"
    n: int = N_RESAMPLES
    """half as many where a resample is expensive (the noise ceiling, permutations)"""
    seed: int = 0


class Sentence(Struct, frozen=True):
    """A finding in plain words, and the method behind it."""

    text: str
    source: str


class PeopleCeiling(Estimate, frozen=True, kw_only=True):
    """The noise ceiling: the agreement of one rater with the others, and the judge's share of it."""

    upper: Estimate | None = None
    """one rater compared with the mean of all raters, this one included"""
    judge: Estimate
    """the judge compared with the same raters"""
    share: Estimate
    """judge / ceiling; above 1 the judge agrees with the raters better than a rater does"""
    by_rater: dict[str, float | None] = field(default_factory=dict)
    alpha: Estimate | None = None
    """Krippendorff's alpha of the raters (nominal for choices); none without items that two of them rated"""
    corrected: Estimate | None = None
    """the judge's correlation with the mean of all raters, divided by the root of that mean's reliability"""
    fleiss: Estimate | UnsetType = UNSET
    """Fleiss' kappa of the raters, where the answers are classes"""

    @property
    def standing(self) -> Literal["above", "on par", "below", "unclear", "unknown"]:
        """The judge compared with a human rater, as far as the intervals allow."""
        low, high = self.share.low, self.share.high
        if low is not None and high is not None:
            return "below" if high < 1 else "above" if low > 1 else "on par" if low >= 0.8 else "unclear"
        judge = self.judge
        if judge.low is None or judge.high is None or self.low is None or self.high is None:
            return "unknown"
        return "below" if judge.high < self.low else "above" if judge.low > self.high else "on par"


class RaterSeverity(Struct, frozen=True):
    """How much higher one rater scores than the others. The intervals of all raters hold together."""

    difference: Estimate
    basis: Literal["same items", "judge"]
    """compared on the same items, or, where raters share none, by the distance from the judge's scores"""
    is_large: bool
    """significant, and at least a tenth of the scale"""


VerdictReason = Literal["below_rater", "loses", "constant", "shuffled", "undefined"]


class ReplacementVerdict(Struct, frozen=True):
    """Whether the judge can replace a human rater: the one answer of the card."""

    answer: Literal["yes", "no", "not shown", "undefined"]
    """`no` where the judge agrees with the raters significantly less than a rater does"""
    reasons: tuple[VerdictReason, ...] = ()
    """why it is not yes: below a human rater; too few raters won against; a constant answer, or shuffled scores, not beaten"""


class ConfusionMatrix(Struct, frozen=True):
    """How often each answer of the judge met each rating."""

    judge: tuple[str, ...]
    """the rows; `failed` where the judge gave no answer"""
    human: tuple[str, ...]
    """the columns"""
    counts: tuple[tuple[int, ...], ...]
    n_items: int
    n_ratings: int


class CorrectedMean(Estimate, frozen=True, kw_only=True):
    """A mean corrected with human labels: a few labels and the judge's scores of all items (PPI++)."""

    judge_only: Estimate
    labels_only: Estimate
    bias: Estimate
    """judge - people on the labelled items"""
    power: float | None = None
    """weight of the judge's scores; 0 ignores them"""
    effective_labels: float | None = None
    """number of labels that would give an interval of this width without a judge; at most all items"""
    as_labelled: float | None = None
    """the same with labels as people gave them; none where none was reviewed"""
    is_thin: bool = False
    """whether groups or unequal probabilities leave so few effective labels that the interval may be too narrow"""


class SystemFailures(Struct, frozen=True):
    """How often the judge failed on a system, and the means that remain possible."""

    n: int
    """judged items, failed ones included"""
    failed: Estimate
    """share of items without a score"""
    by_status: dict[str, int]
    n_samples: int
    n_samples_failed: int
    bounds: Bounds | None
    """lowest and highest mean that the failures leave possible"""


class Quality(Struct, frozen=True):
    """Checks that need no labels."""

    n: int
    n_failed: int
    spread: Spread | None
    """none for choices"""
    counts: dict[str, int]
    """for choices: number of items by choice"""
    sample_sd: float | None
    """pooled standard deviation of repeated samples of one item"""
    retest: Retest | None
    """within- and between-item variance and reliability of repeated samples; none without repeated samples"""
    minimum_detectable: float | None
    """the smallest difference of two systems that this many items detect"""
    failures: dict[str, SystemFailures]
    failures_p: float | None = None
    """of the test that the judge fails equally often on every system; none where there is nothing to test"""


class ReviewTally(Struct, frozen=True):
    """What the reviews of one criterion did to its labels."""

    n_labels: int
    n_reviewed: int
    """labels that were reviewed"""
    n_changed: int
    """labels replaced by the judge's answer"""
    n_confirmed: int
    """labels that stand, because people are right or both are defensible"""
    n_unclear: int
    """items that are left out like items without a label"""
    n_split: int
    """labels that stand, because reviewers disagree"""
    n_unusable: int
    """labels that stand although the judge is right: it failed, or its answers are on another scale"""
    n_unlabelled: int
    """reviews of items without a label, which are not used"""
    n_random: int = 0
    """labels that were reviewed at random"""
    n_random_changed: int = 0
    """changed or left out"""
    random_changed: Estimate | None = None
    """of the labels reviewed at random, the share that changed: an estimate for all labels that were not reviewed"""
    agreement: Estimate | None = None
    """with the reviewed labels: Spearman over items, for choices the share of equal choices"""


class CriterionCard(Struct, frozen=True):
    """One judge on one criterion, compared with people."""

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
    """warnings to read before using the numbers"""
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
    """first - second: paired on shared inputs, or of independent items where the systems share none"""
    pass_share: dict[str, Estimate]
    """system → share that people would pass (Rogan-Gladen), on a scale of two levels"""
    calibration: dict[str, Estimate]
    """mean absolute error on held-out items: `before`, `after` an isotonic calibration, after an `ordinal` one;
    with the prefix `error_` the calibration error"""
    plan: dict[str, Plan]
    """system → labels needed for the requested interval width"""
    confidence: Confidence | None
    """calibration of stated confidence; none where the judge stated none"""
    quality: Quality
    verdict: ReplacementVerdict = ReplacementVerdict("undefined", ("undefined",))
    severity: dict[str, RaterSeverity] = {}
    """rater → how much higher than the others; empty for choices and for one rater"""
    confusion: ConfusionMatrix | None = None
    """none where the answers have no levels, or too many"""
    by: dict[str, dict[str, PartAgreement]] = {}
    """`system`, `length` or a field → part → agreement in that part"""
    reviews: ReviewTally | None = None
    """what reviews did to the labels; none without reviews"""
    probabilities: Probabilities | None = None
    """whether the judge's probabilities can be believed; none where it gives none"""
    single_score: ScoreInterval | None = None
    """between which labels of people a single score stands; none for choices"""
    classes: dict[str, ClassAgreement] | UnsetType = UNSET
    """class → its precision and recall; unset where the answers are no classes"""

    @property
    def is_nominal(self) -> bool:
        return self.classes is not UNSET


class JudgePair(Struct, frozen=True):
    """Two judges of one criterion on the same labelled items: which one agrees with people better."""

    criterion: str
    first: str
    second: str
    sentence: Sentence
    result: TwoJudges
    """for scores the Spearman correlations with people, for choices the shares of equal choices"""
    mcnemar: Test | None = None
    """for choices: McNemar's test on the items that only one of the judges got right"""


class StopDecision(Struct, frozen=True):
    """Whether the labels of one system suffice for a stop rule."""

    decision: Literal["stop", "continue"]
    answer: Literal["yes", "no"] | None
    """for a rule on the mean: whether it holds; for a rule on the width: yes once it is reached"""
    reason: Literal["decided", "undecided", "all_labelled"]
    n_labels: int
    n_items: int
    n_decided: int | None
    """the number of labels at which the rule was first decided"""
    mean: Estimate
    """prediction-powered, with an interval that holds after every label"""
    n_fixed: int | None
    """labels that a number fixed in advance would take for the same decision with 80 % power, or for the width"""
    n_saved: int | None
    """`n_fixed` - `n_decided`; below 0 where looking after every label cost labels"""


class Stop(Struct, frozen=True):
    """The stop rule of a card: whether to go on labelling."""

    rule: str
    decision: Literal["stop", "continue"]
    """stop once every system of every criterion is decided"""
    answer: Literal["yes", "no"] | None
    """yes where it is for all of them, no where it is for any"""
    n_labels: int
    criteria: dict[str, dict[str, StopDecision]]
    """criterion → system → decision"""


class ChosenJudge(Struct, frozen=True):
    """The judge that one half of the labels chose, measured on the other half."""

    judge: str
    agreement: Estimate
    lead: Estimate
    """its lead over the first judge"""


class BestJudge(Struct, frozen=True):
    """Several judges of one criterion: which agrees best with people, corrected for the choice among many."""

    criterion: str
    first: str
    """the judge that the others are compared with"""
    best: str | None
    """the judge with the highest agreement"""
    n: int
    """labelled items that all judges answered"""
    agreement: dict[str, Estimate]
    """Spearman of scores, share of equal choices"""
    over_first: dict[str, Estimate]
    """judge - first; the intervals hold together"""
    behind_best: dict[str, Estimate]
    """best - judge; the intervals hold together for all pairs of judges"""
    improved: tuple[str, ...]
    """judges that agree significantly better than the first"""
    leading: tuple[str, ...]
    """the best judge, and those that are not significantly worse"""
    held_out: ChosenJudge | None
    """none with fewer than 100 labelled items (or groups)"""
    reason: str = ""
    kind: Kind = "scores"


class Card(Struct, frozen=True):
    """The judge card: how well a judge agrees with people, and means corrected with their labels."""

    summary: tuple[Sentence, ...]
    criteria: dict[str, CriterionCard]
    judges: tuple[JudgePair, ...]
    resample: str
    seed: int
    n_labels: int
    n_labels_empty: int
    """rows of the label file without a value"""
    notes: tuple[str, ...]
    run: str = ""
    misread: Estimate | None = None
    """share of readings that were wrong in a check by hand; none without a check"""
    stop: Stop | None = None
    """whether the labels suffice; none without a stop rule"""
    best: tuple[BestJudge, ...] = ()
    """one for each criterion with several judges"""


# -- The ranking of systems


class Counts(Struct, frozen=True):
    """Games won, lost and tied; a probability above one half counts as won."""

    won: int
    lost: int
    tied: int


class Standing(Struct, frozen=True):
    """One system among the others."""

    system: str
    place: int
    """rank by the point estimates; 1 is best"""
    places: tuple[int, int]
    """best and worst rank that the tests leave possible"""
    win_rate: Estimate
    """a tie counts as half a win"""
    strength: Estimate
    """on the log scale; 0 is the mean of the systems; sandwich interval"""
    strength_bootstrap: Estimate
    elo: Estimate
    """the strength on an Elo-like scale: 400 points are odds of ten to one, 1000 is the mean"""
    counts: Counts
    n_failed: int
    """pairs or scores of this system on which the judge failed"""
    mean: Estimate | None = None
    """mean score; none for choices"""
    weighted: Estimate | None = None
    """win rate weighted by the probability of each choice; none without log-probabilities"""
    length_controlled: Estimate | None = None
    """win rate if all responses were equally long"""
    length_difference: float | None = None
    """mean number of characters by which its responses are longer than their opponents'"""


class Difference(Struct, frozen=True):
    """The difference of two systems, and its test."""

    first: str
    second: str
    difference: Estimate
    """first - second: strengths, or the paired difference of scores"""
    p: float | None
    p_adjusted: float | None
    """Holm's, over all pairs of systems"""
    test: str
    is_open: bool
    """whether the difference is not significant"""
    any_time: Estimate | None = None
    """for neighbours in the ranking: head-to-head win rate of the first, with an anytime-valid interval"""


class HeadToHead(Struct, frozen=True):
    """The games of one system against another."""

    share: Estimate
    counts: Counts


class Length(Struct, frozen=True):
    """Length bias of the judge."""

    coefficient: Estimate
    """change of the log odds per typical difference in length"""
    typical_difference: float | None
    """in characters"""
    difficulty_sd: float | None = None
    """standard deviation of the prompts' difficulty on log odds; none where the model has no difficulty"""


class CriterionRanking(Struct, frozen=True, kw_only=True):
    """The systems by one criterion, best first."""

    criterion: str
    protocol: str
    kind: Kind
    models: tuple[str, ...]
    systems: tuple[Standing, ...]
    order: PositionBias
    """position bias of choices; undefined for scores"""
    order_by_model: dict[str, PositionBias] = field(default_factory=dict)
    matrix: dict[str, dict[str, HeadToHead]]
    differences: tuple[Difference, ...]
    length: Length | None
    by_model: dict[str, dict[str, Estimate]]
    """the win rates by each judge alone, where there are several"""
    model: str
    """the model that was fitted to the games"""
    tie_parameter: float | None
    components: tuple[tuple[str, ...], ...]
    """systems whose strengths can be compared, the better ones first"""
    islands: tuple[tuple[str, ...], ...]
    """systems connected by games, directly or through others"""
    never_lost: tuple[str, ...]
    never_won: tuple[str, ...]
    n_games: int
    n_failed: int
    n_groups: int | None
    """independent prompts, where items share them"""
    notes: tuple[str, ...]


class Proposal(Struct, frozen=True):
    """A pair of systems to compare next."""

    system_a: str
    system_b: str
    group: str | None
    """a prompt whose two outputs are known but not compared yet; none: a prompt that is not in the run"""
    id: str | None


class Ranking(CriterionRanking, frozen=True, kw_only=True):
    """The ranking by the first criterion, and the rankings by every criterion."""

    criteria: dict[str, CriterionRanking]
    next: tuple[Proposal, ...] = ()
    run: str = ""
    seed: int = 0


class Leaders(Struct, frozen=True):
    """The best system of a criterion, then those that may be the best; empty where the direction is unknown."""

    name: str
    kind: Kind
    systems: tuple[str, ...]


# -- The release gate. Its exit codes are part of the contract with scripts:
# 0 good, 1 worse, 3 not enough evidence, 4 the judge failed too often.


Outcome = Literal["good", "worse", "open", "failed"]
Rule = Literal["min", "max", "max_drop", "max_failed", "max_shift", "max_injection"]

EXIT_CODES: dict[Outcome, int] = {"good": 0, "worse": 1, "open": 3, "failed": 4}
SEVERITY: tuple[Outcome, ...] = ("failed", "worse", "open", "good")
"""The most severe outcome of all checks decides. Too many failures come first: they make the other checks unreliable."""
WORDS: dict[Outcome, str] = {
    "good": "good",
    "worse": "worse",
    "open": "not enough evidence",
    "failed": "the judge failed too often",
}


class Decision(Struct, frozen=True):
    """What a check is decided by: two one-sided tests against the threshold, each at 2.5 %."""

    low: float | None
    """lower bound of the mean at 97.5 % confidence: a check with `min` is good where it reaches the threshold"""
    high: float | None
    """upper bound at 97.5 % confidence"""
    p_good: float
    p_worse: float
    method: str
    p_worse_adjusted: float | None = None
    """Holm's, over all checks of the gate; `worse` needs at most 5 %"""


class Check(Struct, frozen=True):
    """One estimate compared with one threshold."""

    rule: Rule
    criterion: str
    system: str
    threshold: float
    estimate: Estimate
    """a mean, a change from the baseline, or a share of failures"""
    outcome: Outcome
    text: str
    """the decision as a sentence"""
    remarks: tuple[str, ...] = ()
    minimum_detectable: float | None = None
    """the distance from the threshold that this many items detect with 80 % power"""
    n_more: int | None = None
    """how many more are needed to decide with 80 % power; none where it is decided or no number would be enough"""
    n_more_of: str = ""
    """items, groups or labels"""
    is_share: bool = False
    """whether the threshold is a share, shown in per cent: a win rate, or a share of failed items"""
    decision: Decision | None = None
    """none where nothing is estimated: a count of failures, or two runs with the same replies"""

    @property
    def asked(self) -> str:
        """The threshold as text."""
        return f"{100 * self.threshold:.10g} %" if self.is_share else f"{self.threshold:g}"


class Verdict(Struct, frozen=True):
    """All checks of a gate, and their outcome."""

    outcome: Outcome
    exit_code: int
    run: str
    baseline: str | None
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    is_fake: bool
    """whether a judge is a fake for tests: then the outcome says nothing about any system"""
    is_corrected: bool
    """whether the means are corrected with human labels"""
    n_decisions: int = 0
    """checks that an estimate decides; `worse` is corrected for their number (Holm)"""


def most_severe(outcomes: list[Outcome]) -> Outcome:
    """The outcome of several checks together."""
    return min(outcomes, key=SEVERITY.index, default="good")


# -- The audit of a judge


AuditVerdict = Literal["moves", "holds", "unclear"]
"""`holds`: the score does not move by more than the margin; `unclear`: not enough evidence"""


class ProbeResult(Struct, frozen=True, kw_only=True):
    """How the scores of one criterion change under one probe, item by item."""

    kind: ProbeKind
    n: int
    """items with a score on both sides"""
    failed: int
    """items without a score on one side: unreadable, refused or no reply"""
    shift: Estimate
    """mean of probe - control, in points of the scale"""
    flips: Estimate
    """share of items whose score changed"""
    floor: Estimate | None
    """share of items whose score changed when the same prompt was sent again; none without a re-run"""
    excess: Estimate | None
    """flips - floor, on the items of both"""
    success: Estimate | None
    """injection: share of items lifted to the target beyond the control's; must_move: share of items scored worse"""
    verdict: AuditVerdict
    control: str
    """the probe that this one is compared with: `none`, or the benign control of an injection"""
    p: float | None
    """the smallest p-value of the probe, adjusted for all tests of the judge (Holm)"""
    n_unpaired: int = 0
    """items that only one of the two sides has"""
    shift_from_none: Estimate | None = None
    """mean of probe - none, where the control is another one"""


class AuditedCriterion(Struct, frozen=True, kw_only=True):
    """All probes of one criterion."""

    probes: dict[str, ProbeResult]
    margin: float
    """a shift within ± margin does not matter"""
    limits: tuple[float, float] | None
    """the ends of the scale; of scores from elsewhere the lowest and the highest score"""
    noise: Estimate | None
    """mean of repeat - none: its interval is the noise band"""
    n: int
    failed: int
    """of the unchanged items"""
    is_choice: bool = False
    """whether scores are choices: 1 for response a, 0 for b, 0.5 for a tie"""
    rerun: Estimate | None = None
    """share of unchanged items whose score changed when they were judged again: a re-run, or a second sample"""
    length: Estimate | None = None
    """of an ordinary run: rank correlation of the score with the length of the response (of a pair: of the difference in
    length); an association, because longer responses may be better"""


class PositionAudit(Struct, frozen=True, kw_only=True):
    """How the choices of pairs change with the order in which the responses are shown."""

    n: int
    """pairs with a choice in both orders"""
    failed: int
    """pairs without a choice in one order or both"""
    same: int
    first: int
    """pairs in which the response shown first won in both orders"""
    second: int
    ties: int
    """pairs with a tie in one order only"""
    bias: Estimate
    """(first - second) / n"""
    verdict: AuditVerdict
    p: float | None
    other_answers: int = 0
    """pairs whose two orders show different responses, by the column `pair`"""


class AuditedJudge(Struct, frozen=True):
    """The audit of one judge."""

    criteria: dict[str, AuditedCriterion]
    position: PositionAudit | None = None


class Audit(Struct, frozen=True, kw_only=True):
    """How far judges move for reasons that should not matter."""

    judges: dict[str, AuditedJudge]
    name: str = ""
    skipped: dict[str, str] = {}
    """probe → why it was not applied"""
    notes: tuple[str, ...] = ()

"""The judge card: agreement with people, noise ceiling, corrected
means, failures. What `--json` prints; nothing here computes.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from ...records import Estimate, Scale
from ...results.combine import Kind
from ...stats import (
    AltTest,
    Bounds,
    ClassAgreement,
    Confidence,
    Equivalence,
    InformativeFailures,
    LabelledSample,
    LabelPlan,
    PartAgreement,
    Probabilities,
    Resample,
    Retest,
    ScoreInterval,
    Spread,
    Test,
    TieCalibration,
    TwoJudges,
)
from ...stats.resample import N_RESAMPLES
from ..labels.reviews import ReviewTally
from ..sampling.stop import Stop


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
    """why it is not yes: below a human rater; too few raters won
    against; a constant answer, or shuffled scores, not beaten
    """


class BestConstant(Struct, frozen=True):
    """Always the same answer, the one that agrees best with people, and the judge beside it."""

    answer: float | str
    judge: float
    """the mean distance of its scores from the labels, for choices the share of equal ones"""
    constant: float
    """the same for the constant answer"""
    lead: Estimate
    """how much closer the judge is, or how much more often equal; above 0 the judge agrees better"""
    corrected: Estimate
    """the same once labels have removed the mean bias of the judge, in squared points; for choices the
    same"""
    n_units: int
    """labelled items that are independent: items, or groups where items share one"""


Use = Literal["alone", "corrected", "no", "unknown"]


class Recommendation(Struct, frozen=True):
    """Whether the judge can be used for a criterion, why, and what to do next."""

    use: Use
    """alone; only with means that labels correct; not at all; not known"""
    reason: str
    next: str


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
    """whether groups or unequal probabilities leave so few
    effective labels that the interval may be too narrow
    """


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


class TextBaseline(Struct, frozen=True):
    """The judge beside a regression on words and length of the judged texts, both from the same labels."""

    judge: float
    """share of the labels' variance that the scores explain on held-out items; of choices, of equal ones"""
    regression: float
    """the same for the regression; below 0 it predicts worse than the mean of the labels"""
    lead: Estimate
    """judge - regression"""


class SampleOfLabels(Struct, frozen=True):
    """The labelled items beside the others."""

    n_labelled: int
    n_items: int
    without_labels: tuple[str, ...]
    """systems of which fewer than two items have a label"""
    judge: LabelledSample | None
    """the judge's scores of both; none where items were drawn with different probabilities"""


class NoiseSource(Struct, frozen=True):
    """One source of the variance of a single score."""

    variance: float
    share: float
    """of the variance of a single score"""
    narrower: float | None
    """by which share the interval of a mean shrinks with twice the items, or one more judge, prompt, sample
    or rater; none where that is unknown
    """
    is_below_zero: bool = False
    """whether the estimate of the variance was below 0, so that 0 stands for it"""


class Noise(Struct, frozen=True):
    """Where the noise of scores or of labels comes from."""

    sources: dict[str, NoiseSource]
    """`item`, `judge`, `prompt`, `rater`, `sample`, and `item × judge`: what a judge adds on one item"""
    counts: dict[str, float]
    """how many of each a mean rests on; of judges, prompts, raters and samples for each item"""
    n: int
    """scores or ratings"""


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
    """mean absolute error on held-out items: `before`, `after` an isotonic calibration, after an `ordinal`
    one; with the prefix `error_` the calibration error
    """
    plan: dict[str, LabelPlan]
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
    constant: BestConstant | None = None
    """the best constant answer; none without labels on the judge's scale"""
    tolerance: float | None = None
    """5 % of the scale: a bias within it does not matter; none for choices, and where the scale is unknown"""
    recommendation: Recommendation = Recommendation("unknown", "", "")
    panel: tuple[str, ...] = ()
    """the judges whose pooled scores this is about; empty for a single judge"""
    baseline: TextBaseline | None = None
    """labels predicted from words and length; none without texts, and with fewer than 20 labels"""
    sample: SampleOfLabels | None = None
    """whether the labelled items look like a random sample; none where all or no items have a label"""
    informative_failures: InformativeFailures | None = None
    """people's labels where the judge failed and where it did not; none without failures or such labels"""

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
    equivalence: Equivalence | None = None
    """the difference compared with a margin of agreement: first - second"""


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
    noise: dict[str, dict[str, Noise]] = {}
    """criterion → `judge` or `people` → where the noise comes from; only where something was scored twice"""
    is_stored: bool = False
    """whether `run` is a run in a store, which commands can name"""

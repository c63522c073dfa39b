"""What a judge card says, as values: agreement, ceiling, correction, failures, and the sentences in front.

Nothing here computes. A number that cannot be given is an `Estimate` without a value whose `method` says why.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from ..records import Estimate, Scale
from ..stats import AltTest, Bounds, Confidence, Plan, Resample, Retest, Spread, Test, TieCalibration, Versus
from ..stats.resample import N_RESAMPLES

Kind = Literal["scores", "choices"]


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
    result: Versus
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

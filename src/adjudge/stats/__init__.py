"""Numbers with their uncertainty: pure functions on sequences, without files, models or protocols.

What one judge's scores say:

    means              mean with a t interval (cluster-robust), bounds under failures, spread
    threshold          a mean compared with a threshold
    power              the smallest difference that so many items detect
    paired             differences on the same items and their tests, sample size
    multiple_tests     p-values adjusted for many tests (Holm), simultaneous intervals
    equivalence        whether a difference is shown to be small
    failure_rates      whether all systems fail equally often
    informative_failures  whether the judge fails on other items than it answers
    proportions        Wilson's interval, Newcombe's for the difference of two shares, Rogan and Gladen's
                       corrected share
    reliability        test-retest reliability over samples
    variance_components  where noise comes from: items, raters, judges, prompts, samples
    columns            scores by item, kept small, pooled and matched

Whether they agree with people's:

    correlation        Pearson, Spearman and Kendall, for thousands of resamples at once
    correlation_levels  over items, within groups, over systems, with the units that were resampled
    agreement_in_parts  in parts of the items, by any field
    agreement          equal answers, Cohen's and Fleiss' kappa, quadratic kappa; several raters:
                       Krippendorff's alpha, Gwet's AC2
    ceiling            inter-rater agreement as a ceiling, and the judge as a share of it
    rater_severity     how much higher one rater scores than the others
    pairwise_accuracy  pairwise accuracy with tie calibration, and soft pairwise accuracy
    alt_test           can the judge replace a human rater?
    text_baseline      labels predicted from words and length, without a judge
    two_judges         two judges against the same people, and tests of dependent correlations
    many_judges        the same for many judges, of which the best was chosen

What people would have said:

    ppi                a mean corrected by a few labels
    regression         the slope of labels on judges' scores; `regression_mean` is the mean that it gives
    ppi_panel          the same with several judges
    labelled_sample    whether labelled items look like a random sample
    corrected_test     a corrected mean compared with a threshold
    ppi_difference     the difference of two systems, corrected by labels
    sample_size        items, groups and labels for a goal, before any label exists
    drift              whether a judge has changed, look by look
    label_plan         how many labels an interval of a given width takes
    sequences          the same mean looked at after every label: when to stop labelling
    calibration        scores turned into people's, with held-out errors; `ordinal` is one of its maps
    score_interval     the label that people would give to one item
    confidence         whether stated confidence can be believed

Which system is better, from pairs or from scores of the same inputs:

    games              pairs and their outcomes as arrays
    connected          whether strengths exist
    bradley_terry      strengths with ties and their intervals
    next_games         which pairs to judge next
    win_rates          win rates of clustered games, preferences from log-probabilities
    length_bias        win rates at equal length
    position_bias      whether the place shown decides

Underneath: arrays, resample. What is undefined is none, with the reason; it is never NaN and never an
exception. A missing value is none or NaN in what is given. Every interval is at 95 %. numpy and scipy are
imported inside functions: asking for help must not wait for them.
"""

from __future__ import annotations

from .agreement import (
    ChoiceAgreement,
    ClassAgreement,
    choice_agreement,
    cohen_kappa,
    exact_agreement,
    fleiss_kappa,
    gwet,
    halved,
    krippendorff_alpha,
    nearest_levels,
    quadratic_kappa,
    share_of_equal,
)
from .agreement_in_parts import PartAgreement, agreement_in_parts
from .alt_test import AltTest, RaterTest, Rival, alt_test
from .bradley_terry import Strengths, Ties, elo, strengths
from .calibration import Calibration, Isotonic, calibrate, calibration_error, isotonic_fit
from .ceiling import Ceiling, noise_ceiling
from .columns import ScoreColumn, joined, matched, missing_from, n_distinct, pooled
from .confidence import Confidence, confidence_quality
from .corrected_test import corrected_mean_test
from .correlation import Kind, spearman
from .correlation_levels import Level, correlate
from .equivalence import Equivalence, EquivalenceVerdict, equivalence, equivalent_together
from .failure_rates import equal_rates
from .games import Games, games_of, tie_matrix, win_matrix
from .informative_failures import InformativeFailures, informative_failures
from .label_plan import LabelPlan, labels_needed
from .labelled_sample import LabelledSample, labelled_sample
from .length_bias import LengthControl, length_controlled
from .many_judges import HeldOut, ManyJudges, many_judges
from .means import Bounds, Precision, Spread, bounds, mean_interval, spread, standard_error
from .multiple_tests import adjusted, simultaneous
from .next_games import next_games
from .order_agreement import Position, PositionBias, position_bias
from .ordinal import Ordinal, ordinal_fit
from .paired import (
    Paired,
    ScoreDifference,
    detectable,
    games_from_scores,
    paired_difference,
    paired_test,
    score_differences,
    units_needed,
)
from .pairwise_accuracy import TieCalibration, soft_pairwise_accuracy, tie_calibration
from .power import detectable_difference, minimum_detectable
from .ppi import Corrected, ppi_mean, ppi_stratified, worth
from .ppi_difference import difference_by_group, difference_of, ppi_difference
from .ppi_panel import has_slopes, ppi_panel
from .probabilities import Probabilities, ReliabilityBin, probability_quality
from .proportions import (
    corrected_share,
    difference_of_shares,
    paired_difference_of_shares,
    rogan_gladen,
    wilson,
)
from .rater_severity import rater_severity
from .reliability import Retest, retest
from .resample import Resample
from .risk_coverage import CoverageRisk
from .score_interval import ScoreInterval, score_interval
from .sequences import Crossing, LabelStream, any_time_mean
from .text_baseline import constant_baseline, score_baseline, text_baseline
from .threshold import MeanTest, mean_test
from .two_judges import Test, TwoJudges, compare_judges, mcnemar, mcnemar_of, sign_flip, williams
from .variance_components import Component, Components, variance_components
from .win_rates import Preference, clustered_share, token_preference

__all__ = [
    "AltTest",
    "Bounds",
    "Calibration",
    "Ceiling",
    "ChoiceAgreement",
    "ClassAgreement",
    "Component",
    "Components",
    "Confidence",
    "Corrected",
    "CoverageRisk",
    "Crossing",
    "Equivalence",
    "EquivalenceVerdict",
    "Games",
    "HeldOut",
    "InformativeFailures",
    "Isotonic",
    "Kind",
    "LabelPlan",
    "LabelStream",
    "LabelledSample",
    "LengthControl",
    "Level",
    "ManyJudges",
    "MeanTest",
    "Ordinal",
    "Paired",
    "PartAgreement",
    "Position",
    "PositionBias",
    "Precision",
    "Preference",
    "Probabilities",
    "RaterTest",
    "ReliabilityBin",
    "Resample",
    "Retest",
    "Rival",
    "ScoreColumn",
    "ScoreDifference",
    "ScoreInterval",
    "Spread",
    "Strengths",
    "Test",
    "TieCalibration",
    "Ties",
    "TwoJudges",
    "adjusted",
    "agreement_in_parts",
    "alt_test",
    "any_time_mean",
    "bounds",
    "calibrate",
    "calibration_error",
    "choice_agreement",
    "clustered_share",
    "cohen_kappa",
    "compare_judges",
    "confidence_quality",
    "constant_baseline",
    "corrected_mean_test",
    "corrected_share",
    "correlate",
    "detectable",
    "detectable_difference",
    "difference_by_group",
    "difference_of",
    "difference_of_shares",
    "elo",
    "equal_rates",
    "equivalence",
    "equivalent_together",
    "exact_agreement",
    "fleiss_kappa",
    "games_from_scores",
    "games_of",
    "gwet",
    "halved",
    "has_slopes",
    "informative_failures",
    "isotonic_fit",
    "joined",
    "krippendorff_alpha",
    "labelled_sample",
    "labels_needed",
    "length_controlled",
    "many_judges",
    "matched",
    "mcnemar",
    "mcnemar_of",
    "mean_interval",
    "mean_test",
    "minimum_detectable",
    "missing_from",
    "n_distinct",
    "nearest_levels",
    "next_games",
    "noise_ceiling",
    "ordinal_fit",
    "paired_difference",
    "paired_difference_of_shares",
    "paired_test",
    "pooled",
    "position_bias",
    "ppi_difference",
    "ppi_mean",
    "ppi_panel",
    "ppi_stratified",
    "probability_quality",
    "quadratic_kappa",
    "rater_severity",
    "retest",
    "rogan_gladen",
    "score_baseline",
    "score_differences",
    "score_interval",
    "share_of_equal",
    "sign_flip",
    "simultaneous",
    "soft_pairwise_accuracy",
    "spearman",
    "spread",
    "standard_error",
    "strengths",
    "text_baseline",
    "tie_calibration",
    "tie_matrix",
    "token_preference",
    "units_needed",
    "variance_components",
    "williams",
    "wilson",
    "win_matrix",
    "worth",
]

"""Numbers with their uncertainty: pure functions on sequences, without files, models or protocols.

What one judge's scores say:

    means              mean with a t interval (cluster-robust), bounds under failures, spread, detectable difference
    paired             differences on the same items and their tests, sample size, p-values adjusted for many tests
    proportions        Wilson's interval, Newcombe's for the difference of two shares, Rogan and Gladen's corrected share
    reliability        test-retest reliability over samples
    columns            scores by item, kept small, pooled and matched

Whether they agree with people's:

    correlation        Pearson, Spearman and Kendall over items, within groups, over systems, resampled
    agreement          equal answers, Cohen's and Fleiss' kappa, quadratic kappa; several raters: Krippendorff's alpha, Gwet's AC2
    ceiling            inter-rater agreement as a ceiling, and the judge as a share of it
    pairwise_accuracy  pairwise accuracy with tie calibration, and soft pairwise accuracy
    alt_test           can the judge replace a human rater?
    two_judges         two judges against the same people, and tests of dependent correlations

What people would have said:

    ppi                a mean or a difference of two corrected by a few labels, and how many labels it takes
    sequences          the same mean looked at after every label: when to stop labelling
    calibration        scores turned into people's, with held-out errors; whether stated confidence can be believed

Which system is better, from pairs or from scores of the same inputs:

    bradley_terry      strengths with ties, their intervals, whether they exist, which pairs to ask for next
    win_rates          win rates of clustered games, preferences from log-probabilities, anytime-valid intervals
    length_bias        win rates at equal length
    position_bias      whether the place shown decides

Underneath: arrays, resample. What is undefined is none, with the reason; it is never NaN and never an exception.
A missing value is none or NaN in what is given. Every interval is at 95 %. numpy and scipy are imported inside
functions: asking for help must not wait for them.
"""

from __future__ import annotations

from .agreement import (
    ChoiceAgreement,
    ClassAgreement,
    Retest,
    choice_agreement,
    cohen_kappa,
    exact_agreement,
    fleiss_kappa,
    gwet,
    halved,
    krippendorff_alpha,
    nearest,
    quadratic_kappa,
    retest,
    share_of_equal,
)
from .arrays import Resample
from .biases import LengthControl, Position, PositionBias, length_controlled, position_bias
from .bradley_terry import (
    Games,
    Strengths,
    Ties,
    elo,
    games_of,
    next_games,
    strengths,
    tie_matrix,
    win_matrix,
)
from .calibration import (
    Calibration,
    Confidence,
    Isotonic,
    Ordinal,
    ScoreInterval,
    calibrate,
    calibration_error,
    confidence_quality,
    isotonic_fit,
    ordinal_fit,
    score_interval,
)
from .ceiling import AltTest, Ceiling, RaterTest, Rival, alt_test, noise_ceiling, rater_severity
from .correlation import Kind, Level, PartAgreement, agreement_in_parts, correlate, spearman
from .means import (
    Bounds,
    Column,
    MeanTest,
    Precision,
    Spread,
    bounds,
    detectable_difference,
    joined,
    matched,
    mean_interval,
    mean_test,
    minimum_detectable,
    missing_from,
    n_distinct,
    pooled,
    spread,
    standard_error,
)
from .paired import (
    Paired,
    ScoreDifference,
    adjusted,
    detectable,
    equal_rates,
    games_from_scores,
    paired_difference,
    paired_test,
    score_differences,
    simultaneous,
    units_needed,
)
from .pairwise_accuracy import TieCalibration, soft_pairwise_accuracy, tie_calibration
from .ppi import (
    Corrected,
    Plan,
    difference_of,
    labels_needed,
    ppi_difference,
    ppi_mean,
    ppi_stratified,
    worth,
)
from .proportions import (
    Crossing,
    LabelStream,
    Preference,
    any_time_mean,
    clustered_share,
    corrected_share,
    difference_of_shares,
    paired_difference_of_shares,
    rogan_gladen,
    token_preference,
    wilson,
)
from .two_judges import (
    HeldOut,
    ManyJudges,
    Test,
    TwoJudges,
    compare_judges,
    many_judges,
    mcnemar,
    mcnemar_of,
    sign_flip,
    williams,
)

__all__ = [
    "AltTest",
    "Bounds",
    "Calibration",
    "Ceiling",
    "ChoiceAgreement",
    "ClassAgreement",
    "Column",
    "Confidence",
    "Corrected",
    "Crossing",
    "Games",
    "HeldOut",
    "Isotonic",
    "Kind",
    "LabelStream",
    "LengthControl",
    "Level",
    "ManyJudges",
    "MeanTest",
    "Ordinal",
    "Paired",
    "PartAgreement",
    "Plan",
    "Position",
    "PositionBias",
    "Precision",
    "Preference",
    "RaterTest",
    "Resample",
    "Retest",
    "Rival",
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
    "corrected_share",
    "correlate",
    "detectable",
    "detectable_difference",
    "difference_of",
    "difference_of_shares",
    "elo",
    "equal_rates",
    "exact_agreement",
    "fleiss_kappa",
    "games_from_scores",
    "games_of",
    "gwet",
    "halved",
    "isotonic_fit",
    "joined",
    "krippendorff_alpha",
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
    "nearest",
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
    "ppi_stratified",
    "quadratic_kappa",
    "rater_severity",
    "retest",
    "rogan_gladen",
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
    "tie_calibration",
    "tie_matrix",
    "token_preference",
    "units_needed",
    "williams",
    "wilson",
    "win_matrix",
    "worth",
]

"""Numbers with their uncertainty: pure functions on sequences, without files, models or protocols.

What one judge's scores say:

    means         mean with a t interval (cluster-robust), bounds under failures
    twice         the same items scored twice: the difference, its test, how many items it takes
    power         the smallest difference that n items can show
    preferences   how strongly one of a pair is preferred, from log-probabilities; win rates
    proportions   Wilson's interval, and Newcombe's for the difference of two shares
    spread        how much information a set of scores carries
    reliability   intraclass correlation, test-retest over samples
    confidence    whether stated confidence means anything
    columns       scores by item, kept small, pooled and matched
    logits        log-probabilities out of a row of logits

Whether they agree with people's:

    correlation   Pearson and Spearman on pairs, with Fisher's interval
    levels        Pearson, Spearman, Kendall over items, within groups, over systems, resampled
    agreement     equal answers, Cohen's kappa, choices
    raters        several raters: Krippendorff's alpha, Gwet's AC
    ceiling       what people reach among themselves, and the judge as a share of it
    ties          pairwise accuracy with tie calibration
    soft          whether the judge is as sure as people of which system is better
    alternative   may the judge take a person's place?
    versus        two judges against the same people; dependent: the tests for it
    multiple      p-values adjusted for there being many

What people would have said:

    ppi           a mean corrected by a few labels (regression: its arithmetic), plan: how many it takes
    difference    the same for the difference of two systems
    prevalence    a share corrected for a judge's errors
    calibration   scores turned into people's (ordinal: one way to), with held-out errors

Which system is better, from pairs or from scores of the same inputs:

    games         who met whom, as arrays; connected: whether that puts all on one scale
    bradley_terry strengths by Newton's method, ties by Davidson; rao_kupper: the other model of ties
    strengths     strengths with sandwich and bootstrap intervals, and what is left where they do not exist
    shares        win rates where games of one prompt are not independent
    length        win rates at equal length
    position      whether the place shown decides
    score_pairs   paired differences of scores, corrected for many pairs
    next_games    which pairs to ask for next; any_time: an interval for looking again and again

Underneath: arrays, resample, coefficients, crossed. What is undefined is none, with the reason in
`Estimate.method`; it is never NaN and never an exception. A missing value is none or NaN in what is
given. numpy and scipy are imported inside functions: asking for help must not wait for them.
"""

from __future__ import annotations

from .agreement import (
    ChoiceAgreement,
    choice_agreement,
    cohen_kappa,
    exact_agreement,
    gwet,
    halved,
    krippendorff_alpha,
    nearest,
    quadratic_kappa,
    share_of_equal,
)
from .alt_test import AltTest, RaterTest, alt_test
from .arrays import caution, reason
from .bradley_terry import (
    Games,
    RaoKupper,
    Strengths,
    Ties,
    elo,
    games_of,
    next_games,
    rao_kupper,
    strengths,
    tie_matrix,
    win_matrix,
)
from .calibration import (
    Calibration,
    Confidence,
    Isotonic,
    Ordinal,
    calibrate,
    calibration_error,
    confidence_quality,
    isotonic_fit,
    ordinal_fit,
)
from .ceiling import Ceiling, noise_ceiling
from .columns import Column, joined, matched, missing_from, n_distinct, pooled
from .correlation import Kind, Level, correlate, pearson, spearman
from .length_bias import LengthControl, length_controlled, length_fit
from .means import (
    Bounds,
    Precision,
    Spread,
    bounds,
    mean_interval,
    minimum_detectable,
    spread,
    standard_error,
)
from .paired import (
    Paired,
    ScoreDifference,
    adjusted,
    detectable,
    games_from_scores,
    paired_difference,
    score_differences,
    units_needed,
)
from .pairwise_accuracy import TieCalibration, soft_pairwise_accuracy, tie_calibration
from .position_bias import Place, PositionBias, position_bias, settled
from .ppi import (
    Corrected,
    Plan,
    difference_of,
    labels_needed,
    ppi_difference,
    ppi_mean,
    ppi_published,
    ppi_stratified,
    worth,
)
from .proportions import corrected_share, difference_of_shares, rogan_gladen, wilson
from .reliability import Retest, icc, retest
from .resample import Resample
from .two_judges import Test, Versus, compare_judges, mcnemar, mcnemar_of, meng, sign_flip, steiger, williams
from .win_rates import Preference, WinRate, any_time_mean, clustered_share, token_preference, win_rate

__all__ = [
    "AltTest",
    "Bounds",
    "Calibration",
    "Ceiling",
    "ChoiceAgreement",
    "Column",
    "Confidence",
    "Corrected",
    "Games",
    "Isotonic",
    "Kind",
    "LengthControl",
    "Level",
    "Ordinal",
    "Paired",
    "Place",
    "Plan",
    "PositionBias",
    "Precision",
    "Preference",
    "RaoKupper",
    "RaterTest",
    "Resample",
    "Retest",
    "ScoreDifference",
    "Spread",
    "Strengths",
    "Test",
    "TieCalibration",
    "Ties",
    "Versus",
    "WinRate",
    "adjusted",
    "alt_test",
    "any_time_mean",
    "bounds",
    "calibrate",
    "calibration_error",
    "caution",
    "choice_agreement",
    "clustered_share",
    "cohen_kappa",
    "compare_judges",
    "confidence_quality",
    "corrected_share",
    "correlate",
    "detectable",
    "difference_of",
    "difference_of_shares",
    "elo",
    "exact_agreement",
    "games_from_scores",
    "games_of",
    "gwet",
    "halved",
    "icc",
    "isotonic_fit",
    "joined",
    "krippendorff_alpha",
    "labels_needed",
    "length_controlled",
    "length_fit",
    "matched",
    "mcnemar",
    "mcnemar_of",
    "mean_interval",
    "meng",
    "minimum_detectable",
    "missing_from",
    "n_distinct",
    "nearest",
    "next_games",
    "noise_ceiling",
    "ordinal_fit",
    "paired_difference",
    "pearson",
    "pooled",
    "position_bias",
    "ppi_difference",
    "ppi_mean",
    "ppi_published",
    "ppi_stratified",
    "quadratic_kappa",
    "rao_kupper",
    "reason",
    "retest",
    "rogan_gladen",
    "score_differences",
    "settled",
    "share_of_equal",
    "sign_flip",
    "soft_pairwise_accuracy",
    "spearman",
    "spread",
    "standard_error",
    "steiger",
    "strengths",
    "tie_calibration",
    "tie_matrix",
    "token_preference",
    "units_needed",
    "williams",
    "wilson",
    "win_matrix",
    "win_rate",
    "worth",
]

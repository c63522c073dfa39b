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
    halved,
    nearest,
    quadratic_kappa,
    share_of_equal,
)
from .alternative import AltTest, RaterTest, alt_test
from .any_time import any_time_mean
from .both_orders import Place, PositionBias, position_bias, settled
from .calibration import Calibration, Isotonic, calibrate, calibration_error, isotonic_fit
from .ceiling import Ceiling, noise_ceiling
from .coefficients import Kind
from .columns import Column, joined, matched, missing_from, n_distinct, pooled
from .confidence import Confidence, confidence_quality
from .correlation import pearson, spearman
from .crossed import Level
from .dependent import Test, mcnemar, mcnemar_of, meng, sign_flip, steiger, williams
from .difference import difference_of, ppi_difference
from .games import Games, elo, games_of, tie_matrix, win_matrix
from .length import LengthControl, length_controlled, length_fit
from .levels import correlate
from .means import Bounds, Precision, bounds, mean_interval, standard_error
from .multiple import adjusted
from .next_games import next_games
from .ordinal import Ordinal, ordinal_fit
from .plan import Plan, labels_needed
from .power import minimum_detectable
from .ppi import Corrected, ppi_mean, ppi_published, ppi_stratified
from .preferences import Preference, WinRate, token_preference, win_rate
from .prevalence import corrected_share, rogan_gladen
from .proportions import difference_of_shares, wilson
from .rao_kupper import RaoKupper, rao_kupper
from .raters import gwet, krippendorff_alpha
from .regression import worth
from .reliability import Retest, icc, retest
from .resample import Resample
from .score_pairs import ScoreDifference, games_from_scores, score_differences
from .shares import clustered_share
from .soft import soft_pairwise_accuracy
from .spread import Spread, spread
from .strengths import Strengths, Ties, strengths
from .ties import TieCalibration, tie_calibration
from .twice import Paired, detectable, paired_difference, units_needed
from .undefined import caution, reason
from .versus import Versus, compare_judges

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

"""Numbers with their uncertainty: pure functions on sequences, without files, models or protocols.

What one judge's scores say:

    means         mean with a t interval (cluster-robust), bounds under failures
    power         the smallest difference that n items can show
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
    alternative   may the judge take a person's place?
    versus        two judges against the same people; dependent: the tests for it
    multiple      p-values adjusted for there being many

What people would have said:

    ppi           a mean corrected by a few labels (regression: its arithmetic), plan: how many it takes
    prevalence    a share corrected for a judge's errors
    calibration   scores turned into people's (ordinal: one way to), with held-out errors

Underneath: arrays, resample, coefficients, crossed. What is undefined is none, with the reason in
`Estimate.method`; it is never NaN and never an exception. A missing value is none or NaN in what is
given. numpy and scipy are imported inside functions: asking for help must not wait for them.
"""

from __future__ import annotations

from .agreement import ChoiceAgreement, choice_agreement, cohen_kappa, exact_agreement, nearest
from .alternative import AltTest, RaterTest, alt_test
from .calibration import Calibration, Isotonic, calibrate, calibration_error, isotonic_fit
from .ceiling import Ceiling, noise_ceiling
from .coefficients import Kind
from .columns import Column, joined, matched, missing_from, n_distinct, pooled
from .confidence import Confidence, confidence_quality
from .correlation import pearson, spearman
from .crossed import Level
from .dependent import Test, mcnemar, mcnemar_of, meng, sign_flip, steiger, williams
from .levels import correlate
from .means import Bounds, Precision, bounds, mean_interval, standard_error
from .multiple import adjusted
from .ordinal import Ordinal, ordinal_fit
from .plan import Plan, labels_needed
from .power import minimum_detectable
from .ppi import Corrected, ppi_difference, ppi_mean, ppi_published, ppi_stratified
from .prevalence import corrected_share, rogan_gladen
from .proportions import difference_of_shares, wilson
from .raters import gwet, krippendorff_alpha
from .reliability import Retest, icc, retest
from .resample import Resample
from .spread import Spread, spread
from .ties import TieCalibration, tie_calibration
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
    "Isotonic",
    "Kind",
    "Level",
    "Ordinal",
    "Plan",
    "Precision",
    "RaterTest",
    "Resample",
    "Retest",
    "Spread",
    "Test",
    "TieCalibration",
    "Versus",
    "adjusted",
    "alt_test",
    "bounds",
    "calibrate",
    "calibration_error",
    "caution",
    "choice_agreement",
    "cohen_kappa",
    "compare_judges",
    "confidence_quality",
    "corrected_share",
    "correlate",
    "difference_of_shares",
    "exact_agreement",
    "gwet",
    "icc",
    "isotonic_fit",
    "joined",
    "krippendorff_alpha",
    "labels_needed",
    "matched",
    "mcnemar",
    "mcnemar_of",
    "mean_interval",
    "meng",
    "minimum_detectable",
    "missing_from",
    "n_distinct",
    "nearest",
    "noise_ceiling",
    "ordinal_fit",
    "pearson",
    "pooled",
    "ppi_difference",
    "ppi_mean",
    "ppi_published",
    "ppi_stratified",
    "reason",
    "retest",
    "rogan_gladen",
    "sign_flip",
    "spearman",
    "spread",
    "standard_error",
    "steiger",
    "tie_calibration",
    "williams",
    "wilson",
]

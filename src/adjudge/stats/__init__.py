"""Numbers with their uncertainty: pure functions on sequences, without files, models or protocols.

    means         mean with a t interval (cluster-robust), bounds under failures
    power         the smallest difference that n items can show
    proportions   Wilson's interval, and Newcombe's for the difference of two shares
    correlation   Pearson and Spearman on pairs
    spread        how much information a set of scores carries
    columns       scores by item, kept small, pooled and matched

What is undefined is none, with the reason in `Estimate.method`; it is never NaN and never an
exception. numpy and scipy are imported inside functions: asking for help must not wait for them.
"""

from __future__ import annotations

from .columns import Column, joined, matched, missing_from, n_distinct, pooled
from .correlation import pearson, spearman
from .means import Bounds, Precision, bounds, mean_interval, standard_error
from .power import minimum_detectable
from .proportions import difference_of_shares, wilson
from .spread import Spread, spread
from .undefined import reason

__all__ = [
    "Bounds",
    "Column",
    "Precision",
    "Spread",
    "bounds",
    "difference_of_shares",
    "joined",
    "matched",
    "mean_interval",
    "minimum_detectable",
    "missing_from",
    "n_distinct",
    "pearson",
    "pooled",
    "reason",
    "spearman",
    "spread",
    "standard_error",
    "wilson",
]

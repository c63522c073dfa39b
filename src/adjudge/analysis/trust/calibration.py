"""The error of the scores on held-out items, before and after calibration."""

from __future__ import annotations

from ...records import Estimate
from ...stats import calibrate
from ...stats.arrays import make_estimate, no_interval
from ..labels.labelled import LabelledTable, number_or_none
from .corrected_means import gap_limits
from .estimates import undefined_items, with_failures

MOST_VALUES = 25
"""An ordinal calibration is given up to this many different
labels; means of three raters on five levels have 13.
"""


def calibration(table: LabelledTable, seed: int) -> dict[str, Estimate]:
    """Mean absolute error of the scores on held-out items, before and after calibration.

    `after` is isotonic, `ordinal` an ordinal regression, which is more stable with few labels. `error_…` is
    the calibration error of each: the distance of the mean label from the score.
    """
    if table.kind != "scores" or not table.is_same_scale or not table.labelled():
        return {}
    rows = table.labelled()
    labels, scores = [number_or_none(row.label) for row in rows], [number_or_none(row.answer) for row in rows]
    n_failed = sum(row.answer is None for row in rows)
    groups, gaps = table.groups(rows), gap_limits(table)
    limits = None if gaps is None else (0.0, gaps[1])
    isotonic = calibrate(labels, scores, clusters=groups, limits=limits, seed=seed)
    estimates = {
        "before": with_failures(isotonic.mae_before, n_failed),
        "after": with_failures(isotonic.mae_after, n_failed),
        "error_before": _calibration_error(isotonic.ece_before, isotonic.mae_before, n_failed),
        "error_after": _calibration_error(isotonic.ece_after, isotonic.mae_after, n_failed),
    }
    if len(set(labels)) > MOST_VALUES:
        return estimates
    ordinal = calibrate(labels, scores, "ordinal", clusters=groups, limits=limits, seed=seed)
    estimates["ordinal"] = with_failures(ordinal.mae_after, n_failed)
    estimates["error_ordinal"] = _calibration_error(ordinal.ece_after, ordinal.mae_after, n_failed)
    return estimates


def _calibration_error(value: float | None, error: Estimate, n_failed: int) -> Estimate:
    """A calibration error as an estimate, without an interval."""
    if value is None:
        return undefined_items(error.reason, error.n, n_failed)
    interval = no_interval("it exceeds 0 by chance alone")
    return make_estimate(
        value, interval, "calibration error over ten bins of the scores", n=error.n, n_failed=n_failed
    )

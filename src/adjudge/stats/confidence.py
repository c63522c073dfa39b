"""Whether a judge's stated confidence means anything: it should be right as often as it says.

The error is ECE over ten bins of equal width from 0 to 1, the loss Brier's (1950), and the ranking
the chance that a right judgment was stated with more confidence than a wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ..records import Estimate
from .arrays import Numbers, floats, same_length
from .calibration import calibration_error
from .means import mean_interval
from .resample import N_RESAMPLES, few_units, interval_or_why, resampled
from .undefined import cautioned, undefined, without_interval

if TYPE_CHECKING:
    from .arrays import Floats

_EDGES = [i / 10 for i in range(11)]


class Confidence(Struct, frozen=True):
    """Stated confidence against being right."""

    error: Estimate
    """ECE; 0 is honest. Chance alone makes it somewhat larger than 0"""
    brier: Estimate
    excess: Estimate
    """mean confidence - share of right judgments: above 0 the judge is too sure"""
    ranking: float | None
    """0.5: confidence tells nothing; none where all are right or all wrong"""


def confidence_quality(
    confidences: Numbers,
    is_correct: Sequence[bool | None],
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> Confidence:
    """How far stated confidence (0 to 1) can be believed; values off that range are left out and counted."""
    import numpy as np

    same_length(confidences, is_correct)
    p = floats(confidences)
    y = floats([None if right is None else float(right) for right in is_correct])
    with np.errstate(invalid="ignore"):
        kept = ~np.isnan(y) & (p >= 0) & (p <= 1)
    p, y, n_undefined = p[kept], y[kept], int(len(kept) - kept.sum())
    if len(p) == 0:
        none = undefined(
            "no judgment has a confidence from 0 to 1 and a label", n_undefined=n_undefined, unit="item"
        )
        return Confidence(none, none, none, None)
    value = calibration_error(p.tolist(), y.tolist(), _EDGES)
    places = np.clip(np.digitize(p, _EDGES[1:-1]), 0, 9)
    gaps = np.zeros((10, len(p)))
    gaps[places, np.arange(len(p))] = p - y

    def statistic(counts: Floats) -> Floats:
        found: Floats = np.abs(np.einsum("ki,ib->kb", gaps, counts)).sum(axis=0) / len(p)
        return found

    low, high, why, cautions = interval_or_why(resampled(statistic, len(p), n_resamples, seed), confidence)
    name = "calibration error over ten bins"
    method = (
        without_interval(name, why) if why else f"{name}, bootstrap ({n_resamples} resamples, percentiles)"
    )
    method = cautioned(method, few_units(len(p), None) + cautions)
    error = Estimate(value, low, high, len(p), 0, n_undefined, method, "item", seed)
    brier = mean_interval(((p - y) ** 2).tolist(), confidence=confidence, limits=(0.0, 1.0))
    excess = mean_interval((p - y).tolist(), confidence=confidence, limits=(-1.0, 1.0))
    return Confidence(error, brier, excess, _ranking(p, y))


def _ranking(p: Floats, y: Floats) -> float | None:
    """The area under the curve: Mann and Whitney's statistic, ties as half."""
    from .coefficients import rank_rows

    n_right = int(y.sum())
    n_wrong = len(y) - n_right
    if n_right == 0 or n_wrong == 0:
        return None
    total = float(rank_rows(p)[y == 1].sum())
    return (total - n_right * (n_right + 1) / 2) / (n_right * n_wrong)

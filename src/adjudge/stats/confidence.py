"""Whether the confidence that a judge states can be believed.

The error is ECE over ten bins of equal width from 0 to 1, the loss Brier's (1950), and the ranking the chance
that a correct judgment was stated with more confidence than a wrong one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ..records import Estimate
from .arrays import (
    Numbers,
    floats,
    label_codes,
    make_estimate,
    same_length,
    undefined,
)
from .calibration import calibration_error
from .means import mean_interval
from .resample import (
    N_RESAMPLES,
    few_groups,
    few_units,
    jackknife_interval,
    left_out,
    percentile_interval,
    resampled,
)

if TYPE_CHECKING:
    from .arrays import Floats


_EDGES = [i / 10 for i in range(11)]


class Confidence(Struct, frozen=True):
    """Stated confidence against being right."""

    error: Estimate
    """ECE; 0 is honest. Chance alone makes it somewhat larger than 0"""
    brier: Estimate
    excess: Estimate
    """mean confidence - share of right judgments: above 0 the judge is overconfident"""
    ranking: float | None
    """0.5: confidence carries no information; none where all are right or all wrong"""


def confidence_quality(
    confidences: Numbers,
    is_correct: Sequence[bool | None],
    *,
    clusters: Sequence[Hashable] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Confidence:
    """How far stated confidence (0 to 1) can be believed; values off that range are left out and counted."""
    import numpy as np

    same_length(confidences, is_correct, clusters)
    p = floats(confidences)
    y = floats([None if right is None else float(right) for right in is_correct])
    with np.errstate(invalid="ignore"):
        kept = ~np.isnan(y) & (p >= 0) & (p <= 1)
    p, y, n_undefined = p[kept], y[kept], int(len(kept) - kept.sum())
    groups = None if clusters is None else [clusters[i] for i in np.flatnonzero(kept).tolist()]
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
        errors: Floats = np.abs(np.einsum("ki,ib->kb", gaps, counts)).sum(axis=0) / counts.sum(axis=0)
        return errors

    assert value is not None, "there is an item"
    name = "calibration error over ten bins"
    if groups is None:
        interval = percentile_interval(resampled(statistic, len(p), n_resamples, seed))
        error = make_estimate(
            value, interval, name, n=len(p), n_undefined=n_undefined, seed=seed,
            cautions=few_units(len(p), None),
        )  # fmt: skip
    else:
        codes, n_groups = label_codes(groups)
        interval = jackknife_interval(
            value, left_out(statistic, codes), codes, scale="linear", limits=(0.0, 1.0)
        )
        error = make_estimate(
            value, interval, name, n=len(p), n_undefined=n_undefined, unit=f"group (n={n_groups})",
            cautions=few_groups(n_groups),
        )  # fmt: skip
    brier = mean_interval(((p - y) ** 2).tolist(), groups, limits=(0.0, 1.0))
    excess = mean_interval((p - y).tolist(), groups, limits=(-1.0, 1.0))
    return Confidence(error, brier, excess, _ranking(p, y))


def _ranking(p: Floats, y: Floats) -> float | None:
    """The area under the curve: Mann and Whitney's statistic, ties as half."""
    from .correlation import rank_rows

    n_right = int(y.sum())
    n_wrong = len(y) - n_right
    if n_right == 0 or n_wrong == 0:
        return None
    total = float(rank_rows(p)[y == 1].sum())
    return (total - n_right * (n_right + 1) / 2) / (n_right * n_wrong)

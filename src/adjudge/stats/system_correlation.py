"""The interval of a correlation over systems, whose means are noisy.

The noise of the means lowers the correlation, and drawing inputs again adds as much noise once more, so that
percentiles of resamples lie too low: of 20 systems with 40 inputs each they cover 7 %, and may not even
contain the correlation that was seen. How much resampling lowered it says how much the noise had lowered it
already: the percentiles are divided by the square of that factor, and the interval reaches over both
(`bench/promises_levels.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .arrays import Interval
from .resample import percentile_interval, percentiles

if TYPE_CHECKING:
    from .arrays import Floats
    from .correlation import Kind

_LEAST_VALUE = 0.05
"""Below this correlation its ratio to that of the resamples says nothing."""
_LEAST_FACTOR = 0.4
"""No more noise than this is taken out: beyond it, the means say little about the systems."""


def over_noisy_means(value: float, replicates: Floats, kind: Kind) -> Interval:
    """From the percentiles of resampled inputs to those without the noise of the means, both included."""
    import numpy as np

    found = percentile_interval(replicates)
    if found.low is None or found.high is None:
        return found
    seen = float(_as_pearson(np.array(value), kind))
    resampled = _as_pearson(replicates[np.isfinite(replicates)], kind)
    factor = 1.0
    if abs(seen) > _LEAST_VALUE:
        factor = min(1.0, max(_LEAST_FACTOR, float(resampled.mean()) / seen))
    low, high, _ = percentiles(resampled / factor**2)
    assert low is not None
    assert high is not None
    ends = _from_pearson(np.clip([low, high], -1.0, 1.0), kind)
    return found._replace(
        low=min(found.low, value, float(ends[0])),
        high=max(found.high, value, float(ends[1])),
        how=found.how.replace("percentiles", "percentiles, without the noise of the means"),
    )


def _as_pearson(values: Floats, kind: Kind) -> Floats:
    """Pearson's correlation of normal values that have this rank correlation."""
    import numpy as np

    if kind == "spearman":
        return np.asarray(2 * np.sin(np.pi / 6 * values))
    return np.asarray(np.sin(np.pi / 2 * values)) if kind == "kendall" else values


def _from_pearson(values: Floats, kind: Kind) -> Floats:
    import numpy as np

    if kind == "spearman":
        return np.asarray(6 / np.pi * np.arcsin(values / 2))
    return np.asarray(2 / np.pi * np.arcsin(values)) if kind == "kendall" else values

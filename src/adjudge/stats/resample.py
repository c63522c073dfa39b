"""Drawing with replacement: how often each unit is drawn, in blocks that keep memory small.

A resample is a column of counts, one per unit, so that a statistic is computed on weights and not on
copies. The block size depends on the data alone and no sum is left to a threaded library, so one
seed gives the same digits on any machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from .arrays import CONFIDENCE, Interval, no_interval

if TYPE_CHECKING:
    from numpy.random import Generator

    from .arrays import Floats

Resample = Literal["inputs", "systems", "both"]
"""What the claim is about: new inputs, new systems, or both."""

N_RESAMPLES = 2000
FEW_SYSTEMS = 8
FEW_INPUTS = 10

SAME = "all resamples give the same value"
"""Why there is no interval where nothing varies: a judge that is always right, for instance."""

_BLOCK = 1 << 16
"""Numbers in one block: half a megabyte, which stays near the processor."""
_LEAST = 8


def generator(seed: int) -> Generator:
    """The one source of chance."""
    import numpy as np

    return np.random.default_rng(seed)


def blocks(n_resamples: int, width: int) -> Iterator[int]:
    """How many resamples to make at a time, where each needs `width` numbers."""
    size = max(_LEAST, _BLOCK // max(1, width))
    for start in range(0, n_resamples, size):
        yield min(size, n_resamples - start)


def draw(rng: Generator, n_units: int, size: int) -> Floats:
    """How often each of `n_units` is drawn, in `size` resamples: units × resamples."""
    import numpy as np

    places = rng.integers(0, n_units, size=(size, n_units))
    places += (np.arange(size) * n_units)[:, None]
    counts = np.bincount(places.ravel(), minlength=size * n_units)
    return counts.reshape(size, n_units).T.astype(np.float64, order="C")


def draw_cells(rng: Generator, sizes: Floats, size: int) -> Floats:
    """The same for units that are alike within cells: how many are drawn from each of the cells."""
    import numpy as np

    n = int(sizes.sum())
    return rng.multinomial(n, sizes / n, size=size).T.astype(np.float64, order="C")


def resampled(statistic: Callable[[Floats], Floats], n_units: int, n_resamples: int, seed: int) -> Floats:
    """The statistic of each resample; `statistic` takes units × resamples and is NaN where undefined."""
    import numpy as np

    rng = generator(seed)
    parts = [statistic(draw(rng, n_units, size)) for size in blocks(n_resamples, n_units)]
    return np.concatenate(parts) if parts else np.empty(0)


def percentiles(values: Floats) -> tuple[float | None, float | None, int]:
    """The percentile interval, and how many resamples had no value."""
    import numpy as np

    kept = values[np.isfinite(values)]
    n_undefined = len(values) - len(kept)
    if len(kept) == 0:
        return None, None, n_undefined
    low, high = np.quantile(kept, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high), n_undefined


def percentile_interval(values: Floats | None, kind: str = "bootstrap") -> Interval:
    """The interval from the resampled values, with a caution where many resamples had none.

    `values` is none where resampling would take more memory than it is worth.
    """
    if values is None:
        return no_interval("too many distinct values to resample")
    low, high, n_undefined = percentiles(values)
    if low is None or high is None:
        return no_interval("no resample has a value")
    if math.isclose(low, high, rel_tol=1e-12, abs_tol=1e-12):
        return no_interval(SAME)
    is_much = n_undefined > len(values) / 20
    cautions = (f"{n_undefined} of {len(values)} resamples had no value",) if is_much else ()
    return Interval(low, high, f", {kind} ({len(values)} resamples, percentiles)", "", cautions)


def few_units(n_inputs: int | None, n_systems: int | None) -> list[str]:
    """A caution where what was resampled is too little to stand for what was not seen."""
    cautions = []
    if n_inputs is not None and n_inputs < FEW_INPUTS:
        cautions.append(f"{n_inputs} inputs are too few to speak for others")
    if n_systems is not None and n_systems < FEW_SYSTEMS:
        cautions.append(f"{n_systems} systems are too few to speak for others")
    return cautions

"""Drawing with replacement, and leaving out one unit at a time: the two ways to an interval without a
formula.

A resample is a column of counts, one per unit, so that a statistic is computed on weights and not on
copies. The block size depends on the data alone and no sum is left to a threaded library, so one
seed gives the same digits on any machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from .arrays import CONFIDENCE, Interval, no_interval, t_quantile

if TYPE_CHECKING:
    from numpy.random import Generator

    from .arrays import Codes, Floats


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


def draw_units(rng: Generator, n_units: int, size: int) -> Floats:
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
    parts = [statistic(draw_units(rng, n_units, size)) for size in blocks(n_resamples, n_units)]
    return np.concatenate(parts) if parts else np.empty(0)


_TAIL = (1 - CONFIDENCE) / 2
"""The share of the resamples beyond each end of an interval."""


def tail_of_few(n_units: int) -> float:
    """The share of the resamples beyond each end where few units were resampled.

    Percentiles of n units are too near by the factor sqrt((n - 1) / n), and normal where t is right: the
    share is that of the normal beyond t times sqrt(n / (n - 1)) (Hesterberg 2015).
    """
    return NormalDist().cdf(-t_quantile(n_units - 1) * math.sqrt(n_units / (n_units - 1)))


def percentiles(values: Floats, tail: float = _TAIL) -> tuple[float | None, float | None, int]:
    """The percentile interval, and how many resamples had no value."""
    import numpy as np

    kept = values[np.isfinite(values)]
    n_undefined = len(values) - len(kept)
    if len(kept) == 0:
        return None, None, n_undefined
    low, high = np.quantile(kept, [tail, 1 - tail])
    return float(low), float(high), n_undefined


def percentile_interval(values: Floats | None, kind: str = "bootstrap", tail: float = _TAIL) -> Interval:
    """The interval from the resampled values, with a caution where many resamples had none.

    `values` is none where resampling would take more memory than it is worth.
    """
    if values is None:
        return no_interval("too many distinct values to resample")
    low, high, n_undefined = percentiles(values, tail)
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
        cautions.append(f"{n_inputs} inputs are too few to generalise")
    if n_systems is not None and n_systems < FEW_SYSTEMS:
        cautions.append(f"{n_systems} systems are too few to generalise")
    return cautions


# Where items share a group, percentiles of few resampled groups are too narrow. Leaving out one group at a
# time, on Fisher's z scale and with t quantiles, covers 93 to 97 % from 20 groups of 2 to 20 items
# (bench/promises_trust.py).

JackknifeScale = Literal["z", "linear", "skewed"]
FEW_GROUPS = 20
"""Groups from which an interval over groups covers 93 to 97 %; with fewer it gets a caution and covers at
least 90 %."""
_MOST_BLOCKS = 500
"""Units above this number are left out in blocks, so that the cost stays that of a bootstrap."""
_ENDS = 1 - 1e-9


def few_groups(n_groups: int) -> list[str]:
    """A caution where an interval over groups rests on few of them."""
    if n_groups >= FEW_GROUPS or n_groups < FEW_INPUTS:
        return few_units(n_groups, None)
    return [f"only {n_groups} groups, so coverage may be 90 % instead of 95 %"]


def few_systems(n_systems: int) -> list[str]:
    """A caution where an interval over systems rests on few of them."""
    if n_systems >= FEW_GROUPS or n_systems < FEW_SYSTEMS:
        return []
    return [f"only {n_systems} systems, so coverage may be 90 % instead of 95 %"]


def block_codes(codes: Codes) -> tuple[Codes, int]:
    """The block that each item is left out with, and how many blocks there are; a block is a unit, or
    several."""
    n_units = int(codes.max(initial=-1)) + 1
    return (codes % _MOST_BLOCKS, _MOST_BLOCKS) if n_units > _MOST_BLOCKS else (codes, n_units)


def left_out(statistic: Callable[[Floats], Floats], codes: Codes) -> Floats:
    """The statistic without each unit in turn; `statistic` takes items × weightings, the last axis of its
    result."""
    import numpy as np

    of_item, n_blocks = block_codes(codes)
    parts, start = [], 0
    for size in blocks(n_blocks, len(codes)):
        parts.append(statistic((of_item[:, None] != np.arange(start, start + size)).astype(np.float64)))
        start += size
    return np.concatenate(parts, axis=-1)


def sums_left_out(parts: Floats, codes: Codes) -> Floats:
    """Sums over items without each unit in turn: items × parts become units × parts."""
    import numpy as np

    of_item, n_blocks = block_codes(codes)
    sums = np.zeros((n_blocks, parts.shape[1]))
    np.add.at(sums, of_item, parts)
    without: Floats = sums.sum(axis=0) - sums
    return without


def jackknife_error(value: float, without: Floats) -> float | None:
    """The jackknife's standard error; none where a value is undefined without some unit, or with one unit."""
    import numpy as np

    n = len(without)
    if n < 2 or not math.isfinite(value) or not bool(np.isfinite(without).all()):
        return None
    return math.sqrt((n - 1) / n * float(((without - value) ** 2).sum()))


def effective_units(codes: Codes) -> float:
    """How many units of equal size would weigh as these do (Kish 1965)."""
    import numpy as np

    of_item, n_blocks = block_codes(codes)
    sizes = np.bincount(of_item, minlength=n_blocks).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def jackknife_interval(
    value: float,
    without: Floats,
    codes: Codes,
    *,
    unit: str = "groups",
    scale: JackknifeScale = "z",
    limits: tuple[float, float] = (-1.0, 1.0),
    confidence: float = CONFIDENCE,
) -> Interval:
    """The interval of a value from the values `without` each unit in turn, by t quantiles (Tukey 1958).

    On Fisher's z scale it suits correlations and kappa; the linear scale suits alpha and what compares
    raters, whose estimates are skewed the other way; AC2, whose groups differ most, is corrected for their
    skewness on the z scale (Hall 1992). `codes` are the units of the items.
    """
    import numpy as np
    from scipy.special import stdtrit

    if len(without) < 2:
        return no_interval("all items belong to one group")
    se = jackknife_error(value, without)
    if se is None:
        return no_interval(f"it is undefined without one of the {unit}")
    if se <= 1e-12:
        is_perfect = scale != "linear" and value > 1 - 1e-12
        return no_interval("perfect agreement" if is_perfect else SAME)
    how, units = f", jackknife over {unit}, t interval", effective_units(codes)
    if scale != "linear" and abs(value) < _ENDS and bool((np.abs(without) < _ENDS).all()):
        middle, parts = math.atanh(value), np.arctanh(without)
        error = jackknife_error(middle, parts)
        assert error is not None, "every value has a z"
        # One degree of freedom more than on the linear scale: Fisher's z is nearly normal already.
        df = units if scale == "z" else max(1.0, units - 1)
        quantile = float(stdtrit(df, (1 + confidence) / 2))
        ends = quantile, -quantile
        if scale == "skewed":
            ends = _without_skewness(ends, middle - parts, units)
        low, high = (middle - end * error for end in ends)
        return Interval(math.tanh(low), math.tanh(high), how)
    half = float(stdtrit(max(1.0, units - 1), (1 + confidence) / 2)) * se
    return Interval(max(limits[0], value - half), min(limits[1], value + half), how)


def jackknife_over(value: float, without: Sequence[Floats], codes: Sequence[Codes]) -> Interval:
    """The interval of a correlation over several kinds of units at once, on Fisher's z scale: their variances
    add up."""
    import numpy as np
    from scipy.special import stdtrit

    if abs(value) >= _ENDS or any(bool((np.abs(part) >= _ENDS).any()) for part in without):
        return no_interval("perfect agreement, or none, without one of the units")
    errors = [jackknife_error(math.atanh(value), np.arctanh(part)) for part in without]
    if any(error is None for error in errors):
        return no_interval("it is undefined without one of the units")
    error = math.hypot(*(error or 0.0 for error in errors))
    df = min(effective_units(units) for units in codes)
    half = float(stdtrit(df, (1 + CONFIDENCE) / 2)) * error
    kinds = "systems" if len(codes) == 1 else "systems and over inputs"
    middle = math.atanh(value)
    return Interval(
        math.tanh(middle - half), math.tanh(middle + half), f", jackknife over {kinds}, t interval"
    )


def _without_skewness(ends: tuple[float, float], parts: Floats, units: float) -> tuple[float, float]:
    """The quantiles of a t value whose parts are skewed, by Hall's transformation (1992)."""
    import numpy as np

    around = parts - parts.mean()
    sd = math.sqrt(float((around**2).mean()))
    skewness = 0.0 if sd <= 0 else float((around**3).mean()) / sd**3 / math.sqrt(units)
    if abs(skewness) < 1e-6:
        return ends
    low, high = (3 / skewness * (float(np.cbrt(1 + skewness * (end - skewness / 6))) - 1) for end in ends)
    return low, high

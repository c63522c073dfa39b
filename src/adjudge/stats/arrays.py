"""What all statistics share: inputs as arrays, intervals, and how an estimate is made.

A missing value (none, NaN, an infinity) is NaN inside this package and never leaves it: the function that was called
drops and counts it. Values beyond 1e60, whose fourth power would overflow, count as missing; below 1e-60 they are 0.

Drawing with replacement: how often each unit is drawn, in blocks that keep memory small.

A resample is a column of counts, one per unit, so that a statistic is computed on weights and not on
copies. The block size depends on the data alone and no sum is left to a threaded library, so one
seed gives the same digits on any machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from msgspec import structs

from ..records import Estimate

if TYPE_CHECKING:
    from numpy.random import Generator


CONFIDENCE = 0.95
"""The level of every interval."""

NORMAL_QUANTILE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""By what a standard error is multiplied to half an interval, in large samples."""


def t_quantile(df: float, confidence: float = CONFIDENCE) -> float:
    """By what a standard error is multiplied to half an interval, at so many degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + confidence) / 2))


AnyEstimate = TypeVar("AnyEstimate", bound=Estimate)


class Interval(NamedTuple):
    """The ends of an interval and how they were computed, or the reason why there is none."""

    low: float | None
    high: float | None
    how: str
    """what follows the name of the statistic in `Estimate.method`: ", t interval\""""
    reason: str = ""
    cautions: tuple[str, ...] = ()


def no_interval(reason: str) -> Interval:
    """What stands in for the interval of a value that has none."""
    return Interval(None, None, "", reason)


def undefined(
    reason: str, *, n: int = 0, n_failed: int = 0, n_undefined: int = 0, unit: str = ""
) -> Estimate:
    """An estimate without a value."""
    method = f"undefined: {reason}"
    return Estimate(None, None, None, n, n_failed, n_undefined, method, unit, reason=reason)


def make_estimate(
    value: float,
    interval: Interval,
    name: str,
    *,
    n: int,
    n_failed: int = 0,
    n_undefined: int = 0,
    unit: str = "item",
    seed: int | None = None,
    cautions: Sequence[str] = (),
) -> Estimate:
    """An estimate whose method says all: its name, its interval or why there is none, and every caution."""
    caution = "; ".join((*cautions, *interval.cautions))
    method = name + interval.how + _ending(interval.reason, caution)
    return Estimate(
        value, interval.low, interval.high, n, n_failed, n_undefined, method, unit, seed,
        reason=interval.reason, caution=caution,
    )  # fmt: skip


def _ending(reason: str, caution: str) -> str:
    """How the method of an estimate with a value ends."""
    missing = f"; no interval: {reason}" if reason else ""
    return f"{missing}; caution: {caution}" if caution else missing


def within(estimate: AnyEstimate, limits: tuple[float, float] | None) -> AnyEstimate:
    """The estimate with its interval cut at what is possible."""
    if limits is None or estimate.low is None or estimate.high is None:
        return estimate
    low, high = (min(max(end, limits[0]), limits[1]) for end in (estimate.low, estimate.high))
    return structs.replace(estimate, low=low, high=high)


def with_remark(estimate: AnyEstimate, remark: str) -> AnyEstimate:
    """The estimate with a remark on how it was made, before the reason and the caution that its method ends with."""
    ending = _ending(estimate.reason, estimate.caution)
    return structs.replace(estimate, method=f"{estimate.method.removesuffix(ending)}, {remark}{ending}")


def with_caution(estimate: AnyEstimate, caution: str) -> AnyEstimate:
    """The estimate with one caution more."""
    if estimate.caution:
        cautions, method = f"{estimate.caution}; {caution}", f"{estimate.method}; {caution}"
    else:
        cautions, method = caution, f"{estimate.method}; caution: {caution}"
    return structs.replace(estimate, caution=cautions, method=method)


if TYPE_CHECKING:
    from numpy import bool_, float64, int64
    from numpy.typing import NDArray

    Floats = NDArray[float64]
    Codes = NDArray[int64]
    Flags = NDArray[bool_]

Numbers = Sequence[float] | Sequence[float | None]
"""One value per item; none or NaN where there is none."""

Ratings = Sequence[Numbers]
"""One row per item, one column per rater; none or NaN where a rater did not rate."""


_HUGE = 1e60


def sensible(array: Floats) -> Floats:
    """The same array, with what is not a number, or beyond any scale, as NaN."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        array[~(np.abs(array) <= _HUGE)] = np.nan
        array[np.abs(array) < 1 / _HUGE] = 0.0
    return array


def floats(values: Numbers) -> Floats:
    """The values as an array; what is not a number is NaN."""
    import numpy as np

    return sensible(np.array(values, dtype=np.float64).reshape(-1))


def rated(ratings: Ratings) -> Floats:
    """The ratings as items × raters; what is not a number is NaN."""
    import numpy as np

    rows = [np.array(row, dtype=np.float64) for row in ratings]
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise ValueError(
            f"rows of {min(widths)} to {max(widths)} ratings: give every item a place for every rater"
        )
    return sensible(np.array(rows, dtype=np.float64).reshape(len(rows), widths.pop() if widths else 0))


def same_length(*columns: Sequence[Any] | Floats | None) -> None:
    """Columns that are given item by item must have one length."""
    lengths = [len(column) for column in columns if column is not None]
    if len(set(lengths)) > 1:
        raise ValueError(f"columns of different lengths: {lengths}")


def label_codes(labels: Sequence[Hashable]) -> tuple[Codes, int]:
    """0, 1, 2, … for each label in order of appearance, and how many there are."""
    import numpy as np

    numbers: dict[Hashable, int] = {}
    numbered = [numbers.setdefault(label, len(numbers)) for label in labels]
    return np.array(numbered, dtype=np.int64), len(numbers)


def scaled(values: Floats) -> Floats:
    """The values shifted and shrunk into -1 to 1 around their mean, so that no square overflows."""
    import numpy as np

    present = values[~np.isnan(values)]
    if len(present) == 0:
        return values
    with np.errstate(all="ignore"):
        small = values / (np.abs(present).max() or 1.0)
        shifted = small - np.nanmean(small)
        result: Floats = shifted / (np.nanmax(np.abs(shifted)) or 1.0)
    return result


def is_constant(values: Floats) -> bool:
    """Whether there are not two different values."""
    return len(values) == 0 or bool(values.min() == values.max())


def logprobs_at(row: Any, places: Sequence[int]) -> list[float]:
    """The natural logarithm of the softmax of a row of logits (a buffer of 32-bit floats), at these places.

    Summed in 64 bits: a sum over tens of thousands of small terms in 32 bits loses digits that a
    comparison of two near texts needs.
    """
    import numpy as np

    logits = np.frombuffer(row, dtype=np.float32).astype(np.float64)
    highest = logits.max()
    total = highest + np.log(np.exp(logits - highest).sum())
    return [float(logits[place] - total) for place in places]


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


_TAIL = (1 - CONFIDENCE) / 2
"""The share of the resamples beyond each end of an interval."""


def tail_of_few(n_units: int) -> float:
    """The share of the resamples beyond each end where few units were resampled.

    Percentiles of n units are too near by the factor sqrt((n - 1) / n), and normal where t is right: the share is that
    of the normal beyond t times sqrt(n / (n - 1)) (Hesterberg 2015).
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


# -- Delete-one jackknife

# Where items share a group, percentiles of few resampled groups are too narrow. Leaving out one group at a time, on
# Fisher's z scale and with t quantiles, covers 93 to 97 % from 20 groups of 2 to 20 items (bench/promises_trust.py).


JackknifeScale = Literal["z", "linear", "skewed"]

FEW_GROUPS = 20
"""Groups from which an interval over groups covers 93 to 97 %; with fewer it gets a caution and covers at least 90 %."""
_MOST_BLOCKS = 500
"""Units above this number are left out in blocks, so that the cost stays that of a bootstrap."""
_ENDS = 1 - 1e-9


def few_groups(n_groups: int) -> list[str]:
    """A caution where an interval over groups rests on few of them."""
    if n_groups >= FEW_GROUPS or n_groups < FEW_INPUTS:
        return few_units(n_groups, None)
    return [f"only {n_groups} groups, so coverage may be 90 % instead of 95 %"]


def block_codes(codes: Codes) -> tuple[Codes, int]:
    """The block that each item is left out with, and how many blocks there are; a block is a unit, or several."""
    n_units = int(codes.max(initial=-1)) + 1
    return (codes % _MOST_BLOCKS, _MOST_BLOCKS) if n_units > _MOST_BLOCKS else (codes, n_units)


def left_out(statistic: Callable[[Floats], Floats], codes: Codes) -> Floats:
    """The statistic without each unit in turn; `statistic` takes items × weightings, the last axis of its result."""
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

    On Fisher's z scale it suits correlations and kappa; the linear scale suits alpha and what compares raters, whose
    estimates are skewed the other way; AC2, whose groups differ most, is corrected for their skewness on the z scale
    (Hall 1992). `codes` are the units of the items.
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

"""What all statistics share: inputs as arrays, intervals, and how an estimate is made.

A missing value (none, NaN, an infinity) is NaN inside this package and never leaves it: the function that was
called drops and counts it. Values beyond 1e60, whose fourth power would overflow, count as missing; below
1e-60 they are 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import structs

from ..records import Estimate

if TYPE_CHECKING:
    from numpy import bool_, float64, int64
    from numpy.typing import NDArray

    Floats = NDArray[float64]
    Codes = NDArray[int64]
    Flags = NDArray[bool_]


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
    """The estimate with a remark on how it was made, before the reason and the caution that its method ends
    with."""
    ending = _ending(estimate.reason, estimate.caution)
    return structs.replace(estimate, method=f"{estimate.method.removesuffix(ending)}, {remark}{ending}")


def with_caution(estimate: AnyEstimate, caution: str) -> AnyEstimate:
    """The estimate with one caution more."""
    if estimate.caution:
        cautions, method = f"{estimate.caution}; {caution}", f"{estimate.method}; {caution}"
    else:
        cautions, method = caution, f"{estimate.method}; caution: {caution}"
    return structs.replace(estimate, caution=cautions, method=method)


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


def floats(values: Numbers | Floats) -> Floats:
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

    numbers: defaultdict[Hashable, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    codes = np.fromiter(map(numbers.__getitem__, labels), np.int64, len(labels))
    return codes, len(numbers)


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

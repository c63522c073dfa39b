"""What callers give, as arrays of numbers: a missing value (none, NaN, an infinity) is NaN in here.

It never leaves: what is missing is dropped and counted by the function that was asked. So is what
no scale holds: beyond 1e60 a fourth power would overflow, and below 1e-60 a square is 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

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


def codes(labels: Sequence[Hashable]) -> tuple[Codes, int]:
    """0, 1, 2, … for each label in order of appearance, and how many there are."""
    import numpy as np

    numbers: dict[Hashable, int] = {}
    found = [numbers.setdefault(label, len(numbers)) for label in labels]
    return np.array(found, dtype=np.int64), len(numbers)


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

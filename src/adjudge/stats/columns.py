"""Scores by item in flat arrays, so that a hundred thousand of them need a few megabytes.

A key is any 64-bit number that identifies an item. A column may hold a key twice; its mean is then clustered.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..records import Estimate
from .means import Precision, mean_interval, standard_error

if TYPE_CHECKING:
    pass


class ScoreColumn:
    """The scores of one criterion: for each a key, a value, its group, and whether it is marked."""

    __slots__ = ("groups", "has_groups", "keys", "marks", "values")

    def __init__(self) -> None:
        self.keys = array("q")
        self.values = array("d")
        self.groups = array("q")
        self.marks = array("b")
        self.has_groups = False
        """whether any group was given; otherwise each item is its own"""

    def __len__(self) -> int:
        return len(self.values)

    def add(self, key: int, value: float, group: int, *, is_grouped: bool, is_marked: bool = False) -> None:
        """One more score; `group` is a number of the item where it has no group."""
        self.keys.append(key)
        self.values.append(value)
        self.groups.append(group)
        self.marks.append(is_marked)
        self.has_groups = self.has_groups or is_grouped

    def clusters(self) -> array[int] | None:
        """Which scores belong together; none where each stands alone."""
        if self.has_groups or self.n_groups() < len(self):
            return self.groups
        return None

    def n_groups(self) -> int:
        """How many different groups there are."""
        return n_distinct([self.groups])

    def mean(self, n_failed: int = 0, limits: tuple[float, float] | None = None) -> Estimate:
        """The mean with its interval, clustered where scores belong together."""
        return mean_interval(self.values, self.clusters(), n_failed, limits=limits)

    def precision(self) -> Precision | None:
        """How sharply the mean is known."""
        return standard_error(self.values, self.clusters())

    def counts(self) -> dict[float, int]:
        """How often each value occurs, smallest first."""
        import numpy as np

        values, counts = np.unique(np.asarray(self.values), return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))

    def unmarked(self) -> ScoreColumn:
        """The scores without a mark."""
        import numpy as np

        kept = np.asarray(self.marks) == 0
        return _column(
            (np.asarray(part)[kept] for part in (self.keys, self.values, self.groups, self.marks)),
            self.has_groups,
        )


def joined(columns: Sequence[ScoreColumn]) -> ScoreColumn:
    """All scores of several columns, one after the other."""
    together = ScoreColumn()
    for column in columns:
        together.keys.extend(column.keys)
        together.values.extend(column.values)
        together.groups.extend(column.groups)
        together.marks.extend(column.marks)
        together.has_groups = together.has_groups or column.has_groups
    return together


def pooled(columns: Sequence[ScoreColumn]) -> tuple[ScoreColumn, int]:
    """One score per key, the mean of those that have it, and how many keys not every column has."""
    import numpy as np

    together = joined(columns)
    keys, first, places, counts = np.unique(
        np.asarray(together.keys), return_index=True, return_inverse=True, return_counts=True
    )
    if len(keys) == 0:
        return together, 0
    with np.errstate(all="ignore"):
        means = np.bincount(places, weights=np.asarray(together.values)) / counts
        # A mean of equal values must be that value, or counting by value would tell twins apart.
        rounded = np.round(means, 12)
    means = np.where(np.isfinite(rounded), rounded, means)
    marks = np.bincount(places, weights=np.asarray(together.marks)) > 0
    column = _column((keys, means, np.asarray(together.groups)[first], marks), together.has_groups)
    return column, int(np.sum(counts < len(columns)))


def missing_from(column: ScoreColumn, others: ScoreColumn) -> ScoreColumn:
    """The first row of each key that does not occur in `others`."""
    import numpy as np

    _, first = np.unique(np.asarray(column.keys), return_index=True)
    kept = first[~np.isin(np.asarray(column.keys)[first], np.asarray(others.keys))]
    parts = (column.keys, column.values, column.groups, column.marks)
    return _column((np.asarray(part)[kept] for part in parts), column.has_groups)


def n_distinct(numbers: Sequence[array[int]]) -> int:
    """How many different numbers there are in several arrays."""
    import numpy as np

    return len(np.unique(np.concatenate([np.asarray(part) for part in numbers]))) if numbers else 0


def matched(x: ScoreColumn, y: ScoreColumn) -> tuple[array[float], array[float], int | None, int]:
    """The values of the keys that both columns have, the number of their groups (none: each item
    stands alone), and how many keys only one of them has. Both must be `pooled`: no key twice."""
    import numpy as np

    x_keys, y_keys = np.asarray(x.keys), np.asarray(y.keys)
    common, in_x, in_y = np.intersect1d(x_keys, y_keys, assume_unique=True, return_indices=True)
    n_groups = len(np.unique(np.asarray(x.groups)[in_x]))
    is_grouped = x.has_groups or n_groups < len(common)
    return (
        _array("d", np.asarray(x.values)[in_x]),
        _array("d", np.asarray(y.values)[in_y]),
        n_groups if is_grouped else None,
        len(x_keys) + len(y_keys) - 2 * len(common),
    )


def _column(parts: Any, has_groups: bool) -> ScoreColumn:
    column = ScoreColumn()
    keys, values, groups, marks = parts
    column.keys, column.values = _array("q", keys), _array("d", values)
    column.groups, column.marks = _array("q", groups), _array("b", marks.astype("int8"))
    column.has_groups = has_groups
    return column


def _array(kind: Any, numbers: Any) -> Any:
    """A numpy array as a flat array of the standard library, for callers who know nothing of numpy."""
    flat = array(kind)
    flat.frombytes(numbers.tobytes())
    return flat

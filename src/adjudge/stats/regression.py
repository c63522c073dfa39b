"""The regression of people's labels on judges' scores: the slope, and the slope that each label is predicted
with.

The slope is that of PPI++: the covariance of the labels with the scores, over the variance of all scores.
Taken from all labels, it moves the corrected mean towards the end of a scale at which most labels lie, by
slope * skewness * sd / n: 0.12 points where 17 of 20 labels are 5. So where labels or scores are that skewed,
and for several judges, each label is predicted with the slope of the other labels, or of the other groups
(held out one by one), which has no such bias. Elsewhere the bias is below a fifth of the standard error, and
the slope of all labels is kept: the corrected mean is then that of the publication.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from .arrays import Codes, Floats


_MOST_SKEWED = 0.1
"""Skewness over the root of the number of labels, from which the slopes are held out."""


class Regression(Struct, frozen=True):
    """Labels on the scores of one or several judges."""

    slope: Floats
    """for each judge, from all labels; never below 0: a judge that runs against people on a few labels is not
    believed"""
    slopes: Floats
    """labels × judges: what each label is predicted with"""
    leverage: Floats
    """by how much a label counts for more where the labelled items differ from the rest in their scores"""

    @property
    def n_fitted(self) -> int:
        """Numbers that were fitted: the mean, and a slope where there is one."""
        return 2 if bool(self.slopes.any()) else 1


def regression(
    y: Floats,
    judged: Floats,
    everywhere: Floats,
    shift: Floats,
    weights: Floats,
    units: Codes,
    strata: Codes | None = None,
) -> Regression:
    """The regression of labels `y` on the scores `judged` (labels × judges) of the same items.

    `everywhere` holds the scores of all items around their mean, or around those of their strata; `shift` is
    the mean of all scores less that of the labelled ones. `units` are the labels' groups, and `strata` their
    strata.
    """
    import numpy as np

    n, n_judges = judged.shape
    codes = np.zeros(n, dtype=np.int64) if strata is None else strata
    n_strata = int(codes.max()) + 1
    free = max(1, len(everywhere) - n_strata)
    variances = everywhere.T @ everywhere / free
    flat = Regression(np.zeros(n_judges), np.zeros((n, n_judges)), np.ones(n))
    if not bool((np.diagonal(variances) > 0).any()):
        return flat
    _, groups = np.unique(units, return_inverse=True)
    sums = _Sums(y, judged, weights, groups, codes)
    is_held_out = n_judges > 1 or _is_skewed(sums.around_y, everywhere, int(groups.max()) + 1)
    slope = _slopes(*sums.of_all(), variances, is_held_out)[0]
    slopes = np.tile(slope, (n, 1))
    if is_held_out:
        slopes = _slopes(*sums.without_each(), variances, is_held_out)[groups]
    return Regression(slope, slopes, _leverage(sums.around_f, weights, shift, slope))


def _is_skewed(around_y: Floats, around_f: Floats, n_units: int) -> bool:
    """Whether one slope from all labels would bias the mean by more than its error allows to ignore."""
    import numpy as np

    skewed = [_skewness(column) for column in (around_y, *np.atleast_2d(around_f.T))]
    return max(skewed) > _MOST_SKEWED * math.sqrt(n_units)


def _skewness(around: Floats) -> float:
    square = float((around**2).mean())
    return abs(float((around**3).mean())) / square**1.5 if square > 0 else 0.0


class _Sums:
    """Sums of products over the labels, within strata, in all and without each group of labels."""

    def __init__(self, y: Floats, judged: Floats, weights: Floats, groups: Codes, strata: Codes) -> None:
        import numpy as np

        total = np.bincount(strata, weights=weights)

        def around(column: Floats) -> Floats:
            centred: Floats = column - (np.bincount(strata, weights=weights * column) / total)[strata]
            return centred

        self.around_y, self.weights = around(y), weights
        self.around_f = np.column_stack([around(column) for column in judged.T])
        self.groups, self.strata, self.total = groups, strata, total

    def of_all(self) -> tuple[Floats, Floats, Floats]:
        """The covariances with people, and the variances, of each judge: one row."""
        weighted = self.weights[:, None] * self.around_f
        total = self.weights.sum(keepdims=True)
        return (
            (self.around_y @ weighted)[None] / total,
            (weighted * self.around_f).sum(axis=0)[None] / total,
            total,
        )

    def without_each(self) -> tuple[Floats, Floats, Floats]:
        """The same for the labels outside of each group: a row for each group.

        Where a group leaves a stratum, the stratum's mean moves: w y' f' loses the part of the labels that
        left, and the product of the sums that are left (which are 0 together, because all values are around
        their means).
        """
        import numpy as np

        n_groups, n_strata = int(self.groups.max()) + 1, len(self.total)
        cells, place = np.unique(self.groups * n_strata + self.strata, return_inverse=True)
        group, stratum = cells // n_strata, cells % n_strata

        def added(column: Floats) -> Floats:
            return np.bincount(place, weights=self.weights * column, minlength=len(cells)).astype(np.float64)

        gone, gone_y = added(np.ones(len(place))), added(self.around_y)
        left = self.total[stratum] - gone
        rows = []
        for column in self.around_f.T:
            gone_f = added(column)
            for other, gone_other in ((self.around_y, gone_y), (column, gone_f)):
                moved = np.where(left > 1e-9, gone_other * gone_f / np.where(left > 1e-9, left, 1.0), 0.0)
                lost = np.bincount(group, weights=added(other * column) + moved, minlength=n_groups)
                rows.append(float((self.weights * other * column).sum()) - lost)
        remaining = self.total.sum() - np.bincount(group, weights=gone, minlength=n_groups)
        shared, square = np.array(rows[::2]).T, np.array(rows[1::2]).T
        known = np.where(remaining > 1e-9, remaining, 1.0)[:, None]
        return shared / known, np.maximum(square, 0.0) / known, remaining


def _slopes(
    shared: Floats, square: Floats, remaining: Floats, variances: Floats, is_held_out: bool
) -> Floats:
    """Slopes that are not negative, a row for each row of covariances.

    Held out, they are divided by the variance of the labelled scores where that is larger than that of all
    scores: rare low scores that happen to be frequent among few labels would otherwise make a slope of 3.
    """
    import numpy as np

    own = np.diagonal(variances)
    used = own > 0
    ratio = np.ones(len(shared))
    if is_held_out:
        ratio = np.maximum(1.0, (square[:, used] / own[used]).mean(axis=1))
    slopes = np.zeros(shared.shape)
    if int(used.sum()) == 1:
        slopes[:, used] = np.maximum(0.0, shared[:, used] / (ratio[:, None] * own[used]))
    else:
        from scipy.optimize import nnls

        # The least squares of slopes that are not negative; two judges that always agree share theirs.
        ridge = 1e-9 * float(own.mean()) * np.eye(int(used.sum()))
        root = np.linalg.cholesky(variances[np.ix_(used, used)] + ridge).T
        targets = np.linalg.solve(root.T, (shared[:, used] / ratio[:, None]).T).T
        slopes[:, used] = [nnls(root, target)[0] for target in targets]
    slopes[remaining <= 1e-9] = 0.0
    return slopes


def _leverage(around_f: Floats, weights: Floats, shift: Floats, slope: Floats) -> Floats:
    """1 + n shift' S^-1 f, over the judges that are believed."""
    import numpy as np

    used = slope > 0
    if not bool(used.any()):
        return np.ones(len(around_f))
    scores = around_f[:, used]
    inverse = np.linalg.pinv(scores.T @ (weights[:, None] * scores), rcond=1e-9, hermitian=True)
    leverage: Floats = 1 + float(weights.sum()) * (scores @ inverse @ shift[used])
    return leverage

"""Means that may be looked at after every label: tests and intervals that hold at all looks together.

A usual interval is right at one number of labels that was fixed before. Looked at after every label, a false
finding shows up far more often than in 5 % of cases. Here each possible mean is a fair game on which one
bets, label by label; a mean at which the bets have won 40 times the stake is rejected, and by Ville's
inequality a true one is rejected with a probability of at most 1 / 40 on each side, whenever one stops
(Waudby-Smith and Ramdas 2024).

Half of the stake follows the bet that looked best so far, the other half is divided over fixed bets. Where a
judge has scored all items, each label is corrected by what the judge says of its item (prediction-powered, as
in `ppi`), with a slope from the labels before it, so that no label is used to predict itself.

Labels must come in random order, and with equal chances.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    Numbers,
    floats,
    undefined,
)
from .regression_mean import filled

if TYPE_CHECKING:
    from .arrays import Floats


_CAUTIOUS = 0.5
"""The largest share of the stake that one bet may lose."""
_HALVINGS = 40


def any_time_mean(values: Numbers, unit: str = "item") -> Estimate:
    """The mean of values between 0 and 1, in the order in which they came, with an interval for all sizes at
    once."""
    import numpy as np

    x = floats(values)
    x = x[~np.isnan(x)]
    if len(x) == 0:
        return undefined("there is no value", unit=unit)
    if x.min() < 0 or x.max() > 1:
        return undefined("a value is not between 0 and 1", n=len(x), unit=unit)
    stakes = _stakes(x, 1 - CONFIDENCE)
    # The mean is tested from below and from above, each with half of the stake.
    limit = math.log(2 / (1 - CONFIDENCE))
    mean = float(x.mean())
    low = _bound(x, stakes, limit)
    high = 1 - _bound(1 - x, stakes, limit)
    method = "mean, betting confidence sequence: holds at every look"
    return Estimate(mean, min(low, mean), max(high, mean), len(x), method=method, unit=unit)


def _stakes(x: Floats, alpha: float) -> Floats:
    """How much to bet on each value, from the spread of those before it."""
    import numpy as np

    t = np.arange(1, len(x) + 1)
    means = (0.5 + np.cumsum(x)) / (t + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (t + 1)
    before = np.append(0.25, variances[:-1])
    return np.asarray(np.sqrt(2 * math.log(2 / alpha) / (t * np.log1p(t) * before)))


def _bound(x: Floats, stakes: Floats, limit: float) -> float:
    """The smallest mean at which betting on more has not yet won enough; the winnings fall as the mean
    rises."""
    import numpy as np

    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        bets = np.minimum(stakes, _CAUTIOUS / middle)
        if float(np.log1p(bets * (x - middle)).sum()) >= limit:
            low = middle
        else:
            high = middle
    return low


Side = Literal["above", "below"]
_BETS = (0.03, 0.07, 0.16, 0.35, 0.8)
"""Fixed bets, as shares of what one may bet without the risk to lose all."""
_BOLDEST = 0.9
_FEWEST, _SHRINK = 5, 10
"""Labels before the judge is used at all, and labels by which its slope is shrunk to 0."""
_SEARCH_STEPS = 40


class Crossing(Struct, frozen=True):
    """The first label at which a mean is shown to lie on one side of a threshold."""

    n: int
    side: Side


class LabelStream:
    """Labels in the order in which they came, each corrected by the judge's score of its item."""

    def __init__(
        self, labels: Numbers, scores: Numbers, all_scores: Numbers, limits: tuple[float, float]
    ) -> None:
        """`scores` are the judge's of the labelled items, `all_scores` of all items, both none where it
        failed."""
        import numpy as np

        everywhere = filled(floats(all_scores))
        y, f = floats(labels), floats(scores)
        mean, n_items = float(everywhere.mean()), len(everywhere)
        f = np.where(np.isnan(f), mean, f)
        slopes = _slopes(y, f, float(everywhere.var()), n_items)
        self.n = len(y)
        self.values = y - slopes * (f - mean)
        self.lowest = limits[0] - slopes * (float(everywhere.max()) - mean)
        self.highest = limits[1] + slopes * (mean - float(everywhere.min()))
        self.limits = limits

    def crossing(self, threshold: float) -> Crossing | None:
        """When the mean was shown to be above or below the threshold; either one is wrong in at most 2.5
        %."""
        import numpy as np

        if self.n == 0:
            return None
        limit = math.log(2 / (1 - CONFIDENCE))
        above = np.flatnonzero(self._winnings(threshold) >= limit)
        below = np.flatnonzero(self._mirrored()._winnings(-threshold) >= limit)
        first = [Crossing(int(above[0]) + 1, "above")] if len(above) else []
        first += [Crossing(int(below[0]) + 1, "below")] if len(below) else []
        return min(first, key=lambda crossing: crossing.n, default=None)

    def estimate(self, n: int | None = None) -> Estimate:
        """The mean of the first `n` labels with an interval that holds at every look."""
        n = self.n if n is None else n
        if n == 0:
            return undefined("there is no label", unit="label")
        mean = min(self.limits[1], max(self.limits[0], float(self.values[:n].mean())))
        low, high = self._bound(n), -self._mirrored()._bound(n)
        method = "prediction-powered mean, betting confidence sequence: holds at every look"
        return Estimate(mean, min(low, mean), max(high, mean), n, method=method, unit="label")

    def reaching(self, width: float) -> int | None:
        """The first number of labels at which the interval is as narrow as this."""
        if self.n == 0 or self._width(self.n) > width:
            return None
        low, high = 1, self.n
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._width(middle) <= width else (middle + 1, high)
        return low

    def _width(self, n: int) -> float:
        estimate = self.estimate(n)
        return (estimate.high or 0.0) - (estimate.low or 0.0)

    def _mirrored(self) -> LabelStream:
        """The stream with the scale turned round."""
        mirrored = object.__new__(LabelStream)
        mirrored.n, mirrored.values = self.n, -self.values
        mirrored.lowest, mirrored.highest = -self.highest, -self.lowest
        mirrored.limits = -self.limits[1], -self.limits[0]
        return mirrored

    def _winnings(self, mean: float) -> Floats:
        """The logarithm of the capital after each label, if one bets that the mean is higher than this."""
        import numpy as np

        fixed = self._fixed_bets(mean, self.n)
        together: Floats = np.logaddexp(self._best_bets(mean), fixed) - math.log(2)
        return together

    def _fixed_bets(self, mean: float, n: int) -> Floats:
        import numpy as np

        gains = ((self.values - mean) / (mean - self.lowest))[:n]
        capital = np.cumsum(np.log1p(np.array(_BETS)[:, None] * gains), axis=1)
        together: Floats = np.logaddexp.reduce(capital, axis=0) - math.log(len(_BETS))
        return together

    def _best_bets(self, mean: float) -> Floats:
        """Each bet is the best one by the mean and the variance so far (WSR's aGRAPA)."""
        import numpy as np

        room = mean - self.lowest
        t = np.arange(1, self.n + 1)
        means = (np.cumsum(self.values) + mean) / (t + 1)
        squares = np.cumsum((self.values - means) ** 2) + room[0] ** 2 / 4
        distance = np.append(0.0, (means - mean)[:-1])
        variance = np.append(room[0] ** 2 / 4, (squares / (t + 1))[:-1])
        bets = np.clip(distance / (variance + distance**2), 0.0, _BOLDEST / room)
        capital: Floats = np.cumsum(np.log1p(bets * (self.values - mean)))
        return capital

    def _bound(self, n: int) -> float:
        """The smallest mean that no look up to the n-th label has rejected from below."""
        limit = math.log(2 / (1 - CONFIDENCE))
        low, high = self.limits
        for _ in range(_SEARCH_STEPS):
            middle = (low + high) / 2
            # The winnings of a fixed bet fall as the mean rises.
            is_rejected = float(self._fixed_bets(middle, n).max()) >= limit
            low, high = (middle, high) if is_rejected else (low, middle)
        return low


def _slopes(y: Floats, f: Floats, variance: float, n_items: int) -> Floats:
    """How far the judge is believed at each label, from the labels before it; less where most items are
    labelled."""
    import numpy as np

    if variance <= 0 or len(y) == 0:
        return np.zeros(len(y))
    t = np.arange(1, len(y) + 1)
    covariance = np.cumsum(y * f) / t - np.cumsum(y) * np.cumsum(f) / t**2
    slopes = np.maximum(covariance, 0.0) / variance * t / (t + _SHRINK) * np.maximum(0.0, 1 - t / n_items)
    slopes[t < _FEWEST] = 0.0
    before: Floats = np.append(0.0, slopes[:-1])
    return before

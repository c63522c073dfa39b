"""An interval that holds at every look: for whoever asks until an answer is clear, and then stops.

Usual intervals are right at one size that was fixed before. Looked at after every batch, a false difference shows up far more
often than in 5 % of cases. A confidence sequence is right at all sizes together: each possible mean is a fair game on which one
bets, and a mean at which the bets have won 1 / 0.05 times the stake is no longer believed (Waudby-Smith and Ramdas 2024, hedged
capital with bets from the variance seen before).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..records import Estimate
from .arrays import Numbers, floats
from .undefined import undefined

if TYPE_CHECKING:
    from .arrays import Floats

_CAUTIOUS = 0.5
"""The largest share of the stake that one bet may lose."""
_HALVINGS = 40


def any_time_mean(values: Numbers, confidence: float = 0.95, unit: str = "item") -> Estimate:
    """The mean of values between 0 and 1, in the order in which they came, with an interval for all sizes at once."""
    import numpy as np

    x = floats(values)
    x = x[~np.isnan(x)]
    if len(x) == 0:
        return undefined("there is no value", unit=unit)
    if x.min() < 0 or x.max() > 1:
        return undefined("a value is not between 0 and 1", n=len(x), unit=unit)
    stakes = _stakes(x, 1 - confidence)
    # The mean is tested from below and from above, each with half of the stake.
    limit = math.log(2 / (1 - confidence))
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
    """The smallest mean at which betting on more has not yet won enough; the winnings fall as the mean rises."""
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

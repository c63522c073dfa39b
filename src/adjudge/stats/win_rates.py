"""Win rates: preferences from log-probabilities, shares of clustered games, and anytime-valid intervals.

A hard verdict throws away how sure the judge was. The share of the probability that the two verdict tokens have between
them keeps it (AlpacaEval 2, Dubois et al. 2024): 0.5 is undecided, and a win rate is the mean of these shares.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import CONFIDENCE, Numbers, floats, undefined
from .means import standard_error
from .proportions import wilson

if TYPE_CHECKING:
    from .arrays import Floats


class Preference(Struct, frozen=True):
    """The share of the first token among the two, and the probability that both have together."""

    share: float
    caught_mass: float


def token_preference(top: Iterable[tuple[str, float]], first: str, second: str) -> Preference | None:
    """The preference for `first` from tokens with their log-probabilities; none where neither was seen.

    White space around a token does not make it another one, but its case does: AlpacaEval's are m and M.
    """
    mass = {first: 0.0, second: 0.0}
    for token, logprob in top:
        bare = token.strip()
        if bare in mass and logprob == logprob:
            mass[bare] += math.exp(min(0.0, logprob))
    caught = mass[first] + mass[second]
    return Preference(mass[first] / caught, min(1.0, caught)) if caught > 0 else None


def clustered_share(
    shares: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    n_failed: int = 0,
    unit: str = "game",
) -> Estimate:
    """The mean of shares (a tie one half) with Wilson's interval, for as many items as the clusters are worth.

    Items of one cluster that go together count for less: n is multiplied by the variance that independent items
    would have and divided by the one that the clusters show (Kish's design effect). It never counts for more.
    """
    n = len(shares)
    if n == 0:
        return undefined("there is nothing to count", n_failed=n_failed, unit=unit)
    rate = math.fsum(shares) / n
    effective, n_units = float(n), n if clusters is None else len(set(clusters))
    # Games that stand alone are worth n, and ties make them worth more, which is not taken.
    if clusters is not None and n_units < n:
        precision = standard_error(shares, clusters, is_corrected=False)
        if precision is not None and precision.se > 0 and 0 < rate < 1:
            effective = min(effective, rate * (1 - rate) / precision.se**2)
        else:
            effective = float(n_units)
    n_effective = max(1, math.floor(effective + 1e-9))
    method = "share, a tie is half a win, Wilson interval"
    if n_effective < n:
        method += f" for {n_effective} independent games of {n}"
    what = unit if n_units == n else f"group (n={n_units})"
    return structs.replace(
        wilson(rate * n_effective, n_effective, n_failed), value=rate, n=n, method=method, unit=what
    )


# -- anytime-valid intervals

# A usual interval is right at one size that was fixed before. Looked at after every batch, a false difference shows up far
# more often than in 5 % of cases. A confidence sequence is right at all sizes together: each possible mean is a fair game on
# which one bets, and a mean at which the bets have won 1 / 0.05 times the stake is rejected (Waudby-Smith and Ramdas 2024,
# hedged capital with bets from the variance seen before).

_CAUTIOUS = 0.5
"""The largest share of the stake that one bet may lose."""
_HALVINGS = 40


def any_time_mean(values: Numbers, unit: str = "item") -> Estimate:
    """The mean of values between 0 and 1, in the order in which they came, with an interval for all sizes at once."""
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

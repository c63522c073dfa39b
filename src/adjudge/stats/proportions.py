"""Shares and win rates with their intervals: Wilson, Newcombe, Rogan and Gladen, clustered and anytime-valid.

Wilson's interval is right for 0 of 20, where the textbook one has no width.

Means that may be looked at after every label: tests and intervals that hold at all looks together.

A usual interval is right at one number of labels that was fixed before. Looked at after every label, a false finding shows
up far more often than in 5 % of cases. Here each possible mean is a fair game on which one bets, label by label; a mean at
which the bets have won 40 times the stake is rejected, and by Ville's inequality a true one is rejected with a probability
of at most 1 / 40 on each side, whenever one stops (Waudby-Smith and Ramdas 2024).

Half of the stake follows the bet that looked best so far, the other half is divided over fixed bets. Where a judge has
scored all items, each label is corrected by what the judge says of its item (prediction-powered, as in `ppi`), with a slope
from the labels before it, so that no label is used to predict itself.

Labels must come in random order, and with equal chances.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    NORMAL_QUANTILE,
    Interval,
    Numbers,
    few_groups,
    floats,
    label_codes,
    make_estimate,
    same_length,
    t_quantile,
    undefined,
)
from .means import is_much_wider, precision_of, wilson_interval
from .ppi import filled

if TYPE_CHECKING:
    from .arrays import Codes, Floats


def wilson(successes: float, n: int, n_failed: int = 0, name: str = "share", unit: str = "item") -> Estimate:
    """The share of successes with Wilson's interval; half successes (ties) are allowed."""
    if n <= 0:
        return undefined("there is nothing to count", n_failed=n_failed, unit=unit)
    share = successes / n
    low, high = wilson_interval(share, n)
    return Estimate(share, low, high, n, n_failed, method=f"{name}, Wilson interval", unit=unit)


def difference_of_shares(
    first: float, n_first: int, second: float, n_second: int, confidence: float = CONFIDENCE
) -> Estimate:
    """first/n_first - second/n_second with Newcombe's interval (1998, method 10).

    A higher `confidence` corrects for many comparisons; every other interval is at 95 %.
    """
    if n_first <= 0 or n_second <= 0:
        return undefined("one side has nothing to count", n=max(n_first, 0) + max(n_second, 0), unit="item")
    p, q = first / n_first, second / n_second
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p_low, p_high = wilson_interval(p, n_first, z)
    q_low, q_high = wilson_interval(q, n_second, z)
    low = p - q - math.hypot(p - p_low, q_high - q)
    high = p - q + math.hypot(p_high - p, q - q_low)
    return Estimate(
        p - q, low, high, n_first + n_second, method="difference of shares, Newcombe interval", unit="item"
    )


def paired_difference_of_shares(
    first: Sequence[bool], second: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> Estimate:
    """Share of `first` - share of `second` on the same items, with Newcombe's interval for pairs (1998, method 10).

    Wilson's two intervals, for as many items as the clusters are worth, are added as squares and less their correlation.
    """
    n = len(first)
    if n == 0:
        return undefined("there is nothing to count", unit="item")
    one, other = (
        clustered_share([float(hit) for hit in hits], clusters, unit="item") for hits in (first, second)
    )
    p, q = one.value, other.value
    assert p is not None
    assert q is not None
    assert one.low is not None
    assert one.high is not None
    assert other.low is not None
    assert other.high is not None
    both = sum(a and b for a, b in zip(first, second, strict=True)) / n
    spread = math.sqrt(p * (1 - p) * q * (1 - q))
    correlation = (both - p * q) / spread if spread > 0 else 0.0

    def arm(left: float, right: float) -> float:
        return math.sqrt(max(0.0, left**2 - 2 * correlation * left * right + right**2))

    low = p - q - arm(p - one.low, other.high - q)
    high = p - q + arm(one.high - p, q - other.low)
    if not any(second):
        # Nothing to subtract: the interval is that of the first share alone.
        low, high = one.low, one.high
    method = "paired difference of shares, Newcombe interval"
    return Estimate(p - q, low, high, n, method=method, unit=one.unit, caution=one.caution)


def rogan_gladen(
    true_positive: float,
    n_positive: float,
    true_negative: float,
    n_negative: float,
    judge_positive: float,
    n: int,
) -> Estimate:
    """The share of items that people would pass (Rogan and Gladen 1978), from counts: of the labelled positives and
    negatives those that the judge got right, and of `n` other items those that it passed. Delta-method interval.

    share = (judge's share + specificity - 1) / (sensitivity + specificity - 1). It is undefined where the judge is not
    shown to be better than chance: then the denominator may be 0.

    Where the judge was always right or always wrong on one side, half an item is added to each of the
    two counts (Haldane 1956), since a variance of 0 would claim to know the rate exactly.
    """
    if n <= 0 or n_positive <= 0 or n_negative <= 0:
        why = "no item was judged" if n <= 0 else "the labels need items that passed and items that failed"
        return undefined(why, n=max(0, n), unit="item")
    n_labelled = n_positive + n_negative
    p = judge_positive / n
    sensitivity, of_s = _rate(true_positive, n_positive)
    specificity, of_t = _rate(true_negative, n_negative)
    youden = sensitivity + specificity - 1
    z = NORMAL_QUANTILE
    noise = math.sqrt(sensitivity * (1 - sensitivity) / of_s + specificity * (1 - specificity) / of_t)
    if youden - z * noise <= 0:
        rates = f"sensitivity {sensitivity:.2f} and specificity {specificity:.2f} on {n_labelled:g} labels"
        return undefined(f"the judge is not shown to be better than chance ({rates})", n=n, unit="item")
    share = (p + specificity - 1) / youden
    variance = (
        p * (1 - p) / n
        + share**2 * sensitivity * (1 - sensitivity) / of_s
        + (1 - share) ** 2 * specificity * (1 - specificity) / of_t
    ) / youden**2
    half = z * math.sqrt(variance)
    inside = min(1.0, max(0.0, share))
    low, high = min(inside, max(0.0, share - half)), max(inside, min(1.0, share + half))
    cut = ", cut to 0 to 1" if inside != share else ""
    method = f"Rogan-Gladen share from {n_labelled:g} labels, delta-method interval{cut}"
    return Estimate(inside, low, high, n, 0, 0, method, "item")


def _rate(right: float, n: float) -> tuple[float, float]:
    return ((right + 0.5) / (n + 1), n + 1.0) if right in (0, n) else (right / n, float(n))


def corrected_share(
    labels: Numbers,
    judged: Numbers,
    clusters: Sequence[Hashable] | None = None,
    probabilities: Numbers | None = None,
) -> Estimate:
    """The same item by item: 1 is a pass, 0 a fail, none is no label or no answer of the judge.

    The labelled items tell how the judge errs, the others how often it passes. What lies in between, raters who differ
    for instance, counts in part as a pass and in part as a fail. `probabilities` of being drawn, where they differ,
    weight the labels. Where the labels alone give a narrower interval, they are the answer: with few passes or few fails
    among them, the judge's errors are known too poorly.
    """
    import numpy as np

    same_length(labels, judged, clusters, probabilities)
    y, f = floats(labels), floats(judged)
    n_failed = int(np.isnan(f).sum())
    is_judged, is_labelled = (f >= 0) & (f <= 1), (y >= 0) & (y <= 1)
    known = is_judged & is_labelled
    # Items that were drawn with unequal chances leave a rest that does not stand for all.
    rest = is_judged & (np.isnan(y) if probabilities is None else True)
    weights = np.ones(len(y)) if probabilities is None else 1 / floats(probabilities)
    passed, failed = (
        _side(y[known], f[known], weights[known]),
        _side(1 - y[known], 1 - f[known], weights[known]),
    )
    estimate = rogan_gladen(*passed, *failed, float(f[rest].sum()), int(rest.sum()))
    if estimate.value is not None and probabilities is None:
        kept = np.flatnonzero(is_labelled).tolist()
        alone = clustered_share(y[kept].tolist(), None if clusters is None else [clusters[i] for i in kept])
        if is_much_wider(estimate, alone):
            method = alone.method.replace("share, a tie is half a win", "share of the labels")
            estimate = structs.replace(alone, method=method, unit="label" if clusters is None else alone.unit)
    return structs.replace(estimate, n_failed=n_failed)


def _side(y: Floats, right: Floats, weights: Floats) -> tuple[float, float]:
    """Of the items on one side, as many as their weights are worth: those that the judge got right, and all."""
    total = float((weights * y).sum())
    if total <= 0:
        return 0.0, 0.0
    worth = total**2 / float((weights**2 * y).sum())
    return float((weights * y * right).sum()) / total * worth, worth


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


_PRIOR_GAMES = 2.0
"""So many games without ties are added to the variance: a few ties in a row do not make a share certain."""
_PRIOR_GROUPS = 1.0
"""So many groups whose items all agree are added to the variance: few groups that happen to agree prove nothing."""


def clustered_share(
    shares: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    n_failed: int = 0,
    unit: str = "game",
) -> Estimate:
    """The mean of shares (a tie one half) with Wilson's interval, for as many games as their variance is worth.

    A tie varies less than a win or a loss, so games with ties are worth more than as many without: n is multiplied by
    the variance of a win or loss at this rate and divided by the variance of the games. Games of one cluster that go
    together are worth less (Kish's design effect), and t replaces z. Without ties and clusters it is
    Wilson's interval. Over 20 prompts of 2 to 10 games it covers 93 to 98 %, over 10 at least 94 %
    (bench/promises_compare.py).
    """
    n = len(shares)
    if n == 0:
        return undefined("there is nothing to count", n_failed=n_failed, unit=unit)
    values = floats(shares)
    rate = math.fsum(shares) / n
    codes, n_units = (None, n) if clusters is None else label_codes(clusters)
    if n_units == n:
        effective, z, cautions = _worth_of_games(values, rate), NORMAL_QUANTILE, []
    else:
        assert codes is not None
        effective, z = _worth_of_clusters(values, rate, codes)
        cautions = few_groups(n_units)
    low, high = wilson_interval(rate, effective, z)
    how = ", a tie is half a win, Wilson interval"
    if effective > n * 1.005:
        how += f"; with their ties, {n} games are worth {effective:.3g} without"
    elif effective < n * 0.995:
        how += f" for {effective:.3g} independent games of {n}"
    what = unit if n_units == n else f"group (n={n_units})"
    return make_estimate(
        rate, Interval(low, high, how), "share", n=n, n_failed=n_failed, unit=what, cautions=cautions
    )


def _worth_of_games(values: Floats, rate: float) -> float:
    """How many games without ties have the same standard error."""
    n = len(values)
    if not ((values > 0) & (values < 1)).any():
        return float(n)
    return n * rate * (1 - rate) / _game_variance(values, rate)


def _game_variance(values: Floats, rate: float) -> float:
    """The variance of one game, drawn a little towards that of a win or loss."""
    seen = float(((values - rate) ** 2).sum())
    return (seen + _PRIOR_GAMES * rate * (1 - rate)) / (len(values) + _PRIOR_GAMES)


def _worth_of_clusters(values: Floats, rate: float, codes: Codes) -> tuple[float, float]:
    """How many independent games without ties have the same standard error, and the quantile to use with it."""
    import numpy as np

    sizes = np.bincount(codes) / len(values)
    # The variance of the mean of clusters whose games all agree, per variance of one game.
    alone = float((sizes**2).sum())
    precision = precision_of(values, codes)
    if precision is None or not 0 < rate < 1:
        return 1 / alone, NORMAL_QUANTILE
    game = _game_variance(values, rate)
    n_units = precision.n_units
    variance = (n_units * precision.se**2 + _PRIOR_GROUPS * game * alone) / (n_units + _PRIOR_GROUPS)
    independent = game / len(values)
    # Games of one cluster never count for more than independent ones, for which z is right.
    if variance <= independent:
        return rate * (1 - rate) / independent, NORMAL_QUANTILE
    return rate * (1 - rate) / variance, t_quantile(precision.df)


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
        """`scores` are the judge's of the labelled items, `all_scores` of all items, both none where it failed."""
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
        """When the mean was shown to be above or below the threshold; either one is wrong in at most 2.5 %."""
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
    """How far the judge is believed at each label, from the labels before it; less where most items are labelled."""
    import numpy as np

    if variance <= 0 or len(y) == 0:
        return np.zeros(len(y))
    t = np.arange(1, len(y) + 1)
    covariance = np.cumsum(y * f) / t - np.cumsum(y) * np.cumsum(f) / t**2
    slopes = np.maximum(covariance, 0.0) / variance * t / (t + _SHRINK) * np.maximum(0.0, 1 - t / n_items)
    slopes[t < _FEWEST] = 0.0
    before: Floats = np.append(0.0, slopes[:-1])
    return before

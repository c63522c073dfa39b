"""Exact tests and bounds of a share: how many of n independent items agree (Clopper and Pearson 1934).

One-sided: a cascade promises that agreement is at least a target, and nothing about how far above it lies.
"""

from __future__ import annotations

import math
from statistics import NormalDist


def upper_tail(successes: int, n: int, share: float) -> float:
    """The probability of at least so many successes where each of n items succeeds with this probability."""
    from scipy.special import bdtrc

    return 1.0 if successes <= 0 else float(bdtrc(successes - 1, n, share))


def lower_bound(successes: int, n: int, risk: float) -> float:
    """The smallest share that is not rejected at level `risk`: the true one lies below it in at most this part of cases."""
    from scipy.special import betaincinv

    return 0.0 if successes <= 0 else float(betaincinv(successes, n - successes + 1, risk))


def upper_bound(successes: int, n: int, risk: float) -> float:
    """The largest share that is not rejected at level `risk`."""
    return 1.0 - lower_bound(n - successes, n, risk)


def fewest_items(share: float, risk: float, failures: int = 0) -> int:
    """With how many items, `failures` of them failing, a share above this one is shown at level `risk`."""
    n = failures + 1
    while upper_tail(n - failures, n, share) > risk:
        n += 1
    return n


def items_needed(target: float, truth: float, risk: float, power: float = 0.8) -> int | None:
    """About how many items show a share above `target` in 80 % of cases, if it is `truth`; none where it is not above."""
    if truth <= target:
        return None
    z_risk, z_power = NormalDist().inv_cdf(1 - risk), NormalDist().inv_cdf(power)
    noise = z_risk * math.sqrt(target * (1 - target)) + z_power * math.sqrt(truth * (1 - truth))
    return max(fewest_items(target, risk), math.ceil((noise / (truth - target)) ** 2))

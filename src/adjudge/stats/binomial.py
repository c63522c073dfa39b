"""Exact tests and bounds of a share: how many of n independent items agree (Clopper and Pearson 1934).

One-sided: a cascade promises that agreement is at least a target, and nothing about how far above it lies.
"""

from __future__ import annotations

import math
from functools import lru_cache


def upper_tail(successes: int, n: int, share: float) -> float:
    """The probability of at least so many successes where each of n items succeeds with this probability."""
    from scipy.special import bdtrc

    return 1.0 if successes <= 0 else 0.0 if successes > n else float(bdtrc(successes - 1, n, share))


def lower_bound(successes: int, n: int, risk: float) -> float:
    """The smallest share that is not rejected at level `risk`: the true one lies below it in at most this
    part of cases."""
    from scipy.special import betaincinv

    return 0.0 if successes <= 0 else float(betaincinv(successes, n - successes + 1, risk))


def upper_bound(successes: int, n: int, risk: float) -> float:
    """The largest share that is not rejected at level `risk`."""
    return 1.0 - lower_bound(n - successes, n, risk)


@lru_cache(maxsize=256)
def fewest_items(share: float, risk: float, failures: int = 0) -> int:
    """With how many items, `failures` of them failing, a share above this one is shown at level `risk`."""
    n = failures + 1
    while upper_tail(n - failures, n, share) > risk:
        n += 1
    return n


def power(n: int, target: float, truth: float, risk: float) -> float:
    """The chance that n items show a share above `target` at level `risk`, if it is `truth`."""
    from scipy.special import bdtrik

    if n < 1:
        return 0.0
    return upper_tail(max(0, math.ceil(bdtrik(1 - risk, n, target))) + 1, n, truth)

"""Shares with their intervals, by Wilson's score: right for 0 of 20, where the textbook one is not."""

from __future__ import annotations

import math
from statistics import NormalDist

from ..records import Estimate
from .undefined import undefined


def wilson(successes: float, n: int, confidence: float = 0.95, n_failed: int = 0) -> Estimate:
    """The share of successes with Wilson's interval; half successes (ties) are allowed."""
    if n <= 0:
        return undefined("there is nothing to count", n_failed=n_failed, unit="item")
    share = successes / n
    low, high = _score_interval(share, n, confidence)
    return Estimate(share, low, high, n, n_failed, method="share, Wilson interval", unit="item")


def difference_of_shares(
    first: float, n_first: int, second: float, n_second: int, confidence: float = 0.95
) -> Estimate:
    """first/n_first - second/n_second with Newcombe's interval (1998, method 10)."""
    if n_first <= 0 or n_second <= 0:
        return undefined("one side has nothing to count", n=max(n_first, 0) + max(n_second, 0), unit="item")
    p, q = first / n_first, second / n_second
    p_low, p_high = _score_interval(p, n_first, confidence)
    q_low, q_high = _score_interval(q, n_second, confidence)
    low = p - q - math.hypot(p - p_low, q_high - q)
    high = p - q + math.hypot(p_high - p, q - q_low)
    return Estimate(
        p - q, low, high, n_first + n_second, method="difference of shares, Newcombe interval", unit="item"
    )


def _score_interval(share: float, n: int, confidence: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # Rounding must not put a bound on the wrong side of a share of exactly 0 or 1.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))

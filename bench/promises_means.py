"""Simulations of the intervals of a mean, with and without groups."""

from __future__ import annotations

import numpy as np

from adjudge.stats import mean_interval
from promises import Check


def mean_coverage(n_groups: int, size: int, icc: float) -> Check:
    """Scores of 1 to 5 in groups that share a part of their variance."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        covered = 0
        groups = np.repeat(np.arange(n_groups), size).tolist()
        for _ in range(worlds):
            shared = np.repeat(random.normal(0, icc**0.5, n_groups), size)
            scores = 3 + shared + random.normal(0, (1 - icc) ** 0.5, n_groups * size)
            estimate = mean_interval(scores.tolist(), groups)
            assert estimate.low is not None
            assert estimate.high is not None
            covered += estimate.low <= 3 <= estimate.high
        return covered / worlds

    return Check("Mean of a system", f"{n_groups} groups of {size}, ICC {icc}", 0.93, 0.97, run)


CHECKS = [mean_coverage(10, 5, 0.4), mean_coverage(30, 3, 0.7)]

"""Simulations of correlations over systems, whose means are noisy, and of the share won by the first
position."""

from __future__ import annotations

import numpy as np
from scipy.stats import kendalltau, pearsonr, spearmanr

from adjudge.stats import Position, correlate, position_bias
from adjudge.stats.correlation import Kind
from promises import Check

KINDS: tuple[Kind, ...] = ("pearson", "spearman", "kendall")
ORACLES = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}


def over_systems(kind: Kind, n_systems: int, n_inputs: int, spread: float, apart: float) -> Check:
    """Systems whose quality has this spread, a judge that sees them a share `apart` of it differently; the
    truth is the correlation of the means over all inputs."""

    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        inputs = np.repeat(np.arange(n_inputs), n_systems).tolist()
        systems = np.tile(np.arange(n_systems), n_inputs).tolist()
        for _ in range(worlds):
            quality = random.normal(0, spread, n_systems)
            seen = quality + random.normal(0, spread * apart, n_systems)
            hard = random.normal(0, 0.5, n_inputs)[:, None]
            people, judge = (
                side + hard + random.normal(0, 0.8, (n_inputs, n_systems)) for side in (quality, seen)
            )
            found = correlate(
                judge.ravel().tolist(), people.ravel().tolist(), kind, "system",
                groups=inputs, systems=systems, n_resamples=500,
            )  # fmt: skip
            truth = float(ORACLES[kind](quality, seen)[0])
            covered += (
                found.low is not None
                and found.high is not None
                and found.low - 1e-9 <= truth <= found.high + 1e-9
            )
        return covered / worlds

    name = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall tau-b"}[kind]
    design = (
        f"{n_systems} systems on {n_inputs} inputs, sd {spread:g}, the judge's view {apart:g} of it apart"
    )
    return Check(f"{name} over systems", design, 0.9, 1.0, run)


def first_position(n_pairs: int, changed: float, first: float) -> Check:
    """Pairs in both orders, of which this share changes its winner with the order, mostly to one place."""

    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        truth = 0.5 + changed * (first - 0.5)
        for _ in range(worlds):
            kinds = random.choice(3, n_pairs, p=[changed * first, changed * (1 - first), 1 - changed])
            shown: list[Position | None] = [("first", "second", "first")[kind] for kind in kinds]
            swapped: list[Position | None] = [("first", "second", "second")[kind] for kind in kinds]
            found = position_bias(shown, swapped).first_share
            covered += found.low is not None and found.high is not None and found.low <= truth <= found.high
        return covered / worlds

    design = f"{n_pairs} pairs, {changed:.0%} change, {first:.0%} of them to the first"
    return Check("Share won by the first position", design, 0.93, 1.0, run)


CHECKS = [
    first_position(50, 0.2, 0.5),
    first_position(100, 0.3, 0.8),
    first_position(400, 0.1, 0.7),
    *(
        over_systems(kind, *design)
        for kind in KINDS
        for design in ((6, 60, 0.4, 0.5), (12, 100, 0.25, 0.5), (12, 100, 0.6, 0.5), (20, 40, 0.3, 0.5))
    ),
]

"""Proof by simulation: an interval of 95 % holds the truth in 93 to 97 % of made-up worlds.

Each prints its design and what it found. 2,000 worlds put the Monte Carlo error at half a point.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest

from adjudge.records import Estimate
from adjudge.stats import correlate, mean_interval, ppi_difference, ppi_mean, ppi_stratified, rogan_gladen
from adjudge.stats.correlation import rows

pytestmark = pytest.mark.slow

N_WORLDS = 2000
Maker = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
World = Callable[[np.random.Generator], tuple[Estimate, float]]


def covered(world: World, design: str, n_worlds: int = N_WORLDS) -> float:
    """The share of worlds whose interval holds the truth, printed with its design."""
    rng = np.random.default_rng(20)
    hits, widths = 0, []
    for _ in range(n_worlds):
        estimate, truth = world(rng)
        assert estimate.low is not None, estimate.method
        assert estimate.high is not None
        hits += estimate.low <= truth <= estimate.high
        widths.append(estimate.high - estimate.low)
    share = hits / n_worlds
    print(f"{design}: {share:.1%} of {n_worlds} worlds, mean width {np.mean(widths):.3f}")
    return share


def likert(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of 1 to 5 by people, and by a judge that is noisy and too kind."""
    level = rng.normal(3.3, 1, n)
    people = np.clip(np.round(level), 1, 5)
    return people, np.clip(np.round(level + 0.4 + rng.normal(0, 0.8, n)), 1, 5)


def skewed(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Six in ten items are a 5; the judge is right in seven of ten cases."""
    people = rng.choice(5, n, p=[0.03, 0.04, 0.08, 0.25, 0.6]) + 1.0
    return people, np.where(rng.random(n) < 0.7, people, rng.integers(1, 6, n))


def binary(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Eight in ten items pass; the judge is right in 85 %."""
    people = (rng.random(n) < 0.8) * 1.0
    return people, np.where(rng.random(n) < 0.85, people, 1 - people)


def labelled(rng: np.random.Generator, people: np.ndarray, n_labels: int) -> list[float | None]:
    drawn = set(rng.choice(len(people), n_labels, replace=False).tolist())
    return [float(value) if i in drawn else None for i, value in enumerate(people)]


def truth_of(make: Maker) -> float:
    """The mean of people's scores in the world itself."""
    # P(score > k) of a rounded normal, added up over k = 1 to 4.
    of_likert = 1 + sum(1 - NormalDist(3.3, 1).cdf(k + 0.5) for k in range(1, 5))
    return {likert: of_likert, skewed: 4.35, binary: 0.8}[make]


@pytest.mark.parametrize("n_labels", [20, 50, 200])
@pytest.mark.parametrize(("make", "lowest"), [(likert, 0.93), (binary, 0.93), (skewed, 0.92)])
def test_the_corrected_mean_covers(make: Maker, lowest: float, n_labels: int) -> None:
    truth = truth_of(make)
    ends = (0.0, 1.0) if make is binary else (1.0, 5.0)

    def world(rng: np.random.Generator) -> tuple[Estimate, float]:
        people, judge = make(rng, 2000)
        return ppi_mean(labelled(rng, people, n_labels), judge.tolist(), limits=ends).corrected, truth

    # Twenty labels of which one or none is low cannot show how long the tail is: 92 % there.
    assert lowest <= covered(world, f"PPI++, {n_labels} labels of 2,000 items, {make.__name__}") <= 0.97


def test_the_corrected_difference_of_two_systems_covers() -> None:
    def world(rng: np.random.Generator) -> tuple[Estimate, float]:
        level = rng.normal(3, 1, 500)
        first, second = level + 0.2 + rng.normal(0, 0.5, 500), level + rng.normal(0, 0.5, 500)
        drawn = rng.random(500) < 0.1
        labels = [np.where(drawn, side, np.nan).tolist() for side in (first, second)]
        judge = [(side + rng.normal(0, 0.5, 500)).tolist() for side in (first, second)]
        return ppi_difference(labels[0], judge[0], labels[1], judge[1]).corrected, 0.2

    assert 0.93 <= covered(world, "PPI++ difference, about 50 of 500 inputs labelled for both") <= 0.97


def test_the_corrected_difference_of_partly_shared_labels_covers() -> None:
    """Fifty inputs labelled for each system, drawn apart, so that a few have both."""

    def world(rng: np.random.Generator) -> tuple[Estimate, float]:
        level = rng.normal(3, 1, 500)
        sides = [level + shift + rng.normal(0, 0.5, 500) for shift in (0.2, 0.0)]
        judge = [(side + rng.normal(0, 0.5, 500)).tolist() for side in sides]
        labels = [labelled(rng, side, 50) for side in sides]
        return ppi_difference(labels[0], judge[0], labels[1], judge[1]).corrected, 0.2

    assert 0.93 <= covered(world, "PPI++ difference, 50 of 500 inputs labelled for each system") <= 0.97


def test_the_stratified_mean_covers() -> None:
    def world(rng: np.random.Generator) -> tuple[Estimate, float]:
        values = np.concatenate([rng.normal(2, 0.5, 800), rng.normal(3, 1, 150), rng.normal(4, 0.5, 50)])
        strata = [0] * 800 + [1] * 150 + [2] * 50
        labels: list[float | None] = [None] * 1000
        for start, size, n in ((0, 800, 20), (800, 150, 15), (950, 50, 10)):
            for i in (start + rng.choice(size, n, replace=False)).tolist():
                labels[i] = float(values[i])
        scores = (values + rng.normal(0, 0.5, 1000)).tolist()
        return ppi_stratified(labels, scores, strata).corrected, 0.8 * 2 + 0.15 * 3 + 0.05 * 4

    assert 0.93 <= covered(world, "stratified PPI++, 20, 15 and 10 labels of 800, 150 and 50 items") <= 0.97


def test_the_stratified_mean_of_systems_that_share_inputs_covers() -> None:
    """Sixty inputs answered by four systems; twice as many labels of the first. Single items would cover 88
    %."""

    def world(rng: np.random.Generator) -> tuple[Estimate, float]:
        people = rng.normal(3, 0.7, (60, 1)) + np.linspace(-0.5, 0.5, 4) + rng.normal(0, 0.6, (60, 4))
        judge = people + rng.normal(0.3, 0.8, (60, 4))
        labels = np.full((60, 4), np.nan)
        for system in range(4):
            drawn = rng.choice(60, 16 if system == 0 else 8, replace=False)
            labels[drawn, system] = people[drawn, system]
        systems, inputs = np.tile(np.arange(4), 60).tolist(), np.repeat(np.arange(60), 4).tolist()
        corrected = ppi_stratified(labels.ravel().tolist(), judge.ravel().tolist(), systems, clusters=inputs)
        return corrected.corrected, 3.0

    assert 0.93 <= covered(world, "stratified PPI++, 4 systems on the same 60 inputs, 16 or 8 labels") <= 0.97


def test_the_corrected_mean_of_grouped_items_covers() -> None:
    def world(rng: np.random.Generator) -> tuple[Estimate, float]:
        level = np.repeat(rng.normal(3, 0.7, 100), 8)
        people = level + rng.normal(0, 0.7, 800)
        groups = np.repeat(np.arange(100), 8).tolist()
        judge = (people + np.repeat(rng.normal(0, 0.4, 100), 8) + rng.normal(0, 0.4, 800)).tolist()
        return ppi_mean(labelled(rng, people, 120), judge, clusters=groups).corrected, 3.0

    assert 0.93 <= covered(world, "PPI++, 120 labels of 800 items in 100 groups") <= 0.97


def test_the_clustered_mean_covers() -> None:
    def world(rng: np.random.Generator) -> tuple[Estimate, float]:
        sizes = rng.integers(2, 12, 100)
        groups = np.repeat(np.arange(100), sizes)
        values = rng.normal(3, 0.8, 100)[groups] + rng.normal(0, 0.8, len(groups))
        return mean_interval(values.tolist(), groups.tolist()), 3.0

    assert (
        0.93
        <= covered(world, "clustered mean, 100 groups of 2 to 11 items, half of the variance between")
        <= 0.97
    )


@pytest.mark.parametrize(
    ("sensitivity", "specificity", "n_positive", "n_negative", "share"),
    [(0.87, 0.875, 60, 80, 0.4), (0.8, 0.8, 50, 50, 0.3), (0.9, 0.85, 120, 80, 0.6)],
)
def test_rogan_gladen_covers(
    sensitivity: float, specificity: float, n_positive: int, n_negative: int, share: float
) -> None:
    def world(rng: np.random.Generator) -> tuple[Estimate, float]:
        passed = rng.binomial(1000, share * sensitivity + (1 - share) * (1 - specificity))
        right = rng.binomial(n_positive, sensitivity), rng.binomial(n_negative, specificity)
        return rogan_gladen(right[0], n_positive, right[1], n_negative, passed, 1000), share

    design = f"Rogan-Gladen, {n_positive} + {n_negative} labels, 1,000 items, share {share}"
    assert 0.93 <= covered(world, design) <= 0.97


@pytest.mark.parametrize(("n_groups", "n_systems"), [(100, 16), (60, 6)])
def test_the_group_level_spearman_covers_best_by_the_t_interval_of_the_groups(
    n_groups: int, n_systems: int
) -> None:
    def scored(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        level = (
            3
            + rng.normal(0, 0.7, (n, 1))
            + rng.normal(0, 0.7, (n, n_systems))
            + np.linspace(-0.6, 0.6, n_systems)
        )
        return tuple(np.clip(np.round(level + rng.normal(0, sd, level.shape)), 1, 5) for sd in (0.4, 0.7))  # type: ignore[return-value]

    human, judge = scored(np.random.default_rng(1), 60_000)
    truth = float(np.nanmean(rows(judge, human, "spearman")))
    groups = np.repeat(np.arange(n_groups), n_systems).tolist()
    hits = [0, 0]

    def world(rng: np.random.Generator) -> tuple[Estimate, float]:
        human, judge = scored(rng, n_groups)
        each = rows(judge, human, "spearman")
        each = each[~np.isnan(each)]
        counts = rng.multinomial(len(each), np.full(len(each), 1 / len(each)), 500)
        low, high = np.quantile((counts * each).sum(axis=1) / len(each), [0.025, 0.975])
        hits[0] += low <= truth <= high
        hits[1] += 1
        return correlate(
            judge.ravel().tolist(), human.ravel().tolist(), "spearman", "group", groups=groups
        ), truth

    design = f"group-level Spearman, {n_groups} groups of {n_systems}"
    assert 0.93 <= covered(world, f"{design}, t interval") <= 0.97
    print(f"{design}, percentiles of resampled groups: {hits[0] / hits[1]:.1%}")


def test_the_item_level_spearman_bootstrap_covers() -> None:
    rho = 0.6
    truth = 6 / np.pi * np.arcsin(rho / 2)

    def world(rng: np.random.Generator) -> tuple[Estimate, float]:
        x = rng.normal(0, 1, 150)
        y = rho * x + np.sqrt(1 - rho**2) * rng.normal(0, 1, 150)
        return correlate(x.tolist(), y.tolist(), n_resamples=500), float(truth)

    assert 0.93 <= covered(world, "item-level Spearman, bootstrap percentiles, 150 items") <= 0.97

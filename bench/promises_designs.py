"""Simulations of designs: repeated samples, new systems, votes of a panel, head-to-head rates at every look,
length alone."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import spearmanr

from adjudge.records import Estimate
from adjudge.stats import (
    Resample,
    alt_test,
    any_time_mean,
    clustered_share,
    correlate,
    games_of,
    length_controlled,
    mean_interval,
)
from promises import Check

Array = np.ndarray


def covers(estimate: Estimate, truth: float) -> bool:
    return estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high


def levels(values: Array) -> Array:
    return np.clip(np.round(values), 1, 5)


# -- three samples of each item


def _sampled(random: np.random.Generator, n: int) -> tuple[Array, Array]:
    """The mean of three answers of a noisy judge, and people's labels."""
    people = levels(random.normal(3, 1, n))
    return levels(people[:, None] + 0.3 + random.normal(0, 1, (n, 3))).mean(axis=1), people


@cache
def _truth_of_samples() -> tuple[float, float]:
    judge, people = _sampled(np.random.default_rng(99), 400_000)
    return float(judge.mean()), float(spearmanr(judge, people).statistic)


def three_samples(kind: str, n: int) -> Check:
    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        mean, agreement = _truth_of_samples()
        for _ in range(worlds):
            judge, people = _sampled(random, n)
            covered += (
                covers(mean_interval(judge.tolist()), mean)
                if kind == "mean"
                else covers(correlate(judge.tolist(), people.tolist(), n_resamples=1000), agreement)
            )
        return covered / worlds

    name = "Mean of a system" if kind == "mean" else "Spearman with people"
    return Check(name, f"{n} items, 3 samples of each", 0.93, 0.97, run)


# -- new systems


def _systems(random: np.random.Generator, inputs: Array, n_systems: int) -> tuple[Array, Array]:
    """Judge and people on inputs × systems; systems differ, and the judge likes some more than people do."""
    quality = random.normal(0, 0.8, n_systems) + inputs[:, None]
    people = quality + random.normal(0, 0.7, quality.shape)
    judge = quality + random.normal(0, 0.4, n_systems) + random.normal(0, 0.7, quality.shape)
    return judge, people


def _correlation(inputs: float) -> float:
    """Pearson over all systems, where the inputs have this variance."""
    shared = 0.8**2 + inputs
    return shared / ((shared + 0.7**2) * (shared + 0.4**2 + 0.7**2)) ** 0.5


def resampled(resample: Resample, n_inputs: int, n_systems: int, low: float) -> Check:
    """New systems on these inputs, or on new ones."""

    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        places = np.repeat(np.arange(n_inputs), n_systems).tolist()
        systems = np.tile(np.arange(n_systems), n_inputs).tolist()
        for _ in range(worlds):
            inputs = random.normal(0, 0.5, n_inputs)
            judge, people = _systems(random, inputs, n_systems)
            found = correlate(
                judge.ravel().tolist(), people.ravel().tolist(), "pearson",
                groups=places, systems=systems, resample=resample, n_resamples=1000,
            )  # fmt: skip
            covered += covers(found, _correlation(0.25 if resample == "both" else float(inputs.var())))
        return covered / worlds

    return Check(
        f"Pearson with people, --resample {resample}",
        f"{n_inputs} inputs, {n_systems} systems",
        low,
        1.0,
        run,
    )


# -- a panel's votes on pairs


def _votes(random: np.random.Generator, n: int) -> Array:
    """The share that system a wins in the votes of three judges, of which each may call a tie."""
    lead = random.normal(0.3, 1, n)[:, None] + random.normal(0, 0.8, (n, 3))
    votes = np.where(np.abs(lead) < 0.3, 0.0, np.sign(lead))
    won: Array = (np.sign(votes.sum(axis=1)) + 1) / 2
    return won


@cache
def _truth_of_votes() -> float:
    return float(_votes(np.random.default_rng(99), 1_000_000).mean())


def panel_votes(n: int) -> Check:
    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        for _ in range(worlds):
            covered += covers(clustered_share(_votes(random, n).tolist()), _truth_of_votes())
        return covered / worlds

    return Check("Win rate by a panel's votes", f"3 judges, {n} pairs", 0.93, 0.98, run)


# -- head-to-head rates at every look


def any_time_rate(rate: float) -> Check:
    """The interval after each of 300 games: whether it ever excludes the true rate."""

    def run(worlds: int, seed: int) -> float:
        random, missed = np.random.default_rng(seed), 0
        for _ in range(worlds):
            games = random.choice([0.0, 0.5, 1.0], p=[(1 - rate) * 0.8, 0.2, rate * 0.8], size=300)
            truth = 0.1 + 0.8 * rate
            looks = (10, 20, 30, 50, 75, 100, 150, 200, 250, 300)
            missed += any(not covers(any_time_mean(games[:n].tolist()), truth) for n in looks)
        return missed / worlds

    return Check(
        "Head-to-head rate at any look: missed", f"rate {rate}, ten looks at 10 to 300 games", 0.0, 0.05, run
    )


# -- length alone


def length_alone(n_prompts: int) -> Check:
    """Two equal systems, one of which writes more, and a judge that prefers length: some difference at equal
    length."""

    def run(worlds: int, seed: int) -> float:
        random, wrong = np.random.default_rng(seed), 0
        for _ in range(worlds):
            lengths = random.normal(0.8, 1, n_prompts)
            logits = 1.2 * np.tanh(lengths / np.sqrt(np.mean(lengths**2))) + random.normal(0, 0.5, n_prompts)
            shares = (random.random(n_prompts) < 1 / (1 + np.exp(-logits))).astype(float)
            games = games_of([0] * n_prompts, [1] * n_prompts, shares.tolist(), 2, list(range(n_prompts)))
            rate = length_controlled(games, lengths.tolist()).win_rates[0]
            wrong += not covers(rate, 0.5)
        return wrong / worlds

    return Check(
        "Win rate at equal length: false difference",
        f"length alone wins, {n_prompts} prompts",
        0.0,
        0.05,
        run,
    )


# -- the alternative annotator test


def worse_rater() -> Check:
    """A judge with twice the noise of the raters."""

    def run(worlds: int, seed: int) -> float:
        random, passed = np.random.default_rng(seed), 0
        for _ in range(worlds):
            quality = random.normal(3, 1, 100)
            raters = levels(quality[:, None] + random.normal(0, 0.6, (100, 3)))
            judge = levels(quality + random.normal(0, 1.2, 100))
            passed += bool(alt_test(judge.tolist(), raters.tolist(), levels=[1.0, 2.0, 3.0, 4.0, 5.0]).passes)
        return passed / worlds

    return Check("A false yes for a judge: twice the noise of a rater", "100 items, 3 raters", 0.0, 0.05, run)


CHECKS = [
    three_samples("mean", 50),
    three_samples("spearman", 60),
    resampled("systems", 40, 12, 0.9),
    resampled("systems", 40, 30, 0.92),
    resampled("both", 40, 12, 0.93),
    resampled("both", 40, 30, 0.93),
    panel_votes(30),
    panel_votes(100),
    any_time_rate(0.5),
    any_time_rate(0.8),
    length_alone(150),
    worse_rater(),
]

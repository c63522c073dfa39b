"""Simulations of comparisons: paired tests, failure rates, differences of systems, win rates, strengths,
length control."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjudge.analysis.labels.labelled import LabelledItem, LabelledTable
from adjudge.analysis.trust.corrected_differences import differences
from adjudge.analysis.trust.corrected_means import corrected_means
from adjudge.records import Estimate, Scale
from adjudge.stats import (
    adjusted,
    clustered_share,
    equal_rates,
    games_of,
    length_controlled,
    paired_test,
    score_differences,
    strengths,
)
from adjudge.stats.bradley_terry import fit_strengths
from promises import Check

Random = np.random.Generator


def covers(estimate: Estimate, truth: float) -> bool:
    return (
        estimate.low is not None
        and estimate.high is not None
        and estimate.low - 1e-12 <= truth <= estimate.high + 1e-12
    )


def excludes_zero(estimate: Estimate) -> bool:
    return estimate.low is not None and not covers(estimate, 0.0)


# -- compare: one p-value for each system and criterion, corrected for their number


def found_among_many(n_tests: int, n_items: int, shift: float, spread: float) -> Check:
    """The share of true differences that Holm's correction leaves significant."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        share = 0.0
        for _ in range(max(1, worlds // 20)):
            moved = random.normal(shift, spread, (n_tests, n_items))
            p = adjusted([paired_test(row.tolist()).p for row in moved])
            share += float(np.mean([value is not None and value <= 0.05 for value in p]))
        return share / max(1, worlds // 20)

    design = f"{n_tests} differences of {shift:g} points, {n_items} items each"
    return Check("compare: true differences found", design, 0.95, 1.0, run)


def false_differences(n_tests: int, n_groups: int, size: int) -> Check:
    """Some difference is significant although all are 0; scores of 1 to 5 in groups."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        groups = np.repeat(np.arange(n_groups), size).tolist() if size > 1 else None
        false = 0
        for _ in range(worlds):
            shared = np.repeat(random.normal(0, 0.6, (n_tests, n_groups)), size, axis=1)
            moved = np.round(shared + random.normal(0, 0.8, (n_tests, n_groups * size)))
            p = adjusted([paired_test(row.tolist(), groups).p for row in moved])
            false += any(value is not None and value <= 0.05 for value in p)
        return false / worlds

    design = f"{n_tests} unchanged systems, {n_groups} groups of {size}"
    return Check("compare: some false difference", design, 0.0, 0.05, run)


# -- failures


def false_failures(n_systems: int, kind: str, rate: float = 0.1, n: int = 60) -> Check:
    """Systems are said to fail more often than others although all fail alike."""

    def world(random: Random) -> tuple[list[Any], list[Any]]:
        shape = n_systems, n
        if kind == "items":
            return list(random.random(shape) < rate), list(np.arange(n_systems * n).reshape(shape))
        if kind == "prompts that all share":
            hard = random.beta(1.5 * rate, 1.5 * (1 - rate), n)
            return list(random.random(shape) < hard), [np.arange(n)] * n_systems
        hard = np.repeat(random.beta(1.5 * rate, 1.5 * (1 - rate), (n_systems, n // 5)), 5, axis=1)
        groups = np.repeat(np.arange(n_systems * n // 5).reshape(n_systems, -1), 5, axis=1)
        return list(random.random(shape) < hard), list(groups)

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        false = 0
        for number in range(worlds):
            p = equal_rates(*world(random), seed=number).p
            false += p is not None and p < 0.05
        return false / worlds

    return Check("Failures: false alarm", f"{n_systems} equal systems, {n} {kind}", 0.0, 0.05, run)


# -- differences of all pairs of systems


def false_pairs(n_systems: int, n_inputs: int) -> Check:
    """Some interval of a difference excludes 0 although all systems are equal; scores of 1 to 5."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        false = 0
        for _ in range(worlds):
            level = random.normal(3, 0.8, n_inputs) + random.normal(0, 0.8, (n_systems, n_inputs))
            scores = np.clip(np.round(level), 1, 5).tolist()
            false += any(excludes_zero(pair.difference) for pair in score_differences(scores))
        return false / worlds

    design = f"{n_systems} equal systems, {n_inputs} common prompts"
    return Check("rank: some difference excludes 0", design, 0.0, 0.05, run)


def false_corrected_pairs(n_systems: int, n_inputs: int, n_labels: int) -> Check:
    """The same for differences corrected with labels: the table of `trust`, whichever system looks best."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        false = 0
        for _ in range(max(1, worlds // 2)):
            truth = random.normal(3, 0.7, n_inputs) + random.normal(0, 0.7, (n_systems, n_inputs))
            labels = np.clip(np.round(truth), 1, 5)
            judged = np.clip(np.round(truth + random.normal(0.3, 0.7, truth.shape)), 1, 5)
            rows = tuple(
                LabelledItem(
                    item=f"{system}-{place}", subject=None, system=f"s{system}", systems=("", ""),
                    group=f"g{place}",
                    status="ok", answer=float(judged[system, place]),
                    label=float(labels[system, place]) if place < n_labels else None,
                )
                for system in range(n_systems)
                for place in range(n_inputs)
            )  # fmt: skip
            table = LabelledTable("c", "p@1", "judge", "scores", Scale(1, 5, 5), ("r",), rows, 0, True, ())
            found = differences(table, corrected_means(table))
            false += any(excludes_zero(difference) for difference in found.values())
        return false / max(1, worlds // 2)

    design = f"{n_systems} equal systems, {n_labels} of {n_inputs} prompts labelled"
    return Check("trust: some difference excludes 0", design, 0.0, 0.05, run)


# -- win rates


def _won(random: Random, rate: float, ties: float, shape: tuple[int, ...]) -> Any:
    drawn = random.random(shape)
    return np.where(drawn < rate - ties / 2, 1.0, np.where(drawn < rate + ties / 2, 0.5, 0.0))


def win_rate_coverage(rate: float, ties: float, n: int) -> Check:
    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        games = _won(random, rate, ties, (worlds, n)).tolist()
        return float(np.mean([covers(clustered_share(row), rate) for row in games]))

    return Check("Win rate", f"{n} games, true rate {rate:g}, {ties:.0%} ties", 0.93, 0.98, run)


def win_rate_power(rate: float, ties: float, n: int, least: float) -> Check:
    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        games = _won(random, rate, ties, (worlds, n)).tolist()
        return float(np.mean([(clustered_share(row).low or 0.0) > 0.5 for row in games]))

    return Check("Win rate: power", f"{n} games, true rate {rate:g}, {ties:.0%} ties", least, 1.0, run)


def win_rate_by_prompt(rate: float, n_prompts: int, size: int, icc: float, low: float) -> Check:
    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        chance = random.beta(rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1), (worlds, n_prompts, 1))
        games = (random.random((worlds, n_prompts, size)) < chance).reshape(worlds, -1).astype(float)
        prompts = np.repeat(np.arange(n_prompts), size).tolist()
        return float(np.mean([covers(clustered_share(row, prompts), rate) for row in games.tolist()]))

    design = f"true rate {rate:g}, {n_prompts} prompts of {size} games, ICC {icc}"
    # Wins and losses of few prompts take few values, so that no interval covers exactly 95 %.
    return Check("Win rate by prompt", design, low, 0.98 if n_prompts >= 20 else 1.0, run)


# -- strengths


STRENGTHS = np.array([0.6, 0.2, -0.2, -0.6])


def _prompt_games(random: Random, n_prompts: int, spread: float) -> Any:
    """On each prompt every system is better or worse than elsewhere; all pairs meet once."""
    first, second = np.triu_indices(len(STRENGTHS), 1)
    at = STRENGTHS + random.normal(0, spread, (n_prompts, len(STRENGTHS)))
    chance = 1 / (1 + np.exp(at[:, second] - at[:, first]))
    return first, second, chance


def strength_coverage(n_prompts: int, column: str, low: float) -> Check:
    spread = 1.0

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        first, second, chance = _prompt_games(np.random.default_rng(0), 200_000, spread)
        won = np.zeros((1, len(STRENGTHS), len(STRENGTHS)))
        won[0, first, second], won[0, second, first] = chance.mean(axis=0), 1 - chance.mean(axis=0)
        truth = fit_strengths(won * 1e6).strength[0]
        n_covered = n = 0
        for number in range(worlds):
            first, second, chance = _prompt_games(random, n_prompts, spread)
            shares = (random.random(chance.shape) < chance).astype(float).ravel().tolist()
            prompts = np.repeat(np.arange(n_prompts), len(first)).tolist()
            games = games_of(
                np.tile(first, n_prompts).tolist(), np.tile(second, n_prompts).tolist(), shares,
                len(STRENGTHS), prompts
            )  # fmt: skip
            found = strengths(games, n_resamples=400, seed=number)
            estimates = found.bootstrap if column == "bootstrap" else found.sandwich
            known = [(one, true) for one, true in zip(estimates, truth, strict=True) if one.low is not None]
            n_covered += sum(covers(one, float(true)) for one, true in known)
            n += len(known)
        return n_covered / n

    high = 0.97 if n_prompts >= 20 else 1.0
    return Check(f"Strength, {column}", f"4 systems, {n_prompts} prompts, all pairs", low, high, run)


# -- win rates at equal length


def length_coverage(n_prompts: int) -> Check:
    """Three systems against a baseline: hard prompts are lost, and on them the baseline writes more."""
    strength, gamma = np.array([-0.5, -1.5, -2.5]), 1.5

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        hard = np.random.default_rng(0).normal(0, 1, 1_000_000)
        truth = [float(np.mean(1 / (1 + np.exp(-(own + hard))))) for own in strength]
        first, second = np.tile([0, 1, 2], n_prompts).tolist(), [3] * (3 * n_prompts)
        prompts = np.repeat(np.arange(n_prompts), 3).tolist()
        n_covered = 0
        for _ in range(worlds // 2):
            difficulty = random.normal(0, 1, (n_prompts, 1))
            lengths = 0.5 * difficulty - [0.4, 0.6, 0.8] + random.normal(0, 0.7, (n_prompts, 3))
            logits = strength + difficulty + gamma * np.tanh(lengths / np.sqrt(np.mean(lengths**2)))
            shares = (random.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
            games = games_of(first, second, shares.ravel().tolist(), 4, prompts)
            rates = length_controlled(games, lengths.ravel().tolist()).win_rates
            n_covered += sum(covers(rates[place], truth[place]) for place in range(3))
        return n_covered / (3 * (worlds // 2))

    design = f"3 systems and a baseline, {n_prompts} prompts, length goes with difficulty"
    return Check("Win rate at equal length", design, 0.93, 0.97, run)


CHECKS = [
    found_among_many(520, 400, 2.0, 6.0),
    false_differences(20, 60, 1),
    false_differences(20, 12, 4),
    false_differences(20, 25, 4),
    *(
        false_failures(n, kind)
        for n in (6, 30)
        for kind in ("items", "prompts that all share", "items in groups of 5")
    ),
    false_pairs(12, 60),
    false_corrected_pairs(12, 100, 40),
    win_rate_coverage(0.5, 0.5, 20),
    win_rate_coverage(0.7, 0.3, 20),
    win_rate_coverage(0.9, 0.1, 50),
    win_rate_coverage(0.97, 0.05, 50),
    win_rate_power(0.58, 0.45, 100, 0.55),
    win_rate_power(0.58, 0.6, 100, 0.7),
    win_rate_by_prompt(0.9, 10, 10, 0.4, 0.9),
    win_rate_by_prompt(0.5, 10, 5, 0.4, 0.9),
    win_rate_by_prompt(0.9, 20, 10, 0.4, 0.93),
    win_rate_by_prompt(0.7, 20, 20, 0.4, 0.93),
    win_rate_by_prompt(0.5, 40, 2, 0.4, 0.93),
    strength_coverage(10, "bootstrap", 0.9),
    strength_coverage(20, "bootstrap", 0.93),
    strength_coverage(40, "sandwich", 0.93),
    length_coverage(150),
]

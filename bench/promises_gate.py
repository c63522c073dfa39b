"""Simulations of the gate, of means corrected with labels, and of labelling with a stop rule."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from adjudge.analysis.gate.check import Check as GateCheck
from adjudge.analysis.gate.decision import decision_by_values
from adjudge.analysis.gate.gate_report import corrected_for_number
from adjudge.analysis.gate.not_enough_evidence import outcome_of
from adjudge.analysis.sampling.draw import draw
from adjudge.records import Estimate
from adjudge.stats import (
    LabelStream,
    corrected_mean_test,
    corrected_share,
    mean_test,
    ppi_mean,
    ppi_stratified,
    wilson,
)
from promises import Check

FIVE = np.arange(1.0, 6.0)
SEVEN = np.arange(1.0, 8.0)
TWO = np.array([0.0, 1.0])
CEILING = (0.05, 0.0, 0.0, 0.1, 0.85)
HIGH = (0.02, 0.05, 0.1, 0.33, 0.5)
MIDDLE = (0.1, 0.2, 0.4, 0.2, 0.1)
MIDDLE_OF_SEVEN = (0.05, 0.1, 0.2, 0.3, 0.2, 0.1, 0.05)
CEILING_OF_SEVEN = (0.03, 0.0, 0.0, 0.0, 0.02, 0.05, 0.9)
HALVES = np.arange(0.0, 10.5, 0.5)
TENS = (0.0, 0.0, 0.0, 0.0, 0.05, *(0.0,) * 11, 0.05, 0.0, 0.1, 0.2, 0.6)


def _grouped(
    random: np.random.Generator, shares: Sequence[float], sizes: Sequence[int], icc: float
) -> tuple[np.ndarray, np.ndarray]:
    """Scores with these shares of each level, in groups of these sizes whose items go together."""
    levels = _levels(shares)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    latent = math.sqrt(icc) * random.normal(size=len(sizes))[groups]
    latent += math.sqrt(1 - icc) * random.normal(size=len(groups))
    places = np.searchsorted(np.cumsum(shares), ndtr(latent))
    return levels[np.minimum(places, len(levels) - 1)], groups


def _levels(shares: Sequence[float]) -> np.ndarray:
    """The scale with so many levels."""
    return {2: TWO, 5: FIVE, 7: SEVEN, len(HALVES): HALVES}[len(shares)]


def _mean(shares: Sequence[float]) -> float:
    return float(np.dot(_levels(shares), shares))


def false_good(
    design: str, shares: Sequence[float], n: int, sizes: Sequence[int] = (), icc: float = 0.4
) -> Check:
    """A system exactly at its threshold: how often the gate calls it good."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        levels = _levels(shares)
        n_good = 0
        for _ in range(worlds):
            if sizes:
                scores, codes = _grouped(random, shares, random.choice(sizes, size=n).tolist(), icc)
                groups = codes.tolist()
            else:
                scores, groups = random.choice(levels, p=shares, size=n), None
            decision = decision_by_values(
                scores.tolist(), groups, (float(levels[0]), float(levels[-1])), _mean(shares), 1,
                is_two_level=len(shares) == 2, with_bounds=False,
            )  # fmt: skip
            n_good += outcome_of(decision) == "good"
        return n_good / worlds

    return Check("Gate: false good at the threshold", design, 0.0, 0.025, run)


def power_lost(distance: float) -> Check:
    """The power of the gate's bound in the middle of a scale, compared with the t interval."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        lost = 0
        for _ in range(worlds):
            scores = random.choice(FIVE, p=MIDDLE, size=50).tolist()
            by_t = mean_test(scores, None, None, 3 - distance)
            by_bound = mean_test(scores, None, (1.0, 5.0), 3 - distance, with_bounds=False)
            assert by_t is not None
            assert by_bound is not None
            lost += int(by_t.p_above <= 0.025) - int(by_bound.p_above <= 0.025)
        return lost / worlds

    return Check(
        "Gate: power lost against a t interval",
        f"scores 1–5 in mid scale, n = 50, {distance} above",
        0.0,
        0.10,
        run,
    )


def power_with_groups(
    sizes: Sequence[int], design: str, shares: Sequence[float] = MIDDLE, most: float = 0.15
) -> Check:
    """The power of the gate's bound over 20 groups, compared with the cluster-robust t test, 0.5 above the
    threshold. On a wider scale the same 0.5 is less of it, and the bound loses more."""

    def run(worlds: int, seed: int) -> float:
        random, lost = np.random.default_rng(seed), 0
        for _ in range(worlds):
            scores, groups = _grouped(random, shares, random.choice(sizes, size=20).tolist(), 0.4)
            ends = 1.0, float(len(shares))
            by_t, by_bound = (
                mean_test(scores.tolist(), groups.tolist(), limits, _mean(shares) - 0.5, with_bounds=False)
                for limits in (None, ends)
            )
            assert by_t is not None
            assert by_bound is not None
            lost += int(by_t.p_above <= 0.025) - int(by_bound.p_above <= 0.025)
        return lost / worlds

    return Check("Gate: power lost against a cluster t test", f"{design}, ICC .4, 0.5 above", 0.0, most, run)


def false_good_with_labels(
    design: str,
    shares: Sequence[float],
    n_labels: int,
    sizes: Sequence[int] = (),
    noise: float = 0.7,
    icc: float = 0.7,
) -> Check:
    """A system exactly at its threshold, decided with labels; labels that count as too few decide nothing."""

    def run(worlds: int, seed: int) -> float:
        random, n_good = np.random.default_rng(seed), 0
        levels = _levels(shares)
        limits = float(levels[0]), float(levels[-1])
        truth = float(np.dot(levels, shares))
        for _ in range(worlds):
            if sizes:
                people, codes = _grouped(random, shares, sizes, icc)
                groups = codes.tolist()
            else:
                people, groups = random.choice(levels, p=shares, size=1000), None
            step = float(levels[1] - levels[0])
            judge = np.clip(np.round((people + random.normal(0, noise, len(people))) / step) * step, *limits)
            labels = np.full(len(people), np.nan)
            drawn = random.choice(len(people), n_labels, replace=False)
            labels[drawn] = people[drawn]
            mean = ppi_mean(labels.tolist(), judge.tolist(), clusters=groups, limits=limits)
            test = corrected_mean_test(
                mean.corrected,
                labels.tolist(),
                judge.tolist(),
                truth,
                limits,
                clusters=groups,
                with_bounds=False,
            )
            n_good += test is not None and test.p_above <= 0.025 and not mean.is_thin
        return n_good / worlds

    return Check("Gate with labels: false good at the threshold", design, 0.0, 0.025, run)


def false_worse(n_checks: int) -> Check:
    """An unchanged run against its baseline, with --max-drop 0 for each check."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        n_worse = 0
        for _ in range(worlds):
            checks = []
            for _ in range(n_checks):
                before, after = random.choice(FIVE, p=HIGH, size=(2, 50))
                limits = 1.0 - float(before.mean()), 5.0 - float(before.mean())
                decision = decision_by_values(
                    (after - before).tolist(), None, limits, 0.0, 1, with_bounds=False
                )
                change = Estimate(0.0, None, None, 50)
                checks.append(
                    GateCheck("max_drop", "c", "s", 0.0, change, outcome_of(decision), "", decision=decision)
                )
            n_worse += any(check.outcome == "worse" for check in corrected_for_number(checks))
        return n_worse / worlds

    return Check(
        "Gate: false worse over all checks",
        f"unchanged run, {n_checks} checks with --max-drop 0",
        0.0,
        0.05,
        run,
    )


def _judge(random: np.random.Generator, people: np.ndarray, noise: float) -> np.ndarray:
    return np.clip(np.round(people + 0.3 + random.normal(0, noise, len(people))), 1, 5)


def corrected_groups(n_groups: int, n_labels: int) -> Check:
    """The corrected mean near the end of the scale, in groups of 20."""

    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        for _ in range(worlds):
            people, groups = _grouped(random, CEILING, [20] * n_groups, 0.7)
            labels = np.full(len(people), np.nan)
            drawn = random.choice(len(people), n_labels, replace=False)
            labels[drawn] = people[drawn]
            judge = _judge(random, people, 0.7)
            mean = ppi_mean(labels.tolist(), judge.tolist(), clusters=groups.tolist(), limits=(1.0, 5.0))
            covered += _covers(mean.corrected, _mean(CEILING)) or mean.is_thin
        return covered / worlds

    design = f"scores at the ceiling, {n_groups} groups of 20, ICC .7, {n_labels} labels"
    return Check("Corrected mean (covers, or remarks)", design, 0.93, 1.0, run)


def corrected_uneven(low: float, high: float) -> Check:
    """Labels whose chance depends on the judge's score."""

    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        for _ in range(worlds):
            people = random.choice(FIVE, p=CEILING, size=2000)
            judge = _judge(random, people, 0.7)
            chances = np.where(judge >= 5, high, low)
            is_drawn = random.random(len(people)) < chances
            mean = ppi_mean(
                np.where(is_drawn, people, np.nan).tolist(),
                judge.tolist(),
                probabilities=np.where(is_drawn, chances, np.nan).tolist(),
                limits=(1.0, 5.0),
            )
            covered += _covers(mean.corrected, _mean(CEILING)) or mean.is_thin
        return covered / worlds

    design = f"scores at the ceiling, label chances {low} and {high} by the judge's score"
    return Check("Corrected mean (covers, or remarks)", design, 0.93, 1.0, run)


def _covers(estimate: Estimate, truth: float) -> bool:
    return estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high


def bias_by_system() -> Check:
    """50 labels drawn with --by system from 900 and 100 items; the judge is too lenient on the small
    system."""

    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        systems = ["big"] * 900 + ["small"] * 100
        is_small = np.array(systems) == "small"
        for world in range(worlds):
            people = random.choice(FIVE, p=MIDDLE, size=1000)
            kind = np.where(is_small, 0.8, 0.0) + random.choice(
                [-1.0, 0.0, 1.0], p=[0.1, 0.8, 0.1], size=1000
            )
            judge = people + kind
            labels = np.full(1000, np.nan)
            drawn = list(draw(systems, 50, by_system=True, seed=seed * 100_000 + world))
            labels[drawn] = people[drawn]
            mean = ppi_stratified(labels.tolist(), judge.tolist(), systems)
            covered += _covers(mean.bias, 0.08)
        return covered / worlds

    return Check("Bias of the judge", "sample --by system, 900 + 100 items, 50 labels", 0.93, 0.98, run)


def share_not_wider(accuracy: float) -> Check:
    """Corrected shares that are wider than the labels alone by more than 5 %."""

    def run(worlds: int, seed: int) -> float:
        random, wider = np.random.default_rng(seed), 0
        for _ in range(worlds):
            people = (random.random(500) < random.choice([0.5, 0.8, 0.94, 0.98])).astype(float)
            judge = np.where(random.random(500) < accuracy, people, 1 - people)
            labels = people.copy()
            labels[int(random.choice([20, 50, 200, 500])) :] = np.nan
            if np.nanmin(labels) == np.nanmax(labels):
                continue
            known = labels[~np.isnan(labels)]
            alone = wilson(float(known.sum()), len(known))
            most = 1.05 * ((alone.high or 0.0) - (alone.low or 0.0)) + 1e-9
            mean = ppi_mean(labels.tolist(), judge.tolist(), limits=(0.0, 1.0)).corrected
            passed = corrected_share(labels.tolist(), judge.tolist())
            wider += any(
                found.low is not None and found.high is not None and found.high - found.low > most
                for found in (mean, passed)
            )
        return wider / worlds

    return Check(
        "Corrected share wider than Wilson of the labels",
        f"0/1, judge right in {accuracy:.0%}",
        0.0,
        0.0,
        run,
    )


def share_covers(share: float, accuracy: float, n_labels: int) -> Check:
    """The corrected share covers, with the labels alone where they say more."""

    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        for _ in range(worlds):
            people = (random.random(1000) < share).astype(float)
            judge = np.where(random.random(1000) < accuracy, people, 1 - people)
            labels = people.copy()
            labels[n_labels:] = np.nan
            covered += _covers(ppi_mean(labels.tolist(), judge.tolist(), limits=(0.0, 1.0)).corrected, share)
        return covered / worlds

    design = f"pass rate {share}, judge right in {accuracy:.0%}, {n_labels} labels"
    return Check("Corrected share", design, 0.93, 1.0, run)


def wrong_stop(shares: Sequence[float], noise: float, design: str) -> Check:
    """A mean exactly at the threshold of the stop rule, looked at after each of 400 labels."""

    def run(worlds: int, seed: int) -> float:
        random, wrong = np.random.default_rng(seed), 0
        for _ in range(worlds):
            people = random.choice(FIVE, p=shares, size=2000)
            judge = _judge(random, people, noise)
            stream = LabelStream(people[:400].tolist(), judge[:400].tolist(), judge.tolist(), (1.0, 5.0))
            wrong += stream.crossing(_mean(shares)) is not None
        return wrong / worlds

    return Check("Stop rule: any wrong answer", f"{design}, a look after each of 400 labels", 0.0, 0.05, run)


def sequence_covers(shares: Sequence[float], noise: float, design: str) -> Check:
    """The interval of the stop rule covers at every look."""

    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        for _ in range(worlds):
            people = random.choice(FIVE, p=shares, size=2000)
            judge = _judge(random, people, noise)
            stream = LabelStream(people[:200].tolist(), judge[:200].tolist(), judge.tolist(), (1.0, 5.0))
            # The interval only narrows, so the last one lies in all others.
            covered += _covers(stream.estimate(), _mean(shares))
        return covered / worlds

    return Check("Interval of the stop rule", f"{design}, at all of 200 looks", 0.95, 1.0, run)


def labels_saved(distance: float) -> Check:
    """Labels that a stop rule saves against a number fixed in advance for a distance of 0.2."""

    def run(worlds: int, seed: int) -> float:
        random, used = np.random.default_rng(seed), []
        for _ in range(worlds):
            people = random.choice(FIVE, p=HIGH, size=2000)
            judge = _judge(random, people, 1.5)
            stream = LabelStream(people[:600].tolist(), judge[:600].tolist(), judge.tolist(), (1.0, 5.0))
            crossing = stream.crossing(_mean(HIGH) - distance)
            used.append(600 if crossing is None else crossing.n)
        residual = people - judge * np.cov(people, judge)[0, 1] / judge.var(ddof=1)
        fixed = ((1.96 + 0.84) * residual.std() / 0.2) ** 2
        return float(1 - np.mean(used) / fixed)

    return Check(
        "Stop rule: labels saved",
        f"fixed number planned for a distance of 0.2, true distance {distance}",
        0.2,
        1.0,
        run,
    )


def uncertain_draw() -> Check:
    """100 labels drawn by uncertainty, with the probabilities of the draw."""

    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        for world in range(worlds):
            people = random.choice(FIVE, p=HIGH, size=1000)
            doubt = random.choice([0.0, 1.0], p=[0.8, 0.2], size=1000)
            judge = np.clip(
                people + np.where(doubt > 0, random.choice([-2.0, 0.0, 2.0], size=1000), 0.0), 1, 5
            )
            weights = (0.5 + 0.5 * doubt / doubt.mean()).tolist()
            drawn = draw(["s"] * 1000, 100, by_system=False, seed=seed * 100_000 + world, weights=weights)
            labels, chances = np.full((2, 1000), np.nan)
            labels[list(drawn)], chances[list(drawn)] = people[list(drawn)], list(drawn.values())
            mean = ppi_mean(
                labels.tolist(), judge.tolist(), probabilities=chances.tolist(), limits=(1.0, 5.0)
            )
            covered += _covers(mean.corrected, _mean(HIGH))
        return covered / worlds

    return Check("Corrected mean", "100 of 1,000 items from sample --where uncertain", 0.93, 0.98, run)


CHECKS = [
    false_good("85 % fives, 10 % fours, 5 % ones, n = 20", CEILING, 20),
    false_good("85 % fives, 10 % fours, 5 % ones, n = 50", CEILING, 50),
    false_good("pass rate .9 on 0/1, n = 50", (0.1, 0.9), 50),
    false_good("pass rate .98 on 0/1, n = 200", (0.02, 0.98), 200),
    false_good("pass rate .5 on 0/1, n = 50", (0.5, 0.5), 50),
    false_good("mid scale, n = 50", MIDDLE, 50),
    false_good("85 % fives, 10 % fours, 5 % ones, 20 groups of 2 to 20, ICC .4", CEILING, 20, (2, 5, 20)),
    false_good("pass rate .9 on 0/1, 50 groups of 2 to 20, ICC .4", (0.1, 0.9), 50, (2, 5, 20)),
    false_good("mid scale, 50 groups of 2 to 20, ICC .4", MIDDLE, 50, (2, 5, 20)),
    power_lost(0.3),
    power_lost(0.45),
    power_with_groups((2, 5, 20), "mid scale, 20 groups of 2, 5 or 20"),
    power_with_groups((1, 2, 3, 4, 5, 6, 7, 8), "mid scale, 20 groups of 1 to 8"),
    power_with_groups(range(1, 16), "middle of 1–7, 20 groups of 1 to 15", MIDDLE_OF_SEVEN, 0.4),
    false_good("pass rate .5 on 0/1, 20 groups of 2 to 20, ICC .8", (0.5, 0.5), 20, (2, 5, 20), 0.8),
    false_good("mid scale, 20 groups, most of 1, some of 50, ICC .8", MIDDLE, 20, (1, 1, 1, 1, 50), 0.8),
    false_good_with_labels("ceiling, 40 groups of 20, ICC .7, 200 labels", CEILING, 200, [20] * 40),
    false_good_with_labels("ceiling, 60 groups of 5, ICC .7, 100 labels", CEILING, 100, [5] * 60),
    false_good_with_labels("ceiling, 30 groups of 10, ICC .7, 60 labels", CEILING, 60, [10] * 30),
    false_good_with_labels(
        "ceiling of 1–7, 50 groups of 6, ICC .5, 120 labels", CEILING_OF_SEVEN, 120, [6] * 50, 1.5, 0.5
    ),
    false_good_with_labels("mid scale, 30 groups of 4, ICC .5, 80 labels", MIDDLE, 80, [4] * 30, icc=0.5),
    false_good_with_labels("ceiling of 1–5, 20 labels", CEILING, 20),
    false_good_with_labels("ceiling of 1–5, poor judge, 50 labels", CEILING, 50, noise=3.0),
    false_good_with_labels("ceiling of 0–10, poor judge, 20 labels", TENS, 20, noise=4.0),
    false_good_with_labels("mid scale, 50 labels", MIDDLE, 50),
    false_worse(20),
    corrected_groups(40, 200),
    corrected_groups(100, 200),
    corrected_uneven(0.3, 0.01),
    corrected_uneven(0.01, 0.3),
    uncertain_draw(),
    bias_by_system(),
    share_not_wider(1.0),
    share_not_wider(0.8),
    share_covers(0.94, 0.9, 50),
    share_covers(0.7, 0.8, 50),
    wrong_stop(HIGH, 0.6, "scores 1–5, a good judge"),
    wrong_stop(CEILING, 0.6, "85 % fives, 10 % fours, 5 % ones, a good judge"),
    wrong_stop(MIDDLE, 3.0, "mid scale, a poor judge"),
    sequence_covers(HIGH, 0.6, "scores 1–5, a good judge"),
    labels_saved(0.4),
    labels_saved(0.8),
]

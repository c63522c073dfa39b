"""Simulations of what the card says besides agreement: panels, equivalence, failures, these items, sources of noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjudge.records import Estimate
from adjudge.stats import (
    equivalence,
    informative_failures,
    paired_difference,
    ppi_mean,
    ppi_panel,
    variance_components,
)
from promises import Check

Array = np.ndarray
FIVE = np.arange(1.0, 6.0)
CEILING = (0.05, 0.0, 0.0, 0.1, 0.85)
MIDDLE = (0.1, 0.2, 0.4, 0.2, 0.1)


def covers(estimate: Estimate, truth: float) -> bool:
    return estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high


def levels(values: Array) -> Array:
    return np.clip(np.round(values), 1, 5)


# -- panels


def _panel(
    random: np.random.Generator, shares: Sequence[float], noises: Sequence[float], n: int
) -> tuple[list[float | None], list[list[float]]]:
    people = random.choice(FIVE, p=shares, size=600)
    judges = [levels(people + random.normal(0, noise, 600)).tolist() for noise in noises]
    return [float(value) if place < n else None for place, value in enumerate(people)], judges


def panel_covers(name: str, shares: Sequence[float], noises: Sequence[float], n: int) -> Check:
    def run(worlds: int, seed: int) -> float:
        random, truth, covered = np.random.default_rng(seed), float(np.dot(FIVE, shares)), 0
        for _ in range(worlds):
            covered += covers(
                ppi_panel(*_panel(random, shares, noises, n), limits=(1.0, 5.0)).corrected, truth
            )
        return covered / worlds

    return Check(
        "Corrected mean with several judges", f"{name}, {len(noises)} judges, {n} labels", 0.93, 1.0, run
    )


def panel_error(name: str, shares: Sequence[float], noises: Sequence[float], n: int) -> Check:
    """The error with a slope for each judge as a share of that with the panel's mean."""

    def run(worlds: int, seed: int) -> float:
        random, truth = np.random.default_rng(seed), float(np.dot(FIVE, shares))
        errors = []
        for _ in range(worlds):
            labels, judges = _panel(random, shares, noises, n)
            means = np.mean(judges, axis=0).tolist()
            found = ppi_panel(labels, judges).corrected.value, ppi_mean(labels, means).corrected.value
            errors.append([(value or np.nan) - truth for value in found])
        several, pooled = np.sqrt(np.nanmean(np.square(errors), axis=0))
        return float(several / pooled)

    return Check(
        "Corrected mean with several judges: error / with their mean", f"{name}, {n} labels", 0.0, 1.05, run
    )


# -- these items


def these_items(design: str, sizes: Sequence[int], n_labels: int) -> Check:
    """--about these-items: a few large groups, and labels of random items."""

    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        groups = np.repeat(np.arange(len(sizes)), sizes)
        for _ in range(worlds):
            people = levels(3 + random.normal(size=len(sizes))[groups] + random.normal(0, 0.7, len(groups)))
            judge = levels(people + random.normal(0, 0.8, len(groups)))
            labels = np.full(len(people), np.nan)
            drawn = random.choice(len(people), n_labels, replace=False)
            labels[drawn] = people[drawn]
            found = ppi_mean(
                labels.tolist(), judge.tolist(), clusters=groups.tolist(), limits=(1.0, 5.0), is_finite=True
            ).corrected
            covered += covers(found, float(people.mean()))
        return covered / worlds

    return Check("Corrected mean of these items", f"{design}, {n_labels} labels", 0.93, 0.97, run)


# -- equivalence


def false_equivalence(n: int, size: int) -> Check:
    """A change of exactly the margin for the worse: how often it is called equivalent, or not worse."""

    def run(worlds: int, seed: int) -> float:
        random, wrong = np.random.default_rng(seed), 0
        groups = np.repeat(np.arange(n // size), size)
        for _ in range(worlds):
            before = levels(3 + 0.8 * random.normal(size=n))
            change = 0.5 * random.normal(size=n // size)[groups] + random.normal(0, 0.6, n) - 0.2
            found = paired_difference(before.tolist(), (before + change).tolist(), groups.tolist())
            verdict = equivalence(found.difference, 0.2, n // size - 1).verdict
            wrong += verdict in ("equivalent", "not worse")
        return wrong / worlds

    design = f"{n} items" if size == 1 else f"{n // size} groups of {size}"
    return Check("Equivalence: false claim", f"true change of the margin, {design}", 0.0, 0.025, run)


def equivalence_found(n: int) -> Check:
    def run(worlds: int, seed: int) -> float:
        random, found = np.random.default_rng(seed), 0
        for _ in range(worlds):
            change = random.normal(0, 0.6, n)
            difference = paired_difference([3.0] * n, (3 + change).tolist()).difference
            found += equivalence(difference, 0.2, n - 1).verdict == "equivalent"
        return found / worlds

    return Check("Equivalence: found", f"no true change, margin 0.2, sd 0.6, {n} items", 0.8, 1.0, run)


# -- failures


def _failing(random: np.random.Generator) -> tuple[Array, Array, Array]:
    """People's scores, the judge's, and which of 500 items fail: bad ones four times as often."""
    people = random.choice(FIVE, p=MIDDLE, size=500)
    failed = random.random(500) < np.where(people <= 2, 0.4, 0.1)
    return people, levels(people + 0.3 + random.normal(0, 0.7, 500)), failed


def failures_cover(part: str) -> Check:
    """The difference of failed and judged items, and the judge's mean with failures imputed."""

    def run(worlds: int, seed: int) -> float:
        many = [_failing(np.random.default_rng(10_000 + world)) for world in range(1000)]
        people, judge, failed = (np.concatenate(column) for column in zip(*many, strict=True))
        gap = float(people[failed].mean() - people[~failed].mean())
        truth = {"difference": gap, "imputed": float(judge.mean())}[part]
        random, covered = np.random.default_rng(seed), 0
        for _ in range(worlds):
            people, judge, failed = _failing(random)
            labels = np.where(np.arange(500) < 150, people, np.nan)
            found = informative_failures(
                labels.tolist(), np.where(failed, np.nan, judge).tolist(), limits=(1.0, 5.0)
            )
            assert found is not None
            covered += covers(getattr(found, part), truth)
        return covered / worlds

    what = (
        "labels of failed and judged items"
        if part == "difference"
        else "the judge's mean with failures imputed"
    )
    return Check(f"Failures: {what}", "500 items, 150 labels, bad items fail 4 × as often", 0.93, 0.98, run)


# -- sources of noise


def noise_found(part: str, truth: float) -> Check:
    """The estimated variance of a source as a share of the true one, on average."""

    def run(worlds: int, seed: int) -> float:
        random, found = np.random.default_rng(seed), []
        items, judges = np.repeat(np.arange(60), 12), np.tile(np.repeat(np.arange(4), 3), 60)
        for _ in range(worlds):
            values = random.normal(0, 1, 60)[items] + random.normal(0, 0.5, 4)[judges]
            values += random.normal(0, 0.6, (60, 4))[items, judges] + random.normal(0, 0.8, len(items))
            # A tenth of the answers failed.
            values[random.random(len(values)) < 0.1] = np.nan
            made = variance_components(values.tolist(), items.tolist(), {"judge": judges.tolist()})
            assert made is not None
            found.append(next(one.variance for one in made.parts if one.name == part))
        return float(np.mean(found)) / truth

    return Check(
        f"Sources of noise: {part}, estimated / true",
        "60 items, 4 judges, 3 samples, 10 % failed",
        0.9,
        1.1,
        run,
    )


LARGE = [150, *[2, 3, 4, 5] * 7, 2]
CHECKS = [
    *(
        panel_covers(name, shares, (0.6, 1.2, 2.0), n)
        for name, shares in (("ceiling", CEILING), ("mid scale", MIDDLE))
        for n in (30, 50, 100)
    ),
    panel_error("judges of unequal quality, mid scale", MIDDLE, (0.6, 1.2, 2.0), 50),
    panel_error("judges of equal quality, ceiling", CEILING, (0.8, 0.8, 0.8), 50),
    these_items("one group of 150 and 29 of 2 to 5", LARGE, 60),
    these_items("three groups of 100 and 40 of 2 to 5", [100] * 3 + [2, 3, 4, 5] * 10, 60),
    false_equivalence(100, 1),
    false_equivalence(120, 4),
    equivalence_found(120),
    failures_cover("difference"),
    failures_cover("imputed"),
    noise_found("item", 1.0),
    noise_found("judge", 0.25),
    noise_found("item × judge", 0.36),
    noise_found("sample", 0.64),
]

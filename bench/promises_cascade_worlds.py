"""Simulated worlds for a cascade: is its promise kept, and do the labels that it asks for show a threshold?

A fit sees some items with labels and more without; the truth is the agreement of its thresholds on many new
items of the same world.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjudge.stats.cascades import CascadeFit, StageAnswers, fit_cascade
from promises import Check

RISK = 0.1
N_UNLABELLED, N_NEW = 300, 20_000


class Items(NamedTuple):
    """By judge and item: confidence (-inf: decides nothing), and whether it agrees with people."""

    confidence: Any
    agrees: Any
    groups: Any = None


World = Callable[[np.random.Generator, int], Items]


def votes(k: int, skills: tuple[float, ...]) -> World:
    """Judges that vote k times; confidence is the share of votes, which takes few values."""

    def items(random: np.random.Generator, n: int) -> Items:
        ease = random.beta(4, 1.2, n)
        right = np.array([random.binomial(k, np.clip(ease * skill, 0, 0.995)) for skill in skills])
        return Items(np.maximum(right, k - right) / k, right > k / 2)

    return items


def margins(skills: tuple[float, ...], sign: float = 1.0) -> World:
    """Judges whose confidence is a margin of any size; with `sign` -1 they are surer where they are wrong.
    They fail more often on hard items."""

    def items(random: np.random.Generator, n: int) -> Items:
        ease = random.normal(1.5, 1, n)
        evidence = ease + random.normal(0, 1, (len(skills), n)) / np.array(skills)[:, None]
        margin = sign * np.abs(evidence)
        margin[random.random(margin.shape) < 0.2 / (1 + np.exp(2 * ease))] = -np.inf
        return Items(margin, evidence > 0)

    return items


def uninformed(share: float, n_values: int) -> World:
    """One judge that agrees equally often whatever its confidence, which takes so many values."""

    def items(random: np.random.Generator, n: int) -> Items:
        return Items(random.integers(1, n_values + 1, (1, n)) / n_values, random.random((1, n)) < share)

    return items


def grouped(sizes: tuple[int, ...]) -> World:
    """A judge that is right or wrong on half of the groups as a whole, most often in the largest groups."""

    def items(random: np.random.Generator, n: int) -> Items:
        drawn = random.choice(sizes, size=n)
        groups = np.repeat(np.arange(n), drawn)[:n]
        is_whole = (random.random(n) < 0.5)[groups]
        shared, own = random.random(n)[groups], random.random(n)
        sure = random.random(n)
        wrong = (0.02 + 0.16 * (1 - sure)) * np.where(drawn[groups] == max(sizes), 1.5, 0.5)
        return Items(sure[None], (np.where(is_whole, shared, own) >= wrong)[None], groups)

    return items


def fit_of(items: Items, n_labels: int, target: float) -> CascadeFit:
    """The thresholds from the labels of the first items."""
    is_labelled = np.arange(items.confidence.shape[1]) < n_labels
    same = items.agrees == items.agrees[-1]
    answers = [
        StageAnswers(
            [float(one) if np.isfinite(one) else None for one in sure],
            [bool(flag) if known else None for flag, known in zip(flags, is_labelled, strict=True)],
            [bool(flag) for flag in equal],
        )
        for sure, flags, equal in zip(items.confidence, items.agrees, same, strict=True)
    ]
    return fit_cascade(answers, target, RISK, None if items.groups is None else items.groups.tolist())


def agreement_of(fit: CascadeFit, new: Items) -> float:
    """The true agreement of the items that these thresholds decide."""
    thresholds = [np.inf if stage.threshold is None else stage.threshold for stage in fit.stages]
    is_sure = new.confidence >= np.array(thresholds)[:, None]
    is_decided, first = is_sure.any(axis=0), is_sure.argmax(axis=0)
    right = np.take_along_axis(new.agrees, first[None], axis=0)[0]
    return float(right[is_decided].mean()) if is_decided.any() else 1.0


def missed(design: str, world: World, target: float, n_labels: int) -> Check:
    """How often the items that are decided agree with people less than the target."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        new, n_missed = world(random, N_NEW), 0
        for _ in range(worlds):
            fit = fit_of(world(random, n_labels + N_UNLABELLED), n_labels, target)
            n_missed += fit.holds and agreement_of(fit, new) < target
        return n_missed / worlds

    return Check(
        "Cascade: agreement below the target", f"{design}, {target}, {n_labels} labels", 0.0, RISK, run
    )


def shown_at_named(design: str, world: World, target: float, n_labels: int) -> Check:
    """Where no threshold is shown: how often it is with as many other labels as were named."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        n_shown = n_named = 0
        while n_named < worlds:
            fit = fit_of(world(random, n_labels + N_UNLABELLED), n_labels, target)
            if fit.holds or fit.labels_needed is None:
                continue
            n_named += 1
            wanted = min(fit.labels_needed.likely, 5000)
            n_shown += fit_of(world(random, wanted + N_UNLABELLED), wanted, target).holds
        return n_shown / worlds

    name = "Cascade: shown with the labels that are named"
    return Check(name, f"{design}, {target}, {n_labels} labels", 0.65, 1.0, run)


CHECKS = [
    missed("one judge, 3 votes", votes(3, (1.1,)), 0.9, 60),
    missed("one judge, 5 votes", votes(5, (1.1,)), 0.95, 200),
    missed("two judges, 3 votes", votes(3, (0.95, 1.15)), 0.9, 100),
    missed("four judges, 5 votes", votes(5, (0.8, 0.9, 1.0, 1.1)), 0.9, 100),
    missed("three judges, margins, failures on hard items", margins((0.7, 1.0, 1.5)), 0.95, 200),
    missed("two judges, surer where they are wrong", margins((0.8, 1.2), -1.0), 0.85, 200),
    missed("always equally sure, just below", uninformed(0.898, 1), 0.9, 100),
    missed("sure at random, just below", uninformed(0.898, 1000), 0.9, 100),
    missed("groups of 1 to 7, as a whole", grouped((1, 2, 3, 5, 7)), 0.915, 500),
    shown_at_named("one judge, 3 votes", votes(3, (1.1,)), 0.9, 40),
    shown_at_named("two judges, 5 votes", votes(5, (0.95, 1.15)), 0.95, 60),
    shown_at_named("two judges, margins", margins((0.8, 1.2)), 0.95, 60),
    shown_at_named("always equally sure", uninformed(0.95, 1), 0.9, 30),
]

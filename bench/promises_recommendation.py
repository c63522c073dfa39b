"""Simulations of the recommendation: how often a judge is called usable that is not, and one that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjudge.analysis.run_view.criteria import by_criterion
from adjudge.analysis.run_view.given_results import view_of_results
from adjudge.analysis.trust.card import Use
from adjudge.analysis.trust.judge_card import judge_card
from adjudge.records import Label, Result, Scale
from promises import Check
from promises_trust import levels

SCALE = Scale(1, 5, 5, step=1)
PASS = Scale(0, 1, 1, step=1)
N_RESAMPLES = 50
"""Few: the recommendation rests on intervals that are not resampled."""

World = Callable[[np.random.Generator], tuple[Any, Any]]
"""A judge's scores, and the ratings of people, items × raters."""


def use_of_scores(judge: Sequence[float], raters: Sequence[Sequence[float]], scale: Scale = SCALE) -> Use:
    """The recommendation for these scores, of which NaN is a failure, and ratings."""
    results = [
        Result(
            item=str(item),
            protocol="p",
            criterion="c",
            model="judge",
            status="no_reply" if np.isnan(score) else "ok",
            value=None if np.isnan(score) else float(score),
        )
        for item, score in enumerate(judge)
    ]
    labels = [
        Label(str(item), "c", f"rater {place}", float(rating))
        for item, ratings in enumerate(raters)
        for place, rating in enumerate(ratings)
    ]
    card = judge_card(view_of_results(results, by_criterion({"c": scale})), labels, n_resamples=N_RESAMPLES)
    return card.criteria["c"].recommendation.use


def use_of_choices(judge: Sequence[str], labels: Sequence[str]) -> Use:
    """The recommendation for choices between two responses, with one rater."""
    results = [
        Result(item=str(item), protocol="p", criterion="c", model="judge", status="ok", choice=choice,
               system_a="first", system_b="second")
        for item, choice in enumerate(judge)
    ]  # fmt: skip
    given = [Label(str(item), "c", "rater", choice) for item, choice in enumerate(labels)]
    card = judge_card(view_of_results(results, by_criterion({})), given, n_resamples=N_RESAMPLES)
    return card.criteria["c"].recommendation.use


def people(random: np.random.Generator, n: int, n_raters: int) -> tuple[Any, Any]:
    """The quality of items, and what raters say of it."""
    quality = random.normal(3, 1, n)
    return quality, levels(quality[:, None] + random.normal(0, 0.6, (n, n_raters)))


def shuffled(n: int) -> World:
    """A judge with the scores of a rater, on other items."""

    def world(random: np.random.Generator) -> tuple[Any, Any]:
        _, raters = people(random, n, 1)
        return random.permutation(raters[:, 0]), raters

    return world


def nearly_constant(n: int) -> World:
    """A judge that says 3, and on one item of ten something else, whatever the item."""

    def world(random: np.random.Generator) -> tuple[Any, Any]:
        _, raters = people(random, n, 1)
        return np.where(random.random(n) < 0.1, random.integers(1, 6, n), 3), raters

    return world


def as_good_as_the_mean(n: int) -> World:
    """A judge whose errors are exactly as large as those of the mean label: the edge of the rule."""

    def world(random: np.random.Generator) -> tuple[Any, Any]:
        labels = random.normal(3, 0.5, n)
        # var(judge - label) = var(label) where the judge's slope is one half of its variance.
        judge = 3 + (labels - 3) * 0.5 + random.normal(0, 0.75**0.5 * 0.5, n)
        return judge, labels[:, None]

    return world


def like_a_rater(n: int, bias: float = 0.0, noise: float = 0.6) -> World:
    """A judge that differs from three raters by its bias and its noise alone; the scale does not clip it."""

    def world(random: np.random.Generator) -> tuple[Any, Any]:
        quality = np.clip(random.normal(3, 0.5, n), 2.2, 3.8)
        raters = quality[:, None] + random.uniform(-0.4, 0.4, (n, 3))
        return quality + bias + noise / 0.6 * random.uniform(-0.4, 0.4, n), raters

    return world


def silent_on_bad_items(n: int, failing: float) -> World:
    """A judge like a rater that fails on this share of the items, nearly always on one that people rate low:
    its mean is too high, and its scores are not."""

    def world(random: np.random.Generator) -> tuple[Any, Any]:
        scores, raters = like_a_rater(n)(random)
        order = np.argsort(raters.mean(axis=1) + random.normal(0, 0.2, n))
        scores[order[: round(failing * n)]] = np.nan
        return scores, raters

    return world


def right_or_wrong(n: int, accuracy: float) -> World:
    """Two levels, half of the items each, and a judge that is right on this share of them."""

    def world(random: np.random.Generator) -> tuple[Any, Any]:
        labels = random.integers(0, 2, n).astype(float)
        return np.where(random.random(n) < accuracy, labels, 1 - labels), labels[:, None]

    return world


def shares(world: World, worlds: int, seed: int, scale: Scale) -> Counter[Use]:
    random = np.random.default_rng(seed)
    found: Counter[Use] = Counter()
    for _ in range(worlds):
        judge, raters = world(random)
        found[use_of_scores(judge.tolist(), raters.tolist(), scale)] += 1
    return found


def check(
    name: str,
    design: str,
    world: World,
    uses: tuple[Use, ...],
    low: float,
    high: float,
    scale: Scale = SCALE,
) -> Check:
    """How often one of these uses is recommended."""

    def run(worlds: int, seed: int) -> float:
        found = shares(world, worlds, seed, scale)
        return sum(found[use] for use in uses) / worlds

    return Check(name, design, low, high, run)


def usable_choices(n: int) -> Check:
    """Choices that do not look at the pairs."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        names = np.array(["a", "b"])
        found = Counter(
            use_of_choices(*(names[random.integers(0, 2, n)].tolist() for _ in range(2)))
            for _ in range(worlds)
        )
        return (found["alone"] + found["corrected"]) / worlds

    return Check("A false recommendation: a judge that guesses", f"{n} pairs, 1 rater", 0.0, 0.05, run)


USABLE: tuple[Use, ...] = ("alone", "corrected")
FALSE = "A false recommendation:"

CHECKS = [
    *(
        check(f"{FALSE} shuffled scores", f"{n} items, 1 rater", shuffled(n), USABLE, 0.0, 0.05)
        for n in (12, 60)
    ),
    *(
        check(f"{FALSE} nearly always 3", f"{n} items, 1 rater", nearly_constant(n), USABLE, 0.0, 0.05)
        for n in (30, 120)
    ),
    *(
        check(f"{FALSE} as good as the mean label", f"{n} items, 1 rater", as_good_as_the_mean(n), USABLE,
        0.0, 0.05)
        for n in (30, 120)
    ),
    usable_choices(60),
    check(
        "Alone, though its bias is 5 % of the scale", "150 items, 3 raters",
        like_a_rater(150, bias=0.2), ("alone",), 0.0, 0.05,
    ),
    check(
        "Alone, though three times as noisy as a rater", "150 items, 3 raters",
        like_a_rater(150, noise=1.8), ("alone",), 0.0, 0.05,
    ),
    check(
        "Alone, though it fails on bad items", "300 items, 3 raters, 40 % fail",
        silent_on_bad_items(300, 0.4), ("alone",), 0.0, 0.05,
    ),
    check(
        f"{FALSE} right in half of the cases", "100 items on two levels, 1 rater",
        right_or_wrong(100, 0.5), USABLE, 0.0, 0.05, PASS,
    ),
    check(
        "Corrected, for a judge that is right in 80 %", "120 items on two levels, 1 rater",
        right_or_wrong(120, 0.8), ("corrected",), 0.8, 1.0, PASS,
    ),
    check("Alone, for a judge like a rater", "300 items, 3 raters", like_a_rater(300), ("alone",), 0.8, 1.0),
    check(
        "Corrected, for a judge like a rater 1 point too high", "150 items, 3 raters",
        like_a_rater(150, bias=1.0), ("corrected",), 0.95, 1.0,
    ),
]  # fmt: skip

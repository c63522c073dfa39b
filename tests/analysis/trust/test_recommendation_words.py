"""What a card says in words agrees with the numbers beside it, in random small worlds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from adjudge.analysis.trust.card import CriterionCard
from adjudge.records import Label, Result, Scale
from views import judge_card

SCALES = (
    (Scale(1, 5, 5, step=1), 1.0, 5.0, 1.0),
    (Scale(1, 5, 1, step=1), 1.0, 5.0, 1.0),
    (Scale(1, 5, "unknown", step=1), 1.0, 5.0, 1.0),
    (Scale(0, 10, 10, step=0.5), 0.0, 10.0, 0.5),
    (Scale(0, 1, 1, step=1), 0.0, 1.0, 1.0),
    (Scale(0, 100, 100), 0.0, 100.0, 0.0),
    (None, 1.0, 5.0, 1.0),
)
N_WORLDS, CHUNK = 160, 40


class World(NamedTuple):
    results: list[Result]
    labels: list[Label]
    scale: Scale | None
    judge: str


def of_levels(values: Any, low: float, high: float, step: float) -> Any:
    rounded = np.round((values - low) / step) * step + low if step else values
    return np.clip(rounded, low, high)


def scores(random: np.random.Generator) -> World:
    """A judge of some kind, people who may be few, items in groups and systems, failures that may go with
    quality."""
    scale, low, high, step = SCALES[random.integers(len(SCALES))]
    n, n_raters, size, n_systems = (
        int(random.choice(values))
        for values in ((1, 3, 8, 12, 25, 60, 130), (1, 1, 2, 3), (1, 1, 3, 12), (1, 2, 3))
    )
    width = high - low
    quality = random.normal(low + random.choice([0.5, 0.9, 0.15]) * width, 0.25 * width, n)
    quality += random.normal(0, 0.1 * width, n)[np.arange(n) // size]

    def seen(noise: float, moved: float = 0.0) -> Any:
        return of_levels(quality + moved * width + random.normal(0, noise * width, n), low, high, step)

    people = np.array([seen(0.12) for _ in range(n_raters)]).T
    mean = people.mean(axis=1)
    judges = {
        "like a rater": seen(0.12),
        "too high": seen(0.12, 0.2),
        "noisy": seen(0.35),
        "constant": np.full(n, high if step == 1 else low + 0.6 * width),
        "turned": of_levels(low + high - quality, low, high, step),
        "guesses": random.permutation(seen(0.12)),
        "wild": np.where(random.random(n) < 0.12, np.where(mean > low + width / 2, low, high), mean),
        "equal": mean,
        "another scale": (mean - low) / width * 0.9,
    }
    judge = str(random.choice(list(judges)))
    chance = random.choice([0.0, 0.0, 0.1, 0.3])
    failed = random.random(n) < chance * random.choice([1.0, 2.0]) * np.where(
        quality < np.median(quality), 1, 0.3
    )
    weights = np.where(quality > np.median(quality), 0.9, 0.45)
    is_weighted = random.random() < 0.2
    is_drawn = random.random(n) < (weights if is_weighted else random.choice([0.5, 1.0, 1.0]))
    results = [
        Result(
            item=str(at),
            protocol="p",
            criterion="c",
            model="j",
            system=f"s{at % n_systems}",
            group=str(at // size),
            status="no_reply" if failed[at] else "ok",
            value=None if failed[at] else float(judges[judge][at]),
        )
        for at in range(n)
    ]
    chances = [float(weight) if is_weighted else None for weight in weights]
    labels = [
        Label(str(at), "c", f"r{rater}", float(people[at, rater]), probability=chances[at])
        for at in np.flatnonzero(is_drawn).tolist()
        for rater in range(n_raters)
    ]
    return World(results, labels, scale, judge)


def choices(random: np.random.Generator) -> World:
    """Pairs, or classes, judged well, at random, or always alike."""
    n, n_raters = int(random.choice([3, 12, 40, 130])), int(random.choice([1, 2, 3]))
    is_class = random.random() < 0.5
    names = np.array(["bad", "good", "ok"] if is_class else ["a", "b", "tie"])
    truth = random.integers(0, 3, n)

    def seen(share: float) -> Any:
        return names[np.where(random.random(n) < share, truth, random.integers(0, 3, n))]

    people = [seen(0.85) for _ in range(n_raters)]
    judge = str(random.choice(["good", "guesses", "constant"]))
    given = {"good": seen(0.85), "guesses": seen(0.0), "constant": np.full(n, names[0])}[judge]
    results = [
        Result(item=str(at), protocol="p", criterion="c", model="j", status="ok",
               **({"label": str(given[at])} if is_class else
                  {"choice": str(given[at]), "system_a": "x", "system_b": "y"}))
        for at in range(n)
    ]  # fmt: skip
    labels = [
        Label(str(at), "c", f"r{place}", str(said[at]))
        for place, said in enumerate(people)
        for at in range(n)
    ]
    scale = Scale(0, 2, "none", step=1, names={0: "bad", 1: "good", 2: "ok"}) if is_class else None
    return World(results, labels, scale, judge)


def is_above(low: float | None) -> bool:
    return low is not None and low > 0


def contradictions(card: CriterionCard) -> Iterator[str]:
    """Words that the numbers of the same card do not allow."""
    use, reason = card.recommendation.use, card.recommendation.reason
    constant, spearman = card.constant, card.item.get("spearman")
    opening = " ".join(sentence.text for sentence in card.sentences)
    leads = () if constant is None else (constant.lead.low, constant.corrected.low)
    beats = any(map(is_above, leads)) if constant else spearman is not None and is_above(spearman.low)
    if use == "alone":
        if card.verdict.answer != "yes":
            yield "alone, and it cannot replace a rater"
        ends = [end for end in (card.bias.low, card.bias.high) if end is not None]
        if card.kind == "scores" and ends and max(map(abs, ends)) > (card.tolerance or 0):
            yield "alone, and its bias may be larger than the tolerance"
    if use == "corrected":
        means = [*card.corrected.values(), *([card.pooled] if card.pooled else [])]
        says_means = (
            "corrected means" in card.recommendation.next or "corrected win" in card.recommendation.next
        )
        if not beats:
            yield "corrected, and no interval shows it to beat a constant"
        if says_means != any(mean.value is not None for mean in means):
            yield "corrected, and there is no corrected mean"
    if use == "no" and beats and "gave the same" not in reason:
        yield "not usable, and it is shown to beat a constant"
    if "it does better than always answering" in reason and not (constant and is_above(constant.lead.low)):
        yield "better than a constant, and its lead is not above 0"
    if re.search("always answering .* does better", reason) and not (
        constant and (constant.lead.high or 0) < 0
    ):
        yield "a constant does better, and the lead is not below 0"
    bias = card.bias
    is_biased = bias.low is not None and bias.high is not None and not bias.low <= 0 <= bias.high
    if re.search(r"points (too|higher|lower)", reason) and not is_biased:
        yield "a bias in words that is not significant"
    if re.search("(on par with|above) a human rater", opening) and "as well as a human rater" in reason:
        yield "on par with a rater, and not shown to do as well"
    if "below a human rater" in opening and use == "alone":
        yield "below a rater, and usable alone"
    if "Do not" in opening and use in ("alone", "corrected"):
        yield "advice against a judge that may be used"
    if not card.recommendation.next:
        yield "no next step"


@pytest.mark.parametrize("chunk", range(N_WORLDS // CHUNK))
def test_words_and_numbers_never_contradict_each_other(chunk: int) -> None:
    uses = set()
    for world in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        random = np.random.default_rng([9, world])
        made = choices(random) if world % 5 == 0 else scores(random)
        scales = None if made.scale is None else {"c": made.scale}
        for card in judge_card(made.results, made.labels, scales=scales, n_resamples=30).criteria.values():
            assert not list(contradictions(card)), (world, card.recommendation, card.sentences)
            if made.judge == "constant" and card.quality.n - card.quality.n_failed >= 10 and card.n_labelled:
                is_judged = card.n_labelled > card.n_failed
                assert card.recommendation.use == ("no" if is_judged else "unknown"), world
            uses.add(card.recommendation.use)
    assert len(uses) > 1

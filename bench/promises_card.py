"""Simulations of what the card says besides agreement: panels, equivalence, failures, these items, sources of
noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjudge.analysis.labels.labelled import LabelledItem, LabelledTable
from adjudge.analysis.trust.corrected_differences import differences
from adjudge.analysis.trust.corrected_means import corrected_means
from adjudge.analysis.trust.text_baseline import baseline_of
from adjudge.records import Estimate, Scale
from adjudge.stats import (
    equivalence,
    equivalent_together,
    informative_failures,
    labelled_sample,
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


# -- a difference beside the two means


TWO_SYSTEMS = (0.0, 0.3)


def _two_systems(
    random: np.random.Generator, noises: Sequence[float], n_labels: int, drawn: str
) -> LabelledTable:
    """Two systems on 200 inputs, judges that favour one of them, and labels of any items, of inputs with both
    outputs, or of uncertain items four times as often."""
    hard = random.normal(size=200)
    people = np.concatenate(
        [levels(3.3 + 0.8 * hard + lead + random.normal(0, 0.7, 200)) for lead in TWO_SYSTEMS]
    )
    favour = np.repeat([-0.4, 0.4], 200)
    judges = np.array([levels(people + favour + random.normal(0, noise, 400)) for noise in noises])
    chances = np.zeros(400)
    if drawn == "inputs":
        chosen = random.choice(200, n_labels // 2, replace=False)
        chances[[*chosen, *(chosen + 200)]] = 1
    elif drawn == "items":
        chances[random.choice(400, n_labels, replace=False)] = 1
    else:
        weights = np.where(np.abs(judges[0] - 3) < 1, 4.0, 1.0)
        weights *= n_labels / weights.sum()
        chances = np.where(random.random(400) < weights, weights, 0.0)
    rows = tuple(
        LabelledItem(
            item=f"{place}", subject=None, system="AB"[place // 200], systems=("", ""),
            group=f"g{place % 200}", status="ok", answer=float(judges[:, place].mean()),
            label=float(people[place]) if chances[place] else None,
            probability=float(chances[place]) if 0 < chances[place] < 1 else None,
            by_judge={f"j{k}": float(one[place]) for k, one in enumerate(judges)} if len(noises) > 1 else {},
        )
        for place in range(400)
    )  # fmt: skip
    return LabelledTable("q", "p", "m", "scores", Scale(1, 5, 5), ("ann",), rows, 0, True, ())


def difference_beside_means(design: str, noises: Sequence[float], n_labels: int, drawn: str) -> list[Check]:
    """How often a difference lies apart from that of the means beside it by more than half of its half-width,
    and how often its interval covers."""

    def found(worlds: int, seed: int) -> list[tuple[Estimate, float]]:
        random, rows = np.random.default_rng(seed), []
        for _ in range(worlds):
            table = _two_systems(random, noises, n_labels, drawn)
            means = corrected_means(table)
            (difference,) = differences(table, means).values()
            rows.append((difference, (means["A"].value or np.nan) - (means["B"].value or np.nan)))
        return rows

    def apart(worlds: int, seed: int) -> float:
        return float(
            np.mean(
                [
                    abs((one.value or 0.0) - between) > ((one.high or 0.0) - (one.low or 0.0)) / 4 + 1e-9
                    for one, between in found(worlds, seed)
                ]
            )
        )

    def covered(worlds: int, seed: int) -> float:
        random = np.random.default_rng(99)
        n = 2_000_000
        first, second = (
            float(levels(random.normal(3.3 + lead, np.hypot(0.8, 0.7), n)).mean()) for lead in TWO_SYSTEMS
        )
        return float(np.mean([covers(one, first - second) for one, _ in found(worlds, seed)]))

    name = f"{design}, {n_labels} labels"
    return [
        Check("Corrected difference: contradicts the means beside it", name, 0.0, 0.0, apart),
        Check("Corrected difference", name, 0.93, 0.99, covered),
    ]


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
    return Check("Equivalence: false claim", f"true change of the margin, {design}", 0.0, 0.05, run)


def false_equivalence_of_many(n_systems: int) -> Check:
    """Some of the differences of as many systems, each as large as the margin, is called equivalent."""

    def run(worlds: int, seed: int) -> float:
        random, claims = np.random.default_rng(seed), 0
        for _ in range(worlds):
            each = []
            for _ in range(n_systems):
                difference = paired_difference(
                    levels(random.normal(3, 1, 60)).tolist(), (random.normal(3.2, 1, 60)).tolist()
                ).difference
                each.append(equivalence(difference, 0.2, 59))
            claims += any(one.verdict == "equivalent" for one in equivalent_together(each))
        return claims / worlds

    return Check(
        "compare: some system falsely equivalent",
        f"{n_systems} systems, differences of the margin",
        0.0,
        0.05,
        run,
    )


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


def failures_cover_weighted() -> Check:
    """The same where uncertain items (those near 3) are labelled four times as often."""

    def run(worlds: int, seed: int) -> float:
        many = [_failing(np.random.default_rng(10_000 + world)) for world in range(1000)]
        people, _, failed = (np.concatenate(column) for column in zip(*many, strict=True))
        truth = float(people[failed].mean() - people[~failed].mean())
        random, covered = np.random.default_rng(seed), 0
        for _ in range(worlds):
            people, judge, failed = _failing(random)
            chance = np.where(people == 3, 0.6, 0.15)
            labels = np.where(random.random(500) < chance, people, np.nan)
            found = informative_failures(
                labels.tolist(), np.where(failed, np.nan, judge).tolist(), probabilities=chance.tolist()
            )
            covered += found is not None and covers(found.difference, truth)
        return covered / worlds

    return Check(
        "Failures: labels of failed and judged items",
        "500 items, some labelled 4 × as often",
        0.93,
        0.98,
        run,
    )


# -- the sample of labels


def false_selection(name: str, size: int, n: int, *, is_by_system: bool) -> Check:
    """Labels drawn at random, or the same number of each system: how often they are called selected."""

    def run(worlds: int, seed: int) -> float:
        random, alarms = np.random.default_rng(seed), 0
        groups = np.repeat(np.arange(300 // size), size)
        systems = np.array(["A"] * 240 + ["B"] * 60)
        for _ in range(worlds):
            shared = random.normal(0, 0.8 if size > 1 else 0, len(groups))[groups]
            scores = levels(3.5 - 1.0 * (systems == "B") + shared + random.normal(0, 0.9, 300))
            chosen = (
                np.concatenate([random.choice(240, n // 2, False), 240 + random.choice(60, n // 2, False)])
                if is_by_system
                else random.choice(300, n, replace=False)
            )
            flags = np.isin(np.arange(300), chosen)
            found = labelled_sample(
                scores.tolist(), flags.tolist(), systems.tolist(), groups.tolist() if size > 1 else None
            )
            alarms += found is not None and found.is_selected
        return alarms / worlds

    return Check("Labels wrongly called no random sample", name, 0.0, 0.05, run)


def false_selection_of_rare(n: int, n_labels: int, values: Sequence[float], shares: Sequence[float]) -> Check:
    """Few labels drawn at random, from scores of which nearly all are at the ceiling."""

    def run(worlds: int, seed: int) -> float:
        random, alarms = np.random.default_rng(seed), 0
        for _ in range(worlds):
            scores = random.choice(values, p=shares, size=n)
            flags = np.isin(np.arange(n), random.choice(n, n_labels, replace=False))
            found = labelled_sample(scores.tolist(), flags.tolist(), ["A"] * n)
            alarms += found is not None and found.is_selected
        return alarms / worlds

    design = f"{n_labels} of {n} items, {shares[-1]:.0%} of the scores are {values[-1]:g}"
    return Check("Labels wrongly called no random sample", design, 0.0, 0.05, run)


def false_informative(
    name: str, shares: Sequence[float], n: int, n_labels: int, failing: float, size: int = 1
) -> Check:
    """Failures that fall on any item, whatever its label; items in groups of `size` are alike."""

    def run(worlds: int, seed: int) -> float:
        random, alarms = np.random.default_rng(seed), 0
        for _ in range(worlds):
            people = random.choice(FIVE, p=shares, size=n)
            groups = (np.arange(n) // size).tolist()
            people = np.where(random.random(n) < 0.4, people[::size].repeat(size)[:n], people)
            scores = np.where(random.random(n) < failing, np.nan, people)
            labels = np.where(np.arange(n) < n_labels, people, np.nan)
            found = informative_failures(
                labels.tolist(), scores.tolist(), clusters=groups if size > 1 else None, limits=(1.0, 5.0)
            )
            alarms += (
                found is not None and found.difference.low is not None and not covers(found.difference, 0)
            )
        return alarms / worlds

    in_groups = f" in groups of {size}" if size > 1 else ""
    design = f"{name}, {n_labels} labels{in_groups}, {failing:.0%} fail at random"
    return Check("Failures wrongly called informative", design, 0.0, 0.05, run)


def selection_found() -> Check:
    """People labelled the items with higher scores 1.5 times as often."""

    def run(worlds: int, seed: int) -> float:
        random, found = np.random.default_rng(seed), 0
        for _ in range(worlds):
            scores = levels(random.normal(3.2, 1.1, 400))
            flags = random.random(400) < np.where(scores >= 4, 0.375, 0.25)
            made = labelled_sample(scores.tolist(), flags.tolist(), ["A"] * 400)
            found += made is not None and made.is_selected
        return found / worlds

    return Check(
        "Labels of higher scores found",
        "scores of 4 and 5 labelled 1.5 times as often, 400 items",
        0.5,
        1,
        run,
    )


# -- a regression on words and length beside the judge


def false_lead(name: str, *, is_informative: bool) -> Check:
    """A judge that knows no more than the words: how often it is said to beat the regression."""

    def run(worlds: int, seed: int) -> float:
        random, claims = np.random.default_rng(seed), 0
        for _ in range(worlds):
            people = random.choice(FIVE, p=MIDDLE, size=60)
            hint = people if is_informative else random.permutation(people)
            lengths = np.exp(4 + 0.4 * hint + random.normal(0, 0.4, 60)).astype(int)
            judge = random.permutation(people)
            items = [
                LabelledItem(f"i{k}", None, "A", ("a", "b"), None, "ok", float(judged), (), float(label))
                for k, (judged, label) in enumerate(zip(judge, people, strict=True))
            ]
            table = LabelledTable("q", "p", "m", "scores", None, ("ann",), tuple(items), 0, True, ())
            made = baseline_of(table, {f"i{k}": ("x" * int(lengths[k]),) for k in range(60)})
            claims += made is not None and made.lead.low is not None and made.lead.low > 0
        return claims / worlds

    return Check("The judge is said to beat words and length", name, 0.0, 0.05, run)


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
    *difference_beside_means("labels of any items", (1.2,), 60, "items"),
    *difference_beside_means("labels of both outputs", (1.5,), 60, "inputs"),
    *difference_beside_means("uncertain items 4 × as often", (1.2,), 60, "uncertain"),
    *difference_beside_means("panel of 3, labels of any items", (0.5, 1.5, 2.5), 80, "items"),
    *difference_beside_means("panel of 3, labels of both outputs", (0.5, 1.5, 2.5), 80, "inputs"),
    these_items("one group of 150 and 29 of 2 to 5", LARGE, 60),
    these_items("three groups of 100 and 40 of 2 to 5", [100] * 3 + [2, 3, 4, 5] * 10, 60),
    false_equivalence(100, 1),
    false_equivalence(120, 4),
    false_equivalence_of_many(20),
    equivalence_found(120),
    failures_cover("difference"),
    failures_cover("imputed"),
    failures_cover_weighted(),
    false_selection("300 items, 30 labels", 1, 30, is_by_system=False),
    false_selection("60 groups of 5, 60 labels", 5, 60, is_by_system=False),
    false_selection("240 items of A and 60 of B, 20 labels of each", 1, 40, is_by_system=True),
    false_selection_of_rare(300, 30, (1.0, 5.0), (0.05, 0.95)),
    false_selection_of_rare(200, 12, (1.0, 4.0, 5.0), (0.1, 0.2, 0.7)),
    selection_found(),
    false_informative("ceiling", CEILING, 300, 60, 0.1),
    false_informative("ceiling", CEILING, 300, 150, 0.04),
    false_informative("ceiling", CEILING, 300, 300, 0.1),
    false_informative("mid scale", MIDDLE, 300, 60, 0.1),
    false_informative("mid scale", MIDDLE, 300, 60, 0.1, size=5),
    false_informative("the two ends", (0.4, 0.1, 0.0, 0.1, 0.4), 300, 100, 0.1, size=5),
    false_informative("nearly all low", (0.5, 0.3, 0.1, 0.05, 0.05), 300, 200, 0.05),
    false_lead("shuffled scores, texts that say nothing, 60 labels", is_informative=False),
    false_lead("shuffled scores, lengths that go with the labels, 60 labels", is_informative=True),
    noise_found("item", 1.0),
    noise_found("judge", 0.25),
    noise_found("item × judge", 0.36),
    noise_found("sample", 0.64),
]

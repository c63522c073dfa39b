"""Whether probabilities can be believed: known values, independent implementations, and coverage by
simulation."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from adjudge.stats import Probabilities, probability_quality

Array = NDArray[np.float64]


def drawn(rng: Generator, n: int, bend: float = 1.0) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Probabilities, the true chances (the same where `bend` is 1), and outcomes."""
    p = np.round(rng.beta(1.2, 1.2, n), 2).clip(0.01, 0.99)
    chance = 1 / (1 + np.exp(-bend * np.log(p / (1 - p))))
    return p, chance, rng.random(n) < chance


def quality(p: Array, y: NDArray[np.bool_], groups: list[int] | None = None) -> Probabilities:
    return probability_quality(p.tolist(), [bool(event) for event in y], clusters=groups)


def test_the_two_parts_add_up_to_about_the_brier_score() -> None:
    p, _, y = drawn(default_rng(1), 2000, 0.5)
    found = quality(p, y)
    assert found.brier.value == pytest.approx(float(((p - y) ** 2).mean()))
    assert found.calibration.value is not None
    assert found.refinement.value is not None
    assert found.calibration.value + found.refinement.value == pytest.approx(found.brier.value, abs=1e-4)
    assert found.error.value == pytest.approx(math.sqrt(found.calibration.value))


def test_auroc_and_brier_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    p, _, y = drawn(default_rng(2), 300)
    found = quality(p, y)
    assert found.auroc.value == pytest.approx(metrics.roc_auc_score(y, p))
    assert found.brier.value == pytest.approx(metrics.brier_score_loss(y, p))


def test_chance_alone_makes_a_plain_error_and_no_debiased_one() -> None:
    plain, debiased, expected = [], [], []
    for seed in range(200):
        p, _, y = drawn(default_rng(seed), 100)
        found = quality(p, y)
        assert found.plain is not None
        assert found.by_chance is not None
        assert found.error.value is not None
        plain.append(found.plain)
        expected.append(found.by_chance)
        debiased.append(found.error.value)
    assert float(np.mean(plain)) > 0.1
    assert float(np.mean(plain)) == pytest.approx(float(np.mean(expected)), rel=0.1)
    assert float(np.mean(debiased)) < 0.05


def covered(bend: float, n: int, n_groups: int | None) -> Iterator[dict[str, bool]]:
    """For each simulation, which intervals hold the truth."""
    rng = default_rng(7)
    for _ in range(300):
        groups = None if n_groups is None else (np.arange(n) % n_groups).tolist()
        p, chance, y = drawn(rng, n, bend)
        if groups is not None:
            # Items of a group share a part of their luck.
            shared = rng.normal(size=n_groups)[groups] * math.sqrt(0.3) + rng.normal(size=n) * math.sqrt(0.7)
            y = np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in shared]) < chance
        found = quality(p, y, groups)
        places = np.searchsorted(np.unique(np.quantile(p, np.arange(1, 10) / 10)), p, side="right")
        sizes = np.bincount(places, minlength=10).clip(1)
        gaps = np.bincount(places, weights=p - chance, minlength=10) / sizes
        truth = {
            "error": math.sqrt(float((sizes / n * gaps**2).sum())),
            "brier": float(((p - chance) ** 2 + chance * (1 - chance)).mean()),
        }
        yield {
            name: estimate.low - 1e-9 <= truth[name] <= estimate.high
            for name, estimate in (("error", found.error), ("brier", found.brier))
            if estimate.low is not None and estimate.high is not None
        }


@pytest.mark.slow
@pytest.mark.parametrize(("bend", "n", "n_groups"), [(1.0, 200, None), (0.5, 200, None), (0.5, 400, 40)])
def test_intervals_cover_what_they_promise(bend: float, n: int, n_groups: int | None) -> None:
    rows = list(covered(bend, n, n_groups))
    for name in ("error", "brier"):
        share = sum(row[name] for row in rows) / len(rows)
        assert 0.92 <= share <= 0.985, (name, share)


def test_a_group_of_copies_counts_once() -> None:
    p, _, y = drawn(default_rng(3), 60, 0.5)
    single = quality(p, y, list(range(60)))
    copies = quality(np.repeat(p, 5), np.repeat(y, 5), np.repeat(np.arange(60), 5).tolist())
    for one, many in ((single.brier, copies.brier), (single.auroc, copies.auroc)):
        assert many.value == pytest.approx(one.value)
        assert many.low == pytest.approx(one.low, abs=0.02)


def test_the_risk_falls_with_the_coverage_where_certainty_is_right() -> None:
    p, _, y = drawn(default_rng(4), 1000)
    risks = quality(p, y).risk
    assert [risk.coverage for risk in risks] == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]
    values = [risk.risk.value for risk in risks]
    assert all(value is not None for value in values)
    assert values == sorted(values, key=lambda value: -(value or 0.0))


@pytest.mark.parametrize(
    ("levels", "coverages"),
    [((0.9,), [1.0]), ((0.9, 0.6), [1.0, 0.5]), ((0.9, 0.8, 0.7, 0.6), [1.0, 0.75, 0.5])],
)
def test_the_order_of_equally_certain_items_changes_no_risk(
    levels: tuple[float, ...], coverages: list[float]
) -> None:
    p, y = np.array(levels)[np.arange(100) % len(levels)], np.arange(100) < 80
    order = default_rng(6).permutation(100)
    found, shuffled = quality(p, y).risk, quality(p[order], y[order]).risk
    assert [one.coverage for one in found] == coverages
    assert [one.risk.value for one in found] == pytest.approx([one.risk.value for one in shuffled])


def test_few_labels_are_said_and_not_estimated() -> None:
    found = probability_quality([0.5] * 10, [True] * 10)
    assert found.error.value is None
    assert "fewer than 20" in found.error.reason


@pytest.mark.parametrize("p", [[0.5] * 40, [0.0] * 40, [0.0, 1.0] * 20])
def test_constant_and_extreme_probabilities_have_an_answer(p: list[float]) -> None:
    for y in ([True] * 40, [True, False] * 20):
        found = probability_quality(p, y)
        assert found.error.value is not None
        assert 0 <= found.error.value <= 1
        assert found.error.low is not None
        assert found.error.low <= found.error.value + 1e-9

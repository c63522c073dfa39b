"""Where noise comes from, against balanced analysis of variance and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.stats import Components, variance_components


def made(values: np.ndarray, **factors: list[int]) -> Components:
    """From items × answers."""
    n, k = values.shape
    found = variance_components(
        values.ravel().tolist(),
        np.repeat(np.arange(n), k).tolist(),
        {name: levels * n for name, levels in factors.items()},
    )
    assert found is not None
    return found


def variances(found: Components) -> dict[str, float]:
    return {part.name: part.variance for part in found.parts}


def test_repeated_samples_are_the_one_way_analysis_of_variance() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 1, (30, 1)) + rng.normal(0, 0.5, (30, 4))
    within = float(scores.var(axis=1, ddof=1).mean())
    between = float(scores.mean(axis=1).var(ddof=1)) - within / 4
    found = variances(made(scores))
    assert found == {"item": pytest.approx(between), "sample": pytest.approx(within)}


def test_raters_are_the_two_way_analysis_of_variance() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(0, 1, (40, 1)) + rng.normal(0, 0.7, 5) + rng.normal(0, 0.5, (40, 5))
    n, k = scores.shape
    residual = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    error = float((residual**2).sum()) / ((n - 1) * (k - 1))
    items = (k * float(scores.mean(axis=1).var(ddof=1)) - error) / k
    raters = (n * float(scores.mean(axis=0).var(ddof=1)) - error) / n
    found = variances(made(scores, rater=list(range(5))))
    assert found == {
        "item": pytest.approx(items), "rater": pytest.approx(raters), "sample": pytest.approx(error)
    }  # fmt: skip


def test_missing_answers_leave_the_variances_where_they_are() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(0, 1, (2000, 1)) + rng.normal(0, 0.5, (2000, 3))
    scores[rng.random(scores.shape) < 0.3] = np.nan
    found = variances(made(scores))
    assert found["item"] == pytest.approx(1, abs=0.1)
    assert found["sample"] == pytest.approx(0.25, abs=0.03)


def test_the_width_says_what_would_narrow_it() -> None:
    rng = np.random.default_rng(4)
    noisy = made(rng.normal(0, 0.1, (50, 1)) + rng.normal(0, 1, (50, 2)))
    varied = made(rng.normal(0, 1, (50, 1)) + rng.normal(0, 0.1, (50, 2)))
    now = noisy.half_width()
    assert noisy.half_width({"sample": 4}) < 0.8 * now
    assert noisy.half_width({"item": 100}) == pytest.approx(now / 2**0.5)
    assert varied.half_width({"sample": 20}) == pytest.approx(varied.half_width(), rel=0.02)


def test_the_shares_add_up_and_the_counts_multiply_to_the_answers() -> None:
    rng = np.random.default_rng(5)
    found = made(rng.normal(0, 1, (20, 6)), judge=[0, 0, 1, 1, 2, 2])
    assert sum(part.share for part in found.parts) == pytest.approx(1)
    assert np.prod(list(found.counts.values())) == pytest.approx(120)
    assert found.counts == {"item": 20, "judge": 3, "sample": 2}


def test_nothing_answered_twice_has_no_sources() -> None:
    assert variance_components([1.0, 2.0, 3.0], ["a", "b", "c"]) is None
    assert variance_components([], []) is None
    assert variance_components([2.0] * 6, ["a", "b", "c"] * 2) is None


def test_a_variance_that_is_estimated_below_zero_is_zero_and_marked() -> None:
    # The same differences of items for each rater, whose means are equal: less than chance would make them.
    rng = np.random.default_rng(4)
    scores = rng.normal(0, 1, (30, 3))
    scores -= scores.mean(axis=0)
    found = made(scores, rater=[0, 1, 2])
    rater = next(part for part in found.parts if part.name == "rater")
    assert (rater.variance, rater.is_below_zero) == (0.0, True)
    assert not next(part for part in found.parts if part.name == "sample").is_below_zero

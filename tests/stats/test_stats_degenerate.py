"""Whatever is given, an estimate is a finite number with its reasons, or none with its reason: never NaN."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.records import Estimate
from adjudge.stats import (
    alt_test,
    calibrate,
    calibration_error,
    choice_agreement,
    cohen_kappa,
    compare_judges,
    confidence_quality,
    corrected_share,
    correlate,
    exact_agreement,
    gwet,
    krippendorff_alpha,
    labels_needed,
    noise_ceiling,
    ppi_difference,
    ppi_mean,
    ppi_stratified,
    quadratic_kappa,
    retest,
    rogan_gladen,
    sign_flip,
    tie_calibration,
)
from thorough import tries

FIVE = [1.0, 2.0, 3.0, 4.0, 5.0]
VALUE = st.one_of(
    st.none(),
    st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, 0.0]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([math.nan, math.inf, 1e300, -1e300, 1e-300]),
)
LENGTH = st.integers(0, 9)


@st.composite
def columns(draw: Any, n_columns: int) -> list[list[float | None]]:
    """Columns of one length, with whatever a file may hold."""
    n = draw(LENGTH)
    return [draw(st.lists(VALUE, min_size=n, max_size=n)) for _ in range(n_columns)]


@st.composite
def tables(draw: Any) -> list[list[float | None]]:
    n, k = draw(LENGTH), draw(st.integers(1, 4))
    return [draw(st.lists(VALUE, min_size=k, max_size=k)) for _ in range(n)]


def check(value: Any) -> None:
    """Every number in it is finite, an interval is in order, and what is missing has a reason."""
    for part in estimates_in(value):
        numbers = [part.value, part.low, part.high]
        assert all(number is None or math.isfinite(number) for number in numbers), part
        assert (part.low is None) == (part.high is None), part
        if part.low is not None and part.high is not None:
            assert part.value is not None
            assert part.low <= part.high, part
        else:
            assert part.reason, part
        assert part.n >= 0
    # Text that JSON cannot hold would be an error here.
    assert b"NaN" not in msgspec.json.encode(value)


def estimates_in(value: Any) -> list[Estimate]:
    if isinstance(value, Estimate):
        return [value]
    if isinstance(value, msgspec.Struct):
        return [part for name in value.__struct_fields__ for part in estimates_in(getattr(value, name))]
    return []


@settings(max_examples=tries(60))
@given(columns(2), st.sampled_from(["pearson", "spearman", "kendall"]), st.sampled_from(["item", "group",
"system"]),
       st.sampled_from(["inputs", "systems", "both"]), st.booleans())  # fmt: skip
def test_correlations(pair: Any, kind: Any, level: Any, resample: Any, has_groups: bool) -> None:
    n = len(pair[0])
    groups = [i // 3 for i in range(n)] if has_groups else None
    systems = [i % 3 for i in range(n)] if has_groups else None
    check(
        correlate(
            pair[0], pair[1], kind, level, groups=groups, systems=systems, resample=resample, n_resamples=20
        )
    )


@settings(max_examples=tries(60))
@given(columns(2), st.booleans())
def test_agreement_of_two(pair: Any, is_clustered: bool) -> None:
    clusters = [i // 2 for i in range(len(pair[0]))] if is_clustered else None
    check(cohen_kappa(pair[0], pair[1], FIVE, clusters))
    check(quadratic_kappa(pair[0], pair[1], clusters))
    check(exact_agreement(pair[0], pair[1], clusters))
    words = [
        ["a", "b", "tie", None][int(value or 0) % 4 if value is not None and abs(value) < 9 else 3]
        for value in pair[0]
    ]
    check(choice_agreement(words, words[::-1], clusters))


@settings(max_examples=tries(80))
@given(tables())
def test_agreement_of_several(ratings: Any) -> None:
    for metric in ("nominal", "interval"):
        check(krippendorff_alpha(ratings, metric, n_resamples=20))  # type: ignore[arg-type]
    check(gwet(ratings, FIVE))
    check(gwet(ratings, [3.0]))
    check(retest(ratings))


@settings(max_examples=tries(60))
@given(tables(), st.data())
def test_a_judge_among_raters(ratings: Any, data: Any) -> None:
    judge = data.draw(st.lists(VALUE, min_size=len(ratings), max_size=len(ratings)))
    check(noise_ceiling(ratings, judge, n_resamples=20))
    check(noise_ceiling(ratings, None, "kendall", n_resamples=20))
    for closeness in ("equal", "near"):
        check(alt_test(judge, ratings, closeness, min_items=2))  # type: ignore[arg-type]


@settings(max_examples=tries(80))
@given(columns(4), st.booleans())
def test_corrections_by_labels(four: Any, is_clustered: bool) -> None:
    n = len(four[0])
    clusters = [i // 2 for i in range(n)] if is_clustered else None
    check(ppi_mean(four[0], four[1], clusters=clusters, limits=(1, 5)))
    check(ppi_mean(four[0], four[1], probabilities=four[2]))
    check(ppi_difference(*four, clusters=clusters))
    check(ppi_stratified(four[0], four[1], [i % 2 for i in range(n)]))
    check(labels_needed(four[0], four[1], 0.5))
    check(corrected_share(four[0], four[1]))
    for method in ("isotonic", "ordinal"):
        check(calibrate(four[0], four[1], method))  # type: ignore[arg-type]


@settings(max_examples=tries(80))
@given(columns(3), st.sampled_from(["item", "group", "system"]))
def test_two_judges(three: Any, level: Any) -> None:
    n = len(three[0])
    groups, systems = [i // 3 for i in range(n)], [i % 3 for i in range(n)]
    check(
        compare_judges(
            *three,
            "spearman",
            level,
            groups=groups,
            systems=systems,
            resample="both",
            n_resamples=20,
            n_permutations=10,
        )
    )
    check(sign_flip(three[0]))


@settings(max_examples=tries(60))
@given(columns(2), st.booleans())
def test_ties_and_confidence(pair: Any, has_groups: bool) -> None:
    check(tie_calibration(pair[0], pair[1], [i // 3 for i in range(len(pair[0]))] if has_groups else None))
    check(
        confidence_quality(
            pair[0], [None if value is None else bool(value) for value in pair[1]], n_resamples=20
        )
    )
    error = calibration_error(pair[0], pair[1])
    assert error is None or math.isfinite(error)


@given(*[st.integers(0, 30)] * 4, st.integers(0, 50), st.integers(0, 50))
def test_corrected_shares(
    right: int, wrong: int, right_too: int, wrong_too: int, passed: int, failed: int
) -> None:
    check(rogan_gladen(right, right + wrong, right_too, right_too + wrong_too, passed, passed + failed))


def test_one_rater_is_explained() -> None:
    alpha = krippendorff_alpha([[1.0], [2.0], [3.0]])
    assert (alpha.value, alpha.reason) == (None, "no item has two ratings")


def test_columns_of_different_lengths_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="lengths"):
        correlate([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="a place for every rater"):
        krippendorff_alpha([[1, 2], [1]])

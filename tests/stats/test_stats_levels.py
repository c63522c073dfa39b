"""Correlations at three levels and their resampling, against scipy, the shared vectors and real ratings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats as oracle

from adjudge import read_score
from adjudge.stats import correlate
from adjudge.stats.correlation import Kind, rank_rows, rows, weighted
from adjudge.stats.correlation_levels import pairs, replicates
from adjudge.stats.resample import draw_units, generator

KINDS: tuple[Kind, ...] = ("pearson", "spearman", "kendall")
ORACLES: dict[str, Callable[..., Any]] = {
    "pearson": oracle.pearsonr,
    "spearman": oracle.spearmanr,
    "kendall": oracle.kendalltau,
}


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    vectors = json.loads((shared / "vectors.json").read_text(encoding="utf-8"))
    assert isinstance(vectors, dict)
    return vectors


def long_form(table: list[list[float]]) -> tuple[list[float], list[int], list[int]]:
    """Inputs × systems as one column, with the input and the system of each value."""
    cells = [(value, i, j) for i, row in enumerate(table) for j, value in enumerate(row)]
    return [value for value, _, _ in cells], [i for _, i, _ in cells], [j for _, _, j in cells]


def made_up(
    n_inputs: int = 30, n_systems: int = 6, seed: int = 1
) -> tuple[list[float], list[float], list[int], list[int]]:
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, size=(n_inputs, n_systems)).astype(float)
    judge, groups, systems = long_form((human + rng.normal(0, 1.2, human.shape)).tolist())
    return judge, human.ravel().tolist(), groups, systems


@pytest.mark.parametrize("kind", KINDS)
def test_the_three_levels_of_the_shared_vector(vectors: dict[str, Any], kind: Kind) -> None:
    vector = vectors["correlation_levels"]
    human, groups, systems = long_form(vector["inputs"]["human"])
    judge, _, _ = long_form(vector["inputs"]["judge"])
    for level, name in (("item", "global"), ("group", "input"), ("system", "system")):
        correlation = correlate(judge, human, kind, level, groups=groups, systems=systems, n_resamples=50)  # type: ignore[arg-type]
        assert correlation.value == pytest.approx(vector["expected"][f"{name}_{kind}"], abs=1e-9)
        assert f"{level} level" in correlation.method


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_group_is_left_out_and_counted(vectors: dict[str, Any], kind: Kind) -> None:
    vector = vectors["correlation_input_level_constant_row"]
    human, groups, systems = long_form(vector["inputs"]["human"])
    judge, _, _ = long_form(vector["inputs"]["judge"])
    correlation = correlate(judge, human, kind, "group", groups=groups, systems=systems)
    assert correlation.value == pytest.approx(vector["expected"][f"input_{kind}"], abs=1e-9)
    assert (correlation.n, correlation.n_undefined) == (vector["expected"]["n_used"], 1)


def test_ties_are_those_of_the_shared_vectors(vectors: dict[str, Any]) -> None:
    inputs, expected = vectors["ties_pooled"]["inputs"], vectors["ties_pooled"]["expected"]
    values = {kind: correlate(inputs["judge"], inputs["human"], kind, n_resamples=50).value for kind in KINDS}
    assert values["kendall"] == pytest.approx(expected["tau_b"], abs=1e-9)
    assert values["kendall"] == pytest.approx(vectors["wmt_kendall_variants"]["expected"]["b"], abs=1e-9)
    assert values["spearman"] == pytest.approx(expected["spearman"], abs=1e-9)
    assert values["pearson"] == pytest.approx(expected["pearson"], abs=1e-9)


@pytest.mark.parametrize("unit", ["systems", "inputs", "both"])
def test_the_intervals_of_the_shared_vector(vectors: dict[str, Any], unit: Any) -> None:
    inputs, expected = vectors["deutsch_boot_perm"]["inputs"], vectors["deutsch_boot_perm"]["expected"]
    human, groups, systems = long_form(inputs["human"])
    judge, _, _ = long_form(inputs["judge1"])
    correlation = correlate(judge, human, "pearson", groups=groups, systems=systems, resample=unit)
    # Monte Carlo on both sides; the vector's own tolerance.
    assert [correlation.low, correlation.high] == pytest.approx(
        expected[f"boot_{unit}_global_pearson"], abs=0.05
    )
    assert "too few to generalise" in correlation.caution
    assert (
        correlation.unit
        == {"systems": "system (n=5)", "inputs": "group (n=6)", "both": "group (n=6) and system (n=5)"}[unit]
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_whole", [True, False])
def test_every_resample_has_the_correlation_that_scipy_gives_it(kind: Kind, is_whole: bool) -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(1, 6, 80).astype(float)
    x = y + rng.normal(0, 1, 80)
    x = np.round(x) if is_whole else x
    function = weighted(x, y, kind)
    assert function is not None
    counts = draw_units(rng, 80, 20)
    resampled = function(counts.copy())
    for column, value in zip(counts.T.astype(int), resampled, strict=True):
        picked = np.repeat(np.arange(80), column)
        assert value == pytest.approx(ORACLES[kind](x[picked], y[picked])[0], abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_short_rows_have_the_correlation_that_scipy_gives_them_with_gaps_left_out(kind: Kind) -> None:
    rng = np.random.default_rng(6)
    x, y = rng.integers(1, 5, (40, 7)).astype(float), rng.integers(1, 5, (40, 7)).astype(float)
    gaps = rng.random((40, 7)) < 0.2
    x[gaps] = y[gaps] = np.nan
    for a, b, value in zip(x, y, rows(x, y, kind), strict=True):
        a, b = a[~np.isnan(a)], b[~np.isnan(b)]
        if len(set(a)) < 2 or len(set(b)) < 2:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(ORACLES[kind](a, b)[0], abs=1e-12)


def test_ranks_are_scipys() -> None:
    x = np.random.default_rng(7).integers(0, 4, (9, 11)).astype(float)
    assert rank_rows(x).tolist() == oracle.rankdata(x, axis=1).tolist()


def test_the_bootstrap_interval_is_scipys_but_for_chance() -> None:
    judge, human, _, _ = made_up(50, 4)
    correlation = correlate(judge, human, n_resamples=4000)
    reference = oracle.bootstrap(
        (judge, human), lambda a, b: oracle.spearmanr(a, b)[0], paired=True, vectorized=False,
        n_resamples=1000, method="percentile", rng=np.random.default_rng(0),
    )  # fmt: skip
    assert [correlation.low, correlation.high] == pytest.approx(list(reference.confidence_interval), abs=0.02)


def test_drawing_from_cells_and_drawing_items_give_the_same_interval_but_for_chance() -> None:
    judge, human, _, _ = made_up(100, 4)
    whole = [float(round(value)) for value in judge]
    data = pairs(whole, human)
    cells = replicates(data, "spearman", "item", "inputs", 4000, 0)
    items = replicates(data, "spearman", "item", "inputs", 4000, 0, is_alone=False)
    assert cells is not None
    assert items is not None
    assert np.quantile(cells, [0.025, 0.975]) == pytest.approx(np.quantile(items, [0.025, 0.975]), abs=0.01)


def test_the_group_interval_over_inputs_is_the_t_interval_of_the_groups() -> None:
    judge, human, groups, systems = made_up()
    each = [
        oracle.spearmanr([judge[k] for k in members], [human[k] for k in members])[0]
        for members in ([k for k, group in enumerate(groups) if group == g] for g in range(30))
    ]
    correlation = correlate(judge, human, "spearman", "group", groups=groups, systems=systems)
    assert correlation.value == pytest.approx(np.mean(each))
    assert [correlation.low, correlation.high] == pytest.approx(
        oracle.t.interval(0.95, 29, np.mean(each), oracle.sem(each))
    )


def test_resampling_groups_is_wider_than_resampling_items_that_share_them() -> None:
    rng = np.random.default_rng(8)
    level = np.repeat(rng.normal(0, 1, 40), 10)
    judge, human = (level + rng.normal(0, 0.2, 400)).tolist(), (level + rng.normal(0, 0.2, 400)).tolist()
    groups = np.repeat(np.arange(40), 10).tolist()
    alone, shared_groups = correlate(judge, human), correlate(judge, human, groups=groups)
    assert alone.value == shared_groups.value
    assert alone.low is not None
    assert alone.high is not None
    assert shared_groups.low is not None
    assert shared_groups.high is not None
    assert shared_groups.high - shared_groups.low > 1.5 * (alone.high - alone.low)


def test_groups_without_systems_correlate_their_own_items() -> None:
    correlation = correlate(
        [1, 2, 3, 1, 3, 2], [1, 2, 3, 1, 2, 3], "spearman", "group", groups=[0, 0, 0, 1, 1, 1]
    )
    assert correlation.value == pytest.approx((1 + 0.5) / 2)
    refused = correlate([1, 2, 3, 1, 3, 2], [1, 2, 3, 1, 2, 3], groups=[0, 0, 0, 1, 1, 1], resample="systems")
    assert refused.reason == "there are not two systems to resample"


@pytest.mark.slow
def test_one_seed_gives_the_same_digits_whatever_the_number_of_threads() -> None:
    code = (
        "import numpy as np\nfrom adjudge.stats import correlate\nrng = np.random.default_rng(0)\n"
        "y = rng.normal(size=600); x = (y + rng.normal(size=600)).tolist(); y = y.tolist()\n"
        "for kind in ('pearson', 'spearman', 'kendall'):\n"
        "    e = correlate(x, y, kind, n_resamples=300, seed=3)\n    print(repr(e.low), repr(e.high), e.seed)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": n, "OMP_NUM_THREADS": n, "MKL_NUM_THREADS": n},
        ).stdout
        for n in ("1", "4")
    }  # fmt: skip
    assert len(printed) == 1
    assert printed.pop().count(" 3\n") == 3


def test_another_seed_gives_other_resamples() -> None:
    judge, human, _, _ = made_up()
    assert correlate(judge, human, seed=1).low != correlate(judge, human, seed=2).low
    assert generator(4).integers(0, 1 << 40) == generator(4).integers(0, 1 << 40)


@pytest.mark.parametrize(
    ("judge", "human", "level", "groups", "systems", "why"),
    [
        ([], [], "item", None, None, "fewer than two items were scored by both"),
        ([1.0, None], [2.0, 3.0], "item", None, None, "fewer than two items were scored by both"),
        ([2.0, 2.0, 2.0], [1.0, 2.0, 3.0], "item", None, None, "one side is constant"),
        ([1.0, 2.0], [1.0, 2.0], "group", None, None, "the items belong to no groups"),
        ([1.0, 2.0], [1.0, 2.0], "system", None, None, "there are not two systems"),
        ([1.0, 2.0], [1.0, 2.0], "group", ["x", "y"], None, "no group has items on which both sides differ"),
        ([1.0, 2.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0], "system", None, list("aabb"),
        "the systems' means are equal on one side"),
    ],
)  # fmt: skip
def test_what_cannot_be_correlated_says_why(
    judge: Any, human: Any, level: Any, groups: Any, systems: Any, why: str
) -> None:
    correlation = correlate(judge, human, "spearman", level, groups=groups, systems=systems)
    assert (correlation.value, correlation.low, correlation.high, correlation.reason) == (
        None,
        None,
        None,
        why,
    )


def test_a_perfect_correlation_claims_no_certainty() -> None:
    correlation = correlate([1, 2, 3, 4, 5], [2, 4, 6, 8, 10])
    assert (correlation.value, correlation.low) == (pytest.approx(1), None)
    assert correlation.reason == "all resamples give the same value"


@pytest.mark.parametrize(
    ("judge", "criterion"), [("gpt-4-0314", "relevance"), ("gpt-3.5-turbo-0301", "coherence")]
)
def test_real_summaries_correlate_as_scipy_says(
    real_rows: Callable[[str], list[dict[str, Any]]], judge: str, criterion: str
) -> None:
    items = {row["item_id"]: row for row in real_rows("summeval.items")}
    scores, human, groups = [], [], []
    for row in real_rows("summeval.judgments"):
        if (row["judge"], row["protocol"], row["dimension"]) == (judge, "rts", criterion):
            scores.append(read_score(row["responses"][0], 1, 5).value)
            human.append(items[row["item_id"]]["human"][criterion]["mean"])
            groups.append(items[row["item_id"]]["group_id"])
    read = [k for k, score in enumerate(scores) if score is not None]
    expected = oracle.spearmanr([scores[k] for k in read], [human[k] for k in read])[0]
    correlation = correlate(scores, human, groups=groups, n_resamples=50)  # type: ignore[arg-type]
    assert (correlation.value, correlation.n, correlation.n_undefined) == (
        pytest.approx(expected),
        len(read),
        len(scores) - len(read),
    )
    each = []
    for group in set(groups):
        members = [k for k in read if groups[k] == group]
        if len({scores[k] for k in members}) > 1 and len({human[k] for k in members}) > 1:
            each.append(oracle.spearmanr([scores[k] for k in members], [human[k] for k in members])[0])
    within = correlate(scores, human, "spearman", "group", groups=groups)  # type: ignore[arg-type]
    assert (within.value, within.n) == (pytest.approx(np.mean(each)), len(each))
    assert within.n + within.n_undefined == len(set(groups))


def test_real_replies_reproduce_the_published_correlations(
    shared: Path, real_rows: Callable[[str], list[dict[str, Any]]]
) -> None:
    expected = json.loads((shared / "data" / "EXPECTED.json").read_text(encoding="utf-8"))["topical_chat"]
    items = {row["item_id"]: row for row in real_rows("topical_chat.items")}
    by_cell: dict[str, list[tuple[float, float, str]]] = {}
    for row in real_rows("topical_chat.judgments"):
        scores = [score for score in row["recorded"] if score is not None]
        if scores:
            item = items[row["item_id"]]
            human = item["human"][row["dimension"]]["mean"]
            mean = sum(scores) / len(scores)
            by_cell.setdefault(f"{row['protocol']}/{row['dimension']}", []).append(
                (mean, human, item["group_id"])
            )
    assert set(by_cell) == set(expected)
    for cell, kept in by_cell.items():
        judge, human, groups = ([row[k] for row in kept] for k in range(3))
        coefficients = expected[cell]
        overall = correlate(judge, human, "pearson", n_resamples=20)  # type: ignore[arg-type]
        assert (overall.value, overall.n) == (
            pytest.approx(coefficients["dataset_pearson"], abs=1e-3),
            coefficients["n"],
        )
        for kind in KINDS:
            correlation = correlate(judge, human, kind, "group", groups=groups)  # type: ignore[arg-type]
            assert correlation.value == pytest.approx(coefficients[f"doc_{kind}"], abs=1e-3)
            assert correlation.n == coefficients["docs_used"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_noise_of_the_means_does_not_push_the_interval_over_systems_below_the_truth(kind: Kind) -> None:
    # The means of 20 systems, judged alike but for noise: percentiles of resamples covered one world in ten.
    covered = 0
    for world in range(20):
        rng = np.random.default_rng(world)
        quality = rng.normal(0, 0.3, 20)
        judge, people = (quality + rng.normal(0, 0.9, (40, 20)) for _ in range(2))
        found = correlate(
            judge.ravel().tolist(), people.ravel().tolist(), kind, "system",
            groups=np.repeat(np.arange(40), 20).tolist(), systems=np.tile(np.arange(20), 40).tolist(),
            n_resamples=300,
        )  # fmt: skip
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.value <= found.high
        covered += found.high >= 0.95
    assert covered >= 14

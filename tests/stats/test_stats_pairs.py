"""Strengths, win rates, order and length: against published vectors, other libraries, and what must hold
anyway."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from adjudge.stats import (
    Games,
    Position,
    PositionBias,
    any_time_mean,
    clustered_share,
    elo,
    equal_rates,
    games_of,
    length_controlled,
    next_games,
    position_bias,
    score_differences,
    strengths,
    tie_matrix,
    wilson,
    win_matrix,
)
from adjudge.stats.bradley_terry import fit_strengths
from adjudge.stats.connected import are_connected, components, has_tie_parameter, islands
from adjudge.stats.games import game_cells
from adjudge.stats.paired import games_from_scores
from adjudge.stats.resample import tail_of_few
from thorough import tries


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    return json.loads((shared / "vectors.json").read_text(encoding="utf-8"))


def counted(rows: Sequence[tuple[int, int, int, int, int]], k: int, with_ties: bool = True) -> Games:
    """Games from (first, second, won, lost, tied)."""
    first, second, share = [], [], []
    for i, j, won, lost, tied in rows:
        for n, value in ((won, 1.0), (lost, 0.0), (tied if with_ties else 0, 0.5)):
            first += [i] * n
            second += [j] * n
            share += [value] * n
    return games_of(first, second, share, k)


def of_vector(vectors: dict[str, Any], with_ties: bool = True) -> tuple[Games, dict[str, Any]]:
    vector = vectors["bradley_terry"]
    rows = [
        ("ABCD".index(x), "ABCD".index(y), *counts)
        for x, y, *counts in vector["inputs"]["pairs_x_y_win_loss_tie"]
    ]
    return counted(rows, 4, with_ties), vector["expected"]


# -- the vectors


def errors_from_first(games: Games) -> list[float]:
    """The standard errors of the differences from the first system, as HC0 gives them: without the factor for
    few clusters."""
    errors = strengths(games, n_resamples=0).standard_errors
    factor = math.sqrt(games.n_clusters / (games.n_clusters - 1))
    return [errors[0, i] / factor for i in range(1, games.n_systems)]


def test_bradley_terry_with_ties_as_half_wins(vectors: dict[str, Any]) -> None:
    games, expected = of_vector(vectors)
    fitted = strengths(games, ties="half", n_resamples=0)
    values = [strength.value for strength in fitted.sandwich]
    assert values == pytest.approx(expected["bt_halfties_logit_centered"], abs=1e-9)
    on_elo = [elo((value or 0.0) - (values[0] or 0.0)) for value in values]
    assert on_elo == pytest.approx(expected["bt_halfties_arena_elo_anchored_A_1000"], abs=1e-6)
    rates = win_matrix(games).sum(axis=1) / (win_matrix(games) + win_matrix(games).T).sum(axis=1)
    assert rates == pytest.approx(list(expected["evalica_average_win_rate"].values()), abs=1e-9)


def test_bradley_terry_without_ties(vectors: dict[str, Any]) -> None:
    games, expected = of_vector(vectors, with_ties=False)
    values = [strength.value for strength in strengths(games, n_resamples=0).sandwich]
    assert values == pytest.approx(expected["bt_noties_logit_centered"], abs=1e-9)
    assert values == pytest.approx(expected["choix_ilsr_noties"], abs=1e-6)
    assert errors_from_first(games) == pytest.approx(expected["bt_noties_se_HC0_B_C_D_vs_A"], abs=1e-9)


def test_davidsons_ties(vectors: dict[str, Any]) -> None:
    games, expected = of_vector(vectors)
    fitted = strengths(games, n_resamples=0)
    mle = expected["davidson_mle"]
    assert [strength.value for strength in fitted.sandwich] == pytest.approx(
        mle["log_strength_centered"], abs=1e-5
    )
    assert fitted.nu == pytest.approx(mle["nu"], abs=1e-5)
    assert fitted.model.startswith("Davidson")


def test_a_system_that_never_lost_has_no_strength_and_the_reason_says_so(vectors: dict[str, Any]) -> None:
    given = vectors["bradley_terry_separable"]["inputs"]
    games = counted([(0, 1, given["A_beats_B"], given["B_beats_A"], 0)], 2)
    fitted = strengths(games)
    assert [strength.value for strength in (*fitted.sandwich, *fitted.bootstrap, *fitted.elo)] == [None] * 6
    assert "never lost (5 games)" in fitted.sandwich[0].reason
    assert "never won (5 games)" in fitted.sandwich[1].reason
    assert (fitted.never_lost, fitted.never_won) == ((0,), (1,))
    assert fitted.rating[0] > 0 > fitted.rating[1]
    assert fitted.p_values[0, 1] == pytest.approx(2 * 0.5**5), "the games themselves can be tested"


def test_length_control(vectors: dict[str, Any]) -> None:
    vector = vectors["length_controlled_winrate"]
    x, win = vector["inputs"]["length_diff_std"], vector["inputs"]["win"]
    games = games_of([0] * len(win), [1] * len(win), win, 2)
    expected = vector["expected"]
    control = length_controlled(games, x)
    assert control.typical_difference is not None
    per_unit = (control.coefficient.value or 0.0) / control.typical_difference
    assert per_unit == pytest.approx(expected["length_coef"], abs=1e-6)
    assert control.win_rates[0].value == pytest.approx(expected["lc_winrate_at_zero_diff"], abs=1e-6)
    assert control.win_rates[1].value == pytest.approx(1 - expected["lc_winrate_at_zero_diff"], abs=1e-6)
    assert float(np.mean(win)) == pytest.approx(expected["raw_winrate"])
    # Another unit of length changes nothing but the coefficient.
    other = length_controlled(games, [100 * value for value in x])
    assert other.win_rates[0].value == pytest.approx(control.win_rates[0].value)


def test_position_bias(vectors: dict[str, Any]) -> None:
    given, expected = vectors["position_bias"]["inputs"], vectors["position_bias"]["expected"]
    place: dict[str, Any] = {"A": "first", "B": "second", "tie": "tie"}
    shown = [place[verdict] for verdict in given["verdict_order_AB"]]
    swapped = [place[verdict] for verdict in given["verdict_order_BA_by_position"]]
    bias = position_bias(shown, swapped)
    n = bias.n_pairs
    assert bias.agreement.value == pytest.approx(expected["consistency"])
    assert bias.first_both / n == pytest.approx(expected["first_biased"])
    assert bias.second_both / n == pytest.approx(expected["second_biased"])
    assert bias.other_conflicts / n == pytest.approx(expected["other_inconsistent"])
    assert bias.p == pytest.approx(expected["primacy_preference_p_binom"])


def test_the_interval_for_every_look(vectors: dict[str, Any]) -> None:
    vector = vectors["confidence_sequence"]
    for n in (50, 200):
        sequence = any_time_mean(vector["inputs"]["x"][:n])
        assert (sequence.low, sequence.high) == pytest.approx(
            vector["expected"][f"betting_t{n}"], abs=vector["tol"]
        )


# -- other libraries


def test_a_general_linear_model_gives_the_same_strengths_and_clustered_errors() -> None:
    rng = np.random.default_rng(5)
    k, n = 5, 400
    strength = rng.normal(0, 1, k)
    first = rng.integers(0, k, n)
    second = (first + rng.integers(1, k, n)) % k
    won = (rng.random(n) < 1 / (1 + np.exp(-(strength[first] - strength[second])))).astype(float)
    prompt = rng.integers(0, 60, n)
    design = np.zeros((n, k))
    design[np.arange(n), first] += 1
    design[np.arange(n), second] -= 1
    sm = pytest.importorskip("statsmodels.api", reason="an oracle: pip install adjudge[oracles]")
    model = sm.GLM(won, design[:, 1:], family=sm.families.Binomial())
    plain = model.fit()
    clustered = model.fit(cov_type="cluster", cov_kwds={"groups": prompt, "use_correction": False})
    games = games_of(first.tolist(), second.tolist(), won.tolist(), k, prompt.tolist())
    values = np.array([estimate.value for estimate in strengths(games, n_resamples=0).sandwich], dtype=float)
    assert values[1:] - values[0] == pytest.approx(plain.params, abs=1e-6)
    assert errors_from_first(games) == pytest.approx(clustered.bse, rel=1e-5)


def test_the_first_share_and_its_test_for_one_order_alone() -> None:
    bias = position_bias(["first"] * 9 + ["second"], [None] * 10)
    assert bias.agreement.value is None
    assert "both orders" in bias.agreement.reason
    assert bias.first_share.value == 0.9
    assert bias.n_one_order == 10
    assert bias.p == pytest.approx(2 * 11 / 2**10)


# -- what fell apart


def test_systems_that_never_met_are_named_as_sets() -> None:
    games = counted([(0, 1, 3, 2, 0), (2, 3, 4, 1, 0)], 4)
    fitted = strengths(games)
    assert fitted.islands == ((0, 1), (2, 3))
    assert all(strength.value is not None for strength in fitted.sandwich)
    assert all("0 is the mean of 2 systems alone" in strength.method for strength in fitted.sandwich)
    assert fitted.p_values[0, 2] is None
    assert (0, 1) in fitted.standard_errors
    assert (0, 2) not in fitted.standard_errors


def test_a_system_above_all_others_leaves_the_rest_their_strengths() -> None:
    games = counted([(0, 1, 5, 0, 0), (0, 2, 5, 0, 0), (1, 2, 3, 2, 0)], 3)
    fitted = strengths(games)
    assert fitted.components == ((0,), (1, 2))
    assert fitted.sandwich[0].value is None
    assert (fitted.sandwich[1].value or 0) == pytest.approx(math.log(3 / 2) / 2)
    assert fitted.rating[0] > fitted.rating[1] > fitted.rating[2]


def test_a_chain_without_a_way_back_says_so() -> None:
    games = counted([(0, 1, 2, 0, 0), (1, 2, 2, 0, 0)], 3)
    fitted = strengths(games)
    assert fitted.components == ((0,), (1,), (2,))
    assert "no chain of wins leads back" in fitted.sandwich[1].reason


def test_davidsons_model_gives_way_where_it_has_no_estimate() -> None:
    games = counted([(0, 1, 3, 0, 2)], 2)
    assert not has_tie_parameter(win_matrix(games), tie_matrix(games))
    fitted = strengths(games, n_resamples=50)
    assert fitted.nu is None
    assert fitted.sandwich[0].value == pytest.approx(math.log(4 / 1) / 2), "ties are half wins then"


def test_nothing_but_ties_is_equal_strength_without_an_interval() -> None:
    fitted = strengths(counted([(0, 1, 0, 0, 6)], 2))
    assert [strength.value for strength in fitted.sandwich] == pytest.approx([0.0, 0.0])
    assert fitted.sandwich[0].low is None
    assert "no variance" in fitted.sandwich[0].reason


def test_no_game_at_all() -> None:
    fitted = strengths(games_of([], [], [], 3))
    assert [strength.value for strength in fitted.sandwich] == [None] * 3
    assert "no games" in fitted.sandwich[0].reason


@pytest.mark.parametrize(
    ("rows", "has_one"),
    [
        ([(0, 1, 3, 1, 2)], True),
        ([(0, 1, 0, 0, 4)], False),
        ([(0, 1, 1, 0, 0), (1, 2, 1, 0, 0), (2, 0, 1, 0, 1)], True),
        ([(0, 1, 1, 0, 0), (1, 2, 1, 0, 0), (0, 2, 0, 0, 1)], True),
        ([(0, 1, 1, 0, 1), (1, 2, 0, 0, 1)], False),
    ],
)
def test_davidsons_model_has_an_estimate_if_and_only_if_newton_finds_one(
    rows: list[tuple[int, int, int, int, int]], has_one: bool
) -> None:
    games = counted(rows, 1 + max(max(row[:2]) for row in rows))
    won, ties = win_matrix(games), tie_matrix(games)
    assert has_tie_parameter(won, ties) == has_one
    if len(components(won)) == 1:
        assert bool(fit_strengths(won[None], np.array([ties.sum() / 2])).is_found[0]) == has_one


# -- what must hold


@st.composite
def some_games(draw: st.DrawFn) -> Games:
    k = draw(st.integers(2, 5))
    n = draw(st.integers(0, 25))
    first = draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    second = draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    share = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n, max_size=n))
    prompt = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    return games_of(first, second, share, k, prompt)


@settings(max_examples=tries(60))
@given(some_games())
def test_any_games_give_numbers_or_reasons(games: Games) -> None:
    fitted = strengths(games, n_resamples=20)
    for strength in (*fitted.sandwich, *fitted.bootstrap, *fitted.elo):
        if strength.value is None:
            assert strength.reason
        else:
            assert math.isfinite(strength.value)
            for end in (strength.low, strength.high):
                assert end is None or math.isfinite(end)
    assert all(math.isfinite(rating) for rating in fitted.rating)
    assert sorted(i for part in fitted.components for i in part) == list(range(games.n_systems))
    assert all(p is None or 0 <= p <= 1 for p in fitted.p_values.values())
    won = win_matrix(games)
    assert bool(are_connected(won[None])[0]) == (len(components(won)) == 1)
    assert len(islands(won)) <= len(components(won))
    for part in fitted.components:
        values = [fitted.sandwich[i].value for i in part]
        if len(part) > 1:
            assert sum(value or 0.0 for value in values) == pytest.approx(0, abs=1e-6)


@settings(max_examples=tries(40))
@given(some_games())
def test_who_is_named_first_changes_nothing(games: Games) -> None:
    turned = games_of(
        games.second.tolist(),
        games.first.tolist(),
        (1 - games.share).tolist(),
        games.n_systems,
        games.cluster.tolist(),
    )
    fitted, other = strengths(games, n_resamples=0), strengths(turned, n_resamples=0)
    assert [a.value for a in fitted.sandwich] == pytest.approx([a.value for a in other.sandwich], abs=1e-6)
    assert fitted.rating == pytest.approx(other.rating, abs=1e-6)


@settings(max_examples=tries(40))
@given(some_games())
def test_clusters_of_one_kind_are_counted_not_lost(games: Games) -> None:
    cells = game_cells(games)
    k = games.n_systems
    assert cells.sizes.sum() == games.n_clusters
    whole = cells.content @ cells.sizes
    assert whole[: k * k].reshape(k, k) == pytest.approx(win_matrix(games))
    assert whole[k * k] == games.is_tie.sum()


def test_the_same_game_twice_in_one_prompt_is_no_more_evidence() -> None:
    rng = np.random.default_rng(2)
    share = rng.choice([1.0, 0.0, 0.5], 60, p=[0.5, 0.3, 0.2]).tolist()
    once = strengths(games_of([0] * 60, [1] * 60, share, 2, list(range(60))))
    twice = strengths(games_of([0] * 120, [1] * 120, share * 2, 2, [*range(60), *range(60)]))
    assert (twice.sandwich[0].low, twice.sandwich[0].high) == pytest.approx(
        (once.sandwich[0].low, once.sandwich[0].high)
    )
    as_if_apart = strengths(games_of([0] * 120, [1] * 120, share * 2, 2))
    assert (as_if_apart.sandwich[0].low or 0) > (twice.sandwich[0].low or 0) + 0.01
    rates = [clustered_share(share * n, [*range(60)] * n) for n in (1, 2)]
    assert (rates[0].low, rates[0].high) == pytest.approx((rates[1].low, rates[1].high), abs=0.02)


def test_resamples_without_a_bound_are_counted_and_too_many_leave_no_interval() -> None:
    # The second system won once in n games: a resample lacks that game with probability (1 - 1/n)^n, about 36
    # %.
    few = strengths(games_of([0] * 30, [1] * 30, [0.0] + [1.0] * 29, 2), n_resamples=1000)
    for strength in few.bootstrap:
        assert strength.n_undefined == pytest.approx(1000 * (1 - 1 / 30) ** 30, abs=60)
        assert (strength.low, strength.high) == (None, None)
        assert strength.reason == f"{strength.n_undefined} of 1000 resamples have no bound"
    # Five of thirty: about four resamples in a thousand, less than lie beyond an end.
    some = strengths(games_of([0] * 30, [1] * 30, [0.0] * 5 + [1.0] * 25, 2), n_resamples=1000)
    for strength in some.bootstrap:
        assert 0 < strength.n_undefined < 25
        assert strength.low is not None
        assert strength.high is not None


def test_the_bootstrap_and_the_sandwich_agree_on_many_prompts() -> None:
    rng = np.random.default_rng(1)
    n = 3000
    first, second = rng.integers(0, 2, n), rng.integers(2, 4, n)
    share = (rng.random(n) < 0.6).astype(float)
    fitted = strengths(games_of(first.tolist(), second.tolist(), share.tolist(), 4), n_resamples=800)
    for strength, other in zip(fitted.sandwich, fitted.bootstrap, strict=True):
        assert (other.high or 0) - (other.low or 0) == pytest.approx(
            (strength.high or 0) - (strength.low or 0), rel=0.12
        )
    again = strengths(games_of(first.tolist(), second.tolist(), share.tolist(), 4), n_resamples=800)
    assert again == fitted, "the same seed gives the same digits"


def test_a_win_rate_of_independent_games_is_wilsons() -> None:
    assert clustered_share([1.0] * 7 + [0.0] * 3, list(range(10))).low == wilson(7, 10).low
    assert clustered_share([1.0] * 5, [0] * 5).low == wilson(1, 1).low, "one prompt is one observation"


def test_ties_narrow_a_win_rate_as_far_as_they_vary_less() -> None:
    without = clustered_share([1.0] * 50 + [0.0] * 50)
    with_ties = clustered_share([1.0] * 25 + [0.5] * 50 + [0.0] * 25)
    width, narrow = ((one.high or 1) - (one.low or 0) for one in (without, with_ties))
    # The variance is half as large, and two games without ties are added to it.
    assert narrow / width == pytest.approx(math.sqrt((12.5 + 0.5) / 102 / 0.25), rel=0.02)
    for n in (1, 5, 20):
        all_tied = clustered_share([0.5] * n)
        assert (all_tied.low or 0) < 0.5 < (all_tied.high or 1), "ties alone prove nothing"
    assert (clustered_share([1.0] * 30 + [0.5]).high or 0) <= 1


def test_few_prompts_that_agree_leave_a_wide_win_rate_and_a_caution() -> None:
    shares, prompts = [1.0] * 90 + [0.0] * 10, [number // 10 for number in range(100)]
    by_prompt, apart = clustered_share(shares, prompts), clustered_share(shares)
    assert by_prompt.value == apart.value == 0.9
    assert (by_prompt.low or 1) < (apart.low or 0) - 0.1
    assert "10 groups" in by_prompt.caution
    assert not apart.caution
    many = clustered_share(shares * 3, [number // 10 for number in range(300)])
    assert not many.caution


def test_a_bootstrap_of_few_prompts_reaches_as_far_as_t() -> None:
    assert tail_of_few(1_000_000) == pytest.approx(0.025, abs=1e-5)
    # scipy.stats.norm.cdf(-scipy.stats.t.ppf(0.975, 9) * sqrt(10 / 9))
    assert tail_of_few(10) == pytest.approx(0.00855, abs=1e-5)


def baseline_games(n_prompts: int, seed: int, gamma: float) -> tuple[Games, list[float], list[float]]:
    """Three systems against a fourth, on prompts whose difficulty goes with the difference of lengths."""
    rng = np.random.default_rng(seed)
    strength = np.array([0.0, -1.0, -2.0])
    hard = rng.normal(0, 1, (n_prompts, 1))
    lengths = 0.6 * hard - 0.6 + rng.normal(0, 0.6, (n_prompts, 3))
    logits = strength + hard + gamma * np.tanh(lengths / np.sqrt(np.mean(lengths**2)))
    won = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    prompts = np.repeat(np.arange(n_prompts), 3).tolist()
    games = games_of([0, 1, 2] * n_prompts, [3] * (3 * n_prompts), won.ravel().tolist(), 4, prompts)
    truth = [float(np.mean(1 / (1 + np.exp(-(own + rng.normal(0, 1, 200_000)))))) for own in strength]
    return games, (100 * lengths).ravel().tolist(), truth


def test_hard_prompts_are_not_taken_for_an_effect_of_length() -> None:
    games, lengths, truth = baseline_games(1500, 5, gamma=0.0)
    found = length_controlled(games, lengths)
    assert found.difficulty_sd == pytest.approx(1.0, abs=0.2)
    assert (found.coefficient.low or 1) < 0 < (found.coefficient.high or -1)
    apart = length_controlled(games._replace(cluster=np.arange(games.n)), lengths)
    assert apart.difficulty_sd is None, "one game of each prompt does not tell its difficulty"
    assert (apart.coefficient.low or 0) > 0.3, "difficulty looks like length"
    for rate, true in zip(found.win_rates, truth, strict=False):
        assert rate.value == pytest.approx(true, abs=0.05)
    assert found.win_rates[3].value == pytest.approx(
        1 - np.mean([rate.value for rate in found.win_rates[:3]])
    )


def test_length_is_found_beside_the_difficulty_whichever_system_is_named_first() -> None:
    games, lengths, truth = baseline_games(1500, 6, gamma=1.5)
    found = length_controlled(games, lengths)
    assert found.coefficient.value == pytest.approx(1.5, abs=0.4)
    for rate, true in zip(found.win_rates, truth, strict=False):
        assert rate.value == pytest.approx(true, abs=0.06)
    turned = games._replace(first=games.second, second=games.first, share=1 - games.share)
    other = length_controlled(turned, [-length for length in lengths])
    assert other.coefficient.value == pytest.approx(found.coefficient.value or 0, abs=1e-6)
    assert [rate.value for rate in other.win_rates] == pytest.approx([rate.value for rate in found.win_rates])


def test_length_that_explains_the_lead_takes_it_away() -> None:
    rng = np.random.default_rng(3)
    n = 2000
    longer = rng.normal(60, 80, n)
    won = (rng.random(n) < 1 / (1 + np.exp(-longer / 80))).astype(float)
    games = games_of([0] * n, [1] * n, won.tolist(), 2)
    control = length_controlled(games, longer.tolist())
    assert float(won.mean()) > 0.62
    low, high = control.win_rates[0].low or 0, control.win_rates[0].high or 1
    assert low < 0.5 < high
    assert (control.coefficient.low or 0) > 0
    assert control.differences[0] == pytest.approx(float(longer.mean()))


@pytest.mark.parametrize(
    ("lengths", "why"),
    [
        ([None] * 6, "no lengths"),
        ([0.0] * 6, "same length"),
        ([5.0, -5.0, 5.0, -5.0, 5.0, -5.0], "length decides"),
    ],
)
def test_length_that_cannot_be_controlled_for_says_why(lengths: list[float | None], why: str) -> None:
    games = games_of([0] * 6, [1] * 6, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0], 2)
    control = length_controlled(games, lengths)
    assert control.coefficient.value is None
    assert why in control.coefficient.reason
    assert [strength.value for strength in control.win_rates] == [None, None]


def test_length_that_goes_with_the_system_cannot_be_separated_from_it() -> None:
    rng = np.random.default_rng(4)
    won = (rng.random(200) < 0.7).astype(float).tolist()
    games = games_of([0] * 200, [1] * 200, won, 2)
    regular = length_controlled(games, (100 + rng.normal(0, 10, 200)).tolist())
    assert regular.win_rates[0].value is None
    assert "are confounded" in regular.win_rates[0].reason
    stretched = length_controlled(games, (100 + rng.normal(0, 50, 200)).tolist())
    assert "of the variation in length is between systems" in stretched.win_rates[0].method
    free = length_controlled(games, rng.normal(0, 50, 200).tolist())
    assert "between systems" not in free.win_rates[0].method


def test_scores_are_compared_input_by_input() -> None:
    base = [float(value) for value in range(40)]
    better = [value + 0.5 + 0.01 * (value % 3) for value in base]
    differences = score_differences([better, base, [None] * 40])
    by_pair = {(difference.first, difference.second): difference for difference in differences}
    close = by_pair[0, 1]
    assert close.difference.value == pytest.approx(0.51, abs=0.01)
    assert (close.p or 1) < 1e-6, "the spread of the inputs does not count"
    assert by_pair[0, 2].p is None
    few = score_differences([[3.0, 4.0, 5.0, 4.0], [2.0, 3.0, 4.0, 3.0]])[0]
    assert few.p == pytest.approx(2 / 2**4), "all sign flips are tried"


def test_intervals_of_all_pairs_hold_together() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(3, 1, (4, 30))
    found = score_differences(scores.tolist())
    assert len(found) == 6
    for one in found:
        apart = scores[one.first] - scores[one.second]
        # Bonferroni's t interval, by scipy.
        half = stats.t.ppf(1 - 0.025 / 6, 29) * stats.sem(apart)
        assert (one.difference.low, one.difference.high) == pytest.approx(
            (apart.mean() - half, apart.mean() + half)
        )
        assert one.p == pytest.approx(stats.ttest_rel(scores[one.first], scores[one.second]).pvalue)
    alone = score_differences(scores[:2].tolist())[0]
    interval = stats.ttest_rel(scores[0], scores[1]).confidence_interval()
    assert (alone.difference.low, alone.difference.high) == pytest.approx((interval.low, interval.high))


def test_systems_without_a_common_input_are_compared_by_welchs_test() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.normal(3, 1, 25).tolist(), rng.normal(3.5, 2, 40).tolist()
    found = score_differences([one, other], is_paired=False)[0]
    expected = stats.ttest_ind(one, other, equal_var=False)
    assert found.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval()
    assert (found.difference.low, found.difference.high) == pytest.approx((interval.low, interval.high))


def test_equal_failure_rates_are_tested_by_what_can_be_exchanged() -> None:
    failed = np.zeros((3, 100))
    failed[0, :10], failed[1, :20], failed[2, :36] = 1, 1, 1
    apart = [np.arange(100) + 100 * number for number in range(3)]
    found = equal_rates(failed.tolist(), [codes.tolist() for codes in apart])
    # Cochran, Mantel and Haenszel's statistic of one stratum is Pearson's times (n - 1) / n.
    table = [[10, 20, 36], [90, 80, 64]]
    assert found.statistic == pytest.approx(
        stats.chi2_contingency(table, correction=False).statistic * 299 / 300
    )
    assert found.p == pytest.approx(stats.chi2.sf(found.statistic, 2))
    rng = np.random.default_rng(2)
    crossed = (rng.random((3, 80)) < [[0.3], [0.35], [0.5]]).astype(float)
    same = equal_rates(crossed.tolist(), [list(range(80))] * 3)
    by_column, by_row = crossed.sum(axis=1), crossed.sum(axis=0)
    # Cochran's Q (1950).
    q = 3 * 2 * ((by_column - by_column.mean()) ** 2).sum() / (3 * by_row.sum() - (by_row**2).sum())
    assert same.statistic == pytest.approx(q)


def test_few_failures_are_tested_by_permutations() -> None:
    few = [[1.0] * 4 + [0.0] * 16, [0.0] * 20]
    codes = [list(range(20)), list(range(20, 40))]
    found = equal_rates(few, codes)
    # Fisher's exact test of 4 of 20 against 0 of 20.
    assert found.p == pytest.approx(stats.fisher_exact([[4, 16], [0, 20]]).pvalue, abs=0.04)
    assert equal_rates(few, codes) == found
    in_one_group = equal_rates([[1.0] * 20, [0.0] * 20], [[0] * 20, [1] * 20])
    assert in_one_group.p == 1.0, "one group of each system proves nothing"
    assert equal_rates([[0.0] * 5, [0.0] * 5], [list(range(5)), list(range(5, 10))]).p is None


def test_inputs_become_games_of_the_systems_that_share_them() -> None:
    games = games_from_scores([[3.0, 4.0, None], [3.0, 2.0, 5.0], [1.0, None, 5.0]])
    assert win_matrix(games).tolist() == [[0, 1.5, 1], [0.5, 0, 1.5], [0, 0.5, 0]]
    assert games.n_clusters == 3
    low_is_good = games_from_scores([[1.0, 1.0], [2.0, 1.0]], is_higher_better=False)
    assert win_matrix(low_is_good).tolist() == [[0, 1.5], [0.5, 0]]


# -- what to ask next


def test_what_never_met_is_asked_first() -> None:
    games = counted([(0, 1, 30, 20, 0), (2, 3, 30, 20, 0)], 4)
    rating = strengths(games, n_resamples=0).rating
    (pair,) = next_games(games, rating, 1)
    assert {pair[0] < 2, pair[1] < 2} == {True, False}, "a pair across the two sets"


def test_what_is_settled_is_not_asked_again() -> None:
    games = counted([(0, 1, 25, 25, 0), (0, 2, 48, 2, 0), (1, 2, 48, 2, 0)], 3)
    chosen = next_games(games, strengths(games, n_resamples=0).rating, 10)
    assert chosen.count((0, 1)) >= 9


def test_no_more_is_asked_than_there_is() -> None:
    games = counted([(0, 1, 5, 5, 0), (1, 2, 5, 5, 0)], 3)
    limits = [[0, 1, 0], [1, 0, 2], [0, 2, 0]]
    chosen = next_games(games, strengths(games, n_resamples=0).rating, 50, limits=limits)
    assert sorted(chosen) == [(0, 1), (1, 2), (1, 2)]


def test_repeated_looks_do_not_mislead() -> None:
    rng = np.random.default_rng(8)
    misled = at_fixed_size = 0
    for _ in range(100):
        x = rng.integers(0, 2, 300).astype(float)
        looks = range(20, 301, 20)
        sequences = [any_time_mean(x[:n].tolist()) for n in looks]
        misled += any(not (interval.low or 0) <= 0.5 <= (interval.high or 1) for interval in sequences)
        usual = [wilson(float(x[:n].sum()), n) for n in looks]
        at_fixed_size += any(not (interval.low or 0) <= 0.5 <= (interval.high or 1) for interval in usual)
    assert misled <= 5
    assert at_fixed_size >= 12, "the usual interval is, looked at 15 times"


@pytest.mark.parametrize(
    ("values", "why"), [([], "no value"), ([None], "no value"), ([0.5, 1.5], "between 0 and 1")]
)
def test_an_interval_for_every_look_that_cannot_be_given(values: list[float | None], why: str) -> None:
    sequence = any_time_mean(values)
    assert sequence.value is None
    assert why in sequence.reason


def of_counts(first: int, second: int, same: int) -> PositionBias:
    shown: list[Position | None] = [*["first"] * first, *["second"] * second, *["first"] * same]
    swapped: list[Position | None] = [*["first"] * first, *["second"] * second, *["second"] * same]
    return position_bias(shown, swapped)


def test_the_interval_of_the_first_share_and_the_test_of_position_bias_say_the_same() -> None:
    for first in range(41):
        for second in range(41 - first):
            bias = of_counts(first, second, 120)
            low, high = bias.first_share.low, bias.first_share.high
            assert low is not None
            assert high is not None
            assert low <= (bias.first_share.value or 0.0) <= high
            if bias.p is None or bias.p >= 0.05:
                assert low <= 0.5 <= high
            elif bias.p < 0.03:
                assert not low <= 0.5 <= high


def test_pairs_with_one_winner_do_not_widen_the_first_share() -> None:
    few, many = of_counts(32, 13, 50), of_counts(32, 13, 374)
    assert many.first_share.value == pytest.approx(438 / 838)
    widths = [(bias.first_share.high or 0.0) - (bias.first_share.low or 0.0) for bias in (few, many)]
    assert widths[1] < widths[0] / 3

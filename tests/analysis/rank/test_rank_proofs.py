"""Rankings of real judges' choices as published, and of simulated judges whose truth is known."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjudge as package
from adjudge.analysis.rank.games import Game
from adjudge.analysis.run_view.positions import position_of
from adjudge.records import Result
from adjudge.stats import games_of, position_bias, standard_error, strengths, token_preference
from adjudge.store import open_store
from running import adjudge, compare_folder, write_rows

Rows = Callable[[str], list[dict[str, Any]]]


# -- llmbar: the counts of each order, of both and of equal choices


@pytest.mark.parametrize(
    "variant", ["Vanilla", *(pytest.param(name, marks=pytest.mark.slow) for name in ("CoT", "Swap"))]
)
def test_llmbar_gives_the_published_counts(
    variant: str, real_rows: Rows, expected: dict[str, Any], tmp_path: Path
) -> None:
    items = {row["item_id"]: row for row in real_rows("llmbar.items")}
    right = {
        name: ("right", "wrong") if row["gold"] == "a" else ("wrong", "right") for name, row in items.items()
    }
    pairs = [
        {
            "id": name, "instruction": row["input"], "response_a": row["output_a"],
            "response_b": row["output_b"],
            "system_a": right[name][0], "system_b": right[name][1],
        }
        for name, row in items.items()
    ]  # fmt: skip
    replies: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in real_rows("llmbar.judgments"):
        if row["protocol"] == variant:
            replies[row["judge"]].append(
                {"item": row["item_id"], "order": row["order"], "text": row["responses"][0]}
            )
    models = {judge: write_rows(tmp_path / f"{judge}.jsonl", rows) for judge, rows in replies.items()}
    store, folder = tmp_path / "adjudge.db", compare_folder(tmp_path)
    path = write_rows(tmp_path / "pairs.jsonl", pairs)
    for judge, file in models.items():
        done = adjudge(
            "run", path, "-p", folder, "-m", f"replay:{file}", "--run", judge, "--store", store, "-q"
        )
        assert done.code == 0, done.err
        counts = _llmbar_counts(expected["llmbar"], judge, variant)
        ranking = adjudge("rank", judge, "--store", store, "--json").json
        right_one = next(entry for entry in ranking["systems"] if entry["system"] == "right")
        n, by_order = ranking["order"]["n_pairs"], _choices(store, judge)
        unread = [name for name, choices in by_order.items() if None in choices.values()]
        # The published count takes two replies that say nothing for equal; here they are failures.
        said_nothing = sum(not any(by_order[name].values()) for name in unread)
        assert n + len(unread) == counts["n"] == len(by_order) == 419
        assert ranking["n_failed"] == len(unread)
        equal = round(ranking["order"]["agreement"]["value"] * n)
        assert equal + said_nothing == counts["equal"]
        assert right_one["counts"]["won"] == counts["correct_both"]
        assert right_one["counts"]["tied"] == n - equal
        for order, name in (("ab", "correct_False"), ("ba", "correct_True")):
            assert (
                sum(item_choices[order] == items[item]["gold"] for item, item_choices in by_order.items())
                == counts[name]
            )


def _choices(store: Path, run: str) -> dict[str, dict[str, str | None]]:
    """By item and order what was read."""
    choices_by_item: dict[str, dict[str, str | None]] = defaultdict(dict)
    with open_store(store, write=False) as opened:
        for place in opened.judgments(opened.run(run)):
            assert place.item is not None
            assert place.judgment is not None
            choices_by_item[place.item.id][place.about.order] = place.judgment.choice
    return choices_by_item


def _llmbar_counts(figures: list[dict[str, Any]], judge: str, variant: str) -> Counter[str]:
    """The published counts, added up over the parts of the set."""
    counts: Counter[str] = Counter()
    for row in figures:
        if (row["judge"], row["protocol"]) == (judge, variant):
            for name in ("correct_False", "correct_True", "correct_both", "equal"):
                counts[name] += int(row[name].split(" / ")[0])
            counts["n"] += int(row["equal"].split(" / ")[1].split(" ")[0])
    return counts


# -- autoj: agreement and consistency from recorded choices


def test_autoj_is_as_consistent_as_published(real_rows: Rows, expected: dict[str, Any]) -> None:
    gold = {row["item_id"]: row["gold"] for row in real_rows("autoj_pairwise.items")}
    orders: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in real_rows("autoj_pairwise.judgments"):
        orders[row["item_id"]][row["order"]] = row["recorded"]
    shown = [position_of(choices["ab"], "ab") for choices in orders.values()]
    swapped = [position_of(choices["ba"], "ba") for choices in orders.values()]
    bias = position_bias(shown, swapped)
    assert round(100 * (bias.agreement.value or 0), 2) == expected["autoj"]["consistency"]
    results = [
        Result(
            item=name, protocol="p@1", criterion="overall", model="autoj-13b", status="ok",
            choice=choices["ab"] if choices["ab"] == choices["ba"] else "tie", system_a="first",
            system_b="second",
            flags=() if choices["ab"] == choices["ba"] else ("order_conflict",),
        )
        for name, choices in orders.items()
    ]  # fmt: skip
    ranking = package.rank(results, n_resamples=100)
    agreed = [name for name, choices in orders.items() if choices["ab"] == choices["ba"]]
    assert ranking.n_games == len(gold)
    both = sum(orders[name]["ab"] == gold[name] for name in agreed)
    assert round(100 * both / len(gold), 2) == expected["autoj"]["agreement_both"]
    single = sum(choices["ab"] == gold[name] for name, choices in orders.items())
    assert round(100 * single / len(gold), 2) == expected["autoj"]["agreement_single"]
    counts = {entry.system: entry.counts for entry in ranking.systems}
    assert counts["first"].won == sum(orders[name]["ab"] == "a" for name in agreed)


# -- alpacaeval: win rates by the probability of the choice


def test_alpacaeval_gives_the_published_weighted_win_rates(real_rows: Rows, expected: dict[str, Any]) -> None:
    games: dict[str, list[Game]] = defaultdict(list)
    for row in real_rows("alpacaeval2.judgments"):
        share = 0.5  # equal outputs were not judged
        if row["top_logprobs"] is not None:
            # Of the two names, m was given to the response shown first.
            preference = token_preference(
                [(token, logprob) for token, logprob in row["top_logprobs"]], "m", "M"
            )
            assert preference is not None
            share = preference.share if row["order_inferred"] == "ba" else 1 - preference.share
        games[row["system"]].append(Game(row["system"], row["baseline"], share, None, row["item_id"]))
    for system, figures in expected["alpacaeval2"].items():
        shares = [game.share for game in games[system]]
        precision = standard_error(shares)
        assert precision is not None
        assert 100 * float(np.mean(shares)) == pytest.approx(figures["win_rate"], abs=1e-4)
        assert 100 * precision.se == pytest.approx(figures["standard_error"], abs=1e-4)
    ranking = package.rank([game for prompt_games in games.values() for game in prompt_games], n_resamples=50)
    rates = {entry.system: entry.win_rate.value for entry in ranking.systems}
    for system, figures in expected["alpacaeval2"].items():
        assert 100 * (rates[system] or 0) == pytest.approx(figures["win_rate"], abs=1e-4)
    order = [entry.system for entry in ranking.systems]
    assert order == ["gpt4_1106_preview", "claude-2", "Qwen-14B-Chat", "alpaca-7b"]


@pytest.mark.parametrize(("is_weighted", "most"), [(True, 1.0), (False, 2.0)])
def test_alpacaeval_gives_the_published_win_rates_at_equal_length(
    is_weighted: bool, most: float, real_rows: Rows
) -> None:
    # `length_controlled_winrate` of the public leaderboard, whose difficulties rest on all of its systems.
    published = {"alpaca-7b": 5.875, "claude-2": 28.155, "Qwen-14B-Chat": 12.379}
    games = []
    for row in real_rows("alpacaeval2.judgments"):
        share = 0.5
        if row["top_logprobs"] is not None:
            found = token_preference([(token, logprob) for token, logprob in row["top_logprobs"]], "m", "M")
            assert found is not None
            share = found.share if row["order_inferred"] == "ba" else 1 - found.share
        if not is_weighted and share != 0.5:
            share = float(share > 0.5)
        apart = row["len_system"] - row["len_baseline"]
        games.append(Game(row["system"], row["baseline"], share, None, row["item_id"], apart))
    ranking = package.rank(games, n_resamples=50)
    assert ranking.length is not None
    assert ranking.length.difficulty_sd is not None
    away = {}
    for standing in ranking.systems:
        if standing.system in published:
            rate = standing.length_controlled
            assert rate is not None
            assert rate.low is not None
            assert rate.high is not None
            assert rate.low < published[standing.system] / 100 < rate.high
            away[standing.system] = abs(100 * (rate.value or 0) - published[standing.system])
    assert sum(away.values()) / 3 < most


# -- a simulated judge with a known bias for the first place


STRENGTHS = np.array([0.8, 0.2, -0.1, -0.9])
BIAS = 0.6


def simulated(rng: np.random.Generator, n_prompts: int, order: str) -> Any:
    """The games of all pairs, settled from both orders, or with the first system always shown first.

    In one order the first place wins with odds exp(d + bias). Both orders agree on a with odds exp(2 d) to
    agreeing on b, whatever the bias, and disagree in a constant relation to both: that is Davidson's model
    with strengths twice as large.
    """
    first, second, share, prompt = [], [], [], []
    for i in range(len(STRENGTHS)):
        for j in range(i + 1, len(STRENGTHS)):
            d = STRENGTHS[i] - STRENGTHS[j]
            shown = rng.random(n_prompts) < 1 / (1 + math.exp(-(d + BIAS)))
            swapped = rng.random(n_prompts) < 1 / (1 + math.exp(-(d - BIAS)))
            both = np.where(shown & swapped, 1.0, np.where(~shown & ~swapped, 0.0, 0.5))
            first += [i] * n_prompts
            second += [j] * n_prompts
            share += (both if order == "both" else shown.astype(float)).tolist()
            prompt += [(i, j, k) for k in range(n_prompts)]
    return games_of(first, second, share, len(STRENGTHS), prompt)


def coverage(order: str, n_runs: int, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = (2 if order == "both" else 1) * (STRENGTHS - STRENGTHS.mean())
    hits = np.zeros(len(truth))
    for _ in range(n_runs):
        fit = strengths(simulated(rng, 40, order), n_resamples=0)
        hits += [
            (strength.low or 0) <= true <= (strength.high or 0)
            for strength, true in zip(fit.sandwich, truth, strict=True)
        ]
    return hits / n_runs


@pytest.mark.slow
def test_both_orders_recover_the_strengths_within_the_interval() -> None:
    share = float(coverage("both", 400).mean())
    assert 0.93 <= share <= 0.97


def test_a_given_order_does_not() -> None:
    assert float(coverage("given", 100).mean()) < 0.8


@pytest.mark.slow
def test_each_strength_is_recovered_in_93_to_97_percent_of_many_runs() -> None:
    shares = coverage("both", 3000, seed=1)
    assert shares.min() >= 0.93
    assert shares.max() <= 0.97


def test_the_tie_parameter_is_what_the_bias_makes_it() -> None:
    fit = strengths(simulated(np.random.default_rng(4), 6000, "both"), n_resamples=0)
    assert fit.nu == pytest.approx(2 * math.cosh(BIAS), rel=0.05)

"""`adjudge rank` from the outputs of systems to a table, on recorded replies."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

import adjudge as package
from running import EXAMPLES, Outcome, adjudge, read_rows, write_rows

Row = dict[str, Any]
STRENGTHS = {"oak": 1.2, "elm": 0.2, "fir": 0.0, "yew": -1.4}


def outputs(folder: Path, n: int = 12) -> list[Path]:
    rng = random.Random(7)
    return [
        write_rows(
            folder / f"{system}.jsonl",
            (
                {
                    "id": f"q{k}",
                    "instruction": f"Question {k}?",
                    "response": f"{system}: " + "word " * rng.randint(2, 14 if system == "elm" else 8),
                }
                for k in range(n)
            ),
        )
        for system in STRENGTHS
    ]


def reply(row: Row, order: str, rng: random.Random, bias: float, latent: float) -> Row:
    """An invented judge that knows the strengths, and favours the response shown first by `bias`."""
    lead = STRENGTHS[row["system_a"]] - STRENGTHS[row["system_b"]] + latent
    lead += (bias if order == "ab" else -bias) + rng.gauss(0, 0.3)
    is_first = (lead > 0) == (order == "ab")
    likely = 1 / (1 + math.exp(-2 * abs(lead)))
    letter, other = ("A", "B") if is_first else ("B", "A")
    tokens = [
        {"token": "So.", "logprob": 0.0},
        {"token": " [RESULT]", "logprob": 0.0},
        {
            "token": f" {letter}",
            "logprob": math.log(likely),
            "top_logprobs": [
                {"token": f" {letter}", "logprob": math.log(likely)},
                {"token": f" {other}", "logprob": math.log(1 - likely)},
            ],
        },
    ]
    return {"item": row["id"], "order": order, "text": f"So. [RESULT] {letter}", "logprobs": tokens}


def judge(folder: Path, pairs: Path, *flags: str, bias: float = 0.4, with_tokens: bool = False) -> Path:
    """Run the pairs by the invented judge; the store."""
    rng, rows = random.Random(3), []
    for row in read_rows(pairs):
        latent = rng.gauss(0, 0.8)
        for order in ("ab", "ba"):
            answer = reply(row, order, rng, bias, latent)
            rows.append(
                answer if with_tokens else {key: value for key, value in answer.items() if key != "logprobs"}
            )
    replies = write_rows(folder / "replies.jsonl", rows)
    store = folder / "adjudge.db"
    done = adjudge(
        "run", pairs, "-p", "prometheus/pairwise", "--rubric", EXAMPLES / "tact.toml", "-m",
        f"replay:{replies}", "-q",
        "--store", store, *flags,
    )  # fmt: skip
    assert done.code == 0, done.err
    return store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    pairs = tmp_path / "pairs.jsonl"
    assert adjudge("pair", *outputs(tmp_path), "-o", pairs).code == 0
    return judge(tmp_path, pairs, with_tokens=True)


def ranked(store: Path, *flags: str | Path) -> Outcome:
    done = adjudge("rank", "last", "--store", store, *flags)
    assert done.code == 0, done.err
    return done


def test_from_outputs_to_a_ranking(store: Path) -> None:
    ranking = ranked(store, "--json").json
    names = [entry["system"] for entry in ranking["systems"]]
    assert names[0] == "oak"
    assert names[-1] == "yew"
    for row in ranking["systems"]:
        for estimate in (row["win_rate"], row["strength"], row["elo"]):
            assert {"value", "low", "high", "n", "n_failed", "method", "unit"} <= set(estimate)
            assert estimate["low"] <= estimate["value"] <= estimate["high"]
        # Of twelve prompts some resamples have a system that never won: too many of them for an interval.
        assert row["strength_bootstrap"]["n_undefined"] > 25
        assert row["strength_bootstrap"]["high"] is None
        assert row["win_rate"]["n"] == 36
        assert 1 <= row["places"][0] <= row["place"] <= row["places"][1] <= 4
        assert row["strength"]["unit"] == "group (n=12)"
    strengths = [entry["strength"]["value"] for entry in ranking["systems"]]
    assert strengths == sorted(strengths, reverse=True)
    assert sum(strengths) == pytest.approx(0, abs=1e-6)
    assert ranking["order"]["agreement"]["n"] == 72
    assert 0.5 < ranking["order"]["first_share"]["value"] < 0.75
    assert ranking["order"]["first_both"] > ranking["order"]["second_both"]
    assert ranking["n_games"] == 72
    assert len(ranking["differences"]) == 6
    assert set(ranking["matrix"]["oak"]) == {"elm", "fir", "yew"}
    assert ranking["criteria"]["tact"]["systems"] == ranking["systems"]


def test_lengths_come_from_the_items(store: Path) -> None:
    ranking = ranked(store, "--json").json
    by_name = {entry["system"]: entry for entry in ranking["systems"]}
    assert by_name["elm"]["length_difference"] > 0
    assert by_name["elm"]["length_controlled"]["n"] == 36
    assert ranking["length"]["typical_difference"] > 0


def test_win_rates_are_weighted_where_there_are_log_probabilities(store: Path) -> None:
    pairs = {row["id"]: row for row in read_rows(store.parent / "pairs.jsonl")}
    likely: dict[str, list[float]] = {system: [] for system in STRENGTHS}
    for row in read_rows(store.parent / "replies.jsonl"):
        token = row["logprobs"][-1]
        is_a = (token["token"] == " A") == (row["order"] == "ab")
        a = math.exp(token["logprob"]) if is_a else 1 - math.exp(token["logprob"])
        likely[pairs[row["item"]]["system_a"]].append(a)
        likely[pairs[row["item"]]["system_b"]].append(1 - a)
    for entry in ranked(store, "--json").json["systems"]:
        weighted, expected = entry["weighted"], likely[entry["system"]]
        assert weighted["value"] == pytest.approx(sum(expected) / len(expected), abs=1e-9)
        assert weighted["n"] == 36
        assert weighted["n_undefined"] == 0
        assert weighted["low"] < weighted["value"] < weighted["high"]


def test_without_log_probabilities_there_is_no_weighted_win_rate(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    adjudge("pair", *outputs(tmp_path), "-o", pairs)
    ranking = ranked(judge(tmp_path, pairs), "--json").json
    assert {entry["weighted"] for entry in ranking["systems"]} == {None}


def test_the_table_says_the_same_as_the_json(store: Path) -> None:
    text, ranking = ranked(store, "--full").out, ranked(store, "--json").json
    first = ranking["systems"][0]
    strength, rate = first["strength"], first["win_rate"]
    assert f"{strength['value']:.2f} [{strength['low']:.2f}, {strength['high']:.2f}]" in text
    assert f"{rate['value'] * 100:.0f} %" in text
    assert all(note in text for note in ranking["notes"])
    assert ranked(store, "--markdown").out.count("\n| oak | ") > 0


def test_the_same_seed_gives_the_same_digits(store: Path) -> None:
    first, again, other = (ranked(store, "--json", "--seed", seed).out for seed in ("1", "1", "2"))
    assert first == again
    assert first != other


def test_a_panel_shows_each_judge_beside_the_vote(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    adjudge("pair", *outputs(tmp_path), "-o", pairs)
    judge(tmp_path, pairs)
    stuck = write_rows(
        tmp_path / "stuck.jsonl",
        (
            {"item": row["id"], "order": order, "text": "So. [RESULT] A"}
            for row in read_rows(pairs)
            for order in ("ab", "ba")
        ),
    )
    store = judge(tmp_path, pairs, "-m", f"replay:{stuck}", "--run", "panel")
    ranking = ranked(store, "--json").json
    first, second = (
        ranking["order_by_model"][f"replay:{tmp_path / name}.jsonl"] for name in ("replies", "stuck")
    )
    assert second["agreement"]["value"] == 0
    assert second["first_share"]["value"] == 1
    assert second["first_both"] == second["n_pairs"] == 72
    assert first["agreement"]["value"] > 0.6
    assert ranking["order"]["n_pairs"] == 144
    rates = ranking["by_model"][f"replay:{stuck}"]
    assert {rate["value"] for rate in rates.values()} == {0.5}, (
        "all of its choices are order conflicts, so ties"
    )
    assert ranking["systems"][0]["system"] == "oak", "the other judge decides"


def test_one_order_is_noted_as_unfair(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    adjudge("pair", *outputs(tmp_path), "-o", pairs)
    store = judge(tmp_path, pairs, "--order", "given", bias=1.5)
    ranking = ranked(store, "--json").json
    assert ranking["order"]["agreement"]["value"] is None
    assert ranking["order"]["first_share"]["value"] > 0.6
    assert ranking["order"]["p"] < 0.05
    assert any("--order both" in note for note in ranking["notes"])


def test_next_proposes_pairs_that_a_run_can_take_up(tmp_path: Path) -> None:
    files, pairs, more = outputs(tmp_path), tmp_path / "pairs.jsonl", tmp_path / "more.jsonl"
    adjudge("pair", *files, "--design", "random", "--per-item", "2", "-o", pairs)
    store = judge(tmp_path, pairs)
    flags = [part for file in files for part in ("--outputs", file)]
    done = ranked(store, "--next", "5", *flags, "-o", more, "--json")
    rows = read_rows(more)
    assert len(rows) == len(done.json["next"]) == 5
    known = {row["id"] for row in read_rows(pairs)}
    assert not known & {row["id"] for row in rows}, "nothing is asked twice"
    for row in rows:
        assert row["response_a"].startswith(f"{row['system_a']}: ")
        assert row["response_b"].startswith(f"{row['system_b']}: ")
        assert row["instruction"] == f"Question {row['group'][1:]}?"
    again = judge(tmp_path, more, "--run", "more")
    assert ranked(again, "--json").json["run"] == "more"


def test_next_without_outputs_names_the_systems_alone(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    adjudge("pair", *outputs(tmp_path), "-o", pairs)
    store = judge(tmp_path, pairs)
    proposals = ranked(store, "--next", "3", "--json").json["next"]
    assert [proposal["group"] for proposal in proposals] == [None] * 3


def test_direct_scores_rank_too(tmp_path: Path) -> None:
    items, replies = [], []
    for k in range(10):
        for system, score in (("oak", 4 + k % 2), ("yew", 2 + k % 2)):
            items.append(
                {
                    "id": f"{system}{k}",
                    "group": f"g{k}",
                    "system": system,
                    "instruction": "I",
                    "response": "r",
                }
            )
            replies.append({"item": f"{system}{k}", "text": f"So. [RESULT] {score}"})
    store = tmp_path / "adjudge.db"
    adjudge(
        "run", write_rows(tmp_path / "items.jsonl", items), "-p", "prometheus/direct", "--rubric",
        EXAMPLES / "tact.toml",
        "-m", f"replay:{write_rows(tmp_path / 'r.jsonl', replies)}", "-q", "--store", store,
    )  # fmt: skip
    ranking = ranked(store, "--json").json
    assert [entry["system"] for entry in ranking["systems"]] == ["oak", "yew"]
    assert ranking["systems"][0]["mean"]["value"] == 4.5
    assert ranking["systems"][0]["win_rate"]["value"] == 1.0
    assert ranking["systems"][0]["strength"]["value"] is None
    assert ranking["never_lost"] == ["oak"]
    (pair,) = ranking["differences"]
    assert pair["difference"]["value"] == 2.0
    assert pair["p_adjusted"] == pytest.approx(2 / 2**10)
    assert not pair["is_open"]


def test_several_criteria_come_with_the_choice_first(tmp_path: Path) -> None:
    store = tmp_path / "adjudge.db"
    adjudge(
        "run", EXAMPLES / "advice.jsonl", "-p", "geval/compare", "-m",
        f"replay:{EXAMPLES / 'advice.replies.jsonl'}", "-q",
        "--store", store,
    )  # fmt: skip
    ranking = ranked(store, "--json").json
    assert next(iter(ranking["criteria"])) == "overall"
    assert ranking["kind"] == "choices"
    assert {"overall", "overall (scores)", "accuracy", "clarity"} <= set(ranking["criteria"])
    assert "agreement" in ranking["order"]
    by_clarity = ranked(store, "--criterion", "clarity", "--json").json
    assert list(by_clarity["criteria"]) == ["clarity"]
    bad = adjudge("rank", "last", "--store", store, "--criterion", "clarty")
    assert bad.code == 2
    assert "'clarity'" in bad.err


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--ties", "ignore"], "davidson"),
        (["-o", "x.jsonl"], "--next K"),
        (["--store", "nowhere.db"], "nowhere.db"),
    ],
)
def test_a_mistake_exits_2_and_is_named(flags: list[str], named: str, store: Path) -> None:
    done = adjudge("rank", "last", "--store", store, *flags)
    assert done.code == 2
    assert named in done.err


def test_one_system_cannot_be_ranked(tmp_path: Path) -> None:
    store = tmp_path / "adjudge.db"
    items = write_rows(tmp_path / "items.jsonl", [{"id": "1", "instruction": "I", "response": "r"}])
    adjudge(
        "run", items, "-p", "prometheus/direct", "--rubric", EXAMPLES / "tact.toml", "-m",
        "fake:text=[RESULT] 3", "-q",
        "--store", store,
    )  # fmt: skip
    done = adjudge("rank", "last", "--store", store)
    assert done.code == 2
    assert "'system'" in done.err


def test_hostile_names_act_neither_on_the_terminal_nor_in_markdown(tmp_path: Path) -> None:
    evil, other = "\x1b[31mred | <script>", "::error::x"
    rows = [
        {
            "id": f"i{k}",
            "system_a": evil,
            "system_b": other,
            "instruction": "I",
            "response_a": "a",
            "response_b": "b",
        }
        for k in range(3)
    ]
    store = tmp_path / "adjudge.db"
    adjudge(
        "run", write_rows(tmp_path / "items.jsonl", rows), "-p", "prometheus/pairwise", "--rubric",
        EXAMPLES / "tact.toml",
        "-m", "fake:text=[RESULT] A", "-q", "--store", store,
    )  # fmt: skip
    plain, marked = ranked(store).out, ranked(store, "--markdown").out
    assert "\x1b" not in plain
    assert not any(line.lstrip().startswith("::") for line in plain.splitlines())
    assert "<script>" not in marked
    assert "fake:text=[RESULT] A" in plain


def test_a_run_from_python_ranks_like_the_command(
    store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    run = package.run(
        tmp_path / "pairs.jsonl", "prometheus/pairwise", f"replay:{tmp_path / 'replies.jsonl'}", store=store,
        rubric=EXAMPLES / "tact.toml",
    )  # fmt: skip
    ranking = package.rank(run)
    as_json = ranked(store, "--json").json
    assert [entry.system for entry in ranking.systems] == [entry["system"] for entry in as_json["systems"]]
    assert ranking.systems[0].strength.value == as_json["systems"][0]["strength"]["value"]
    from_results = package.rank(run.results())
    assert from_results.systems[0].win_rate == ranking.systems[0].win_rate


def test_json_holds_no_bare_nan(store: Path) -> None:
    def refuse(name: str) -> float:
        raise AssertionError(name)

    json.loads(ranked(store, "--json").out, parse_constant=refuse)

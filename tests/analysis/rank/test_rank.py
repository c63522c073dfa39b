"""`adjudge.rank`: results and games as a ranking, from Python."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

import adjudge
from adjudge.analysis.rank.games import Game
from adjudge.analysis.rank.preferences import preferred_a
from adjudge.analysis.rank.ranking import Ranking
from adjudge.errors import DataError
from adjudge.records import Answer, Judgment, Language, Protocol, Reply, Result, Scale, TokenLogprob, TopToken
from judged import choice, score


def chosen(item: str, a: str, b: str, choice_: Any, **fields: Any) -> Result:
    return choice(item, choice_, a, b, criterion="better", **fields)


def played(
    strength: dict[str, float], n: int, seed: int = 0, ties: float = 0.0
) -> list[tuple[str, str, str]]:
    """`n` games of each pair of systems."""
    rng, names, games = random.Random(seed), list(strength), []
    for at, name in enumerate(names):
        for other in names[at + 1 :]:
            for _ in range(n):
                d = strength[name] - strength[other]
                outcome = rng.choices(["a", "b", "tie"], [math.exp(d / 2), math.exp(-d / 2), ties])[0]
                games.append((name, other, outcome))
    return games


def order(ranking: Ranking) -> list[str]:
    return [entry.system for entry in ranking.systems]


# -- games


def test_games_give_a_ranking_with_places() -> None:
    ranking = adjudge.rank(
        played({"low": -1.5, "high": 1.5, "mid": 0.0, "mid too": 0.05}, 80, seed=1, ties=0.3), n_resamples=100
    )
    assert order(ranking)[0] == "high"
    assert order(ranking)[3] == "low"
    assert ranking.systems[0].places == (1, 1)
    assert ranking.systems[1].places == ranking.systems[2].places == (2, 3)
    assert ranking.systems[3].places == (4, 4)
    best = ranking.systems[0]
    assert best.strength.value is not None
    assert best.elo.value == pytest.approx(1000 + 400 / math.log(10) * best.strength.value)
    assert best.counts.won + best.counts.lost + best.counts.tied == best.win_rate.n == 240
    assert ranking.tie_parameter is not None
    met = ranking.matrix["high"]["low"]
    assert (met.share.value or 0) == pytest.approx(1 - (ranking.matrix["low"]["high"].share.value or 0))


def test_length_that_moves_nothing_has_no_interval_of_no_width() -> None:
    rng = random.Random(1)
    games = [
        Game(a, b, 0.5, f"g{k}", f"{a}{b}{k}", rng.gauss(0, 50))
        for k in range(20)
        for a, b in (("x", "y"), ("y", "z"), ("z", "x"))
    ]
    ranking = adjudge.rank(games, n_resamples=50)
    assert ranking.length is not None
    estimates = [ranking.length.coefficient, *(entry.length_controlled for entry in ranking.systems)]
    for estimate in estimates:
        assert estimate is not None
        assert estimate.value is not None
        assert (estimate.low, estimate.high) == (None, None)
        assert estimate.reason


def test_all_systems_of_a_table_speak_of_one_unit() -> None:
    rows = [
        chosen(f"{a}{b}{k}", a, b, "tie" if (a, b) == ("x",
        "y") and k % 3 else "a" if k % 4 or b == "z" else "b", group=f"g{k}")
        for k in range(12)
        for a, b in (("x", "y"), ("x", "z"), ("y", "z"))
    ]  # fmt: skip
    ranking = adjudge.rank(rows, n_resamples=50)
    assert ranking.never_won == ("z",)
    assert {entry.strength.unit for entry in ranking.systems} == {"group (n=12)"}


def test_a_share_may_be_a_probability() -> None:
    ranking = adjudge.rank([Game("x", "y", 0.8), Game("x", "y", 0.7), Game("y", "x", 0.35)])
    assert ranking.systems[0].win_rate.value == pytest.approx((0.8 + 0.7 + 0.65) / 3)
    assert ranking.model.startswith("Bradley-Terry")


@pytest.mark.parametrize(
    ("games", "named"),
    [
        ([], None),
        ([("x", "y")], "game 1"),
        ([("x", "y", "a"), ("x", "y", "better")], "game 2.*'better'"),
        ([("x", "y", 1.5)], "1.5"),
        (["x beats y"], None),
        ([("x", "x", "a")], "adjudge pair"),
    ],
)
def test_what_cannot_be_ranked_is_refused(games: list[Any], named: str | None) -> None:
    with pytest.raises(DataError, match=named):
        adjudge.rank(games)


def test_a_ranking_that_falls_apart_gives_what_can_be_given() -> None:
    ranking = adjudge.rank([("x", "y", "a")] * 4 + [("y", "x", "a"), ("p", "q", "a"), ("q", "p", "a")])
    assert {frozenset(part) for part in ranking.islands} == {frozenset("xy"), frozenset("pq")}
    assert all(entry.win_rate.value is not None for entry in ranking.systems)


def test_who_never_lost_is_named() -> None:
    ranking = adjudge.rank(
        [("x", "y", "a")] * 6 + [("x", "z", "a")] * 6 + [("y", "z", "a"), ("z", "y", "a")] * 3
    )
    assert ranking.never_lost == ("x",)
    top = ranking.systems[0]
    assert top.system == "x"
    assert top.strength.value is None
    assert top.strength.reason
    assert {entry.system for entry in ranking.systems if entry.strength.value is not None} == {"y", "z"}


def test_no_number_leaves_as_nan() -> None:
    for games in ([("x", "y", "a")], [("x", "y", "tie")], played({"x": 0, "y": 0, "z": 3}, 2)):
        text = msgspec.json.encode(adjudge.rank(games, n_resamples=20)).decode()
        assert "NaN" not in text
        assert "Infinity" not in text


# -- results


def test_a_choice_counts_for_the_system_whichever_side_it_stood_on() -> None:
    rows = [chosen(f"i{k}", "x", "y", "a") for k in range(3)] + [
        chosen(f"j{k}", "y", "x", "b") for k in range(3)
    ]
    rows.append(chosen("k", "y", "x", "a"))
    ranking = adjudge.rank(rows)
    assert order(ranking) == ["x", "y"]
    assert ranking.systems[0].counts == msgspec.convert(
        {"won": 6, "lost": 1, "tied": 0}, type(ranking.systems[0].counts)
    )
    assert ranking.order.agreement.value is None
    assert ranking.order.agreement.reason


def test_failed_pairs_are_counted_for_both_systems() -> None:
    rows = [chosen(f"i{k}", "x", "y", "a" if k % 3 else "b") for k in range(9)]
    rows += [chosen("f1", "x", "y", None), chosen("f2", "y", "x", None)]
    ranking = adjudge.rank(rows)
    assert ranking.n_failed == 2
    assert [entry.n_failed for entry in ranking.systems] == [2, 2]
    assert [entry.win_rate.n_failed for entry in ranking.systems] == [2, 2]


def test_where_every_pair_failed_there_is_no_number() -> None:
    ranking = adjudge.rank([chosen("f1", "x", "y", None), chosen("f2", "y", "x", None)])
    assert (ranking.n_games, ranking.n_failed) == (0, 2)
    assert all(entry.win_rate.value is None and entry.strength.value is None for entry in ranking.systems)


def test_a_panel_votes() -> None:
    rows = []
    for k in range(6):
        for model, winner in (("m1", "a"), ("m2", "a"), ("m3", "b")):
            rows.append(chosen(f"i{k}", "x", "y", winner, model=model))
    rows.append(chosen("split", "x", "y", "a", model="m1"))
    rows.append(chosen("split", "x", "y", "b", model="m2"))
    rows.append(chosen("split", "x", "y", None, model="m3"))
    ranking = adjudge.rank(rows)
    counts = ranking.systems[0].counts
    assert (counts.won, counts.lost, counts.tied) == (6, 0, 1)
    assert ranking.by_model["m3"]["y"].value == 1.0
    assert ranking.models == ("m1", "m2", "m3")
    assert any("1 of 7" in note for note in ranking.notes), "one pair lacks a judge"


def test_pairs_of_one_group_are_one_observation() -> None:
    rows = [chosen(f"i{k}", "x", "y", "a" if k % 4 else "b", group=f"g{k // 4}") for k in range(40)]
    ranking = adjudge.rank(rows)
    assert ranking.n_groups == 10
    assert ranking.systems[0].strength.unit == "group (n=10)"


# -- scores


def grid(values: dict[str, Sequence[float | None]], **more: Any) -> list[Result]:
    return [
        score(f"{system}-{k}", value, system, f"g{k}", **more)
        for system, scores in values.items()
        for k, value in enumerate(scores)
    ]


def test_direct_scores_rank_by_paired_differences() -> None:
    rng = random.Random(1)
    base = [rng.uniform(1, 4) for _ in range(30)]
    rows = grid(
        {
            "worse": base,
            "better": [value + 0.4 + rng.gauss(0, 0.2) for value in base],
            "same": [value + rng.gauss(0, 0.2) for value in base],
        }
    )
    ranking = adjudge.rank(rows, scales={"clarity": Scale(1, 5, 5)})
    assert order(ranking)[0] == "better"
    assert ranking.systems[0].places == (1, 1), "the spread of the inputs is shared and does not count"
    assert ranking.systems[1].places == ranking.systems[2].places == (2, 3)
    by_pair = {(difference.first, difference.second): difference for difference in ranking.differences}
    pair = by_pair["better", "worse"]
    assert pair.difference.value == pytest.approx(0.4, abs=0.15)
    assert pair.p_adjusted is not None
    assert pair.p is not None
    assert pair.p <= pair.p_adjusted < 0.001
    assert pair.test == "paired t test"
    mean = ranking.systems[0].mean
    assert mean is not None
    assert mean.n == 30
    assert ranking.order.agreement.value is None


def test_on_a_scale_whose_low_end_is_good_the_low_score_stands_first() -> None:
    rows = grid({"many faults": [4.0, 5.0, 4.0, 5.0, 4.0, 4.0], "few faults": [1.0, 1.0, 2.0, 1.0, 1.0, 2.0]})
    ranking = adjudge.rank(rows, scales={"clarity": Scale(1, 5, 1)})
    assert order(ranking) == ["few faults", "many faults"]
    assert ranking.systems[0].win_rate.value == 1.0
    assert ranking.systems[0].places == (1, 1)


def test_scores_that_failed_are_counted_for_their_system() -> None:
    rows = grid({"x": [3.0, 4.0, None, 4.0], "y": [2.0, 3.0, 3.0, None]})
    rows.append(score("x-extra", None, "x", "g9"))
    ranking = adjudge.rank(rows)
    assert {entry.system: entry.n_failed for entry in ranking.systems} == {"x": 2, "y": 1}


def test_systems_without_a_common_input_are_compared_by_their_means() -> None:
    rows = [score(f"x{k}", 4.0 + k % 2, "x") for k in range(12)]
    rows += [score(f"y{k}", 1.0 + k % 2, "y") for k in range(12)]
    ranking = adjudge.rank(rows)
    assert order(ranking) == ["x", "y"]
    assert ranking.differences[0].test == "Welch t test"
    assert ranking.systems[0].places == (1, 1)
    assert ranking.n_games == 0


def test_both_sides_of_a_pair_are_scores_on_one_input() -> None:
    rows = []
    for k in range(8):
        for subject, value in (("a", 4.0 + k % 2), ("b", 3.0)):
            rows.append(
                score(f"i{k}", value, subject=subject, system_a="x", system_b="y", criterion="overall")
            )
        rows.append(choice(f"i{k}", "a"))
    ranking = adjudge.rank(rows)
    assert list(ranking.criteria) == ["overall", "overall (scores)"]
    assert ranking.kind == "choices"
    assert ranking.criteria["overall (scores)"].systems[0].mean is not None
    only = adjudge.rank(rows, criterion="overall (scores)")
    assert list(only.criteria) == ["overall (scores)"]


def test_several_protocols_are_kept_apart_and_one_can_be_picked() -> None:
    rows = [chosen(f"i{k}", "x", "y", "a" if k % 3 else "b") for k in range(6)]
    rows += [msgspec.structs.replace(row, protocol="q@2", choice="b") for row in rows]
    ranking = adjudge.rank(rows)
    assert list(ranking.criteria) == ["p/better", "q/better"]
    assert order(ranking) == ["x", "y"]
    assert order(adjudge.rank(rows, criterion="q/better")) == ["y", "x"]
    with pytest.raises(DataError, match="'q/better'"):
        adjudge.rank(rows, criterion="q/bettter")


# -- probabilities of choices


def protocol(a: str, b: str) -> Protocol:
    return Protocol(
        id="p", digest="1", title="", task="compare", language=Language("en", "en"), inputs=(), optional=(),
        criteria={"better": None},
        system_text="", user_text="", answer=Answer("marker", marker="[RESULT]", choices={"a": a, "b": b}),
        source="",
    )  # fmt: skip


def token(text: str, **top: float) -> TokenLogprob:
    return TokenLogprob(text, 0.0, tuple(TopToken(name, math.log(share)) for name, share in top.items()))


def test_the_tokens_at_the_choice_say_how_likely_it_was() -> None:
    tokens = (
        token("Fine: A"),
        token(" [RESULT]"),
        TokenLogprob(
            " A",
            math.log(0.6),
            (
                TopToken(" A", math.log(0.6)),
                TopToken(" B", math.log(0.15)),
                TopToken("B", math.log(0.05)),
                TopToken(" C", math.log(0.1)),
            ),
        ),
    )
    text = "".join(part.token for part in tokens)
    judgment = Judgment((), choice="a", choice_status="ok", choice_span=(text.rindex("A"), len(text)))
    reply = Reply("c", text=text, logprobs=tokens)
    assert preferred_a(protocol("A", "B"), judgment.choice_span, reply, "ab") == pytest.approx(0.6 / 0.8)
    assert preferred_a(protocol("A", "B"), judgment.choice_span, reply, "ba") == pytest.approx(0.2 / 0.8)


def test_words_that_begin_alike_are_distinguished_by_their_next_token() -> None:
    tokens = (token("response", response=1.0), token("_a", **{"_a": 0.7, "_b": 0.3}))
    judgment = Judgment((), choice="a", choice_span=(0, 10))
    preference = preferred_a(
        protocol("response_a", "response_b"),
        judgment.choice_span,
        Reply("c", text="response_a", logprobs=tokens),
        "ab",
    )
    assert preference == pytest.approx(0.7)


def test_brackets_before_the_word_are_passed_over() -> None:
    reply = Reply(
        "c", text="[[A]]", logprobs=(token("[[", **{"[[": 1.0}), token("A", A=0.8, B=0.2), token("]]"))
    )
    judgment = Judgment((), choice="a", choice_span=(0, 5))
    assert preferred_a(protocol("A", "B"), judgment.choice_span, reply, "ab") == pytest.approx(0.8)


def test_case_tells_m_from_big_m() -> None:
    reply = Reply("c", text="m", logprobs=(token("m", m=0.9, M=0.1),))
    judgment = Judgment((), choice="a", choice_span=(0, 1))
    assert preferred_a(protocol("m", "M"), judgment.choice_span, reply, "ab") == pytest.approx(0.9)


@pytest.mark.parametrize("mass", [0.1, 0.0])
def test_tokens_that_caught_little_say_nothing(mass: float) -> None:
    top = {"A": mass / 2, "B": mass / 2} if mass else {"Neither": 1.0}
    reply = Reply(
        "c",
        text="A",
        logprobs=(TokenLogprob("A", -9.0, tuple(TopToken(k, math.log(v)) for k, v in top.items())),),
    )
    judgment = Judgment((), choice="a", choice_span=(0, 1))
    assert preferred_a(protocol("A", "B"), judgment.choice_span, reply, "ab") is None

"""The verdict, the raters, the confusion matrix, agreement in parts, single scores and many judges of a
card."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from adjudge.analysis.trust.card import CriterionCard
from adjudge.analysis.trust.misread import with_misread
from adjudge.records import Label, Result
from adjudge.stats import quadratic_kappa, retest, wilson
from judged import FIVE, choice, judged_run, score
from running import adjudge, write_rows
from views import judge_card

Rows = Callable[[str], list[dict[str, Any]]]
scored = partial(score, criterion="tact", model="judge")


def card_of(results: list[Result], labels: list[Label], **settings: Any) -> CriterionCard:
    return judge_card(results, labels, scales={"tact": FIVE}, n_resamples=100, **settings).criteria["tact"]


def rated(table: Any) -> list[Label]:
    """Labels of items × raters."""
    return [
        Label(f"i{k}", "tact", f"r{rater}", float(value))
        for k, row in enumerate(table)
        for rater, value in enumerate(row)
        if value is not None
    ]


def people(n: int, n_raters: int, noise: float, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, n)
    return np.clip(np.round(quality[:, None] + rng.normal(0, noise, (n, n_raters))), 1, 5)


# -- the verdict


def test_a_judge_that_always_says_5_gets_no_yes() -> None:
    rng = np.random.default_rng(4)
    ratings = np.where(rng.random((80, 3)) < 0.9, 5.0, 4.0)
    card = card_of([scored(f"i{k}", 5.0) for k in range(80)], rated(ratings))
    assert card.alt_test is not None
    assert card.alt_test.winning_rate.value == 1
    assert card.alt_test.constant is not None
    assert card.alt_test.constant.answer == 5
    assert (card.alt_test.constant.winning_rate, card.alt_test.passes) == (1, False)
    assert card.verdict.answer == "not shown"
    assert {"constant", "shuffled"} <= set(card.verdict.reasons)


def test_a_judge_that_is_like_a_rater_gets_a_yes() -> None:
    table = people(200, 4, 0.5)
    card = card_of([scored(f"i{k}", value) for k, value in enumerate(table[:, 0])], rated(table[:, 1:]))
    assert (card.verdict.answer, card.verdict.reasons) == ("yes", ())
    assert card.alt_test is not None
    assert card.alt_test.shuffled is not None
    assert card.alt_test.shuffled.advantage < (card.alt_test.advantage.value or 0)


def test_below_a_human_rater_and_yes_never_stand_together() -> None:
    """At a wide eps the judge passes the test alone although it agrees less than a rater does."""
    table = people(400, 4, 0.45)
    rng = np.random.default_rng(2)
    judge = np.clip(np.round(table[:, 0] + rng.normal(0, 0.5, 400)), 1, 5)
    card = card_of(
        [scored(f"i{k}", value) for k, value in enumerate(judge)], rated(table[:, 1:]), epsilon=0.4
    )
    assert card.alt_test is not None
    assert card.ceiling is not None
    assert (card.alt_test.passes, card.ceiling.standing) == (True, "below")
    assert (card.verdict.answer, card.verdict.reasons) == ("no", ("below_rater",))


@pytest.mark.parametrize(
    ("dimension", "constant"),
    [("fluency", 5.0), ("consistency", 5.0), ("coherence", 4.0), ("relevance", 4.0)],
)
def test_a_constant_judge_of_real_summaries_gets_no_yes(
    dimension: str, constant: float, real_rows: Rows
) -> None:
    items = real_rows("summeval.items")
    labels = [
        Label(row["item_id"], "tact", f"expert {k}", float(value))
        for row in items
        for k, value in enumerate(row["human"][dimension]["expert"])
    ]
    card = card_of(
        [scored(row["item_id"], constant, row["system"], row["group_id"]) for row in items], labels
    )
    assert card.alt_test is not None
    assert (card.alt_test.winning_rate.value or 0) >= 0.5
    assert card.alt_test.passes is False
    assert card.verdict.answer == "not shown"


def test_epsilon_decides_how_far_behind_the_judge_may_be(tmp_path: Path) -> None:
    table = people(60, 3, 0.5)
    scores = write_rows(
        tmp_path / "scores.jsonl",
        [
            {"item": f"i{k}", "criterion": "tact", "value": value}
            for k, value in enumerate(table[:, 0].tolist())
        ],
    )
    labels = write_rows(
        tmp_path / "labels.jsonl",
        [{"item": label.item, "criterion": "tact", "rater": label.rater,
        "value": label.value} for label in rated(table[:, 1:])],
    )  # fmt: skip
    strict, wide = (
        adjudge("trust", "--scores", scores, "--labels", labels, "--epsilon", eps, "--json").json["criteria"][
            "tact"
        ]
        for eps in ("0", "0.5")
    )
    assert (strict["alt_test"]["eps"], wide["alt_test"]["eps"]) == (0, 0.5)
    assert strict["alt_test"]["winning_rate"]["value"] < wide["alt_test"]["winning_rate"]["value"]
    assert adjudge("trust", "--scores", scores, "--labels", labels, "--epsilon", "1").code == 2


# -- both orders


def test_autoj_agrees_with_people_as_published_where_order_conflicts_are_wrong(
    real_rows: Rows, expected: dict[str, Any]
) -> None:
    orders: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in real_rows("autoj_pairwise.judgments"):
        orders[row["item_id"]][row["order"]] = row["recorded"]
    results = [
        choice(item, both["ab"])
        if both["ab"] == both["ba"]
        else choice(item, "tie", flags=("order_conflict",))
        for item, both in orders.items()
    ]
    labels = [
        Label(row["item_id"], "overall", "gold", row["gold"]) for row in real_rows("autoj_pairwise.items")
    ]
    item = judge_card(results, labels).criteria["overall"].item
    assert round(100 * (item["both_orders"].value or 0), 2) == expected["autoj"]["agreement_both"]
    assert (item["exact"].value or 0) > 0.6


def test_without_an_order_conflict_there_is_one_rule() -> None:
    results = [choice(f"i{k}", "a") for k in range(20)]
    labels = [Label(f"i{k}", "overall", "ann", "a" if k % 3 else "b") for k in range(20)]
    assert "both_orders" not in judge_card(results, labels).criteria["overall"].item


# -- bounds


def test_quadratic_kappa_of_fewer_than_20_items_has_a_reason_in_place_of_an_interval() -> None:
    rng = random.Random(1)
    first = [float(rng.randint(1, 5)) for _ in range(20)]
    second = [min(5.0, value + rng.randint(0, 1)) for value in first]
    few, enough = quadratic_kappa(first[:19], second[:19]), quadratic_kappa(first, second)
    assert (few.low, few.reason) == (None, "fewer than 20 items")
    assert enough.low is not None


def test_no_bias_is_larger_than_the_scale() -> None:
    card = card_of([scored("i0", 5.0), scored("i1", 2.0)], rated([[1.0], [3.0]]))
    assert card.bias.low is not None
    assert card.bias.high is not None
    assert card.bias.low >= -4
    assert card.bias.high <= 4


def test_the_reliability_of_items_with_one_mean_is_undefined() -> None:
    found = retest([[1.0, 3.0], [3.0, 1.0], [1.0, 3.0]])
    assert (found.single.value, found.single.reason) == (None, "all items have the same mean")


# -- the raters


def test_raters_far_apart_on_different_items_get_a_warning() -> None:
    rng = random.Random(5)
    quality = [rng.choice((2.0, 3.0, 4.0)) for _ in range(60)]
    table = [[value + 0.75, None] if k % 2 else [None, value - 0.75] for k, value in enumerate(quality)]
    card = card_of([scored(f"i{k}", value) for k, value in enumerate(quality)], rated(table))
    severity = card.severity["r0"]
    assert severity.difference.value == pytest.approx(1.5)
    assert (severity.basis, severity.is_large) == ("judge", True)
    assert any("severity" in note for note in card.notes)


def test_severity_is_measured_on_the_same_items_where_raters_share_them() -> None:
    table = people(40, 2, 0.3)
    table[:, 1] = np.clip(table[:, 0] - 1, 1, 5)
    card = card_of([scored(f"i{k}", value) for k, value in enumerate(table[:, 0])], rated(table))
    assert card.severity["r1"].basis == "same items"
    assert card.severity["r1"].difference.value == pytest.approx(float((table[:, 1] - table[:, 0]).mean()))
    assert card.ceiling is not None
    assert card.ceiling.alpha is not None
    assert card.ceiling.alpha.value is not None
    assert card.ceiling.corrected is not None


def test_equal_raters_get_no_warning() -> None:
    table = people(60, 3, 0.5)
    card = card_of([scored(f"i{k}", value) for k, value in enumerate(table[:, 0])], rated(table))
    assert not any(own.is_large for own in card.severity.values())
    assert not any("severity" in note for note in card.notes)


# -- the confusion matrix


def test_the_confusion_matrix_counts_each_rating() -> None:
    results = [scored("i0", 4.0), scored("i1", 4.0), scored("i2", 1.0), scored("i3", None)]
    matrix = card_of(results, rated([[4, 5], [4, None], [2, None], [3, None]])).confusion
    assert matrix is not None
    table = {
        (judge, human): n
        for judge, row in zip(matrix.judge, matrix.counts, strict=True)
        for human, n in zip(matrix.human, row, strict=True)
        if n
    }
    assert table == {("4", "4"): 2, ("4", "5"): 1, ("1", "2"): 1, ("failed", "3"): 1}
    assert (matrix.n_items, matrix.n_ratings, matrix.human) == (4, 5, ("1", "2", "3", "4", "5"))


# -- agreement in parts


def scores_file(folder: Path, n: int = 120) -> tuple[Path, Path]:
    """Scores that follow people in English and not in Korean, with a field of the language."""
    rng = random.Random(6)
    scores, labels = [], []
    for k in range(n):
        label = rng.randint(1, 5)
        value = label if k % 2 else rng.randint(1, 5)
        about = {"language": "en" if k % 2 else "ko", "note": f"n{k}", "size": k, "response": "x" * (k + 1)}
        scores.append({"item": f"i{k}", "criterion": "tact", "value": value, "system": f"s{k % 3}", **about})
        labels.append({"item": f"i{k}", "criterion": "tact", "rater": "ann", "value": label})
    return write_rows(folder / "scores.jsonl", scores), write_rows(folder / "labels.jsonl", labels)


def test_agreement_is_shown_by_system_length_and_named_fields(tmp_path: Path) -> None:
    scores, labels = scores_file(tmp_path)
    arguments = (
        "trust",
        "--scores",
        scores,
        "--labels",
        labels,
        "--by",
        "language",
        "--by",
        "size",
        "--json",
    )
    by = adjudge(*arguments).json["criteria"]["tact"]["by"]
    assert set(by) == {"system", "length", "language", "size"}
    assert by["language"]["en"]["agreement"]["value"] == pytest.approx(1)
    assert by["language"]["ko"]["agreement"]["high"] < 0.6
    assert (set(by["system"]), len(by["length"]), len(by["size"])) == ({"s0", "s1", "s2"}, 3, 3)
    assert sum(part["agreement"]["n"] for part in by["length"].values()) == 120


def test_the_intervals_of_parts_are_wider_than_one_alone() -> None:
    rng = random.Random(3)
    values = [rng.randint(1, 5) for _ in range(200)]
    results = [choice(f"i{k}", "a" if k % 4 else "b", f"s{k % 4}", "other") for k in range(200)]
    labels = [Label(f"i{k}", "overall", "ann", "a" if value > 1 else "b") for k, value in enumerate(values)]
    parts = judge_card(results, labels).criteria["overall"].by["system"]
    first = parts["s1 - other"].agreement
    alone = wilson(round((first.value or 0) * first.n), first.n)
    assert first.low is not None
    assert alone.low is not None
    assert first.low < alone.low


@pytest.mark.parametrize(
    ("field", "words"), [("langage", "no labelled item has a field"), ("note", "120 different")]
)
def test_a_field_that_cannot_be_used_is_refused(field: str, words: str, tmp_path: Path) -> None:
    scores, labels = scores_file(tmp_path)
    left = adjudge("trust", "--scores", scores, "--labels", labels, "--by", field)
    assert left.code == 2
    assert words in left.err


# -- single scores


def test_a_single_score_has_an_interval_with_its_measured_coverage() -> None:
    table = people(100, 2, 0.5)
    single = card_of(
        [scored(f"i{k}", value) for k, value in enumerate(table[:, 0])], rated(table[:, 1:])
    ).single_score
    assert single is not None
    assert single.coverage.value is not None
    assert single.coverage.value >= 0.9
    ends = single.around(5.0)
    assert ends is not None
    assert 1 <= ends[0] < 5
    assert ends[1] == 5


def test_few_labels_give_no_interval_of_a_single_score() -> None:
    table = people(30, 2, 0.5)
    single = card_of(
        [scored(f"i{k}", value) for k, value in enumerate(table[:, 0])], rated(table[:, 1:])
    ).single_score
    assert single is not None
    assert (single.below, single.reason) == (None, "fewer than 39 labelled items")


def test_the_export_has_the_interval_of_each_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = people(60, 2, 0.5)
    judged_run(tmp_path, "one", {"all": table[:, 0].tolist()}, is_grouped=False)
    rows = adjudge("export", "one").rows
    assert "low" not in rows[0]
    criterion = rows[0]["criterion"]
    labels = write_rows(
        tmp_path / "labels.jsonl",
        [{"item": f"q{k}", "criterion": criterion, "rater": "ann", "value": v} for k,
        v in enumerate(table[:, 1].tolist())],
    )  # fmt: skip
    exported = adjudge("export", "one", "--labels", labels).rows
    card = adjudge("trust", "one", "--labels", labels, "--json").json["criteria"][criterion]["single_score"]
    assert [row["low"] for row in exported] == pytest.approx(
        [max(1.0, row["score"] + card["below"]) for row in exported]
    )
    assert all(row["low"] <= row["score"] <= row["high"] or card["above"] < 0 for row in exported)
    adjudge("export", "one", "--labels", labels, "--format", "csv", "-o", tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file))[-2:] == ["low", "high"]


# -- many judges


@pytest.mark.slow
def test_the_best_of_several_runs_is_named_with_its_held_out_lead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = people(200, 1, 0.3)[:, 0]
    rng = np.random.default_rng(8)
    for name, noise in (("first", 2.0), ("second", 2.0), ("third", 0.5)):
        scores = np.clip(np.round(table + rng.normal(0, noise, 200)), 1, 5)
        judged_run(tmp_path, name, {"all": scores.tolist()}, is_grouped=False)
    criterion = adjudge("export", "first").rows[0]["criterion"]
    labels = write_rows(
        tmp_path / "labels.jsonl",
        [{"item": f"q{k}", "criterion": criterion, "rater": "ann", "value": v} for k,
        v in enumerate(table.tolist())],
    )  # fmt: skip
    arguments = ("trust", "first", "--versus", "second", "--versus", "third", "--labels", labels)
    (best,) = adjudge(*arguments, "--json").json["best"]
    assert "third" in best["best"]
    assert best["improved"] == best["leading"] == [best["best"]]
    assert best["held_out"]["judge"] == best["best"]
    assert best["held_out"]["lead"]["low"] > 0
    assert best["held_out"]["lead"]["n"] == 100
    again = adjudge("trust", "first", "--versus", "second", "--versus", "second", "--labels", labels)
    assert again.code == 2


def test_of_the_judges_of_real_votes_a_better_one_is_found_and_chance_is_not(real_rows: Rows) -> None:
    votes = real_rows("arena_votes")
    labels = list(
        {row["item"]: Label(row["item"], "overall", "people", row["human"]) for row in votes}.values()
    )
    rng = random.Random(2)
    results = [choice(row["item"], row["choice"], model=row["judge"]) for row in votes]
    for model, share_right in (("coin", 0.0), ("better", 0.55)):
        results += [
            choice(
                label.item, str(label.value) if rng.random() < share_right else rng.choice(("a", "b")),
                model=model  # type: ignore[arg-type]
            )
            for label in labels
        ]  # fmt: skip
    (best,) = judge_card(results, labels).best
    assert best.agreement["overall · gpt-4o-mini"].value == pytest.approx(0.61)
    assert best.agreement["overall · gpt-5.2"].value == pytest.approx(0.555)
    assert (best.first, best.best) == ("overall · gpt-4o-mini", "overall · better")
    assert best.improved == ("overall · better",)
    shuffled = [label.value for label in labels]
    rng.shuffle(shuffled)
    chance = [
        msgspec.structs.replace(label, value=value) for label, value in zip(labels, shuffled, strict=True)
    ]
    (best,) = judge_card(results, chance).best
    assert best.improved == ()
    assert len(best.leading) > 1


def test_a_check_by_hand_widens_the_leads_of_the_judges() -> None:
    table = people(200, 1, 0.3)[:, 0]
    rng = np.random.default_rng(8)
    results = [
        score(f"i{k}", float(value), criterion="tact", model=model)
        for model, noise in (("first", 1.6), ("second", 1.6), ("third", 1.2))
        for k, value in enumerate(np.clip(np.round(table + rng.normal(0, noise, 200)), 1, 5))
    ]
    card = judge_card(results, rated(table[:, None]), scales={"tact": FIVE}, n_resamples=100)
    wider = with_misread(card, wilson(2, 20))
    name = "tact · third"
    before, after = card.best[0].over_first[name], wider.best[0].over_first[name]
    assert (after.low or 0) < (before.low or 0)
    assert len(wider.best[0].improved) <= len(card.best[0].improved)


def test_the_details_are_json() -> None:
    table = people(60, 3, 0.5)
    card = judge_card(
        [scored(f"i{k}", value, f"s{k % 2}") for k, value in enumerate(table[:, 0])],
        rated(table),
        scales={"tact": FIVE},
    )
    decoded = json.loads(msgspec.json.encode(card))["criteria"]["tact"]
    assert {"verdict", "severity", "confusion", "by", "single_score"} <= set(decoded)

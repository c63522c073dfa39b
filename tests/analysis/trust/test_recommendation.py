"""Whether a judge can be used: one rule, one record, in `trust --json` and in `report --json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjudge.analysis.trust.card import CriterionCard, Recommendation
from adjudge.analysis.trust.misread import with_misread
from adjudge.records import Estimate, Label, Result, Scale
from adjudge.store import open_store
from judged import score
from running import DIRECT, adjudge, write_rows
from views import judge_card

SCALE = Scale(1, 5, 5, step=1)
RANDOM = np.random.default_rng(7)
QUALITY = RANDOM.normal(3, 1, 150)
NOISE = RANDOM.normal(0, 0.6, (150, 4))


def levels(values: Any) -> Any:
    return np.clip(np.round(values), 1, 5)


RATERS = levels(QUALITY[:, None] + NOISE[:, :3])


def card(judge: Sequence[float], raters: Any = RATERS, scale: Scale | None = SCALE) -> CriterionCard:
    results = [
        Result(item=str(k), protocol="p", criterion="tact", model="gpt", status="ok", value=float(score))
        for k, score in enumerate(judge)
    ]
    labels = [
        Label(str(k), "tact", f"rater {place}", float(rating))
        for k, row in enumerate(raters)
        for place, rating in enumerate(row)
    ]
    scales = None if scale is None else {"tact": scale}
    return judge_card(results, labels, scales=scales, n_resamples=100).criteria["tact"]


def test_a_judge_that_agrees_like_a_rater_without_bias_is_usable_alone() -> None:
    found = card(RATERS.mean(axis=1).round()).recommendation
    assert found.use == "alone"
    assert "its bias is within 5 % of the scale" in found.reason


def test_a_judge_equal_to_the_labels_on_every_item_is_usable_alone() -> None:
    assert card(RATERS.mean(axis=1)).recommendation.use == "alone"


def test_a_lenient_judge_in_the_right_order_is_usable_only_corrected() -> None:
    found = card(levels(QUALITY + 0.8 + NOISE[:, 3])).recommendation
    assert found.use == "corrected"
    assert "points too lenient" in found.reason
    assert "corrected means" in found.next


@pytest.mark.parametrize("level", [1, 3, 5])
@pytest.mark.parametrize("n_labelled", [1, 20, 150])
def test_a_constant_judge_is_never_usable(level: int, n_labelled: int) -> None:
    assert card([level] * 150, RATERS[:n_labelled]).recommendation.use == "no"


def test_scores_that_round_to_one_level_are_not_the_same_score() -> None:
    """Expected values of probabilities may all lie near 4 and still be in the right order."""
    found = card((4 + 0.1 * (QUALITY - 3)).tolist())
    assert found.quality.spread is not None
    assert found.quality.spread.mode_share != 1.0
    assert found.recommendation.use == "corrected"
    assert "same score" not in found.recommendation.reason


def test_a_judge_that_guesses_is_not_usable_and_the_best_constant_is_named() -> None:
    found = card(RANDOM.integers(1, 6, 150).tolist()).recommendation
    assert found.use == "no"
    assert "always answering 3 does better" in found.reason


def test_a_handful_of_labels_decides_nothing_and_says_how_many_more() -> None:
    found = card(RATERS[:, 0], RATERS[:6]).recommendation
    assert found.use == "unknown"
    assert "too few" in found.reason
    assert "94 more" in found.next


def test_labels_in_few_groups_ask_for_items_of_other_groups() -> None:
    rng = np.random.default_rng(4)
    people = levels(rng.normal(3, 1, 300))
    judge = levels(people + rng.normal(0, 1.2, 300))
    results = [score(f"i{k}", float(value), group=f"g{k % 12}") for k, value in enumerate(judge)]
    labels = [Label(f"i{k}", "clarity", "ann", float(people[k])) for k in range(24)]
    (made,) = judge_card(results, labels, scales={"clarity": SCALE}).criteria.values()
    assert made.recommendation.use == "unknown"
    next_step = made.recommendation.next
    assert next_step.startswith("Label 88 more items of other groups, and judge more groups if the run has")


def test_one_rater_cannot_show_that_a_judge_is_usable_alone() -> None:
    found = card(RATERS[:, 0], RATERS[:, :1]).recommendation
    assert found.use == "corrected"
    assert "one rater is too few" in found.reason


def test_without_a_scale_the_range_of_the_ratings_stands_for_it() -> None:
    assert card(RATERS.mean(axis=1), scale=None).recommendation.use == "alone"


def test_scores_on_another_scale_are_compared_by_their_order() -> None:
    unbounded = Scale(None, None, "high")
    assert card(QUALITY * 100 - 400, scale=unbounded).recommendation.use == "corrected"
    assert card(RANDOM.permutation(QUALITY) * 100 - 400, scale=unbounded).recommendation.use == "no"


def choices(judge: Sequence[str], labels: Sequence[str]) -> Recommendation:
    results = [
        Result(item=str(k), protocol="p", criterion="overall", model="gpt", status="ok", choice=choice,
               system_a="x", system_b="y")
        for k, choice in enumerate(judge)
    ]  # fmt: skip
    given = [Label(str(k), "overall", "ann", choice) for k, choice in enumerate(labels)]
    return judge_card(results, given, n_resamples=100).criteria["overall"].recommendation


def test_choices_are_compared_with_always_choosing_the_same_side() -> None:
    labels = ["a", "b"] * 60
    good = [choice if k % 5 else "tie" for k, choice in enumerate(labels)]
    assert choices(good, labels).use == "corrected"
    found = choices(["a", "a", "b", "b"] * 30, labels)
    assert found.use == "no"
    assert "It agrees with people on 50 % [41 %, 59 %] of pairs" in found.reason
    assert choices(["a", "a", "b", "b"] * 10, ["a", "b"] * 20).use == "unknown"
    assert choices(["a"] * 120, labels).use == "no"


def test_misread_replies_can_take_the_recommendation_back() -> None:
    results = [
        Result(item=str(k), protocol="p", criterion="tact", model="gpt", status="ok", value=float(score))
        for k, score in enumerate(RATERS[:, 0])
    ]
    labels = [Label(str(k), "tact", "ann", float(rating)) for k, rating in enumerate(RATERS[:, 1])]
    given = judge_card(results, labels, scales={"tact": SCALE}, n_resamples=100)
    assert given.criteria["tact"].recommendation.use == "corrected"
    many = Estimate(value=0.2, low=0.1, high=0.3, n=50)
    assert with_misread(given, many).criteria["tact"].recommendation.use != "corrected"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that one judge judged, and one of two judges of which one guesses; labels for both."""
    folder = tmp_path_factory.mktemp("recommendation")
    ids = [f"i{k}" for k in range(120)]
    write_rows(folder / "items.jsonl", [{"id": name, "instruction": "Go.", "response": name} for name in ids])
    good, bad = RATERS[:120, 0], RANDOM.permutation(RATERS[:120, 0])
    for name, scores in (("good", good), ("bad", bad)):
        write_rows(
            folder / f"{name}.jsonl",
            [
                {"item": item, "text": f"So. [RESULT] {score:g}"}
                for item, score in zip(ids, scores, strict=True)
            ],
        )
    labels = [
        Label(item, "tact", rater, float(rating))
        for item, ratings in zip(ids, RATERS[:120], strict=True)
        for rater, rating in zip(("ann", "ben"), ratings[1:], strict=True)
    ]
    store = folder / "s.db"
    for run, models in (("one", ["good"]), ("panel", ["good", "bad"]), ("unlabelled", ["good"])):
        flags = [part for model in models for part in ("-m", f"replay:{folder / model}.jsonl")]
        done = adjudge("run", folder / "items.jsonl", *DIRECT, *flags, "--run", run, "--store", store)
        assert done.code == 0, done.err
    with open_store(store) as opened:
        for run in ("one", "panel"):
            opened.put_labels(labels, opened.run(run))
    return store


def in_json(store: Path, command: str, run: str) -> dict[str, Any]:
    done = adjudge(command, run, "--store", store, "--json")
    assert done.code == 0, done.err
    criteria: dict[str, Any] = json.loads(done.out)["criteria"]
    return {name: about["recommendation"] for name, about in criteria.items()}


@pytest.mark.slow
def test_report_and_trust_have_the_same_record(store: Path) -> None:
    of_report, of_trust = in_json(store, "report", "one"), in_json(store, "trust", "one")
    assert of_report == of_trust
    (record,) = of_report.values()
    assert set(record) == {"use", "reason", "next"}
    assert record["use"] in ("alone", "corrected")


def test_without_labels_a_report_says_that_nothing_is_known_and_what_to_do(store: Path) -> None:
    (record,) = in_json(store, "report", "unlabelled").values()
    assert record["use"] == "unknown"
    assert record["next"] == "Label 50 items: adjudge annotate unlabelled"


@pytest.mark.slow
def test_a_panel_is_not_recommended_like_its_better_judge(store: Path) -> None:
    of_judges = in_json(store, "trust", "panel")
    assert {record["use"] for record in of_judges.values()} > {"no"}
    (of_panel,) = in_json(store, "report", "panel").values()
    by_name = {name: record["reason"] for name, record in of_judges.items()}
    (panel,) = [name for name in by_name if name.endswith("2 judges")]
    assert of_panel["reason"] == by_name.pop(panel)
    assert of_panel["reason"] not in by_name.values()

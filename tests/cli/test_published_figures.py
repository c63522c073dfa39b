"""Published figures of real judges, and the vectors of other packages, through the commands alone: what a
user reads in `--json` after `trust --scores` and `audit --scores`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from running import adjudge, write_rows

Row = dict[str, Any]
RealRows = Callable[[str], list[Row]]


@pytest.fixture(scope="session")
def published(shared: Path) -> dict[str, Any]:
    return dict(json.loads((shared / "data" / "EXPECTED.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def vectors(shared: Path) -> dict[str, Any]:
    return dict(json.loads((shared / "vectors.json").read_text(encoding="utf-8")))


def card(folder: Path, scores: Iterable[Row], labels: Iterable[Row], *flags: str) -> Row:
    """The card of the only criterion."""
    files = write_rows(folder / "s.jsonl", scores), write_rows(folder / "l.jsonl", labels)
    done = adjudge("trust", "--scores", files[0], "--labels", files[1], "--json", *flags)
    assert done.code == 0, done.err
    (found,) = done.json["criteria"].values()
    return dict(found)


def rated(rows: Iterable[Iterable[float | None]]) -> list[Row]:
    """Ratings of items by raters; the missing ones left out."""
    return [
        {"item": place, "criterion": "c", "rater": f"r{rater}", "value": value}
        for place, row in enumerate(rows)
        for rater, value in enumerate(row)
        if value is not None
    ]


def grid(folder: Path, human: list[list[float]], judge: list[list[float]], *flags: str) -> Row:
    """A row for each input, a column for each system."""
    cells = [(i, s) for i, row in enumerate(human) for s in range(len(row))]
    scores = [
        {"item": f"{i}-{s}", "system": f"s{s}", "group": f"g{i}", "value": judge[i][s]} for i, s in cells
    ]
    return card(folder, scores, [{"item": f"{i}-{s}", "value": human[i][s]} for i, s in cells], *flags)


@pytest.mark.parametrize("name", ["naturalness", "coherence", "engagingness", "groundedness"])
@pytest.mark.parametrize("protocol", ["geval", "geval_no_auto_cot", "rate_explain"])
def test_correlations_with_people_of_a_published_judge(
    protocol: str, name: str, real_rows: RealRows, published: dict[str, Any], tmp_path: Path
) -> None:
    items = {row["item_id"]: row for row in real_rows("topical_chat.items")}
    scores = []
    for row in real_rows("topical_chat.judgments"):
        if (row["protocol"], row["dimension"]) == (protocol, name):
            read = [value for value in row["recorded"] if value is not None]
            item = items[row["item_id"]]
            scores.append(
                {"item": row["item_id"], "system": item["system"], "group": item["group_id"],
                 "value": sum(read) / len(read) if read else None}
            )  # fmt: skip
    labels = [{"item": id_, "value": row["human"][name]["mean"]} for id_, row in items.items()]
    found, expected = card(tmp_path, scores, labels), published["topical_chat"][f"{protocol}/{name}"]
    assert found["item"]["pearson"]["n"] == expected["n"]
    assert found["item"]["pearson"]["value"] == pytest.approx(expected["dataset_pearson"], abs=1e-6)
    for statistic in ("pearson", "spearman", "kendall"):
        estimate = found["group"][statistic]
        assert estimate["value"] == pytest.approx(expected[f"doc_{statistic}"], abs=1e-6)
        assert estimate["n"] == expected["docs_used"]


@pytest.mark.parametrize("name", ["arena_votes", "cascade"])
def test_agreement_and_kappa_of_published_choices(
    name: str, real_rows: RealRows, published: dict[str, Any], tmp_path: Path
) -> None:
    rows = real_rows(name)
    for judge in dict.fromkeys(row["judge"] for row in rows):
        mine = [row for row in rows if row["judge"] == judge]
        found = card(
            tmp_path,
            [{"item": row["item"], "criterion": "choice", "value": row["choice"]} for row in mine],
            [{"item": row["item"], "criterion": "choice", "value": row["human"]} for row in mine],
        )
        expected = published[name][judge]
        assert found["item"]["exact"]["value"] == pytest.approx(expected["agreement"], abs=1e-6)
        assert found["item"]["kappa"]["value"] == pytest.approx(expected["kappa"], abs=1e-6)


def test_choices_that_both_orders_share(
    real_rows: RealRows, published: dict[str, Any], tmp_path: Path
) -> None:
    split = {row["item_id"]: row["split"] for row in real_rows("llmbar.items")}
    rows = [
        {"item": row["item_id"], "judge": "|".join((row["judge"], row["protocol"], split[row["item_id"]])),
         "order": row["order"], "choice": row["recorded"] if row["recorded"] in ("a", "b", "tie") else None}
        for row in real_rows("llmbar.judgments")
    ]  # fmt: skip
    judges = adjudge("audit", "--scores", write_rows(tmp_path / "s.jsonl", rows), "--json").json["judges"]
    for cell in published["llmbar"]:
        position = judges["|".join((cell["judge"], cell["protocol"], cell["split"]))]["position"]
        n_same, n = map(int, cell["equal"].split(" = ")[0].split(" / "))
        assert (position["same"], position["n"] + position["failed"]) == (n_same, n)
    orders = adjudge("audit", "--scores", write_rows(tmp_path / "o.jsonl", real_rows("orders_ko")), "--json")
    for judge, expected in published["orders_ko"].items():
        position = orders.json["judges"][judge]["position"]
        assert [position[name] for name in ("same", "first", "second", "ties", "failed")] == [
            expected[name] for name in ("same", "flips_to_first", "flips_to_second", "one_tie", "errors")
        ]
        assert position["n"] - position["other_answers"] == expected["same_answers_in_both_orders"]


def test_shifts_of_published_probes(real_rows: RealRows, published: dict[str, Any], tmp_path: Path) -> None:
    scores = write_rows(tmp_path / "s.jsonl", real_rows("perturbed_scores"))
    judge = adjudge("audit", "--scores", scores, "--json").json["judges"]["gpt-4o"]
    probes = judge["criteria"]["score"]["probes"]
    expected = published["perturbed_scores"]["gpt-4o"]["probes"]
    assert set(expected) <= set(probes)
    for name, cell in expected.items():
        assert probes[name]["shift"]["value"] == pytest.approx(cell["mean_diff"], abs=1e-5)
        assert (probes[name]["n"], probes[name]["control"]) == (cell["n"], cell["control"])


def test_correlations_at_each_level(vectors: dict[str, Any], tmp_path: Path) -> None:
    given, expected = (vectors["correlation_levels"][part] for part in ("inputs", "expected"))
    found = grid(tmp_path, given["human"], given["judge"])
    constant = vectors["correlation_input_level_constant_row"]
    partly = grid(tmp_path, constant["inputs"]["human"], constant["inputs"]["judge"])
    for name in ("pearson", "spearman", "kendall"):
        for level, theirs in (("system", "system"), ("group", "input"), ("item", "global")):
            assert found[level][name]["value"] == pytest.approx(expected[f"{theirs}_{name}"], abs=1e-9)
        assert partly["group"][name]["value"] == pytest.approx(
            constant["expected"][f"input_{name}"], abs=1e-9
        )
        assert partly["group"][name]["n"] == constant["expected"]["n_used"]
    ties = vectors["ties_pooled"]
    pooled = grid(tmp_path, *([[value] for value in ties["inputs"][who]] for who in ("human", "judge")))
    for name, theirs in (("pearson", "pearson"), ("spearman", "spearman"), ("kendall", "tau_b")):
        assert pooled["item"][name]["value"] == pytest.approx(ties["expected"][theirs], abs=1e-9)
    pairwise = vectors["wmt_pairwise_accuracy_tie_calibration"]
    accuracy = grid(tmp_path, pairwise["inputs"]["human"], pairwise["inputs"]["judge"])["pairwise"]
    assert accuracy["plain"]["value"] == pytest.approx(pairwise["expected"]["acc23_at_eps0"], abs=1e-9)
    assert accuracy["best"]["value"] == pytest.approx(pairwise["expected"]["acc_eq_star"], abs=1e-9)
    assert accuracy["eps"] == pytest.approx(pairwise["expected"]["best_eps"], abs=1e-9)


def test_agreement_of_raters_and_categories(vectors: dict[str, Any], tmp_path: Path) -> None:
    ratings = vectors["multi_rater_agreement"]["inputs"]["ratings_items_x_raters"]
    judge = [{"item": place, "criterion": "c", "value": 3 + place % 2} for place in range(len(ratings))]
    ceiling = card(tmp_path, judge, rated(ratings), "--scale", "1,5")["ceiling"]
    noise = vectors["noise_ceiling"]["expected"]
    assert ceiling["value"] == pytest.approx(noise["lower_loo_mean_spearman"], abs=1e-9)
    assert ceiling["upper"]["value"] == pytest.approx(noise["upper_mean_spearman"], abs=1e-9)
    alpha = vectors["multi_rater_agreement"]["expected"]["alpha_interval"]
    assert ceiling["alpha"]["value"] == pytest.approx(alpha, abs=1e-9)
    for name, key in (("cohen_kappa", "quadratic"), ("cohen_kappa_missing_category", "quadratic_labels_1_5")):
        first, second = (vectors[name]["inputs"][side] for side in ("a", "b"))
        scores = [{"item": place, "criterion": "c", "value": value} for place, value in enumerate(first)]
        item = card(tmp_path, scores, rated([[value] for value in second]), "--scale", "1,5")["item"]
        assert item["kappa"]["value"] == pytest.approx(vectors[name]["expected"][key], abs=1e-9)
    same = [{"item": place, "criterion": "c", "value": 3} for place in range(3)]
    item = card(tmp_path, same, rated([[3]] * 3))["item"]
    assert (item["kappa"]["value"], item["exact"]["value"]) == (None, 1.0)
    assert item["kappa"]["reason"]


def test_means_corrected_by_labels_and_positions(vectors: dict[str, Any], tmp_path: Path) -> None:
    given, expected = (vectors["ppi_mean"][part] for part in ("inputs", "expected"))
    values = [*given["Yhat_labeled"], *given["Yhat_unlabeled"]]
    scores = [{"item": place, "system": "s", "value": value} for place, value in enumerate(values)]
    mean = card(tmp_path, scores, rated([[value] for value in given["Y"]]))["corrected"]["s"]
    assert mean["value"] == pytest.approx(expected["ppipp_point"], abs=1e-9)
    assert mean["labels_only"]["value"] == pytest.approx(expected["classical_mean"], abs=1e-9)
    given, expected = (vectors["position_bias"][part] for part in ("inputs", "expected"))
    in_frame = {"ab": {"A": "a", "B": "b", "tie": "tie"}, "ba": {"A": "b", "B": "a", "tie": "tie"}}
    rows = [
        {"item": place, "order": order, "choice": in_frame[order][said]}
        for order, key in (("ab", "verdict_order_AB"), ("ba", "verdict_order_BA_by_position"))
        for place, said in enumerate(given[key])
    ]
    audited = adjudge("audit", "--scores", write_rows(tmp_path / "p.jsonl", rows), "--json").json
    position = audited["judges"]["judge"]["position"]
    shares = [position[name] / position["n"] for name in ("same", "first", "second", "ties")]
    assert shares == pytest.approx(
        [expected[name] for name in ("consistency", "first_biased", "second_biased", "other_inconsistent")]
    )
    assert position["p"] == pytest.approx(expected["primacy_preference_p_binom"])

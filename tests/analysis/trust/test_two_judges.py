"""Several judges, several samples, several systems on one card."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from adjudge.analysis.trust.card import JudgePair, Sentence
from adjudge.analysis.trust.two_judges import two_judges_sentence
from adjudge.records import Choice, Estimate, Label, Result, Scale
from adjudge.stats import Test, TwoJudges, mcnemar, soft_pairwise_accuracy
from judged import FIVE, choice, score
from running import DIRECT, adjudge, write_rows
from views import judge_card

scored = partial(score, criterion="tact", model="judge", n_samples=1)


def chosen(item: str, winner: Choice | None, model: str) -> Result:
    return choice(item, winner, "old", "new", model=model)


def test_of_two_judges_of_pairs_the_one_that_is_right_more_often_is_better() -> None:
    """Both right on 20, the first alone on 15, the second alone on 4, one failed on 1."""
    results, labels = [], []
    for k in range(40):
        first: Choice | None = "a" if k < 35 else "b"
        second: Choice | None = "a" if k < 20 or k >= 35 else "b"
        results += [chosen(f"i{k}", first, "one"), chosen(f"i{k}", None if k == 39 else second, "two")]
        labels.append(Label(f"i{k}", "overall", "ann", "a"))
    (apart,) = judge_card(results, labels).judges
    assert apart.mcnemar is not None
    assert apart.mcnemar.p == pytest.approx(mcnemar(15, 4).p)
    assert apart.result.difference.value == pytest.approx((15 - 4) / 39)
    assert apart.result.first.value == pytest.approx(35 / 39)
    assert (apart.first, apart.second) == ("overall · one", "overall · two")


def test_a_better_second_judge_is_named_first_and_the_difference_turned() -> None:
    rng = random.Random(3)
    truth = [rng.randint(1, 5) for _ in range(80)]
    results = [
        msgspec.structs.replace(scored(f"i{k}", float(value)), model=model)
        for model, values in (("coin", [rng.randint(1, 5) for _ in truth]), ("exact", truth))
        for k, value in enumerate(values)
    ]
    labels = [Label(f"i{k}", "tact", "ann", float(value)) for k, value in enumerate(truth)]
    (apart,) = judge_card(results, labels).judges
    assert (apart.result.difference.high or 0) < 0
    assert apart.sentence.text.index("'exact'") < apart.sentence.text.index("'coin'")
    assert f" {-(apart.result.difference.value or 0):.2f} [" in apart.sentence.text
    assert apart.result.permutation.p is not None


def test_judges_without_a_common_item_are_not_compared() -> None:
    results = [scored("x", 3), scored("y", 4), *(_by("two", f"z{k}") for k in range(3))]
    labels = [Label(name, "tact", "ann", 3.0 + k) for k, name in enumerate(("x", "y", "z0", "z1"))]
    (apart,) = judge_card(results, labels).judges
    assert (apart.result.difference.value, apart.result.difference.n) == (None, 0)


def _by(model: str, item: str) -> Result:
    return msgspec.structs.replace(scored(item, 2), model=model)


def test_repeated_scores_of_an_item_give_the_reliability_of_asking_again() -> None:
    """Scores made elsewhere with three rows an item; the one-way analysis of variance by hand."""
    rng = np.random.default_rng(5)
    table = np.round(np.clip(rng.normal(3, 1, (30, 1)) + rng.normal(0, 0.5, (30, 3)), 1, 5), 2)
    results = [scored(f"i{k}", float(value)) for k in range(30) for value in table[k]]
    reliability = judge_card(results, [Label("i0", "tact", "ann", 3.0)]).criteria["tact"].quality.retest
    within = table.var(axis=1, ddof=1).mean()
    between = table.mean(axis=1).var(ddof=1) - within / 3
    assert reliability is not None
    assert reliability.within == pytest.approx(within)
    assert reliability.between == pytest.approx(between)
    assert reliability.single.value == pytest.approx(between / (between + within))
    assert reliability.mean.value == pytest.approx(between / (between + within / 3))


def test_a_card_of_single_judgments_speaks_of_no_reliability() -> None:
    card = judge_card([scored("x", 3), scored("y", 4)], [Label("x", "tact", "ann", 3.0)])
    assert card.criteria["tact"].quality.retest is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of thirty items by two judges, three samples each; one judge is noisier."""
    path = tmp_path_factory.mktemp("judges")
    items = [
        {"id": f"i{k}", "group": f"g{k // 2}", "system": "odd" if k % 2 else "even", "instruction": "x",
         "response": f"answer {k}"}
        for k in range(30)
    ]  # fmt: skip
    write_rows(path / "items.jsonl", items)
    rng = random.Random(6)
    truth = {f"i{k}": rng.randint(1, 5) for k in range(30)}
    for name, noise in (("sharp", (0, 0, 0, 1)), ("dull", (-2, -1, 0, 1, 2))):
        rows = [
            {"item": item, "sample": sample, "text": f"[RESULT] {min(5, max(1, value + rng.choice(noise)))}"}
            for item, value in truth.items()
            for sample in range(3)
        ]
        write_rows(path / f"{name}.jsonl", rows)
        done = adjudge(
            "run", path / "items.jsonl", *DIRECT, "-m", f"replay:{path / name}.jsonl", "--samples", "3",
            "--run", name, "--store", path / "s.db",
        )  # fmt: skip
        assert done.code == 0, done.err
    write_rows(
        path / "labels.jsonl",
        [
            {"item": item, "criterion": "tact", "rater": "ann", "value": value}
            for item, value in truth.items()
        ],
    )
    return path


def test_two_runs_are_held_against_the_same_people(folder: Path) -> None:
    both = ("sharp", "--versus", "dull", "--labels", folder / "labels.jsonl", "--store", folder / "s.db")
    card = adjudge("trust", *both, "--json").json
    (apart,) = card["judges"]
    assert apart["first"].endswith("sharp.jsonl")
    assert apart["result"]["difference"]["low"] > 0
    assert apart["result"]["williams"]["p"] < 0.05
    assert len(card["criteria"]) == 2


def test_the_samples_of_a_run_are_read_from_its_store(folder: Path) -> None:
    def card(run: str) -> Any:
        asked = ("trust", run, "--labels", folder / "labels.jsonl", "--store", folder / "s.db")
        return adjudge(*asked, "--json").json["criteria"]["tact"]["quality"]["retest"]

    sharp, dull = card("sharp"), card("dull")
    assert sharp["n_items"] == dull["n_items"] == 30
    assert sharp["within"] < dull["within"]
    assert sharp["single"]["value"] > dull["single"]["value"]
    replies = [msgspec.json.decode(line) for line in (folder / "dull.jsonl").read_bytes().splitlines()]
    table = np.array([float(row["text"][-1]) for row in replies]).reshape(30, 3)
    assert dull["within"] == pytest.approx(table.var(axis=1, ddof=1).mean())


def test_one_model_in_two_runs_is_named_by_the_run(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "same.db"
    for run, limit in (("all", "30"), ("some", "20")):
        done = adjudge(
            "run", folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'sharp.jsonl'}", "--run", run,
            "--limit", limit, "--store", store,
        )  # fmt: skip
        assert done.code == 0, done.err
    card = adjudge(
        "trust", "all", "--versus", "some", "--labels", folder / "labels.jsonl", "--store", store, "--json"
    ).json
    assert [name.rpartition(" in ")[2] for name in card["criteria"]] == ["all", "some"]
    assert card["judges"][0]["result"]["difference"]["n"] == 20


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("sharp", "--versus", "sharp"), "sharp"),
        (("sharp", "--versus", "none"), "none"),
        (("--scores", "x.csv", "--versus", "dull"), "--versus"),
    ],
)
def test_a_second_judge_that_cannot_be_used_is_a_mistake(
    folder: Path, arguments: tuple[str, ...], named: str
) -> None:
    done = adjudge("trust", *arguments, "--labels", folder / "labels.jsonl", "--store", folder / "s.db")
    assert done.code == 2
    assert named in done.err


def test_labels_made_by_annotate_are_used_where_no_file_is_given(folder: Path, tmp_path: Path) -> None:
    from adjudge.store import open_store

    store = tmp_path / "labelled.db"
    store.write_bytes((folder / "s.db").read_bytes())
    kept = [
        Label(f"i{k}", "tact", "web", float(1 + k % 5), origin="annotate", probability=0.5) for k in range(15)
    ]
    with open_store(store) as opened:
        opened.put_labels(kept, opened.run("sharp"))
    asked = ("trust", "sharp", "--store", store, "--json")
    card = adjudge(*asked).json
    assert card["criteria"]["tact"]["raters"] == ["web"]
    assert card["criteria"]["tact"]["n_labelled"] == 15
    assert card["criteria"]["tact"]["notes"] == []
    both = adjudge(*asked, "--labels", folder / "labels.jsonl").json
    assert both["criteria"]["tact"]["raters"] == ["ann"]
    assert any("15" in note for note in both["notes"]), "the labels in the store that are not used"


def test_labels_drawn_by_system_are_weighted_by_the_systems_items() -> None:
    """System A has 90 items and B 10, ten labels each: the plain mean of the labels would be near 3."""
    rng = random.Random(8)
    results, labels = [], []
    for k in range(100):
        system, level = ("A", 2) if k < 90 else ("B", 4)
        value = float(level + rng.choice([-1, 0, 1]))
        results.append(scored(f"i{k}", min(5.0, value + rng.choice([0, 0, 1])), system))
        if k < 10 or k >= 90:
            labels.append(Label(f"i{k}", "tact", "ann", value, probability=10 / 90 if k < 90 else 1.0))
    card = judge_card(results, labels, scales={"tact": FIVE}).criteria["tact"]
    assert card.pooled is not None
    assert "2 strata" in card.pooled.method
    for mean in (card.pooled, card.pooled.labels_only):
        assert mean.low is not None
        assert mean.high is not None
        assert mean.low < 2.2 < mean.high < 2.9
    assert sum(float(label.value) for label in labels) / len(labels) > 2.7
    # Items of their own: the systems' difference is that of independent means.
    assert "independent" in card.differences["A - B"].method
    assert (card.differences["A - B"].high or 0) < 0


def test_labels_with_chances_of_their_own_are_weighted_one_by_one() -> None:
    rng = random.Random(9)
    results = [scored(f"i{k}", float(1 + k % 5), "AB"[k % 2]) for k in range(200)]
    # A high score is four times as likely to be labelled.
    labels = []
    for k in range(200):
        chance = 0.8 if k % 5 > 2 else 0.2
        if rng.random() < chance:
            labels.append(Label(f"i{k}", "tact", "ann", float(1 + k % 5 - (k % 7 == 0)), probability=chance))
    card = judge_card(results, labels, scales={"tact": Scale(low=0, high=5, best=5, step=1)}).criteria["tact"]
    truth = sum(1 + k % 5 - (k % 7 == 0) for k in range(200)) / 200
    plain = sum(float(label.value) for label in labels) / len(labels)
    assert plain > truth + 0.4
    assert card.pooled is not None
    assert "strata" not in card.pooled.method
    assert card.pooled.value == pytest.approx(truth, abs=0.15)


def test_one_system_and_choices_have_no_mean_over_systems() -> None:
    card = judge_card([scored("x", 3), scored("y", 4)], [Label("x", "tact", "ann", 3.0)])
    assert card.criteria["tact"].pooled is None
    pairs = [chosen(f"i{k}", "a", "m") for k in range(4)]
    assert judge_card(pairs, [Label("i0", "overall", "ann", "a")]).criteria["overall"].pooled is None


def test_soft_pairwise_accuracy_is_one_minus_the_mean_gap_of_permutation_p_values() -> None:
    """Against the published definition, by 20,000 random swaps for each pair of systems."""
    rng = np.random.default_rng(0)
    human = rng.normal(0, 0.5, (40, 1)) + np.linspace(0, 0.5, 6) + rng.normal(0, 1, (40, 6))
    judge = 0.6 * human + rng.normal(0, 1, (40, 6))
    signs = rng.integers(0, 2, (20_000, 40)) * 2 - 1

    def p_values(table: Any) -> Any:
        gaps = [table[:, i] - table[:, j] for i in range(6) for j in range(i + 1, 6)]
        return np.array([np.mean(signs @ gap >= gap.sum()) for gap in gaps])

    expected = 1 - np.abs(p_values(human) - p_values(judge)).mean()
    groups, systems = np.repeat(np.arange(40), 6).tolist(), np.tile(np.arange(6), 40).tolist()
    accuracy = soft_pairwise_accuracy(judge.ravel().tolist(), human.ravel().tolist(), groups, systems)
    assert accuracy.value == pytest.approx(expected, abs=0.01)
    assert accuracy.low is not None
    assert accuracy.high is not None
    assert 0 <= accuracy.low < expected < accuracy.high <= 1
    both = soft_pairwise_accuracy(
        judge.ravel().tolist(), human.ravel().tolist(), groups, systems, resample="both"
    )
    assert both.unit == "group (n=40) and system (n=6)"
    assert both.low is not None
    assert both.low < accuracy.low
    same = soft_pairwise_accuracy(human.ravel().tolist(), human.ravel().tolist(), groups, systems)
    assert same.value == 1
    assert same.low is None


@pytest.mark.parametrize(
    ("groups", "systems"), [([1, 1, 2, 2], "aaaa"), ([1, 2, 3, 4], "abab"), ([1, 1, 1, 1], "abab")]
)
def test_soft_pairwise_accuracy_takes_two_systems_on_two_inputs(groups: list[int], systems: str) -> None:
    accuracy = soft_pairwise_accuracy([1, 2, 3, 4], [2, 3, 4, 5], groups, list(systems))
    assert accuracy.value is None
    assert accuracy.reason


def test_soft_pairwise_accuracy_weights_items_also_where_the_judge_failed_on_whole_inputs() -> None:
    rng = np.random.default_rng(4)
    human, groups, systems = rng.normal(size=60), np.repeat(np.arange(20), 3), np.tile(np.arange(3), 20)
    failed = (groups % 5 == 0) | (rng.random(60) < 0.2)
    chances = np.where(human > 0, 0.9, 0.45)
    kept = np.flatnonzero(~failed)

    def accuracy(rows: Any) -> Any:
        judge = [None if failed[row] else float(human[row] + systems[row] / 3) for row in rows]
        return soft_pairwise_accuracy(
            judge, human[rows].tolist(), groups[rows].tolist(), systems[rows].tolist(),
            probabilities=chances[rows].tolist(),
        )  # fmt: skip

    whole, answered = accuracy(np.arange(60)), accuracy(kept)
    assert whole.value is not None
    assert (whole.value, whole.low, whole.high) == (answered.value, answered.low, answered.high)


def test_python_takes_a_second_run_and_a_check_of_the_reader(folder: Path, tmp_path: Path) -> None:
    import adjudge as library
    from adjudge.engine import Progress, Run
    from adjudge.errors import DataError

    run = Run(name="sharp", store=str(folder / "s.db"), status="done", progress=Progress())
    check = tmp_path / "check.csv"
    done = adjudge("sample", "sharp", "--replies", "-n", "9", "-o", check, "--store", folder / "s.db")
    assert done.code == 0, done.err
    check.write_text(check.read_text(encoding="utf-8").replace(",ok,", ",ok,yes"), encoding="utf-8")
    card = library.trust(run, folder / "labels.jsonl", versus="dull", checked=check, n_resamples=100)
    assert len(card.judges) == 1
    assert card.misread is not None
    assert card.misread.n == 9
    with pytest.raises(DataError, match="versus"):
        library.trust([scored("x", 3)], [Label("x", "tact", "ann", 3.0)], versus="dull")


def test_two_judges_that_score_alike_are_equivalent_in_both_orders() -> None:
    """The verdict says that a difference is small, which one that is not significant need not be."""
    values = [float(1 + k % 5) for k in range(300)]
    nearly = [value if k % 60 != 1 else 6 - value for k, value in enumerate(values)]
    also = [value if (k + 7) % 60 != 1 else 6 - value for k, value in enumerate(values)]
    people = [Label(f"i{k}", "clarity", "ann", value) for k, value in enumerate(values)]
    for first, second in ((nearly, also), (also, nearly)):
        results = [
            score(f"i{k}", value, model=model)
            for model, column in (("one", first), ("two", second))
            for k, value in enumerate(column)
        ]
        (pair,) = judge_card(results, people, scales={"clarity": FIVE}, margin=0.15).judges
        assert pair.equivalence is not None
        assert pair.equivalence.verdict == "equivalent"
        assert "are equivalent: their agreement with people differs by less than 0.15" in pair.sentence.text
        (strict,) = judge_card(results, people, scales={"clarity": FIVE}, margin=0.001).judges
        assert strict.equivalence is not None
        assert strict.equivalence.verdict != "equivalent"
        assert "do not differ significantly" in strict.sentence.text


@pytest.mark.parametrize(
    ("low", "p", "says"),
    [
        (0.02, 0.01, "agrees significantly better"),
        (0.02, 0.08, "the interval excludes 0, but the test is not significant"),
        (-0.02, 0.03, "the test is significant, but the interval includes 0"),
        (-0.02, 0.3, "do not differ significantly"),
    ],
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_judge_is_better_only_where_interval_and_test_say_so(
    low: float, p: float, says: str, sign: float
) -> None:
    def estimate(value: float) -> Estimate:
        return Estimate(value, value - 0.1, value + 0.1, 60)

    better, worse = estimate(0.6), estimate(0.5)
    ends = sorted((sign * low, sign * 0.3))
    difference = Estimate(sign * 0.1, ends[0], ends[1], 60)
    sides = (better, worse) if sign > 0 else (worse, better)
    found = TwoJudges(*sides, difference, Test(0.1, p, 60, "permutation"), Test(None, None, 60, "none"))
    text = two_judges_sentence(JudgePair("tact", "one", "two", Sentence("", ""), found)).text
    assert says in text
    assert ("significantly better" in text) == (says == "agrees significantly better")

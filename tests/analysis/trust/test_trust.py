"""The judge card: what it says of judges whose faults are known, and of input that allows no answer."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.analysis.trust.card import Card, CriterionCard
from adjudge.analysis.trust.misread import with_misread
from adjudge.analysis.trust.trust import trust
from adjudge.analysis.trust.words.card import trust_sections
from adjudge.errors import DataError
from adjudge.records import Estimate, Label, Result, Scale
from adjudge.sections import cell_text
from adjudge.stats import wilson
from judged import FIVE, choice, score
from thorough import tries
from views import facts, judge_card, summarise


def scored(
    item: str, value: float | None, system: str = "all", group: str | None = None, **fields: Any
) -> Result:
    counts = {"n_samples": 1, "n_failed": int(value is None)}
    return score(item, value, system, group, criterion="tact", model="judge", **counts, **fields)


def chosen(item: str, choice_: Any, a: str = "old", b: str = "new") -> Result:
    return choice(item, choice_, a, b, model="judge")


def label(item: str, value: float | str, rater: str = "ann", criterion: str = "tact", **more: Any) -> Label:
    return Label(item, criterion, rater, value, **more)


def only(results: Iterable[Result], labels: Sequence[Label], **settings_: Any) -> CriterionCard:
    card = judge_card(results, labels, scales={"tact": FIVE}, **settings_)
    assert len(card.criteria) == 1
    return next(iter(card.criteria.values()))


def people(n: int, n_raters: int = 3, seed: int = 1, shift: float = 0.0) -> tuple[list[Result], list[Label]]:
    """A judge and raters who see the same truth, each with noise; the judge gives `shift` more."""
    rng = random.Random(seed)
    results, labels = [], []
    for k in range(n):
        truth = rng.choice([2, 3, 3, 4])

        def seen(truth: int = truth) -> float:
            return float(min(5, max(1, truth + rng.choice([-1, 0, 0, 0, 1]))))

        results.append(scored(f"i{k}", min(5.0, seen() + shift), "AB"[k % 2], f"g{k // 2}"))
        labels += [label(f"i{k}", seen(), f"r{rater}") for rater in range(n_raters)]
    return results, labels


def test_the_label_of_an_item_is_the_mean_of_its_raters() -> None:
    results = [scored("x", 1), scored("y", 2), scored("z", 4)]
    labels = [label("x", 1, "ann"), label("x", 2, "ben"), label("y", 3, "ann"), label("z", 5, "ben")]
    card = only(results, labels)
    assert card.bias.value == pytest.approx(((1 - 1.5) + (2 - 3) + (4 - 5)) / 3)
    assert card.item["spearman"].value == pytest.approx(1)
    assert card.raters == ("ann", "ben")


def test_the_detectable_difference_is_that_of_the_report() -> None:
    rng = random.Random(3)
    results = [
        scored(f"{system}{k}", rng.randint(1, 5), system, f"g{k // size}")
        for system, n, size in (("A", 30, 3), ("B", 12, 2), ("C", 20, 5))
        for k in range(n)
    ]
    card = only(results, [label("A0", 3), label("B1", 4)])
    found = summarise(results, facts=facts(scales={("p", "tact"): FIVE})).criteria["tact"]
    assert card.quality.minimum_detectable is not None
    assert card.quality.minimum_detectable == pytest.approx(found.minimum_detectable)


def test_systems_fail_unequally_only_where_a_test_over_all_of_them_says_so() -> None:
    rng = random.Random(8)

    def results(rates: Sequence[float]) -> list[Result]:
        return [
            scored(f"{number}-{k}", None if rng.random() < rate else 4.0, f"s{number}", f"g{k}")
            for number, rate in enumerate(rates)
            for k in range(60)
        ]

    labels = [label("0-0", 3)]
    equal = [only(results([0.1] * 30), labels).quality.failures_p or 0 for _ in range(8)]
    assert sum(p < 0.05 for p in equal) <= 2
    assert (only(results([0.1] * 29 + [0.6]), labels).quality.failures_p or 1) < 0.001
    assert only(results([0.0] * 3), labels).quality.failures_p is None


def test_the_differences_of_all_pairs_hold_together() -> None:
    rng = random.Random(4)
    names = [f"s{number}" for number in range(7)]
    results, labels = [], []
    for k in range(40):
        for name in names:
            truth = rng.randint(2, 4)
            results.append(scored(f"{name}-{k}", truth, name, f"g{k}"))
            if k < 20:
                labels.append(label(f"{name}-{k}", truth + rng.choice([-1, 0, 1])))
    card = only(results, labels)
    assert len(card.differences) == 21, "not only those from the best"
    alone = only(
        [one for one in results if one.system in names[:2]],
        [one for one in labels if one.item.split("-")[0] in names[:2]],
    )
    of_all, of_two = card.differences["s0 - s1"], alone.differences["s0 - s1"]
    assert of_all.value == pytest.approx(of_two.value)
    wide, narrow = ((one.high or 0) - (one.low or 0) for one in (of_all, of_two))
    assert 1.4 < wide / narrow < 1.8, "t at 0.05 / 21 over t at 0.05"


def test_a_judge_as_noisy_as_a_rater_agrees_about_as_well_as_one() -> None:
    card = only(*people(400))
    assert card.ceiling is not None
    assert card.ceiling.share.value == pytest.approx(1, abs=0.1)
    assert card.alt_test is not None
    assert card.alt_test.passes is True


def test_a_judge_that_guesses_does_not_agree_with_people() -> None:
    results, labels = people(200)
    rng = random.Random(5)
    guessed = [msgspec.structs.replace(result, value=float(rng.randint(1, 5))) for result in results]
    card = only(guessed, labels)
    assert card.ceiling is not None
    assert (card.ceiling.share.high or 1) < 1
    assert card.alt_test is not None
    assert card.alt_test.passes is False
    alone = only(guessed, [label for label in labels if label.rater == "r0"]).item["spearman"]
    assert (alone.low or 0) < 0 < (alone.high or 0)


def test_a_judge_that_gives_half_a_point_more_is_too_kind_by_that() -> None:
    results, labels = people(400)
    kinder = [msgspec.structs.replace(result, value=(result.value or 0) + 0.5) for result in results]
    before, after = only(results, labels), only(kinder, labels)
    assert (after.bias.value or 0) - (before.bias.value or 0) == pytest.approx(0.5)
    assert (after.bias.low or 0) > 0


def test_the_corrected_mean_finds_what_people_said_of_all_items() -> None:
    results, labels = people(1000, shift=1.0)
    truth = {
        system: sum(float(result.value) for result, owner in _with_system(labels, results) if owner == system)
        / sum(owner == system for _, owner in _with_system(labels, results))
        for system in "AB"
    }
    drawn = set(random.Random(3).sample([result.item for result in results], 200))
    card = only(results, [label for label in labels if label.item in drawn])
    for system in "AB":
        mean = card.corrected[system]
        assert mean.low is not None
        assert mean.high is not None
        assert mean.low <= truth[system] <= mean.high
        assert (mean.judge_only.value or 0) > truth[system] + 0.5
        assert (mean.effective_labels or 0) > mean.n
    assert list(card.differences) == ["A - B"]


def _with_system(labels: Sequence[Label], results: Sequence[Result]) -> list[tuple[Label, str]]:
    owner = {result.item: result.system for result in results}
    return [(label, owner[label.item]) for label in labels]


def test_failures_are_counted_and_compared_between_systems() -> None:
    results, labels = people(200)
    failing = [
        scored(result.item, None, result.system, result.group)
        if result.system == "B" and k % 3 == 0
        else result
        for k, result in enumerate(results)
    ]
    n_failed = sum(result.value is None for result in failing)
    card = only(failing, labels)
    assert card.n_failed == n_failed
    for estimate in card.item.values():
        assert (estimate.n, estimate.n_failed, estimate.n_undefined) == (200 - n_failed, n_failed, 0)
    a, b = (card.quality.failures[system] for system in "AB")
    assert (b.failed.low or 0) > (a.failed.high or 0)
    assert b.by_status == {"unparsed": n_failed}
    known = [result.value or 0 for result in failing if result.system == "B" and result.value is not None]
    assert b.bounds is not None
    assert b.bounds.low == pytest.approx((sum(known) + n_failed * 1) / 100)
    assert b.bounds.high == pytest.approx((sum(known) + n_failed * 5) / 100)


def test_choices_are_held_against_the_majority() -> None:
    results = [chosen(f"p{k}", "a" if k % 4 else "b") for k in range(40)]
    labels = [
        label(f"p{k}", "a" if rater < 2 else "b", f"r{rater}", "overall")
        for k in range(40)
        for rater in range(3)
    ]
    card = judge_card(results, labels).criteria["overall"]
    assert card.kind == "choices"
    assert card.item["exact"].value == pytest.approx(0.75)
    assert card.corrected["old"].labels_only.value == 1
    assert card.ceiling is not None
    assert card.ceiling.value == pytest.approx(1 / 3)
    assert card.ceiling.judge.value == pytest.approx(0.75 * 2 / 3 + 0.25 / 3)


def test_a_failed_choice_stays_among_the_choices() -> None:
    results = [chosen("p0", "a"), chosen("p1", None), chosen("p2", "b")]
    card = judge_card(results, [label(f"p{k}", "a", criterion="overall") for k in range(3)])
    assert list(card.criteria) == ["overall"]
    assert card.criteria["overall"].n_failed == 1


def test_both_responses_of_a_pair_belong_together() -> None:
    results = [
        scored(f"p{k}", 1 + (k + place) % 5, system, subject=subject)
        for k in range(12)
        for place, (subject, system) in enumerate((("a", "old"), ("b", "new")))
    ]
    labels = [
        label(result.item, 1 + (round(result.value or 0) % 3), subject=result.subject) for result in results
    ]
    card = only(results, labels)
    assert card.n_labelled == 24
    assert card.item["pearson"].unit == "group (n=12)"


def test_quadratic_kappa_counts_distances_and_only_gwets_coefficient_needs_the_levels() -> None:
    results = [scored(f"i{k}", value) for k, value in enumerate([1, 1, 5, 5])]
    labels = [label(f"i{k}", value) for k, value in enumerate([1, 2, 5, 4])]
    criterion = only(results, labels).item["kappa"]
    # Quadratic: observed (0 + 1 + 0 + 1) / 4; expected over all 16 combinations of the two columns.
    expected = sum((judged - other) ** 2 for judged in (1, 1, 5, 5) for other in (1, 2, 5, 4)) / 16
    assert criterion.value == pytest.approx(1 - 0.5 / expected)
    unknown = judge_card(results, labels).criteria["tact"].item
    assert unknown["kappa"] == criterion, "squared distances need no levels"
    assert unknown["gwet"].value is None
    assert unknown["gwet"].reason


def test_labels_on_another_scale_allow_correlations_and_nothing_that_needs_one_scale() -> None:
    results = [scored(f"i{k}", 1 + k % 5) for k in range(40)]
    labels = [label(f"i{k}", float(k % 5 > 2)) for k in range(40)]
    card = only(results, labels)
    assert card.item["spearman"].value == pytest.approx(0.866, abs=0.01)
    assert card.item["exact"].value is card.item["kappa"].value is card.bias.value is None
    assert card.notes
    assert card.corrected["all"].value == pytest.approx(0.4)
    assert card.corrected["all"].bias.value is None


def test_a_slip_off_the_scale_is_left_out_and_named() -> None:
    results = [scored(f"i{k}", 1 + k % 5) for k in range(40)]
    labels = [label(f"i{k}", 44.0 if k == 7 else 1 + k % 4) for k in range(40)]
    card = only(results, labels)
    assert card.n_labelled == 39
    assert "i7 = 44" in card.notes[0]


@pytest.mark.parametrize(
    ("results", "labels"),
    [
        pytest.param([scored("x", 3)], [label("i1", 3)], id="no overlap"),
        pytest.param([scored("x", 3)], [label("x", 4)], id="one item"),
        pytest.param([scored(f"i{k}", 3) for k in range(9)], [label(f"i{k}", 1 + k % 5) for k in range(9)],
        id="constant judge"),
        pytest.param([scored(f"i{k}", k % 5 + 1) for k in range(9)], [label(f"i{k}", 2) for k in range(9)],
        id="constant labels"),
        pytest.param([scored(f"i{k}", None) for k in range(9)], [label(f"i{k}", 2) for k in range(9)],
        id="all failed"),
        pytest.param([scored("x", 3)], [label("x", 3, criterion="clarity")], id="other criterion"),
        pytest.param([scored("x", 3)], [label("x", "tie")], id="other kind"),
    ],
)  # fmt: skip
def test_where_agreement_is_undefined_a_reason_is_given(results: list[Result], labels: list[Label]) -> None:
    card = judge_card(results, labels, scales={"tact": FIVE})
    for name, estimate in card.criteria["tact"].item.items():
        assert estimate.value is None or name not in ("spearman", "pearson", "kendall")
    assert card.summary
    assert_explained(card)


def test_an_item_of_two_systems_is_refused_because_a_label_could_mean_either() -> None:
    with pytest.raises(DataError, match=r"'x'.*A, B"):
        judge_card([scored("x", 1, "A"), scored("x", 2, "B")], [label("x", 1)])


def test_without_results_there_is_an_explanation() -> None:
    with pytest.raises(DataError):
        judge_card([], [label("x", 1)])


def test_labels_of_criteria_that_were_not_judged_are_named() -> None:
    results, labels = people(20)
    card = judge_card(results, [*labels, label("i1", 3, criterion="warmth")])
    assert "warmth" in card.notes[0]


def test_several_criteria_are_summed_up_together() -> None:
    results, labels = people(60)
    rng = random.Random(2)
    other = [
        msgspec.structs.replace(result, criterion="depth", value=float(rng.randint(1, 5)))
        for result in results
    ]
    depth = [msgspec.structs.replace(label, criterion="depth") for label in labels]
    card = judge_card([*results, *other], [*labels, *depth])
    agreement = {
        name: criterion_card.item["spearman"].value or 0 for name, criterion_card in card.criteria.items()
    }
    assert agreement["tact"] > agreement["depth"]
    assert len(card.summary) == 3


def test_one_seed_gives_one_card() -> None:
    results, labels = people(60)
    first, second = (judge_card(results, labels, seed=4) for _ in range(2))
    assert first == second
    assert judge_card(results, labels, seed=5) != first


@pytest.mark.parametrize(
    ("resample", "unit"), [("systems", "system (n=2)"), ("both", "group (n=30) and system (n=2)")]
)
def test_the_unit_of_resampling_is_named_and_too_few_are_warned_about(resample: Any, unit: str) -> None:
    results, labels = people(60)
    estimate = judge_card(results, labels, resample=resample).criteria["tact"].item["spearman"]
    assert estimate.unit == unit
    assert estimate.caution


def test_of_two_judges_the_one_that_follows_people_is_shown_to_be_better() -> None:
    results, labels = people(120)
    rng = random.Random(9)
    worse = [
        msgspec.structs.replace(result, model="coin", value=float(rng.randint(1, 5)) if k else None)
        for k, result in enumerate(results)
    ]
    card = judge_card([*results, *worse], labels)
    assert list(card.criteria) == ["tact · judge", "tact · coin"]
    (apart,) = card.judges
    assert (apart.first, apart.second) == ("tact · judge", "tact · coin")
    assert apart.result.difference.low is not None
    assert apart.result.difference.low > 0
    assert apart.result.difference.n == 119
    assert (apart.result.permutation.p or 1) < 0.01
    assert_explained(card)


def test_a_plan_asks_for_fewer_labels_with_a_judge_that_follows_people() -> None:
    results, labels = people(1000)
    drawn = [label for label in labels if int(label.item[1:]) < 100]
    plan = judge_card(results, drawn, plan_width=0.3).criteria["tact"].plan["A"]
    assert plan.with_judge is not None
    assert plan.without_judge is not None
    assert plan.n_labels == 50
    assert plan.with_judge < plan.without_judge
    assert judge_card(results, drawn).criteria["tact"].plan == {}


def test_two_levels_give_the_share_that_people_would_pass() -> None:
    """Sensitivity 0.9, specificity 0.8, and the judge passes 0.55 of the rest: (0.55 - 0.2) / 0.7 = 0.5."""
    two = Scale(low=0, high=1, best=1, step=1)
    results, labels = [], []
    for k in range(200):
        is_good = k < 100
        is_right = k % 10 != 0 if is_good else k % 5 != 0
        results.append(scored(f"i{k}", float(is_good == is_right)))
        labels.append(label(f"i{k}", float(is_good)))
    results += [scored(f"rest{k}", float(k < 55)) for k in range(100)]
    card = judge_card(results, labels, scales={"tact": two}).criteria["tact"]
    assert card.pass_share["all"].value == pytest.approx(0.5)
    assert judge_card(results, labels).criteria["tact"].pass_share == {}


def test_calibration_takes_a_constant_kindness_away() -> None:
    results, labels = people(300)
    kinder = [msgspec.structs.replace(result, value=(result.value or 0) + 1) for result in results]
    before, after = (judge_card(given, labels).criteria["tact"].calibration for given in (results, kinder))
    # A rising curve can undo any shift: what is left is the judge's noise, the same with the kindness and
    # without.
    assert after["after"].value == pytest.approx(before["after"].value)
    assert after["before"].low is not None
    assert after["after"].high is not None
    assert after["after"].high < after["before"].low
    assert after["ordinal"].high is not None
    assert after["ordinal"].high < after["before"].low
    for name in ("after", "ordinal"):
        assert (after[f"error_{name}"].value or 9) < 0.5 * (after["error_before"].value or 0)


def test_trust_takes_results_with_a_list_or_a_file_of_labels(tmp_path: Path) -> None:
    results, labels = people(30)
    rows = [f"{label.item},{label.criterion},{label.rater},{label.value}" for label in labels]
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(["item,criterion,rater,value", *rows]), encoding="utf-8")
    by_list = trust(results, labels, scales={"tact": FIVE}, seed=2)
    assert by_list == trust(results, path, scales={"tact": FIVE}, seed=2)
    assert by_list.criteria["tact"].scale == FIVE
    with pytest.raises(DataError, match="labels"):
        trust(results)


def estimates(value: Any) -> Iterator[Estimate]:
    if isinstance(value, Estimate):
        yield value
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from estimates(getattr(value, name))
    elif isinstance(value, dict | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from estimates(inner)


def assert_explained(card: Card) -> None:
    """No number without a value lacks its reason, no NaN anywhere, and every table can be made."""
    all_estimates = list(estimates(card))
    assert all_estimates
    for estimate in all_estimates:
        for number in (estimate.value, estimate.low, estimate.high):
            assert number is None or math.isfinite(number)
        assert estimate.value is not None or estimate.reason
    for part in trust_sections(card):
        assert all(len(row) == len(part.columns) for row in part.rows)
        assert not any("nan" in cell_text(cell).split() for row in part.rows for cell in row)
    msgspec.json.decode(msgspec.json.encode(card))


_ids = st.sampled_from([f"i{k}" for k in range(6)])
_values = st.none() | st.floats(-10, 10) | st.sampled_from([1.0, 2.0, 5.0])


@settings(max_examples=tries(40))
@given(
    scores=st.dictionaries(
        _ids, st.tuples(_values, st.sampled_from("AB"), st.sampled_from(["g", "h", None]))
    ),
    said=st.dictionaries(st.tuples(_ids, st.sampled_from(["r", "s"])), st.floats(-3, 8)),
)
def test_any_scores_and_labels_give_a_card_without_gaps_in_its_reasons(
    scores: dict[str, Any], said: dict[tuple[str, str], float]
) -> None:
    results = [scored("always", 3), *(scored(item, *rest) for item, rest in scores.items())]
    labels = [label(item, value, rater) for (item, rater), value in said.items()]
    card = judge_card(results, labels, scales={"tact": FIVE})
    assert_explained(card)
    assert_explained(with_misread(card, wilson(1, 7)))


def test_few_labels_leave_agreement_and_bias_open() -> None:
    results, labels = people(40)
    few = only(results, [label for label in labels if int(label.item[1:]) < 4])
    assert few.n_labelled == 4
    single = only(results, labels[:1])
    assert (single.n_labelled, single.bias.low) == (1, None)


def test_too_few_labels_of_each_system_still_correct_the_mean_of_all() -> None:
    results, labels = people(40)
    card = only(results, [label for label in labels if int(label.item[1:]) in (0, 1, 4, 9)])
    assert card.corrected["A"].value is None
    assert card.pooled is not None
    assert card.pooled.value is not None


def test_a_likelihood_is_on_no_scale_of_peoples() -> None:
    results, labels = people(60)
    values = [msgspec.structs.replace(result, value=0.3 * (result.value or 0) - 4) for result in results]
    scale = Scale(low=None, high=None, best="high")
    card = judge_card(values, labels, scales={"tact": scale}).criteria["tact"]
    assert card.item["spearman"].value == pytest.approx(only(results, labels).item["spearman"].value)
    assert card.bias.value is card.item["exact"].value is card.item["kappa"].value is None
    assert card.corrected["A"].value is not None
    assert card.alt_test is not None
    assert card.alt_test.passes is None
    assert_explained(judge_card(values, labels, scales={"tact": scale}))


def test_two_judges_of_one_criterion_are_not_called_two_criteria() -> None:
    results, labels = people(60)
    other = [
        msgspec.structs.replace(result, model="other", value=6 - (result.value or 0)) for result in results
    ]
    card = judge_card([*results, *other], labels)
    assert {criterion.criterion for criterion in card.criteria.values()} == {"tact"}
    assert len(card.summary) == 4
    assert card.summary[3] == card.judges[0].sentence
    assert card.judges[0].result.difference.n == 60

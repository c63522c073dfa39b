"""Two runs on the same items: what is joined, what is subtracted, and what is concluded."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from msgspec import structs
from scipy import stats

import adjudge
from adjudge.analysis.compare.compare import compare_views
from adjudge.analysis.compare.comparison import Comparison, CriterionComparison
from adjudge.analysis.compare.scaling import inferred
from adjudge.analysis.run_view.run_view import Digests
from adjudge.analysis.run_view.tabulate import Digested
from adjudge.errors import DataError
from adjudge.records import Choice, Item, Judgment, Result, Scale, Score
from adjudge.results.call_digests import call_digests
from adjudge.stats import detectable, paired_difference, units_needed
from adjudge.store import CallSpec, Judged
from judged import FIVE, choice, score
from views import view


def scored(
    values: Mapping[str, float | None] | Sequence[float | None], criterion: str = "clarity", **fields: Any
) -> list[Result]:
    """One result for each value; none is a failure."""
    named = values if isinstance(values, Mapping) else {f"i{k}": value for k, value in enumerate(values)}
    return [score(item, value, criterion=criterion, **fields) for item, value in named.items()]


def chosen(choices: Iterable[Choice | None], a: str = "old", b: str = "new", **fields: Any) -> list[Result]:
    return [choice(f"i{k}", choice_, a, b, **fields) for k, choice_ in enumerate(choices)]


def compared(
    first: list[Result], second: list[Result], scale: Scale | None = FIVE, **more: Any
) -> Comparison:
    scales = {"clarity": scale} if scale is not None else None
    return adjudge.compare(first, second, scales=scales, names=("old", "new"), **more)


def only(comparison: Comparison) -> CriterionComparison:
    assert len(comparison.criteria) == 1
    return next(iter(comparison.criteria.values()))


def noise(n: int, seed: int, centre: float = 3.0) -> list[float]:
    source = random.Random(seed)
    return [min(5.0, max(1.0, round(source.gauss(centre, 0.9)))) for _ in range(n)]


def test_the_difference_is_that_of_a_paired_t_test() -> None:
    first, second = noise(40, 1), noise(40, 2, 3.6)
    row = only(compared(scored(first), scored(second))).systems["all"]
    expected = stats.ttest_rel(second, first)
    interval = expected.confidence_interval()
    assert row.difference.value == pytest.approx(sum(second) / 40 - sum(first) / 40)
    assert (row.difference.low, row.difference.high) == pytest.approx((interval.low, interval.high))
    assert row.p == pytest.approx(expected.pvalue)


@pytest.mark.slow
def test_a_small_p_value_survives_the_correction_for_hundreds_of_tests() -> None:
    source = random.Random(3)
    base = {f"i{k}": source.gauss(50, 10) for k in range(400)}
    moved = {item: value + 2 + source.gauss(0, 4) for item, value in base.items()}
    names = [f"c{k}" for k in range(300)]
    found = compared(
        [result for name in names for result in scored(base, name)],
        [result for name in names for result in scored(moved, name)],
    )
    assert all(one.systems["all"].is_shown for one in found.criteria.values())
    assert all((one.systems["all"].p or 1) < 1e-15 for one in found.criteria.values())


def test_equal_differences_of_many_items_have_the_p_value_of_their_signs() -> None:
    row = only(compared(scored([3.0] * 50), scored([4.0] * 50))).systems["all"]
    assert row.p == pytest.approx(2.0**-49)
    assert 0 < (only(compared(scored([3.0] * 3000), scored([4.0] * 3000))).systems["all"].p or 0) < 1e-300


def test_the_sign_flip_p_value_is_the_exact_one() -> None:
    first = [3.0] * 10
    second = [3 + d for d in (0.3, -0.1, 0.4, 0.2, -0.2, 0.5, 0.1, 0.3, -0.1, 0.2)]
    # scipy.stats.permutation_test(permutation_type="samples") on these differences.
    assert only(compared(scored(first), scored(second))).systems["all"].p == pytest.approx(0.080078125)


def test_items_of_one_group_count_once_in_interval_and_test() -> None:
    apart = [1.0, 0.0, 1.0, -1.0, 0.5, 1.5, 0.0, 1.0]
    first = [
        result for k in range(8) for result in scored({f"i{k}-{j}": 2.0 for j in range(6)}, group=f"g{k}")
    ]
    second = [
        result
        for k in range(8)
        for result in scored({f"i{k}-{j}": 2.0 + apart[k] for j in range(6)}, group=f"g{k}")
    ]
    row = only(compared(first, second)).systems["all"]
    alone = stats.ttest_1samp(apart, 0).confidence_interval()
    assert row.difference.n == 48
    assert (row.difference.low, row.difference.high) == pytest.approx((alone.low, alone.high))
    flips = stats.permutation_test((apart,), sum, permutation_type="samples", n_resamples=10_000).pvalue
    assert row.p == pytest.approx(flips)


def test_p_values_are_corrected_for_all_criteria_and_systems() -> None:
    first = scored(noise(30, 3)) + scored(noise(30, 4), "tact")
    second = scored(noise(30, 5, 3.5)) + scored(noise(30, 6, 3.3), "tact")
    comparison = compared(first, second)
    p = sorted(criterion.systems["all"].p or 0 for criterion in comparison.criteria.values())
    adjusted = sorted(criterion.systems["all"].p_adjusted or 0 for criterion in comparison.criteria.values())
    assert adjusted == pytest.approx([min(1, 2 * p[0]), max(min(1, 2 * p[0]), p[1])])


def test_items_that_failed_on_one_side_are_counted_and_bounded() -> None:
    criterion = only(compared(scored([3.0, None, 4.0, None, 2.0]), scored([4.0, 5.0, None, None, 2.0])))
    row = criterion.systems["all"]
    assert (row.n_failed_first, row.n_failed_second, row.n_failed_both, row.difference.n) == (1, 1, 1, 2)
    assert row.difference.n_failed == 3
    # The missing values at either end of 1 to 5: 1+(0..4)+(-3..1)+(-4..4)+0 over five items.
    assert row.bounds is not None
    assert (row.bounds.low, row.bounds.high) == pytest.approx((-6 / 5, 10 / 5))


def test_systems_whose_order_is_shown_the_other_way_round_reverse_the_conclusion() -> None:
    def run(good: str) -> list[Result]:
        rows = []
        for k in range(20):
            for system in ("x", "y"):
                value = 4.0 + k % 2 if system == good else 2.0 + k % 2
                rows += scored({f"{k}-{system}": value}, system=system, group=f"g{k}")
        return rows

    criterion = only(compared(run("x"), run("y")))
    assert criterion.conclusion == "reversed"
    assert criterion.order is not None
    assert (criterion.order.first, criterion.order.second) == (("x", "y"), ("y", "x"))
    assert criterion.order.kendall.value == -1
    assert [pair.change for pair in criterion.order.pairs] == ["reversed"]
    same = only(compared(run("x"), run("x")))
    assert (same.conclusion, same.order.n_flipped if same.order else None) == ("holds", 0)


def test_a_claim_that_only_one_run_shows_is_marked() -> None:
    first = [
        r
        for k in range(12)
        for s, v in (("x", 4.0), ("y", 3.0))
        for r in scored({f"{k}{s}": v + k % 2}, system=s, group=f"g{k}")
    ]
    source = random.Random(1)
    second = [
        r
        for k in range(12)
        for s in "xy"
        for r in scored({f"{k}{s}": float(source.randint(1, 5))}, system=s, group=f"g{k}")
    ]
    criterion = only(compared(first, second))
    assert criterion.conclusion == "differs"
    assert criterion.order is not None
    assert criterion.order.pairs[0].change == "only first"


def test_other_scales_are_compared_as_shares() -> None:
    ten = Scale(0.0, 10.0, 10.0)
    first = [
        score(f"i{k}", v, protocol="a@1", normalized=FIVE.normalized(v)) for k, v in enumerate(noise(20, 7))
    ]
    second = [
        score(f"i{k}", 2 * v, protocol="b@1", normalized=ten.normalized(2 * v))
        for k, v in enumerate(noise(20, 8))
    ]
    criterion = only(compared(first, second, scale=None))
    assert criterion.unit == "normalized"
    assert criterion.systems["all"].difference.value == pytest.approx(
        sum(r.normalized or 0 for r in second) / 20 - sum(r.normalized or 0 for r in first) / 20
    )


def test_the_scale_behind_normalised_results_is_found() -> None:
    for scale in (FIVE, Scale(1.0, 5.0, 1.0), Scale(0.0, 10.0, 10.0), Scale(-3.0, 3.0, 3.0)):
        rows = [score(str(v), v, normalized=scale.normalized(v)) for v in (1.0, 2.0, 3.0)]
        inferred_scales = inferred(rows)
        assert inferred_scales is not None
        assert (inferred_scales.low, inferred_scales.high, inferred_scales.best) == pytest.approx(
            (scale.low, scale.high, scale.best)
        )
    assert inferred(scored([1.0, 2.0])) is None


def test_where_the_good_end_is_unknown_nothing_is_called_better() -> None:
    unknown = Scale(1.0, 5.0, "unknown", 1.0)
    first, second = noise(40, 9), noise(40, 9)
    turned = [6 - value for value in second]
    criterion = only(compared(scored(first), scored(turned), unknown))
    assert (criterion.unit, criterion.direction) == ("points", 0)
    assert criterion.agreement["spearman"].value == pytest.approx(-1)


def test_an_unknown_end_on_another_scale_leaves_only_ranks() -> None:
    first = scored(noise(20, 1), protocol="a@1")
    second = scored([2 * value for value in noise(20, 1)], protocol="b@1")
    comparison = compare_views(
        view(first, {"clarity": Scale(1.0, 5.0, "unknown")}, name="old"),
        view(second, {"clarity": Scale(0.0, 10.0, 10.0)}, name="new"),
    )
    criterion = only(comparison)
    assert criterion.unit == "rank"
    assert criterion.systems["all"].difference.value is None
    assert criterion.systems["all"].difference.reason
    assert criterion.agreement["spearman"].value == pytest.approx(1)


def test_a_scale_whose_low_end_is_good_turns_the_direction() -> None:
    low = Scale(0.0, 5.0, 0.0)
    first, second = noise(30, 2, 3.5), noise(30, 3, 2.0)
    criterion = only(compared(scored(first), scored(second), low))
    assert criterion.direction == -1
    assert (criterion.systems["all"].difference.high or 0) < 0


def test_two_versions_under_other_names_are_still_compared_by_item() -> None:
    first = scored(noise(20, 1), system="v1")
    second = scored(noise(20, 2, 4.0), system="v2")
    criterion = only(compared(first, second))
    assert list(criterion.systems) == ["v1 → v2"]
    assert criterion.systems["v1 → v2"].difference.n == 20
    assert (criterion.systems["v1 → v2"].system_first, criterion.systems["v1 → v2"].system_second) == (
        "v1",
        "v2",
    )


def test_one_model_on_each_side_is_compared_whatever_its_name() -> None:
    criterion = only(compared(scored(noise(9, 1), model="a"), scored(noise(9, 2), model="b")))
    assert criterion.models == ("a", "b")


def test_several_models_are_compared_each_with_itself() -> None:
    first = scored([3.0, 4.0, 5.0], model="a") + scored([2.0, 2.0, 2.0], model="b")
    second = (
        scored([3.0, 4.0, 5.0], model="a") + scored([3.0, 3.0, 3.0], model="b") + scored([1.0] * 3, model="c")
    )
    comparison = compared(first, second)
    assert [
        round(criterion.systems["all"].difference.value or 0, 6) for criterion in comparison.criteria.values()
    ] == [0, 1]
    assert list(comparison.criteria) == ["clarity · a", "clarity · b"]
    assert len({note for criterion in comparison.criteria.values() for note in criterion.notes}) == 1, (
        "c is named"
    )


def test_models_that_are_not_in_both_runs_count_by_their_mean() -> None:
    first = scored([3.0, 4.0, None], model="a") + scored([1.0, 2.0, 2.0], model="b")
    second = scored([3.0, 3.0, 3.0], model="c")
    criterion = only(compared(first, second))
    assert criterion.systems["all"].first.value == pytest.approx((2 + 3 + 2) / 3)
    assert any("a, b" in note and "1 " in note for note in criterion.notes)


def test_two_protocols_of_one_criterion_are_matched_by_their_ids() -> None:
    first = scored([3.0, 4.0], protocol="a@1") + scored([1.0, 2.0], protocol="b@1")
    second = scored([4.0, 5.0], protocol="a@2") + scored([1.0, 2.0], protocol="c@1")
    comparison = compared(first, second)
    assert list(comparison.criteria) == ["a/clarity", "b/clarity"]
    assert comparison.criteria["b/clarity"].protocols == ("b@1", "c@1")


def test_ids_that_several_systems_share_are_joined_by_system_too() -> None:
    rows = scored({"q1": 3.0, "q2": 4.0}, system="x") + scored({"q1": 1.0, "q2": 2.0}, system="y")
    more = scored({"q1": 3.0, "q2": 5.0}, system="x") + scored({"q1": 2.0, "q2": 2.0}, system="y")
    criterion = only(compared(rows, more))
    assert {
        name: compared_system.difference.value for name, compared_system in criterion.systems.items()
    } == {"x": 0.5, "y": 0.5}


def digests_of(judged: Sequence[Judged], run: int = 1) -> Digests:
    digests = Digested(f"adjudge.db {run}")
    for (protocol, model), digest in call_digests(judged).items():
        digests.add(Result("q", protocol, "clarity", model, "ok"), digest)
    return digests.by_item


def test_the_same_calls_with_other_replies_are_not_the_same() -> None:
    item, slot = Item(id="q", fields={}), CallSpec("p@1", ("clarity",), "m", "ab", 0, "generate")
    kind = Judgment((Score("clarity", "ok", value=4.0),), "key", explanation="Kind.")
    enough = structs.replace(kind, explanation="Kind enough.")
    judged_call = Judged(item, 0, 0, slot, "key", None, None, kind)
    assert (
        digests_of([judged_call])
        == digests_of([structs.replace(judged_call, seq=7, call_index=3)], run=2)
        != {}
    )
    assert digests_of([judged_call]) != digests_of([structs.replace(judged_call, judgment=enough)])
    assert digests_of([judged_call]) != digests_of([structs.replace(judged_call, call="another")])
    # A second question has no judgment of its own; a call without a reply is the same as itself alone.
    again = structs.replace(
        judged_call, call_index=1, about=structs.replace(slot, kind="reask"), judgment=None
    )
    assert digests_of([judged_call, again]) == digests_of([again, judged_call], run=2)
    missing = structs.replace(judged_call, judgment=None)
    assert digests_of([missing]) == digests_of([missing])
    assert digests_of([missing]) != digests_of([missing], run=2)


def test_only_where_every_item_is_the_same_nothing_can_differ() -> None:
    rows = scored([3.0, 4.0, None, 4.0])
    same = {(f"i{k}", "p@1"): {"m": k} for k in range(4)}
    sides = [view(rows, {"clarity": FIVE}, name=name, digests=same) for name in ("old", "new")]
    compared_system = only(compare_views(*sides)).systems["all"]
    assert (
        compared_system.n_same,
        compared_system.is_same,
        compared_system.difference.value,
        compared_system.difference.low,
    ) == (4, True, 0.0, None)
    for other in ({**same, ("i1", "p@1"): {"m": 99}}, dict(list(same.items())[1:]), {}):
        compared_system = only(compare_views(sides[0], structs.replace(sides[1], digests=other))).systems[
            "all"
        ]
        assert not compared_system.is_same
        assert (compared_system.difference.value, compared_system.bounds is None) == (0, False)
        assert (compared_system.difference.low or 0) < -1
    # Of a panel only the judge that is compared counts.
    panel = structs.replace(sides[1], digests={key: {**by_judge, "n": 7} for key, by_judge in same.items()})
    assert only(compare_views(sides[0], panel)).systems["all"].is_same


def test_an_interval_without_0_beside_a_corrected_p_is_doubtful() -> None:
    first = [3.0] * 12
    second = [3.0, 4.0, 4.0, 3.0, 4.0, 4.0, 3.0, 5.0, 3.0, 4.0, 3.0, 3.0]
    rows = [scored(first, system="x"), scored({f"y{k}": 3.0 for k in range(12)}, system="y")]
    more = [
        scored(second, system="x"),
        scored({f"y{k}": 3.0 + k % 2 - (k % 3 == 0) for k in range(12)}, system="y"),
    ]
    compared_system = only(compared([*rows[0], *rows[1]], [*more[0], *more[1]])).systems["x"]
    assert compared_system.p is not None
    assert compared_system.p <= 0.05 < (compared_system.p_adjusted or 0)
    assert (compared_system.difference.low or 0) > 0
    assert (compared_system.is_shown, compared_system.is_doubtful) == (False, True)
    alone = only(compared(rows[0], more[0])).systems["x"]
    assert (alone.is_shown, alone.is_doubtful) == (True, False)


def test_choices_with_ties_are_tested_by_the_shares_that_are_shown() -> None:
    # The system that is named first never won, and ties in the other run: McNemar's test of wins has nothing
    # to test.
    criterion = only(compared(chosen(["b"] * 12), chosen(["tie"] * 12)))
    compared_system = criterion.systems["old vs new"]
    assert compared_system.difference.value == 0.5
    assert compared_system.p == pytest.approx(2 / 2**12)
    assert compared_system.is_shown


def test_choices_are_compared_by_agreement_and_mcnemar() -> None:
    table = {("a", "a"): 60, ("a", "b"): 12, ("b", "a"): 25, ("b", "b"): 53}
    first = [choice for (choice, _), n in table.items() for _ in range(n)]
    second = [choice for (_, choice), n in table.items() for _ in range(n)]
    criterion = only(compared(chosen(first), chosen(second)))
    row = criterion.systems["old vs new"]
    # statsmodels.stats.contingency_tables.mcnemar(exact=True) on this table.
    assert row.p == pytest.approx(0.04703102743951604)
    assert row.difference.value == pytest.approx(13 / 150)
    assert criterion.agreement["exact"].value == pytest.approx(113 / 150)
    metrics = pytest.importorskip("sklearn.metrics", reason="an oracle: pip install adjudge[oracles]")
    assert criterion.agreement["kappa"].value == pytest.approx(metrics.cohen_kappa_score(first, second))


def test_pairs_that_are_turned_round_in_the_other_run_mean_the_same() -> None:
    first = chosen(["a", "a", "b", "tie", "a"])
    second = chosen(["b", "b", "a", "tie", "b"], a="new", b="old")
    criterion = only(compared(first, second))
    assert criterion.agreement["exact"].value == 1
    assert list(criterion.systems) == ["old vs new"]
    assert criterion.systems["old vs new"].difference.value == 0


def test_a_winner_that_turns_round_reverses_the_conclusion_of_choices() -> None:
    comparison = compared(chosen(["a"] * 30 + ["b"] * 4), chosen(["b"] * 30 + ["a"] * 4))
    assert only(comparison).conclusion == "reversed"


def test_choices_and_scores_of_one_criterion_are_kept_apart() -> None:
    first = chosen(["a", "b", "a"]) + scored(
        [3.0, 4.0, 2.0], "overall", subject="a", system_a="old", system_b="new"
    )
    comparison = compared(first, first)
    assert sorted(comparison.criteria) == ["overall", "overall (choice)"]


def test_one_score_for_two_responses_cannot_be_held_against_two() -> None:
    pair = {"system_a": "x", "system_b": "y"}
    first_rows = scored([None, None], **pair) + scored([4.0, 3.0], "tact", **pair)
    two = [row for subject in "ab" for row in scored([4.0, 5.0], subject=subject, **pair)] + scored(
        [4.0, 3.0], "tact", **pair
    )
    comparison = compared(first_rows, two)
    assert list(comparison.criteria) == ["tact"]
    assert any("clarity" in note for note in comparison.notes)


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        (scored({"x": 1.0}), scored({"y": 1.0}), "'x'.*'y'"),
        (scored([1.0]), scored([1.0], "tact"), "clarity.*tact"),
        ([], scored([1.0]), "old"),
        (scored([1.0], protocol="a@1") + scored([1.0], protocol="b@1"),
         scored([1.0], protocol="c@1") + scored([1.0], protocol="d@1"), "a, b, c, d"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(first: list[Result], second: list[Result], named: str) -> None:
    with pytest.raises(DataError, match=f"(?s){named}"):
        compared(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([3.0], [4.0]),
        ([None, None], [None, 3.0]),
        ([None], [None]),
        ([3.0] * 5, [3.0] * 5),
        ([1.0, 5.0], [5.0, None]),
    ],
)
def test_degenerate_runs_give_reasons_in_place_of_numbers(
    first: list[float | None], second: list[float | None]
) -> None:
    comparison = compared(scored(first), scored(second))
    row = only(comparison).systems["all"]
    assert row.difference.low is not None or row.difference.reason
    assert all(
        "nan" not in text.lower().split() for text in (*comparison.summary, *only(comparison).sentences)
    )
    assert comparison.summary


def test_a_text_in_place_of_a_run_is_a_mistake_with_a_way_out() -> None:
    with pytest.raises(DataError, match=r"this is a name\. .*adjudge\.open_run\('old'\)"):
        adjudge.compare("old", "new")  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_digits() -> None:
    first, second = scored(noise(40, 1)), scored(noise(40, 2))
    assert compared(first, second, seed=5) == compared(first, second, seed=5)


def test_as_many_items_as_are_said_to_be_needed_find_the_difference() -> None:
    # statsmodels: TTestPower().solve_power(effect_size=0.2, power=0.8, alpha=0.05) = 198.15
    assert units_needed(0.2, 1.0) == 199
    assert units_needed(0.0, 1.0) is None
    assert units_needed(1e-6, 1.0) is None
    values = [float(k % 3) for k in range(60)]
    least = detectable(values)
    assert least is not None
    sd = stats.tstd(values)
    assert units_needed(least, sd) == pytest.approx(60, abs=1)


def test_bounds_need_a_closed_scale() -> None:
    assert paired_difference([1.0, None], [2.0, 3.0]).bounds is None
    limits = paired_difference([1.0, None], [2.0, 3.0], limits=(1.0, 5.0)).bounds
    assert limits is not None
    assert (limits.low, limits.high) == ((1 - 2) / 2, (1 + 2) / 2)

"""Two runs on the same items: what is joined, what is subtracted, and what is concluded."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from msgspec import structs
from scipy import stats

import adjudge
from adjudge.analysis.compare import compare_views
from adjudge.analysis.match import inferred
from adjudge.analysis.result_types import Comparison, CriterionComparison
from adjudge.analysis.run_view import Digests, SingleReplies
from adjudge.errors import DataError
from adjudge.records import Choice, Item, Judgment, Result, Scale, Score
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


def only(found: Comparison) -> CriterionComparison:
    assert len(found.criteria) == 1
    return next(iter(found.criteria.values()))


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
    found = compared(first, second)
    p = sorted(one.systems["all"].p or 0 for one in found.criteria.values())
    adjusted = sorted(one.systems["all"].p_adjusted or 0 for one in found.criteria.values())
    assert adjusted == pytest.approx([min(1, 2 * p[0]), max(min(1, 2 * p[0]), p[1])])


def test_items_that_failed_on_one_side_are_counted_and_bounded() -> None:
    found = only(compared(scored([3.0, None, 4.0, None, 2.0]), scored([4.0, 5.0, None, None, 2.0])))
    row = found.systems["all"]
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

    one = only(compared(run("x"), run("y")))
    assert one.conclusion == "reversed"
    assert one.order is not None
    assert (one.order.first, one.order.second) == (("x", "y"), ("y", "x"))
    assert one.order.kendall.value == -1
    assert [pair.change for pair in one.order.pairs] == ["reversed"]
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
    one = only(compared(first, second))
    assert one.conclusion == "differs"
    assert one.order is not None
    assert one.order.pairs[0].change == "only first"


def test_other_scales_are_compared_as_shares() -> None:
    ten = Scale(0.0, 10.0, 10.0)
    first = [
        score(f"i{k}", v, protocol="a@1", normalized=FIVE.normalized(v)) for k, v in enumerate(noise(20, 7))
    ]
    second = [
        score(f"i{k}", 2 * v, protocol="b@1", normalized=ten.normalized(2 * v))
        for k, v in enumerate(noise(20, 8))
    ]
    one = only(compared(first, second, scale=None))
    assert one.unit == "normalized"
    assert one.systems["all"].difference.value == pytest.approx(
        sum(r.normalized or 0 for r in second) / 20 - sum(r.normalized or 0 for r in first) / 20
    )


def test_the_scale_behind_normalised_results_is_found() -> None:
    for scale in (FIVE, Scale(1.0, 5.0, 1.0), Scale(0.0, 10.0, 10.0), Scale(-3.0, 3.0, 3.0)):
        rows = [score(str(v), v, normalized=scale.normalized(v)) for v in (1.0, 2.0, 3.0)]
        found = inferred(rows)
        assert found is not None
        assert (found.low, found.high, found.best) == pytest.approx((scale.low, scale.high, scale.best))
    assert inferred(scored([1.0, 2.0])) is None


def test_where_nobody_knows_the_good_end_nothing_is_called_better() -> None:
    unknown = Scale(1.0, 5.0, "unknown", 1.0)
    first, second = noise(40, 9), noise(40, 9)
    turned = [6 - value for value in second]
    one = only(compared(scored(first), scored(turned), unknown))
    assert (one.unit, one.direction) == ("points", 0)
    assert one.agreement["spearman"].value == pytest.approx(-1)


def test_an_unknown_end_on_another_scale_leaves_only_ranks() -> None:
    first = scored(noise(20, 1), protocol="a@1")
    second = scored([2 * value for value in noise(20, 1)], protocol="b@1")
    found = compare_views(
        view(first, {"clarity": Scale(1.0, 5.0, "unknown")}, name="old"),
        view(second, {"clarity": Scale(0.0, 10.0, 10.0)}, name="new"),
    )
    one = only(found)
    assert one.unit == "rank"
    assert one.systems["all"].difference.value is None
    assert one.systems["all"].difference.reason
    assert one.agreement["spearman"].value == pytest.approx(1)


def test_a_scale_whose_low_end_is_good_turns_the_direction() -> None:
    low = Scale(0.0, 5.0, 0.0)
    first, second = noise(30, 2, 3.5), noise(30, 3, 2.0)
    one = only(compared(scored(first), scored(second), low))
    assert one.direction == -1
    assert (one.systems["all"].difference.high or 0) < 0


def test_two_versions_under_other_names_are_still_compared_by_item() -> None:
    first = scored(noise(20, 1), system="v1")
    second = scored(noise(20, 2, 4.0), system="v2")
    one = only(compared(first, second))
    assert list(one.systems) == ["v1 → v2"]
    assert one.systems["v1 → v2"].difference.n == 20
    assert (one.systems["v1 → v2"].system_first, one.systems["v1 → v2"].system_second) == ("v1", "v2")


def test_one_model_on_each_side_is_compared_whatever_its_name() -> None:
    one = only(compared(scored(noise(9, 1), model="a"), scored(noise(9, 2), model="b")))
    assert one.models == ("a", "b")


def test_several_models_are_compared_each_with_itself() -> None:
    first = scored([3.0, 4.0, 5.0], model="a") + scored([2.0, 2.0, 2.0], model="b")
    second = (
        scored([3.0, 4.0, 5.0], model="a") + scored([3.0, 3.0, 3.0], model="b") + scored([1.0] * 3, model="c")
    )
    found = compared(first, second)
    assert [round(one.systems["all"].difference.value or 0, 6) for one in found.criteria.values()] == [0, 1]
    assert list(found.criteria) == ["clarity · a", "clarity · b"]
    assert len({note for one in found.criteria.values() for note in one.notes}) == 1, "c is named"


def test_models_that_are_not_in_both_runs_count_by_their_mean() -> None:
    first = scored([3.0, 4.0, None], model="a") + scored([1.0, 2.0, 2.0], model="b")
    second = scored([3.0, 3.0, 3.0], model="c")
    one = only(compared(first, second))
    assert one.systems["all"].first.value == pytest.approx((2 + 3 + 2) / 3)
    assert any("a, b" in note and "1 " in note for note in one.notes)


def test_two_protocols_of_one_criterion_are_matched_by_their_ids() -> None:
    first = scored([3.0, 4.0], protocol="a@1") + scored([1.0, 2.0], protocol="b@1")
    second = scored([4.0, 5.0], protocol="a@2") + scored([1.0, 2.0], protocol="c@1")
    found = compared(first, second)
    assert list(found.criteria) == ["a/clarity", "b/clarity"]
    assert found.criteria["b/clarity"].protocols == ("b@1", "c@1")


def test_ids_that_several_systems_share_are_joined_by_system_too() -> None:
    rows = scored({"q1": 3.0, "q2": 4.0}, system="x") + scored({"q1": 1.0, "q2": 2.0}, system="y")
    more = scored({"q1": 3.0, "q2": 5.0}, system="x") + scored({"q1": 2.0, "q2": 2.0}, system="y")
    one = only(compared(rows, more))
    assert {name: found.difference.value for name, found in one.systems.items()} == {"x": 0.5, "y": 0.5}


def digests_of(judged: Sequence[Judged], run: int = 1) -> Digests:
    replies = SingleReplies({}, has_samples=False, digest_salt=f"adjudge.db {run}", keeps_spans=False)
    list(replies.watch(judged))
    return replies.digests


def test_the_same_calls_with_other_replies_are_not_the_same() -> None:
    item, slot = Item(id="q", fields={}), CallSpec("p@1", ("clarity",), "m", "ab", 0, "generate")
    kind = Judgment((Score("clarity", "ok", value=4.0),), "key", explanation="Kind.")
    enough = structs.replace(kind, explanation="Kind enough.")
    one = Judged(item, 0, 0, slot, "key", None, None, kind)
    assert digests_of([one]) == digests_of([structs.replace(one, seq=7, call_index=3)], run=2) != {}
    assert digests_of([one]) != digests_of([structs.replace(one, judgment=enough)])
    assert digests_of([one]) != digests_of([structs.replace(one, call="another")])
    # A second question has no judgment of its own; a call without a reply is the same as itself alone.
    again = structs.replace(one, call_index=1, about=structs.replace(slot, kind="reask"), judgment=None)
    assert digests_of([one, again]) == digests_of([again, one], run=2)
    missing = structs.replace(one, judgment=None)
    assert digests_of([missing]) == digests_of([missing])
    assert digests_of([missing]) != digests_of([missing], run=2)


def test_only_where_every_item_is_the_same_nothing_can_differ() -> None:
    rows = scored([3.0, 4.0, None, 4.0])
    same = {(f"i{k}", "p@1"): {"m": k} for k in range(4)}
    sides = [view(rows, {"clarity": FIVE}, name=name, digests=same) for name in ("old", "new")]
    found = only(compare_views(*sides)).systems["all"]
    assert (found.n_same, found.is_same, found.difference.value, found.difference.low) == (4, True, 0.0, None)
    for other in ({**same, ("i1", "p@1"): {"m": 99}}, dict(list(same.items())[1:]), {}):
        found = only(compare_views(sides[0], structs.replace(sides[1], digests=other))).systems["all"]
        assert not found.is_same
        assert (found.difference.value, found.bounds is None) == (0, False)
        assert (found.difference.low or 0) < -1
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
    found = only(compared([*rows[0], *rows[1]], [*more[0], *more[1]])).systems["x"]
    assert found.p is not None
    assert found.p <= 0.05 < (found.p_adjusted or 0)
    assert (found.difference.low or 0) > 0
    assert (found.is_shown, found.is_doubtful) == (False, True)
    alone = only(compared(rows[0], more[0])).systems["x"]
    assert (alone.is_shown, alone.is_doubtful) == (True, False)


def test_choices_with_ties_are_tested_by_the_shares_that_are_shown() -> None:
    # The system that is named first never won, and ties in the other run: McNemar's test of wins has nothing to test.
    one = only(compared(chosen(["b"] * 12), chosen(["tie"] * 12)))
    found = one.systems["old vs new"]
    assert found.difference.value == 0.5
    assert found.p == pytest.approx(2 / 2**12)
    assert found.is_shown


def test_choices_are_compared_by_agreement_and_mcnemar() -> None:
    table = {("a", "a"): 60, ("a", "b"): 12, ("b", "a"): 25, ("b", "b"): 53}
    first = [choice for (choice, _), n in table.items() for _ in range(n)]
    second = [choice for (_, choice), n in table.items() for _ in range(n)]
    one = only(compared(chosen(first), chosen(second)))
    row = one.systems["old vs new"]
    # statsmodels.stats.contingency_tables.mcnemar(exact=True) on this table.
    assert row.p == pytest.approx(0.04703102743951604)
    assert row.difference.value == pytest.approx(13 / 150)
    assert one.agreement["exact"].value == pytest.approx(113 / 150)
    metrics = pytest.importorskip("sklearn.metrics", reason="an oracle: pip install adjudge[oracles]")
    assert one.agreement["kappa"].value == pytest.approx(metrics.cohen_kappa_score(first, second))


def test_pairs_that_are_turned_round_in_the_other_run_mean_the_same() -> None:
    first = chosen(["a", "a", "b", "tie", "a"])
    second = chosen(["b", "b", "a", "tie", "b"], a="new", b="old")
    one = only(compared(first, second))
    assert one.agreement["exact"].value == 1
    assert list(one.systems) == ["old vs new"]
    assert one.systems["old vs new"].difference.value == 0


def test_a_winner_that_turns_round_reverses_the_conclusion_of_choices() -> None:
    found = compared(chosen(["a"] * 30 + ["b"] * 4), chosen(["b"] * 30 + ["a"] * 4))
    assert only(found).conclusion == "reversed"


def test_choices_and_scores_of_one_criterion_are_kept_apart() -> None:
    first = chosen(["a", "b", "a"]) + scored(
        [3.0, 4.0, 2.0], "overall", subject="a", system_a="old", system_b="new"
    )
    found = compared(first, first)
    assert sorted(found.criteria) == ["overall", "overall (choice)"]


def test_one_score_for_two_responses_cannot_be_held_against_two() -> None:
    pair = {"system_a": "x", "system_b": "y"}
    one = scored([None, None], **pair) + scored([4.0, 3.0], "tact", **pair)
    two = [row for subject in "ab" for row in scored([4.0, 5.0], subject=subject, **pair)] + scored(
        [4.0, 3.0], "tact", **pair
    )
    found = compared(one, two)
    assert list(found.criteria) == ["tact"]
    assert any("clarity" in note for note in found.notes)


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
    found = compared(scored(first), scored(second))
    row = only(found).systems["all"]
    assert row.difference.low is not None or row.difference.reason
    assert all("nan" not in text.lower().split() for text in (*found.summary, *only(found).sentences))
    assert found.summary


def test_a_text_in_place_of_a_run_is_a_mistake_with_a_way_out() -> None:
    with pytest.raises(DataError, match="adjudge compare old RUN_B"):
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
    found = paired_difference([1.0, None], [2.0, 3.0], limits=(1.0, 5.0)).bounds
    assert found is not None
    assert (found.low, found.high) == ((1 - 2) / 2, (1 + 2) / 2)

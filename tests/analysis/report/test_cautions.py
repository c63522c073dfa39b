"""A report warns where a number would mislead, and is silent where it would not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import structs

from adjudge.analysis.report.screen_warnings import screen_warnings
from adjudge.analysis.report.summary import Summary
from adjudge.analysis.run_view.run_facts import ModelFacts
from adjudge.records import Result, Scale
from adjudge.stats import position_bias
from judged import FIVE, choice, score
from views import facts, summarise

FACTS = facts(scales={("p", name): FIVE for name in ("clarity", "depth")})


def results(
    values: Sequence[float | None],
    *,
    system: str = "x",
    criterion: str = "clarity",
    model: str = "m",
    n_groups: int = 0,
    flagged: Sequence[int] = (),
) -> list[Result]:
    return [
        score(
            f"{system}-{k}", value, system, f"g{k % n_groups}" if n_groups else None, criterion=criterion,
            model=model,
            flags=("injection_suspected",) if k in flagged else (),
        )
        for k, value in enumerate(values)
    ]  # fmt: skip


def kinds(summary: Summary) -> list[str]:
    return [caution.kind for caution in summary.warnings]


def text_of(summary: Summary, kind: str) -> str:
    """The one caution of a kind: for the names and counts in it, not for its words."""
    (caution,) = (caution for caution in summary.warnings if caution.kind == kind)
    return caution.text


VARIED: list[float | None] = [1, 2, 3, 4, 5, 3, 4, 2, 4, 5] * 10


def test_a_healthy_run_has_no_warning() -> None:
    rows = [*results(VARIED), *results(VARIED[::-1], system="y")]
    assert summarise(rows, facts=FACTS).warnings == ()


def test_a_system_that_fails_more_often_is_named_with_its_counts() -> None:
    rows = [*results([*VARIED, None]), *results([*VARIED[:80], *[None] * 20], system="y")]
    text = text_of(summarise(rows, facts=FACTS), "uneven_failures")
    assert all(word in text for word in (" y ", "20 of 100", "1 of 101"))


def test_a_few_failures_by_chance_are_no_difference() -> None:
    rows = [*results([*VARIED[:98], None, None]), *results([*VARIED[:95], *[None] * 5], system="y")]
    assert "uneven_failures" not in kinds(summarise(rows, facts=FACTS))


def test_samples_that_fail_within_scores_count_too() -> None:
    def sampled(system: str, n_failed: int) -> list[Result]:
        return [
            structs.replace(row, n_samples=20, n_failed=n_failed) for row in results(VARIED, system=system)
        ]

    text = text_of(summarise([*sampled("x", 0), *sampled("y", 5)], facts=FACTS), "uneven_failures")
    assert all(word in text for word in (" y ", "500 of 2,000", "0 of 2,000"))


def test_a_difference_on_one_criterion_is_not_lost_among_the_others() -> None:
    rows = []
    for name in ("clarity", "tone", "form", "length"):
        rows += [*results(VARIED[:40], criterion=name), *results(VARIED[:40], system="y", criterion=name)]
    rows += results(VARIED[:40], criterion="depth")
    rows += results([*VARIED[:28], *[None] * 12], system="y", criterion="depth")
    text = text_of(summarise(rows), "uneven_failures")
    assert all(word in text for word in ("depth", " y ", "12 of 40", "0 of 40"))


def test_criteria_that_fail_together_do_not_make_a_difference_surer() -> None:
    rows = []
    for name in ("clarity", "depth", "tone", "form", "length"):
        rows += results([*VARIED[:19], None], criterion=name)
        rows += results([*VARIED[:16], *[None] * 4], system="y", criterion=name)
    assert "uneven_failures" not in kinds(summarise(rows, facts=FACTS))


@pytest.mark.parametrize(("n_same", "is_warned"), [(19, True), (18, True), (15, False)])
def test_scores_that_are_nearly_all_the_same_carry_no_information(n_same: int, is_warned: bool) -> None:
    values: list[float | None] = [4.0] * n_same + [float(1 + n % 3) for n in range(20 - n_same)]
    assert ("no_information" in kinds(summarise(results(values), facts=FACTS))) == is_warned


@pytest.mark.parametrize(("value", "verb"), [(4.0, "are 4"), (4.2, "round to 4")])
def test_a_score_between_levels_is_said_to_round_to_one(value: float, verb: str) -> None:
    summary = summarise(results([value] * 20), facts=facts(scales={("p", "clarity"): Scale(1, 5, 5, step=1)}))
    assert f"20 of 20 scores on clarity {verb}:" in text_of(summary, "no_information")


def test_a_constant_system_beside_others_is_informative() -> None:
    rows = [*results([5.0] * 20), *results([3.0] * 20, system="y")]
    assert "no_information" not in kinds(summarise(rows, facts=FACTS))


def test_of_several_judges_the_constant_one_is_named() -> None:
    rows = [*results(VARIED, model="good"), *results([4.0] * 100, model="dull")]
    text = text_of(summarise(rows, facts=FACTS), "no_information")
    assert "dull" in text
    assert "good" not in text


def test_a_model_that_changed_its_name_in_the_run_is_reported() -> None:
    known = facts(models=(ModelFacts("m", {"m-old": 60, "m-new": 40}),))
    text = text_of(summarise(results(VARIED), facts=known), "model_changed")
    assert all(word in text for word in ("m-old", "60", "m-new", "40"))


def test_a_change_of_fingerprint_alone_is_reported_too() -> None:
    known = facts(models=(ModelFacts("m", {"m-1": 9}, {"fp1": 4, "fp2": 5}),))
    assert kinds(summarise(results(VARIED), facts=known)) == ["model_changed"]


def test_a_fake_judge_is_called_fake() -> None:
    known = facts(models=(ModelFacts("m", is_fake=True),))
    assert kinds(summarise(results(VARIED), facts=known)) == ["fake_model"]


@pytest.mark.parametrize(("n_groups", "is_warned"), [(5, True), (40, False)])
def test_few_groups_are_said_to_be_few(n_groups: int, is_warned: bool) -> None:
    assert ("few_groups" in kinds(summarise(results(VARIED, n_groups=n_groups), facts=FACTS))) == is_warned


def test_the_mean_is_given_with_and_without_suspicious_items() -> None:
    rows = results([5, 5, 1, 2, 3, 2], flagged=[0, 1])
    summary = summarise(rows, facts=FACTS)
    cell = summary.systems["x"]["clarity"]
    assert cell.without_flagged is not None
    assert (cell.n_flagged, cell.value, cell.without_flagged.value) == (2, 3.0, 2.0)
    assert "injection_suspected" in kinds(summary)
    assert summary.flags == {"injection_suspected": 2}


def test_near_duplicates_must_not_be_averaged_as_if_independent() -> None:
    rows = [*results(VARIED), *results(VARIED, criterion="depth")]
    text = text_of(summarise(rows, facts=FACTS), "near_duplicates")
    assert all(word in text for word in ("clarity", "depth", "1.00", "n=100"))


def test_a_run_in_which_all_failed_says_so_first() -> None:
    summary = summarise(results([None, None]), facts=FACTS)
    assert summary.warnings[0].kind == "all_failed"


def test_an_unknown_direction_is_warned() -> None:
    known = facts(scales={("p", "clarity"): Scale(1, 5, "unknown", 1)})
    assert "clarity" in text_of(summarise(results(VARIED), facts=known), "direction_unknown")


def test_log_probabilities_of_two_models_are_not_comparable() -> None:
    known = facts(scales={("p", "clarity"): Scale(None, None, "high")})
    rows = [*results([-1.5, -2.5]), *results([-3.0, -4.0], model="n")]
    assert "not_comparable" in kinds(summarise(rows, facts=known))
    assert "not_comparable" not in kinds(summarise(rows[:2], facts=known))


def test_judges_missing_from_a_panel_are_counted() -> None:
    rows = [*results([1, 2, 3]), *results([1, None, 3], model="n")]
    assert "1 of 3" in text_of(summarise(rows, facts=FACTS), "partial_panel")


def test_order_and_position_are_said_where_they_decide() -> None:
    changed = [choice(f"{k}", "tie", flags=("order_conflict",)) for k in range(7, 10)]
    rows = [*(choice(f"{k}", "a") for k in range(7)), *changed]
    facing = position_bias(["first"] * 10, ["second"] * 3 + ["first"] * 7)
    summary = summarise(rows, facts=facts(order={"overall": facing}))
    assert "3 of 10" in text_of(summary, "order_conflict")
    assert "overall" in text_of(summary, "position")
    steady = position_bias(["first"] * 7, ["second"] * 7)
    fair = summarise(rows[:7], facts=facts(order={"overall": steady}))
    assert not {"order_conflict", "position"} & set(kinds(fair))


def test_what_was_never_judged_is_warned_first() -> None:
    known = facts(n_planned=140, n_left_out=7, call_errors={"timeout": 3, "rate_limited": 1})
    summary = summarise(results(VARIED), facts=known)
    assert kinds(summary)[:3] == ["incomplete", "left_out", "failed_calls"]
    assert "100 of 140" in text_of(summary, "incomplete")
    assert "7" in text_of(summary, "left_out")
    assert summary.call_errors == {"timeout": 3, "rate_limited": 1}


@pytest.mark.parametrize(
    ("errors", "step"),
    [
        ({"too_long": 3}, "adjudge runs show r --failed"),
        ({"too_long": 3, "server": 1}, "repeat the command of the run"),
        ({"server": 1}, "repeat the command of the run"),
    ],
)
def test_a_command_is_repeated_only_where_that_can_help(errors: dict[str, int], step: str) -> None:
    known = facts(run="r", call_errors=errors, scales={("p", "clarity"): FIVE})
    found = summarise(results(VARIED), facts=known)
    (warning,) = [one for one in screen_warnings(found, None) if one.kind == "failed_calls"]
    assert warning.step == step
    whole = text_of(found, "failed_calls")
    assert ("Repeat the command" in whole) == ("server" in errors)
    assert ("a model with a longer context" in whole) == ("too_long" in errors)


@pytest.mark.parametrize(("status", "action"), [("running", "wait"), ("interrupted", "rerun")])
def test_only_a_run_that_has_stopped_can_be_resumed(status: str, action: str) -> None:
    scales = {("p", "clarity"): FIVE}
    known = facts(run="r", status=status, n_planned=1200, scales=scales)
    found = summarise(results(VARIED), facts=known)
    (warning,) = [one for one in screen_warnings(found, None) if one.kind == "incomplete"]
    assert (warning.action, "1,200" in warning.text) == (action, True)

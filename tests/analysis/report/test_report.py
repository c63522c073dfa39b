"""A summary says of every system and criterion what its results hold, and loses no failure."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import judged
from adjudge.analysis.report.summary import Summary
from adjudge.analysis.run_view.run_facts import ModelFacts, ProtocolFacts
from adjudge.records import Choice, Result, Scale, Subject
from adjudge.stats import position_bias
from judged import FIVE
from views import facts, summarise

SCALES = {("p", "clarity"): FIVE, ("p", "depth"): FIVE}


def score(item: str, value: float | None, **fields: Any) -> Result:
    return judged.score(
        item, value, **{"system": "x", "how": "strict" if value is not None else None, **fields}
    )


def choice(
    item: str, chosen: Choice | None, systems: tuple[str | None, str | None] = ("x", "y"), **fields: Any
) -> Result:
    status = "ok" if chosen else "refused"
    return judged.choice(item, chosen, *systems, protocol="duel@1", status=status, **fields)


def of(values: Sequence[float | None], **more: Any) -> list[Result]:
    return [score(f"{more.get('system', 'x')}-{place}", value, **more) for place, value in enumerate(values)]


def as_json(summary: Summary) -> dict[str, Any]:
    data = json.loads(msgspec.json.encode(summary))
    assert isinstance(data, dict)
    return data


def test_a_cell_is_an_estimate_with_failures_bounds_and_distribution() -> None:
    results = [*of([1, 2, 3, 4, 5, None]), score("x-9", None, status="refused")]
    cell = as_json(summarise(results, facts=facts(scales=SCALES)))["systems"]["x"]["clarity"]
    # t(4) = 2.77645 and se = 0.70711, by hand
    assert cell["value"] == 3
    assert [cell["low"], cell["high"]] == [
        pytest.approx(1.036757, abs=1e-6),
        pytest.approx(4.963243, abs=1e-6),
    ]
    assert (cell["n"], cell["n_failed"], cell["failures"]) == (5, 2, {"unparsed": 1, "refused": 1})
    assert cell["bounds"] == {"low": pytest.approx(17 / 7), "high": pytest.approx(25 / 7)}
    assert cell["distribution"] == {"1": 1, "2": 1, "3": 1, "4": 1, "5": 1}
    assert {"n_undefined", "method", "unit", "seed", "signature"} <= cell.keys()


def test_items_of_one_group_are_one_observation() -> None:
    results = [
        score(f"{doc}{place}", value, group=f"d{doc}")
        for doc, value in enumerate([2.0, 3.0, 5.0])
        for place in range(4)
    ]
    cell = summarise(results).systems["x"]["clarity"]
    # three group means 2, 3, 5: se = 0.88192, t(2) = 4.30265
    assert (cell.n, cell.n_groups, cell.unit) == (12, 3, "group (n=3)")
    assert cell.low == pytest.approx(10 / 3 - 4.30265 * 0.881917, abs=1e-4)


def test_several_protocols_name_the_criterion_after_the_protocol() -> None:
    results = [score("1", 3), score("1", 4, protocol="ns/q@2")]
    assert list(summarise(results).systems["x"]) == ["p/clarity", "ns/q/clarity"]


def test_two_versions_of_one_protocol_are_kept_apart() -> None:
    results = [score("1", 3), score("1", 5, protocol="p@2")]
    assert list(summarise(results).systems["x"]) == ["p@1/clarity", "p@2/clarity"]


def test_a_protocol_that_has_no_result_yet_names_the_others_all_the_same() -> None:
    known = facts(protocols=(ProtocolFacts("p"), ProtocolFacts("q")))
    assert list(summarise([score("1", 3)], facts=known).systems["x"]) == ["p/clarity"]


def test_several_judges_are_pooled_per_item_and_shown_each() -> None:
    results = [
        *of([1, 2, 3, None, None], model="m1"),
        *of([3, 2, None, 5, None], model="m2"),
    ]
    summary = summarise(results, facts=facts(scales=SCALES))
    cell = summary.systems["x"]["clarity"]
    assert cell.value == pytest.approx((2 + 2 + 3 + 5) / 4)
    assert (cell.n, cell.n_failed, cell.n_partial) == (4, 1, 2)
    assert summary.models["m1"].systems["x"]["clarity"].value == 2
    assert summary.models["m2"].systems["x"]["clarity"].n_failed == 2
    assert summary.n_failed == 4


def test_one_judge_is_not_shown_twice() -> None:
    assert summarise(of([1, 2])).models["m"].systems == {}


@pytest.mark.parametrize(("best", "first"), [(5, "good"), (1, "bad")])
def test_systems_stand_best_first_and_unscored_last(best: float, first: str) -> None:
    results = [*of([None], system="none"), *of([2, 2], system="bad"), *of([4, 4], system="good")]
    known = facts(scales={("p", "clarity"): Scale(1, 5, best, 1)})
    systems = list(summarise(results, facts=known).systems)
    assert (systems[0], systems[-1]) == (first, "none")


def test_without_a_known_good_end_systems_stay_as_they_came() -> None:
    results = [*of([2], system="b"), *of([4], system="a")]
    known = facts(scales={("p", "clarity"): Scale(1, 5, "unknown", 1)})
    assert list(summarise(results, facts=known).systems) == ["b", "a"]


@pytest.mark.parametrize(("subject", "system"), [("a", "left"), ("b", "right")])
def test_the_score_of_one_side_belongs_to_that_sides_system(subject: Subject, system: str) -> None:
    result = score("1", 4, subject=subject, system_a="left", system_b="right")
    assert list(summarise([result]).systems) == [system]


def test_sides_without_a_named_system_are_called_by_their_letters() -> None:
    results = [score("1", 4, system="all", subject=side) for side in ("a", "b")]
    assert list(summarise(results).systems) == ["a", "b"]


def test_choices_are_counted_by_pair_in_the_frame_first_seen() -> None:
    results = [
        *(choice(f"{n}", "a") for n in range(6)),
        choice("6", "b"),
        choice("7", "tie", flags=("order_conflict",)),
        choice("8", "b", systems=("y", "x")),
        choice("9", None, systems=("y", "x")),
    ]
    (pair,) = summarise(results).pairs["overall"]
    assert (pair.system_a, pair.system_b) == ("x", "y")
    assert (pair.a, pair.b, pair.tie, pair.failed, pair.failures) == (7, 1, 1, 1, {"refused": 1})
    assert pair.won_by_a.value == pytest.approx(7.5 / 9)
    assert (pair.won_by_a.n, pair.won_by_a.n_failed) == (9, 1)
    assert pair.order_conflicts.value == pytest.approx(1 / 9)


def test_several_judges_choices_are_a_vote_per_item() -> None:
    votes: dict[str, list[Choice]] = {"m1": ["a", "a", "b"], "m2": ["a", "b", "b"], "m3": ["b", "tie", "b"]}
    results = [
        choice(f"{n}", vote, model=model) for model, chosen in votes.items() for n, vote in enumerate(chosen)
    ]
    summary = summarise(results)
    (pair,) = summary.pairs["overall"]
    assert (pair.a, pair.b, pair.tie) == (1, 1, 1)
    assert summary.models["m3"].pairs["overall"][0].b == 2


@pytest.mark.parametrize("order", [1, -1])
def test_a_failed_choice_between_unnamed_systems_is_no_failed_score(order: int) -> None:
    results = [choice("1", "a", systems=(None, None)), choice("2", None, systems=(None, None))][::order]
    summary = summarise(results)
    assert summary.pairs["overall"][0].failed == 1
    assert summary.systems == {}


def test_if_every_choice_failed_a_criterion_without_scale_is_still_a_choice() -> None:
    results = [choice("1", None, systems=(None, None))]
    known = facts(scales={("duel@1", "overall"): None})
    assert summarise(results, facts=known).pairs["overall"][0].failed == 1


def test_choice_and_scores_of_one_criterion_do_not_mix() -> None:
    results = [
        *(score("1", 4, subject=side, system_a="x", system_b="y") for side in ("a", "b")),
        Result(item="1", protocol="p@1", criterion="clarity", model="m", status="refused"),
    ]
    summary = summarise(results)
    assert summary.pairs["clarity"][0].failed == 1
    assert [cell["clarity"].n_failed for cell in summary.systems.values()] == [0, 0]


def test_how_choices_go_with_the_place_is_given_where_it_is_known() -> None:
    bias = position_bias(["first"] * 15 + ["second"] * 5, [None] * 20)
    summary = summarise([choice("1", "a")], facts=facts(order={"overall": bias}))
    assert (summary.position["overall"].value, summary.position["overall"].n) == (0.75, 20)
    assert summary.order["overall"] == bias


def test_pairs_shown_in_one_order_cannot_change_with_it() -> None:
    summary = summarise([choice("1", "a")], facts=facts(parameters={"order": "given"}))
    (pair,) = summary.pairs["overall"]
    assert (pair.order_conflicts.value, pair.order_conflicts.n) == (None, 0)
    assert pair.order_conflicts.reason


def test_a_criterion_with_a_scale_is_a_score_also_where_every_score_of_its_pairs_failed() -> None:
    rows = [
        Result(
            item="1", protocol="p@1", criterion=name, model="m", status="unparsed", system_a="x", system_b="y"
        )
        for name in ("clarity", "winner")
    ]
    known = facts(scales={("p@1", "clarity"): Scale(1, 5, "unknown"), ("p@1", "winner"): None})
    summary = summarise(rows, facts=known)
    assert summary.systems["all"]["clarity"].n_failed == 1
    assert list(summary.pairs) == ["winner"]


def test_rungs_have_shares_that_include_the_failed() -> None:
    rungs = summarise(of([1, 2, 3, None])).rungs["m"]
    assert {name: (rung.n, rung.share) for name, rung in rungs.items()} == {
        "strict": (3, 0.75),
        "failed": (1, 0.25),
    }


def test_every_result_is_accounted_for() -> None:
    results = [*of([1, None, 3]), *of([None, 2], criterion="depth"), choice("1", None), choice("2", "tie")]
    summary = summarise(results)
    assert (summary.n_scores, summary.n_failed, summary.n_items) == (7, 3, 5)
    assert sum(rung.n for rung in summary.rungs["m"].values()) == 7


def test_an_ok_result_without_a_number_is_a_failure() -> None:
    results = [
        Result(item="1", protocol="p@1", criterion="clarity", model="m", status="ok"),
        score("2", float("nan")),
    ]
    systems = summarise(results).systems
    assert systems["all"]["clarity"].failures == {"unparsed": 1}
    assert systems["x"]["clarity"].failures == {"out_of_range": 1}


def test_samples_that_failed_within_a_score_are_counted() -> None:
    results = [
        score("1", 4, n_samples=20, n_failed=3),
        score("2", None, n_samples=20, n_failed=20),
    ]
    cell = summarise(results).systems["x"]["clarity"]
    assert (cell.n, cell.n_failed, cell.n_samples, cell.n_samples_failed) == (1, 1, 40, 23)


def test_criteria_are_correlated_over_the_items_of_all_systems() -> None:
    rows = [("a", "x", 1, 2), ("b", "x", 2, 1), ("c", "y", 3, 4), ("d", "y", 4, 3), ("e", "y", 5, None)]
    results = [
        score(item, value, system=system, criterion=criterion)
        for item, system, first, second in rows
        for criterion, value in (("clarity", first), ("depth", second))
    ]
    (correlation,) = summarise(results).correlations
    # ranks 1 2 3 4 against 2 1 4 3: 1 - 6 * 4 / (4 * 15)
    assert correlation.criteria == ("clarity", "depth")
    assert (correlation.spearman.value, correlation.spearman.n, correlation.spearman.n_failed) == (
        pytest.approx(0.6),
        4,
        1,
    )


def test_scores_between_levels_are_counted_at_the_nearest_once_they_are_many() -> None:
    values = [1 + 4 * n / 99 for n in range(100)]
    few = summarise(of(values[:20]), facts=facts(scales=SCALES)).systems["x"]["clarity"]
    many = summarise(of(values), facts=facts(scales=SCALES)).systems["x"]["clarity"]
    assert (few.distribution_of, len(few.distribution)) == ("values", 20)
    assert (many.distribution_of, list(many.distribution)) == ("nearest levels", ["1", "2", "3", "4", "5"])
    assert sum(many.distribution.values()) == 100
    assert summarise(of(values)).systems["x"]["clarity"].distribution_of == "nothing"


def test_what_the_engine_knows_is_passed_on() -> None:
    known = facts(
        run="r", tokens_in=7, tokens_out=8, cost_usd=0.5, seconds=2.0, n_calls=3, n_cached=1,
        estimator="samples"
    )  # fmt: skip
    data = as_json(summarise([], facts=known))
    assert (data["run"], data["tokens_in"], data["tokens_out"], data["cost_usd"]) == ("r", 7, 8, 0.5)
    assert (data["seconds"], data["n_calls"], data["n_cached"], data["estimator"]) == (
        2.0,
        3,
        1,
        "samples",
    )


def test_a_model_that_gave_no_result_is_listed() -> None:
    summary = summarise([], facts=facts(models=(ModelFacts("m", {"m-1": 0}),)))
    assert summary.models["m"].names == {"m-1": 0}


CODE = """
import re, resource, sys
from pathlib import Path
sys.path.append(sys.argv[2])
from adjudge.analysis.report.report import summarise
from adjudge.analysis.run_view.run_view import RunView
from adjudge.analysis.run_view.tally import Tally
from adjudge.records import Result, Scale

def results(count):
    for n in range(count):
        failed = n % 17 == 0
        yield Result(item=f"item-{n}", protocol="p@1", criterion="clarity", model="m", system=f"s{n % 7}",
                     status="unparsed" if failed else "ok", value=None if failed else 1.0 + n % 5,
                     group=f"group-{n // 4}", explanation="because " * 20, how="strict", flags=("repaired",))

count = int(sys.argv[1])
tally = Tally()
for result in results(count):
    tally.add(result, "scores")
summary = summarise(RunView("run", (), (), {("p", "clarity"): Scale(1, 5, 5, 1)}, tally))
status = Path("/proc/self/status")
if status.exists():
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) * 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(summary.n_items, peak)
"""


@pytest.mark.slow
def test_a_hundred_thousand_items_need_little_more_memory_than_a_thousand() -> None:
    peaks = {}
    for count in (1_000, 100_000):
        done = subprocess.run(
            [sys.executable, "-c", CODE, str(count), Path(__file__).parents[2]],
            capture_output=True,
            text=True,
            check=True,
        )
        n_items, peak = map(int, done.stdout.split())
        assert n_items == count
        peaks[count] = peak
    assert peaks[100_000] - peaks[1_000] < 40_000_000

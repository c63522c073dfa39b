"""`adjudge gate`: intervals decide, the gravest outcome
counts, and every mistake is named before it can pass.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.analysis.gate.decision import decision_by_interval, decision_by_values
from adjudge.analysis.gate.gate import decided_gate
from adjudge.analysis.gate.gate_input import GateInput
from adjudge.analysis.gate.not_enough_evidence import more_needed, outcome_of
from adjudge.analysis.gate.rules import make_rules
from adjudge.errors import DataError
from adjudge.records import Estimate, Label
from adjudge.run_file.read import read_run_file
from adjudge.run_file.thresholds import Allowed
from adjudge.store import open_store
from judged import cycle, judged_run
from running import Outcome, write_rows

Gated = Callable[..., Outcome]


def test_the_interval_decides_and_not_the_mean(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": cycle([3, 4, 4, 5], 60)})
    decision = gate("run", "--min", "tact=3.7", "--json")
    assert (decision.code, decision.json["outcome"]) == (0, "good")
    assert decision.json["checks"][0]["estimate"]["value"] == 4
    assert gate("run", "--min", "tact=4.3").code == 1
    undecided = gate("run", "--min", "tact=3.95", "--json")
    assert undecided.code == 3
    check = undecided.json["checks"][0]
    assert (check["n_more_of"], check["n_more"] > 0) == ("group", True)


@pytest.mark.slow
def test_as_many_more_items_as_are_asked_for_decide_four_times_in_five(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": cycle([3, 4, 4, 5], 40)}, is_grouped=False)
    check = gate("run", "--min", "tact=3.9", "--json").json["checks"][0]
    assert (check["outcome"], check["n_more_of"]) == ("open", "item")
    n, rng = 40 + check["n_more"], np.random.default_rng(3)
    good = [
        outcome_of(decision_by_values(rng.choice([3, 4, 4, 5], n).tolist(), None, (1.0, 5.0), 3.9, 1))
        == "good"
        for _ in range(400)
    ]
    assert np.mean(good) == pytest.approx(0.8, abs=0.05)


def test_a_mean_exactly_at_its_threshold_is_never_decided_by_more_items() -> None:
    assert more_needed([3.0, 4.0, 5.0], None, 4.0, (1.0, 5.0)).n is None


def test_equal_scores_everywhere_still_need_enough_of_them(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "few", {"x": [5, 5, 5]}, is_grouped=False)
    check = gate("few", "--min", "tact=4.5", "--json").json["checks"][0]
    assert check["outcome"] == "open"
    n = 3 + check["n_more"]
    for size, expected in ((n, "good"), (n - 1, "open")):
        assert outcome_of(decision_by_values([5.0] * size, None, (1.0, 5.0), 4.5, 1)) == expected


def test_a_drop_against_the_baseline_is_caught(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "main", {"x": cycle([3, 4, 4, 5], 60)})
    judged_run(tmp_path, "worse", {"x": cycle([2, 3, 3, 4], 60)})
    judged_run(tmp_path, "same", {"x": cycle([3, 4, 4, 5, 4], 60)})
    done = gate("worse", "--max-drop", "tact=0.3", "--baseline", "main", "--json")
    assert (done.code, done.json["baseline"]) == (1, "main")
    assert done.json["checks"][0]["estimate"]["value"] == -1
    assert gate("same", "--max-drop", "tact=0.8", "--baseline", "main").code == 0
    # A run that is better than the baseline has dropped by nothing.
    assert gate("main", "--max-drop", "tact=0", "--baseline", "worse").code == 0


def test_a_run_with_the_calls_and_replies_of_its_baseline_has_not_changed(
    tmp_path: Path, gate: Gated
) -> None:
    scores = {"x": cycle([3, 4, None, 5], 8)}
    judged_run(tmp_path, "main", scores)
    judged_run(tmp_path, "next", scores, model=f"replay:{tmp_path / 'main.replies.jsonl'}")
    for run in ("next", "main"):
        done = gate(run, "--max-drop", "tact=0", "--baseline", "main", "--max-failed", "50%", "--json")
        assert done.code == 0, done.out
        check = done.json["checks"][0]
        assert (check["outcome"], check["estimate"]["value"], check["estimate"]["low"]) == ("good", 0, None)
    # A judge that fails on too many items fails the gate as before.
    assert gate("next", "--max-drop", "tact=0", "--baseline", "main").code == 4


def test_equal_scores_of_other_texts_still_need_enough_items(tmp_path: Path, gate: Gated) -> None:
    model = {"model": "fake:text=So be it. [RESULT] 4"}
    judged_run(tmp_path, "main", {"x": cycle([4], 10)}, **model)
    judged_run(tmp_path, "next", {"x": cycle([4], 10)}, text="another answer", **model)
    done = gate("next", "--max-drop", "tact=0.3", "--baseline", "main", "--json")
    check = done.json["checks"][0]
    assert (done.code, check["outcome"], check["estimate"]["value"]) == (3, "open", 0)
    assert check["estimate"]["low"] < -0.3
    assert gate("next", "--max-drop", "tact=3", "--baseline", "main").code == 0


def test_a_threshold_below_what_can_be_seen_is_warned_about(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "main", {"x": cycle([1, 2, 3, 4, 5], 20)})
    judged_run(tmp_path, "run", {"x": cycle([3, 1, 4, 5, 2], 20)})
    done = gate("run", "--max-drop", "tact=0.05", "--baseline", "main", "--json")
    check = done.json["checks"][0]
    assert check["minimum_detectable"] > 0.05
    assert check["remarks"]
    assert done.code == 3


def test_the_most_severe_outcome_decides_and_every_check_is_kept(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": cycle([4, 4, 5], 30), "y": cycle([2, 2, 3], 30)})
    done = gate("run", "--min", "tact=3.5", "--json")
    outcomes = {check["system"]: check["outcome"] for check in done.json["checks"] if check["rule"] == "min"}
    assert (done.code, outcomes) == (1, {"x": "good", "y": "worse"})
    assert gate("run", "--min", "tact=3.5", "--system", "x").code == 0
    # Worse is graver than open: 4.3 is open for x and worse for y.
    assert gate("run", "--min", "tact=4.3").code == 1


@pytest.mark.parametrize(
    ("n_failed", "allowed", "code"),
    [
        (3, "5%", 0),
        (4, "5%", 4),
        (4, "4", 0),
        (5, "4", 4),
        (1, "0", 4),
        (0, "0", 0),
        (3, None, 0),
        (4, None, 4),
        (4, "0.07", 0),
    ],
)
def test_failures_are_counted_against_what_is_allowed(
    tmp_path: Path, gate: Gated, n_failed: int, allowed: str | None, code: int
) -> None:
    values = [None] * n_failed + cycle([4, 5], 60 - n_failed)
    judged_run(tmp_path, "run", {"x": values})
    done = gate("run", "--min", "tact=3", *(("--max-failed", allowed) if allowed else ()), "--json")
    assert done.code == code
    (check,) = (check for check in done.json["checks"] if check["rule"] == "max_failed")
    assert (round(check["estimate"]["value"] * 60), check["outcome"]) == (
        n_failed,
        "failed" if code else "good",
    )


def test_a_judge_that_failed_too_often_outweighs_a_worse_score(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": [None] * 10 + cycle([1, 2], 50)})
    done = gate("run", "--min", "tact=4", "--json")
    assert done.code == 4
    assert {check["outcome"] for check in done.json["checks"]} == {"worse", "failed"}


def test_failures_that_could_turn_a_good_outcome_are_remarked(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": [None] * 20 + cycle([4, 4, 4, 5], 100)})
    doubtful, safe = (
        gate("run", "--min", f"tact={threshold}", "--max-failed", "20%", "--json") for threshold in (4.1, 2)
    )
    assert (doubtful.code, safe.code) == (0, 0)
    remarks = [done.json["checks"][0]["remarks"][0] for done in (doubtful, safe)]
    # (20 · 1 + 100 · 4.25) / 120 is below 4.1 and not below 2.
    assert all("3.71" in remark for remark in remarks)
    assert remarks[0] != remarks[1]


def test_items_that_were_not_judged_yet_count_as_missing(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": cycle([4, 5], 60)})
    with sqlite3.connect(tmp_path / "adjudge.db") as connection:
        connection.execute("DELETE FROM judgments WHERE item >= 40")
        connection.execute("DELETE FROM places WHERE item >= 40")
    connection.close()
    with open_store(tmp_path / "adjudge.db") as store:
        store.finish_run(store.run("run"), "interrupted")
    done = gate("run", "--min", "tact=3", "--json")
    assert done.code == 4
    check = done.json["checks"][-1]
    assert check["estimate"]["value"] == pytest.approx(20 / 60)
    assert "interrupted" in check["text"]


def test_labels_correct_the_means_that_are_decided_on(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": cycle([4, 5, 4, 5, 3], 80)}, is_grouped=False)
    assert gate("run", "--min", "tact=3.8").code == 0
    # People give a point less throughout.
    labels = [
        {"item": f"q{k}", "criterion": "tact", "rater": "ann", "value": cycle([4, 5, 4, 5, 3], 80)[k] - 1}  # type: ignore[operator]
        for k in range(0, 80, 2)
    ]
    file = write_rows(tmp_path / "labels.jsonl", labels)
    done = gate("run", "--min", "tact=3.8", "--labels", file, "--json")
    assert (done.code, done.json["is_corrected"]) == (1, True)
    check = done.json["checks"][0]
    assert check["estimate"]["value"] == pytest.approx(3.2, abs=0.05)
    assert "PPI++" in check["estimate"]["method"]
    assert any("4.20" in remark for remark in check["remarks"]), "what the judge alone gives"


def test_labels_of_all_items_decide_about_these_items(tmp_path: Path, gate: Gated) -> None:
    people = cycle([5, 5, 4, 4, 3], 20)
    judged_run(tmp_path, "main", {"x": cycle([4, 5, 4, 5, 3], 20)}, is_grouped=False)
    judged_run(tmp_path, "run", {"x": cycle([4, 5, 4, 5, 3], 20)}, text="other", is_grouped=False)

    def labels(name: str, less: int) -> str:
        rows = [
            {"item": f"q{k}", "criterion": "tact", "rater": "ann", "value": value - less}  # type: ignore[operator]
            for k, value in enumerate(people)
        ]
        return str(write_rows(tmp_path / name, rows))

    file = labels("a.jsonl", 0)
    for bound, code in (("4.2", 0), ("4.25", 1)):
        done = gate("run", "--min", f"tact={bound}", "--labels", file, "--about", "these-items", "--json")
        assert done.code == code, done.err
        estimate = done.json["checks"][0]["estimate"]
        assert (estimate["low"], estimate["high"]) == (4.2, 4.2)
    both = ("--labels", labels("b.jsonl", 1), "--baseline-labels", file, "--about", "these-items")
    for allowed, code in (("1", 0), ("0.9", 1)):
        done = gate("run", "--max-drop", f"tact={allowed}", "--baseline", "main", *both)
        assert done.code == code, done.out


def test_an_open_gate_with_labels_asks_for_more_labels(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": cycle([4, 5, 4, 5, 3], 400)}, is_grouped=False)
    labels = [
        {"item": f"q{k}", "criterion": "tact", "rater": "ann", "value": (3, 4, 5, 2)[k % 4]}
        for k in range(12)
    ]
    done = gate(
        "run", "--min", "tact=3.9", "--labels", write_rows(tmp_path / "labels.jsonl", labels), "--json"
    )
    check = done.json["checks"][0]
    assert (done.code, check["n_more_of"]) == (3, "label")
    assert check["n_more"] > 0


def test_labels_of_both_runs_correct_a_change(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "main", {"x": cycle([3, 4, 4, 5], 60)}, is_grouped=False)
    judged_run(tmp_path, "run", {"x": cycle([3, 4, 4, 5], 60)}, text="other", is_grouped=False)
    before = write_rows(
        tmp_path / "a.jsonl",
        [{"item": f"q{k}", "criterion": "tact", "rater": "r", "value": 4 + k % 2} for k in range(40)],
    )
    after = write_rows(
        tmp_path / "b.jsonl",
        [{"item": f"q{k}", "criterion": "tact", "rater": "r", "value": 2 + (k // 2) % 2} for k in range(40)],
    )
    rule = ("--max-drop", "tact=0.5", "--baseline", "main")
    assert gate("run", *rule).code == 0
    alone = gate("run", *rule, "--labels", after, "--json").json
    assert alone["checks"][0]["estimate"]["value"] == 0
    assert any("--baseline-labels" in note for note in alone["notes"])
    both = gate("run", *rule, "--labels", after, "--baseline-labels", before, "--json")
    assert both.code == 1
    assert both.json["checks"][0]["estimate"]["value"] == pytest.approx(-2, abs=0.1)


def test_labels_in_the_store_are_used_when_asked_for(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": cycle([4, 5], 20)})
    done = gate("run", "--min", "tact=4", "--labels", "store")
    assert done.code == 2
    assert "labels" in done.err
    with open_store(tmp_path / "adjudge.db") as store:
        said = [Label(f"q{k}", "tact", "ann", float(1 + k % 2)) for k in range(12)]
        store.put_labels(said, store.run("run"))
    done = gate("run", "--min", "tact=4", "--labels", "store", "--json")
    assert (done.code, done.json["is_corrected"]) == (1, True)


def test_a_gate_says_that_it_leaves_labels_of_the_store_out(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": cycle([4, 5], 20)})
    assert not any(
        "--labels store" in note for note in gate("run", "--min", "tact=4", "--json").json["notes"]
    )
    with open_store(tmp_path / "adjudge.db") as store:
        store.put_labels([Label(f"q{k}", "tact", "ann", 4.0) for k in range(12)], store.run("run"))
    done = gate("run", "--min", "tact=4", "--json")
    assert any("12 labels" in note and "--labels store" in note for note in done.json["notes"])


def test_thresholds_come_from_a_file_and_flags_win(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "main", {"x": cycle([4, 5], 40)})
    judged_run(tmp_path, "run", {"x": cycle([4, 5], 40)})
    (tmp_path / "adjudge.toml").write_text(
        '[gate]\nmin = { tact = 4.9 }\nmax_drop = { tact = 0.5 }\nmax_failed = "5%"\nbaseline = '
        '"main"\n\n[other]\nx = 1\n'
    )
    done = gate("run", "--json")
    assert done.code == 1
    assert {check["rule"] for check in done.json["checks"]} == {"min", "max_drop", "max_failed"}
    assert gate("run", "--min", "tact=4.1").code == 0
    other = tmp_path / "strict.toml"
    other.write_text("[gate]\nmin = { tact = 4.1 }\n")
    assert gate("run", "--config", other).code == 0


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[gate]\nmins = { tact = 4 }", ["mins", "'min'"]),
        ("[gate]\nmin = 4", ["min"]),
        (
            "[gate]\nmin = { tact = 'high' }\nbaseline = 3\nsystem = 4",
            ["3 problems", "tact", "baseline", "system"],
        ),
        ("[gate]\nmax_failed = 'some'", ["max_failed = some"]),
        ("[gate]\nmin = { tact = nan }", ["tact", "nan"]),
        ("[gate\n", ["TOML"]),
        ("gate = 3", ["gate"]),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, named: list[str]) -> None:
    file = tmp_path / "adjudge.toml"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        make_rules(read_run_file(file, for_gate=True))
    assert all(word in str(caught.value) for word in ("adjudge.toml", *named))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "--min"),
        (("--min", "clarity=4"), "tact"),
        (("--min", "tact"), "--min tact"),
        (("--min", "tact=nan"), "--min tact=nan"),
        (("--min", "tact=6"), "tact=6"),
        (("--max", "tact=3"), "--min tact"),
        (("--max-drop", "tact=0.1"), "--baseline RUN"),
        (("--max-drop", "tact=-0.1", "--baseline", "run"), "-0.1"),
        (("--max-drop", "tact=0.1", "--baseline", "nowhere"), "nowhere"),
        (("--min", "tact=3", "--system", "z"), "z"),
        (("--min", "tact=3", "--max-failed", "150%"), "--max-failed 150%"),
        (("--min", "tact=3", "--config", "none.toml"), "none.toml"),
        (("--min", "tact=3", "--junit", "no/such/place.xml"), "place.xml"),
    ],
)
def test_a_mistake_exits_2_and_never_passes(
    tmp_path: Path, gate: Gated, arguments: tuple[str, ...], named: str
) -> None:
    judged_run(tmp_path, "run", {"x": [4, 5, 4]})
    done = gate("run", *arguments)
    assert done.code == 2
    assert named in done.err
    assert "Traceback" not in done.err


def protocol(folder: Path, best: str, name: str = "mine") -> Path:
    """A protocol of the user's whose scale has this good end."""
    place = folder / name
    place.mkdir(exist_ok=True)
    (place / "protocol.toml").write_text(
        'title = "t"\ntask = "score"\nlanguage = { prompt = "en", reply = "en" }\nsource = '
        '"test"\ninputs = ["instruction", "response"]\n'
        f'[[criteria]]\nname = "tact"\nscale = {{ low = 1, high = 5, step = 1, best = {best} '
        '}\n[answer]\nreader = "marker"\nmarker = "[RESULT]"\n'
    )
    (place / "user.md").write_text(
        f"By {name}. " + "{{instruction}} {{response}} Write [RESULT] and a number from 1 to 5.\n"
    )
    return place


def test_a_scale_whose_low_end_is_good_has_a_greatest_value(tmp_path: Path, gate: Gated) -> None:
    folder = protocol(tmp_path, "1")
    judged_run(tmp_path, "main", {"x": cycle([1, 2], 40)}, protocol=folder, rubric=None)
    judged_run(tmp_path, "run", {"x": cycle([3, 4], 40)}, protocol=folder, rubric=None)
    refused = gate("run", "--min", "tact=2")
    assert refused.code == 2
    assert "--max tact=X" in refused.err
    assert gate("main", "--max", "tact=2").code == 0
    assert gate("run", "--max", "tact=2").code == 1
    # Getting worse is a rise here.
    assert gate("run", "--max-drop", "tact=0.5", "--baseline", "main").code == 1
    assert gate("main", "--max-drop", "tact=0.5", "--baseline", "run").code == 0


def test_a_scale_without_a_known_good_end_cannot_be_gated(tmp_path: Path, gate: Gated) -> None:
    folder = protocol(tmp_path, '"unknown"')
    (folder / "protocol.toml").write_text(
        'imported = "' + "0" * 64 + '"\n' + (folder / "protocol.toml").read_text()
    )
    judged_run(tmp_path, "run", {"x": cycle([1, 2], 10)}, protocol=folder, rubric=None)
    done = gate("run", "--min", "tact=2")
    assert done.code == 2
    assert "tact" in done.err


def test_a_baseline_on_another_scale_has_no_drop(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "main", {"x": [1, 2, 3]}, protocol=protocol(tmp_path, "1"), rubric=None)
    judged_run(tmp_path, "run", {"x": [1, 2, 3]})
    done = gate("run", "--max-drop", "tact=1", "--baseline", "main")
    assert done.code == 2
    assert "tact" in done.err


def test_a_criterion_of_two_protocols_is_asked_for_by_the_protocol(tmp_path: Path, gate: Gated) -> None:
    both = [protocol(tmp_path, "5"), protocol(tmp_path, "5", "yours")]
    replies = [{"item": f"q{k}", "text": "[RESULT] 4"} for k in range(12)]
    model = f"replay:{write_rows(tmp_path / 'r.jsonl', replies)}"
    for name in ("main", "run"):
        judged_run(tmp_path, name, {"x": cycle([4], 12)}, protocol=both, model=model, rubric=None)
    done = gate("run", "--min", "tact=3")
    assert done.code == 2
    assert "mine/tact, yours/tact" in done.err
    rules = ("--min", "mine/tact=3", "--max-drop", "yours/tact=2", "--baseline", "main")
    decision = gate("run", *rules, "--json").json
    assert [(check["rule"], check["criterion"]) for check in decision["checks"][:2]] == [
        ("min", "mine/tact"),
        ("max_drop", "yours/tact"),
    ]
    assert decision["outcome"] == "good"


def test_a_baseline_may_lie_in_another_store(tmp_path: Path, gate: Gated) -> None:
    other = tmp_path / "main-branch"
    other.mkdir()
    judged_run(other, "main", {"x": cycle([4, 5], 40)})
    judged_run(tmp_path, "run", {"x": cycle([1, 2], 40)})
    done = gate("run", "--max-drop", "tact=1", "--baseline", "main", "--baseline-store", other / "adjudge.db")
    assert done.code == 1


def test_a_system_that_the_baseline_lacks_is_open(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "main", {"x": [4, 5, 4], "y": [3, 4, 4]})
    judged_run(tmp_path, "run", {"x": [4, 5, 4], "z": [3, 4, 4]})
    done = gate("run", "--max-drop", "tact=3", "--baseline", "main", "--json")
    outcomes = {
        check["system"]: check["outcome"] for check in done.json["checks"] if check["rule"] == "max_drop"
    }
    assert outcomes == {"x": "good", "z": "open"}
    assert done.code == 3


def test_several_judges_are_gated_by_their_mean(tmp_path: Path, gate: Gated) -> None:
    judged_run(
        tmp_path,
        "run",
        {"x": cycle([4, 5], 30)},
        model=["fake:text=[RESULT] 2", "fake:text=[RESULT] 4"],
        is_grouped=False,
    )
    done = gate("run", "--min", "tact=2.5", "--json")
    assert done.json["checks"][0]["estimate"]["value"] == 3
    assert any("fake:text=[RESULT] 2, fake:text=[RESULT] 4" in note for note in done.json["notes"])


def test_only_failures_can_be_gated_too(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": [None, 3, 4, 5]})
    assert gate("run", "--max-failed", "1").code == 0
    assert gate("run", "--max-failed", "0").code == 4


@given(
    value=st.floats(-5, 5),
    half=st.floats(0, 3),
    threshold=st.floats(-5, 5),
    direction=st.sampled_from([1, -1]),
)
def test_an_outcome_is_good_or_worse_only_where_the_whole_interval_says_so(
    value: float, half: float, threshold: float, direction: int
) -> None:
    estimate = Estimate(value, value - half, value + half, 9)
    outcome = outcome_of(decision_by_interval(estimate, threshold, direction, 9))
    better = [direction * (end - threshold) for end in (value - half, value + half)]
    if outcome == "good":
        assert min(better) >= -1e-6
    elif outcome == "worse":
        assert max(better) < 1e-6
    else:
        assert min(better) <= 1e-6
        assert max(better) >= -1e-6


def test_a_share_of_items_is_rounded_down_and_not_by_chance() -> None:
    assert [Allowed(share=0.05).most(n) for n in (60, 59, 20, 19, 0)] == [3, 2, 1, 0, 0]
    assert Allowed(share=0.07).most(100) == 7


FIVE_LEVELS = st.integers(1, 5).map(float)
ORDER = ("worse", "open", "good")


@given(
    scores=st.lists(st.tuples(FIVE_LEVELS, st.integers(0, 6)), min_size=1, max_size=60),
    place=st.integers(0, 59),
    rise=st.floats(0, 4),
    threshold=st.floats(1, 5),
    is_grouped=st.booleans(),
    direction=st.sampled_from([1, -1]),
)
def test_a_better_sample_never_has_a_worse_outcome(
    scores: list[tuple[float, int]],
    place: int,
    rise: float,
    threshold: float,
    is_grouped: bool,
    direction: int,
) -> None:
    values, groups = [score for score, _ in scores], [group for _, group in scores] if is_grouped else None
    better = list(values)
    k = place % len(values)
    better[k] = min(5.0, max(1.0, values[k] + direction * rise))
    before, after = (
        ORDER.index(outcome_of(decision_by_values(given, groups, (1.0, 5.0), threshold, direction)))
        for given in (values, better)
    )
    assert after >= before


@given(
    passes=st.lists(st.booleans(), min_size=1, max_size=80),
    place=st.integers(0, 79),
    threshold=st.floats(0, 1),
)
def test_one_more_pass_never_has_a_worse_outcome(passes: list[bool], place: int, threshold: float) -> None:
    better = list(passes)
    better[place % len(passes)] = True
    before, after = (
        ORDER.index(
            outcome_of(
                decision_by_values(
                    [float(x) for x in given], None, (0.0, 1.0), threshold, 1, is_two_level=True
                )
            )
        )
        for given in (passes, better)
    )
    assert after >= before


def test_fifty_fives_are_no_worse_than_a_four_among_them(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "all", {"x": [5] * 50}, is_grouped=False)
    judged_run(tmp_path, "but-one", {"x": [5] * 49 + [4]}, is_grouped=False)
    for threshold in (4.5, 4.69, 4.7, 4.71, 4.9, 4.95, 5):
        codes = [gate(name, "--min", f"tact={threshold}").code for name in ("all", "but-one")]
        assert {0: 2, 3: 1, 1: 0}[codes[0]] >= {0: 2, 3: 1, 1: 0}[codes[1]], (threshold, codes)
    check = gate("all", "--min", "tact=4.7", "--json").json["checks"][0]
    assert check["decision"]["low"] == pytest.approx(5 - 4 * (1 - 0.025 ** (1 / 50)), abs=1e-6)
    assert check["decision"]["method"]


def test_worse_is_corrected_for_the_number_of_checks(tmp_path: Path, gate: Gated) -> None:
    rng = np.random.default_rng(1)
    scores = {f"s{k:02}": rng.choice([3, 4, 5], 40).tolist() for k in range(19)}
    # On its own this system is shown to be worse than 4, among twenty it is not.
    scores["low"] = [3] * 22 + [4] * 9 + [5] * 9
    judged_run(tmp_path, "run", scores, is_grouped=False)
    alone = gate("run", "--min", "tact=4", "--system", "low", "--json").json
    assert (alone["outcome"], alone["n_decisions"]) == ("worse", 1)
    together = gate("run", "--min", "tact=4", "--json").json
    assert together["n_decisions"] == 20
    check = next(one for one in together["checks"] if one["system"] == "low")
    assert check["outcome"] == "open"
    assert check["decision"]["p_worse"] <= 0.025 < 0.05 < check["decision"]["p_worse_adjusted"]
    assert check["estimate"] == alone["checks"][0]["estimate"]


def test_a_gate_without_labels_or_baseline_keeps_no_items_and_decides_alike(tmp_path: Path) -> None:
    judged_run(tmp_path, "run", {"x": [None] * 3 + cycle([4, 5, 3], 60), "y": cycle([2, 5], 40)})
    rules = make_rules(None, min=["tact=3.9"])
    with open_store(tmp_path / "adjudge.db", write=False) as store:
        lean, full = (
            GateInput(store, store.run("run"), None, for_comparison=for_comparison)
            for for_comparison in (False, True)
        )
    assert (len(lean.view.results), len(full.view.results)) == (0, 103)
    assert decided_gate(lean, rules, None) == decided_gate(full, rules, None)


def test_a_drop_of_these_items_is_known_without_labels(gate: Gated, tmp_path: Path) -> None:
    judged_run(tmp_path, "main", {"x": cycle([4, 5, 4, 5], 20)}, is_grouped=False)
    judged_run(tmp_path, "run", {"x": cycle([4, 4, 4, 5], 20)}, text="other", is_grouped=False)
    for allowed, code in (("0.25", 0), ("0.24", 1)):
        words = ("--max-drop", f"tact={allowed}", "--baseline", "main", "--about", "these-items", "--json")
        done = gate("run", *words)
        assert done.code == code, done.err
        estimate = done.json["checks"][0]["estimate"]
        assert (estimate["low"], estimate["value"], estimate["high"]) == (-0.25, -0.25, -0.25)
    assert any("about these items" in note for note in done.json["notes"])
    judged_run(tmp_path, "gaps", {"x": cycle([4, 4, 4, None], 20)}, text="third", is_grouped=False)
    open_ = gate("gaps", "--max-drop", "tact=0.5", "--baseline", "main", "--max-failed", "50%",
                 "--about", "these-items")  # fmt: skip
    assert open_.code == 3, open_.out

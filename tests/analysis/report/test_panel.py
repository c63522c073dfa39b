"""Reports of several judges, of weak judges, and of judges that go by the place shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from adjudge.analysis.report.summary import Summary
from adjudge.analysis.report.words.report import report_sections
from adjudge.analysis.run_view.run_facts import ModelFacts, ProtocolFacts
from adjudge.cli.markdown import markdown_of
from adjudge.records import Choice, Result, Scale
from adjudge.stats import krippendorff_alpha, position_bias, spearman
from adjudge.terminal.sections import section_lines
from fakeserver import Answer, FakeServer, Request, as_json, chat
from judged import FIVE, choice, score
from running import EXAMPLES, adjudge, write_rows
from views import facts, summarise

FACTS = facts(scales={("p@1", "clarity"): FIVE})
A = [1, 2, 3, 4, 5, 4, 3, 2, 1, 5, 4, 2]
B = [1, 2, 3, 4, 5, 4, 3, 2, 2, 5, 4, 2]
ODD = [5, 1, 2, 5, 1, 3, 5, 4, 3, 1, 1, 5]


def scored(judges: dict[str, Sequence[float | None]], system: str = "x") -> list[Result]:
    return [
        score(f"{system}{k}", value, system, model=model)
        for model, values in judges.items()
        for k, value in enumerate(values)
    ]


def chosen(choices: dict[str, Sequence[Choice]], systems: tuple[str, str] = ("x", "y")) -> list[Result]:
    return [
        choice(f"{k}", winner, *systems, criterion="winner", model=model)
        for model, winners in choices.items()
        for k, winner in enumerate(winners)
    ]


def kinds(summary: Summary) -> set[str]:
    return {caution.kind for caution in summary.warnings}


def printed(summary: Summary, width: int = 120) -> str:
    return "\n".join(text for text, _ in section_lines(report_sections(summary), width))


def markdown(summary: Summary) -> str:
    return markdown_of(report_sections(summary))


def test_the_judges_of_a_run_have_their_agreement_with_an_interval() -> None:
    panel = summarise(scored({"m1": A, "m2": B}), facts=FACTS).panel["clarity"]
    expected = krippendorff_alpha([list(row) for row in zip(A, B, strict=True)])
    assert panel.alpha.value == pytest.approx(expected.value)
    assert panel.alpha.low is not None
    assert panel.alpha.n == 12
    assert panel.judges["m1"].with_rest.value == spearman(A, B).value
    assert panel.judges["m2"].shift.value == pytest.approx(1 / 12)
    assert panel.pooled == "mean"


def test_the_judge_that_the_others_agree_better_without_stands_apart() -> None:
    summary = summarise(scored({"m1": A, "m2": B, "odd": ODD}), facts=FACTS)
    panel = summary.panel["clarity"]
    assert panel.stands_apart == "odd"
    without = panel.judges["odd"].alpha_without
    assert without.value is not None
    assert panel.alpha.value is not None
    assert without.value > 0.9 > panel.alpha.value
    assert "judge_apart" in kinds(summary)
    assert "panel_disagrees" not in kinds(summary)


def test_of_two_judges_neither_stands_apart_but_they_disagree() -> None:
    summary = summarise(scored({"m1": A, "odd": ODD}), facts=FACTS)
    assert summary.panel["clarity"].stands_apart is None
    assert summary.panel["clarity"].judges["m1"].alpha_without.value is None
    assert "panel_disagrees" in kinds(summary)


def test_judges_that_agree_are_not_warned_of_and_one_judge_is_no_panel() -> None:
    agreeing = summarise(scored({"m1": A, "m2": B, "m3": A}), facts=FACTS)
    assert not {"judge_apart", "panel_disagrees"} & kinds(agreeing)
    assert summarise(scored({"m1": A}), facts=FACTS).panel == {}


def test_items_that_one_judge_alone_could_read_take_no_part_in_the_agreement() -> None:
    gaps: list[float | None] = [*B[:10], None, None]
    assert summarise(scored({"m1": A, "m2": gaps}), facts=FACTS).panel["clarity"].alpha.n == 10


def test_choices_agree_by_name_not_by_distance() -> None:
    votes: dict[str, Sequence[Choice]] = {"m1": ["a", "b", "tie", "a"] * 5, "m2": ["a", "b", "a", "a"] * 5}
    panel = summarise(chosen(votes)).panel["winner"]
    sign = {"a": 1.0, "b": -1.0, "tie": 0.0}
    table = [[sign[vote], sign[other]] for vote, other in zip(votes["m1"], votes["m2"], strict=True)]
    assert panel.alpha.value == pytest.approx(krippendorff_alpha(table, "nominal").value)
    assert panel.pooled == "vote"
    assert panel.judges["m1"].shift.value is None


def test_log_probabilities_of_two_models_have_no_agreement_in_level() -> None:
    known = facts(scales={("p@1", "clarity"): Scale(None, None, "high")})
    panel = summarise(scored({"m1": A, "m2": B}), facts=known).panel["clarity"]
    assert panel.alpha.value is None
    assert panel.alpha.reason
    assert panel.judges["m1"].with_rest.value is not None


def test_every_judge_has_a_row_for_each_system_and_the_table_fits() -> None:
    rows = [*scored({"m1": A, "m2": B, "odd": ODD}), *scored({"m1": B, "m2": A, "odd": A}, system="y")]
    summary = summarise(rows, facts=FACTS)
    text = printed(summary)
    rows_by_judge = [line.split()[:2] for line in text.splitlines() if line.split()[:1] in (["x"], ["y"])]
    assert [row for row in rows_by_judge if row[1] in ("m1", "m2", "odd")] == [
        [system, judge] for system in ("x", "y") for judge in ("m1", "m2", "odd")
    ]
    for width in (120, 80, 40):
        assert max(map(len, printed(summary, width).splitlines())) <= width
    assert "| x | m1 | 3.00 " in markdown(summary)


def test_very_many_scores_anywhere_on_the_scale_do_not_hold_up_a_report() -> None:
    values = [1 + (place * 7919 % 4001) / 1000 for place in range(12_000)]
    panel = summarise(scored({"m1": values, "m2": values[::-1]}), facts=FACTS).panel["clarity"]
    assert panel.alpha.n == 10_000
    assert "12000" in panel.alpha.method


@pytest.mark.parametrize(
    ("spec", "reader", "is_warned"),
    [
        ("local", "tag", True), ("local", "likelihood", False),
        ("local:models/SmolLM2-135M-Instruct-Q4_K_M.gguf", "tag", True),
        ("local:models/qwen2-72b.gguf", "tag", False), ("openai:smollm2-135m", "tag", False),
    ],
)  # fmt: skip
def test_the_embedded_model_is_called_weak_where_it_writes_scores(
    spec: str, reader: Any, is_warned: bool
) -> None:
    known = facts(models=(ModelFacts(spec),), protocols=(ProtocolFacts("p", "1", reader),))
    assert ("weak_judge" in kinds(summarise(scored({spec: A}), facts=known))) is is_warned


def test_choices_against_the_judges_own_scores_are_counted() -> None:
    rows = chosen({"m": ["a", "b", "a"]})
    rows[1] = structs.replace(rows[1], flags=("verdict_contradicts_scores",))
    summary = summarise(rows)
    assert summary.flags == {"verdict_contradicts_scores": 1}
    assert "contradiction" in kinds(summary)


def test_one_order_alone_proves_nothing_about_places() -> None:
    bias = position_bias(["first"] * 20, [None] * 20)
    known = facts(parameters={"order": "given"}, order={"winner": bias})
    summary = summarise(chosen({"m": ["a"] * 20}), facts=known)
    assert "one_order" in kinds(summary)
    assert "position" not in kinds(summary), "the first system may simply be better"
    drawn = facts(parameters={"order": "random"}, order={"winner": bias})
    assert "position" in kinds(summarise(chosen({"m": ["a"] * 20}), facts=drawn))


def test_position_bias_agrees_with_the_reference(shared: Path) -> None:
    vector = json.loads((shared / "vectors.json").read_text(encoding="utf-8"))["position_bias"]
    place: dict[str, Any] = {"A": "first", "B": "second", "tie": "tie"}
    shown = [place[word] for word in vector["inputs"]["verdict_order_AB"]]
    swapped = [place[word] for word in vector["inputs"]["verdict_order_BA_by_position"]]
    bias, expected = position_bias(shown, swapped), vector["expected"]
    assert bias.agreement.value == pytest.approx(expected["consistency"], abs=vector["tol"])
    assert 1 - (bias.agreement.value or 0) == pytest.approx(expected["flip_rate"], abs=vector["tol"])
    assert bias.first_both / bias.n_pairs == pytest.approx(expected["first_biased"], abs=vector["tol"])
    assert bias.second_both / bias.n_pairs == pytest.approx(expected["second_biased"], abs=vector["tol"])
    assert bias.other_conflicts / bias.n_pairs == pytest.approx(
        expected["other_inconsistent"], abs=vector["tol"]
    )
    assert bias.p == pytest.approx(expected["primacy_preference_p_binom"], abs=vector["tol"])


# -- from runs

RUBRIC = ("--rubric", str(EXAMPLES / "tact.toml"))


def kinds_in(report: Any) -> set[str]:
    return {warning["kind"] for warning in report["warnings"]}


def run_of(tmp_path: Path, items: list[dict[str, Any]], *arguments: str) -> Any:
    path = write_rows(tmp_path / "items.jsonl", items)
    done = adjudge("run", path, *arguments, "--store", tmp_path / "adjudge.db", "--json")
    assert done.code == 0, done.err
    return done.json


def test_a_run_with_two_fakes_reports_both_and_their_agreement(tmp_path: Path) -> None:
    items = [{"id": f"i{k}", "instruction": "Count.", "response": f"number {k % 5 + 1}."} for k in range(15)]
    scripts = []
    for name, shift in (("one", 0), ("two", 1)):
        rows = [
            {"match": f"number {k}.", "text": f"Feedback: so. [RESULT] {min(5, k + shift)}"}
            for k in range(1, 6)
        ]
        scripts.append(f"fake:script={write_rows(tmp_path / f'{name}.jsonl', rows)}")
    report = run_of(tmp_path, items, "-p", "prometheus/direct", *RUBRIC, "-m", scripts[0], "-m", scripts[1])
    panel = report["panel"]["tact"]
    assert panel["alpha"]["n"] == 15
    assert 0.5 < panel["alpha"]["value"] < 1
    assert panel["judges"][scripts[0]]["shift"]["value"] == pytest.approx(-0.8)
    assert report["models"][scripts[1]]["systems"]["all"]["tact"]["value"] == pytest.approx(3.8)
    assert report["systems"]["all"]["tact"]["value"] == pytest.approx(3.4), "the mean of both"
    assert "fake_model" in kinds_in(report)


PAIRS = [
    {"id": f"p{k}", "system_a": "x", "system_b": "y", "instruction": "Say.", "response_a": f"a {k}",
    "response_b": f"b {k}"}
    for k in range(12)
]  # fmt: skip


def test_a_judge_that_goes_by_the_place_is_found_out_in_a_run(tmp_path: Path) -> None:
    report = run_of(tmp_path, PAIRS, "-p", "prometheus/pairwise", *RUBRIC, "-m", "fake:text=So. [RESULT] A")
    order = report["order"]["tact"]
    assert (order["agreement"]["value"], order["first_share"]["value"]) == (0.0, 1.0)
    assert (order["first_both"], order["n_pairs"]) == (12, 12)
    assert order["p"] == pytest.approx(2 * 0.5**12)
    assert {"position", "order_conflict"} <= kinds_in(report)


def test_one_order_is_reported_as_one_order(tmp_path: Path) -> None:
    judge = ("-p", "prometheus/pairwise", *RUBRIC, "-m", "fake:text=So. [RESULT] A", "--order", "given")
    report = run_of(tmp_path, PAIRS, *judge)
    assert "one_order" in kinds_in(report)
    assert "position" not in kinds_in(report)
    assert report["order"]["tact"]["agreement"]["value"] is None
    assert report["pairs"]["tact"][0]["order_conflicts"]["value"] is None


def test_scores_of_both_responses_have_an_order_by_criterion(tmp_path: Path) -> None:
    names = ("accuracy", "completeness", "clarity", "actionability", "relevance", "overall")
    part = {"reasoning": "r", "evidence": [], "confidence": 0.9}

    def sides(a: int, b: int) -> dict[str, Any]:
        return {"response_a": {**part, "score": a}, "response_b": {**part, "score": b}}

    reply = {name: sides(4, 4) for name in names} | {"clarity": sides(5, 1)}
    pairs = [{**pair, "task": "Say."} for pair in PAIRS]
    report = run_of(tmp_path, pairs, "-p", "geval/compare", "-m", f"fake:text={json.dumps(reply)}")
    assert report["order"]["clarity"]["first_share"]["value"] == 1.0
    assert report["order"]["accuracy"]["agreement"]["value"] == 1.0, "a tie in both orders"
    assert report["order"]["accuracy"]["first_share"]["value"] is None
    text = " ".join(warning["text"] for warning in report["warnings"] if warning["kind"] == "position")
    assert "clarity" in text
    assert "accuracy" not in text


def test_a_question_asked_again_that_fails_is_counted_among_the_failed_calls(tmp_path: Path) -> None:
    rows = [{"match": "Your reply holds no score", "error": "server"}, {"text": "hm"}, {"text": "hm"}]
    script = f"fake:script={write_rows(tmp_path / 'script.jsonl', rows)}"
    items = [{"id": "1", "instruction": "Count.", "response": "1"}]
    path = write_rows(tmp_path / "items.jsonl", items)
    done = adjudge(
        "run",
        path,
        "-p",
        "prometheus/direct",
        *RUBRIC,
        "-m",
        script,
        "--store",
        tmp_path / "adjudge.db",
        "--json",
    )
    assert done.code == 4
    assert done.json["call_errors"] == {"server": 1}
    assert done.json["systems"]["all"]["tact"]["failures"] == {"unparsed": 1}
    assert done.json["warnings"][0]["kind"] == "failed_calls"


def test_what_a_model_refused_to_take_is_kept_with_the_run_and_does_not_make_it_another(
    tmp_path: Path,
) -> None:
    def plan(request: Request) -> Answer:
        if "seed" in request.json:
            return as_json(
                {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, 422
            )
        return chat("Feedback: so. [RESULT] 4")

    items = [{"id": "1", "instruction": "Count.", "response": "1"}]
    with FakeServer(plan) as server:
        judge = ("-p", "prometheus/direct", *RUBRIC, "-m", f"{server.url}/v1#judge", "--seed", "7")
        first = run_of(tmp_path, items, *judge)
        n_asked = server.n_requests
        again = run_of(tmp_path, items, *judge)
        assert server.n_requests == n_asked
    (adjustment,) = first["adjustments"]
    assert adjustment.startswith("seed 7 ")
    assert again["adjustments"] == [adjustment]
    assert again["run"] == first["run"]
    assert adjustment in adjudge("report", "last", "--full", "--store", tmp_path / "adjudge.db").out

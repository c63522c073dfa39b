"""Reports of several judges, of judges beside their own kin, and of judges that go by the place shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from adjudge.analysis.model_families import family_of, family_of_judge
from adjudge.analysis.report_words import markdown, report_lines
from adjudge.analysis.result_types import Summary
from adjudge.analysis.run_view import ModelFacts, ProtocolFacts
from adjudge.records import Choice, Result, Scale
from adjudge.stats import krippendorff_alpha, position_bias, settled, spearman
from fakeserver import Answer, FakeServer, Request, as_json, chat
from running import EXAMPLES, adjudge, write_rows
from views import facts, summarise

FIVE = Scale(1, 5, 5, 1)
FACTS = facts(scales={("p@1", "clarity"): FIVE})
A = [1, 2, 3, 4, 5, 4, 3, 2, 1, 5, 4, 2]
B = [1, 2, 3, 4, 5, 4, 3, 2, 2, 5, 4, 2]
ODD = [5, 1, 2, 5, 1, 3, 5, 4, 3, 1, 1, 5]


def scored(judges: dict[str, Sequence[float | None]], system: str = "x") -> list[Result]:
    return [
        Result(
            item=f"{system}{place}", protocol="p@1", criterion="clarity", model=model, system=system, value=value,
            status="ok" if value is not None else "unparsed",
        )
        for model, values in judges.items()
        for place, value in enumerate(values)
    ]  # fmt: skip


def chosen(choices: dict[str, Sequence[Choice]], systems: tuple[str, str] = ("x", "y")) -> list[Result]:
    return [
        Result(
            item=f"{place}", protocol="p@1", criterion="winner", model=model, status="ok", choice=choice,
            system_a=systems[0], system_b=systems[1],
        )
        for model, values in choices.items()
        for place, choice in enumerate(values)
    ]  # fmt: skip


def said(summary: Summary, kind: str) -> str:
    return " ".join(caution.text for caution in summary.warnings if caution.kind == kind)


def printed(summary: Summary, width: int = 120) -> str:
    return "\n".join(text for text, _ in report_lines(summary, width))


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
    assert "odd stands apart" in said(summary, "judge_apart")
    assert not said(summary, "panel_disagrees")


def test_of_two_judges_neither_stands_apart_but_that_they_disagree_is_said() -> None:
    summary = summarise(scored({"m1": A, "odd": ODD}), facts=FACTS)
    assert summary.panel["clarity"].stands_apart is None
    assert summary.panel["clarity"].judges["m1"].alpha_without.value is None
    assert "the judges agree little" in said(summary, "panel_disagrees")


def test_judges_that_agree_are_not_warned_of_and_one_judge_is_no_panel() -> None:
    agreeing = summarise(scored({"m1": A, "m2": B, "m3": A}), facts=FACTS)
    assert not said(agreeing, "judge_apart")
    assert not said(agreeing, "panel_disagrees")
    assert summarise(scored({"m1": A}), facts=FACTS).panel == {}


def test_items_that_one_judge_alone_could_read_take_no_part_in_the_agreement() -> None:
    gaps: list[float | None] = [*B[:10], None, None]
    assert summarise(scored({"m1": A, "m2": gaps}), facts=FACTS).panel["clarity"].alpha.n == 10


def test_choices_agree_by_name_not_by_distance() -> None:
    votes: dict[str, Sequence[Choice]] = {"m1": ["a", "b", "tie", "a"] * 5, "m2": ["a", "b", "a", "a"] * 5}
    panel = summarise(chosen(votes)).panel["winner"]
    sign = {"a": 1.0, "b": -1.0, "tie": 0.0}
    table = [[sign[one], sign[other]] for one, other in zip(votes["m1"], votes["m2"], strict=True)]
    assert panel.alpha.value == pytest.approx(krippendorff_alpha(table, "nominal").value)
    assert panel.pooled == "vote"
    assert panel.judges["m1"].shift.value is None


def test_log_probabilities_of_two_models_have_no_agreement_in_level() -> None:
    known = facts(scales={("p@1", "clarity"): Scale(None, None, "high")})
    panel = summarise(scored({"m1": A, "m2": B}), facts=known).panel["clarity"]
    assert panel.alpha.value is None
    assert "no common scale" in panel.alpha.method
    assert panel.judges["m1"].with_rest.value is not None


def test_every_judge_has_a_column_and_the_table_fits() -> None:
    rows = [*scored({"m1": A, "m2": B, "odd": ODD}), *scored({"m1": B, "m2": A, "odd": A}, system="y")]
    summary = summarise(rows, facts=FACTS)
    text = printed(summary)
    head = next(line for line in text.splitlines() if line.split() == ["m1", "m2", "odd"])
    row = next(line for line in text.splitlines() if line.startswith("  x ") and line.count("(12, 0)") == 3)
    assert head.index("m2") == row.index("3.08", row.index("(12, 0)"))
    assert "their alpha without it" in text
    for width in (120, 80, 40):
        assert max(map(len, printed(summary, width).splitlines())) <= width
    shown = markdown(summary)
    assert "|  | m1 | m2 | odd |" in shown
    assert "| judge | with the others | higher than they by | their alpha without it | n |" in shown


def test_very_many_scores_anywhere_on_the_scale_do_not_hold_up_a_report() -> None:
    values = [1 + (place * 7919 % 4001) / 1000 for place in range(12_000)]
    panel = summarise(scored({"m1": values, "m2": values[::-1]}), facts=FACTS).panel["clarity"]
    assert panel.alpha.n == 10_000
    assert "of 12000 items 10000 drawn" in panel.alpha.method


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4o-mini", "OpenAI"), ("GPT4", "OpenAI"), ("chatgpt", "OpenAI"), ("o1-preview", "OpenAI"),
        ("text-davinci-003", "OpenAI"), ("claude-3-opus", "Anthropic"), ("claude2", "Anthropic"),
        ("gemini-1.5-pro", "Google"), ("palm-2", "Google"), ("gemma-2-9b", "Google"), ("meta-llama/Llama-3.1-8B", "Meta"),
        ("llama3", "Meta"), ("mixtral-8x7b", "Mistral"), ("Qwen2.5-72B", "Qwen"), ("deepseek-v3", "DeepSeek"),
        ("Yi-34B-Chat", "01.AI"), ("chatglm3-6b", "Zhipu"), ("command-r-plus", "Cohere"), ("grok-2", "xAI"),
        ("phi-3", "Microsoft"), ("SmolLM2-135M", "Hugging Face"),
        ("philosophy", None), ("command-line", None), ("metaphor", None), ("meta-prompt", None), ("palmistry", None),
        ("gpt-j-6b", None), ("gpt2", None), ("o2", None), ("yi", None), ("baseline", None), ("clauded", None),
    ],
)  # fmt: skip
def test_a_family_is_known_by_whole_words(name: str, family: str | None) -> None:
    assert family_of(name) == family


def test_a_judges_family_is_that_of_what_it_calls_itself() -> None:
    assert family_of_judge("openai:gpt-4o", []) == "OpenAI"
    assert family_of_judge("openai:my-judge", ["Qwen2.5-7B"]) == "Qwen"
    assert family_of_judge("openai:my-judge", []) is None
    assert family_of_judge("http://gpt.example/v1#llama-3", []) == "Meta"
    assert family_of_judge("local:models/qwen2-1.5b.gguf", []) == "Qwen"
    assert family_of_judge("fake:text=gpt-4", []) is None
    assert family_of_judge("replay:gpt-4.jsonl", []) is None
    assert family_of_judge("replay:replies.jsonl", ["claude-3"]) == "Anthropic"


def test_a_judge_of_its_own_family_is_warned_of() -> None:
    rows = [*scored({"openai:gpt-4o": A}, "gpt-4-turbo"), *scored({"openai:gpt-4o": B}, "claude-2")]
    text = said(summarise(rows, facts=FACTS), "self_preference")
    assert text.startswith("openai:gpt-4o judges systems of its own family (OpenAI): gpt-4-turbo.")
    other = [judged_by(row, "anthropic:claude-3") for row in rows]
    assert "(Anthropic): claude-2." in said(summarise(other, facts=FACTS), "self_preference")
    neutral = [judged_by(row, "http://host/v1#qwen2") for row in rows]
    assert not said(summarise(neutral, facts=FACTS), "self_preference")


def judged_by(row: Result, model: str) -> Result:
    return structs.replace(row, model=model)


def test_pairs_are_looked_at_for_kinship_too() -> None:
    text = said(summarise(chosen({"openai:gpt-4o": ["a", "b"]}, ("gpt-4", "claude-2"))), "self_preference")
    assert "gpt-4" in text


@pytest.mark.parametrize(
    ("spec", "reader", "is_warned"),
    [
        ("local", "tag", True), ("local", "likelihood", False), ("local:models/SmolLM2-135M-Instruct-Q4_K_M.gguf", "tag", True),
        ("local:models/qwen2-72b.gguf", "tag", False), ("openai:smollm2-135m", "tag", False),
    ],
)  # fmt: skip
def test_the_embedded_model_is_called_weak_where_it_writes_scores(
    spec: str, reader: Any, is_warned: bool
) -> None:
    known = facts(models=(ModelFacts(spec),), protocols=(ProtocolFacts("p", "1", reader),))
    summary = summarise(scored({spec: A}), facts=known)
    assert ("does not follow rubrics" in said(summary, "weak_judge")) is is_warned
    assert ("does not follow rubrics" in printed(summary).replace("\n    ", " ")) is is_warned
    assert ("does not follow rubrics" in markdown(summary)) is is_warned


def test_choices_against_the_judges_own_scores_are_counted_in_words() -> None:
    rows = chosen({"m": ["a", "b", "a"]})
    rows[1] = structs.replace(rows[1], flags=("verdict_contradicts_scores",))
    text = said(summarise(rows), "contradiction")
    assert text.startswith("In 1 of 3 items the judge chose the response that it gave the lower score")


def test_one_order_alone_is_said_to_prove_nothing_about_places() -> None:
    found = position_bias(["first"] * 20, [None] * 20)
    known = facts(parameters={"order": "given"}, order={"winner": found})
    summary = summarise(chosen({"m": ["a"] * 20}), facts=known)
    assert "cannot be told from a better response" in said(summary, "one_order")
    assert not said(summary, "position"), "the first system may simply be better"
    drawn = facts(parameters={"order": "random"}, order={"winner": found})
    assert "favours the response shown first" in said(
        summarise(chosen({"m": ["a"] * 20}), facts=drawn), "position"
    )


def test_position_bias_agrees_with_the_reference(shared: Path) -> None:
    vector = json.loads((shared / "vectors.json").read_text(encoding="utf-8"))["position_bias"]
    place: dict[str, Any] = {"A": "first", "B": "second", "tie": "tie"}
    shown = [place[word] for word in vector["inputs"]["verdict_order_AB"]]
    swapped = [place[word] for word in vector["inputs"]["verdict_order_BA_by_position"]]
    found, expected = position_bias(shown, swapped), vector["expected"]
    assert found.agreement.value == pytest.approx(expected["consistency"], abs=vector["tol"])
    assert 1 - (found.agreement.value or 0) == pytest.approx(expected["flip_rate"], abs=vector["tol"])
    assert found.first_both / found.n_pairs == pytest.approx(expected["first_biased"], abs=vector["tol"])
    assert found.second_both / found.n_pairs == pytest.approx(expected["second_biased"], abs=vector["tol"])
    assert found.other_conflicts / found.n_pairs == pytest.approx(
        expected["other_inconsistent"], abs=vector["tol"]
    )
    assert found.p == pytest.approx(expected["primacy_preference_p_binom"], abs=vector["tol"])
    winners = [settled(one, other) for one, other in zip(shown, swapped, strict=True)]
    assert [{"a": "A", "b": "B"}.get(winner, winner) for winner in winners] == expected["conservative_winner"]


# -- from runs

RUBRIC = ("--rubric", str(EXAMPLES / "tact.toml"))


def run_of(tmp_path: Path, items: list[dict[str, Any]], *arguments: str) -> Any:
    path = write_rows(tmp_path / "items.jsonl", items)
    done = adjudge("run", path, *arguments, "--store", tmp_path / "adjudge.db", "--json")
    assert done.code == 0, done.err
    return done.json


def kinds(report: Any) -> set[str]:
    return {warning["kind"] for warning in report["warnings"]}


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
    assert "fake_model" in kinds(report)


PAIRS = [
    {"id": f"p{k}", "system_a": "x", "system_b": "y", "instruction": "Say.", "response_a": f"a {k}", "response_b": f"b {k}"}
    for k in range(12)
]  # fmt: skip


def test_a_judge_that_goes_by_the_place_is_found_out_in_a_run(tmp_path: Path) -> None:
    report = run_of(tmp_path, PAIRS, "-p", "prometheus/pairwise", *RUBRIC, "-m", "fake:text=So. [RESULT] A")
    order = report["order"]["tact"]
    assert (order["agreement"]["value"], order["first_share"]["value"]) == (0.0, 1.0)
    assert (order["first_both"], order["n_pairs"]) == (12, 12)
    assert order["p"] == pytest.approx(2 * 0.5**12)
    assert {"position", "order_conflict"} <= kinds(report)
    table = adjudge("report", "last", "--store", tmp_path / "adjudge.db").out
    assert "Does the place decide?" in table
    assert (
        "won by the first place"
        in adjudge("report", "last", "--markdown", "--store", tmp_path / "adjudge.db").out
    )


def test_one_order_is_reported_as_one_order(tmp_path: Path) -> None:
    judge = ("-p", "prometheus/pairwise", *RUBRIC, "-m", "fake:text=So. [RESULT] A", "--order", "given")
    report = run_of(tmp_path, PAIRS, *judge)
    assert "one_order" in kinds(report)
    assert "position" not in kinds(report)
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
    assert "On clarity" in text
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
    text = done.json["warnings"][0]["text"]
    assert text.startswith(
        "1 call brought no reply (server 1). 1 of them asked for an answer that a first reply lacked"
    )


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
    (told,) = first["adjustments"]
    assert told.startswith("seed 7 is not sent")
    assert again["adjustments"] == [told]
    assert again["run"] == first["run"], "it goes on as the same run"
    store = tmp_path / "adjudge.db"
    assert f"adjusted  {told}" in adjudge("report", "last", "--store", store).out.replace("\n          ", " ")

"""Results of Inspect, promptfoo and lm-eval, made with these tools (`../traces/made`), as items and as
scores."""

from __future__ import annotations

import json
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from adjudge.data import ItemFile, read_scores, read_traces
from adjudge.errors import DataError
from adjudge.records import Result
from running import adjudge

MADE = Path(__file__).parent.parent / "traces" / "made"
QUESTION = "When does the reading room close on Friday?"
ANSWER = "The reading room closes at 17:30 on Friday."


def values(results: tuple[Result, ...]) -> dict[tuple[str, str], float | None]:
    return {(row.item, row.criterion): row.value for row in results}


def archive(path: Path, whole: dict[str, object]) -> Path:
    """A log as Inspect's older versions write it: an archive with the usual compression."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        samples = whole.pop("samples")
        assert isinstance(samples, list)
        for sample in samples:
            file.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        file.writestr("header.json", json.dumps(whole))
    return path


def inspect_log(form: str, tmp_path: Path) -> Path:
    if form == "json":
        return MADE / "inspect.json"
    if form == "deflated":
        return archive(tmp_path / "log.eval", json.loads((MADE / "inspect.json").read_text()))
    if sys.version_info < (3, 14):
        pytest.importorskip("polars", reason="it decompresses Zstandard")
    return MADE / "inspect.eval"


@pytest.mark.parametrize("form", ["json", "eval", "deflated"])
def test_samples_of_inspect_are_items_and_scores(form: str, tmp_path: Path) -> None:
    path = inspect_log(form, tmp_path)
    traces = read_traces(path)
    assert traces.form == "inspect"
    rows = {row["id"]: row for row in traces.rows}
    assert set(rows) == {"hours", "2", "hours (2)", "2 (2)"}  # two epochs: another output is another item
    row = rows["hours"]
    assert (row["task"], row["response"], row["reference"], row["topic"]) == (
        QUESTION,
        ANSWER,
        "17:30",
        "opening",
    )
    assert (row["system"], row["group"]) == ("openai-api/desk/desk-1", "hours")
    assert rows["2"]["reference"] == "12:00\nnoon"
    roles = [message["role"] for message in row["conversation"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert row["conversation"][2]["tool_calls"][0]["function"]["name"] == "opening_hours"
    assert row["conversation"][3]["name"] == "opening_hours"
    found = values(read_scores(path).results)
    assert found["hours", "includes"] == 1.0  # C
    assert found["2 (2)", "includes"] == 0.0  # I
    assert (found["hours", "tone"], found["hours", "fact"]) == (4.0, 1.0)


def test_a_sample_without_a_score_is_a_failure_and_an_unknown_value_a_problem(tmp_path: Path) -> None:
    whole = json.loads((MADE / "inspect.json").read_text())
    first, second, third, fourth = whole["samples"]
    del first["scores"]["includes"]
    second["scores"] = {}
    third["scores"]["includes"]["value"] = float("nan")
    path = tmp_path / "log.json"
    path.write_text(json.dumps(whole))
    failed = [row for row in read_scores(path).results if row.value is None]
    assert len(failed) == 5
    assert {row.status for row in failed} == {"unparsed"}
    fourth["scores"]["includes"]["value"] = "mostly"
    path.write_text(json.dumps(whole))
    with pytest.raises(DataError, match="record 4: includes is 'mostly', which is no number and no grade"):
        read_scores(path)


@pytest.mark.parametrize("name", ["promptfoo.json", "promptfoo.jsonl"])
def test_outputs_of_promptfoo_are_items_and_scores(name: str) -> None:
    traces = read_traces(MADE / name)
    assert traces.form == "promptfoo"
    text, chat, failed, _ = traces.rows
    assert (text["id"], text["system"], text["group"]) == ("0-0", "openai:chat:desk-1, prompt 1", "friday")
    assert (text["task"], text["response"]) == (f"Answer for the town library: {QUESTION}", ANSWER)
    assert text["question"] == QUESTION
    assert [message["role"] for message in chat["conversation"]] == ["system", "user", "assistant"]
    assert failed["system"].startswith("unreachable")
    assert failed["error"]
    assert "response" not in failed
    found = values(read_scores(MADE / name).results)
    assert (found["0-0", "score"], found["0-0", "fact"], found["0-0", "polite"]) == (0.5, 1.0, 0.0)
    # An output that never came has failed on every metric of its test, and is no 0.
    assert [found["0-2", criterion] for criterion in ("score", "fact", "polite")] == [None, None, None]


def old_promptfoo_results() -> list[dict[str, Any]]:
    """Results as promptfoo wrote them before they had the numbers of tests and prompts: two providers."""
    results = []
    for provider in ("openai:old", "local"):
        for place, name in enumerate(("Ann", "Bob", "Cy")):
            scores = {} if place == 2 else {"tone": 0.5 + place / 2}
            result = {
                "prompt": {"raw": f"Greet {name}."},
                "vars": {"name": name},
                "provider": {"id": provider},
            }
            results.append(
                {**result, "response": {"output": f"Hi {name}"}, "score": 1, "namedScores": scores}
            )
    return results


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_older_results_of_promptfoo_are_grouped_by_their_variables(is_wrapped: bool, tmp_path: Path) -> None:
    inner = {"version": 2, "results": old_promptfoo_results(), "stats": {}, "table": {}}
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"evalId": "e", "results": inner} if is_wrapped else inner))
    rows = read_traces(path).rows
    assert [row["group"] for row in rows] == ["0", "1", "2", "0", "1", "2"]
    assert [row["response"] for row in rows[:2]] == ["Hi Ann", "Hi Bob"]
    scores = read_scores(path).results
    assert {row.group for row in scores} == {"0", "1", "2"}
    # A metric that a test does not have is no failure on it.
    assert Counter(row.criterion for row in scores) == {"score": 6, "tone": 4}
    assert all(row.status == "ok" for row in scores)


def test_tests_of_promptfoo_with_one_description_stay_apart(tmp_path: Path) -> None:
    results = [
        {**result, "testIdx": place % 3, "promptIdx": place // 3, "testCase": {"description": "default"}}
        for place, result in enumerate(old_promptfoo_results())
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"results": {"version": 3, "results": results}}))
    assert [row["group"] for row in read_traces(path).rows] == ["0", "1", "2"] * 2


def test_samples_of_lm_eval_are_items_and_scores() -> None:
    traces = read_traces(MADE / "lm_eval_desk.jsonl")
    assert traces.form == "lm-eval"
    row = traces.rows[0]
    assert (row["id"], row["task"], row["response"]) == ("0", f"Q: {QUESTION}\nA:", ANSWER)
    assert (row["reference"], row["q"]) == ("17:30", QUESTION)
    assert values(read_scores(MADE / "lm_eval_desk.jsonl").results) == {
        ("0", "exact_match"): 0.0,
        ("1", "exact_match"): 0.0,
    }


def test_the_answer_of_a_multiple_choice_is_the_choice_with_the_largest_likelihood() -> None:
    record = json.loads((MADE / "lm_eval_days.jsonl").read_text().splitlines()[0])
    likelihoods = [float(reply[0][0]) for reply in record["resps"]]
    row = read_traces(MADE / "lm_eval_days.jsonl").rows[0]
    assert row["response"] == ("Friday", "Saturday")[likelihoods.index(max(likelihoods))]
    assert row["reference"] == "Friday"
    assert set(values(read_scores(MADE / "lm_eval_days.jsonl").results)) >= {("0", "acc"), ("0", "acc_norm")}


def test_filters_of_lm_eval_are_criteria_of_one_item(tmp_path: Path) -> None:
    line = json.loads((MADE / "lm_eval_desk.jsonl").read_text().splitlines()[0])
    path = tmp_path / "samples.jsonl"
    path.write_text("\n".join(json.dumps({**line, "filter": name}) for name in ("strict", "flexible")))
    assert len(read_traces(path).rows) == 1
    assert set(values(read_scores(path).results)) == {
        ("0", "exact_match,strict"),
        ("0", "exact_match,flexible"),
    }


@pytest.mark.parametrize("name", ["inspect.json", "promptfoo.json", "promptfoo.jsonl", "lm_eval_desk.jsonl"])
def test_items_and_scores_of_one_file_have_the_same_ids(name: str) -> None:
    assert {row["id"] for row in read_traces(MADE / name).rows} == {
        row.item for row in read_scores(MADE / name).results
    }


def test_a_card_of_another_tools_scores(tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("item,human\nhours,1\n2,0\nhours (2),1\n2 (2),1\n")
    command = ("trust", "--scores", MADE / "inspect.json", "--labels", labels, "--by", "topic", "--json")
    done = adjudge(*command, "--map", "labels.value=human", "--map", "labels.criterion=item")
    assert done.code == 2  # no criterion of the scores has the name of an item
    labels.write_text(
        "item,human,criterion\nhours,1,includes\n2,0,includes\nhours (2),1,includes\n2 (2),1,includes\n"
    )
    done = adjudge(*command, "--map", "labels.value=human")
    assert done.code == 0, done.err
    assert done.json["criteria"]["includes"]["item"]["pearson"]["n"] == 4
    wrong = adjudge(*command, "--map", "labels.value=human", "--format", "ragas")
    assert wrong.code == 2
    assert "--format ragas: choose auto, table, inspect, promptfoo, lm-eval." in wrong.err


def test_a_log_given_as_items_says_how_it_is_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a log of Inspect\. Judge its samples with --traces auto"):
        ItemFile(MADE / "inspect.eval").check()
    with pytest.raises(DataError, match="results of other tools become items with --traces auto"):
        ItemFile(MADE / "promptfoo.json").check()
    done = adjudge(
        "run", MADE / "inspect.json", "--traces", "auto", "-p", "direct/reference-answer", "-m",
        "fake:text=<verdict>correct</verdict>",
        "--run", "r", "--store", tmp_path / "a.db",
    )  # fmt: skip
    assert done.code == 0, done.err


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x05\x06" + bytes(18)])
def test_an_archive_that_is_none_is_an_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(content)
    for read in (read_traces, read_scores):
        with pytest.raises(DataError, match="not a log of Inspect"):
            read(path)


def test_a_damaged_archive_is_an_error(tmp_path: Path) -> None:
    if sys.version_info < (3, 14):
        pytest.importorskip("polars")
    data = bytearray((MADE / "inspect.eval").read_bytes())
    path = tmp_path / "log.eval"
    for place in range(40, len(data) - 400, 97):
        damaged = data.copy()
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            read_traces(path)
        except DataError:
            continue

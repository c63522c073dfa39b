"""A failure is never a number: each kind of failed judgment, through every door by which scores leave."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import adjudge
from adjudge import adapters
from adjudge.analysis.cascade.answers import answers_of_run
from adjudge.errors import NoScore
from adjudge.judge import Verdict
from adjudge.platforms.inspect_log import inspect_score
from adjudge.platforms.langfuse import langfuse_score
from adjudge.platforms.langsmith import feedback_of
from adjudge.platforms.mlflow import assessment_of
from adjudge.platforms.otlp import logs_of, spans_of
from adjudge.platforms.phoenix import annotation_of
from adjudge.platforms.score import PlatformScore
from adjudge.platforms.scores_of_run import scores_of_run
from adjudge.store import open_store
from failing import FAILED, ITEMS, REPLIES, RUBRIC, SCORES
from running import adjudge as command
from running import write_rows
from served import Served

JUDGE = ("-p", "prometheus/direct", "--rubric", "tact.toml", "-m", "fake:script=script.jsonl", "--reask", "0")

COUNTS = {
    "samples", "n_failed", "cost_usd", "reply", "kind", "code", "severityNumber", "timeUnixNano", "error",
    "observedTimeUnixNano", "startTimeUnixNano", "endTimeUnixNano", "adjudge.samples", "adjudge.n_failed",
}  # fmt: skip
"""Where a failed judgment may have a number: how often it was asked, what it cost, and when it was sent."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which each item of a run is judged in its own way."""
    folder = tmp_path_factory.mktemp("failures")
    (folder / "tact.toml").write_text(RUBRIC, encoding="utf-8")
    write_rows(folder / "items.jsonl", ITEMS)
    lines = [{"match": f"<{name}>", **reply} for name, reply in REPLIES.items()]
    write_rows(folder / "script.jsonl", lines)
    return folder


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    if not (folder / "adjudge.db").exists():
        assert command("run", "items.jsonl", *JUDGE, "--run", "r", "-q").code == 0


@pytest.fixture(scope="module")
def judge(folder: Path) -> Iterator[adjudge.Judge]:
    script = f"fake:script={folder / 'script.jsonl'}"
    options: dict[str, Any] = {"rubric": folder / "tact.toml", "store": folder / "judge.db", "reask": 0}
    with adjudge.Judge("prometheus/direct", script, **options) as judge:
        yield judge


def numbers_in(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """All numbers in a payload with the key that they stand under, also those written as texts."""
    if isinstance(value, Mapping):
        if "key" in value and "value" in value:  # an attribute of OpenTelemetry
            yield from numbers_in(value["value"], str(value["key"]))
            return
        for key, inner in value.items():
            is_typed = key in ("stringValue", "intValue", "doubleValue")
            yield from numbers_in(inner, place if is_typed else str(key))
    elif isinstance(value, str):
        try:
            is_number = math.isfinite(float(value))
        except ValueError:
            is_number = False
        if is_number:
            yield place, value
    elif isinstance(value, Sequence):
        for inner in value:
            yield from numbers_in(inner, place)
    elif isinstance(value, int | float) and not (isinstance(value, float) and math.isnan(value)):
        yield place, value


def assert_no_number(payload: Any) -> None:
    assert [(key, number) for key, number in numbers_in(payload) if key not in COUNTS] == []


def scores_to_platforms(folder: Path) -> dict[str, PlatformScore]:
    with open_store(folder / "adjudge.db", write=False) as store:
        return {score.trace: score for score in scores_of_run(store, store.run("r"), {})}


PLATFORMS = {
    "inspect": inspect_score,
    "langfuse": langfuse_score,
    "langsmith": feedback_of,
    "mlflow": assessment_of,
    "phoenix": lambda score: annotation_of(score, "span"),
    "logs": lambda score: logs_of([score]),
    "spans": lambda score: spans_of([score]),
}


@pytest.mark.parametrize("name", PLATFORMS)
def test_no_platform_is_sent_a_number_for_a_failure(folder: Path, name: str) -> None:
    scores = scores_to_platforms(folder)
    assert set(scores) == set(REPLIES)
    for item, score in scores.items():
        sent = PLATFORMS[name](score)
        if item in SCORES:
            assert SCORES[item] in [number for _, number in numbers_in(sent)]
            assert not score.error
        else:
            assert score.value is None
            assert score.error not in ("", "ok")
            assert_no_number({key: part for key, part in sent.items() if key not in ("id", "explanation")})


def test_a_verdict_of_a_failure_is_no_number(judge: adjudge.Judge) -> None:
    verdicts = judge.many(ITEMS)
    for item, verdict in zip(REPLIES, verdicts, strict=True):
        if item in SCORES:
            assert float(verdict) == SCORES[item] == verdict
            continue
        assert verdict.status != "ok"
        assert (verdict.score, verdict.normalized, verdict.answer) == (None, None, None)
        for use in (float, int, round, math.floor, lambda v: v == 0, lambda v: v < 1, lambda v: v >= 0, bool,
                    lambda v: sum([v, 0.0]), lambda v: max(v, 0.0), lambda v: sorted([v, 1.0])):  # fmt: skip
            with pytest.raises((NoScore, TypeError, adjudge.AdjudgeError)):
                use(verdict)  # type: ignore[operator]
    assert (verdicts.mean, verdicts.estimate.n, verdicts.estimate.n_failed) == (1.0, 2, len(FAILED))
    assert len(verdicts.failed) == len(FAILED)


def test_an_adapter_of_functions_gives_no_number_for_a_failure(judge: adjudge.Judge) -> None:
    reward, get_assert = adapters.trl_reward(judge), adapters.promptfoo_assertion(judge)
    texts = {row["id"]: row["response"] for row in ITEMS}
    rewards = reward(prompts=["Greet."] * len(texts), completions=list(texts.values()))
    for (item, text), one in zip(texts.items(), rewards, strict=True):
        if item in SCORES:
            assert one == SCORES[item]
            assert get_assert(text, {"prompt": "Greet."})["score"] == SCORES[item] / 2
        else:
            assert math.isnan(one)
            with pytest.raises(NoScore):
                get_assert(text, {"prompt": "Greet."})
    assert (reward.n_scored, reward.n_unscored) == (2, len(FAILED))  # type: ignore[attr-defined]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_no_export_has_a_number_for_a_failure(suffix: str) -> None:
    path = Path(f"out.{suffix}")
    assert command("export", "r", "-o", path).code == 0
    rows: list[dict[str, Any]]
    if suffix == "jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    elif suffix == "csv":
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = pl.read_parquet(path).to_dicts()
    assert {row["item"] for row in rows} == set(REPLIES)
    for row in rows:
        if row["item"] in SCORES:
            assert float(row["score"]) == SCORES[row["item"]]
        else:
            assert row["status"] != "ok"
            left_out = ("explanation", "evidence", "notes")
            assert_no_number({key: cell for key, cell in row.items() if key not in left_out})


def test_a_served_judge_answers_a_failure_with_an_error(folder: Path) -> None:
    run = '[runs.tact]\nprotocol = "prometheus/direct"\nrubric = "tact.toml"\nreask = 0\n'
    served = Served(folder, run_file=f'{run}models = ["fake:script=script.jsonl"]\n')
    try:
        given = [{"instruction": row["instruction"], "response": row["response"]} for row in ITEMS]
        _, scored = served.post("/score", {"model": "tact", "items": given})
        for item, row in zip(REPLIES, scored["scores"], strict=True):
            if item in SCORES:
                assert row["score"] == SCORES[item]
            else:
                assert_no_number({key: part for key, part in row.items() if key != "explanation"})
        assert scored["n_failed"] == len(FAILED)
        levels = [{"label": str(k)} for k in range(3)]
        asked = {"type": "score", "name": "tact", "instructions": "?", "levels": levels}
        typed = {"type": "score", "criteria": ["0", "1", "2"]}
        for item, fields in zip(REPLIES, given, strict=True):
            _, decided = served.post(
                "/v1/decisions", {"model": "tact", "input": fields, "questions": [asked]}
            )
            _, one = served.post(
                "/v1/systemone", {"model": "tact", "state": fields, "questions": {"tact": typed}}
            )
            if item in SCORES:
                assert decided["answers"][0]["score"] == one["answers"]["tact"]["score"] == SCORES[item]
            else:
                assert decided["answers"][0]["type"] == "refusal"
                assert_no_number({"answers": decided["answers"]})
                assert one["answers"] == {}
                assert set(one["errors"]) == {"tact"}
    finally:
        served.stop()


def test_every_aggregate_is_of_the_scores_and_counts_the_failures() -> None:
    report = command("report", "r", "--json").json["systems"]["all"]["tact"]
    assert (report["value"], report["n"], report["n_failed"]) == (1.0, 2, len(FAILED))
    assert sum(report["failures"].values()) == len(FAILED)
    gate = command("gate", "r", "--min", "tact=0", "--json", "--junit", "junit.xml")
    assert gate.code == 4
    assert "tact" in Path("junit.xml").read_text()
    with open_store("adjudge.db", write=False) as store:
        answers = list(answers_of_run(store, store.run("r"), "tact", "stated"))
        by_item = {answer.item: answer.answer for answer in answers}
    assert {item: answer for item, answer in by_item.items() if answer is not None} == SCORES


def test_the_results_of_a_run_have_no_value_for_a_failure(folder: Path) -> None:
    model = f"fake:script={folder / 'script.jsonl'}"
    options: dict[str, Any] = {"rubric": str(folder / "tact.toml"), "store": folder / "python.db", "reask": 0}
    done = adjudge.run(ITEMS, "prometheus/direct", model, **options)
    results = {result.item: result for result in done.results()}
    assert {name: result.value for name, result in results.items() if result.value is not None} == SCORES
    assert {name for name, result in results.items() if result.normalized is not None} == set(SCORES)


def test_where_there_is_nothing_to_score_there_is_no_number_either(folder: Path) -> None:
    """A text without claims has no share of supported ones; this is no failure, and no 0."""
    write_rows(folder / "none.jsonl", [{"id": "x", "response": "Hello there.", "source": "It rains."}])
    model = "fake:text=NONE"
    done = command("run", "none.jsonl", "-p", "claims/supported", "-m", model, "--run", "n", "-q")
    assert done.code == 0, done.err
    assert "There was nothing to score in the only item. No judgment failed." in done.out
    for row in command("export", "n", "--format", "jsonl").rows:
        assert (row["status"], row["score"], row["normalized"]) == ("ok", None, None)
    with open_store("adjudge.db", write=False) as store:
        scores = list(scores_of_run(store, store.run("n"), {}))
    assert {(score.value, score.error) for score in scores} == {(None, "nothing_to_score")}
    for payload in PLATFORMS.values():
        for sent in map(payload, scores):
            assert_no_number({key: part for key, part in sent.items() if key not in ("id", "explanation")})


def test_the_type_of_a_verdict_is_no_number(judge: adjudge.Judge) -> None:
    assert not isinstance(judge(ITEMS[0]), int | float)
    assert isinstance(judge(ITEMS[0]), Verdict)

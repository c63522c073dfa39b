"""A failure of any kind is no number in other tools, with their real packages (`make ecosystem`)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge import adapters
from adjudge.models.fake import FakeModel, Line
from failing import FAILED, ITEMS, REPLIES, RUBRIC, SCORES

pytestmark = [pytest.mark.ecosystem, pytest.mark.filterwarnings("ignore")]

TEXTS = {row["id"]: row["response"] for row in ITEMS}


def replied(prompt: str) -> Line:
    return Line(**next(reply for name, reply in REPLIES.items() if f"<{name}>" in prompt))  # type: ignore[arg-type]


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[adjudge.Judge]:
    model = FakeModel(lambda call: replied("\n".join(message.content for message in call.messages)))
    rubric = tmp_path / "tact.toml"
    rubric.write_text(RUBRIC, encoding="utf-8")
    with adjudge.Judge("prometheus/direct", model, rubric=rubric, store=tmp_path / "a.db", reask=0) as judge:
        yield judge


def test_pydantic_evals(judge: adjudge.Judge) -> None:
    pytest.importorskip("pydantic_evals")
    from pydantic_evals import Case, Dataset

    data: Any = Dataset(
        name="tact",
        cases=[Case(name=name, inputs=name) for name in TEXTS],
        evaluators=[adapters.pydantic_evaluator(judge, "tact")],
    )
    report = data.evaluate_sync(lambda name: TEXTS[name], progress=False)
    assert {case.name: case.scores["tact"].value for case in report.cases if case.scores} == SCORES
    assert {case.name for case in report.cases if case.evaluator_failures} == set(FAILED)
    assert not any(case.assertions or case.labels for case in report.cases)


def test_deepeval(judge: adjudge.Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    pytest.importorskip("deepeval")
    from deepeval.test_case import LLMTestCase

    metric = adapters.deepeval_metric(judge, threshold=0.0)
    for name, text in TEXTS.items():
        case = LLMTestCase(input="Greet.", actual_output=text)
        for measured in (metric.measure(case), asyncio.run(metric.a_measure(case))):
            expected = SCORES[name] / 2 if name in SCORES else None
            assert (measured, metric.score) == (expected, expected)
            assert metric.is_successful() == (name in SCORES)
            assert bool(metric.error) == (name not in SCORES)


def test_inspect(judge: adjudge.Judge, tmp_path: Path) -> None:
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    @solver
    def recorded() -> Any:
        async def solve(state: Any, generate: Any) -> Any:  # noqa: ARG001  no model is asked
            state.output = ModelOutput.from_content("recorded", TEXTS[state.sample_id])
            return state

        return solve

    task = inspect_ai.Task(
        dataset=[Sample(id=name, input="Greet.") for name in TEXTS],
        solver=recorded(),
        scorer=adapters.inspect_scorer(judge),
    )
    (log,) = inspect_ai.eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    assert log.results.scores[0].metrics["mean"].value == 1.0
    values = {sample.id: next(iter(sample.scores.values())).value for sample in log.samples}
    assert {name: value for name, value in values.items() if not math.isnan(value)} == SCORES


def test_mlflow(judge: adjudge.Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.genai")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.set_experiment("tact")
    rows = [{"inputs": {"task": "Greet."}, "outputs": text} for text in TEXTS.values()]
    evaluated = mlflow.genai.evaluate(data=rows, scorers=[adapters.mlflow_scorer(judge, "tact")])
    assert evaluated.metrics["tact/mean"] == 1.0
    feedback = [
        one.feedback for trace in mlflow.search_traces(return_type="list") for one in trace.info.assessments
    ]
    assert sorted(one.value for one in feedback if one.error is None) == sorted(SCORES.values())
    assert [one.value for one in feedback if one.error is not None] == [None] * len(FAILED)

"""The adapters with the real packages: each is skipped where its package is not installed (`make
ecosystem`)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge import adapters
from adjudge.models.fake import FakeModel

pytestmark = [pytest.mark.ecosystem, pytest.mark.filterwarnings("ignore")]

CASES = [("Say hello.", "Hello there!", 5), ("Say hello.", "Go away.", 1)]
FAILS = ("Say hello.", "unreadable")


def reply(text: str) -> str:
    if "unreadable" in text:
        return "What a nice day."
    return "Feedback: kind. [RESULT] 5" if "Hello there!" in text else "Feedback: rude. [RESULT] 1"


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[adjudge.Judge]:
    model = FakeModel(lambda call: reply("\n".join(message.content for message in call.messages)))
    rubric = Path(__file__).parents[2] / "examples" / "tact.toml"
    with adjudge.Judge("prometheus/direct", model, rubric=rubric, store=tmp_path / "a.db", reask=0) as judge:
        yield judge


def test_mlflow(judge: adjudge.Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.genai")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.set_experiment("tact")
    rows = [{"inputs": {"task": task}, "outputs": response} for task, response, _ in CASES]
    rows.append({"inputs": {"task": FAILS[0]}, "outputs": FAILS[1]})
    evaluated = mlflow.genai.evaluate(data=rows, scorers=[adapters.mlflow_scorer(judge, "tact")])
    assert evaluated.metrics["tact/mean"] == 3.0
    found = sorted(
        (str(one.feedback.value), one.feedback.error is None)
        for trace in mlflow.search_traces(return_type="list")
        for one in trace.info.assessments
    )
    assert found == [("1.0", True), ("5.0", True), ("None", False)]


def inspect_log(judge: adjudge.Judge, answers: list[str], tmp_path: Path) -> Any:
    """The log of a task of Inspect with the judge as its scorer."""
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    @solver
    def recorded() -> Any:
        async def solve(state: Any, generate: Any) -> Any:  # noqa: ARG001  no model is asked
            state.output = ModelOutput.from_content("recorded", state.metadata["answer"])
            return state

        return solve

    task = inspect_ai.Task(
        dataset=[Sample(input="Say hello.", metadata={"answer": text}) for text in answers],
        solver=recorded(),
        scorer=adapters.inspect_scorer(judge),
    )
    (log,) = inspect_ai.eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    return log


def test_inspect(judge: adjudge.Judge, tmp_path: Path) -> None:
    log = inspect_log(judge, [*(text for _, text, _ in CASES), FAILS[1]], tmp_path)
    assert log.results.scores[0].metrics["mean"].value == 3.0
    scores = [next(iter(sample.scores.values())) for sample in log.samples]
    assert [score.metadata["status"] for score in scores] == ["ok", "ok", "unparsed"]


def test_labels_have_no_mean_in_inspect(tmp_path: Path) -> None:
    topic = tmp_path / "topic.toml"
    topic.write_text('criterion = "About?"\n[labels]\nrefund = "Money."\nother = "Anything else."\n')
    judge = adjudge.Judge(
        "classify", "fake:text=<label>refund</label>", rubric=topic, store=tmp_path / "l.db"
    )
    log = inspect_log(judge, ["My money!"], tmp_path)
    assert [score.metrics for score in log.results.scores if score.metrics] == []
    assert [sample.scores["adjudge"].value for sample in log.samples] == ["refund"]
    judge.close()


def test_deepeval(judge: adjudge.Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    pytest.importorskip("deepeval")
    from deepeval.test_case import LLMTestCase

    metric = adapters.deepeval_metric(judge, threshold=0.5)
    for task, response, score in CASES:
        metric.measure(LLMTestCase(input=task, actual_output=response))
        assert (metric.score, metric.is_successful(), metric.error) == ((score - 1) / 4, score > 3, None)
    asyncio.run(metric.a_measure(LLMTestCase(input=FAILS[0], actual_output=FAILS[1])))
    assert (metric.score, metric.is_successful()) == (None, False)
    assert metric.error == "no score: unparsed"


def test_pydantic_evals(judge: adjudge.Judge) -> None:
    pytest.importorskip("pydantic_evals")
    from pydantic_evals import Case, Dataset

    replies = {f"task {k}": text for k, (_, text, _) in enumerate([*CASES, (*FAILS, None)])}
    data: Any = Dataset(
        name="tact",
        cases=[Case(name=task, inputs=task) for task in replies],
        evaluators=[adapters.pydantic_evaluator(judge, "tact")],
    )
    report = data.evaluate_sync(lambda task: replies[task], progress=False)
    assert [case.scores["tact"].value for case in report.cases if case.scores] == [5, 1]
    failures = [failure for case in report.cases for failure in case.evaluator_failures]
    assert len(failures) == 1
    assert "unparsed" in failures[0].error_message

"""Tools that take decision models, as clients of `adjudge serve`; promptfoo with its adapter.

Each is skipped where its package is not installed (`make ecosystem`).
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from running import EXAMPLES
from served import Served

pytestmark = [pytest.mark.ecosystem, pytest.mark.filterwarnings("ignore")]

RUN_FILE = """
[runs.tact]
protocol = "prometheus/direct"
rubric = "tact.toml"
reask = 0
models = ["fake:script=script.jsonl"]
[runs.topic]
protocol = "classify"
rubric = "topic.toml"
models = ["fake:text=<label>refund</label>"]
"""
SCRIPT = [
    {"match": "unreadable", "text": "What a day."},
    {"match": "Go away", "text": "Rude. [RESULT] 0"},
    {"text": "Kind. [RESULT] 1"},
]
TOPIC = 'criterion = "What is it about?"\n[labels]\nrefund = "Money back."\nother = "Anything else."\n'


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("serve")
    (folder / "script.jsonl").write_text("".join(json.dumps(line) + "\n" for line in SCRIPT))
    (folder / "topic.toml").write_text(TOPIC)
    server = Served(folder, run_file=RUN_FILE)
    yield server
    server.stop()


LEVELS = [{"label": str(k)} for k in range(1, 6)]


def test_the_sdk_of_openai(served: Served) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(api_key="secret", base_url=f"{served.url}/v1")
    questions = [
        {"type": "score", "name": "tact", "instructions": "?", "levels": LEVELS},
        {"type": "predicate", "name": "kind", "instructions": "Is it kind?"},
        {"type": "choice", "name": "c", "instructions": "?", "choices": [{"value": "a"}, {"value": "b"}]},
    ]
    score, kind, choice = client.decisions.create(model="tact", input="Hello.", questions=questions).answers
    assert (score.type, score.score, len(score.probabilities)) == ("score", 0, 5)
    assert (kind.type, kind.name, kind.probability) == ("predicate", "kind", 1)
    assert (choice.type, choice.name) == ("refusal", "c")
    (failed,) = client.decisions.create(model="tact", input="unreadable", questions=questions[:1]).answers
    assert failed.type == "refusal"
    with pytest.raises(openai.NotFoundError, match="no judge has this name"):
        client.decisions.create(model="none", input="Hello.", questions=questions)
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(api_key="wrong", base_url=f"{served.url}/v1").decisions.create(
            model="tact", input="Hello.", questions=questions
        )


def test_the_sdk_of_typesafe(served: Served) -> None:
    sdk = pytest.importorskip("typesafe_sdk")
    with contextlib.closing(sdk.TypeSafeClient(api_key="secret", base_url=served.url)) as client:
        asked = {
            "tact": sdk.Score(criteria=["a", "b", "c", "d", "e"]),
            "kind": sdk.Noul(instructions="Is it kind?"),
        }
        answers = client.system_one(state="Hello.", questions=asked, model="tact").answers
        assert (answers["tact"].score, answers["kind"].noul) == (0, 1)
        assert not client.system_one(state="unreadable", questions=asked, model="tact").answers


def test_the_metrics_as_prometheus_reads_them(served: Served) -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    served.post("/score", {"model": "tact", "items": ["Hello."]})
    families = {
        one.name: one for one in parser.text_string_to_metric_families("\n".join(served.metrics()[1]))
    }
    assert {name: one.type for name, one in families.items()} == {
        "adjudge_questions": "counter", "adjudge_spent_usd": "counter", "adjudge_requests_under_way": "gauge",
    }  # fmt: skip
    (answered,) = [
        one for one in families["adjudge_questions"].samples if one.labels["outcome"] == "answered"
    ]
    assert (answered.labels["model"], answered.value >= 1) == ("tact", True)


def test_judges_of_mlflow(served: Served) -> None:
    pytest.importorskip("mlflow")
    from typing import Literal

    from mlflow.genai.judges import make_judge

    def made(model: str, values: Any) -> Any:
        return make_judge(
            name="asked", instructions="Is {{ outputs }} a kind answer to {{ inputs }}?",
            model=f"typesafe:/{model}", base_url=f"{served.url}/v1", feedback_value_type=values,
            extra_headers={"Authorization": "Bearer secret"},
        )  # fmt: skip

    kind = made("tact", bool)
    for outputs, expected in (("Hello!", True), ("Go away.", False)):
        feedback = kind(inputs={"question": "Say hello."}, outputs=outputs)
        assert (feedback.value, feedback.error) == (expected, None)
    # A judgment that failed is no value.
    with pytest.raises(Exception, match="invalid noul answer"):
        kind(inputs={"question": "Say hello."}, outputs="unreadable")
    topic = made("topic", Literal["refund", "other"])
    assert topic(inputs={"question": "?"}, outputs="My money!").value == "refund"


def test_metrics_and_classifiers_of_deepeval(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    pytest.importorskip("deepeval")
    pytest.importorskip("typesafe_sdk")
    from deepeval.classifiers import Classifier
    from deepeval.metrics import JevEval
    from deepeval.metrics.jev_eval.questions import Noul
    from deepeval.models.system_one import TypeSafeModel
    from deepeval.test_case import LLMTestCase, SingleTurnParams

    def model(name: str) -> Any:
        return TypeSafeModel(name, api_key="secret", base_url=served.url, cost_per_input_token=0)

    asked = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT]
    metric = JevEval("kind", asked, [Noul("Is the answer kind?")], model("tact"), async_mode=False)
    for response, score in (("Hello!", 1), ("Go away.", 0)):
        metric.measure(LLMTestCase(input="Say hello.", actual_output=response))
        assert metric.score == score
    with pytest.raises(Exception, match="returned no Noul answer"):
        metric.measure(LLMTestCase(input="Say hello.", actual_output="unreadable"))
    labels = {"labels": ["refund", "other"], "system_one_model": model("topic"), "eval_mode": "system_one"}
    classifier = Classifier("topic", **labels, async_mode=False)
    classifier.classify(LLMTestCase(input="?", actual_output="My money!"))
    assert classifier.label == "refund"


CHECK = """
import adjudge
from adjudge.adapters import promptfoo_assertion
judge = adjudge.Judge("prometheus/direct", "fake:script=script.jsonl", rubric="tact.toml", reask=0)
get_assert = promptfoo_assertion(judge, threshold=0.5)
"""
PROMPTFOO = Path(__file__).parents[2] / ".venv-promptfoo" / "node_modules" / ".bin" / "promptfoo"


def test_a_python_assertion_of_promptfoo(tmp_path: Path) -> None:
    if not PROMPTFOO.exists():
        pytest.skip("promptfoo is not installed")
    words = {"hello": "Kind. [RESULT] 5", "rude": "Rude. [RESULT] 1", "unreadable": "What a day."}
    script = "".join(
        json.dumps({"match": f"Say {word}", "text": text}) + "\n" for word, text in words.items()
    )
    (tmp_path / "script.jsonl").write_text(script)
    (tmp_path / "check.py").write_text(CHECK)
    (tmp_path / "tact.toml").write_text((EXAMPLES / "tact.toml").read_text(encoding="utf-8"))
    checks = [{"type": "python", "value": "file://check.py"}]
    config = {
        "prompts": ["Say {{word}}"], "providers": ["echo"],
        "tests": [{"vars": {"word": word}, "assert": checks} for word in words],
    }  # fmt: skip
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config))
    quiet = dict.fromkeys(("PROMPTFOO_DISABLE_TELEMETRY", "PROMPTFOO_DISABLE_UPDATE"), "1")
    environment = {
        **os.environ, **quiet, "PROMPTFOO_PYTHON": sys.executable,
        "PROMPTFOO_CONFIG_DIR": str(tmp_path / "config"),
    }  # fmt: skip
    command = [str(PROMPTFOO), "eval", "-o", "out.json", "--no-cache", "--no-table"]
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=300)
    results = json.loads((tmp_path / "out.json").read_text())["results"]["results"]
    by_word = {one["vars"]["word"]: one["gradingResult"]["componentResults"][0] for one in results}
    assert [by_word[word]["pass"] for word in words] == [True, False, False]
    assert [by_word[word]["score"] for word in ("hello", "rude")] == [1, 0]
    # promptfoo has no result without a score, so a failure is a failed assertion that says why.
    assert "has no score" in by_word["unreadable"]["reason"]

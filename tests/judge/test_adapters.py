"""Adapters that need no package: promptfoo calls a function of a file, TRL a function of lists.

Those for other tools are tested with the real packages in tests/ecosystem."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import adjudge
from adjudge import adapters
from adjudge.errors import DataError, NoScore
from adjudge.models.fake import FakeModel
from running import EXAMPLES


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[adjudge.Judge]:
    def reply(text: str) -> str:
        return "[RESULT] 5" if "good" in text else "[RESULT] 2" if "poor" in text else "no answer"

    model = FakeModel(lambda call: reply(call.messages[-1].content))
    with adjudge.Judge(
        "prometheus/direct", model, rubric=EXAMPLES / "tact.toml", store=tmp_path / "a.db", reask=0
    ) as judge:
        yield judge


def test_a_promptfoo_assertion_scores_from_0_to_1_and_raises_without_a_score(judge: adjudge.Judge) -> None:
    get_assert = adapters.promptfoo_assertion(judge, threshold=0.5)
    context = {"prompt": "Reply to the customer.", "vars": {"topic": "refund"}}
    assert get_assert("good", context)["pass"] is True
    assert get_assert("poor", context) == {"pass": False, "score": 0.25, "reason": "2"}
    with pytest.raises(NoScore):
        get_assert("strange", context)


def test_a_label_is_no_reward_and_no_score_from_0_to_1(tmp_path: Path) -> None:
    topic = tmp_path / "topic.toml"
    topic.write_text('criterion = "About?"\n[labels]\nrefund = "Money."\nother = "Anything else."\n')
    model = "fake:text=<label>refund</label>"
    with adjudge.Judge("classify", model, rubric=topic, store=tmp_path / "l.db") as judge:
        with pytest.raises(DataError, match="gives a label and no score"):
            adapters.trl_reward(judge)(prompts=["p"], completions=["text"])
        with pytest.raises(DataError, match="gives a label and no score"):
            adapters.promptfoo_assertion(judge)("text", {"prompt": "p", "vars": {}})


def test_a_reward_that_is_missing_is_nan_and_counted(judge: adjudge.Judge) -> None:
    reward = adapters.trl_reward(judge)
    rewards = reward(
        prompts=["p", "p", "p"], completions=["good", "strange", "poor"], completion_ids=[[1], [2], [3]]
    )
    assert rewards[0] == 5
    assert math.isnan(rewards[1])
    assert rewards[2] == 2
    chats = [[{"role": "user", "content": "p"}]]
    assert reward(prompts=chats, completions=[[{"role": "assistant", "content": "good"}]]) == [5]
    assert (reward.n_scored, reward.n_unscored) == (3, 1)  # type: ignore[attr-defined]


def test_a_reward_is_for_the_whole_conversation(tmp_path: Path) -> None:
    model = FakeModel("[RESULT] 4")
    with adjudge.Judge(
        "prometheus/direct", model, rubric=EXAMPLES / "tact.toml", store=tmp_path / "s.db"
    ) as judge:
        prompt = [{"role": "system", "content": "Speak French."}, {"role": "user", "content": "Say hello."}]
        completion = [{"role": "assistant", "content": "Bonjour."}]
        assert adapters.trl_reward(judge)(prompts=[prompt], completions=[completion]) == [4]
    (call,) = model.asked
    shown = call.messages[-1].content
    assert shown.index("Speak French.") < shown.index("Say hello.") < shown.index("Bonjour.")


def test_the_adapters_import_no_tool() -> None:
    code = (
        "import sys, adjudge.adapters\n"
        "print([m for m in sys.modules if m in ('mlflow', 'inspect_ai', 'deepeval', 'pydantic_evals', "
        "'trl')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

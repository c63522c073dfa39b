"""A judge as the scorer, metric or reward of other tools. Each adapter imports its tool when it is made.

    judge = adjudge.Judge("geval/score", "openai:NAME", criterion="Is the answer polite?")
    adjudge.adapters.mlflow_scorer(judge)

A tool's words for a judged text are mapped to the judge's inputs `task`, `response` and `reference`. A failed
judgment is what the tool has for a failure: an error, an unscored sample, NaN; never a number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .judge import Judge, Verdict

if TYPE_CHECKING:
    from .records import Protocol

Threshold = float | None


def mlflow_scorer(judge: Judge, name: str = "adjudge") -> Any:
    """A scorer for `mlflow.genai.evaluate(scorers=[…])`; a failed judgment is feedback with an error."""
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback
    from mlflow.genai import scorer

    def score(inputs: Any = None, outputs: Any = None, expectations: Any = None) -> Any:
        verdict = judge(_item(judge, inputs, outputs, expectations))
        source = AssessmentSource("LLM_JUDGE", verdict.origin.model)
        error = None if verdict.is_read else AssessmentError(verdict.status.upper(), verdict.explanation)
        return Feedback(
            name=name,
            value=_value(verdict),
            error=error,
            rationale=verdict.explanation,
            source=source,
            metadata=_about(verdict),
        )

    return scorer(score, name=name)


def inspect_scorer(judge: Judge) -> Any:
    """A scorer for Inspect tasks; a failed judgment is an unscored sample with the reason."""
    from inspect_ai.scorer import Score, mean, scorer, stderr

    @scorer(metrics=[mean(), stderr()], name="adjudge")  # type: ignore[untyped-decorator]
    def adjudge_scorer() -> Any:
        async def score(state: Any, target: Any) -> Any:
            item = _item(judge, state.input_text, state.output.completion, target.text or None)
            verdict = await judge.ask(item)
            if not verdict.is_read:
                return Score.unscored(explanation=verdict.explanation, metadata=_about(verdict))
            return Score(value=_value(verdict), explanation=verdict.explanation, metadata=_about(verdict))

        return score

    return adjudge_scorer()


def deepeval_metric(judge: Judge, threshold: float = 0.5, name: str = "adjudge") -> Any:
    """A metric for deepeval, with scores from 0 to 1; a failed judgment is the metric's error."""
    from deepeval.metrics import BaseMetric

    class AdjudgeMetric(BaseMetric):  # type: ignore[misc]
        def __init__(self) -> None:
            self.threshold, self.async_mode = threshold, True
            self.score: float | None = None
            self.reason: str | None = None
            self.error: str | None = None

        def measure(self, test_case: Any, *_: Any, **__: Any) -> float | None:
            return self._take(judge(_deepeval_item(judge, test_case)))

        async def a_measure(self, test_case: Any, *_: Any, **__: Any) -> float | None:
            return self._take(await judge.ask(_deepeval_item(judge, test_case)))

        def _take(self, verdict: Verdict) -> float | None:
            self.reason, self.evaluation_cost = verdict.explanation, verdict.cost_usd
            self.error = None if verdict.is_read else f"no score: {verdict.status}"
            self.score = None if self.error else verdict.normalized
            self.success = self.is_successful()
            return self.score

        def is_successful(self) -> bool:
            return self.score is not None and self.score >= self.threshold

        @property
        def __name__(self) -> str:
            return name

    return AdjudgeMetric()


def pydantic_evaluator(judge: Judge, name: str = "adjudge") -> Any:
    """An evaluator for pydantic-evals datasets; a failed judgment raises, which it reports as a failure."""
    from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

    class AdjudgeEvaluator(Evaluator):  # type: ignore[misc]
        def get_default_evaluation_name(self) -> str:
            return name

        async def evaluate(self, ctx: EvaluatorContext) -> Any:
            verdict = await judge.ask(_item(judge, ctx.inputs, ctx.output, ctx.expected_output))
            return EvaluationReason(value=_required(verdict), reason=verdict.explanation)

    return AdjudgeEvaluator()


def promptfoo_assertion(judge: Judge, threshold: Threshold = None) -> Callable[[str, Any], dict[str, Any]]:
    """The function `get_assert(output, context)` of a promptfoo Python assertion.

    Scores are from 0 to 1. A failed judgment raises, which promptfoo shows as an error of the assertion.
    """

    def get_assert(output: str, context: Any) -> dict[str, Any]:
        task = context.get("prompt") or context.get("vars")
        verdict = judge(_item(judge, task, output, (context.get("vars") or {}).get("reference")))
        _required(verdict)
        score = verdict.normalized
        return {
            "pass": threshold is None or score >= threshold,
            "score": score,
            "reason": verdict.explanation or verdict.in_words(),
        }

    return get_assert


def trl_reward(judge: Judge) -> Callable[..., list[float]]:
    """A reward function for TRL's trainers: a list of prompts and completions → rewards.

    An unscored completion is NaN, which TRL leaves out, never 0; `reward.n_unscored` counts them.
    """

    def reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
        references = columns.get("reference") or [None] * len(prompts)
        rows = [
            _item(judge, _last_text(prompt), _last_text(completion), reference)
            for prompt, completion, reference in zip(prompts, completions, references, strict=True)
        ]
        verdicts = judge.many(rows)
        reward.n_scored += sum(verdict.is_read for verdict in verdicts)  # type: ignore[attr-defined]
        reward.n_unscored += len(verdicts.failed)  # type: ignore[attr-defined]
        return [float(verdict) if verdict.is_read else math.nan for verdict in verdicts]

    reward.n_scored = reward.n_unscored = 0  # type: ignore[attr-defined]
    reward.__name__ = "adjudge"
    return reward


# What all adapters share


def _item(judge: Judge, task: Any, response: Any, reference: Any = None) -> dict[str, Any]:
    """An item of the judge's inputs: objects give fields by their names, a text is the task or the response."""
    protocol = judge.protocol
    row: dict[str, Any] = {}
    for name, value in (("task", task), ("response", response), ("reference", reference)):
        if isinstance(value, Mapping) and _inputs_in(protocol, value):
            row |= {key: _text(given) for key, given in value.items() if key in _inputs_in(protocol, value)}
        elif value is not None and _takes(protocol, name):
            row[name] = _text(value)
    return row


def _takes(protocol: Protocol, name: str) -> bool:
    inputs = (*protocol.inputs, *protocol.optional, *protocol.at_least_one)
    return any(name in protocol.synonyms(known) for known in inputs)


def _inputs_in(protocol: Protocol, value: Mapping[str, Any]) -> list[str]:
    return [key for key in value if _takes(protocol, key)]


def _text(value: Any) -> Any:
    """A text as it is; a list of texts or messages too; anything else as JSON."""
    if isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(part, str | Mapping) for part in value)
    ):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _last_text(value: Any) -> Any:
    """The text of a prompt or completion, which may be a list of messages."""
    if isinstance(value, list) and value and isinstance(value[-1], Mapping):
        return value[-1].get("content", "")
    return value


def _deepeval_item(judge: Judge, case: Any) -> dict[str, Any]:
    return _item(judge, case.input, case.actual_output, case.expected_output)


def _value(verdict: Verdict) -> float | str | None:
    """The score, or the choice; none where the judgment failed."""
    if not verdict.is_read:
        return None
    return verdict.choice if verdict.is_choice else float(verdict)


def _required(verdict: Verdict) -> float | str:
    value = _value(verdict)
    return float(verdict) if value is None else value


def _about(verdict: Verdict) -> dict[str, str]:
    """What produced a score, for a tool's metadata."""
    return {
        "status": verdict.status,
        "how": verdict.how or "",
        "protocol": f"{verdict.protocol}@{verdict.origin.protocol.digest}",
        "judge": verdict.origin.model,
        "run": verdict.origin.run,
    }

"""A judge as the scorer, metric or reward of other tools. Each adapter imports its tool when it is made.

    judge = adjudge.Judge("geval/score", "openai:NAME", criterion="Is the answer polite?")
    adjudge.adapters.mlflow_scorer(judge)

A tool's words for a judged text are mapped to the judge's inputs `task`, `response` and `reference`. A failed
judgment is what the tool has for a failure: an error, an unscored sample, NaN; never a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import DataError
from .judge import Judge, Verdict
from .judge.tool_fields import tool_fields
from .records import Protocol

Threshold = float | None


def mlflow_scorer(judge: Judge, name: str = "adjudge") -> Any:
    """A scorer for `mlflow.genai.evaluate(scorers=[…])`; a failed judgment is feedback with an error."""
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback
    from mlflow.genai import scorer

    def score(inputs: Any = None, outputs: Any = None, expectations: Any = None) -> Any:
        verdict = judge(_item(judge, inputs, outputs, expectations))
        source = AssessmentSource("LLM_JUDGE", verdict.origin.model)
        value = verdict.answer
        error = None if value is not None else AssessmentError(_reason(verdict).upper(), _details(verdict))
        return Feedback(
            name=name,
            value=value,
            error=error,
            rationale=verdict.explanation,
            source=source,
            metadata=_about(verdict),
        )

    return scorer(score, name=name)


def inspect_scorer(judge: Judge) -> Any:
    """A scorer for Inspect tasks; a failed judgment is an unscored sample with the reason."""
    from inspect_ai.scorer import Score, mean, scorer, stderr

    # Inspect takes a label for 0, so labels and choices have no mean here.
    metrics = [mean(), stderr()] if _gives_score(judge.protocol) else []

    @scorer(metrics=metrics, name="adjudge")  # type: ignore[untyped-decorator]
    def adjudge_scorer() -> Any:
        async def score(state: Any, target: Any) -> Any:
            item = _item(judge, state.input_text, state.output.completion, target.text or None)
            verdict = await judge.ask(item)
            if verdict.answer is None:
                return Score.unscored(explanation=_details(verdict), metadata=_about(verdict))
            return Score(value=verdict.answer, explanation=verdict.explanation, metadata=_about(verdict))

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
            self.score = None if verdict.answer is None else _normalized(verdict)
            details = f": {verdict.error}" if verdict.error else ""
            self.error = None if self.score is not None else f"no score: {_reason(verdict)}{details}"
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
            if verdict.answer is None:
                raise verdict.failure()
            return EvaluationReason(value=verdict.answer, reason=verdict.explanation)

    return AdjudgeEvaluator()


def promptfoo_assertion(judge: Judge, threshold: Threshold = None) -> Callable[[str, Any], dict[str, Any]]:
    """The function `get_assert(output, context)` of a promptfoo Python assertion.

    Scores are from 0 to 1. A failed judgment raises, which promptfoo shows as an error of the assertion.
    """

    def get_assert(output: str, context: Any) -> dict[str, Any]:
        task = context.get("prompt") or context.get("vars")
        verdict = judge(_item(judge, task, output, (context.get("vars") or {}).get("reference")))
        score = _normalized(verdict)
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
            _item(judge, _prompt(prompt), _last_text(completion), reference)
            for prompt, completion, reference in zip(prompts, completions, references, strict=True)
        ]
        verdicts = judge.many(rows)
        rewards = [math.nan if verdict.answer is None else float(verdict) for verdict in verdicts]
        n_unscored = sum(math.isnan(reward) for reward in rewards)
        reward.n_scored += len(rewards) - n_unscored  # type: ignore[attr-defined]
        reward.n_unscored += n_unscored  # type: ignore[attr-defined]
        return rewards

    reward.n_scored = reward.n_unscored = 0  # type: ignore[attr-defined]
    reward.__name__ = "adjudge"
    return reward


def _gives_score(protocol: Protocol) -> bool:
    """Whether a protocol gives scores, and no choice or label."""
    scales = protocol.criteria.values()
    return protocol.task != "compare" and not any(scale is not None and scale.is_nominal for scale in scales)


def _item(judge: Judge, task: Any, response: Any, reference: Any = None) -> dict[str, Any]:
    """An item of the judge's inputs."""
    return tool_fields(judge.protocol, task=task, response=response, reference=reference)


def _prompt(value: Any) -> Any:
    """A prompt: the text of a single message, otherwise the whole conversation."""
    return _last_text(value) if isinstance(value, list) and len(value) == 1 else value


def _last_text(value: Any) -> Any:
    """The text of a completion, which may be a list of messages."""
    if isinstance(value, list) and value and isinstance(value[-1], Mapping):
        return value[-1].get("content", "")
    return value


def _deepeval_item(judge: Judge, case: Any) -> dict[str, Any]:
    return _item(judge, case.input, case.actual_output, case.expected_output)


def _normalized(verdict: Verdict) -> float:
    """The score from 0 to 1. Raises where there is none: a failure, a choice, a scale without two ends."""
    if verdict.normalized is None and verdict.score is None:
        raise verdict.failure()
    if verdict.normalized is None:
        raise DataError(f"{verdict.protocol} has no score from 0 to 1: its scale lacks two ends.")
    return float(verdict.normalized)


def _reason(verdict: Verdict) -> str:
    """Why there is no answer, in one word."""
    if verdict.status != "ok":
        return verdict.status
    return "undecided" if verdict.decided_by is None else "nothing_to_score"


def _details(verdict: Verdict) -> str:
    """What the judge replied in place of an answer, or why there is no reply."""
    return verdict.error or verdict.explanation


def _about(verdict: Verdict) -> dict[str, str]:
    """What produced a score, for a tool's metadata."""
    return {
        "status": verdict.status,
        "how": verdict.how or "",
        "protocol": verdict.origin.protocol.ref,
        "judge": verdict.origin.model,
        "run": verdict.origin.run,
    }

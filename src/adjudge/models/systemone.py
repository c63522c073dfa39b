"""System One: `POST {base}/systemone`, the format of TypeSafe and of gateways and local servers. Wire formats
only.

Questions and answers are objects by ID; a yes/no question is a `noul`; levels are numbered from 0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..parse.decision import questions_in
from ..records import Call, Option, Question
from .decision_models import DecisionModel, input_texts

PATH = "/systemone"
MOST_QUESTIONS = 200
"""Servers differ; the gateway with the lowest documented limit takes this many."""


class SystemOneModel(DecisionModel):
    """A model behind a System One server."""

    most_questions = MOST_QUESTIONS

    def request_of(self, call: Call) -> dict[str, Any]:
        return {
            "model": self._model,
            "state": input_texts(call),
            "questions": _wire_questions(call.messages[-1].content),
        }


@lru_cache(maxsize=256)
def _wire_questions(content: str) -> dict[str, dict[str, Any]]:
    return {question.name: _question(question) for question in questions_in(content)}


def _question(question: Question) -> dict[str, Any]:
    options = question.options
    if question.type == "predicate":
        criteria: Any = {"true": _text(options[1]), "false": _text(options[0])}
        return {"type": "noul", "instructions": question.instructions, "criteria": criteria}
    if question.type == "choice":
        criteria = {option.label: option.text or None for option in options}
    else:
        criteria = [_text(option) for option in options]
    return {"type": question.type, "instructions": question.instructions, "criteria": criteria}


def _text(option: Option) -> str:
    return f"{option.label}: {option.text}" if option.text else option.label

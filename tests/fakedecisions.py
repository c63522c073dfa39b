"""Hosts of decision models in both formats: they answer typed questions by what they are asked, never by
turn.

    with FakeServer(decides()) as server:
        parse_model(f"decisions+{server.url}/v1#judge")

Every question has the same probabilities each time; they are rounded to two decimals, as real hosts do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from fakeserver import Answer, Request, as_json, error

Shares = Callable[[str, int], list[float]]
"""The probabilities of the options of a question, from its
text with the input, and how many options there are.
"""


def hashed(text: str, n_options: int) -> list[float]:
    """Probabilities that depend on nothing but the text."""
    seed = hashlib.sha256(text.encode()).digest()
    weights = [1 + seed[place % 32] for place in range(n_options)]
    return [round(weight / sum(weights), 2) for weight in weights]


def decides(shares: Shares = hashed) -> Callable[[Request], Answer]:
    """A host that answers all questions of both formats."""

    def answer(request: Request) -> Answer:
        return as_json(decision(request.json, shares))

    return answer


def decision(body: dict[str, Any], shares: Shares = hashed) -> dict[str, Any]:
    """The whole reply to a request of either format, as the vendors' types describe it."""
    if "state" in body:
        about = json.dumps(body["state"], sort_keys=True)
        answers: Any = {name: _noul_answer(about + name, q, shares) for name, q in body["questions"].items()}
        return {
            "model": "judge-1.13.0",
            "answers": answers,
            "usage": {"input_tokens": 40, "output_tokens": len(answers)},
        }
    answers = [_answer(body["input"] + str(q["name"]), q, shares) for q in body["questions"]]
    return {
        "model": "judge-1",
        "answers": answers,
        "usage": {
            "input_tokens": 40,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 40,
        },
    }


def _answer(about: str, question: dict[str, Any], shares: Shares) -> dict[str, Any]:
    name = question["name"]
    if question["type"] == "predicate":
        return {"type": "predicate", "name": name, "probability": shares(about, 2)[1]}
    if question["type"] == "choice":
        values = [choice["value"] for choice in question["choices"]]
        given = shares(about, len(values))
        chosen = values[max(range(len(given)), key=given.__getitem__)]
        pairs = [{"value": v, "probability": p} for v, p in zip(values, given, strict=True)]
        return {"type": "choice", "name": name, "choice": chosen, "confidence": 0.7, "probabilities": pairs}
    labels = [level["label"] for level in question["levels"]]
    given = shares(about, len(labels))
    levels = [
        {"value": place, "label": label, "probability": p}
        for place, (label, p) in enumerate(zip(labels, given, strict=True))
    ]
    expected = round(sum(place * p for place, p in enumerate(given)), 1)
    return {"type": "score", "name": name, "score": expected, "confidence": 0.6, "probabilities": levels}


def _noul_answer(about: str, question: dict[str, Any], shares: Shares) -> dict[str, Any]:
    criteria = question.get("criteria")
    if question["type"] == "noul":
        return {"type": "noul", "noul": shares(about, 2)[1]}
    given = shares(about, len(criteria))
    if question["type"] == "choice":
        labels = list(criteria)
        chosen = labels[max(range(len(given)), key=given.__getitem__)]
        chances = dict(zip(labels, given, strict=True))
        return {"type": "choice", "choice": chosen, "confidence": 0.7, "probabilities": chances}
    expected = round(sum(place * p for place, p in enumerate(given)), 1)
    return {
        "type": "score",
        "score": expected,
        "confidence": 0.6,
        "probabilities": {str(place): p for place, p in enumerate(given)},
        "legend": {str(place): text for place, text in enumerate(criteria)},
    }


def too_many(body: dict[str, Any], most: int) -> Answer | None:
    """The refusal of a host that takes fewer questions."""
    n_questions = len(body["questions"])
    return error(400, f"at most {most} questions, {n_questions} given") if n_questions > most else None

"""The typed questions of a request in either format, and their answers.

Both formats (`/v1/decisions` and `/v1/systemone`) become the same `Asked` questions; an answer is made from
the verdict of a judge. A failure is never a number: it is a refusal with an error, or a missing answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from ..errors import DataError
from ..judge.verdict import Verdict
from ..records import Scale

Wire = Literal["decisions", "systemone"]


class Asked(Struct, frozen=True):
    """One question: its name, its type and its options, lowest first."""

    name: str
    type: Literal["predicate", "choice", "score"]
    instructions: str = ""
    options: dict[str, str] = {}
    """label → description; of a score the labels of its levels"""


class Unanswered(Exception):
    """Why one question has no answer."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


def asked_in(wire: Wire, questions: Any) -> list[Asked]:
    """The questions of a request; `DataError` where one has another form."""
    try:
        if wire == "systemone":
            return [_of_systemone(name, question) for name, question in questions.items()]
        return [_of_decisions(number, question) for number, question in enumerate(questions)]
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise DataError(
            f"questions: {type(fault).__name__} at {fault}. Send them as the format says."
        ) from fault


def _of_decisions(number: int, question: Mapping[str, Any]) -> Asked:
    name, text = (
        str(question.get("name") or f"question_{number + 1}"),
        str(question.get("instructions") or ""),
    )
    match question["type"]:
        case "predicate":
            return Asked(name, "predicate", text)
        case "choice":
            options = {str(one["value"]): one.get("description") or "" for one in question["choices"]}
            return Asked(name, "choice", text, options)
        case "score":
            levels = {str(one["label"]): one.get("description") or "" for one in question["levels"]}
            return Asked(name, "score", text, levels)
    raise ValueError(f"type {question['type']!r}")


def _of_systemone(name: str, question: Mapping[str, Any]) -> Asked:
    text, criteria = str(question.get("instructions") or ""), question.get("criteria")
    match question["type"]:
        case "noul":
            return Asked(name, "predicate", text)
        case "choice":
            return Asked(
                name, "choice", text, {key: value or "" for key, value in dict(criteria or {}).items()}
            )
        case "score":
            return Asked(name, "score", text, {str(k): level for k, level in enumerate(criteria or ())})
    raise ValueError(f"type {question['type']!r}")


def shares_of(asked: Asked, verdict: Verdict, scale: Scale | None) -> dict[str, float]:
    """The probability of each option, lowest first; `Unanswered` where the judge failed or does not fit."""
    if not verdict.is_read:
        raise Unanswered(verdict.status, f"the judgment failed ({verdict.status}).")
    result = verdict.results[-1]
    if asked.type == "choice":
        answer = verdict.choice if verdict.is_choice else result.label
        if answer not in asked.options:
            raise Unanswered("no_such_option", f"the judge answers {answer!r}, which is none of the choices.")
        given = {name: result.probabilities.get(name, 0.0) for name in asked.options}
        return given if sum(given.values()) > 0 else {name: float(name == answer) for name in asked.options}
    if scale is None or scale.low is None or scale.high is None or verdict.normalized is None:
        raise Unanswered("no_scale", "this criterion has no scale with two ends. Ask it as a choice.")
    if asked.type == "predicate":
        return {"false": 1 - verdict.normalized, "true": verdict.normalized}
    values = scale.values()
    if len(values) != len(asked.options):
        raise Unanswered(
            "other_levels", f"this criterion has {len(values)} levels, not {len(asked.options)}."
        )
    given = {f"{value:g}": 0.0 for value in values} | dict(result.probabilities)
    if not result.probabilities or set(given) != {f"{value:g}" for value in values}:
        given = _beside(float(verdict), values)
    return dict(zip(asked.options, (given[f"{value:g}"] for value in values), strict=True))


def _beside(score: float, values: list[float]) -> dict[str, float]:
    """All mass on the score: of one between two levels, on both, so that the mean is the score."""
    shares = dict.fromkeys((f"{value:g}" for value in values), 0.0)
    above = next((place for place, value in enumerate(values) if value >= score), len(values) - 1)
    below = above if values[above] == score or above == 0 else above - 1
    part = 0.0 if above == below else (score - values[below]) / (values[above] - values[below])
    shares[f"{values[below]:g}"] += 1 - part
    shares[f"{values[above]:g}"] += part
    return shares


def answer_in(
    wire: Wire, asked: Asked, shares: Mapping[str, float], *, is_calibrated: bool
) -> dict[str, Any]:
    """The answer to a question in its format."""
    about: dict[str, Any] = {"calibrated": is_calibrated}
    if wire == "decisions":
        about["name"] = asked.name
    if asked.type == "predicate":
        if wire == "systemone":
            return {"type": "noul", "noul": shares["true"], **about}
        return {"type": "predicate", "probability": shares["true"], **about}
    likeliest = max(shares, key=lambda name: shares[name])
    about |= {"type": asked.type, "confidence": shares[likeliest]}
    if asked.type == "choice":
        about["choice"] = likeliest
        pairs = [{"value": name, "probability": share} for name, share in shares.items()]
        return {**about, "probabilities": pairs if wire == "decisions" else dict(shares)}
    about["score"] = sum(place * share for place, share in enumerate(shares.values()))
    if wire == "systemone":
        legend = {str(place): text for place, text in enumerate(asked.options.values())}
        return {**about, "probabilities": dict(shares), "legend": legend}
    levels = [
        {"value": place, "label": label, "probability": share}
        for place, (label, share) in enumerate(shares.items())
    ]
    return {**about, "probabilities": levels}

"""The typed questions of a request in either format, and their answers.

Both formats (`/v1/decisions` and `/v1/systemone`) become the same `CallerQuestion`; an answer is made from
the verdict of a judge. A failure is never a number: it is a refusal with an error, or a missing answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from ..data.table import IN_MEMORY
from ..errors import BudgetReached, DataError
from ..judge.verdict import Verdict
from ..records import Scale

Wire = Literal["decisions", "systemone"]

TO_PEOPLE = "to_people"
"""The status where no judge of a cascade is sure."""


class CallerQuestion(Struct, frozen=True):
    """One question: its name, its type and its options, lowest first."""

    name: str
    type: Literal["predicate", "choice", "score"]
    instructions: str = ""
    options: dict[str, str] = {}
    """label → description; of a score the labels of its levels"""
    values: dict[str, str | bool] = {}
    """label → the value that a choice is answered with, where it is no text"""


class Unanswered(Exception):
    """Why one question has no answer."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


def error_of(fault: Exception) -> dict[str, str]:
    """The error of one question or item."""
    if isinstance(fault, Unanswered):
        status = fault.status
    elif isinstance(fault, BudgetReached):
        status = "budget_reached"
    else:
        status = "bad_request" if isinstance(fault, DataError) else "no_reply"
    return {"status": status, "message": _plain(str(fault))}


def _plain(message: str) -> str:
    """A message about one item, without the words about its file and line."""
    head, *lines = message.splitlines()
    if not head.startswith(IN_MEMORY):
        return message
    about = [line.strip().removeprefix("line 1: ") for line in lines if line.startswith(" ")]
    return " ".join(about) or message


def asked_in(wire: Wire, questions: Any) -> list[CallerQuestion]:
    """The questions of a request; `DataError` names the first that has another form."""
    if wire == "systemone":
        if not isinstance(questions, Mapping):
            raise DataError("questions: send an object with a question for each name.")
        return [_read(str(name), _of_systemone, question) for name, question in questions.items()]
    if not isinstance(questions, list):
        raise DataError("questions: send a list.")
    return [
        _read(_name_of(question) or f"question_{number + 1}", _of_decisions, question)
        for number, question in enumerate(questions)
    ]


def _name_of(question: Any) -> str:
    return str(question.get("name") or "") if isinstance(question, Mapping) else ""


def _read(
    name: str, read: Callable[[str, Mapping[str, Any]], CallerQuestion], question: Any
) -> CallerQuestion:
    where = f"questions: {name:.80}"
    if not isinstance(question, Mapping):
        raise DataError(f"{where}: a question is an object with a type.")
    try:
        return read(name, question)
    except KeyError as fault:
        raise DataError(f"{where}: {fault.args[0]!r} is missing.") from fault
    except (AttributeError, TypeError, ValueError) as fault:
        raise DataError(f"{where}: its options do not have the form of the format.") from fault


def _of_decisions(name: str, question: Mapping[str, Any]) -> CallerQuestion:
    text = _text(question.get("instructions"))
    match question["type"]:
        case "predicate":
            return CallerQuestion(name, "predicate", text)
        case "choice":
            choices = [(_name(one["value"]), one) for one in question["choices"]]
            options = _by_label(name, [(label, _text(one.get("description"))) for label, one in choices])
            return CallerQuestion(
                name, "choice", text, options, {label: one["value"] for label, one in choices}
            )
        case "score":
            levels = [(str(one["label"]), _text(one.get("description"))) for one in question["levels"]]
            return CallerQuestion(name, "score", text, _by_label(name, levels))
    raise _unknown_type(name, question, "predicate, choice or score")


def _by_label(name: str, options: Sequence[tuple[str, str]]) -> dict[str, str]:
    described = dict(options)
    if len(described) < len(options):
        raise DataError(f"questions: {name:.80}: two options have the same name.")
    return described


def _unknown_type(name: str, question: Mapping[str, Any], types: str) -> DataError:
    return DataError(f"questions: {name:.80}: the type {question['type']!r:.80} is unknown. Use {types}.")


def _name(value: str | bool) -> str:
    """A choice as a text; true and false as JSON writes them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_systemone(name: str, question: Mapping[str, Any]) -> CallerQuestion:
    text, criteria = _text(question.get("instructions")), question.get("criteria")
    match question["type"]:
        case "noul":
            return CallerQuestion(name, "predicate", text, _described(criteria))
        case "choice":
            return CallerQuestion(name, "choice", text, _described(criteria))
        case "score":
            levels = {str(k): _text(level) for k, level in enumerate(criteria or ())}
            return CallerQuestion(name, "score", text, levels)
    raise _unknown_type(name, question, "noul, choice or score")


def _described(criteria: Mapping[str, str | None] | None) -> dict[str, str]:
    return {str(label): _text(text) for label, text in dict(criteria or {}).items()}


def _text(value: Any) -> str:
    """Instructions or a description; what is no text as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def shares_of(asked: CallerQuestion, verdict: Verdict, scale: Scale | None) -> dict[str, float]:
    """The probability of each option, lowest first; `Unanswered` where the judge failed or does not fit."""
    if verdict.decided_by is None and verdict.status == "ok":
        raise Unanswered(TO_PEOPLE, "no judge of the cascade is sure. People decide.")
    if not verdict.is_read:
        reason = f": {verdict.error}" if verdict.error else ""
        raise Unanswered(verdict.status, f"the judgment failed ({verdict.status}){reason or '.'}")
    if asked.type == "choice" and verdict.gives_choice:
        return _shares_of_choices(asked, verdict)
    if len(verdict.results) > 1:
        raise Unanswered("two_scores", "this criterion scores both responses. Ask POST /score for them.")
    if verdict.answer is None:
        raise Unanswered("nothing_to_score", "there was nothing to score in this text.")
    if scale is None or scale.low is None or scale.high is None or verdict.normalized is None:
        raise Unanswered("no_scale", "this criterion has no scale with two ends. Ask it as a choice.")
    if asked.type == "predicate":
        return {"false": 1 - verdict.normalized, "true": verdict.normalized}
    values = scale.values()
    if len(values) != len(asked.options):
        raise Unanswered(
            "other_levels", f"this criterion has {len(values)} levels, not {len(asked.options)}."
        )
    named = _levels_named(asked, scale, values) if asked.type == "choice" else dict(
        zip(asked.options, values, strict=True)
    )  # fmt: skip
    given = {f"{value:g}": 0.0 for value in values} | dict(verdict.results[-1].probabilities)
    if not verdict.results[-1].probabilities or set(given) != {f"{value:g}" for value in values}:
        given = _beside(float(verdict), values)
    return {name: given[f"{value:g}"] for name, value in named.items()}


def _shares_of_choices(asked: CallerQuestion, verdict: Verdict) -> dict[str, float]:
    """The probabilities of the choices; all of it on the chosen one where the judge gives none."""
    # A and B are the responses a and b: case does not count where it tells no two choices apart.
    is_clear = len({name.casefold() for name in asked.options}) == len(asked.options)
    fold = str.casefold if is_clear else str
    chosen = next((name for name in asked.options if fold(name) == fold(str(verdict.choice))), None)
    if chosen is None:
        raise Unanswered(
            "no_such_option", f"the judge answers {verdict.choice!r}, which is none of the choices."
        )
    result = next(result for result in verdict.results if result.choice or result.label)
    known = {fold(str(name)): share for name, share in dict(result.probabilities).items()}
    given = {name: known.get(fold(name), 0.0) for name in asked.options}
    return given if sum(given.values()) > 0 else {name: float(name == chosen) for name in asked.options}


def _levels_named(asked: CallerQuestion, scale: Scale, values: Sequence[float]) -> dict[str, float]:
    """The level that each choice names, by its number, its name or its description."""
    known = {
        text.casefold(): value
        for value in values
        for text in (scale.levels.get(value), scale.names.get(value), f"{value:g}")
        if text
    }
    named = {name: known[name.casefold()] for name in asked.options if name.casefold() in known}
    if len(set(named.values())) < len(values):
        shown = ", ".join(scale.names.get(value) or f"{value:g}" for value in values)
        raise Unanswered("other_levels", f"this criterion has the levels {shown}. Ask it as a score.")
    return named


def _beside(score: float, values: list[float]) -> dict[str, float]:
    """All mass on the score: of one between two levels, on both, so that the mean is the score."""
    shares = dict.fromkeys((f"{value:g}" for value in values), 0.0)
    above = next((place for place, value in enumerate(values) if value >= score), len(values) - 1)
    below = above if values[above] == score or above == 0 else above - 1
    part = 0.0 if above == below else (score - values[below]) / (values[above] - values[below])
    shares[f"{values[below]:g}"] += 1 - part
    shares[f"{values[above]:g}"] += part
    return shares


def _peakedness(largest: float, n: int) -> float:
    """How far the likeliest option is from chance: 1 where it has all mass, 0 where all have the same."""
    return max(0.0, (n * largest - 1) / (n - 1)) if n > 1 else 1.0


def answer_in(
    wire: Wire, asked: CallerQuestion, shares: Mapping[str, float], *, is_calibrated: bool
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
    about |= {"type": asked.type, "confidence": _peakedness(shares[likeliest], len(shares))}
    if asked.type == "choice":
        about["choice"] = asked.values.get(likeliest, likeliest)
        pairs = [{"value": asked.values.get(name, name), "probability": p} for name, p in shares.items()]
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

"""From the answers of a decision model to a `Judgment`: probabilities of levels become a score, of options a
choice.

Reads both formats: OpenAI's list of answers with names, and System One's object of answers by ID. A score is
the expected value on the protocol's own scale, from the probabilities, never the server's rounded one. An
answer that is not a distribution over the options that were asked is `unparsed` with the reason; it never
becomes a number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from ..records import Call, Choice, Judgment, Option, Order, Question, Score, Status, Subject
from .probability import LEAST_CAUGHT_MASS

NOTE = "not_read"
"""The note that says why an answer has no score."""

LEAST_TOLERANCE = 0.05
TOLERANCE_PER_OPTION = 0.005
"""Probabilities are rounded to two decimals: each may be off by this much."""

_decode = msgspec.json.Decoder().decode
_questions = msgspec.json.Decoder(tuple[Question, ...]).decode


@lru_cache(maxsize=256)
def questions_in(content: str) -> tuple[Question, ...]:
    """The questions that a stored call asked."""
    return _questions(content)


class _Answer(NamedTuple):
    """What one answer says: probabilities in the order of the options, or why there are none."""

    status: Status
    probabilities: tuple[float, ...] = ()
    confidence: float | None = None
    choice: str | None = None
    reason: str = ""
    mass: float | None = None
    """what the options caught of the probability of all tokens; none where the model offers only options"""


def read_decision(call: Call, text: str) -> Judgment:
    """The judgment in the answers to all questions of a call."""
    return judgment_of(questions_in(call.messages[-1].content), text, call.order, call.key)


def judgment_of(
    questions: Sequence[Question], text: str, order: Order = "ab", call: str = "", element: int | None = None
) -> Judgment:
    """The judgment in the answers to these questions; `text` is the answers as the server sent them.

    `element` leaves out the questions about other elements.
    """
    answers = answers_by_name(questions, lenient_json(text))
    judgment = Judgment((), call=call)
    scores: list[Score] = []
    reasons: list[str] = []
    flags: list[str] = []
    for question in questions:
        if element is not None and question.element not in (None, element):
            continue
        answer = _read(question, answers.get(question.name))
        if answer.reason:
            reasons.append(f"{question.name}: {answer.reason}")
        if answer.choice is not None:
            flags.append("choice_contradicts_probabilities")
        if question.criterion:
            scores.append(_score(question, answer, order))
        else:
            judgment = _with_choice(judgment, question, answer, order)
    notes = {NOTE: "; ".join(reasons)} if reasons else {}
    return structs.replace(judgment, scores=tuple(scores), notes=notes, flags=tuple(dict.fromkeys(flags)))


def lenient_json(text: str | bytes) -> Any:
    """A JSON value; none where the text holds none."""
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass
    try:
        return json.loads(
            text
        )  # knows NaN, which Python servers write and which must not fail the other answers
    except (ValueError, RecursionError):
        return None


def answers_by_name(questions: Sequence[Question], answers: Any) -> dict[str, Any]:
    """The answer to each question by its name; by place where a list has none and is otherwise in order."""
    if isinstance(answers, dict):
        return answers
    if not isinstance(answers, list):
        return {}
    names = [answer.get("name") if isinstance(answer, dict) else None for answer in answers]
    found: dict[str, Any] = {}
    for name, answer in zip(names, answers, strict=True):
        if isinstance(name, str):
            found[name] = _TWICE if name in found and found[name] != answer else answer
    places = list(zip(questions, names, answers, strict=False))
    if len(answers) == len(questions) and all(name in (None, asked.name) for asked, name, _ in places):
        return {asked.name: answer for asked, _, answer in places}
    return found


_TWICE = {"type": "answered twice"}


def _read(question: Question, answer: Any) -> _Answer:
    if answer is None:
        return _Answer("no_reply", reason="the server gave no answer")
    if answer == _TWICE:
        return _Answer("conflicting", reason="the server gave two different answers")
    if not isinstance(answer, dict):
        return _Answer("unparsed", reason="the answer is no object")
    mass = answer.get("mass")
    if mass is None or not _is_probability(mass):
        return _read_of_type(question, answer)
    if mass < LEAST_CAUGHT_MASS:
        reason = f"the options caught only {mass:.0%} of the probability"
        return _Answer("unparsed", reason=reason, mass=float(mass))
    return _read_of_type(question, answer)._replace(mass=float(mass))


def _read_of_type(question: Question, answer: dict[str, Any]) -> _Answer:
    kind = answer.get("type")
    if kind == "refusal":
        return _Answer("refused", reason="the model refused to answer")
    if kind != question.type and not (question.type == "predicate" and kind == "noul"):
        return _Answer("unparsed", reason=f"the answer has the type {kind!s:.40}, not {question.type}")
    if question.type == "predicate":
        return _predicate(answer.get("probability") if kind == "predicate" else answer.get("noul"))
    listed = _listed(question, answer.get("probabilities"))
    if isinstance(listed, str):
        return _Answer("unparsed", reason=listed)
    return _distribution(question, listed, answer)


def _predicate(value: Any) -> _Answer:
    if not _is_probability(value):
        return _Answer("unparsed", reason=f"{value!s:.40} is no probability")
    chance = float(value)
    return _Answer("ok", (1 - chance, chance), max(chance, 1 - chance))


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _listed(question: Question, given: Any) -> list[Any] | str:
    """The probabilities in the order of the options, or why that is not possible."""
    options = question.options
    by_label: dict[str, Any] = {}
    if isinstance(given, dict):
        keys = [
            str(place) if question.type == "score" else option.label for place, option in enumerate(options)
        ]
        by_label = given
    elif isinstance(given, list) and all(isinstance(entry, dict) for entry in given):
        keys = [option.label for option in options]
        for entry in given:
            label = entry.get("label" if question.type == "score" else "value")
            if not isinstance(label, str) or label in by_label:
                return "an option of the answer has no name, or two have the same"
            by_label[label] = entry.get("probability")
    else:
        return "the answer has no probabilities"
    missing = [key for key in keys if key not in by_label]
    if missing:
        return f"no probability for {', '.join(missing)[:80]}"
    if len(by_label) > len(keys):
        return "the answer has an option that was not offered"
    return [by_label[key] for key in keys]


def _distribution(question: Question, values: list[Any], answer: dict[str, Any]) -> _Answer:
    for value in values:
        if not _is_probability(value):
            return _Answer("unparsed", reason=f"{value!s:.40} is no probability")
    total = math.fsum(values)
    if abs(total - 1) > max(LEAST_TOLERANCE, TOLERANCE_PER_OPTION * len(values)) + 1e-9 or total <= 0:
        return _Answer("unparsed", reason=f"the probabilities add up to {total:.4g}")
    shares = tuple(float(value) / total for value in values)
    confidence = answer.get("confidence")
    sure = float(confidence) if confidence is not None and _is_probability(confidence) else None
    best = max(shares)
    named = answer.get("choice")
    labels = [option.label for option, share in zip(question.options, shares, strict=True) if share == best]
    contradicts = question.type == "choice" and isinstance(named, str) and named not in labels
    return _Answer("ok", shares, sure, str(named) if contradicts else None)


def _likeliest(question: Question, answer: _Answer) -> Option:
    """The option with the highest probability; of several, the first."""
    place = max(range(len(answer.probabilities)), key=answer.probabilities.__getitem__)
    return question.options[place]


def _score(question: Question, answer: _Answer, order: Order) -> Score:
    subject = _in_frame(question.subject, order)
    score = Score(question.criterion, answer.status, subject, estimator="decision", caught_mass=answer.mass)
    if answer.status != "ok":
        return score
    likeliest = _likeliest(question, answer)
    valued = [
        (option.value, share)
        for option, share in zip(question.options, answer.probabilities, strict=True)
        if option.value is not None
    ]
    mass = math.fsum(share for _, share in valued)
    distribution: dict[float, float] = {}
    for level, share in valued:
        distribution[level] = distribution.get(level, 0.0) + (share / mass if mass else 0.0)
    value = likeliest.value
    if value is not None and not question.is_class:
        mean = math.fsum(level * share for level, share in distribution.items())
        value = max(min(distribution), min(max(distribution), mean))
    is_named = question.type == "choice" or any(not _is_number(option.label) for option in question.options)
    return structs.replace(
        score,
        value=value,
        how="strict",
        distribution=distribution,
        confidence=answer.confidence,
        label=likeliest.label if is_named and question.type != "score" else None,
    )


def _is_number(label: str) -> bool:
    try:
        return math.isfinite(float(label))
    except ValueError:
        return False


def _with_choice(judgment: Judgment, question: Question, answer: _Answer, order: Order) -> Judgment:
    if answer.status != "ok":
        return structs.replace(judgment, choice_status=answer.status, choice_probabilities={})
    chances: dict[Choice, float] = {}
    for option, share in zip(question.options, answer.probabilities, strict=True):
        if option.choice is not None:
            chances[_choice_in_frame(option.choice, order)] = share
    chosen = _likeliest(question, answer).choice
    return structs.replace(
        judgment,
        choice=None if chosen is None else _choice_in_frame(chosen, order),
        choice_status="ok",
        choice_how="strict",
        choice_confidence=answer.confidence,
        choice_probabilities=dict(sorted(chances.items())),
    )


def _choice_in_frame(choice: Choice, order: Order) -> Choice:
    if choice == "tie" or order == "ab":
        return choice
    return "b" if choice == "a" else "a"


def _in_frame(subject: Subject | None, order: Order) -> Subject | None:
    if subject is None or order == "ab":
        return subject
    return "b" if subject == "a" else "a"

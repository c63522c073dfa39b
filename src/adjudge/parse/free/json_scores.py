"""Scores of several criteria from JSON of unknown layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...records import Reading, Scale
from ..asked.ladder import read_labelled, unread
from ..json_documents import JsonDocument, Path, find_documents
from ..json_values import FoundValue, flat, number_of
from ..text.own_voice import masked, thoughts, window
from .score import checked_scale

_SCORE_KEYS = ("score", "rating", "value", "grade", "points", "mark", "分数", "评分", "得分", "점수")
_CHOICE_KEYS = (
    "preference",
    "winner",
    "choice",
    "verdict",
    "better",
    "selected",
    "answer",
    "result",
    "decision",
)
_NAME_KEYS = (
    "criterion",
    "criteria",
    "name",
    "dimension",
    "metric",
    "aspect",
    "attribute",
    "category",
    "key",
)
_DEEPEST = 4
_LONGEST_PROSE = 200_000
_CHOICES = {
    "first": (
        "a",
        "responsea",
        "outputa",
        "assistanta",
        "answera",
        "1",
        "first",
        "output1",
        "response1",
        "modela",
    ),
    "second": (
        "b",
        "responseb",
        "outputb",
        "assistantb",
        "answerb",
        "2",
        "second",
        "output2",
        "response2",
        "modelb",
    ),
    "tie": ("tie", "same", "equal", "both", "neither", "c", "draw", "none", "a=b", "similar"),
}
_CHOICE_OF = {word: choice for choice, words in _CHOICES.items() for word in words}


def read_json(
    text: str, criteria: Sequence[str], low: float | None = None, high: float | None = None
) -> dict[str, Reading]:
    """The score of each criterion from a reply in JSON; without bounds, the preference of each.

    A criterion is a key of the object, at any depth, or the name in a list of named scores; its score is
    the value, or stands under `score`, `rating` or the like. A preference is first, second or tie, in
    the order shown. One bad criterion does not fail the others.
    """
    judge_text = masked(text, thoughts(text)) if "<" in text else text
    documents = [document for document in find_documents(judge_text) if document.value]
    is_bare = len(documents) == 1 and documents[0].span == window(text) and text.strip().startswith("{")
    scale = None if low is None or high is None else checked_scale(low, high)
    readings = {}
    for criterion in criteria:
        candidates = [
            _on_rung(_read(place, scale), place, document, is_bare)
            for document in documents
            for place in _places_of(document, criterion, scale, alone=len(criteria) == 1)
        ]
        if candidates:
            readings[criterion] = _settled(candidates)
        elif documents or scale is None or len(text) > _LONGEST_PROSE:
            readings[criterion] = unread(text)
        else:
            readings[criterion] = read_labelled(text, criterion, scale)
    return readings


def _settled(readings: list[Reading]) -> Reading:
    if len({(reading.value, reading.status) for reading in readings}) > 1:
        return Reading(status="conflicting", span=readings[-1].span)
    return readings[-1]


def _on_rung(reading: Reading, entry: FoundValue, document: JsonDocument, is_bare: bool) -> Reading:
    if reading.status not in ("ok", "out_of_range"):
        return reading
    is_strict = (
        is_bare
        and not document.is_repaired
        and (isinstance(reading.value, str) or not isinstance(entry.value, str))
    )
    flags = ("repaired",) if document.is_repaired else ()
    return Reading(reading.value, reading.status, "strict" if is_strict else "anchored", reading.span, flags)


def _read(entry: FoundValue, scale: Scale | None) -> Reading:
    if entry.path in entry.doubled:
        return Reading(status="conflicting", span=entry.span)
    if scale is not None:
        return number_of(entry, scale)
    choice = _CHOICE_OF.get(flat(entry.value)) if isinstance(entry.value, str) else None
    return Reading(choice, "ok" if choice else "unparsed", "anchored", entry.span)


def _places_of(
    document: JsonDocument, criterion: str, scale: Scale | None, *, alone: bool
) -> Iterator[FoundValue]:
    """The values that may be the criterion's answer: under its name, or the only answer there is."""
    keys = _SCORE_KEYS if scale is not None else _CHOICE_KEYS
    named = list(_named(document.value, (), flat(criterion)))
    if not named and _is_called(document.value, flat(criterion)):
        named = [((), document.value)]
    if not named and alone:
        named = [((), document.value)]
    for path, value in named:
        if isinstance(value, dict):
            inner = [key for key in value if flat(str(key)) in keys] or _only_answer(value, scale)
            for key in inner[:1]:
                yield _value_at(document, (*path, key), value[key])
        else:
            yield _value_at(document, path, value)


def _named(value: Any, path: Path, wanted: str) -> Iterator[tuple[Path, Any]]:
    if len(path) >= _DEEPEST:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            if flat(str(key)) == wanted:
                yield (*path, key), inner
            else:
                yield from _named(inner, (*path, key), wanted)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, dict) and _is_called(inner, wanted):
                yield (*path, index), inner
            else:
                yield from _named(inner, (*path, index), wanted)


def _is_called(value: dict[str, Any], wanted: str) -> bool:
    """Whether an object says that it is the criterion's: {"criterion": "clarity", "score": 4}."""
    return any(flat(str(key)) in _NAME_KEYS and flat(str(name)) == wanted for key, name in value.items())


def _only_answer(value: dict[str, Any], scale: Scale | None) -> list[str]:
    """The one number of an object that names it in its own way; a confidence is not a score."""
    if scale is None:
        return []
    numbers = [
        key
        for key, inner in value.items()
        if isinstance(inner, int | float)
        and not isinstance(inner, bool)
        and "confidence" not in flat(str(key))
    ]
    return numbers if len(numbers) == 1 else []


def _value_at(document: JsonDocument, path: Path, value: Any) -> FoundValue:
    return FoundValue(
        value, path, document.places.get(path, document.span), True, document.cut, document.doubled
    )

"""The answers of a reply in JSON, found by the key paths of the protocol."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..records import How, Protocol, Reading, Scale, Subject
from .jsonish import Document, Path, find_documents
from .lazy import lazily
from .marks import score_value
from .numbers import number_at
from .readers import offered, read_free_score, unread
from .text import masked, narrow, thoughts, window

_LOOSE = lazily(r"[\s_\-]+")
_MISSING: Any = object()
_LONGEST_PROSE = 200_000
"""No judge answers in more words than this; JSON may be longer."""


class JsonAnswer:
    """One reply of a protocol whose reader is `json`; each answer is found on its own."""

    def __init__(self, protocol: Protocol, text: str) -> None:
        self.protocol, self.answer, self.text = protocol, protocol.answer, text
        own = masked(text, thoughts(text)) if "<" in text else text
        self.documents = [document for document in find_documents(own) if document.value]
        start, end = window(text)
        self.is_bare = (
            len(self.documents) == 1
            and self.documents[0].span == (start, end)
            and text[start:end] == text.strip()
        )

    def subjects_of(self, criterion: str) -> list[Subject | None]:
        """The subjects that a criterion is scored for: both responses, or none in particular."""
        path = self.answer.scores.get(criterion, self.answer.score or "")
        return ["a", "b"] if "{subject}" in path else [None]

    def score(self, criterion: str, subject: Subject | None, scale: Scale) -> Reading:
        template = self.answer.scores.get(criterion, self.answer.score)
        if template is None:
            return Reading(status="unparsed")
        if not self.documents:
            return self._without_json(scale)
        return self._settled(self._path(template, criterion, subject), lambda found: number_of(found, scale))

    def choice(self) -> Reading:
        if not self.documents:
            return unread(self.text)
        options, tie = offered(self.answer)
        words = {flat(options[0]): "first", flat(options[1]): "second"}
        if tie is not None:
            words[flat(tie)] = "tie"

        def read(found: Found) -> Reading:
            written = flat(found.value) if isinstance(found.value, str) else ""
            chosen = words.get(written) or words.get(
                re.sub(r"^(?:response|output|assistant|answer)", "", written)
            )
            return Reading(chosen, "ok" if chosen else "unparsed", "anchored", found.span)

        return self._settled(self._path(self.answer.choice or "", "", None), read)

    def confidence(self, criterion: str, subject: Subject | None) -> tuple[float | None, bool]:
        """A confidence from 0 to 1, and whether one was given that is not."""
        return self._share(self.answer.confidence, criterion, subject)

    def choice_confidence(self) -> tuple[float | None, bool]:
        return self._share(self.answer.choice_confidence, "", None)

    def evidence(self, criterion: str, subject: Subject | None) -> tuple[str, ...]:
        value = self._value(self.answer.evidence, criterion, subject)
        if isinstance(value, str):
            return (value,) if value.strip() else ()
        return (
            tuple(str(entry) for entry in value if isinstance(entry, str)) if isinstance(value, list) else ()
        )

    def reason(self, criterion: str, subject: Subject | None) -> str | None:
        value = self._value(self.answer.reason, criterion, subject)
        return value if isinstance(value, str) else None

    def notes(self) -> dict[str, str]:
        """The texts that belong to the whole judgment; a list line by line."""
        notes = {}
        for name, template in self.answer.notes.items():
            value = self._value(template, "", None)
            if isinstance(value, list):
                value = "\n".join(str(entry) for entry in value)
            if value is not None and value is not _MISSING:
                notes[name] = str(value)
        return notes

    def explanation(self) -> str:
        """The reason, where one path holds it for all; otherwise what stands around the JSON."""
        template = self.answer.reason
        if template is not None and "{" not in template:
            return self.reason("", None) or ""
        if not self.documents:
            return self.text.strip()
        start, end = self.documents[-1].span
        around = (self.text[:start] + "\n" + self.text[end:]).strip()
        return re.sub(r"```(?:json)?", "", around).strip()

    # -- looking up

    def _path(self, template: str, criterion: str, subject: Subject | None) -> tuple[str, ...]:
        shown = self.answer.subjects.get(subject, subject) if subject is not None else ""
        return tuple(template.replace("{criterion}", criterion).replace("{subject}", str(shown)).split("."))

    def _value(self, template: str | None, criterion: str, subject: Subject | None) -> Any:
        if template is None or not self.documents:
            return None
        found = _look_up(self.documents[-1], self._path(template, criterion, subject))
        return found.value if found is not None else None

    def _share(
        self, template: str | None, criterion: str, subject: Subject | None
    ) -> tuple[float | None, bool]:
        value = self._value(template, criterion, subject)
        if value is None:
            return None, False
        if isinstance(value, str):
            percent = re.fullmatch(r"\s*([0-9]{1,3}(?:\.[0-9]+)?)\s*(%?)\s*", narrow(value))
            value = float(percent[1]) / (100 if percent[2] else 1) if percent else None
        is_share = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
        return (float(value), False) if is_share else (None, True)

    def _settled(self, path: tuple[str, ...], read: Any) -> Reading:
        """The reading of one path over all JSON objects of the reply; different values conflict."""
        readings: list[Reading] = []
        for document in self.documents:
            found = _look_up(document, path)
            if found is None:
                continue
            if found.path in found.doubled:
                return Reading(status="conflicting", span=found.span)
            readings.append(self._on_rung(read(found), found, document))
        if not readings:
            return unread(self.text)
        if len({(reading.value, reading.status) for reading in readings}) > 1:
            return Reading(status="conflicting", span=readings[-1].span)
        return readings[-1]

    def _on_rung(self, reading: Reading, found: Found, document: Document) -> Reading:
        is_strict = self.is_bare and found.is_exact and not document.is_repaired
        # A choice is a string by nature; a score in quotation marks is not what was asked for.
        is_strict = is_strict and (isinstance(reading.value, str) or not isinstance(found.value, str))
        how: How | None = (
            None if reading.status in ("unparsed", "conflicting") else "strict" if is_strict else "anchored"
        )
        flags = ("repaired",) if document.is_repaired else ()
        return Reading(reading.value, reading.status, how, found.span, flags)

    def _without_json(self, scale: Scale) -> Reading:
        """No JSON at all: one lone criterion may still have been answered in words."""
        if len(self.protocol.criteria) > 1 or len(self.text) > _LONGEST_PROSE:
            return unread(self.text)
        free = read_free_score(self.text, scale)
        return free if free.status in ("ok", "refused") else unread(self.text)


class Found(NamedTuple):
    """A value at a path: what it is, where it stands, and whether its keys were spelled as asked."""

    value: Any
    path: Path
    span: tuple[int, int]
    is_exact: bool
    cut: str
    doubled: frozenset[Path]


def _look_up(document: Document, wanted: tuple[str, ...]) -> Found | None:
    value: Any = document.value
    path: list[str | int] = []
    is_exact = True
    for key in wanted:
        if not isinstance(value, dict):
            return None
        if key not in value:
            loose = [other for other in value if flat(other) == flat(key)]
            if len(loose) != 1:
                return None
            key, is_exact = loose[0], False
        path.append(key)
        value = value[key]
    place = tuple(path)
    return Found(
        value, place, document.places.get(place, document.span), is_exact, document.cut, document.doubled
    )


def number_of(found: Found, scale: Scale) -> Reading:
    """A JSON value as a score: a number, or a text that is nothing but one."""
    value = found.value
    if isinstance(value, bool):
        return Reading(status="unparsed", span=found.span)
    if isinstance(value, str):
        return _number_in(narrow(value).strip().strip("*"), found, scale)
    if not isinstance(value, int | float) or value in (float("inf"), float("-inf")):
        return Reading(status="unparsed", span=found.span)
    if found.cut and found.cut == str(value) and _could_go_on(float(value), scale):
        return Reading(status="unparsed", span=found.span)
    status = scale.status_of(float(value))
    return Reading(float(value) if status == "ok" else None, status, "anchored", found.span)


def _number_in(written: str, found: Found, scale: Scale) -> Reading:
    read = score_value(scale)(written, 0)
    number = number_at(written, 0)
    rest = written[number.until if number else 0 :].strip(" .。")
    if read is None or (number is not None and rest):
        return Reading(status="unparsed", span=found.span)
    value, status, _ = read
    return Reading(value if status == "ok" else None, status, "anchored", found.span)


def _could_go_on(value: float, scale: Scale) -> bool:
    """Whether a number at which a reply was cut off may have been the beginning of another one."""
    if scale.step is None or scale.step != int(scale.step):
        return True
    return scale.high is None or any(scale.status_of(value * 10 + digit) == "ok" for digit in range(10))


def flat(text: str) -> str:
    return _LOOSE.sub("", narrow(text)).casefold()

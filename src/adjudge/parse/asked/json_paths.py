"""The answers of a reply in JSON, found by the key paths of the protocol."""

from __future__ import annotations

import re
from typing import Any

from ...records import How, Protocol, Reading, Scale, Subject
from ..free.option import read_option
from ..free.option_names import option_names
from ..free.pair_names import options_for
from ..free.score import is_corrected
from ..json_documents import JsonDocument, find_documents
from ..json_values import FoundValue, flat, look_up, number_of, option_of
from ..text.characters import narrow
from ..text.own_voice import masked, set_aside, thoughts, window
from .ladder import offered, read_free_score, read_labelled, unread

_MISSING: Any = object()
_LONGEST_TAIL = 2_000
"""How much behind the last object is searched for a correction."""
_LONGEST_PROSE = 200_000
"""No judge answers in more words than this; JSON may be longer."""


def _written(value: Any) -> str:
    """A choice as text; a judge may write the number of a response without quotation marks."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


class JsonAnswer:
    """One reply of a protocol whose reader is `json`; each answer is found on its own."""

    def __init__(self, protocol: Protocol, text: str) -> None:
        self.protocol, self.answer, self.text = protocol, protocol.answer, text
        judge_text = masked(text, thoughts(text)) if "<" in text else text
        self.documents = [document for document in find_documents(judge_text) if document.value]
        start, end = window(text)
        self.is_bare = (
            len(self.documents) == 1
            and self.documents[0].span == (start, end)
            and text[start:end] == text.strip()
        )

    def score(self, criterion: str, subject: Subject | None, scale: Scale) -> Reading:
        template = self.answer.scores.get(criterion, self.answer.score)
        if template is None:
            return Reading(status="unparsed")
        if not self.documents:
            return self._without_json(criterion, scale) if subject is None else unread(self.text)
        path = self._path(template, criterion, subject)
        if self.answer.options:
            names = option_names(tuple(self.answer.options))
            return self._settled(path, lambda entry: option_of(entry, names))
        reading = self._settled(path, lambda entry: number_of(entry, scale))
        if reading.status == "ok" and len(self.protocol.criteria) == 1:
            # Behind the last object, the judge may take its one score back in words.
            end = self.documents[-1].span[1]
            behind = Reading(reading.value, "ok", span=(end, end))
            if is_corrected(self.text[: end + _LONGEST_TAIL], scale, behind):
                return Reading(status="conflicting", span=reading.span)
        return reading

    def choice(self) -> Reading:
        if not self.documents:
            return unread(self.text)
        options, tie = offered(self.answer)
        words = {flat(options[0]): "first", flat(options[1]): "second"}
        if tie is not None:
            words[flat(tie)] = "tie"
        names = options_for(options, tie is not None)

        def read(entry: FoundValue) -> Reading:
            written = flat(_written(entry.value))
            chosen = words.get(written) or words.get(
                re.sub(r"^(?:response|output|assistant|answer)", "", written)
            )
            # "A++" and "A>>B" say how clearly A wins; "A=B" is a tie.
            chosen = chosen or words.get(written.rstrip("+")) or names.contest(written)
            return Reading(chosen, "ok" if chosen else "unparsed", "anchored", entry.span)

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
        entry = look_up(self.documents[-1], self._path(template, criterion, subject))
        return entry.value if entry is not None else None

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
            entry = look_up(document, path)
            if entry is None:
                continue
            if entry.path in entry.doubled:
                return Reading(status="conflicting", span=entry.span)
            readings.append(self._on_rung(read(entry), entry, document))
        if not readings:
            return unread(self.text)
        if len({(reading.value, reading.status) for reading in readings}) > 1:
            return Reading(status="conflicting", span=readings[-1].span)
        if readings[-1].status == "ok" and self._is_given_again(path[-1]):
            return Reading(status="conflicting", span=readings[-1].span)
        return readings[-1]

    def _is_given_again(self, key: str) -> bool:
        """Whether the key of an answer stands once more behind
        the last object, in one that cannot be decoded.
        """
        rest = set_aside(self.text[self.documents[-1].span[1] :], quoted=False)
        return re.search(rf"[{{,]\s*[\"']{re.escape(key)}[\"']\s*:", rest) is not None

    def _on_rung(self, reading: Reading, entry: FoundValue, document: JsonDocument) -> Reading:
        is_strict = self.is_bare and entry.is_exact and not document.is_repaired
        # A choice is a string by nature; a score in quotation marks is not what was asked for.
        is_strict = is_strict and (isinstance(reading.value, str) or not isinstance(entry.value, str))
        if self.answer.options:
            is_strict = is_strict and entry.value == reading.value
        how: How | None = (
            None if reading.status in ("unparsed", "conflicting") else "strict" if is_strict else "anchored"
        )
        flags = ("repaired",) if document.is_repaired else ()
        return Reading(reading.value, reading.status, how, entry.span, flags)

    def _without_json(self, criterion: str, scale: Scale) -> Reading:
        """No JSON at all: a criterion may have been answered behind its name, a lone one also in words."""
        if len(self.text) > _LONGEST_PROSE:
            return unread(self.text)
        options = self.answer.options
        if len(self.protocol.criteria) > 1:
            return unread(self.text) if options else read_labelled(self.text, criterion, scale)
        free = read_option(self.text, options) if options else read_free_score(self.text, scale)
        return free if free.status in ("ok", "refused") else unread(self.text)

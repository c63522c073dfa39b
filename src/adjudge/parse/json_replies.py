"""The answers of a reply in JSON, found by the key paths of the protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..records import How, Protocol, Reading, Scale, Subject
from .marks import score_value
from .named_options import OptionNames, option_names, read_option
from .numbers import number_at
from .readers import offered, read_free_score, unread
from .text import lazily, masked, narrow, thoughts, window

# JSON in a reply: finding it, decoding it, and where each value stands.
#
# A judge writes JSON bare, fenced, behind a sentence or with a comma too many. Exactly one
# candidate of at most 16 KB is repaired, and that is flagged. Numbers that are none (NaN, 1e999,
# true) stay what they are: the caller refuses them. Nothing here knows of scores or criteria.


REPAIRED_AT_MOST = 16_384
_MOST_TOKENS = 50_000
_MOST_CANDIDATES = 64

_BRACES = lazily(r'[{}"]')
_STRING_REST = lazily(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_TOKEN = lazily(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)

Path = tuple[str | int, ...]
Span = tuple[int, int]


class Document(NamedTuple):
    """One JSON object of a reply, with the place of every scalar in it."""

    value: dict[str, Any]
    span: Span
    places: dict[Path, Span]
    doubled: frozenset[Path]
    """keys that stand twice in one object with different values"""
    is_repaired: bool = False
    cut: str = ""
    """the last word of an object that never ends: a "1" there may have been going to be a "10\""""


def find_documents(text: str) -> list[Document]:
    """The JSON objects of a reply that decode; if none does, the one that can be repaired."""
    candidates = _candidates(text)
    documents = [document for span in candidates if (document := _decoded(text, span)) is not None]
    if documents or not candidates:
        return documents
    # The longest one is the answer; what else stands in braces is a fragment.
    start, end = max(candidates, key=lambda span: span[1] - span[0])
    repaired = _repaired(text, (start, end)) if end - start <= REPAIRED_AT_MOST else None
    return [repaired] if repaired is not None else []


def _candidates(text: str) -> list[Span]:
    """The outermost {…} of a text, strings respected; an unterminated one reaches the end."""
    spans: list[Span] = []
    at, depth, start = 0, 0, 0
    for _ in range(_MOST_TOKENS):
        brace = _BRACES.search(text, at)
        if brace is None:
            break
        at = brace.end()
        sign = brace[0]
        if sign == "{":
            if depth == 0:
                start = brace.start()
            depth += 1
        elif sign == "}":
            depth = max(0, depth - 1)
            if (
                depth == 0
                and start < brace.start()
                and text[start] == "{"
                and (not spans or spans[-1][1] <= start)
            ):
                spans.append((start, at))
                if len(spans) >= _MOST_CANDIDATES:
                    return spans
        elif depth:
            # A quotation mark in prose opens nothing; inside braces it opens a string.
            rest = _STRING_REST.match(text, at)
            if rest is None:
                break
            at = rest.end()
    if depth:
        spans.append((start, len(text)))
    return spans


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, strict=False)


def _decoded(text: str, span: Span) -> Document | None:
    body = text[span[0] : span[1]]
    try:
        value = _DECODER.decode(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    places, doubled = _places(text, span)
    return Document(value, span, places, doubled)


def _places(text: str, span: Span) -> tuple[dict[Path, Span], frozenset[Path]]:
    """Where every scalar of valid JSON stands, by its path; and keys given twice, differently."""
    places: dict[Path, Span] = {}
    doubled: set[Path] = set()
    path: list[str | int] = []
    for token in _TOKEN.finditer(text, *span):
        sign = token[0]
        if sign in "{[":
            path.append("" if sign == "{" else 0)
        elif sign in "}]":
            path.pop()
        elif sign == ",":
            here = path[-1]
            path[-1] = here + 1 if isinstance(here, int) else ""
        elif sign[0] == '"' and _is_key(text, token.end()):
            path[-1] = json.loads(sign, strict=False) if "\\" in sign else sign[1:-1]
        elif sign != ":":
            where = tuple(path)
            if where in places and text[slice(*places[where])] != sign:
                doubled.add(where)
            places[where] = token.span()
    return places, frozenset(doubled)


def _is_key(text: str, at: int) -> bool:
    """In valid JSON a string before a colon is a key, and nothing else is."""
    while text[at].isspace():
        at += 1
    return text[at] == ":"


def _repaired(text: str, span: Span) -> Document | None:
    # Only a broken reply pays for the import.
    import json_repair

    body = text[span[0] : span[1]]
    try:
        value = json_repair.loads(body, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError):
        return None
    if not isinstance(value, dict) or not value:
        return None
    cut = "" if body.rstrip().endswith("}") else body.rsplit(maxsplit=1)[-1].rsplit(":", 1)[-1].strip("\"'")
    return Document(value, span, {}, frozenset(), is_repaired=True, cut=cut)


# Scores of several criteria from JSON of unknown layout.


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
    scale = None if low is None or high is None else Scale(low, high, high)
    readings = {}
    for criterion in criteria:
        candidates = [
            _on_rung(_read(place, scale), place, document, is_bare)
            for document in documents
            for place in _places_of(document, criterion, scale, alone=len(criteria) == 1)
        ]
        readings[criterion] = _settled(candidates) if candidates else unread(text)
    return readings


def _settled(readings: list[Reading]) -> Reading:
    if len({(reading.value, reading.status) for reading in readings}) > 1:
        return Reading(status="conflicting", span=readings[-1].span)
    return readings[-1]


def _on_rung(reading: Reading, entry: FoundValue, document: Document, is_bare: bool) -> Reading:
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
    document: Document, criterion: str, scale: Scale | None, *, alone: bool
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
        key for key, inner in value.items()
        if isinstance(inner, int | float) and not isinstance(inner, bool) and "confidence" not in flat(str(key))
    ]  # fmt: skip
    return numbers if len(numbers) == 1 else []


def _value_at(document: Document, path: Path, value: Any) -> FoundValue:
    return FoundValue(
        value, path, document.places.get(path, document.span), True, document.cut, document.doubled
    )


_LOOSE = lazily(r"[\s_\-]+")
_MISSING: Any = object()
_LONGEST_PROSE = 200_000
"""No judge answers in more words than this; JSON may be longer."""


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
        path = self._path(template, criterion, subject)
        if self.answer.options:
            names = option_names(tuple(self.answer.options))
            return self._settled(path, lambda entry: option_of(entry, names))
        return self._settled(path, lambda entry: number_of(entry, scale))

    def choice(self) -> Reading:
        if not self.documents:
            return unread(self.text)
        options, tie = offered(self.answer)
        words = {flat(options[0]): "first", flat(options[1]): "second"}
        if tie is not None:
            words[flat(tie)] = "tie"

        def read(entry: FoundValue) -> Reading:
            written = flat(entry.value) if isinstance(entry.value, str) else ""
            chosen = words.get(written) or words.get(
                re.sub(r"^(?:response|output|assistant|answer)", "", written)
            )
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
        entry = _look_up(self.documents[-1], self._path(template, criterion, subject))
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
            entry = _look_up(document, path)
            if entry is None:
                continue
            if entry.path in entry.doubled:
                return Reading(status="conflicting", span=entry.span)
            readings.append(self._on_rung(read(entry), entry, document))
        if not readings:
            return unread(self.text)
        if len({(reading.value, reading.status) for reading in readings}) > 1:
            return Reading(status="conflicting", span=readings[-1].span)
        return readings[-1]

    def _on_rung(self, reading: Reading, entry: FoundValue, document: Document) -> Reading:
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

    def _without_json(self, scale: Scale) -> Reading:
        """No JSON at all: one lone criterion may still have been answered in words."""
        if len(self.protocol.criteria) > 1 or len(self.text) > _LONGEST_PROSE:
            return unread(self.text)
        options = self.answer.options
        free = read_option(self.text, options) if options else read_free_score(self.text, scale)
        return free if free.status in ("ok", "refused") else unread(self.text)


class FoundValue(NamedTuple):
    """A value at a path: what it is, where it stands, and whether its keys were spelled as asked."""

    value: Any
    path: Path
    span: tuple[int, int]
    is_exact: bool
    cut: str
    doubled: frozenset[Path]


def _look_up(document: Document, wanted: tuple[str, ...]) -> FoundValue | None:
    value: Any = document.value
    path: list[str | int] = []
    is_exact = True
    for key in wanted:
        if isinstance(value, list):
            position = _numbered(value, key)
            if position is None:
                return None
            path.append(position)
            value = value[position]
            continue
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
    # Only the last value of an object that never ends may have been going to be another one.
    cut = document.cut if document.cut and place == _last_path(document.value) else ""
    return FoundValue(
        value, place, document.places.get(place, document.span), is_exact, cut, document.doubled
    )


def _last_path(value: Any) -> Path:
    path: list[str | int] = []
    while isinstance(value, dict | list) and value:
        key: Any = next(reversed(value)) if isinstance(value, dict) else len(value) - 1
        path.append(key)
        value = value[key]
    return tuple(path)


_NUMBER_KEYS = ("number", "no", "n", "id", "index", "point", "claim")


def _numbered(entries: list[Any], key: str) -> int | None:
    """Where a list of objects has the one with this number; in a list without numbers, the entry at that position."""
    if not key.isdigit():
        return None
    numbers = [
        next((str(entry[name]) for name in _NUMBER_KEYS if isinstance(entry.get(name), int | str)), None)
        if isinstance(entry, dict)
        else None
        for entry in entries
    ]
    if any(number is not None and number.isdigit() for number in numbers):
        return numbers.index(key) if numbers.count(key) == 1 else None
    return int(key) - 1 if 1 <= int(key) <= len(entries) else None


def number_of(entry: FoundValue, scale: Scale) -> Reading:
    """A JSON value as a score: a number, or a text that is nothing but one."""
    value = entry.value
    if isinstance(value, bool):
        return Reading(status="unparsed", span=entry.span)
    if isinstance(value, str):
        return _number_in(narrow(value).strip().strip("*"), entry, scale)
    if not isinstance(value, int | float) or value in (float("inf"), float("-inf")):
        return Reading(status="unparsed", span=entry.span)
    if entry.cut and entry.cut == str(value) and _could_go_on(float(value), scale):
        return Reading(status="unparsed", span=entry.span)
    status = scale.status_of(float(value))
    return Reading(float(value) if status == "ok" else None, status, "anchored", entry.span)


_TRUTHS = {True: ("true", "yes", "supported", "met"), False: ("false", "no", "not supported", "not met")}


def option_of(entry: FoundValue, names: OptionNames) -> Reading:
    """A JSON value as one of several named options: its name, or a truth value where the names are yes and no."""
    value = entry.value
    if isinstance(value, bool):
        written = next((word for word in _TRUTHS[value] if names.exactly(word)), "")
    else:
        written = value if isinstance(value, str) and value != entry.cut else ""
    name = names.exactly(written) or names.opens(narrow(written))
    return Reading(name, "ok" if name else "unparsed", "anchored", entry.span)


def _number_in(written: str, entry: FoundValue, scale: Scale) -> Reading:
    read = score_value(scale)(written, 0)
    number = number_at(written, 0)
    rest = written[number.until if number else 0 :].strip(" .。")
    if read is None or (number is not None and rest):
        return Reading(status="unparsed", span=entry.span)
    value, status, _ = read
    return Reading(value if status == "ok" else None, status, "anchored", entry.span)


def _could_go_on(value: float, scale: Scale) -> bool:
    """Whether a number at which a reply was cut off may have been the beginning of another one."""
    if scale.step is None or scale.step != int(scale.step):
        return True
    return scale.high is None or any(scale.status_of(value * 10 + digit) == "ok" for digit in range(10))


def flat(text: str) -> str:
    return _LOOSE.sub("", narrow(text)).casefold()

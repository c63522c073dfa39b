"""Answers that stand behind or between marks that the prompt asked for: tag, marker, label, first line.

Each function takes the whole reply and gives one `Reading`. Marks that differ are a conflict, unless
all but one value stand in a quotation, a code fence or a thought: those are not the judge's own voice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from ..records import Reading, Scale, Status
from .entries import is_entry
from .lazy import lazily
from .numbers import Number, number_at
from .prose import counts_things
from .text import ASIDE, Span, fences, narrow, set_aside, without_emphasis

# A minus sign before a digit belongs to the number: "-1" is off the scale, not 1.
_BEFORE_VALUE = lazily(
    r"(?:[\s:=(\[{\"'“”‘’«`>|*_]|-(?![0-9])){0,12}"
    r"(?:(?:the\s)?(?:final\s|overall\s)?(?:score|rating|result|is|of|점수|评分|得分|分数)(?:[\s:=(\[*_]|-(?![0-9])){0,6}){0,2}",
    re.I,
)
_RANGE = lazily(
    r"\s{0,3}[(\[]?\s?[0-9]{1,3}\s?(?:-|–|—|~|〜|to|到|至|/|에서)\s?[0-9]{1,3}\s?(?:점|分)?\s?[)\]]", re.I
)
_COLON = lazily(r":")
_LEVEL_ECHO = lazily(r"[\s\"'*]{0,3}(?:[-–—:：=]|\bmeans\b)\s{0,3}\S")
_VALUE_ENDS = lazily(r"\s{0,3}(?:[^\w\s]|\n|\Z|[^\W\d])")


class Found(NamedTuple):
    """One mark with what stands behind it: a value, or a status that says why not."""

    value: float | str | None
    status: Status
    span: Span
    """the value alone"""
    mark: int
    """where the mark begins"""


Value = Callable[[str, int], tuple[float | str | None, Status, Span] | None]
"""Reads what stands at a place of a narrowed text; none where nothing readable does."""


def score_value(scale: Scale) -> Value:
    """A reader of the one number, or level name, that stands at a place."""

    def read(text: str, at: int) -> tuple[float | str | None, Status, Span] | None:
        number = number_at(text, at)
        if number is None or not _VALUE_ENDS.match(text, number.until):
            return _named_level(text, at, scale)
        return number.value, _fits(number, scale), (number.start, number.end)

    return read


def _fits(number: Number, scale: Scale) -> Status:
    """On the scale, and "out of" the scale's own top where the judge names one."""
    if number.top is not None and scale.high is not None and number.top != scale.high:
        return "out_of_range"
    return scale.status_of(number.value)


def _named_level(text: str, at: int, scale: Scale) -> tuple[float | str | None, Status, Span] | None:
    for level, name in scale.names.items():
        end = at + len(name)
        if text[at:end].casefold() == name.casefold() and not text[end : end + 1].isalnum():
            return level, "ok", (at, end)
    return None


def choice_value(options: tuple[str, str], tie: str | None) -> Value:
    """A reader of one of the words that the prompt offers: first, second or tie."""
    words = {options[0].casefold(): "first", options[1].casefold(): "second"}
    if tie is not None:
        words[tie.casefold()] = "tie"
    pattern = _choice_pattern(tuple(sorted(words, key=len, reverse=True)))

    def read(text: str, at: int) -> tuple[float | str | None, Status, Span] | None:
        found = pattern.match(text, at)
        return (words[found[1].casefold()], "ok", found.span(1)) if found else None

    return read


@lru_cache(maxsize=64)
def _choice_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(
        r"(?:(?:response|output|answer|assistant|option|model|candidate|the)\s{1,2}){0,2}[(\[\"'“‘*]{0,3}"
        + f"({'|'.join(map(re.escape, words))})"
        + r"(?![\w])(?!\s{0,2}(?:or|/|and)\s{0,2}\w{1,9}\b)",
        re.I,
    )


def settle(found: list[Found], text: str) -> Reading | None:
    """One reading of all marks: the judge's own voice counts, and must not contradict itself."""
    if not found:
        return None
    own = set_aside(text)
    spoken = [mark for mark in found if own[mark.mark] != ASIDE and own[mark.span[0]] != ASIDE]
    if not spoken:
        spoken = _boxed(found, text)
    if not spoken:
        return unreadable()
    if len({mark.value for mark in spoken}) > 1:
        return Reading(status="conflicting", span=spoken[-1].span)
    last = spoken[-1]
    value = last.value if last.status == "ok" else None
    return Reading(value=value, status=last.status, how="anchored", span=last.span)


_BOXED_LINE = lazily(
    r"[\W_]*(?:(?:final|overall|my|the|score|rating|result|answer|점수|评分|得分)[\W_]*){0,3}", re.I
)


def _boxed(found: list[Found], text: str) -> list[Found]:
    """The answers in code that stand on a line of their own: put into a box, not quoted from somewhere."""
    if len(found) > _MOST_BOXES:
        return []
    shown = set_aside(text, fenced=False, quoted=False)
    blocks = [(start, end) for start, end in fences(text) if end - start > _BOX]
    return [mark for mark in found if shown[mark.mark] != ASIDE and _is_boxed(mark, text, blocks)]


def _is_boxed(mark: Found, text: str, blocks: list[Span]) -> bool:
    if any(start <= mark.mark < end for start, end in blocks):
        return False
    start = text.rfind("\n", 0, mark.mark) + 1
    if text[start : mark.mark].lstrip().startswith(">"):
        return False
    end = text.find("\n", mark.span[1])
    tail = text[mark.span[1] : end if end >= 0 else len(text)]
    return _BOXED_LINE.fullmatch(text, start, mark.mark) is not None and len(tail) <= 16


_MOST_BOXES = 50
"""A judge that puts more answers into code than this has given none."""
_BOX = 160
"""How long a code block may be and still be a box around the answer."""


def _prepared(text: str) -> str:
    return without_emphasis(narrow(text))


def read_tag(text: str, tag: str, value: Value) -> Reading | None:
    """`<score>4</score>`; a list of levels that the judge repeats is passed over."""
    plain = _prepared(text)
    found = []
    matches = list(_tag_pattern(tag).finditer(plain))
    for match in matches:
        read = _value_from(plain, match.end(), len(plain), value)
        if read is None:
            continue
        closing = _closing_pattern(tag).match(plain, read[2][1])
        is_echo = closing is not None and _LEVEL_ECHO.match(plain, closing.end()) is not None
        if not (is_echo and _leads_line(plain, match.start())):
            found.append(Found(*read, match.start()))
    return settle(found, text) or (unreadable() if matches else None)


def read_marker(text: str, marker: str, value: Value) -> Reading | None:
    """`[RESULT] 4`, however it is set in bold, brackets or full width."""
    plain, pattern = _prepared(text), _marker_pattern(marker)
    reading = settle(_behind(plain, pattern, value), text)
    return reading or (unreadable() if pattern.search(plain) else None)


def unreadable() -> Reading:
    """A mark is there, and what stands behind it is no answer."""
    return Reading(status="unparsed")


def read_label(text: str, labels: tuple[str, ...], value: Value) -> Reading | None:
    """`Coherence Score (1-5): 4`. A label at the start of a line outranks one inside a sentence."""
    plain = _prepared(text)
    for label in labels:
        found = _behind(plain, _label_pattern(label), value)
        leading = [mark for mark in found if _leads_line(plain, mark.mark)]
        reading = settle(leading or found, text)
        if reading is not None:
            return reading
    is_there = any(_label_pattern(label).search(plain) for label in labels)
    return unreadable() if is_there else None


_FIRST_LINE = 480
"""More than a first line that holds a score, with white space before it."""


def read_first_line(text: str, value: Value) -> Reading | None:
    """The score alone on the first line; a label before it or a unit behind it do no harm."""
    # Where the judge does not begin by thinking aloud, the first line is all that is looked at.
    head = text if text.lstrip()[:1] in ("<", "`", "~") else text[:_FIRST_LINE]
    plain = set_aside(_prepared(head), quoted=False, fenced=False).replace(ASIDE, " ")
    start = len(plain) - len(plain.lstrip())
    end = plain.find("\n", start)
    end = len(plain) if end < 0 else end
    labelled = [place.end() for place in _COLON.finditer(plain, start, min(end, start + 400))]
    found = [read for at in labelled if (read := _value_from(plain, at, end, value)) is not None]
    if not found:
        opening = _value_from(plain, start, end, value)
        found = [opening] if opening is not None and not _is_no_score(plain, start, opening[2][0]) else []
    if len({read[0] for read in found}) > 1:
        return Reading(status="conflicting", span=found[0][2])
    if not found:
        return None
    number, status, span = found[0]
    return Reading(number if status == "ok" else None, status, "anchored", span)


def _is_no_score(plain: str, start: int, at: int) -> bool:
    """Whether the number that a reply opens with counts things or heads a list: "3个分论点", "1. 结构"."""
    number = number_at(plain, at)
    return number is not None and (
        is_entry(plain, start, number, is_part=False) or counts_things(plain, number)
    )


def _value_from(
    plain: str, at: int, end: int, value: Value
) -> tuple[float | str | None, Status, Span] | None:
    skipped = _BEFORE_VALUE.match(plain, at, end)
    read = value(plain, skipped.end() if skipped else at)
    return read if read is not None and read[2][1] <= end else None


def _behind(plain: str, pattern: re.Pattern[str], value: Value) -> list[Found]:
    found: list[Found] = []
    for count, match in enumerate(pattern.finditer(plain)):
        at = match.end()
        bounds = _RANGE.match(plain, at)
        read = _value_from(plain, bounds.end() if bounds else at, len(plain), value)
        # So many lists are no judge's; looking for the next entry of each would take long.
        if read is not None and (count > _MOST_LISTS or not _counts(plain, match.start(), read[2][0])):
            found.append(Found(*read, match.start()))
    return found


def _counts(plain: str, mark: int, at: int) -> bool:
    """Whether the number at a place is that of a list's first entry: "Score:\\n1. clear\\n2. short"."""
    number = number_at(plain, at)
    return number is not None and is_entry(plain, mark, number, is_part=False)


_MOST_LISTS = 200
_LINE_LEAD = 16
"""How much numbering and how many bullets may stand before a label that leads its line."""


def _leads_line(plain: str, at: int) -> bool:
    start = plain.rfind("\n", max(0, at - _LINE_LEAD), at) + 1
    if start == 0 and at > _LINE_LEAD:
        return False
    return not plain[start:at].strip(" \t-•>.0123456789)")


def _loosely(written: str) -> str:
    """A pattern for a mark as written, its white space and case left open."""
    return r"\s{0,3}".join(re.escape(piece) for piece in re.findall(r"\w+|[^\w\s]", narrow(written)))


@lru_cache(maxsize=64)
def _tag_pattern(tag: str) -> re.Pattern[str]:
    return re.compile(rf"<\s{{0,3}}{re.escape(tag)}\s{{0,3}}>", re.I)


@lru_cache(maxsize=64)
def _closing_pattern(tag: str) -> re.Pattern[str]:
    return re.compile(rf"[^<\n]{{0,24}}<\s{{0,3}}/\s{{0,3}}{re.escape(tag)}\s{{0,3}}>", re.I)


@lru_cache(maxsize=64)
def _marker_pattern(marker: str) -> re.Pattern[str]:
    return re.compile(_loosely(marker), re.I)


@lru_cache(maxsize=64)
def _label_pattern(label: str) -> re.Pattern[str]:
    # A label without its colon is a word of a sentence: "the score given was 4" is not an answer. A dash right
    # behind the label stands for the colon.
    return re.compile(
        rf"(?<![^\W\d_]){_loosely(label)}(?:\s{{0,3}}(?=[:=(\[]|is\b)|\s?[-–—](?!\s?[^\W\d]))", re.I
    )

"""The answer alone on the first line."""

from __future__ import annotations

import re

from ...lazy_patterns import lazily
from ...records import Reading, Status
from ..free.marks import ANSWER, LABEL, SCORE_WORDS, AnswerMark, hard_marks, labels, unread_behind
from ..free.said_scores import counts_things, is_taken_back, scores_said
from ..numbers.not_scores import is_entry
from ..numbers.number import number_at, numbers_between
from ..text.given import is_given
from ..text.own_voice import ASIDE, Span, set_aside
from ..text.refusals import abstains
from .settle import prepared
from .values import Value, value_from

_COLON = lazily(r":")
_FIRST_LINE = 480
"""More than a first line that holds a score, with white space before it."""

_LONGEST_REST = 20_000
"""How far behind the first line another answer is looked for."""

_LONGEST_SENTENCE = 60
"""How long a sentence is that does nothing but give the score: "结构清晰，给8分。"."""

_NAMED = lazily(
    r"(?:最终|最終|final|최종)\s?(?:得分|评分|分数|score|rating|점수)\s?(?:为|是|定为|is|of|는|은)?\s?$"
)
"""A final score without a colon: "最终得分为6分"."""

_BOUNDED = lazily(
    r"(?:至少|至多|最多|不超过|不低于|不到|不足|低于|高于|超过|接近|将近|不是|不能|没有|不给|不值)\s?$"
)
"""What makes a number a bound, or one that is not given: "至少7分"."""

_NEXT_LINE = lazily(r"\n\s*+([0-9]++(?:\.[0-9]++)?+)[ \t]?(?:分|점|points?)?[.。]?[ \t]*+(?:\n|\Z)")


def read_first_line(text: str, value: Value) -> Reading | None:
    """The score alone on the first line; a label before it or a unit behind it do no harm.

    A final score further on, or another number alone on the second line, contradicts it.
    """
    # Where the judge does not begin by thinking aloud, the first line is all that is looked at.
    head = text if text.lstrip()[:1] in ("<", "`", "~") else text[:_FIRST_LINE]
    plain = set_aside(prepared(head), quoted=False, fenced=False).replace(ASIDE, " ")
    start = len(plain) - len(plain.lstrip())
    end = plain.find("\n", start)
    end = len(plain) if end < 0 else end
    if plain[start:end].rstrip().endswith(":"):
        # A label alone on the first line: its value is alone on the second one.
        below = _NEXT_LINE.match(plain, end)
        end = below.end(1) if below else end
    labelled = [place.end() for place in _COLON.finditer(plain, start, min(end, start + 400))]
    values = [read for at in labelled if (read := value_from(plain, at, end, value)) is not None]
    if not values:
        opening = value_from(plain, start, end, value)
        values = [opening] if opening is not None and not _is_no_score(plain, start, opening[2][0]) else []
    if not values and any(abstains(plain[:end], at) for at in labelled):
        return Reading(status="refused")
    values = values or _in_a_sentence(plain, start, end, value)
    if len({read[0] for read in values}) > 1:
        return Reading(status="conflicting", span=values[0][2])
    if not values:
        return None
    number, status, span = values[0]
    if not is_given(plain, start, span[1]):
        return Reading(status="unparsed", span=span)
    if status == "ok" and (why := _why_not(text, plain, number, span[1], value)) is not None:
        return Reading(status=why, span=span)
    return Reading(number if status == "ok" else None, status, "anchored", span)


def _in_a_sentence(
    plain: str, start: int, end: int, value: Value
) -> list[tuple[float | str | None, Status, Span]]:
    """The one number of a short first line, where it has a unit of scores: "良好（8分）"."""
    if end - start > _LONGEST_SENTENCE:
        return []
    given = list(numbers_between(plain, start, end))
    if len(given) != 1 or not (given[0].unit or given[0].top) or given[0].in_words:
        return []
    if _BOUNDED.search(plain, start, given[0].start):
        return []
    if counts_things(plain, given[0]) or is_taken_back(plain, given[0]):
        return []
    read = value(plain, given[0].start)
    return [read] if read is not None else []


def _why_not(text: str, plain: str, number: float | str | None, end: int, value: Value) -> Status | None:
    """Why the first line does not count: a later line gives another score as the final one or abstains from
    one, or is nothing but another number."""
    following = _NEXT_LINE.match(plain, plain.find("\n", end))
    if following is not None:
        read = value(plain, following.start(1))
        if read is not None and read[0] != number:
            return "conflicting"
    rest = set_aside(prepared(text[:_LONGEST_REST]))
    marks = hard_marks(rest, SCORE_WORDS) + labels(rest, SCORE_WORDS) + _again(rest, end)
    for mark in marks:
        if mark.rank >= LABEL and mark.start > end:
            read = value_from(rest, mark.at, len(rest), value)
            if read is not None and read[0] != number and is_given(rest, mark.start, read[2][1]):
                return "conflicting"
    unread = unread_behind(
        rest, marks, lambda mark: value_from(rest, mark.at, len(rest), value) is not None, end
    )
    if unread is not None:
        return "refused" if unread == "refused" else "conflicting"
    behind = rest[end:]
    is_named = any(
        said.number.value != number
        and _NAMED.search(behind, max(0, said.number.start - 24), said.number.start) is not None
        for said in scores_said(behind, 0.0)
    )
    return "conflicting" if is_named else None


def _again(rest: str, end: int) -> list[AnswerMark]:
    """The label of the first line wherever it leads a line: "GPT-4回答:8 …\nGPT-4回答:"."""
    colon = rest.find(":", 0, end)
    label = rest[:colon].strip() if colon >= 0 else ""
    if not 0 < len(label) <= _LONGEST_LABEL:
        return []
    again = re.finditer(rf"^[ \t]*{re.escape(label)}\s?:", rest, re.M)
    return [AnswerMark(place.start(), place.end(), ANSWER) for place in again]


_LONGEST_LABEL = 40


def _is_no_score(plain: str, start: int, at: int) -> bool:
    """Whether the number that a reply opens with counts things or heads a list: "3个分论点", "1. 结构"."""
    number = number_at(plain, at)
    return number is not None and (
        is_entry(plain, start, number, is_part=False)
        or counts_things(plain, number)
        or (number.in_words and plain.startswith("、", number.until))
    )

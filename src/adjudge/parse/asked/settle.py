"""One reading of all marks of a reply: the judge's own voice counts, and must not contradict itself.

Marks that differ are a conflict, unless all but one value stand in a quotation, a code fence or a thought:
those are not the judge's own voice.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...lazy_patterns import lazily
from ...records import Reading, Status
from ..numbers.not_scores import is_entry
from ..numbers.number import number_at
from ..text.characters import folded, narrow, without_emphasis
from ..text.given import is_given
from ..text.own_voice import ASIDE, Span, fences, set_aside
from ..text.refusals import abstains
from .values import Value, value_from

_RANGE = lazily(
    r"\s{0,3}(?::\s?(?=[(\[]))?[(\[]?\s?(?:[0-9]{1,3}\s?(?:-|–|—|~|〜|to|到|至|에서)|[01]\s?/)\s?[0-9]{1,3}\s?"
    r"(?:점|分)?\s?[)\]]",
    re.I,
)
"""The ends of a scale behind a label, "(1-5)"; "(4/5)" is a score."""


class MarkedValue(NamedTuple):
    """One mark with what stands behind it: a value, or a status that says why not."""

    value: float | str | None
    status: Status
    """`unparsed` and `refused` where what stands there cannot be read"""
    span: Span
    """the value alone; where there is none, the end of the mark"""
    mark: int
    """where the mark begins"""
    is_given: bool = True
    """whether the judge gives it, and does not say what it would give, or what another person wrote"""

    @property
    def is_readable(self) -> bool:
        return self.status not in ("unparsed", "refused")


def unread_mark(plain: str, mark: int, at: int) -> MarkedValue:
    """A mark that begins at `mark`, ends at `at` and has no answer
    behind it: the judge abstains, or what is there is none.
    """
    status: Status = "refused" if abstains(plain, at) else "unparsed"
    return MarkedValue(None, status, (mark, at), mark)


def settle(marks: list[MarkedValue], text: str) -> Reading | None:
    """One reading of all marks: the judge's own voice counts, and must not contradict itself.

    A mark that cannot be read is an answer that cannot be read: no earlier one takes its place. One before
    the answer only repeats the requested format.
    """
    if not marks:
        return None
    judge_text = set_aside(text)
    own = [mark for mark in marks if judge_text[mark.mark] != ASIDE]
    spoken = [mark for mark in own if mark.is_readable and judge_text[mark.span[0]] != ASIDE]
    answers = spoken or _boxed([mark for mark in marks if mark.is_readable], text)
    # A readable mark whose value stands in a quotation is one that cannot be read.
    read = {mark.mark for mark in answers}
    unread = [mark for mark in own if mark.mark not in read and (mark.is_given or not answers)]
    if not answers:
        status: Status = "refused" if unread and unread[-1].status == "refused" else "unparsed"
        return Reading(status=status, span=unread[-1].span if unread else None)
    if unread and unread[-1].mark > answers[-1].mark:
        is_refused = unread[-1].status == "refused"
        return Reading(status="refused" if is_refused else "conflicting", span=unread[-1].span)
    if len({mark.value for mark in answers}) > 1:
        return Reading(status="conflicting", span=answers[-1].span)
    last = answers[-1]
    value = last.value if last.status == "ok" else None
    return Reading(value=value, status=last.status, how="anchored", span=last.span)


_BOXED_LINE = lazily(
    r"[\W_]*(?:(?:final|overall|my|the|score|rating|result|answer|점수|评分|得分)[\W_]*){0,3}", re.I
)


def _boxed(values: list[MarkedValue], text: str) -> list[MarkedValue]:
    """The answers in code that stand on a separate line: put into a box, not quoted from somewhere."""
    if len(values) > _MOST_BOXES:
        return []
    shown = set_aside(text, fenced=False, quoted=False)
    blocks = [(start, end) for start, end in fences(text) if end - start > _BOX]
    return [mark for mark in values if shown[mark.mark] != ASIDE and _is_boxed(mark, text, blocks)]


def _is_boxed(mark: MarkedValue, text: str, blocks: list[Span]) -> bool:
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


def prepared(text: str) -> str:
    """The text in small letters, with narrow characters and without emphasis; every place stays."""
    return folded(without_emphasis(narrow(text)))


def marks_in(plain: str, pattern: re.Pattern[str], value: Value) -> list[MarkedValue]:
    """Every place where a pattern of marks matches, with what stands behind it."""
    marks: list[MarkedValue] = []
    for count, match in enumerate(pattern.finditer(plain)):
        bounds = _RANGE.match(plain, match.end())
        at = bounds.end() if bounds else match.end()
        read = value_from(plain, at, len(plain), value)
        # So many lists are no judge's; looking for the next entry of each would take long.
        if read is not None and (count > _MOST_LISTS or not _counts(plain, match.start(), read[2][0])):
            if is_given(plain, match.start(), read[2][1]):
                marks.append(MarkedValue(*read, match.start()))
            else:
                marks.append(MarkedValue(None, "unparsed", (match.start(), at), match.start(), False))
        else:
            marks.append(unread_mark(plain, match.start(), at))
    return marks


def _counts(plain: str, mark: int, at: int) -> bool:
    """Whether the number at a place is that of a list's first entry: "Score:\\n1. clear\\n2. short"."""
    number = number_at(plain, at)
    return number is not None and is_entry(plain, mark, number, is_part=False)


_MOST_LISTS = 200
_LINE_LEAD = 16
"""How much numbering and how many bullets may stand before a label that leads its line."""


def leads_line(plain: str, at: int) -> bool:
    start = plain.rfind("\n", max(0, at - _LINE_LEAD), at) + 1
    if start == 0 and at > _LINE_LEAD:
        return False
    return not plain[start:at].strip(" \t-•>|.0123456789)")


def loosely(written: str) -> str:
    """A pattern for a mark as written, its white space and case left open."""
    return r"\s{0,3}\\?".join(re.escape(piece) for piece in re.findall(r"\w+|[^\w\s]", narrow(written)))

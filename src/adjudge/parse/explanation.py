"""What a judge says besides the answer."""

from __future__ import annotations

import re

import msgspec

from ..lazy_patterns import lazily
from ..records import Answer
from .text.own_voice import ASIDE, Span, masked, thoughts


def said_in(text: str, answers: list[Span], answer: Answer) -> str:
    """The judge's prose: without its thoughts, without the marked answer, and without what announces it.

    A reply in JSON where another format was wanted: its reason, or the whole, but never a piece of JSON.
    """
    hidden = thoughts(text)
    plain = masked(text, hidden)
    if (said := _said_in_json(plain, answers)) is not None:
        return said
    for start, end in sorted(answers, reverse=True):
        first, last = _with_mark(plain, start, end, answer)
        line_start = plain.rfind("\n", 0, first) + 1
        line_end = plain.find("\n", last)
        line_end = len(plain) if line_end < 0 else line_end
        rest = plain[line_start:first] + plain[last:line_end]
        if len(rest) <= _LABEL_LINE and not _SAYS.search(_LABEL.sub("", rest)):
            first, last = line_start, line_end
        elif (first, last) == (start, end):
            continue  # a number in a sentence, which would say nothing without it
        plain = plain[:first] + plain[last:]
    return _OPENING.sub("", plain.replace(ASIDE, "")).strip(" \t\n*")


_REASONS = (
    "reason",
    "reasons",
    "reasoning",
    "explanation",
    "rationale",
    "feedback",
    "justification",
    "comment",
    "analysis",
)
_FENCE = lazily(r"```[a-z]*", re.I)


def _said_in_json(plain: str, answers: list[Span]) -> str | None:
    """What a reply says whose answer is inside a JSON object; none where it is not.

    That is the object's reason, or the whole object where no key has the name of one, and the prose around
    it.
    """
    start, end = plain.find("{"), plain.rfind("}") + 1
    if start < 0 or not any(start <= first and last <= end for first, last in answers):
        return None
    try:
        values = msgspec.json.decode(plain[start:end].replace(ASIDE, ""))
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    said = [value for key, value in values.items() if key.lower() in _REASONS and isinstance(value, str)]
    around = plain[:start], "\n".join(said) if said else plain[start:end], plain[end:]
    return _FENCE.sub("", "".join(around).replace(ASIDE, "")).strip()


_SAYS = lazily(r"[^\W\d_]")
_LABEL = lazily(
    r"(?:final |overall )?(?:score|rating|result|verdict|评分|得分|分数|점수|"
    r"gpt-4回答|分|점)|\(?\d+\s?[-–~]\s?\d+\)?",
    re.I,
)
_OPENING = lazily(r"\A\s*(?:feedback|explanation|evaluation explanation)\s*[:：]\s*", re.I)
_MARK_REACH = 24
_LABEL_LINE = 100
"""A line longer than this says more than which answer it holds."""


def _with_mark(plain: str, start: int, end: int, answer: Answer) -> Span:
    """The place of a value together with the tag or marker that it belongs to."""
    usual = _with_usual_mark(plain, start, end)
    before, after = (answer.marker or "", "") if answer.reader == "marker" else ("", "")
    if answer.reader == "tag":
        before, after = f"<{answer.tag}>", f"</{answer.tag}>"
    if answer.reader == "label" and answer.labels:
        before = answer.labels[0]
    if before:
        place = plain.lower().rfind(before.lower(), max(0, start - len(before) - _MARK_REACH), start)
        start = place if place >= 0 else start
    if after:
        place = plain.lower().find(after.lower(), end, end + len(after) + _MARK_REACH)
        end = place + len(after) if place >= 0 else end
    usual_start, usual_end = usual
    return min(start, usual_start), max(end, usual_end)


_MARK_BEFORE = lazily(
    r"(?:(?:(?:final |overall |total )?(?:score|rating|result|grade|verdict)|评分|得分|分数|점수)"
    r"\**\s*[:：=]\s*)?"
    r"(?P<open>\[\[?\s*|<(?P<tag>[a-z_]{1,20})>\s*|\**)\Z",
    re.I,
)
_MARK_AFTER = lazily(r"\s*(?:\]\]?|</[a-z_]{1,20}>|\**)(?:\s*/\s*\d+)?\**", re.I)


def _with_usual_mark(plain: str, start: int, end: int) -> Span:
    """The place with brackets, tags, bold or a label that judges put around a value, whatever was asked."""
    before = _MARK_BEFORE.search(plain, max(0, start - 2 * _MARK_REACH), start)
    if before is None or not before[0]:
        return start, end
    after = _MARK_AFTER.match(plain, end)
    return before.start(), after.end() if after is not None else end

"""How a score comes from a reply: where the protocol looks for it, what stands there, and which numbers were
passed over, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...parse.text.own_voice import fences, quotations, thoughts
from ...records import Answer, Choice, Protocol
from .views import RejectedNumber, Span

MOST_REJECTED = 6
"""A reply that counts or calculates has dozens of numbers; the first few explain the rest."""

_LONGEST_REPLY = 60_000

_NUMBER = re.compile(r"(?<![\w.,#$€£-])\d{1,3}(?:\.\d{1,2})?(?![\w%]|[.,:]\d| ?%)")
_IS_ENTRY = re.compile(r"[.)]\s")
"""Behind a number that begins a line: it numbers a list."""
_TOP_OF_SCALE = re.compile(r"(?:/|\bout of|\bvon|\bsur)\s?$", re.I)


def answer_rule(answer: Answer, criterion: str = "") -> str:
    """Where the protocol asks for the answer; empty for a likelihood. Without a criterion: for the choice."""
    if answer.reader == "tag":
        return f"between <{answer.tag}> and </{answer.tag}>"
    if answer.reader == "marker":
        return f"after {answer.marker}"
    if answer.reader == "label":
        return f"after “{answer.labels[0]}:”" if answer.labels else "after its label"
    if answer.reader == "json":
        path = answer.scores.get(criterion, answer.score or "") if criterion else answer.choice or ""
        return f"JSON value “{path.replace('{criterion}', criterion)}”" if path else "JSON"
    return {"first_line": "on the first line", "free": "the conclusion of the reply"}.get(answer.reader, "")


def shown_choice(choice: Choice, order: str, answer: Answer) -> str:
    """What a judge wrote for a choice: with the second response shown first, “B” is response a."""
    names = {"a": "A", "b": "B", "tie": "tie", **answer.choices}
    swapped: dict[Choice, Choice] = {"a": "b", "b": "a", "tie": "tie"}
    return names[swapped[choice] if order == "ba" else choice]


def rejected_numbers(
    text: str, protocol: Protocol | None, spans: Sequence[Span], doubtful: Sequence[Span] = ()
) -> tuple[RejectedNumber, ...]:
    """The first numbers of a reply that could be a score on the protocol's scales and were not read."""
    if protocol is None or not spans or doubtful or len(text) > _LONGEST_REPLY:
        return ()
    scales = [scale for scale in protocol.criteria.values() if scale is not None]
    limits = [scale.limits for scale in scales if scale.limits is not None]
    if not limits or protocol.answer.reader == "json":
        return ()
    low, high = min(ends[0] for ends in limits), max(ends[1] for ends in limits)
    rejected = []
    for match in _NUMBER.finditer(text):
        span = match.span()
        if _IS_ENTRY.match(text, span[1]) and not text[text.rfind("\n", 0, span[0]) + 1 : span[0]].strip():
            continue
        if low <= float(match[0]) <= high and not any(_touch(span, one) for one in spans):
            rejected.append(RejectedNumber(span, _reason(text, span, protocol.answer)))
        if len(rejected) == MOST_REJECTED:
            break
    return tuple(rejected)


def _touch(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _reason(text: str, span: Span, answer: Answer) -> str:
    for reason, places in _set_aside(text):
        if any(_touch(span, place) for place in places):
            return reason
    if _TOP_OF_SCALE.search(text, max(0, span[0] - 8), span[0]):
        return "the top of the scale"
    return f"not {answer_rule(answer)}"


def _set_aside(text: str) -> Iterator[tuple[str, Sequence[Span]]]:
    yield "part of the thinking", thoughts(text)
    yield "in a code block", fences(text)
    yield "in a quotation", quotations(text)

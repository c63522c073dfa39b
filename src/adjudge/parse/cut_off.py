"""Replies that were cut off.

An answer is complete beyond doubt where a closing mark follows it, or so much text that no continuation
changes how it is read.
"""

from __future__ import annotations

from msgspec import structs

from ..lazy_patterns import lazily
from ..records import Protocol, Reading, Scale, Score, Status
from .reply import JudgeReply


def continuations(protocol: Protocol, text: str) -> list[str]:
    """Texts that a reply may have been cut off before; each would change an answer that is not complete."""
    ends = ["0", "5", ".5", "x", '"', " or", "/"]
    for scale in protocol.criteria.values():
        if scale is not None and scale.limits is not None:
            ends += [f"{sign}{limit:g}" for limit in scale.limits for sign in (" or ", " ", "-")]
    if protocol.task == "compare":
        ends += [f"{sign}{word}" for word in protocol.answer.choices.values() for sign in (" or ", " ")]
    names = protocol.answer.options
    ends += [f"{sign}{name}" for name in names for sign in (" or ", " ")]
    # A name that begins another one may have been going to be that one.
    ends += [
        longer[len(name) :]
        for name in names
        for longer in names
        if longer.startswith(name) and longer != name
    ]
    # The readers look at both ends of a long reply; where it is cut off, its beginning adds nothing new.
    return list(dict.fromkeys(ends)) if len(text) <= _LONGEST_CUT else []


_LONGEST_CUT = 50_000
"""Above so many characters a reply that was cut off is not read: no judge writes so much on purpose."""


def complete_scores(
    reply: JudgeReply, scores: tuple[Score, ...], continued: list[list[Score]]
) -> tuple[Score, ...]:
    found = []
    for score in scores:
        key = (score.criterion, score.subject)
        others = [other for later in continued for other in later if (other.criterion, other.subject) == key]
        is_same = len(others) >= len(continued) > 0 and all(
            other.status == "ok" and (other.value, other.label) == (score.value, score.label)
            for other in others
        )
        is_complete = (is_same or reply.is_closed(score.span)) and reply.is_marked(score.span)
        if score.status == "unparsed" or (score.status == "ok" and not is_complete):
            score = without_value(score, "truncated")
        found.append(score)
    return tuple(found)


def complete_choice(
    reply: JudgeReply, choice: Reading | None, continued: list[Reading | None]
) -> Reading | None:
    if choice is None or choice.status not in ("ok", "unparsed"):
        return choice
    is_same = bool(continued) and all(
        other is not None and other.status == "ok" and other.value == choice.value for other in continued
    )
    is_complete = (is_same or reply.is_closed(choice.span)) and reply.is_marked(choice.span)
    is_complete = is_complete and choice.status == "ok"
    return choice if is_complete else Reading(status="truncated", span=choice.span)


def without_value(score: Score, status: Status) -> Score:
    return structs.replace(score, status=status, value=None, label=None, how=None)


def could_go_on(reply: JudgeReply, scores: tuple[Score, ...]) -> bool:
    """Whether a reply ends with a number that is the beginning of another score: a 1 that may be a 10."""
    if not reply.text[-1:].isdigit():
        return False
    return any(
        score.status == "ok"
        and (scale := reply.protocol.criteria[score.criterion]) is not None
        and _begins_another(reply.text, score, scale)
        for score in scores
    )


_LAST_NUMBER = lazily(r"(?<![\d.,])[0-9]+\Z")


def _begins_another(text: str, score: Score, scale: Scale) -> bool:
    number = _LAST_NUMBER.search(text)
    if number is None or scale.high is None or float(number[0]) != score.value or number[0] == "0":
        return False
    return any(scale.status_of(float(number[0] + digit)) == "ok" for digit in "0123456789")

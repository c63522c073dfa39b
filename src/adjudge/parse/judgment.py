"""From a reply to a `Judgment`: all scores, the choice in the item's frame, evidence and flags.

One bad criterion never fails the others, and a failure is a status, never a number.
"""

from __future__ import annotations

from msgspec import structs

from ..records import Choice, Item, Judgment, Order, Protocol, Reading, Score, Status
from .cut_off import complete_choice, complete_scores, continuations, could_go_on, without_value
from .flags import flags_of
from .reply import JudgeReply
from .text.invisible import Visible, visible

_FRAMES: dict[tuple[str, Order], Choice] = {
    ("first", "ab"): "a",
    ("second", "ab"): "b",
    ("first", "ba"): "b",
    ("second", "ba"): "a",
    ("tie", "ab"): "tie",
    ("tie", "ba"): "tie",
}


def parse(
    protocol: Protocol,
    text: str,
    item: Item | None = None,
    *,
    order: Order = "ab",
    finish: str | None = None,
    call: str = "",
) -> Judgment:
    """Read all that a protocol asks for from one reply.

    `item` lets quoted evidence be checked. `finish` is the model's own word on why it stopped. A filtered
    reply is refused. Of a reply that was cut off, only an answer that is complete beyond doubt counts.
    """
    seen = visible(text)
    if seen.shifts:
        judgment = parse(protocol, seen.text, item=item, order=order, finish=finish, call=call)
        return _in_original(judgment, seen)
    reply = JudgeReply(protocol, text, item, order)
    scores = tuple(reply.scores())
    choice = reply.choice()
    if finish == "content_filter":
        scores = tuple(without_value(score, "refused") for score in scores)
        choice = None if choice is None else Reading(status="refused")
    elif finish == "length":
        others = [JudgeReply(protocol, text + end, None, order) for end in continuations(protocol, text)]
        scores = complete_scores(reply, scores, [other.scores() for other in others])
        choice = complete_choice(reply, choice, [other.choice() for other in others])
    elif finish is None and could_go_on(reply, scores):
        reply.flags.append("possibly_cut_off")
    judgment = Judgment(
        scores=scores,
        call=call,
        choice=_FRAMES[str(choice.value), order] if choice is not None and choice.value is not None else None,
        choice_status=choice.status if choice is not None else None,
        choice_how=choice.how if choice is not None else None,
        choice_span=choice.span if choice is not None else None,
        choice_confidence=reply.choice_confidence(),
        explanation=reply.explanation(),
        notes=reply.notes(),
    )
    return structs.replace(judgment, flags=flags_of(protocol, judgment, reply))


def _in_original(judgment: Judgment, seen: Visible) -> Judgment:
    """The judgment of a reply without its invisible characters, with places in the whole reply."""
    scores = tuple(
        structs.replace(
            score,
            span=seen.span(score.span) if score.span is not None else None,
            how="anchored" if score.how == "strict" else score.how,
        )
        for score in judgment.scores
    )
    span = judgment.choice_span
    return structs.replace(
        judgment,
        scores=scores,
        choice_span=seen.span(span) if span is not None else None,
        choice_how="anchored" if judgment.choice_how == "strict" else judgment.choice_how,
    )


def unanswered(protocol: Protocol, status: Status) -> Judgment:
    """The judgment of a call that brought no reply: every score that was asked for has this status."""
    scores = []
    for name, scale in protocol.criteria.items():
        if scale is not None:
            subjects = protocol.answer.scored_subjects(name)
            scores += [Score(name, status, subject=subject) for subject in subjects]
    has_choice = protocol.task == "compare" and (protocol.answer.choice is not None or not scores)
    return Judgment(scores=tuple(scores), choice_status=status if has_choice else None)

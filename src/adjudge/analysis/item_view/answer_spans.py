"""Where in a reply its answers stand: those that were read,
those that contradict each other, and those of a reask.
"""

from __future__ import annotations

from msgspec import structs

from ...parse import parse
from ...records import Item, Judgment, Protocol
from ...store.browsing import CallOutcome
from .views import Span


def answer_spans(judgment: Judgment | None) -> list[Span]:
    """Where in a reply its scores and its choice were read."""
    if judgment is None:
        return []
    spans = [judgment.choice_span, *(score.span for score in judgment.scores)]
    return sorted({span for span in spans if span is not None})


_MOST_CONFLICTS = 6


def conflicting_spans(place: CallOutcome, protocol: Protocol | None, item: Item | None) -> list[Span]:
    """All answers in a reply that contradict each other; nothing for a reply without a contradiction.

    A judgment keeps one of them at most. Without it the parser finds the next, until it finds no more.
    """
    judgment, reply = place.judgment, place.reply
    if judgment is None or reply is None or protocol is None or item is None:
        return []
    in_doubt = {
        (score.criterion, score.subject) for score in judgment.scores if score.status == "conflicting"
    }
    is_choice = judgment.choice_status == "conflicting"
    if not in_doubt and not is_choice:
        return []
    text, spans = reply.text, list[Span]()
    for _ in range(_MOST_CONFLICTS):
        second = parse(protocol, text, item=item, order=place.about.order)
        found = {score.span for score in second.scores if (score.criterion, score.subject) in in_doubt}
        found |= {second.choice_span} if is_choice else set()
        new = [span for span in found if span is not None and span not in spans]
        if not new:
            break
        spans += new
        for start, end in new:
            text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return sorted(_without_marks(spans, reply.text))


def _without_marks(spans: list[Span], text: str) -> list[Span]:
    """The spans without marks: one right before an answer is found once that answer is left out."""
    answers: list[Span] = []
    for start, end in spans:
        if not any(end <= later and not text[end:later].strip() for later, _ in answers):
            answers.append((start, end))
    return answers


def without_second(judgment: Judgment | None) -> Judgment | None:
    """What was read from the first reply itself."""
    if judgment is None:
        return None
    scores = tuple(score for score in judgment.scores if score.how != "reask")
    status = None if judgment.choice_how == "reask" else judgment.choice_status
    return structs.replace(judgment, scores=scores, choice_status=status)


def second_answers(
    place: CallOutcome, parent: CallOutcome | None, protocol: Protocol | None, item: Item | None
) -> tuple[Judgment | None, list[Span]]:
    """What was read from the answer to a second question, and where.

    The judgment is stored with the first reply and holds positions in that reply alone, so the second one is
    parsed again.
    """
    if parent is None or parent.judgment is None:
        return None, []
    scores = tuple(score for score in parent.judgment.scores if score.how == "reask")
    is_chosen = parent.judgment.choice_how == "reask"
    status = parent.judgment.choice_status if is_chosen else None
    judgment = structs.replace(parent.judgment, scores=scores, choice_status=status, choice_span=None)
    if place.reply is None or protocol is None or item is None:
        return judgment, []
    second = parse(protocol, place.reply.text, item=item, order=place.about.order)
    names = {(score.criterion, score.subject) for score in scores}
    parsed = tuple(score for score in second.scores if (score.criterion, score.subject) in names)
    return judgment, answer_spans(Judgment(parsed, choice_span=second.choice_span if is_chosen else None))

"""One item as the report shows it: each prompt and reply word for word, with the places marked that were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from msgspec import Struct

from ..parse import parse
from ..records import FieldValue, Item, Judgment, Message, Protocol, Status
from ..store.browsing import Place
from .telling import Telling
from .text import Span, cut, judge_name

MOST_CALLS = 4
"""Replies of one item that are shown; the others are counted."""


class ReadScore(Struct, frozen=True):
    """What was read: a score or a choice, on which rung, or why not."""

    name: str
    value: str
    status: Status
    how: str
    more: str = ""


class Text(Struct, frozen=True):
    """A text, shortened where it is long, with the places to mark."""

    title: str
    text: str
    spans: tuple[Span, ...] = ()
    n_left_out: int = 0


class CallView(Struct, frozen=True):
    """One call: who was asked, what came back, what was read from it."""

    title: str
    prompt: tuple[Text, ...]
    """empty where it is the same as that of the call before"""
    reply: Text | None
    reasoning: Text | None
    error: str
    read: tuple[ReadScore, ...]
    flags: tuple[str, ...]


class ItemView(Struct, frozen=True):
    """An item with its replies."""

    item: Item
    reasons: tuple[str, ...]
    fields: tuple[Text, ...]
    calls: tuple[CallView, ...]
    n_more: int


def item_view(
    item: Item, places: Sequence[Place], why: Telling, protocols: Mapping[str, Protocol], most: int
) -> ItemView:
    """The item and the replies that its reasons are about; no text is longer than about `most` characters."""
    parents = {place.call.key: place for place in places if place.call is not None}
    calls: list[CallView] = []
    before: tuple[Message, ...] = ()
    for place in chosen(places, why.criteria):
        messages = place.call.messages if place.call is not None else ()
        parent = parents.get(place.call.parent or "") if place.call is not None else None
        if place.about.kind == "reask":
            spans = second_spans(place, parent, protocols.get(place.about.protocol), item)
        else:
            spans = _spans(place.judgment)
        calls.append(_call(place, spans, () if messages == before else messages, most))
        before = messages
    fields = tuple(_shortened(name, field_text(value), most) for name, value in item.fields.items())
    return ItemView(item, why.reasons, fields, tuple(calls), len(places) - len(calls))


def chosen(places: Sequence[Place], criteria: Set[str]) -> list[Place]:
    """The few calls to show, in their order: on those criteria first, and of many samples the lowest and the highest."""
    told: set[str] = set()
    different = []
    for place in places:
        # The same fault twenty times tells no more than once.
        if place.error is None or place.error.kind not in told:
            different.append(place)
        if place.error is not None:
            told.add(place.error.kind)
    about = [place for place in different if not criteria or criteria & set(place.about.criteria)]
    others = [place for place in different if place not in about]
    if len(about) > MOST_CALLS:
        by_value = sorted(about, key=_value)
        half = MOST_CALLS // 2
        about = [*by_value[:half], *by_value[-half:]]
    kept = [*about, *others][:MOST_CALLS]
    return sorted(kept, key=lambda place: place.slot)


def _value(place: Place) -> float:
    """The mean of what was read; what failed stands before all that did not."""
    scores = place.judgment.scores if place.judgment is not None else ()
    values = [score.value for score in scores if score.value is not None]
    return sum(values) / len(values) if values else float("-inf")


def field_text(value: FieldValue) -> str:
    """A field as one text: a list line by line, a transcript with its roles."""
    if isinstance(value, str):
        return value
    return "\n".join(part if isinstance(part, str) else f"{part.role}: {part.content}" for part in value)


def _call(place: Place, spans: Sequence[Span], messages: Sequence[Message], most: int) -> CallView:
    about = place.about
    judgment = place.judgment
    reply = reasoning = None
    if place.reply is not None:
        reply = _shortened("reply", place.reply.text, most, spans)
        if place.reply.reasoning:
            reasoning = _shortened("thoughts", place.reply.reasoning, most)
    words = [*about.criteria] if len(about.criteria) == 1 else []
    words.append(judge_name(about.model))
    if about.order == "ba":
        words.append("shown as b, a")
    if about.sample:
        words.append(f"sample {about.sample + 1}")
    if about.kind != "generate":
        words.append({"reask": "asked once more", "likelihood": "likelihood"}.get(about.kind, about.kind))
    prompt = [_shortened(message.role, message.content, most) for message in messages]
    if place.call is not None and place.call.target is not None and messages:
        prompt.append(_shortened("target, whose likelihood is asked", place.call.target, most))
    return CallView(
        title=" · ".join(words),
        prompt=tuple(prompt),
        reply=reply if reply is not None and reply.text else None,
        reasoning=reasoning,
        error="" if place.error is None else f"{place.error.kind.replace('_', ' ')}: {place.error.message}",
        read=tuple(_read(judgment)) if judgment is not None else (),
        flags=judgment.flags if judgment is not None else (),
    )


def _spans(judgment: Judgment | None) -> list[Span]:
    """The places in a reply where something was read."""
    if judgment is None:
        return []
    found = [judgment.choice_span, *(score.span for score in judgment.scores)]
    return sorted({span for span in found if span is not None})


def second_spans(place: Place, parent: Place | None, protocol: Protocol | None, item: Item) -> list[Span]:
    """The places in a reply to a second question, of what the first reply had lacked.

    A judgment holds places in its own reply alone, so the second reply is read once more.
    """
    if place.reply is None or parent is None or parent.judgment is None or protocol is None:
        return []
    taken = {(score.criterion, score.subject) for score in parent.judgment.scores if score.how == "reask"}
    again = parse(protocol, place.reply.text, item=item, order=place.about.order)
    scores = tuple(score for score in again.scores if (score.criterion, score.subject) in taken)
    is_chosen = parent.judgment.choice_how == "reask"
    return _spans(Judgment(scores, choice_span=again.choice_span if is_chosen else None))


def _read(judgment: Judgment) -> list[ReadScore]:
    found = []
    for score in judgment.scores:
        name = f"{score.criterion} of {score.subject}" if score.subject else score.criterion
        value = f"{score.value:.4g}" if score.value is not None else ""
        said = []
        if score.confidence is not None:
            said.append(f"confidence {score.confidence:.2f}")
        if score.grounded is not None:
            said.append(f"{score.grounded:.0%} of its evidence found in the response")
        if score.caught_mass is not None:
            said.append(f"probability caught {score.caught_mass:.2f}")
        found.append(ReadScore(name, value, score.status, score.how or "", ", ".join(said)))
    if judgment.choice_status is not None:
        found.append(
            ReadScore("choice", judgment.choice or "", judgment.choice_status, judgment.choice_how or "")
        )
    return found


def _shortened(title: str, text: str, most: int, spans: Sequence[Span] = ()) -> Text:
    kept, moved, n_left_out = cut(text, most, spans)
    return Text(title, kept, tuple(moved), n_left_out)

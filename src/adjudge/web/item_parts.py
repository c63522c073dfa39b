"""One item's judgments as a page shows them: prompts, replies with the places that were read, evidence, tokens.

Pure: reads no store and knows no template. What was read from the answer to a second question
is marked in that answer, not in the first reply.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ..records import FieldValue, Item, Judgment, Message, Protocol, Reply, ReplyError, Score, TokenLogprob
from ..store.browsing import Place
from .quotes import Text, apart
from .replies import second_spans
from .text import cut

LONGEST_SHOWN = 60_000
"""Characters of one text on a page. The whole is in `adjudge runs show`."""

Span = tuple[int, int]


class Shown(Struct, frozen=True):
    """A text with marked places."""

    text: str
    spans: list[Span] = []


class Field(Struct, frozen=True):
    """A field of an item: one text, or the turns of a transcript."""

    name: str
    turns: list[tuple[str, Shown]]
    """(role, text); the role is empty where the field is a plain text"""


class Token(Struct, frozen=True):
    """What could have stood at a place, and how likely it was."""

    text: str
    probability: float
    is_written: bool


class Evidence(Struct, frozen=True):
    """A quotation, and the fields in which it stands."""

    text: str
    fields: list[str]


class Reading(Struct, frozen=True):
    """One score, or the choice, of one reply."""

    name: str
    subject: str | None
    status: str
    value: str
    how: str | None
    estimator: str
    confidence: float | None
    explanation: str
    evidence: list[Evidence]
    distribution: list[tuple[str, float]]
    caught_mass: float | None
    tokens: list[Token]


class Told(Struct, frozen=True):
    """One reply with all that was read from it."""

    order: str
    sample: int
    is_second: bool
    """the answer to being asked again for the score alone"""
    text: Shown | None
    title: str
    reasoning: Shown | None
    error: ReplyError | None
    readings: list[Reading]
    notes: dict[str, str]
    flags: tuple[str, ...]
    facts: list[tuple[str, str]]
    target: list[Token]
    """of a likelihood: the tokens that were asked about"""
    prompt: list[tuple[str, Shown]]


class Group(Struct, frozen=True):
    """All replies of one judge under one protocol; each sample with its orders side by side."""

    protocol: str
    digest: str
    model: str
    criteria: tuple[str, ...]
    samples: list[list[Told]]
    prompts: list[tuple[str, list[tuple[str, Shown]]]]
    """(order, messages), one for each prompt that differs"""


def fields_of(item: Item, places: Iterable[Place]) -> list[Field]:
    """The fields of an item, with the quotations that judges gave as evidence marked in them."""
    quotes = dict.fromkeys(
        quote
        for place in places
        if place.judgment is not None
        for score in place.judgment.scores
        for quote in score.evidence
    )
    return [
        Field(name, [_turn(part, quotes) for part in _parts(value)]) for name, value in item.fields.items()
    ]


def groups_of(item: Item, places: Sequence[Place], protocols: Mapping[str, Protocol]) -> list[Group]:
    """The judgments of an item, by protocol and judge."""
    searchable = {
        name: [Text(part.content if isinstance(part, Message) else part) for part in _parts(value)]
        for name, value in item.fields.items()
    }
    by_judge: dict[tuple[str, str, tuple[str, ...]], list[Place]] = {}
    for place in places:
        about = place.about
        by_judge.setdefault((about.protocol, about.model, about.criteria), []).append(place)
    return [_group(key, own, searchable, item, protocols.get(key[0])) for key, own in by_judge.items()]


def _group(
    key: tuple[str, str, tuple[str, ...]],
    places: Sequence[Place],
    searchable: dict[str, list[Text]],
    item: Item,
    protocol: Protocol | None,
) -> Group:
    first = {place.call.key: place for place in places if place.call is not None}
    samples: dict[int, list[Told]] = {}
    for place in places:
        parent = first.get(place.call.parent) if place.call is not None and place.call.parent else None
        # A judgment holds places in its own reply alone: those in a second one are looked for again.
        second = second_spans(place, parent, protocol, item) if place.about.kind == "reask" else []
        samples.setdefault(place.about.sample, []).append(_told(place, parent, searchable, second))
    prompts: dict[tuple[str, ...], tuple[str, list[tuple[str, Shown]]]] = {}
    for place in places:
        if place.call is not None and place.about.kind != "reask":
            messages = tuple(message.content for message in place.call.messages)
            prompts.setdefault(messages, (place.about.order, _messages(place)))
    name, _, digest = key[0].partition("@")
    return Group(name, digest, key[1], key[2], list(samples.values()), list(prompts.values()))


def _told(
    place: Place, parent: Place | None, searchable: dict[str, list[Text]], second: Sequence[Span]
) -> Told:
    is_second = place.about.kind == "reask"
    source = parent.judgment if is_second and parent is not None else place.judgment
    scores = [score for score in (source.scores if source else ()) if (score.how == "reask") == is_second]
    readings = [_reading(score, place.reply, searchable) for score in scores]
    spans = [score.span for score in scores]
    hows = [score.how for score in scores]
    if (
        source is not None
        and source.choice_status is not None
        and (source.choice_how == "reask") == is_second
    ):
        readings.append(_choice(source))
        spans.append(source.choice_span)
        hows.append(source.choice_how)
    reply = place.reply
    is_likelihood = place.about.kind == "likelihood"
    return Told(
        order=place.about.order,
        sample=place.about.sample,
        is_second=is_second,
        text=_shown(reply.text, second if is_second else [span for span in spans if span is not None])
        if reply and not is_likelihood
        else None,
        title="read on the rung: " + ", ".join(dict.fromkeys(how for how in hows if how)),
        reasoning=_shown(reply.reasoning) if reply and reply.reasoning else None,
        error=place.error,
        readings=readings,
        notes=source.notes if source and not is_second else {},
        flags=source.flags if source and not is_second else (),
        facts=_facts(reply) if reply else [],
        target=_target(reply) if reply and is_likelihood else [],
        prompt=_messages(place) if is_second else [],
    )


def _reading(score: Score, reply: Reply | None, searchable: dict[str, list[Text]]) -> Reading:
    evidence = [
        Evidence(
            quote, [name for name, texts in searchable.items() if any(text.find(quote) for text in texts)]
        )
        for quote in score.evidence
    ]
    return Reading(
        name=score.criterion,
        subject=score.subject,
        status=score.status,
        value="" if score.value is None else f"{score.value:.4g}",
        how=score.how,
        estimator=score.estimator,
        confidence=score.confidence,
        explanation=score.explanation or "",
        evidence=evidence,
        distribution=[(f"{value:g}", share) for value, share in sorted((score.distribution or {}).items())],
        caught_mass=score.caught_mass,
        tokens=_tokens_at(score.span, reply),
    )


def _choice(judgment: Judgment) -> Reading:
    return Reading(
        name="choice",
        subject=None,
        status=judgment.choice_status or "unparsed",
        value=judgment.choice or "",
        how=judgment.choice_how,
        estimator="parsed",
        confidence=judgment.choice_confidence,
        explanation="",
        evidence=[],
        distribution=[],
        caught_mass=None,
        tokens=[],
    )


def _tokens_at(span: Span | None, reply: Reply | None) -> list[Token]:
    """The token where a score begins, with what else could have stood there."""
    if span is None or reply is None or not reply.logprobs:
        return []
    place = 0
    for token in reply.logprobs:
        if place <= span[0] < place + len(token.token):
            return _alternatives(token)
        place += len(token.token)
    return []


def _alternatives(token: TokenLogprob) -> list[Token]:
    found = {one.token: one.logprob for one in token.top}
    found.setdefault(token.token, token.logprob)
    in_order = sorted(found.items(), key=lambda pair: -pair[1])[:8]
    return [Token(text, _probability(logprob), text == token.token) for text, logprob in in_order]


def _target(reply: Reply) -> list[Token]:
    return [Token(token.token, _probability(token.logprob), True) for token in reply.logprobs or ()]


def _probability(logprob: float) -> float:
    # A few hosts report rounding errors above 0.
    return min(1.0, math.exp(logprob)) if logprob > -700 else 0.0


def _facts(reply: Reply) -> list[tuple[str, str]]:
    facts = [
        ("model", reply.model_name),
        ("finish", reply.finish or ""),
        (
            "tokens",
            f"{reply.tokens_in:,} in, {reply.tokens_out:,} out"
            if reply.tokens_in or reply.tokens_out
            else "",
        ),
        ("time", f"{reply.seconds:.1f} s" if reply.seconds else ""),
        ("cost", "" if reply.cost_usd is None else f"${reply.cost_usd:.5f}"),
    ]
    return [(name, value) for name, value in facts if value]


def _messages(place: Place) -> list[tuple[str, Shown]]:
    if place.call is None:
        return []
    return [(message.role, _shown(message.content)) for message in place.call.messages]


def _parts(value: FieldValue) -> tuple[str | Message, ...]:
    return (value,) if isinstance(value, str) else value


def _turn(part: str | Message, quotes: Iterable[str]) -> tuple[str, Shown]:
    text = part.content if isinstance(part, Message) else part
    looked = Text(text)
    spans = apart([span for quote in quotes for span in looked.find(quote)])
    return (part.role if isinstance(part, Message) else "", _shown(text, spans))


def _shown(text: str, spans: Sequence[Span] = ()) -> Shown:
    shown, moved, _ = cut(text, LONGEST_SHOWN, spans)
    return Shown(shown, moved)

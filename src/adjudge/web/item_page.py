"""The page of one item: what was judged, the exact prompt, every reply, and what was read from it where."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response

from ..engine import protocols_of
from ..errors import StoreError
from ..parse import parse
from ..records import (
    FieldValue,
    Item,
    Judgment,
    Message,
    Protocol,
    Reply,
    ReplyError,
    Score,
    Status,
    TokenLogprob,
)
from ..store import RunRow
from ..store.browsing import Place, item_at, items_between, places_of
from .html_text import Span, cut, judge_name
from .items_index import Filter, read_filter
from .items_table import FIRST_LOOK_SECONDS, ItemsPage, Listing, Row
from .notable_items import Telling
from .page_context import Context
from .run_pages import run_named

# Finds what a judge quotes in the text that it judged, as places in that text.
#
# The same differences are overlooked as where evidence is checked (`parse.evidence`): white
# space, case, the shape of quotation marks and dashes; an ellipsis stands for a gap.


_ALIKE = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "«": '"', "»": '"', "–": "-", "—": "-"}
)
_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…|\[\.{3}\]|\[…\])\s*")
_EDGES = " \t\n\"'`.,;:!?-…"


class QuotedText:
    """A text to look in, with the way back from its flat form."""

    def __init__(self, text: str) -> None:
        flat: list[str] = []
        places: list[int] = []
        for place, character in enumerate(text):
            if character.isspace():
                if flat and flat[-1] != " ":
                    flat.append(" ")
                    places.append(place)
                continue
            for one in unicodedata.normalize("NFKC", character).translate(_ALIKE).casefold():
                flat.append(one)
                places.append(place)
        self._flat = "".join(flat)
        self._places = places

    def find(self, quote: str) -> list[Span]:
        """The places of all pieces of a quotation, in their order; empty where one of them is missing."""
        spans: list[Span] = []
        at = 0
        for piece in _ELLIPSIS.split(_flat(quote).strip(_EDGES)):
            wanted = piece.strip(_EDGES)
            if not wanted:
                continue
            found = self._flat.find(wanted, at)
            if found < 0:
                return []
            at = found + len(wanted)
            spans.append((self._places[found], self._places[at - 1] + 1))
        return spans


def _flat(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_ALIKE).casefold().split())


def apart(spans: list[Span]) -> list[Span]:
    """The same places without overlaps, in order."""
    kept: list[Span] = []
    for start, end in sorted(spans):
        if kept and start <= kept[-1][1]:
            kept[-1] = (kept[-1][0], max(kept[-1][1], end))
        else:
            kept.append((start, end))
    return kept


# One item's judgments as a page shows them: prompts, replies with the places that were read, evidence, tokens.
#
# Pure: reads no store and knows no template. What was read from the answer to a second question
# is marked in that answer, not in the first reply.


LONGEST_SHOWN = 60_000
"""Characters of one text on a page. The whole is in `adjudge runs show`."""


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
        name: [QuotedText(part.content if isinstance(part, Message) else part) for part in _parts(value)]
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
    searchable: dict[str, list[QuotedText]],
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
    place: Place, parent: Place | None, searchable: dict[str, list[QuotedText]], second: Sequence[Span]
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


def _reading(score: Score, reply: Reply | None, searchable: dict[str, list[QuotedText]]) -> Reading:
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
    looked = QuotedText(text)
    spans = apart([span for quote in quotes for span in looked.find(quote)])
    return (part.role if isinstance(part, Message) else "", _shown(text, spans))


def _shown(text: str, spans: Sequence[Span] = ()) -> Shown:
    shown, moved, _ = cut(text, LONGEST_SHOWN, spans)
    return Shown(shown, moved)


# One item as the report shows it: each prompt and reply word for word, with the places marked that were read.


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


class ItemPage:
    """The endpoint of one item."""

    def __init__(self, context: Context, items: ItemsPage) -> None:
        self._context = context
        self._items = items

    def page(self, request: Request) -> Response:
        wanted = read_filter(request.query_params)
        seq = _whole(request.query_params.get("n"))
        row = _whole(request.query_params.get("row"))
        if seq is None:
            raise StoreError("This address names no item.\nGo back to the list of runs.")
        with self._context.reading() as store:
            run = run_named(store, request)
            item = item_at(store, run, seq)
            places = places_of(store, run, seq)
            labels = [label for label in store.labels(run) if label.item == item.id]
            has_order = wanted.is_narrowed or bool(wanted.sort)
            # Only the order of a list takes an index; without one, numbers tell what comes next.
            listing = self._items.listing(run, FIRST_LOOK_SECONDS if has_order else 0.0)
            is_last = not items_between(store, run, seq + 1, seq + 1)
            groups = groups_of(item, places, protocols_of(store, run))
            rows = listing.of_item(seq) or listing.index.made_at_once(store, run, seq)
        if has_order:
            back, after = _around(listing, run, wanted, row if row is not None or not rows else rows[0]["id"])
        else:
            back = f"/item?{wanted.query(run.name)}&n={seq - 1}" if seq else None
            after = None if is_last else f"/item?{wanted.query(run.name)}&n={seq + 1}"
        results, flags = _results(rows)
        values: dict[str, Any] = {
            "run": run.name,
            "item": item,
            "number": seq + 1,
            "fields": fields_of(item, places),
            "groups": groups,
            "results": results,
            "flags": flags,
            "labels": labels,
            "back": back,
            "next": after,
            "list": f"/items?{wanted.query(run.name)}",
            "is_narrowed": wanted.is_narrowed,
            "permalink": f"/item?{urlencode({'run': run.name, 'n': seq})}",
            "crumbs": [
                (self._context.store_path.name, "/"),
                (run.name, f"/run?{urlencode({'run': run.name})}"),
                ("Items", f"/items?{wanted.query(run.name)}"),
                (item.id, None),
            ],
        }
        return self._context.page(request, "view/item.html", **values)


def _around(listing: Listing, run: RunRow, wanted: Filter, row: int | None) -> tuple[str | None, str | None]:
    """The addresses of the items before and after this one, in the order in which the list showed them."""
    if row is None:
        return None, None
    query = wanted.query(run.name)
    back, after = (
        None if one is None else f"/item?{query}&n={one['seq']}&row={one['id']}"
        for one in listing.around(wanted, row)
    )
    return back, after


class ResultLine(Struct):
    """One judge on one criterion: of a pair, the scores of both sides and the choice; otherwise the one score."""

    criterion: str
    model: str
    a: Row | None = None
    b: Row | None = None
    whole: Row | None = None
    n_samples: int = 0
    n_failed: int = 0
    statuses: list[str] = field(default_factory=list)
    labels: list[float | str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    """those that not all results of the item have"""


def _results(rows: list[Row]) -> tuple[list[ResultLine], list[str]]:
    """The results of an item, and the flags that all of them have."""
    of_row = [row["flags"].split() for row in rows]
    common = [flag for flag in (of_row[0] if of_row else ()) if all(flag in own for own in of_row)]
    lines: dict[tuple[str, str, str], ResultLine] = {}
    for row, flags in zip(rows, of_row, strict=True):
        key = (row["protocol"], row["criterion"], row["model"])
        line = lines.setdefault(key, ResultLine(row["criterion"], row["model"]))
        setattr(line, row["subject"] or "whole", row)
        line.n_samples = max(line.n_samples, row["n_samples"])
        line.n_failed = max(line.n_failed, row["n_failed"])
        line.statuses = list(dict.fromkeys((*line.statuses, row["status"])))
        line.flags = list(dict.fromkeys((*line.flags, *(flag for flag in flags if flag not in common))))
        if row["label"] is not None:
            line.labels.append(row["label"])
    return list(lines.values()), common


def _whole(text: str | None) -> int | None:
    """A number of an item or a row; nothing else is one."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 15:
        return None
    return int(text)

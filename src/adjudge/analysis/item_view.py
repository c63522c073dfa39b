"""One item as people see it: its fields, and each call with prompt, reply, what was read where, evidence, tokens and cost.

The viewer's item page, the single-file report and `adjudge runs show` all show this record. It is built from what the
store holds about one item; nothing here reads a store or knows how it is displayed.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from ..parse import parse
from ..records import (
    PART_KINDS,
    Element,
    FieldValue,
    Item,
    Judgment,
    Message,
    Protocol,
    Reply,
    ReplyError,
    Scale,
    Score,
    TokenLogprob,
)
from ..store.browsing import CallOutcome
from ..words import status_text

Span = tuple[int, int]

_MOST_ALTERNATIVES = 8
"""Tokens listed at the position of a score."""


class ShownText(Struct, frozen=True):
    """A text, shortened where it is long, with the spans to mark in it."""

    text: str
    spans: tuple[Span, ...] = ()
    doubtful: tuple[Span, ...] = ()
    """the spans among them that contradict each other, so that none was taken"""


class Turn(Struct, frozen=True):
    """A message of a prompt or a part of a field."""

    role: str
    """empty where a field is plain text"""
    content: ShownText


class FieldView(Struct, frozen=True):
    """A field of the item: one text, or the turns of a transcript; quoted evidence is marked."""

    name: str
    turns: tuple[Turn, ...]


class TokenView(Struct, frozen=True):
    """A token at one position of a reply, and how likely it was."""

    text: str
    probability: float
    is_written: bool


class Evidence(Struct, frozen=True):
    """A quotation, and the names of the fields that contain it."""

    text: str
    fields: tuple[str, ...]


class AnswerView(Struct, frozen=True):
    """One score, or the choice, as it was read from a reply; or why it was not read."""

    name: str
    subject: str | None
    status: str
    value: float | str | None
    how: str | None
    span: Span | None
    """in the reply as it came, not as it is shortened"""
    confidence: float | None = None
    estimator: str = "parsed"
    explanation: str = ""
    evidence: tuple[Evidence, ...] = ()
    grounded: float | None = None
    distribution: tuple[tuple[float, float], ...] = ()
    caught_mass: float | None = None
    tokens: tuple[TokenView, ...] = ()
    status_text: str = ""
    """the status in words: a score off its scale is out of range, or between two levels"""

    @property
    def value_text(self) -> str:
        """The value with at most four digits; empty where nothing was read."""
        return (
            "" if self.value is None else self.value if isinstance(self.value, str) else f"{self.value:.4g}"
        )


Tone = Literal["good", "partly", "bad", "aside", "failed"]
"""How an element was judged: at the best end of its scale, between, at the worst, set aside, or not read."""


class ElementView(Struct, frozen=True):
    """One element that a step has checked: a claim, a passage, a point of a checklist."""

    number: int
    text: str
    verdict: str
    """the option or the value, or why there is none"""
    tone: Tone
    span: Span | None
    """in the judged text; none: it was put into other words"""
    evidence: tuple[Evidence, ...] = ()
    grounded: float | None = None
    passage: int | None = None
    explanation: str = ""


class JudgedPart(Struct, frozen=True):
    """A piece of the judged text, with the element that stands there, if any."""

    text: str
    element: ElementView | None = None


class CallView(Struct, frozen=True):
    """One call: what was sent, what came back, and what was read from it."""

    protocol: str
    criteria: tuple[str, ...]
    model: str
    order: str
    sample: int
    kind: str
    messages: tuple[Turn, ...]
    target: ShownText | None
    """the text whose likelihood was asked for; none for a call that generates text"""
    reply: ShownText | None
    reasoning: ShownText | None
    error: ReplyError | None
    answers: tuple[AnswerView, ...]
    is_judged: bool
    notes: dict[str, str]
    flags: tuple[str, ...]
    target_tokens: tuple[TokenView, ...]
    """the tokens of the target, as the model scored them"""
    model_name: str = ""
    finish: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    cost_usd: float | None = None
    elements: tuple[ElementView, ...] = ()
    """what the steps of a judgment have checked one by one"""
    judged: tuple[JudgedPart, ...] = ()
    """the judged text with its elements; empty where the elements are no parts of a text"""
    judged_field: str = ""

    @property
    def step_text(self) -> str:
        """Which step of a judgment the call belongs to; empty for a call that is a judgment."""
        return {"extract": "Step: extract the elements", "check": "Step: check"}.get(self.kind, "")

    @property
    def hows(self) -> tuple[str, ...]:
        """How the answers were read, each way once."""
        return tuple(dict.fromkeys(answer.how for answer in self.answers if answer.how))


class JudgeView(Struct, frozen=True):
    """The calls of one judge under one protocol, by sample; the orders of one sample belong together."""

    protocol: str
    digest: str
    model: str
    criteria: tuple[str, ...]
    n_samples: int
    """also those that are not shown"""
    samples: tuple[tuple[CallView, ...], ...]

    @property
    def has_answers(self) -> bool:
        """Whether any call shows what was read; if not, only `criteria` says what the calls were about."""
        return any(call.answers for calls in self.samples for call in calls)

    @property
    def prompts(self) -> list[CallView]:
        """The first call of each prompt that differs; second questions are shown with their replies."""
        first_calls: dict[tuple[tuple[Turn, ...], ShownText | None], CallView] = {}
        for calls in self.samples:
            for call in calls:
                if call.kind not in PART_KINDS and call.messages:
                    first_calls.setdefault((call.messages, call.target), call)
        return list(first_calls.values())


class ItemView(Struct, frozen=True):
    """An item with its calls."""

    item: Item | None
    """none for calls of the run as a whole"""
    fields: tuple[FieldView, ...]
    calls: tuple[CallView, ...]
    n_hidden: int
    """calls that are not shown"""
    n_samples: dict[tuple[str, str, tuple[str, ...]], int]
    """(protocol, model, criteria) → samples of all calls, shown or not"""

    @property
    def judges(self) -> list[JudgeView]:
        """The calls that are shown, by protocol and judge."""
        by_judge: dict[tuple[str, str, tuple[str, ...]], dict[int, list[CallView]]] = {}
        for call in self.calls:
            samples = by_judge.setdefault((call.protocol, call.model, call.criteria), {})
            samples.setdefault(call.sample, []).append(call)
        views = []
        for key, samples in by_judge.items():
            name, _, digest = key[0].partition("@")
            calls = tuple(map(tuple, samples.values()))
            views.append(JudgeView(name, digest, key[1], key[2], self.n_samples[key], calls))
        return views


def item_view(
    item: Item | None,
    places: Sequence[CallOutcome],
    protocols: Mapping[str, Protocol],
    *,
    shown: Sequence[CallOutcome] | None = None,
    longest: int | None = None,
) -> ItemView:
    """The view of an item with all its calls, or those in `shown`; no text is longer than about `longest` characters.

    A score that was read from the answer to a second question is listed and marked there; where that call is not shown,
    it is listed with the first one.
    """
    shown = places if shown is None else shown
    fields = item.fields if item is not None else {}
    sources = {name: _sources(value) for name, value in fields.items()}
    parents = {place.call.key: place for place in places if place.call is not None}
    with_second = {
        place.call.parent for place in shown if place.about.kind == "reask" and place.call is not None
    }
    calls = []
    for place in shown:
        key = place.call.key if place.call is not None else None
        parent = parents.get(place.call.parent or "") if place.call is not None else None
        if place.about.kind == "check":
            judgment = _checked_by(key, places)
            spans = answer_spans(judgment)
        elif place.about.kind == "reask":
            judgment, spans = _second_answers(place, parent, protocols.get(place.about.protocol), item)
        else:
            judgment = _without_second(place.judgment) if key in with_second else place.judgment
            spans = answer_spans(judgment)
        doubtful = conflicting_spans(place, protocols.get(place.about.protocol), item)
        protocol = protocols.get(place.about.protocol)
        view = _call_view(place, judgment, spans, doubtful, sources, longest, protocol)
        calls.append(_with_elements(_with_labels(view, judgment, protocol), place, item, protocol, sources))
    quotes = dict.fromkeys(quote for place in places for quote in _quotes(place.judgment))
    samples: dict[tuple[str, str, tuple[str, ...]], set[int]] = {}
    for place in places:
        about = place.about
        criteria = _criteria_of(place, protocols.get(about.protocol))
        samples.setdefault((about.protocol, about.model, criteria), set()).add(about.sample)
    return ItemView(
        item,
        tuple(_field_view(name, parts, quotes, longest) for name, parts in sources.items()),
        tuple(calls),
        len(places) - len(shown),
        {key: len(numbers) for key, numbers in samples.items()},
    )


# Judgments in steps


def _criteria_of(place: CallOutcome, protocol: Protocol | None) -> tuple[str, ...]:
    """The criteria of a call; all calls of a judgment in steps belong together."""
    return tuple(protocol.criteria) if protocol is not None and protocol.pipeline else place.about.criteria


def _checked_by(key: str | None, places: Sequence[CallOutcome]) -> Judgment | None:
    """What was read from the reply of a check, which is stored with the judgment of the item."""
    scores = [
        structs.replace(score, criterion=f"{element.number}")
        for place in places
        if place.judgment is not None
        for element in place.judgment.checked
        if element.call == key and key is not None
        for score in element.scores[:1]
    ]
    return Judgment(tuple(scores)) if scores else None


def _with_elements(
    view: CallView,
    place: CallOutcome,
    item: Item | None,
    protocol: Protocol | None,
    sources: Mapping[str, Sequence[_Source]],
) -> CallView:
    """The call with the elements of its judgment, and the judged text in which they are marked."""
    cost = None if place.about.kind == "combine" else view.cost_usd
    view = structs.replace(view, criteria=_criteria_of(place, protocol), cost_usd=cost)
    checked = place.judgment.checked if place.judgment is not None else ()
    if not checked:
        return view
    elements = tuple(_element_view(element, protocol, sources) for element in checked)
    step = next((step for step in (protocol.pipeline if protocol else ()) if step.kind == "extract"), None)
    field = None
    if protocol is not None and item is not None and step is not None and not step.field:
        field = protocol.field_for(step.judged, item.fields)
    text = "\n".join(part.text for part in sources[field]) if field is not None and field in sources else ""
    return structs.replace(
        view,
        elements=elements,
        judged=tuple(_judged_parts(text, elements)) if text else (),
        judged_field=field or "",
    )


def _element_view(
    element: Element, protocol: Protocol | None, sources: Mapping[str, Sequence[_Source]]
) -> ElementView:
    verdicts = [
        f"{score.criterion} {verdict_text(score)}" if len(element.scores) > 1 else verdict_text(score)
        for score in element.scores
    ]
    first = element.scores[0] if element.scores else Score("", "no_reply")
    scale = protocol.criteria.get(first.criterion) if protocol is not None else None
    searched = protocol.answer.evidence_in if protocol is not None else ()
    if searched:
        sources = {name: parts for name, parts in sources.items() if name in searched}
    return ElementView(
        element.number,
        element.text,
        ", ".join(verdicts) or "not checked",
        _tone(first, scale),
        element.span,
        tuple(Evidence(quote, _fields_with(quote, sources)) for quote in first.evidence),
        first.grounded,
        element.passage,
        first.explanation or "",
    )


def verdict_text(score: Score) -> str:
    """The verdict on an element: its option, its value, or why there is none."""
    if score.status != "ok":
        return status_text(score.status)
    return score.label or (f"{score.value:.4g}" if score.value is not None else "set aside")


def _tone(score: Score, scale: Scale | None) -> Tone:
    if score.status != "ok":
        return "failed"
    if score.value is None:
        return "aside"
    normalized = scale.normalized(score.value) if scale is not None else None
    return "partly" if normalized is None or 0 < normalized < 1 else "good" if normalized == 1 else "bad"


def _judged_parts(text: str, elements: Sequence[ElementView]) -> Iterable[JudgedPart]:
    """The text in pieces; of two elements that overlap, the first is marked."""
    at = 0
    in_order = sorted(
        ((element.span, element) for element in elements if element.span is not None),
        key=lambda pair: pair[0],
    )
    for (start, end), element in in_order:
        if start < at or end > len(text):
            continue
        if start > at:
            yield JudgedPart(text[at:start])
        yield JudgedPart(text[start:end], element)
        at = end
    if at < len(text):
        yield JudgedPart(text[at:])


# Calls


def _with_labels(view: CallView, judgment: Judgment | None, protocol: Protocol | None) -> CallView:
    """The answers with the names of classes in place of their numbers."""
    scales = protocol.criteria if protocol is not None else {}
    names: dict[tuple[str, str | None], str] = {
        (score.criterion, score.subject): score.label
        for score in (judgment.scores if judgment is not None else ())
        if score.label is not None
        and (protocol is None or ((scale := scales.get(score.criterion)) is not None and scale.is_nominal))
    }
    if not names:
        return view
    answers = tuple(
        structs.replace(answer, value=label)
        if (label := names.get((answer.name, answer.subject)))
        else answer
        for answer in view.answers
    )
    return structs.replace(view, answers=answers)


def _call_view(
    place: CallOutcome,
    judgment: Judgment | None,
    spans: Sequence[Span],
    doubtful: Sequence[Span],
    sources: Mapping[str, Sequence[_Source]],
    longest: int | None,
    protocol: Protocol | None,
) -> CallView:
    about, reply = place.about, place.reply
    messages = place.call.messages if place.call is not None else ()
    target = place.call.target if place.call is not None else None
    measured = reply or Reply("", "")
    return CallView(
        protocol=about.protocol,
        criteria=about.criteria,
        model=about.model,
        order=about.order,
        sample=about.sample,
        kind=about.kind,
        messages=tuple(Turn(message.role, shorten(message.shown, longest)) for message in messages),
        target=shorten(target, longest) if target is not None else None,
        reply=shorten(reply.text, longest, {*spans, *doubtful}, doubtful) if reply is not None else None,
        reasoning=shorten(reply.reasoning, longest) if reply is not None and reply.reasoning else None,
        error=place.error,
        answers=tuple(_answers(judgment, reply, sources, longest, protocol)) if judgment is not None else (),
        is_judged=place.judgment is not None,
        notes=place.judgment.notes if place.judgment is not None else {},
        flags=place.judgment.flags if place.judgment is not None else (),
        target_tokens=_target_tokens(reply) if reply is not None and about.kind == "likelihood" else (),
        model_name=measured.model_name,
        finish=measured.finish or "",
        tokens_in=measured.tokens_in,
        tokens_out=measured.tokens_out,
        seconds=measured.seconds,
        cost_usd=measured.cost_usd,
    )


def has_unread(judgment: Judgment) -> bool:
    """Whether any score, or the choice, could not be read."""
    statuses = [judgment.choice_status, *(score.status for score in judgment.scores)]
    return any(status not in (None, "ok") for status in statuses)


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


def _without_second(judgment: Judgment | None) -> Judgment | None:
    """What was read from the first reply itself."""
    if judgment is None:
        return None
    scores = tuple(score for score in judgment.scores if score.how != "reask")
    status = None if judgment.choice_how == "reask" else judgment.choice_status
    return structs.replace(judgment, scores=scores, choice_status=status)


def _second_answers(
    place: CallOutcome, parent: CallOutcome | None, protocol: Protocol | None, item: Item | None
) -> tuple[Judgment | None, list[Span]]:
    """What was read from the answer to a second question, and where.

    The judgment is stored with the first reply and holds positions in that reply alone, so the second one is parsed again.
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


def off_scale_text(score: Score, reply: Reply | None, scale: Scale | None) -> str:
    """Why a score is off its scale: its value is between two levels, or out of range."""
    written = reply.text[slice(*score.span)] if reply is not None and score.span is not None else ""
    try:
        value = float(unicodedata.normalize("NFKC", written).replace(",", ".").strip())
    except ValueError:
        return status_text(score.status)
    if scale is None or scale.limits is None:
        return status_text(score.status)
    low, high = scale.limits
    return "between levels" if low < value < high else "out of range"


def _answers(
    judgment: Judgment,
    reply: Reply | None,
    sources: Mapping[str, Sequence[_Source]],
    longest: int | None,
    protocol: Protocol | None,
) -> Iterable[AnswerView]:
    scales = protocol.criteria if protocol is not None else {}
    for score in judgment.scores:
        is_off = score.status == "out_of_range"
        yield AnswerView(
            name=score.criterion,
            subject=score.subject,
            status=score.status,
            value=score.value,
            how=score.how,
            span=score.span,
            confidence=score.confidence,
            estimator=score.estimator,
            explanation=shorten(score.explanation or "", longest).text,
            evidence=tuple(Evidence(quote, _fields_with(quote, sources)) for quote in score.evidence),
            grounded=score.grounded,
            distribution=tuple(sorted((score.distribution or {}).items())),
            caught_mass=score.caught_mass,
            tokens=_tokens_at(score.span, reply),
            status_text=off_scale_text(score, reply, scales.get(score.criterion))
            if is_off
            else status_text(score.status),
        )
    if judgment.choice_status is not None:
        yield AnswerView(
            name="choice",
            subject=None,
            status=judgment.choice_status,
            value=judgment.choice,
            how=judgment.choice_how,
            span=judgment.choice_span,
            confidence=judgment.choice_confidence,
            status_text=status_text(judgment.choice_status),
        )


def _tokens_at(span: Span | None, reply: Reply | None) -> tuple[TokenView, ...]:
    """The token where a score begins, with its alternatives."""
    if span is None or reply is None or not reply.logprobs:
        return ()
    start = 0
    for token in reply.logprobs:
        if start <= span[0] < start + len(token.token):
            return _alternatives(token)
        start += len(token.token)
    return ()


def _alternatives(token: TokenLogprob) -> tuple[TokenView, ...]:
    logprobs = {top.token: top.logprob for top in token.top}
    logprobs.setdefault(token.token, token.logprob)
    by_likelihood = sorted(logprobs.items(), key=lambda pair: -pair[1])[:_MOST_ALTERNATIVES]
    return tuple(
        TokenView(text, _probability(logprob), text == token.token) for text, logprob in by_likelihood
    )


def _target_tokens(reply: Reply) -> tuple[TokenView, ...]:
    return tuple(TokenView(token.token, _probability(token.logprob), True) for token in reply.logprobs or ())


def _probability(logprob: float) -> float:
    # A few hosts report rounding errors above 0.
    return min(1.0, math.exp(logprob)) if logprob > -700 else 0.0


# Fields, and the evidence quoted from them


class _Source:
    """A part of a field, prepared for finding quotations."""

    def __init__(self, part: str | Message) -> None:
        self.role = part.speaker if isinstance(part, Message) else ""
        self.text = part.shown if isinstance(part, Message) else part
        self.quotable = QuotableText(self.text)


def _sources(value: FieldValue) -> list[_Source]:
    """The parts of a field; the turns of a conversation with tools or images have the numbers that the judge sees."""
    parts = _parts(value)
    sources = [_Source(part) for part in parts]
    if any(isinstance(part, Message) and not part.is_plain for part in parts):
        number = 0
        for part, source in zip(parts, sources, strict=True):
            number += not (isinstance(part, Message) and part.continues)
            source.role = f"turn {number}: {source.role}" if source.role else source.role
    return sources


def _parts(value: FieldValue) -> tuple[str | Message, ...]:
    return (value,) if isinstance(value, str) else value


def _field_view(name: str, parts: Iterable[_Source], quotes: Iterable[str], longest: int | None) -> FieldView:
    turns = []
    for part in parts:
        spans = merge_spans(span for quote in quotes for span in part.quotable.find(quote))
        turns.append(Turn(part.role, shorten(part.text, longest, spans)))
    return FieldView(name, tuple(turns))


def _quotes(judgment: Judgment | None) -> Iterable[str]:
    for score in judgment.scores if judgment is not None else ():
        yield from score.evidence
    for element in judgment.checked if judgment is not None else ():
        for score in element.scores:
            yield from score.evidence


def _fields_with(quote: str, sources: Mapping[str, Sequence[_Source]]) -> tuple[str, ...]:
    return tuple(name for name, parts in sources.items() if any(part.quotable.find(quote) for part in parts))


# The same differences are ignored as where evidence is checked (`parse.judgment.grounded_share`): white space, case, the
# shape of quotation marks and dashes; an ellipsis stands for a gap.
_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "«": '"', "»": '"', "–": "-", "—": "-"}
)
_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…|\[\.{3}\]|\[…\])\s*")
_EDGES = " \t\n\"'`.,;:!?-…"


class QuotableText:
    """A text in normalized form, with the position of each normalized character in the original."""

    def __init__(self, text: str) -> None:
        characters: list[str] = []
        positions: list[int] = []
        for position, character in enumerate(text):
            if character.isspace():
                if characters and characters[-1] != " ":
                    characters.append(" ")
                    positions.append(position)
                continue
            for normal in _normalized(character):
                characters.append(normal)
                positions.append(position)
        self._normal = "".join(characters)
        self._positions = positions

    def find(self, quote: str) -> list[Span]:
        """The spans of all pieces of a quotation, in order; empty where a piece is missing."""
        spans: list[Span] = []
        start = 0
        for piece in _ELLIPSIS.split(" ".join(_normalized(quote).split()).strip(_EDGES)):
            wanted = piece.strip(_EDGES)
            if not wanted:
                continue
            match = self._normal.find(wanted, start)
            if match < 0:
                return []
            start = match + len(wanted)
            spans.append((self._positions[match], self._positions[start - 1] + 1))
        return spans


def _normalized(text: str) -> str:
    return unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold()


# Spans and shortened texts


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, those that overlap or touch joined."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def shorten(
    text: str, longest: int | None, spans: Iterable[Span] = (), doubtful: Sequence[Span] = ()
) -> ShownText:
    """A text of at most about `longest` characters, with its spans moved along; gaps say how much is missing.

    The beginning and the end are kept, and what surrounds each span: that is where a judge gives its score.
    """
    inside = sorted(span for span in spans if 0 <= span[0] < span[1] <= len(text))
    if longest is None or len(text) <= longest:
        return ShownText(text, tuple(inside), tuple(span for span in inside if span in doubtful))
    parts: list[str] = []
    moved: dict[Span, Span] = {}
    length = 0
    last_end = 0
    for start, end in _kept_pieces(len(text), longest, inside):
        if start > last_end:
            gap = f"\n[… {start - last_end:,} characters …]\n"
            parts.append(gap)
            length += len(gap)
        moved |= {
            (a, b): (a - start + length, b - start + length) for a, b in inside if start <= a and b <= end
        }
        parts.append(text[start:end])
        length += end - start
        last_end = end
    return ShownText(
        "".join(parts),
        tuple(moved.values()),
        tuple(new for old, new in moved.items() if old in doubtful),
    )


def _kept_pieces(length: int, longest: int, spans: Sequence[Span]) -> list[Span]:
    """The parts of a text to keep: both ends, and around the first few spans."""
    around = max(40, longest // 8)
    pieces = [(0, longest // 2), (length - longest // 4, length)]
    pieces += [(max(0, a - around), min(length, b + around)) for a, b in spans[:4] if b - a <= longest]
    return merge_spans(pieces)

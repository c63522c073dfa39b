"""One call as people see it: its prompt, its reply, and the answers that were read from it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from ...records import Judgment, Protocol, Reply, Scale, Score
from ...store.browsing import CallOutcome
from ...words import status_text
from .evidence import Source, fields_with
from .reading_path import answer_rule, rejected_numbers, shown_choice
from .shown_text import shorten
from .tokens import tokens_at, tokens_of_target
from .views import AnswerView, CallView, Quotation, ShownText, Span, Turn


def with_class_names(view: CallView, judgment: Judgment | None, protocol: Protocol | None) -> CallView:
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


def call_view(
    place: CallOutcome,
    judgment: Judgment | None,
    spans: Sequence[Span],
    doubtful: Sequence[Span],
    sources: Mapping[str, Sequence[Source]],
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
        reply=_shown_reply(reply, longest, spans, doubtful, protocol) if reply is not None else None,
        reasoning=shorten(reply.reasoning, longest) if reply is not None and reply.reasoning else None,
        error=place.error,
        answers=tuple(_answers(judgment, place, sources, longest, protocol)) if judgment is not None else (),
        is_judged=place.judgment is not None,
        notes=place.judgment.notes if place.judgment is not None else {},
        flags=place.judgment.flags if place.judgment is not None else (),
        target_tokens=tokens_of_target(reply) if reply is not None and about.kind == "likelihood" else (),
        model_name=measured.model_name,
        finish=measured.finish or "",
        tokens_in=measured.tokens_in,
        tokens_out=measured.tokens_out,
        seconds=measured.seconds,
        cost_usd=measured.cost_usd,
    )


def _shown_reply(
    reply: Reply,
    longest: int | None,
    spans: Sequence[Span],
    doubtful: Sequence[Span],
    protocol: Protocol | None,
) -> ShownText:
    shown = shorten(reply.text, longest, {*spans, *doubtful}, doubtful)
    if shown.text != reply.text:
        return shown
    return structs.replace(shown, rejected=rejected_numbers(reply.text, protocol, spans, doubtful))


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
    place: CallOutcome,
    sources: Mapping[str, Sequence[Source]],
    longest: int | None,
    protocol: Protocol | None,
) -> Iterable[AnswerView]:
    reply, answer = place.reply, protocol.answer if protocol is not None else None
    if place.about.kind == "combine":
        answer = None  # computed from the elements, not read
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
            evidence=tuple(Quotation(quote, fields_with(quote, sources)) for quote in score.evidence),
            grounded=score.grounded,
            distribution=tuple(sorted((score.distribution or {}).items())),
            caught_mass=score.caught_mass,
            tokens=tokens_at(score.span, reply),
            status_text=off_scale_text(score, reply, scales.get(score.criterion))
            if is_off
            else status_text(score.status),
            rule=answer_rule(answer, score.criterion) if answer is not None else "",
            written=reply.text[slice(*score.span)] if reply is not None and score.span is not None else "",
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
            rule=answer_rule(answer) if answer is not None else "",
            written=shown_choice(judgment.choice, place.about.order, answer)
            if judgment.choice is not None and answer is not None
            else "",
        )

"""The elements of a judgment in steps: each claim with its verdict, and its span in the judged text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from ...records import Element, Item, Judgment, Protocol, Scale, Score
from ...store.browsing import CallOutcome
from ...words import status_text
from .evidence import Source, fields_with
from .views import CallView, CheckView, ElementView, JudgedPart, Quotation, Tone


def criteria_of(place: CallOutcome, protocol: Protocol | None) -> tuple[str, ...]:
    """The criteria of a call; all calls of a judgment in steps belong together."""
    return tuple(protocol.criteria) if protocol is not None and protocol.pipeline else place.about.criteria


def checked_by(key: str | None, places: Sequence[CallOutcome]) -> Judgment | None:
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


def with_elements(
    view: CallView,
    place: CallOutcome,
    item: Item | None,
    protocol: Protocol | None,
    sources: Mapping[str, Sequence[Source]],
) -> CallView:
    """The call with the elements of its judgment, and the judged text in which they are marked."""
    cost = None if place.about.kind == "combine" else view.cost_usd
    view = structs.replace(view, criteria=criteria_of(place, protocol), cost_usd=cost)
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
        turns_field=_turns_field(elements, item, protocol),
    )


def _turns_field(elements: Sequence[ElementView], item: Item | None, protocol: Protocol | None) -> str:
    """The conversation whose turns the elements are; empty where they are something else."""
    if protocol is None or item is None or not any(element.turn for element in elements):
        return ""
    fields = (protocol.field_for(name, item.fields) for name in protocol.transcripts)
    return next((name for name in fields if name is not None), "")


def _element_view(
    element: Element, protocol: Protocol | None, sources: Mapping[str, Sequence[Source]]
) -> ElementView:
    verdicts = [
        f"{score.criterion} {element_verdict(score)}" if len(element.scores) > 1 else element_verdict(score)
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
        tuple(Quotation(quote, fields_with(quote, sources)) for quote in first.evidence),
        first.grounded,
        element.passage,
        first.explanation or "",
        tuple(_check_view(score, protocol) for score in element.scores) if len(element.scores) > 1 else (),
        int(match[1]) if (match := _TURN.match(element.text)) else None,
    )


_TURN = re.compile(r"turn (\d{1,5})\b", re.I)
"""How the rule `tool_steps` names a step."""


def _check_view(score: Score, protocol: Protocol | None) -> CheckView:
    scale = protocol.criteria.get(score.criterion) if protocol is not None else None
    return CheckView(score.criterion, element_verdict(score), _tone(score, scale))


def element_verdict(score: Score) -> str:
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

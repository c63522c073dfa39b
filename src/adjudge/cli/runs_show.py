"""`adjudge runs show`: what was sent, what came back, and what was read from it, verbatim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import DataError
from ..records import Item
from .options import AS_JSON, RUN, STORE
from .terminal import print_json, print_text

if TYPE_CHECKING:
    from ..analysis.item_view.views import AnswerView, CallView, ElementView
    from ..store import RunRow, Store
    from ..store.browsing import CallOutcome
    from ..store.reading import Judged


# Replies: what was sent, what came back, and what was read from it, verbatim


def show_replies(
    run: str = RUN,
    item: str = typer.Option(None, "--item", metavar="ID", help="Show only the replies for this item."),
    failed: bool = typer.Option(
        False, "--failed", help="Only replies without a readable score, and failed calls."
    ),
    limit: int = typer.Option(5, "--limit", metavar="N", min=1, help="Show at most N replies."),
    prompt: bool = typer.Option(False, "--prompt", help="Show the prompt too, exactly as sent."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Show replies of a run verbatim, with the scores read from them, where, and how."""
    from ..analysis.item_view.item_view import item_view
    from ..results.manifest import protocols_of
    from ..store import open_store

    with open_store(store, write=False) as opened:
        row = opened.run(run)
        selected = islice(_selected(opened.judgments(row), item, failed), limit)
        places = [
            (judged.item, _place(opened, row, judged, with_prompt=prompt or as_json)) for judged in selected
        ]
        has_item = bool(places) or any(known.id == item for known in opened.items(row))
        protocols = protocols_of(opened, row)
    if as_json:
        print_json([_place_json(known, place) for known, place in places])
        return
    if not places:
        if item is not None and not has_item:
            raise DataError(f"{row.name} has no item {item!r}. To list all items: adjudge export {row.name}.")
        typer.echo("No matching replies.", err=True)
    for known, place in places:
        view = item_view(known, [place], protocols)
        for call in view.calls:
            print_text(call_text(known.id if known is not None else "whole run", call))


def _selected(places: Iterable[Judged], item: str | None, failed: bool) -> Iterator[Judged]:

    for place in places:
        if item is not None and (place.item is None or place.item.id != item):
            continue
        has_failed = place.error is not None or (place.judgment is not None and place.judgment.is_unread)
        if has_failed or not failed:
            yield place


def _place(store: Store, run: RunRow, judged: Judged, *, with_prompt: bool) -> CallOutcome:
    """A call of a run with its reply; with its messages only where they are shown."""
    from ..store.browsing import CallOutcome
    from ..store.store_errors import damage_error

    call = store.call(run, judged.call) if with_prompt else None
    if with_prompt and call is None:
        raise damage_error(store.path, f"call {judged.call} is not found by its key")
    return CallOutcome(
        call_index=judged.call_index,
        about=judged.about,
        call=call,
        reply=store.shown_replies([judged.call]).get(judged.call) if judged.error is None else None,
        error=judged.error,
        judgment=judged.judgment,
    )


def _place_json(item: Item | None, place: CallOutcome) -> dict[str, Any]:
    about, call, reply = place.about, place.call, place.reply
    return {
        "item": item.id if item is not None else None,
        "protocol": about.protocol,
        "model": about.model,
        "kind": about.kind,
        "order": about.order,
        "sample": about.sample,
        "messages": call.messages if call is not None else None,
        "reply": reply.text if reply is not None else None,
        "reasoning": reply.reasoning if reply is not None else None,
        "error": place.error,
        "judgment": place.judgment,
    }


_AROUND = 40
"""How much of a reply is shown on either side of the place where a score was read."""


def call_text(item: str, call: CallView) -> str:
    """A call as the terminal shows it."""
    order = f", order {call.order}" if call.order == "ba" else ""
    lines = [f"=== {item} · {call.protocol} · {call.model}{order} · sample {call.sample} · {call.kind}"]
    lines += [f"--- {turn.role} ---\n{turn.content.text}" for turn in call.messages]
    if call.error is not None:
        lines.append(f"--- no reply: {call.error.kind} ---\n{call.error.message}")
    reply = call.reply.text if call.reply is not None else ""
    if call.reply is not None and call.kind != "combine":
        lines.append(f"--- reply ---\n{reply}")
    if call.is_judged:
        lines.append("--- read ---")
        searched = "source" if call.elements else "response"
        lines += [_answer_text(answer, reply, searched) for answer in call.answers]
        lines += [_element_text(element) for element in call.elements]
        if call.flags:
            lines.append(f"flags: {', '.join(call.flags)}")
    return "\n".join(lines) + "\n"


def _element_text(element: ElementView) -> str:
    """One element that a step has checked: verdict, text, place, evidence."""
    place = "not word for word in the text" if element.span is None else f"at {element.span[0]}"
    lines = [f"  {element.number}. [{element.verdict}] {element.text} ({place})"]
    for evidence in element.evidence:
        passage = f", passage {element.passage}" if element.passage is not None else ""
        is_found = element.grounded == 1.0 or bool(evidence.fields)
        lines.append(
            f'     evidence: "{evidence.text}" '
            f"({'found' + passage if is_found else 'not found in the source'})"
        )
    return "\n".join(lines)


def _answer_text(answer: AnswerView, reply: str, searched: str = "response") -> str:
    subject = f"/{answer.subject}" if answer.subject else ""
    value = f"{answer.value:g}" if isinstance(answer.value, float) else answer.value or answer.status_text
    grounded = ""
    if answer.grounded is not None:
        grounded = f", {answer.grounded:.0%} of its evidence found in the {searched}"
    return f"{answer.name}{subject}: {value}{_source_text(answer, reply)}{grounded}"


def _source_text(answer: AnswerView, reply: str) -> str:
    """How an answer was read, and the text around the place in the reply."""
    if answer.how is None:
        return ""
    if answer.span is None:
        return f" ({answer.how})"
    start, end = answer.span
    before = reply[max(0, start - _AROUND) : start].replace("\n", " ")
    after = reply[end : end + _AROUND].replace("\n", " ")
    return f" ({answer.how}, at {start}: …{before}»{reply[start:end]}«{after}…)"

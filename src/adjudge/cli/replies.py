"""`adjudge runs show`: what was sent, what came back, and what was read from it, word for word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from ..errors import DataError
from ..records import Judgment
from .options import AS_JSON, RUN, STORE
from .output import print_json, print_text

_AROUND = 40
"""How much of a reply is shown on either side of the place where a score was read."""


def show_replies(
    run: str = RUN,
    item: str = typer.Option(None, "--item", metavar="ID", help="Only the replies for this item."),
    failed: bool = typer.Option(
        False, "--failed", help="Only replies that were not read, and calls that failed."
    ),
    limit: int = typer.Option(5, "--limit", metavar="N", min=1, help="At most N replies."),
    prompt: bool = typer.Option(False, "--prompt", help="The prompt too, exactly as it was sent."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Replies of a run word for word, with what was read from each, where, and on which rung."""
    from ..store import open_store

    with open_store(store, write=False) as opened:
        found = opened.run(run)
        shown = []
        for place in _wanted(opened.judgments(found), item, failed):
            shown.append(_told(opened, found, place, prompt or as_json))
            if len(shown) == limit:
                break
        has_item = bool(shown) or any(known.id == item for known in opened.items(found))
    if as_json:
        print_json(shown)
    elif not shown:
        if item is not None and not has_item:
            raise DataError(f"{found.name} has no item {item!r}. adjudge export {found.name} lists all.")
        typer.echo("There is no such reply.", err=True)
    for one in shown if not as_json else ():
        print_text(_text(one))


def _wanted(places: Any, item: str | None, failed: bool) -> Iterator[Any]:
    for place in places:
        if item is not None and (place.item is None or place.item.id != item):
            continue
        if (
            not failed
            or place.error is not None
            or (place.judgment is not None and _has_failed(place.judgment))
        ):
            yield place


def _has_failed(judgment: Judgment) -> bool:
    return any(score.status != "ok" for score in judgment.scores) or judgment.choice_status not in (
        None,
        "ok",
    )


def _told(store: Any, run: Any, place: Any, with_prompt: bool) -> dict[str, Any]:
    reply = store.reply_for([place.call]).get(place.call)
    call = store.call(run, place.call) if with_prompt else None
    return {
        "item": place.item.id if place.item is not None else None,
        "protocol": place.about.protocol,
        "model": place.about.model,
        "kind": place.about.kind,
        "order": place.about.order,
        "sample": place.about.sample,
        "messages": call.messages if call is not None else None,
        "reply": reply.text if reply is not None else None,
        "reasoning": reply.reasoning if reply is not None else None,
        "error": place.error,
        "judgment": place.judgment,
    }


def _text(one: dict[str, Any]) -> str:
    order = f", order {one['order']}" if one["order"] == "ba" else ""
    lines = [
        f"=== {one['item'] or 'the run as a whole'} · {one['protocol']} · {one['model']}{order} · sample {one['sample']} · {one['kind']}"
    ]
    lines += [f"--- {message.role} ---\n{message.content}" for message in one["messages"] or ()]
    if one["error"] is not None:
        lines.append(f"--- no reply: {one['error'].kind} ---\n{one['error'].message}")
    if one["reply"] is not None:
        lines.append(f"--- reply ---\n{one['reply']}")
    if one["judgment"] is not None:
        lines.append("--- read ---")
        lines += _readings(one["judgment"], one["reply"] or "")
    return "\n".join(lines) + "\n"


def _readings(judgment: Judgment, reply: str) -> list[str]:
    lines = []
    for score in judgment.scores:
        subject = f"/{score.subject}" if score.subject else ""
        value = f"{score.value:g}" if score.value is not None else score.status
        grounded = (
            f", {score.grounded:.0%} of its evidence found in the response"
            if score.grounded is not None
            else ""
        )
        lines.append(f"{score.criterion}{subject}: {value}{_where(score.how, score.span, reply)}{grounded}")
    if judgment.choice_status is not None:
        chosen = judgment.choice or judgment.choice_status
        lines.append(f"choice: {chosen}{_where(judgment.choice_how, judgment.choice_span, reply)}")
    if judgment.flags:
        lines.append(f"flags: {', '.join(judgment.flags)}")
    return lines


def _where(how: str | None, span: tuple[int, int] | None, reply: str) -> str:
    if how is None:
        return ""
    if span is None:
        return f" ({how})"
    before = reply[max(0, span[0] - _AROUND) : span[0]].replace("\n", " ")
    after = reply[span[1] : span[1] + _AROUND].replace("\n", " ")
    return f" ({how}, at {span[0]}: …{before}»{reply[span[0] : span[1]]}«{after}…)"

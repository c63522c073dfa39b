"""What a run would send, and what that may cost, without sending anything."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ..models import Network
from ..records import Message
from ..store import open_store
from .api import Request, prepare
from .plan import call_for, messages_for

_BATCH = 500


class DryRun(Struct, frozen=True):
    """An estimate: tokens are guessed from the length of the text, replies are not counted."""

    items: int
    calls: int
    stored: int
    tokens_in: int
    cost_usd: float | None
    first_messages: tuple[Message, ...]


def dry_run(request: Request) -> DryRun:
    """Render every call of a request, and count."""
    prepared = prepare(request, Network(), is_dry=True)
    first: tuple[Message, ...] = ()
    calls = stored = tokens = 0
    cost: float | None = 0.0
    waiting: dict[str, tuple[int, float | None]] = {}
    store = open_store(request.store, write=False) if Path(request.store).exists() else None

    def settle() -> None:
        nonlocal stored, tokens, cost
        known = store.answered(list(waiting)) if store is not None else set()
        stored += len(known)
        for key, (size, price) in waiting.items():
            if key not in known:
                tokens += size
                cost = None if cost is None or price is None else cost + size * price / 1e6
        waiting.clear()

    for item in prepared.items:
        for slot in prepared.plan.slots_of(item):
            rendered = messages_for(slot, item)
            first = first or rendered.messages
            price = slot.model.price[0] if slot.model.price is not None else None
            waiting[call_for(slot, item, rendered).key] = (_tokens(rendered.messages), price)
            calls += 1
        if len(waiting) >= _BATCH:
            settle()
    settle()
    if store is not None:
        store.close()
    return DryRun(prepared.n_items, calls, stored, tokens, cost, first)


def _tokens(messages: tuple[Message, ...]) -> int:
    """About four ASCII characters make a token, and one of most other scripts."""
    total = 0
    for message in messages:
        n_ascii = len(message.content.encode("ascii", "ignore"))
        total += n_ascii // 4 + (len(message.content) - n_ascii) + 4
    return total

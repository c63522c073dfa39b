"""What a run would send, and what that may cost, without sending anything."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import Struct

from ..models import Model, Network
from ..protocols import with_digest
from ..records import Call, Message
from ..store import Store, open_store
from .api import Prepared, Request, close_all, prepare
from .plan import Plan, call_for, make_plan, steps_call, steps_in

_BATCH = 500


class DryRun(Struct, frozen=True):
    """An estimate: tokens are estimated from the length of the text, replies are not counted."""

    items: int
    calls: int
    """distinct calls: one that two items share is made once"""
    stored: int
    tokens_in: int
    cost_usd: float | None
    first_messages: tuple[Message, ...]


def dry_run(request: Request) -> DryRun:
    """Render every call of a request, and count."""
    network = Network()
    opened: list[Model] = []
    try:
        prepared = prepare(request, network, opened, is_dry=True)
        if not Path(request.store).exists():
            return _counted(prepared, None)
        with open_store(request.store, write=False) as store:
            return _counted(prepared, store)
    finally:
        asyncio.run(close_all(opened, network))


def _counted(prepared: Prepared, store: Store | None) -> DryRun:
    count = _Count(store)
    plan = _with_known_steps(prepared.plan, count)
    for item in prepared.items:
        for planned in plan.calls_of(item):
            count.add(call_for(planned, item)[0], planned.model)
    count.settle()
    return DryRun(prepared.n_items, count.calls, count.stored, count.tokens, count.cost, count.first)


class _Count:
    """Counts calls, those in the store separately from those to be sent."""

    def __init__(self, store: Store | None) -> None:
        self.store = store
        self.first: tuple[Message, ...] = ()
        self.calls = self.stored = self.tokens = 0
        self.cost: float | None = 0.0
        self._seen: set[int] = set()
        self._waiting: dict[str, tuple[int, float | None]] = {}

    def add(self, call: Call, model: Model) -> None:
        """Count a call, unless it was counted before."""
        self.first = self.first or call.messages
        # A part of the key distinguishes calls well enough, and saves memory in a large run.
        short = int(call.key[:16], 16)
        if short in self._seen:
            return
        self._seen.add(short)
        self.calls += 1
        self._waiting[call.key] = (_tokens(call.messages), None if model.price is None else model.price[0])
        if len(self._waiting) >= _BATCH:
            self.settle()

    def settle(self) -> None:
        """Look up in the store the calls that were added since the last time."""
        known = self.store.answered(list(self._waiting)) if self.store is not None else set()
        self.stored += len(known)
        for key, (size, price) in self._waiting.items():
            if key not in known:
                self.tokens += size
                self.cost = None if self.cost is None or price is None else self.cost + size * price / 1e6
        self._waiting.clear()


def _with_known_steps(plan: Plan, count: _Count) -> Plan:
    """The plan with the steps that are in the store; a call for steps that are missing is counted too."""
    if plan.options.steps != "generate":
        return plan
    protocols = []
    for protocol in plan.protocols:
        call, _ = steps_call(protocol, plan.models[0])
        count.add(call, plan.models[0])
        reply = count.store.reply_for([call.key]).get(call.key) if count.store is not None else None
        protocols.append(protocol if reply is None else with_digest(protocol, steps=steps_in(reply.text)))
    return make_plan(protocols, plan.models, plan.options)


def _tokens(messages: tuple[Message, ...]) -> int:
    """About one token for four ASCII characters, and for each character of most other scripts."""
    total = 0
    for message in messages:
        n_ascii = len(message.content.encode("ascii", "ignore"))
        total += n_ascii // 4 + (len(message.content) - n_ascii) + 4
    return total

"""A dry run: what a run would send, and what that may cost, without sending anything."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ..models import Model, Network
from ..models.prices import BATCH_PRICE
from ..models.remote import RemoteModel
from ..models.token_counts import estimated_prompt
from ..parse.written_steps import written_steps
from ..protocols import with_digest
from ..records import Call, Item, Message
from ..steps.answers import StepAnswer
from ..steps.judgment import judgment_in_steps
from ..store import Store, open_store
from .batch_estimate import BatchEstimate, EstimatedBatches
from .calls import call_for, step_call
from .plan import Plan, PlannedCall, make_plan
from .prepare import close_all, prepare
from .prepared import Prepared
from .request import Request
from .written_steps import written_steps_call

_BATCH = 500


IDENTICAL_SHOWN = 5
"""How many items with the prompt of another one are named."""


class DryRun(Struct, frozen=True, omit_defaults=True):
    """An estimate: tokens are estimated from the length of the text, replies are not counted."""

    items: int
    calls: int
    """distinct calls: one that two items share is made once"""
    stored: int
    tokens_in: int
    cost_usd: float | None
    first_messages: tuple[Message, ...]
    ruled: int = 0
    """calls that a rule answers, so that no judge is asked"""
    price_dates: dict[str, str] = {}
    """model → date of the published price, where the user gave none"""
    n_open: int = 0
    """judgments in steps whose further calls depend on a reply: they are not counted"""
    n_identical: int = 0
    """calls with the same prompt, model and settings as an earlier one: made once, counted once"""
    identical: tuple[str, ...] = ()
    """the first items of these calls, by line, or by id where they have one"""
    batches: tuple[BatchEstimate, ...] = ()
    """the batches that would be submitted, for each model that is asked through its batch API"""


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
    for _, item in prepared.numbered():
        for planned in plan.calls_of(item):
            if planned.protocol.pipeline:
                count.add_steps(planned, item, plan.absent)
            else:
                count.add(call_for(planned, item)[0], planned.model, planned, item)
    count.settle()
    dates = prepared.manifest.get("price_dates", {})
    batches = tuple(estimated.result() for estimated in count.batches.values())
    return DryRun(
        prepared.n_judged,
        count.calls,
        count.stored,
        count.tokens,
        count.cost,
        count.first,
        count.ruled,
        dates,
        count.n_open,
        count.identical,
        tuple(count.identical_items),
        batches,
    )


class _Count:
    """Counts calls, those in the store separately from those to be sent."""

    def __init__(self, store: Store | None) -> None:
        self.store = store
        self.first: tuple[Message, ...] = ()
        self.calls = self.stored = self.tokens = self.ruled = self.identical = 0
        self.cost: float | None = 0.0
        self.n_open = 0
        self.identical_items: dict[str, None] = {}
        self.batches: dict[str, EstimatedBatches] = {}
        self._seen: set[int] = set()
        self._waiting: dict[str, tuple[int, float | None]] = {}
        self._batched: dict[str, tuple[Call, PlannedCall]] = {}

    def add(
        self, call: Call, model: Model, planned: PlannedCall | None = None, item: Item | None = None
    ) -> None:
        """Count a call, unless it was counted before; a planned one may go into a batch."""
        self.first = self.first or call.messages
        # A part of the key distinguishes calls well enough, and saves memory in a large run.
        short = int(call.key[:16], 16)
        if short in self._seen:
            self.identical += planned is not None
            if item is not None and len(self.identical_items) < IDENTICAL_SHOWN:
                self.identical_items[item.id if item.has_id else f"line {item.line}"] = None
            return
        self._seen.add(short)
        if call.is_ruled:
            self.ruled += 1
            return
        self.calls += 1
        price = None if model.price is None else model.price[0]
        if planned is not None and model.is_batched:
            self._batched[call.key] = (call, planned)
            price = None if price is None else price * BATCH_PRICE
        self._waiting[call.key] = (estimated_prompt(call.messages), price)
        if len(self._waiting) >= _BATCH:
            self.settle()

    def add_steps(self, planned: PlannedCall, item: Item, absent: frozenset[str]) -> None:
        """Count the calls of a judgment in steps, as far as the stored replies say which there are."""
        steps = judgment_in_steps(planned.protocol, item, absent, planned.model.questions_a_call)
        with suppress(StopIteration):
            prompts = next(steps)
            while True:
                calls = [step_call(planned, prompt, item) for prompt in prompts]
                for call in calls:
                    self.add(call, planned.model)
                keys = [call.key for call in calls]
                replies = self.store.reply_for(keys) if self.store is not None else {}
                if len(replies) < len(set(keys)):
                    self.n_open += prompts[0].step.kind == "extract"
                    return
                prompts = steps.send([StepAnswer(key, (replies[key],)) for key in keys])

    def settle(self) -> None:
        """Look up in the store the calls that were added since the last time."""
        known = self.store.answered(list(self._waiting)) if self.store is not None else set()
        self.stored += len(known)
        for key, (size, price) in self._waiting.items():
            if key not in known:
                self.tokens += size
                self.cost = None if self.cost is None or price is None else self.cost + size * price / 1e6
        for key, (call, planned) in self._batched.items():
            model, api = planned.model, planned.model.batch_api()
            if key not in known and isinstance(model, RemoteModel) and api is not None:
                self.batches.setdefault(model.name, EstimatedBatches(model, api)).add(planned, call)
        self._waiting.clear()
        self._batched.clear()


def _with_known_steps(plan: Plan, count: _Count) -> Plan:
    """The plan with the steps that are in the store; a call for steps that are missing is counted too."""
    if plan.options.steps != "generate":
        return plan
    protocols = []
    for number, protocol in enumerate(plan.protocols):
        if not plan.writes_steps(number):
            protocols.append(protocol)
            continue
        call, _ = written_steps_call(protocol, plan.models[0])
        count.add(call, plan.models[0])
        reply = count.store.reply_for([call.key]).get(call.key) if count.store is not None else None
        protocols.append(
            protocol if reply is None else with_digest(protocol, steps=written_steps(reply.text))
        )
    return make_plan(protocols, plan.models, plan.options, plan.steps_for, is_audit=plan.is_audit)

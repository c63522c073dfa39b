"""A live run: items are judged as they come, for many callers at once.

It has no last item. Callers share the models, the rate limits, the budget and the store; an item that the run
has judged before costs nothing. The run in the store is an ordinary one: it can be reported, labelled and
judged again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from ..errors import AdjudgeError, BudgetReached
from ..models import Model, Network
from ..models.destinations import remember_models
from ..protocols.absent_inputs import AbsentInputs
from ..records import Item, Reply
from ..results.stored_results import JudgedItem, judged_items
from ..store import RunRow, Store, open_store
from ..store.browsing import costs_of_items, judged_between
from ..version import __version__
from .item_source import few_items, open_items
from .loop import Loop, Shared
from .manifest import identity_of, manifest_of, specs_of
from .plan import Plan
from .prepare import close_all, find_empty_outputs, item_check, prepare_plan
from .progress import Progress
from .request import Request
from .watcher import Watcher
from .written_steps import with_written_steps

LiveItems = str | Path | Sequence[Item | Mapping[str, Any]]

_FEW = 64
"""Up to so many items are checked in the event loop; more would keep other callers waiting."""


class LiveJudgments(Struct, frozen=True):
    """How items were judged, in the order given."""

    items: tuple[JudgedItem, ...]
    costs_usd: tuple[float | None, ...]
    """what the replies for each item cost, whenever they were paid for; none where no price is known"""
    progress: Progress


class LiveRun:
    """A run that is open for items. Opened, used and closed in one event loop."""

    def __init__(
        self,
        request: Request,
        *,
        is_durable: bool = True,
        beside: LiveRun | None = None,
        sets_aside: bool = False,
    ) -> None:
        """`request` names everything but the items.

        With `sets_aside`, a run of this name with other settings is renamed; otherwise it is an error.

        A run beside another one, with the same models, shares its rate limits and its budget, and is closed
        before it.
        """
        self._request, self._is_durable, self._beside = request, is_durable, beside
        self._sets_aside = sets_aside
        self.older: str | None = None
        """the name that a run with other settings has now"""
        self._network: Network = (
            beside._network
            if beside is not None
            else Network(
                concurrency=request.concurrency,
                rpm=request.rpm,
                tpm=request.tpm,
                outage_seconds=60 * request.patience,
            )
        )
        self._opened: list[Model] = []
        self._started = time.monotonic()
        self._store: Store | None = None
        self._steps = _StepCalls()
        self.plan: Plan
        self.run: RunRow
        self.shared: Shared

    async def open(self) -> None:
        """Load and check what the request names, and start the run or resume it."""
        try:
            request = self._request
            plan = await asyncio.to_thread(prepare_plan, request, self._network, self._opened)
            described = {"path": "(as they come)", "sha256": "", "map": dict(request.map)}
            manifest = manifest_of(plan, described, request.command, __version__)
            self._store = open_store(request.store, is_durable=self._is_durable)
            identity = identity_of(manifest)
            if self._sets_aside and request.run is not None:
                self.older = self._store.set_aside(request.run, identity)
            self.run = self._store.start_run(request.run, manifest, identity)
            remember_models(Path(request.store), specs_of(plan.models))
            self.plan = await with_written_steps(plan, self._store, self.run, self._steps)
            self.shared = self._beside.shared if self._beside else Shared(plan, request.concurrency)
        except BaseException:
            await self.close()
            raise

    async def judge(
        self, items: LiveItems, watcher: Watcher | None = None, *, fills_inputs: bool = False
    ) -> LiveJudgments:
        """Judge items; everything is durable when this returns. `DataError` with all problems of the items.

        With `fills_inputs` an optional input that no item has counts as missing, because the next caller's
        item may have it.
        """
        assert self._store is not None
        absent = AbsentInputs(self.plan.protocols)
        few = not isinstance(items, str | Path) and len(items) <= _FEW
        read = self._read(items, absent) if few else await asyncio.to_thread(self._read, items, absent)
        numbered = await self._store.add_items(self.run, read)
        names = frozenset[str]() if fills_inputs else frozenset(absent.names)
        plan = structs.replace(self.plan, absent=names)
        loop = Loop(
            plan,
            self._store,
            structs.replace(self.run, is_resumed=True),
            concurrency=self._request.concurrency,
            budget_usd=self._request.budget,
            on_progress=(watcher or Watcher()).progressed,
            shared=self.shared,
            has_items=True,
        )
        distinct = sorted(dict(numbered).items())
        await loop.run(distinct, len(distinct) * len(plan.calls_of(Item("", {}))))
        return self._judged([seq for seq, _ in numbered], loop.progress)

    def _read(self, items: LiveItems, absent: AbsentInputs) -> list[Item]:
        request = self._request
        check = item_check(request, self.plan, absent)
        outputs = find_empty_outputs(self.plan.protocols)
        if isinstance(items, list | tuple) and len(items) <= _FEW and request.traces is None:
            few = few_items(items, request.map, check, outputs=outputs, skip_bad=request.skip_bad)
            return few[: request.limit]
        source = open_items(items, request.map, check, request.limit, request.traces, outputs=outputs)
        source.check(skip_bad=request.skip_bad)
        return list(source)

    def _judged(self, seqs: Sequence[int], progress: Progress) -> LiveJudgments:
        assert self._store is not None
        protocols = {protocol.ref: protocol for protocol in self.plan.protocols}
        by_seq: dict[int, JudgedItem] = {}
        for first, last in _ranges(sorted(set(seqs))):
            judged = judged_items(judged_between(self._store, self.run, first, last), protocols)
            by_seq.update((item.seq, item) for item in judged)
        missing = [seq for seq in seqs if seq not in by_seq]
        if missing:
            raise BudgetReached(f"{len(missing)} of {len(seqs)} items were not judged: the run was stopped.")
        costs = costs_of_items(self._store, self.run, seqs)
        self._steps.add_to(progress)
        return LiveJudgments(
            tuple(by_seq[seq] for seq in seqs), tuple(costs.get(seq, 0.0) for seq in seqs), progress
        )

    async def close(self) -> None:
        """End the run; one without an item is removed."""
        store, self._store = self._store, None
        try:
            if store is not None:
                with suppress(AdjudgeError, AttributeError):
                    self._finish(store)
                store.close()
        finally:
            await close_all(self._opened, None if self._beside else self._network)

    def _finish(self, store: Store) -> None:
        adjustments = tuple(dict.fromkeys(text for model in self.plan.models for text in model.adjustments))
        if adjustments:
            store.note_adjustments(self.run, adjustments)
        store.finish_run(self.run, "done", time.monotonic() - self._started)
        if not self.run.is_resumed and not store.totals(self.run).calls:
            store.delete_run(self.run.name)


class _StepCalls(Watcher):
    """The calls for evaluation steps when the run was opened: they count with the first items."""

    def __init__(self) -> None:
        self._replies: list[tuple[Reply, bool]] = []

    def asked_for_steps(self, reply: Reply, *, is_stored: bool) -> None:
        self._replies.append((reply, is_stored))

    def add_to(self, progress: Progress) -> None:
        """Count the calls, once."""
        for reply, is_stored in self._replies:
            progress.done += 1
            progress.total += 1
            progress.cached += is_stored
            progress.cost_usd += 0.0 if is_stored else reply.cost_usd or 0.0
        self._replies.clear()


def _ranges(seqs: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring numbers as (first, last)."""
    ranges = []
    for _, group in groupby(enumerate(seqs), key=lambda pair: pair[1] - pair[0]):
        members = [seq for _, seq in group]
        ranges.append((members[0], members[-1]))
    return ranges

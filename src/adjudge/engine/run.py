"""Carries out a request: prepares it, starts or resumes the
run in the store, judges all items, and ends the run.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, structs

from ..errors import AdjudgeError, ModelError
from ..models import Model, Network
from ..models.destinations import remember_models
from ..models.option_tokens import OptionTokens
from ..models.remote import RemoteModel
from ..records import Item, Result
from ..results.stored_results import results
from ..store import ENDS, N_WITHOUT_ID, RunRow, RunStatus, Store, open_store
from .loop import Interrupted, Loop, judge_all
from .manifest import ends_of, identity_of, specs_of
from .plan import Plan
from .prepare import close_all, prepare
from .prepared import Prepared
from .progress import Progress
from .request import Request
from .watcher import Watcher
from .written_steps import with_written_steps


class Run(Struct, frozen=True):
    """A finished run, as a value. `results` reads them from the store."""

    name: str
    store: str
    status: RunStatus
    progress: Progress
    adjustments: tuple[str, ...] = ()

    def results(self) -> list[Result]:
        """All results, in the order of the items."""
        with open_store(self.store, write=False) as store:
            return list(results(store, store.run(self.name)))


class RunState:
    """How far a run is, for the thread that may stop it."""

    is_in_store = False
    """from then on there may be paid replies to store before it ends"""
    loop: Loop | None = None

    def set_loop(self, loop: Loop) -> None:
        self.loop = loop


async def execute(request: Request, watcher: Watcher | None = None, state: RunState | None = None) -> Run:
    """Carry out a request; with a `state`, in an event loop that serves nothing else."""
    watcher = watcher or request.watcher or Watcher()
    network = Network(
        concurrency=request.concurrency,
        rpm=request.rpm,
        tpm=request.tpm,
        outage_seconds=60 * request.patience,
    )
    opened: list[Model] = []
    try:
        if state is not None:
            prepared = prepare(request, network, opened)
        else:
            # Checking a large file must not block the other tasks of this event loop.
            prepared = await asyncio.to_thread(prepare, request, network, opened)
        with open_store(request.store) as store:
            await _confirm_logprobs(prepared, store)
            await _find_ends(prepared, store)
            return await _execute(request, prepared, store, watcher, state or RunState())
    finally:
        await close_all(opened, network)


async def _execute(
    request: Request, prepared: Prepared, store: Store, watcher: Watcher, state: RunState
) -> Run:
    replaced = _set_aside(store, request, prepared)
    run = store.start_run(request.run, prepared.manifest, identity_of(prepared.manifest))
    remember_models(Path(request.store), specs_of(prepared.plan.models))
    if run.is_resumed and N_WITHOUT_ID not in run.manifest:
        prepared.items.name_by_line()
    started = time.monotonic()
    status: RunStatus = "stopped"
    try:
        state.is_in_store = True
        watcher.started(run, prepared)
        plan = await with_written_steps(prepared.plan, store, run, watcher)
        n_calls = len(plan.calls_of(Item("", {})))
        progress, is_complete = await judge_all(
            plan,
            store,
            run,
            prepared.numbered,
            prepared.n_judged * n_calls,
            options=request,
            on_progress=watcher.progressed,
            on_batches=watcher.batched,
            on_loop=state.set_loop,
        )
        is_part = prepared.shard.n > 1 and not store.is_whole(run, prepared.n_items * n_calls)
        status = "submitted" if not is_complete else "stopped" if is_part else "done"
        if is_complete:
            store.close_batches(run)
        warnings = dict.fromkeys(text for model in plan.models for text in model.warnings)
        return Run(run.name, str(request.store), status, progress, (*_adjustments(prepared.plan), *warnings))
    except (Interrupted, asyncio.CancelledError):
        status = "interrupted"
        raise
    finally:
        with suppress(AdjudgeError):
            if adjustments := _adjustments(prepared.plan):
                store.note_adjustments(run, adjustments)
            if any(cached := _from_prompt_caches(prepared.plan)):
                store.note_prompt_cache(run, *cached)
            store.finish_run(run, status, time.monotonic() - started)
            if prepared.n_judged:
                _tidy_up(store, run, status, replaced)


def _set_aside(store: Store, request: Request, prepared: Prepared) -> RunRow | None:
    """The run that this one replaces, under another name until this one is done: its replies may be
    needed."""
    if not request.replace or request.run is None:
        return None
    aside = f"{request.run} (replaced)"
    known = {run.name: run for run in store.runs()}
    old = known.get(request.run)
    if old is None or old.identity == identity_of(prepared.manifest):
        return known.get(aside)  # an earlier start of this run has set it aside
    if aside in known:
        store.delete_run(aside)
    store.rename_run(request.run, aside)
    return structs.replace(old, name=aside)


def _tidy_up(store: Store, run: RunRow, status: RunStatus, replaced: RunRow | None) -> None:
    """Delete the run that this one has replaced, or this one if it stopped before its first reply."""
    totals = store.totals(run)
    if status == "stopped" and not run.is_resumed and not totals.calls:
        store.delete_run(run.name)
        if replaced is not None:
            store.rename_run(replaced.name, run.name)
    elif status == "done" and replaced is not None:
        store.put_labels(store.labels(replaced), run)
        store.delete_run(replaced.name)


def _from_prompt_caches(plan: Plan) -> tuple[int, float]:
    """The tokens that providers found in their prompt caches, and what that saved in USD."""
    caches = [model.prompt_cache for model in plan.models if isinstance(model, RemoteModel)]
    return sum(cache.tokens_read for cache in caches), sum(cache.saved_usd for cache in caches)


def _adjustments(plan: Plan) -> tuple[str, ...]:
    """Which parameters are not sent to a model because it refuses them."""
    return tuple(dict.fromkeys(text for model in plan.models for text in model.adjustments))


async def _find_ends(prepared: Prepared, store: Store) -> None:
    """Record when judges end, where their providers say so; a run that is done asks nothing."""
    identity = identity_of(prepared.manifest)
    if any(run.identity == identity and run.status == "done" for run in store.runs()):
        return
    await asyncio.gather(*(model.find_ending() for model in prepared.plan.models), return_exceptions=True)
    if ends := ends_of(prepared.plan.models):
        prepared.manifest[ENDS] = ends


async def _confirm_logprobs(prepared: Prepared, store: Store) -> None:
    """An estimator that needs log-probabilities, on a model without, is an error before the run starts."""
    estimator = prepared.plan.options.estimator
    if estimator not in ("probability", "decision"):
        return
    identity = identity_of(prepared.manifest)
    if any(run.identity == identity and store.totals(run).judged for run in store.runs()):
        return  # it is resumed, and its judgments show that the models return them
    for model in prepared.plan.models:
        if estimator == "decision" and not isinstance(model, OptionTokens):
            continue
        if model.gives_logprobs is None and model.needs_network and not await model.probe_logprobs():
            raise ModelError(
                f"{model.name} returns no log-probabilities, which --estimator {estimator} needs. "
                "Use a model that does, or another estimator: --estimator parsed or samples."
            )

"""`run` and `run_async`: from what a user names (files, ids, model names) to a finished run.

A request is prepared, checked and carried out in one place, by async code; `run` does it in a thread with a separate
event loop, so that it works in a script, beside a running event loop and in a notebook.
"""

from __future__ import annotations

import asyncio
import difflib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_origin

from msgspec import Struct, structs

from ..errors import AdjudgeError, DataError, ModelError, ProtocolError
from ..models import Model, Network, parse_model
from ..protocols import load_protocol, with_digest
from ..records import Call, Item, Message, Protocol, Result
from ..render import problems_of
from ..run_options import RunOptions, check_options
from ..store import RunRow, RunStatus, Store, open_store
from ..version import __version__
from .loop import Interrupted, Loop, Progress, stored_reply
from .plan import (
    ItemSource,
    Plan,
    call_for,
    identity_of,
    make_plan,
    manifest_of,
    open_items,
    steps_call,
    steps_in,
)
from .results import AbsentInputs, results

# What a run would send, and what that may cost, without sending anything.


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


class Watcher:
    """Receives the progress of a run: override the methods that you need."""

    def started(self, run: RunRow, prepared: Prepared) -> None:
        """The run is in the store; no call has been made yet."""

    def wrote_steps(self, protocol: Protocol) -> None:
        """The judge has written the evaluation steps of a protocol, now or in an earlier start of this run."""

    def progressed(self, progress: Progress) -> None:
        """A judgment was made and is durable."""


Protocols = str | Path | Protocol | Sequence[str | Path | Protocol]
Models = str | Model | Sequence[str | Model]


class Request(RunOptions, frozen=True):
    """What `run` is called with: the items, how to judge them, who judges, and the options of a run."""

    items: str | Path | Sequence[Item | Mapping[str, Any]]
    protocol: Protocols = ()
    model: Models = ()
    watcher: Watcher | None = None
    command: tuple[str, ...] = ()


class Prepared(Struct, frozen=True):
    """A request with everything loaded and checked; no call has been made yet."""

    plan: Plan
    items: ItemSource
    n_items: int
    manifest: dict[str, Any]
    bad: tuple[str, ...] = ()


def _as_tuple(names: Any) -> tuple[Any, ...]:
    return (names,) if isinstance(names, str | Path | Protocol | Model) else tuple(names)


def default_models() -> tuple[str, ...]:
    """The judge where none is named: the one in the variable ADJUDGE_MODEL."""
    model = os.environ.get("ADJUDGE_MODEL")
    return (model,) if model else ()


def prepare(request: Request, network: Network, opened: list[Model], *, is_dry: bool = False) -> Prepared:
    """Load and check everything that a request names, so that mistakes are reported before money is spent.

    A dry run makes no calls and needs no key. Models made here are added to `opened`, even if this raises: the caller
    closes them.
    """
    check_options(request)
    protocols = _protocols(request)
    models: list[Model] = []
    for spec in _as_tuple(request.model) or default_models():
        if isinstance(spec, Model):
            models.append(spec)
            continue
        models.append(parse_model(spec, key_env=request.key_env, price=request.price, network=network))
        opened.append(models[-1])
    if not protocols or not models:
        raise ProtocolError("a run needs at least one protocol (-p) and one model (-m).")
    plan = make_plan(protocols, models, request)
    for planned in plan.calls:
        kind = "likelihood" if planned.protocol.answer.reader == "likelihood" else "generate"
        if not is_dry:
            planned.model.check(planned.params, (kind,))
    if request.budget is not None and any(model.price is None and model.needs_network for model in models):
        raise ModelError("--budget needs a price. Set --price IN,OUT in USD per million tokens.")

    absent = AbsentInputs(protocols)

    def problems(item: Item) -> list[str]:
        absent.add(item)
        return [problem for protocol in protocols for problem in problems_of(protocol, item)]

    items = open_items(request.items, request.map, problems, request.limit)
    n_items = items.check(skip_bad=request.skip_bad)
    described = {**items.described(), "n": n_items, "left_out": len(items.bad()) if request.skip_bad else 0}
    plan = structs.replace(plan, absent=frozenset(absent.names))
    manifest = manifest_of(plan, described, request.command, __version__)
    return Prepared(plan, items, n_items, manifest, items.bad() if request.skip_bad else ())


def _protocols(request: Request) -> list[Protocol]:
    refs = _as_tuple(request.protocol) or (("geval/score",) if request.criterion else ())
    steps = () if request.steps == "generate" else request.steps
    protocols = []
    for ref in refs:
        if isinstance(ref, Protocol):
            protocols.append(ref if ref.digest else with_digest(ref))
        else:
            protocols.append(
                load_protocol(
                    ref,
                    rubric=request.rubric,
                    examples=request.examples or (),
                    criterion=request.criterion,
                    steps=steps,
                )
            )
    for protocol in protocols:
        is_likelihood = protocol.answer.reader == "likelihood"
        if is_likelihood != (request.estimator == "likelihood") and request.estimator is not None:
            other = "asks for no reply" if is_likelihood else "asks for a reply"
            raise ProtocolError(
                f"--estimator {request.estimator}: protocol {protocol.id} {other}. Leave --estimator out."
            )
    return protocols


P = ParamSpec("P")
R = TypeVar("R")


def _takes(request: Callable[P, Request]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Give a function the parameters of `Request`, for type checkers, editors and `help`."""

    def typed(function: Callable[..., R]) -> Callable[P, R]:
        shown = [_shown(parameter) for parameter in signature(request).parameters.values()]
        function.__signature__ = Signature(shown)  # type: ignore[attr-defined]
        return function

    return typed


def _shown(parameter: Parameter) -> Parameter:
    """The parameter with the plain type of an option, without what the command line says about it."""
    annotation = parameter.annotation
    return (
        parameter.replace(annotation=get_args(annotation)[0])
        if get_origin(annotation) is Annotated
        else parameter
    )


def _request(*arguments: Any, **options: Any) -> Request:
    known = set(Request.__struct_fields__) - {"items", "protocol", "model", "watcher"}
    for name in options:
        if name not in Request.__struct_fields__:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean '{near[0]}'?" if near else f"The options are: {', '.join(sorted(known))}."
            raise DataError(f"run has no option '{name}'. {hint}")
    return Request(*arguments, **options)


@_takes(Request)
async def run_async(*arguments: Any, **options: Any) -> Run:
    """Judge items and store every call, reply and judgment; the same request again asks only what is missing.

    An option means what the flag of `adjudge run` with its name means. A `watcher` receives the run's progress.
    """
    request = _request(*arguments, **options)
    return await execute(request, request.watcher or Watcher())


class _State:
    """How far a run is, for the thread that may stop it."""

    is_in_store = False
    """from then on there may be paid replies to store before it ends"""
    loop: Loop | None = None


async def execute(request: Request, watcher: Watcher, state: _State | None = None) -> Run:
    """Carry out a request; with a `state`, in an event loop that serves nothing else."""
    network = Network(concurrency=request.concurrency, rpm=request.rpm, tpm=request.tpm)
    opened: list[Model] = []
    try:
        if state is not None:
            prepared = prepare(request, network, opened)
        else:
            # Checking a large file must not block the other tasks of this event loop.
            prepared = await asyncio.to_thread(prepare, request, network, opened)
        with open_store(request.store) as store:
            await _confirm_logprobs(prepared, store)
            return await _execute(request, prepared, store, watcher, state or _State())
    finally:
        await close_all(opened, network)


async def close_all(models: Sequence[Model], network: Network) -> None:
    """Close what a request has opened."""
    for model in models:
        await model.close()
    await network.close()


async def _execute(
    request: Request, prepared: Prepared, store: Store, watcher: Watcher, state: _State
) -> Run:
    replaced = _set_aside(store, request, prepared)
    run = store.start_run(request.run, prepared.manifest, identity_of(prepared.manifest))
    started = time.monotonic()
    status: RunStatus = "stopped"
    try:
        state.is_in_store = True
        watcher.started(run, prepared)
        plan = await _with_steps(prepared.plan, store, run, watcher)
        state.loop = loop = Loop(
            plan,
            store,
            run,
            concurrency=request.concurrency,
            budget_usd=request.budget,
            on_progress=watcher.progressed,
        )
        await loop.run(prepared.items, prepared.n_items * len(plan.calls_of(Item("", {}))))
        status = "done"
        warnings = dict.fromkeys(text for model in plan.models for text in model.warnings)
        return Run(
            run.name, str(request.store), status, loop.progress, (*_adjustments(prepared.plan), *warnings)
        )
    except (Interrupted, asyncio.CancelledError):
        status = "interrupted"
        raise
    finally:
        with suppress(AdjudgeError):
            if adjustments := _adjustments(prepared.plan):
                store.note_adjustments(run, adjustments)
            store.finish_run(run, status, time.monotonic() - started)
            _tidy_up(store, run, status, replaced)


def _set_aside(store: Store, request: Request, prepared: Prepared) -> RunRow | None:
    """The run that this one replaces, under another name until this one is done: its replies may be needed."""
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


def _adjustments(plan: Plan) -> tuple[str, ...]:
    """Which parameters are not sent to a model because it refuses them."""
    return tuple(dict.fromkeys(text for model in plan.models for text in model.adjustments))


async def _with_steps(plan: Plan, store: Store, run: RunRow, watcher: Watcher) -> Plan:
    """The plan with the steps that the first judge writes for each protocol that takes them."""
    if plan.options.steps != "generate":
        return plan
    model = plan.models[0]
    protocols = []
    for number, protocol in enumerate(plan.protocols):
        call, params = steps_call(protocol, model)
        reply = await stored_reply(store, call)
        new_reply = None
        if reply is None:
            reply = new_reply = await model.ask(call, params)
        await store.put(run, -1, 2 * len(plan.calls) + number, call, new_reply, None)
        if reply.error is not None:
            raise ModelError(
                f"{model.name} wrote no evaluation steps: {reply.error.message}. Run the command again."
            )
        steps = steps_in(reply.text)
        if not steps:
            raise ModelError(
                f"{model.name} wrote no evaluation steps: its reply is empty. Write them yourself, with --steps FILE."
            )
        protocols.append(with_digest(protocol, steps=steps))
        watcher.wrote_steps(protocols[-1])
    return structs.replace(make_plan(protocols, plan.models, plan.options), absent=plan.absent)


async def _confirm_logprobs(prepared: Prepared, store: Store) -> None:
    """`probability` on a model without log-probabilities is an error before the run starts."""
    if prepared.plan.options.estimator != "probability":
        return
    identity = identity_of(prepared.manifest)
    if any(run.identity == identity and store.totals(run).judged for run in store.runs()):
        return  # it is resumed, and its judgments show that the models return them
    for model in prepared.plan.models:
        if model.gives_logprobs is None and model.needs_network and not await model.probe_logprobs():
            raise ModelError(
                f"{model.name} returns no log-probabilities, which --estimator probability needs. "
                "Use a model that does, or another estimator: --estimator parsed or samples."
            )


# -- a run in a separate thread: the calling thread waits, and passes Ctrl-C on


_POLL_SECONDS = 0.1
_GRACE_SECONDS = 5.0
"""how long an interrupted run may take to store the replies that it has paid for"""


@_takes(Request)
def run(*arguments: Any, **options: Any) -> Run:
    """`run_async` for code without an event loop, and beside a running one: a script, a notebook."""
    request = _request(*arguments, **options)
    return run_in_thread(request, request.watcher or Watcher())


def run_in_thread(request: Request, watcher: Watcher) -> Run:
    """Carry out a request in a new thread; Ctrl-C stops it and loses no reply that was received."""
    worker = _Worker(request, watcher)
    outer = _task_of_this_thread()
    ends_at = float("inf")
    # Not `join`: after a Ctrl-C in it Python takes the thread for ended.
    while not worker.has_ended.is_set():
        try:
            worker.has_ended.wait(_POLL_SECONDS)
            # `asyncio.run` turns the first Ctrl-C into a cancellation, which waits until this function returns.
            is_interrupted = outer is not None and outer.cancelling() > 0 and ends_at == float("inf")
        except KeyboardInterrupt:
            is_interrupted = True
        if is_interrupted:
            worker.interrupt()
            ends_at = min(ends_at, time.monotonic() + (_GRACE_SECONDS if worker.state.is_in_store else 0))
        if time.monotonic() >= ends_at:
            raise Interrupted("interrupted")
    if isinstance(worker.outcome, BaseException):
        raise worker.outcome
    assert worker.outcome is not None
    return worker.outcome


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop where it is installed: a third less CPU for each call."""
    try:
        import uvloop
    except ImportError:
        return None
    new_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return new_loop


def _task_of_this_thread() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


class _Worker:
    """The thread that carries out a request; another thread can interrupt it."""

    def __init__(self, request: Request, watcher: Watcher) -> None:
        self.outcome: Run | BaseException | None = None
        self.has_ended = threading.Event()
        self.state = _State()
        self._request, self._watcher = request, watcher
        self._task: asyncio.Task[Run] | None = None
        self._is_interrupted = False
        threading.Thread(target=self._work, name="adjudge-run", daemon=True).start()

    def _work(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                self.outcome = runner.run(self._execute())
        except asyncio.CancelledError:
            self.outcome = Interrupted("interrupted")
        except BaseException as fault:  # noqa: BLE001  raised again in the thread that waits
            self.outcome = fault
        finally:
            self.has_ended.set()

    async def _execute(self) -> Run:
        self._task = asyncio.current_task()
        if self._is_interrupted:
            raise Interrupted("interrupted")
        return await execute(self._request, self._watcher, self.state)

    def interrupt(self) -> None:
        """Stop the run: what is in flight may end. A second time: at once."""
        self._is_interrupted = True
        if self._task is not None:
            # The event loop is already closed where the run has just ended by itself.
            with suppress(RuntimeError):
                self._task.get_loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        assert self._task is not None
        if self.state.loop is not None:
            self.state.loop.stop(Interrupted("interrupted"))
        self._task.cancel()

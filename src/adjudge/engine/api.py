"""`run_async`: from what a user names (files, ids, specs) to a finished run.

The request path is written once, here; `thread` makes it available to code without an event loop.
"""

from __future__ import annotations

import asyncio
import difflib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct

from ..errors import AdjudgeError, DataError, ModelError, ProtocolError
from ..models import Model, Network, Price, parse_model
from ..protocols import load_protocol, with_digest
from ..records import Estimator, Item, Protocol, Result, Rubric
from ..render import problems_of
from ..store import RunRow, RunStatus, Store, open_store
from ..version import __version__
from .loop import Interrupted, Loop, Progress, steps_call, steps_in, stored_reply
from .plan import ItemSource, OrderPolicy, Plan, Settings, identity_of, make_plan, manifest_of, open_items
from .results import results

Names = str | Sequence[str]


class Run(Struct, frozen=True):
    """A run that came to its end, as a value. Its results are read from the store when asked for."""

    name: str
    store: str
    status: RunStatus
    progress: Progress
    adjustments: tuple[str, ...] = ()

    def results(self) -> list[Result]:
        """All results, in the order of the items."""
        with open_store(self.store, write=False) as store:
            return list(results(store, store.run(self.name)))


class Request(Struct, frozen=True, kw_only=True):
    """All that a user may say about a run; the fields are the flags of `adjudge run`."""

    items: str | Path | Sequence[Item | Mapping[str, Any]]
    protocols: tuple[str | Path | Protocol, ...]
    models: tuple[str | Model, ...]
    store: str | Path = "adjudge.db"
    run: str | None = None
    rubric: Rubric | str | Path | None = None
    examples: str | Path | None = None
    criterion: str = ""
    steps: Sequence[str] | Literal["generate"] = ()
    map: Mapping[str, str] = {}
    """input → field of the items, where they go by another name"""
    samples: int = 1
    estimator: Estimator | None = None
    order: OrderPolicy = "both"
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    reask: bool = True
    limit: int | None = None
    concurrency: int = 64
    rpm: float | None = None
    tpm: float | None = None
    budget: float | None = None
    price: Price | None = None
    key_env: str | None = None
    skip_bad: bool = False
    command: tuple[str, ...] = ()


class Watcher:
    """Somebody who is told how a run goes on: override what you want to know."""

    def started(self, run: RunRow, prepared: Prepared) -> None:
        """The run is in the store; nothing has been asked yet."""

    def wrote_steps(self, protocol: Protocol) -> None:
        """The judge has written the evaluation steps of a protocol, now or at an earlier start."""

    def looping(self, loop: Loop) -> None:
        """The loop that may be stopped."""

    def progressed(self, progress: Progress) -> None:
        """Something was done and is durable."""


class Prepared(Struct, frozen=True):
    """A request with everything found, loaded and checked; nothing has been asked yet."""

    plan: Plan
    items: ItemSource
    n_items: int
    manifest: dict[str, Any]
    bad: tuple[str, ...] = ()


def _as_tuple(names: Any) -> tuple[Any, ...]:
    return (names,) if isinstance(names, str | Path | Protocol | Model) else tuple(names)


def prepare(request: Request, network: Network, opened: list[Model], *, is_dry: bool = False) -> Prepared:
    """Find and check all that a request names; every mistake is reported before anything is spent.

    A dry run asks nobody, so it needs no key. Models that are made here are added to `opened`, also where a mistake is found: the caller closes them.
    """
    settings = _settings(request)
    protocols = _protocols(request)
    models: list[Model] = []
    for spec in request.models:
        if isinstance(spec, Model):
            models.append(spec)
            continue
        models.append(parse_model(spec, key_env=request.key_env, price=request.price, network=network))
        opened.append(models[-1])
    if not protocols or not models:
        raise ProtocolError("a run needs at least one protocol (-p) and one model (-m).")
    plan = make_plan(protocols, models, settings)
    for slot in plan.slots:
        kind = "likelihood" if slot.protocol.answer.reader == "likelihood" else "generate"
        if not is_dry:
            slot.model.check(slot.params, (kind,))
    if request.budget is not None and any(model.price is None and model.needs_network for model in models):
        raise ModelError(
            "--budget needs to know what a call costs. Give --price IN,OUT in USD per million tokens."
        )

    def problems(item: Item) -> list[str]:
        return [problem for protocol in protocols for problem in problems_of(protocol, item)]

    items = open_items(request.items, request.map, problems, request.limit)
    n_items = items.check(skip_bad=request.skip_bad)
    told = {**items.described(), "n": n_items, "left_out": len(items.bad()) if request.skip_bad else 0}
    manifest = manifest_of(plan, told, request.command, __version__)
    return Prepared(plan, items, n_items, manifest, items.bad() if request.skip_bad else ())


def _settings(request: Request) -> Settings:
    if request.samples < 1:
        raise DataError(f"--samples {request.samples}: ask at least once.")
    if request.limit is not None and request.limit < 1:
        raise DataError(f"--limit {request.limit}: take at least one item.")
    if request.order not in get_args(OrderPolicy):
        raise DataError(f"--order {request.order}: choose {', '.join(get_args(OrderPolicy))}.")
    if request.estimator is not None and request.estimator not in get_args(Estimator):
        raise DataError(f"--estimator {request.estimator}: choose {', '.join(get_args(Estimator))}.")
    if request.estimator == "parsed" and request.samples > 1:
        raise DataError("--estimator parsed reads one reply. Leave it out, or ask with --samples 1.")
    if request.estimator == "samples" and request.samples == 1:
        raise DataError("--estimator samples is the mean of several replies. Say how many with --samples N.")
    return Settings(
        samples=request.samples,
        estimator=request.estimator,
        order=request.order,
        temperature=request.temperature,
        max_tokens=request.max_tokens,
        seed=request.seed,
        reask=request.reask,
        steps="generate" if request.steps == "generate" else "given",
        limit=request.limit,
    )


def _protocols(request: Request) -> list[Protocol]:
    refs = request.protocols or (("geval/score",) if request.criterion else ())
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


async def run_async(
    items: str | Path | Sequence[Item | Mapping[str, Any]],
    protocol: Names | Path | Protocol | Sequence[str | Path | Protocol] = (),
    model: Names | Model | Sequence[str | Model] = (),
    **options: Any,
) -> Run:
    """Judge items and store every call, reply and judgment; the same request again asks only what is missing.

    Options, all by name: store, run, rubric, examples, criterion, steps, map (input → field), samples, estimator, order,
    temperature, max_tokens, seed, reask, limit, concurrency, rpm, tpm, budget, price, key_env, skip_bad; each means what the
    flag of `adjudge run` means. `watcher`, a `Watcher`, is told how it goes on.
    """
    request, watcher = requested(items, protocol, model, options)
    return await execute(request, watcher)


def requested(items: Any, protocol: Any, model: Any, options: dict[str, Any]) -> tuple[Request, Watcher]:
    """The request, and who watches it, that a call of `run` or `run_async` means."""
    watcher = options.pop("watcher", None) or Watcher()
    known = set(Request.__struct_fields__) - {"items", "protocols", "models"}
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean '{near[0]}'?" if near else f"The options are: {', '.join(sorted(known))}."
            raise DataError(f"run has no option '{name}'. {hint}")
    return Request(items=items, protocols=_as_tuple(protocol), models=_as_tuple(model), **options), watcher


async def execute(request: Request, watcher: Watcher, *, is_alone: bool = False) -> Run:
    """Carry out a request; `is_alone` in an event loop that serves nobody else."""
    network = Network(concurrency=request.concurrency, rpm=request.rpm, tpm=request.tpm)
    opened: list[Model] = []
    try:
        if is_alone:
            prepared = prepare(request, network, opened)
        else:
            # Checking a large file must not hold up whoever else uses this event loop.
            prepared = await asyncio.to_thread(prepare, request, network, opened)
        with open_store(request.store) as store:
            await _confirm_logprobs(prepared, store)
            return await _execute(request, prepared, store, watcher)
    finally:
        await close_all(opened, network)


async def close_all(models: Sequence[Model], network: Network) -> None:
    """Give back what a request has opened."""
    for model in models:
        await model.close()
    await network.close()


async def _execute(request: Request, prepared: Prepared, store: Store, watcher: Watcher) -> Run:
    run = store.start_run(request.run, prepared.manifest, identity_of(prepared.manifest))
    started = time.monotonic()
    status: RunStatus = "stopped"
    try:
        watcher.started(run, prepared)
        plan = await _with_steps(prepared.plan, store, run, watcher)
        loop = Loop(
            plan,
            store,
            run,
            concurrency=request.concurrency,
            budget_usd=request.budget,
            on_progress=watcher.progressed,
        )
        watcher.looping(loop)
        await loop.run(prepared.items, prepared.n_items * len(plan.slots_of(Item("", {}))))
        status = "done"
        adjustments = _adjustments(prepared.plan)
        return Run(run.name, str(request.store), status, loop.progress, adjustments)
    except (Interrupted, asyncio.CancelledError):
        status = "interrupted"
        raise
    finally:
        with suppress(AdjudgeError):
            if told := _adjustments(prepared.plan):
                store.note_adjustments(run, told)
            store.finish_run(run, status, time.monotonic() - started)


def _adjustments(plan: Plan) -> tuple[str, ...]:
    """What was asked of the models and is not sent, because they refuse it."""
    return tuple(dict.fromkeys(text for model in plan.models for text in model.adjustments))


async def _with_steps(plan: Plan, store: Store, run: RunRow, watcher: Watcher) -> Plan:
    """The plan with the steps that the first judge writes for each protocol that takes them."""
    if plan.settings.steps != "generate":
        return plan
    model = plan.models[0]
    protocols = []
    for number, protocol in enumerate(plan.protocols):
        call, params = steps_call(protocol, model)
        reply = await stored_reply(store, call)
        given = None
        if reply is None:
            reply = given = await model.ask(call, params)
        await store.put(run, -1, 2 * len(plan.slots) + number, call, given, None)
        if reply.error is not None:
            raise ModelError(
                f"{model.name} wrote no evaluation steps: {reply.error.message}. Give the command again."
            )
        steps = steps_in(reply.text)
        if not steps:
            raise ModelError(
                f"{model.name} wrote no evaluation steps: its reply is empty. Give them yourself."
            )
        protocols.append(with_digest(protocol, steps=steps))
        watcher.wrote_steps(protocols[-1])
    return make_plan(protocols, plan.models, plan.settings)


async def _confirm_logprobs(prepared: Prepared, store: Store) -> None:
    """`probability` on a model without log-probabilities is an error before the run starts."""
    if prepared.plan.settings.estimator != "probability":
        return
    identity = identity_of(prepared.manifest)
    if any(run.identity == identity and store.totals(run).judged for run in store.runs()):
        return  # it goes on, and its judgments show that the models give them
    for model in prepared.plan.models:
        if model.gives_logprobs is None and model.needs_network:
            found = await model.probe_logprobs()
            if not found:
                raise ModelError(
                    f"{model.name} gives no log-probabilities, which --estimator probability needs. "
                    "Use a model that does, or another estimator: --estimator parsed or samples."
                )


# `run`: the engine for code without an event loop, and beside a running one: a script, a notebook.
#
# The run has a thread and an event loop of its own; the thread that called waits, and passes Ctrl-C on. Nothing
# is judged here.


_LOOK_SECONDS = 0.1
_LONGEST_END_SECONDS = 5.0
"""How long an interrupted run may take to store what it has paid for; after that nobody waits."""


def run(
    items: str | Path | Sequence[Item | Mapping[str, Any]],
    protocol: Names | Path | Protocol | Sequence[str | Path | Protocol] = (),
    model: Names | Model | Sequence[str | Model] = (),
    **options: Any,
) -> Run:
    """`run_async` for code without an event loop, and beside a running one: a script, a notebook."""
    return run_in_thread(*requested(items, protocol, model, options))


def run_in_thread(request: Request, watcher: Watcher) -> Run:
    """Carry out a request in a thread of its own; Ctrl-C stops it and loses nothing that was answered."""
    worker = _Worker(request, watcher)
    outer = _task_of_this_thread()
    ends_at = float("inf")
    # Not `join`: a Ctrl-C in it makes Python take the thread for ended.
    while not worker.has_ended.is_set():
        try:
            worker.has_ended.wait(_LOOK_SECONDS)
            # `asyncio.run` turns the first Ctrl-C into a cancellation, which waits until this function is left.
            is_called_off = outer is not None and outer.cancelling() > 0 and ends_at == float("inf")
        except KeyboardInterrupt:
            is_called_off = True
        if is_called_off:
            worker.interrupt()
            ends_at = min(ends_at, time.monotonic() + (_LONGEST_END_SECONDS if worker.has_begun else 0))
        if time.monotonic() >= ends_at:
            raise Interrupted("interrupted")
    if isinstance(worker.outcome, BaseException):
        raise worker.outcome
    assert worker.outcome is not None
    return worker.outcome


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop where it is installed; it takes a third less CPU for each call."""
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


class _Worker(Watcher):
    """The thread that carries out a request. Passes on what it is told, and can be interrupted."""

    def __init__(self, request: Request, watcher: Watcher) -> None:
        self.outcome: Run | BaseException | None = None
        self.has_ended = threading.Event()
        self.has_begun = False
        """whether the run is in the store, so that there may be something to wait for"""
        self._request, self._watcher = request, watcher
        self._loop: Loop | None = None
        self._task: asyncio.Task[Run] | None = None
        self._is_interrupted = False
        threading.Thread(target=self._work, name="adjudge-run", daemon=True).start()

    def _work(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                self.outcome = runner.run(self._execute())
        except asyncio.CancelledError:
            self.outcome = Interrupted("interrupted")
        except BaseException as fault:  # noqa: BLE001  handed over to the thread that waits
            self.outcome = fault
        finally:
            self.has_ended.set()

    async def _execute(self) -> Run:
        self._task = asyncio.current_task()
        if self._is_interrupted:
            raise Interrupted("interrupted")
        return await execute(self._request, self, is_alone=True)

    def interrupt(self) -> None:
        """Have the run come to its end. A second time: at once."""
        self._is_interrupted = True
        if self._task is not None:
            # The event loop is closed where the run has just come to its end by itself.
            with suppress(RuntimeError):
                self._task.get_loop().call_soon_threadsafe(self._call_off)

    def _call_off(self) -> None:
        assert self._task is not None
        if self._loop is not None:
            self._loop.stop(Interrupted("interrupted"))
        self._task.cancel()

    def started(self, run: RunRow, prepared: Prepared) -> None:
        self.has_begun = True
        self._watcher.started(run, prepared)

    def wrote_steps(self, protocol: Protocol) -> None:
        self._watcher.wrote_steps(protocol)

    def looping(self, loop: Loop) -> None:
        self._loop = loop
        self._watcher.looping(loop)

    def progressed(self, progress: Progress) -> None:
        self._watcher.progressed(progress)

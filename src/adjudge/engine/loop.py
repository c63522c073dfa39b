"""The loop of a run: every item is rendered, sent, parsed and stored, each call as soon as possible.

    Item ─ render ─▶ Call ─ ask ─▶ Reply ─ parse ─▶ Judgment ─▶ store

Nothing counts as done before it is durable. A run may be stopped at any moment, by Ctrl-C, a budget, a
refused key or a crash: the same run started again makes only the calls that are missing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec import structs

from ..errors import AdjudgeError, BudgetReached
from ..parse.conversation import judge_conversation
from ..parse.reask_answers import needs_reask
from ..records import Call, Item, Judgment, Reply, ReplyError
from ..run_options.options import RunOptions
from ..score_map import with_map
from ..steps.answers import StepAnswer
from ..steps.judgment import judgment_in_steps
from ..steps.prompts import StepPrompt
from ..store import BatchLine, BatchRow, Claim, RunRow, Store
from ..store.call_index import StepPlace, reask_index, step_index
from ..words import price
from .asking import Asking, Conversation, needs_more_room, stored_for_nothing
from .batching import Batches
from .call_keys import stored_reply, with_more_room
from .calls import Prompts, call_for, combine_call, step_call
from .plan import Plan, PlannedCall
from .progress import Progress
from .spending import Spending

_BATCH = 256
"""How many items are prepared together, with one commit."""


_RENDER_BATCH = 32
"""How many items are rendered before replies that have arrived are handled."""


class ItemCall(NamedTuple):
    """One call of one item; `seq` is the item's number in the run."""

    seq: int
    item: Item
    planned: PlannedCall
    call: Call
    flags: tuple[str, ...]


class ItemSteps(NamedTuple):
    """One judgment of one item that takes several calls, step by step."""

    seq: int
    item: Item
    planned: PlannedCall


class Claimed(NamedTuple):
    """Calls of a batch of items, which of them this process may make, and judgments that are made in
    steps."""

    item_calls: Sequence[ItemCall]
    claim: Claim
    in_steps: Sequence[ItemSteps] = ()


class Interrupted(AdjudgeError):
    """The user stopped the run; it can be resumed."""


class Shared:
    """What the loops of one run share: turns to ask a host, and what has been spent."""

    def __init__(self, plan: Plan, concurrency: int) -> None:
        self.turns = {
            model.endpoint: asyncio.Semaphore(_turns(concurrency * model.n_hosts)) for model in plan.models
        }
        self.spending = Spending()


class Loop:
    """One start of a run. Used once."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        run: RunRow,
        *,
        concurrency: int = 64,
        budget_usd: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        batches: Batches | None = None,
        shared: Shared | None = None,
        has_items: bool = False,
    ) -> None:
        """`has_items`: the store has the items already, with numbers at any distances."""
        self._plan, self._store, self._run = plan, store, run
        self._batches = batches
        self._shared = shared or Shared(plan, concurrency)
        self._turns = self._shared.turns
        self._has_items = has_items
        # Twice the concurrency: while one half is in flight, the other half is ready to be sent.
        room = 2 * concurrency * max(model.n_hosts for model in plan.models)
        self._room = asyncio.Semaphore(room)
        # Enough batches are prepared ahead that a fast host never waits for a claim to be durable.
        self._n_ahead = 1 + room // _BATCH
        self._budget_usd = budget_usd
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: list[ItemCall] = []
        self._in_flight: set[str] = set()
        self._call_ended = asyncio.Event()
        self._stopped: BaseException | None = None
        self._on_progress = on_progress
        self.progress = Progress()
        self._asking = Asking(plan, store, run, self._shared.spending, self.progress, self._may_ask)

    def start_at(self, cost_usd: float) -> None:
        """Count what earlier loops of this command have spent."""
        self.progress.cost_usd = self._shared.spending.spent_usd = cost_usd

    def stop(self, reason: BaseException) -> None:
        """Start no further call. The first reason counts."""
        if self._stopped is None:
            self._stopped = reason

    async def run(self, items: Iterable[tuple[int, Item]], total: int) -> None:
        """Judge items, each with its number in the run, at equal distances; raises the reason where the run
        was stopped before its end.
        """
        self.progress.total = total
        try:
            await self._start_all(iter(items))
            await self._submit_batches()
            while self._stopped is None and (self._tasks or self._waiting):
                await self._wait_and_start()
            await self._submit_batches()
        except BaseException as fault:  # noqa: BLE001  raised again below, once what is paid for is stored
            self.stop(fault)
        await self._settle()
        if self._stopped is not None:
            raise self._stopped

    async def _submit_batches(self) -> None:
        """Submit what is in batches, up to the budget; after any other stop their calls are free again."""
        if self._batches is None:
            return
        if self._stopped is None or isinstance(self._stopped, BudgetReached):
            await self._batches.finish()
            self._notify()
        else:
            await self._batches.abandon()

    # Starting calls

    async def _start_all(self, source: Iterator[tuple[int, Item]]) -> None:
        """Start the calls of all items; the next batches are prepared while the calls of one are started."""
        ahead: deque[asyncio.Task[Claimed]] = deque()
        try:
            while self._stopped is None:
                while len(ahead) < self._n_ahead and (batch := self._prepare_next(source)) is not None:
                    ahead.append(batch)
                if not ahead:
                    return
                await self._start(await ahead.popleft())
        finally:
            # Their claims are released when the store is closed.
            for batch in ahead:
                batch.cancel()
            await asyncio.gather(*ahead, return_exceptions=True)

    def _prepare_next(self, source: Iterator[tuple[int, Item]]) -> asyncio.Task[Claimed] | None:
        batch = list(islice(source, _BATCH))
        return asyncio.create_task(self._prepare(batch)) if batch else None

    async def _prepare(self, batch: list[tuple[int, Item]]) -> Claimed:
        """Render the missing calls of a batch and claim them: durable before anything is sent."""
        first, last = batch[0][0], batch[-1][0]
        step = batch[1][0] - first if len(batch) > 1 else 1
        are_stored: Awaitable[None] | None = None
        if not self._has_items:
            items = [item for _, item in batch]
            are_stored = self._store.put_items(self._run, first, items, step)
        finished = self._store.finished(self._run, first, last) if self._run.is_resumed else {}
        item_calls: list[ItemCall] = []
        in_steps: list[ItemSteps] = []
        for number, (seq, item) in enumerate(batch):
            if number % _RENDER_BATCH == 0:
                await asyncio.sleep(0)  # so that replies that have arrived are handled
            calls = self._plan.calls_of(item)
            missing = [planned for planned in calls if (seq, planned.index) not in finished]
            judgments = [
                finished[seq, planned.index] for planned in calls if (seq, planned.index) in finished
            ]
            self._count_cached(judgments)
            prompts: Prompts = {}
            for planned in missing:
                if planned.protocol.pipeline:
                    in_steps.append(ItemSteps(seq, item, planned))
                else:
                    prepared = call_for(planned, item, self._plan.absent, prompts)
                    item_calls.append(ItemCall(seq, item, planned, *prepared))
        # Both are queued in this order and go into one commit.
        claiming = self._claim(item_calls)
        if are_stored is None:
            claimed = await claiming
        else:
            _, claimed = await asyncio.gather(are_stored, claiming)
        return claimed._replace(in_steps=in_steps)

    async def _claim(self, item_calls: Sequence[ItemCall]) -> Claimed:
        calls = [item_call.call for item_call in item_calls]
        return Claimed(item_calls, await self._store.claim(calls) if calls else Claim())

    async def _start(self, claimed: Claimed) -> None:
        """Make the calls that are ours, parse replies that are
        stored, and keep for later what others are asking.
        """
        item_calls, claim, in_steps = claimed
        for item_steps in in_steps:
            await self._room.acquire()
            if self._is_stopping():
                self._room.release()
                break
            self._launch(self._judge_in_steps(item_steps))
        replies = self._store.reply_for(claim.answered)
        lines = self._batch_lines(claim)
        mine = set(claim.mine)
        for item_call in item_calls:
            key = item_call.call.key
            if key in claim.batched:
                self.progress.in_batches += 1
                continue
            if key not in replies and key not in mine:
                self._waiting.append(item_call)
                continue
            if key in mine and await self._put_into_batch(item_call, lines.get(key)):
                mine.discard(key)
                continue
            await self._room.acquire()
            if self._is_stopping():
                self._room.release()
                await self._store.release(list(mine))
                return
            if key in replies:
                self._launch(self._read_stored(item_call, replies[key], lines.get(key)))
                continue
            # Where two items have the same call, the first makes it and the others wait for the reply.
            mine.discard(key)
            self._in_flight.add(key)
            line = lines.get(key)
            if line is not None and line.outcome == "failed" and line.error is not None:
                self._launch(self._put_failure(item_call, line.error))
            else:
                self._launch(self._ask(item_call, None if line is None else line.paid))

    def _batch_lines(self, claim: Claim) -> dict[str, BatchLine]:
        """What the batches of this run say of calls that are to be made or read now."""
        keys = claim.mine | claim.answered
        return self._store.batch_lines(self._run, keys) if self._batches is not None and keys else {}

    async def _put_into_batch(self, item_call: ItemCall, line: BatchLine | None) -> bool:
        """Put a call into a batch; false where it is to be made now."""
        if self._batches is None or (line is not None and line.outcome == "failed"):
            return False
        is_taken = not item_call.call.is_ruled and self._batches.takes(item_call.planned, line)
        if not is_taken or self._is_stopping():
            return False
        await self._batches.add(item_call.planned, item_call.call)
        self.progress.in_batches += 1
        return True

    async def _put_failure(self, item_call: ItemCall, error: ReplyError) -> None:
        """Store that a batch could not answer a call; the next start of the run may ask it again."""
        seq, _, planned, call, _ = item_call
        await self._store.put(self._run, seq, planned.index, call, Reply(call.key, error=error), None)
        self._in_flight.discard(call.key)
        self._count(None)

    def _launch(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.release()
        self._call_ended.set()
        if not task.cancelled() and (fault := task.exception()) is not None:
            self.stop(fault)

    async def _wait_and_start(self) -> None:
        """Wait for calls in flight, then for those that another process makes."""
        if self._tasks:
            self._call_ended.clear()
            await self._call_ended.wait()
            return
        waiting, self._waiting = self._waiting, []
        await self._store.wait({item_call.call.key for item_call in waiting} - self._in_flight)
        await self._start(await self._claim(waiting))

    def _is_stopping(self) -> bool:
        """Whether no further call may be started: the run was stopped, or its budget is spent."""
        reserved, spent_usd = self._reserved_usd(), self._shared.spending.spent_usd
        if self._budget_usd is not None and spent_usd + reserved >= self._budget_usd:
            spent = price(spent_usd)
            if reserved:
                spent += f", and {price(reserved)} are reserved for batches"
            self.stop(
                BudgetReached(f"the budget of ${self._budget_usd:g} is spent ({spent} by this command).")
            )
        return self._stopped is not None

    def _reserved_usd(self) -> float:
        return self._batches.reserved_usd if self._batches is not None else 0.0

    async def _may_ask(self) -> bool:
        """Wait until the budget has room for one more call; false where the run stops before."""
        spending = self._shared.spending
        while not self._is_stopping():
            if spending.has_room(self._budget_usd, self._reserved_usd()):
                return True
            await spending.change()
        return False

    # One call

    async def _ask(self, item_call: ItemCall, paid: Reply | None = None) -> None:
        # A turn lasts until the reply is durable: a crash can cost no more calls than there are turns.
        async with self._turns[item_call.planned.model.endpoint]:
            try:
                await self._ask_in_turn(item_call, paid)
            except Exception as fault:
                self.stop(fault)  # before the next call gets this turn
                raise
            finally:
                self._in_flight.discard(item_call.call.key)

    async def _ask_in_turn(self, item_call: ItemCall, paid: Reply | None) -> None:
        reply = await self._asking.ask(item_call.planned, item_call.call, paid)
        if reply is None:
            return
        if reply.error is not None:
            await self._store.put(
                self._run, item_call.seq, item_call.planned.index, item_call.call, reply, None
            )
            self._count(None)
            return
        await self._read(item_call, reply, is_stored=False)

    async def _read_stored(self, item_call: ItemCall, reply: Reply, line: BatchLine | None) -> None:
        if needs_more_room(item_call.planned, reply):
            item_call = item_call._replace(call=with_more_room(item_call.call))
            larger = await stored_reply(self._store, item_call.call)
            if larger is None:
                self._in_flight.add(item_call.call.key)
                await self._ask(item_call, stored_for_nothing(reply))
                return
            reply = larger
        if line is None:
            self.progress.cached += 1
        elif line.flags:
            reply = structs.replace(reply, flags=line.flags)
        async with self._turns[item_call.planned.model.endpoint]:  # it may ask a follow-up question
            await self._read(item_call, reply, is_stored=True)

    async def _read(self, item_call: ItemCall, reply: Reply, *, is_stored: bool) -> None:
        """Parse a reply, ask a follow-up question where it holds no answer, and store the judgment."""
        seq, _, planned, call, _ = item_call
        conversation = [(call, reply)]
        judgment = _judged(item_call, conversation)
        new_reply = None if is_stored else reply
        may_follow_up = not call.is_ruled and self._asking.may_follow_up(planned, reply)
        if may_follow_up and needs_reask(judgment):
            # The reply was paid for: it is stored before the follow-up question is sent.
            await self._store.put(self._run, seq, planned.index, call, new_reply, None)
            new_reply = None
            answered = await self._asking.follow_up(
                planned,
                conversation,
                seq,
                lambda number: reask_index(len(self._plan.calls), planned.index, number),
                lambda so_far: not needs_reask(_judged(item_call, so_far)),
            )
            if answered is None:
                return  # the next start of this run asks it
            judgment = _judged(item_call, answered)
        is_ours = await self._store.put(
            self._run, seq, planned.index, call, new_reply, _mapped(planned, judgment)
        )
        if not is_ours:
            stored = self._store.reply_for([call.key])[call.key]
            judgment = _judged(item_call, [(call, stored)])
            await self._store.put(self._run, seq, planned.index, call, None, _mapped(planned, judgment))
        self._count(judgment)

    # A judgment in steps

    async def _judge_in_steps(self, item_steps: ItemSteps) -> None:
        """Ask what each step needs, and store the judgment; the
        calls of a step are durable before the next begins.
        """
        seq, item, planned = item_steps
        steps = judgment_in_steps(planned.protocol, item, self._plan.absent, planned.model.questions_a_call)
        answers: list[StepAnswer] = []
        try:
            prompts = next(steps)
            while True:
                of_step = await self._answers(item_steps, prompts)
                if of_step is None:
                    return  # the next start of this run asks the rest
                answers += of_step
                prompts = steps.send(of_step)
        except StopIteration as end:
            judgment: Judgment = end.value
        call = combine_call(planned, item, [answer.call for answer in answers])
        judgment = structs.replace(_mapped(planned, judgment), call=call.key)
        errors = [
            reply.error for answer in answers for reply in answer.replies[:1] if reply.error is not None
        ]
        # With an error, the judgment counts for now, and the next start of this run asks what is missing.
        reply = Reply(call.key, error=errors[0]) if errors else Reply(call.key, cost_usd=0.0)
        await self._store.put(self._run, seq, planned.index, call, reply, judgment)
        n_new = sum(answer.is_new for answer in answers)
        self.progress.cached += n_new == 0 and not errors
        self.progress.further += max(0, n_new - 1)
        self._count(judgment)

    async def _answers(self, item_steps: ItemSteps, prompts: Sequence[StepPrompt]) -> list[StepAnswer] | None:
        """The answers to the prompts of one step; none where the run was stopped before all were there."""
        calls = [step_call(item_steps.planned, prompt, item_steps.item) for prompt in prompts]
        claim = await self._store.claim(calls)
        stored = self._store.reply_for(claim.answered)
        # Elements with the same text have the same call: it is made once, and each has its place.
        first_of = {call.key: number for number, call in reversed(list(enumerate(calls)))}
        asked = await asyncio.gather(
            *(
                self._answer(item_steps, prompts[number], calls[number], stored.get(key), key in claim.mine)
                for key, number in first_of.items()
            ),
            return_exceptions=True,
        )
        by_key: dict[str, StepAnswer] = {}
        for key, answer in zip(first_of, asked, strict=True):
            if isinstance(answer, BaseException):
                raise answer
            if answer is None:
                return None
            by_key[key] = answer
        for number, call in enumerate(calls):
            if first_of[call.key] != number:
                index = self._step_index(item_steps, prompts[number])
                await self._store.put(self._run, item_steps.seq, index, call, None, None)
        return [
            by_key[call.key]
            if first_of[call.key] == number
            else structs.replace(by_key[call.key], readings={})
            for number, call in enumerate(calls)
        ]

    async def _answer(
        self, item_steps: ItemSteps, prompt: StepPrompt, call: Call, reply: Reply | None, is_mine: bool
    ) -> StepAnswer | None:
        if reply is None and not is_mine:
            # Another item or process asks the same. Whoever waits for it holds no turn, or all might wait.
            reply = await stored_reply(self._store, call)
        async with self._turns[item_steps.planned.model.endpoint]:
            try:
                return await self._answer_in_turn(item_steps, prompt, call, reply)
            except Exception as fault:
                self.stop(fault)  # before the next call gets this turn
                raise

    async def _answer_in_turn(
        self, item_steps: ItemSteps, prompt: StepPrompt, call: Call, reply: Reply | None
    ) -> StepAnswer | None:
        """The reply to a call of a step, and those to follow-up questions where it holds no answer."""
        planned, seq = item_steps.planned.of_step(prompt), item_steps.seq
        index = self._step_index(item_steps, prompt)
        first = await self._asking.durable_reply(planned, call, seq, index, reply)
        if first is None:
            return None
        conversation = [(call, first)]
        if self._asking.may_follow_up(planned, first):
            answered = await self._asking.follow_up(
                planned,
                conversation,
                seq,
                lambda number: self._step_index(item_steps, prompt, number),
                lambda so_far: not _step_answer(so_far).needs_reask(prompt, item_steps.item),
            )
            if answered is None:
                return None
            conversation = answered
        return _step_answer(conversation, is_new=reply is None)

    def _step_index(self, item_steps: ItemSteps, prompt: StepPrompt, reask: int = 0) -> int:
        return step_index(StepPlace(item_steps.planned.index, prompt.position, prompt.number, reask))

    # Counting and ending

    def _count(self, judgment: Judgment | None) -> None:
        self.progress.done += 1
        if judgment is None or judgment.is_unread:
            self.progress.failed += 1
        self._notify()

    def _count_cached(self, judgments: Sequence[Judgment | None]) -> None:
        if judgments:
            self.progress.done += len(judgments)
            self.progress.cached += len(judgments)
            self.progress.failed += sum(judgment.is_unread for judgment in judgments if judgment is not None)
            self._notify()

    def _notify(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.progress)

    async def _settle(self) -> None:
        """Wait for calls in flight as long as the reason to stop allows: their replies are paid for."""
        if not self._tasks:
            return
        grace = 0.5
        if isinstance(self._stopped, Interrupted | asyncio.CancelledError):
            grace = 1.2  # the user waits for the end
        elif isinstance(self._stopped, BudgetReached):
            grace = 60.0
        _, late = await asyncio.wait(self._tasks, timeout=grace)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=0.5)


async def judge_all(
    plan: Plan,
    store: Store,
    run: RunRow,
    items: Callable[[], Iterable[tuple[int, Item]]],
    total: int,
    *,
    options: RunOptions,
    on_progress: Callable[[Progress], None],
    on_batches: Callable[[Sequence[BatchRow]], None],
    on_loop: Callable[[Loop], None],
) -> tuple[Progress, bool]:
    """Judge all items; how far the run is, and whether nothing is left in batches.

    What batches have answered is stored first. With `--wait` the loop runs once more when all batches are
    collected.
    """
    batches = None
    if any(model.is_batched for model in plan.models) or store.batches(run):
        patience_seconds = 60 * options.patience
        batches = Batches(plan, store, run, patience_seconds=patience_seconds, on_change=on_batches)
    spent = 0.0
    try:
        if batches is not None:
            await batches.advance()
        while True:
            loop = Loop(
                plan,
                store,
                run,
                concurrency=options.concurrency,
                budget_usd=options.budget,
                on_progress=on_progress,
                batches=batches,
            )
            on_loop(loop)
            loop.start_at(spent)
            await loop.run(items(), total)
            if batches is None or not options.wait or not (batches.rows() or batches.n_held):
                return loop.progress, loop.progress.in_batches == 0
            before = batches.collected_usd
            await batches.wait()
            spent = loop.progress.cost_usd + batches.collected_usd - before
            run = structs.replace(run, is_resumed=True)
    finally:
        if batches is not None:
            batches.close()


def _judged(item_call: ItemCall, conversation: Conversation) -> Judgment:
    _, item, planned, _, flags = item_call
    return judge_conversation(
        planned.protocol, item, conversation, flags, by_probability=planned.by_probability
    )


def _mapped(planned: PlannedCall, judgment: Judgment) -> Judgment:
    return with_map(judgment, planned.protocol, planned.model.score_map)


def _step_answer(conversation: Conversation, *, is_new: bool = False) -> StepAnswer:
    replies = tuple(reply for _, reply in conversation)
    return StepAnswer(conversation[0][0].key, replies, {}, is_new)


def _turns(concurrency: int) -> int:
    """How many calls may be sent and not yet durable: as many as may be in flight.

    Above the default concurrency twice as many, or a fast host would wait for the disk.
    """
    return concurrency if concurrency <= 64 else 2 * concurrency

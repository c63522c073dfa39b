"""The loop of a run: items are rendered, asked, read and stored, each call as soon as it can be.

    Item ─ render ─▶ Call ─ ask ─▶ Reply ─ parse ─▶ Judgment ─▶ store

Nothing is counted as done before it is durable. A run may be stopped at any moment, by a person, a
budget, a refused key or a crash: the same run started again asks only for what is missing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec import Struct, structs

from ..errors import AdjudgeError, BudgetReached
from ..models import Parameters
from ..parse import parse, unanswered
from ..parse.likelihood import LEAST_CAUGHT_MASS, expected_score, read_likelihood
from ..records import Call, Item, Judgment, Protocol, Reply, ReplyError, Score, Status
from ..store import Claim, RunRow, Store
from .plan import Plan, Slot, call_for, messages_for, reask_call

# From a reply to the judgment that is stored: reading, the expected value, and the question asked again.


_WORTH_ASKING_AGAIN: frozenset[Status] = frozenset(("unparsed", "conflicting", "out_of_range", "truncated"))


def judge(
    protocol: Protocol, item: Item, call: Call, reply: Reply, flags: tuple[str, ...], params: Parameters
) -> Judgment:
    """What a reply says, with the flags of its prompt; with log-probabilities asked for, as an expected value."""
    if protocol.answer.reader == "likelihood":
        judgment = read_likelihood(protocol, item, reply)
        return structs.replace(judgment, flags=tuple(dict.fromkeys((*flags, *judgment.flags))))
    judgment = parse(protocol, reply.text, item=item, order=call.order, finish=reply.finish, call=call.key)
    if params.top_logprobs is not None:
        judgment = structs.replace(
            judgment, scores=tuple(_expected(score, reply, protocol) for score in judgment.scores)
        )
    return structs.replace(judgment, flags=tuple(dict.fromkeys((*flags, *judgment.flags))))


def _expected(score: Score, reply: Reply, protocol: Protocol) -> Score:
    """The same score by the estimator `probability`; one that caught too little mass is no score."""
    scale = protocol.criteria[score.criterion]
    if score.status != "ok" or score.span is None or scale is None or reply.logprobs is None:
        return structs.replace(score, estimator="probability", value=None, status=_unless_ok(score.status))
    found = expected_score(score.span, reply.logprobs, scale)
    if found is None or found.caught_mass < LEAST_CAUGHT_MASS:
        return structs.replace(
            score,
            estimator="probability",
            value=None,
            status="unparsed",
            distribution=found.distribution if found else None,
            caught_mass=found.caught_mass if found else 0.0,
        )
    return structs.replace(
        score,
        estimator="probability",
        value=found.value,
        distribution=found.distribution,
        caught_mass=found.caught_mass,
    )


def _unless_ok(status: Status) -> Status:
    return "unparsed" if status == "ok" else status


def needs_another_question(judgment: Judgment) -> bool:
    """Whether something was asked for and not given, though the judge did not refuse."""
    statuses = {score.status for score in judgment.scores}
    if judgment.choice_status is not None:
        statuses.add(judgment.choice_status)
    return bool(statuses & _WORTH_ASKING_AGAIN) and "refused" not in statuses


def with_second_answer(first: Judgment, second: Judgment) -> Judgment:
    """The first judgment, with what it lacked taken from the answer to the question asked again."""
    answers = {(score.criterion, score.subject): score for score in second.scores}

    def better(score: Score) -> Score:
        again = answers.get((score.criterion, score.subject))
        if score.status not in _WORTH_ASKING_AGAIN or again is None or again.status != "ok":
            return score
        # The place of this value is in the second reply, not in the first.
        return structs.replace(
            again, how="reask", span=None, evidence=score.evidence, grounded=score.grounded
        )

    judgment = structs.replace(first, scores=tuple(better(score) for score in first.scores))
    if first.choice_status in _WORTH_ASKING_AGAIN and second.choice is not None:
        judgment = structs.replace(
            judgment, choice=second.choice, choice_status="ok", choice_how="reask", choice_span=None
        )
    return judgment


def failed_judgment(protocol: Protocol, error: ReplyError) -> Judgment:
    """What a call without a reply counts as: a failure of every score that was asked for."""
    status: Status = "refused" if error.kind == "filtered" else "no_reply"
    return structs.replace(
        unanswered(protocol, status), flags=("too_long",) if error.kind == "too_long" else ()
    )


_BATCH = 256
"""How many items are looked at together: enough for one commit to serve many."""


_PIECE = 32
"""How many items are rendered in one go while replies come in."""


class Progress(Struct):
    """How far a run is. Counts places: one call of one item."""

    total: int = 0
    done: int = 0
    failed: int = 0
    """places whose call brought no reply, or whose reply held no answer"""
    cached: int = 0
    """done places that cost nothing now: judged before, or answered by a stored reply"""
    cost_usd: float = 0.0
    in_flight: int = 0


class Place(NamedTuple):
    """One call of one item, where it belongs in the run."""

    seq: int
    item: Item
    slot: Slot
    call: Call
    flags: tuple[str, ...]


class Shared(NamedTuple):
    """Places, and which of their calls are ours to ask."""

    places: Sequence[Place]
    claim: Claim


class Interrupted(AdjudgeError):
    """A person stopped the run; it can be resumed."""


class Loop:
    """One start of a run. Made once, run once."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        run: RunRow,
        *,
        concurrency: int = 64,
        budget_usd: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._plan, self._store, self._run = plan, store, run
        # Twice as many: while one half is being asked, the other is ready to be.
        self._room = asyncio.Semaphore(2 * concurrency)
        self._turns = {model.endpoint: asyncio.Semaphore(_turns(concurrency)) for model in plan.models}
        # As much is prepared as can be under way: a quick host must not wait for a claim to be durable.
        self._n_ahead = 1 + 2 * concurrency // _BATCH
        self._budget_usd = budget_usd
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: list[Place] = []
        self._asking: set[str] = set()
        self._one_ended = asyncio.Event()
        self._stopped: BaseException | None = None
        self._on_progress = on_progress
        self.progress = Progress()

    def stop(self, reason: BaseException) -> None:
        """Start no further call. The first reason counts."""
        if self._stopped is None:
            self._stopped = reason

    async def run(self, items: Iterable[Item], total: int) -> None:
        """Judge all items; raises the reason where the run was stopped before its end."""
        self.progress.total = total
        try:
            await self._start_all(enumerate(items))
            while self._stopped is None and (self._tasks or self._waiting):
                await self._go_on_with_waiting()
        except BaseException as fault:  # noqa: BLE001  raised again below, once what is paid for is stored
            self.stop(fault)
        await self._settle()
        if self._stopped is not None:
            raise self._stopped

    # -- starting calls

    async def _start_all(self, source: Iterator[tuple[int, Item]]) -> None:
        """Start the calls of all items; the next batches are prepared while those of the one before are started."""
        ahead: deque[asyncio.Task[Shared]] = deque()
        try:
            while self._stopped is None:
                while len(ahead) < self._n_ahead and (next_one := self._prepare_next(source)) is not None:
                    ahead.append(next_one)
                if not ahead:
                    return
                await self._start(await ahead.popleft())
        finally:
            # What they have claimed is free again when the store is closed.
            for one in ahead:
                one.cancel()
            await asyncio.gather(*ahead, return_exceptions=True)

    def _prepare_next(self, source: Iterator[tuple[int, Item]]) -> asyncio.Task[Shared] | None:
        batch = list(islice(source, _BATCH))
        return asyncio.create_task(self._prepare(batch)) if batch else None

    async def _prepare(self, batch: list[tuple[int, Item]]) -> Shared:
        """Render what is missing of a batch and claim it: durable before anything is sent."""
        first, last = batch[0][0], batch[-1][0]
        are_stored = self._store.put_items(self._run, first, [item for _, item in batch])
        finished = self._store.finished(self._run, first, last) if self._run.is_resumed else set()
        places: list[Place] = []
        for number, (seq, item) in enumerate(batch):
            if number % _PIECE == 0:
                await asyncio.sleep(
                    0
                )  # replies that have come meanwhile are read, and their places filled again
            slots = self._plan.slots_of(item)
            open_slots = [slot for slot in slots if (seq, slot.number) not in finished]
            self._count_cached(len(slots) - len(open_slots))
            places += [self._place(seq, item, slot) for slot in open_slots]
        # Both are queued in this order and go into one commit.
        _, shared = await asyncio.gather(are_stored, self._share(places))
        return shared

    def _place(self, seq: int, item: Item, slot: Slot) -> Place:
        rendered = messages_for(slot, item)
        return Place(seq, item, slot, call_for(slot, item, rendered), rendered.flags)

    async def _share(self, places: Sequence[Place]) -> Shared:
        calls = [place.call for place in places]
        return Shared(places, await self._store.claim(calls) if calls else Claim())

    async def _start(self, shared: Shared) -> None:
        """Ask what nobody has asked, read what is there, and remember what somebody is asking."""
        places, claim = shared
        replies = self._store.reply_for(claim.answered)
        mine = set(claim.mine)
        for place in places:
            key = place.call.key
            if key not in replies and key not in mine:
                self._waiting.append(place)
                continue
            await self._room.acquire()
            if self._is_stopping():
                self._room.release()
                await self._store.release(list(mine))
                return
            if key in replies:
                self._launch(self._read_stored(place, replies[key]))
            else:
                # Two places with one call: the first asks, the others wait for its reply.
                mine.discard(key)
                self._asking.add(key)
                self._launch(self._ask(place))

    def _launch(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.release()
        self._one_ended.set()
        if not task.cancelled() and (fault := task.exception()) is not None:
            self.stop(fault)

    async def _go_on_with_waiting(self) -> None:
        """Wait for calls in flight, then for those that another process asks."""
        if self._tasks:
            self._one_ended.clear()
            await self._one_ended.wait()
            return
        waiting, self._waiting = self._waiting, []
        await self._store.wait({place.call.key for place in waiting} - self._asking)
        await self._start(await self._share(waiting))

    def _is_stopping(self) -> bool:
        """Whether no further call may be started: the run was stopped, or its money is spent."""
        if self._budget_usd is not None and self.progress.cost_usd >= self._budget_usd:
            spent = f"${self.progress.cost_usd:.4f}"
            self.stop(
                BudgetReached(f"the budget of ${self._budget_usd:g} for this start is spent ({spent}).")
            )
        return self._stopped is not None

    # -- one call

    async def _ask(self, place: Place) -> None:
        # A turn lasts until the reply is durable: a crash can cost no more calls than there are turns.
        async with self._turns[place.slot.model.endpoint]:
            try:
                await self._ask_in_turn(place)
            except Exception as fault:
                self.stop(fault)  # before whoever is next gets this turn
                raise
            finally:
                self._asking.discard(place.call.key)

    async def _ask_in_turn(self, place: Place) -> None:
        reply = await self._ask_model(place.slot, place.call)
        if reply is None:
            return
        if reply.error is not None:
            await self._store.put(self._run, place.seq, place.slot.number, place.call, reply, None)
            self._count(None)
            return
        await self._read(place, reply, is_stored=False)

    async def _ask_model(self, slot: Slot, call: Call) -> Reply | None:
        """The reply to a call that is ours to ask; none where the run was stopped before its turn came."""
        if self._is_stopping():
            await self._store.release([call.key])
            return None
        self._store.check_room()
        self.progress.in_flight += 1
        try:
            reply = await self._reply_of(slot, call)
        finally:
            self.progress.in_flight -= 1
        self.progress.cost_usd += reply.cost_usd or 0.0
        return reply

    async def _reply_of(self, slot: Slot, call: Call) -> Reply:
        try:
            return await slot.model.ask(call, slot.params)
        except AdjudgeError:
            await self._store.release([call.key])
            raise
        except Exception as fault:  # noqa: BLE001  one broken call must not end a run that costs money
            return Reply(call.key, error=ReplyError("bad_reply", f"{type(fault).__name__}: {fault}"[:500]))

    async def _read_stored(self, place: Place, reply: Reply) -> None:
        self.progress.cached += 1
        async with self._turns[place.slot.model.endpoint]:  # it may have to ask again
            await self._read(place, reply, is_stored=True)

    async def _read(self, place: Place, reply: Reply, *, is_stored: bool) -> None:
        """Read a reply, ask once more where it holds no answer, and store what came of it."""
        seq, item, slot, call, flags = place
        judgment = judge(slot.protocol, item, call, reply, flags, slot.params)
        given = None if is_stored else reply
        if self._may_ask_again(slot, judgment):
            # The reply was paid for: it is kept before the next one is asked for.
            await self._store.put(self._run, seq, slot.number, call, given, None)
            given = None
            second = await self._second_answer(place, reply)
            if second is None:
                return  # left open: the next start of this run asks it
            judgment = with_second_answer(judgment, second)
        is_ours = await self._store.put(self._run, seq, slot.number, call, given, judgment)
        if not is_ours:
            standing = self._store.reply_for([call.key])[call.key]
            judgment = judge(slot.protocol, item, call, standing, flags, slot.params)
            await self._store.put(self._run, seq, slot.number, call, None, judgment)
        self._count(judgment)

    def _may_ask_again(self, slot: Slot, judgment: Judgment) -> bool:
        is_asked = self._plan.options.reask and not slot.model.is_recorded
        return is_asked and needs_another_question(judgment)

    async def _second_answer(self, place: Place, reply: Reply) -> Judgment | None:
        """The judgment of the answer to the question asked again; none where the run was stopped before."""
        slot = place.slot
        call = reask_call(place.call, slot, reply.text)
        second = await stored_reply(self._store, call)
        given = None
        if second is None:
            second = given = await self._ask_model(slot, call)
        if second is None:
            return None
        await self._store.put(self._run, place.seq, self._plan.reask_number(slot), call, given, None)
        if second.error is not None:
            return failed_judgment(slot.protocol, second.error)
        return judge(slot.protocol, place.item, call, second, (), slot.params)

    # -- counting and ending

    def _count(self, judgment: Judgment | None) -> None:
        self.progress.done += 1
        if judgment is None or _has_failed(judgment):
            self.progress.failed += 1
        self._tell()

    def _count_cached(self, number: int) -> None:
        if number:
            self.progress.done += number
            self.progress.cached += number
            self._tell()

    def _tell(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.progress)

    async def _settle(self) -> None:
        """Let calls in flight end as the reason to stop allows: their replies are paid for."""
        if not self._tasks:
            return
        grace = 0.5
        if isinstance(self._stopped, Interrupted | asyncio.CancelledError):
            grace = 1.2  # somebody waits for the end
        elif isinstance(self._stopped, BudgetReached):
            grace = 60.0
        _, late = await asyncio.wait(self._tasks, timeout=grace)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=0.5)


def _turns(concurrency: int) -> int:
    """How many calls may be asked and not yet durable: as many as may be in flight.

    Beyond the usual number twice as many, or a quick host would wait for the disk.
    """
    return concurrency if concurrency <= 64 else 2 * concurrency


def _has_failed(judgment: Judgment) -> bool:
    if any(score.status != "ok" for score in judgment.scores):
        return True
    return judgment.choice_status not in (None, "ok")


async def stored_reply(store: Store, call: Call) -> Reply | None:
    """The reply to a call that is or comes into the store; none where the call is now ours to ask."""
    while True:
        claim = await store.claim([call])
        if claim.mine:
            return None
        if claim.elsewhere:
            await store.wait(claim.elsewhere)
        elif (reply := store.reply_for(claim.answered).get(call.key)) is not None:
            return reply
        # Otherwise it was damaged and is set aside by now: the next claim is ours.

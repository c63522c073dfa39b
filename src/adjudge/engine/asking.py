"""Asking a model one call: within the budget, durable once answered, and followed by questions where the
reply holds no answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import structs

from ..errors import AdjudgeError
from ..models.more_room import was_retried
from ..models.remote import RemoteModel
from ..records import Call, Reply, ReplyError
from ..store import RunRow, Store
from .call_keys import stored_reply, with_more_room
from .plan import Plan, PlannedCall
from .progress import Progress
from .reask_prompt import reask_call
from .spending import Spending

Conversation = list[tuple[Call, Reply]]
"""A call with its reply, and the follow-up questions with theirs."""


def needs_more_room(planned: PlannedCall, stored: Reply) -> bool:
    """Whether a stored reply was cut off before its answer, at a limit that the user allows to raise."""
    if not isinstance(planned.model, RemoteModel) or was_retried(stored, planned.params):
        return False
    return planned.model.is_cut_off(stored, planned.params)


def stored_for_nothing(stored: Reply) -> Reply:
    """A reply that is asked for again, without the tokens and the cost: the run that has it counts them."""
    return structs.replace(stored, tokens_in=0, tokens_out=0, cost_usd=0.0)


class Asking:
    """The calls of one start of a run, each asked when its turn comes."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        run: RunRow,
        spending: Spending,
        progress: Progress,
        may_ask: Callable[[], Awaitable[bool]],
    ) -> None:
        """`may_ask` waits for room in the budget; it is false where the run stops before."""
        self._plan, self._store, self._run = plan, store, run
        self._spending, self._progress, self._may_ask = spending, progress, may_ask

    async def ask(self, planned: PlannedCall, call: Call, paid: Reply | None = None) -> Reply | None:
        """The reply to a call that is ours to make; none where the run was stopped before its turn came.

        `paid` is a reply from a batch or another run that was cut off before its answer.
        """
        if not await self._may_ask():
            await self._store.release([call.key])
            return None
        self._store.check_room()
        self._progress.in_flight += 1
        self._spending.start()
        cost = None
        try:
            reply = await self._reply_of(planned, call, paid)
            earlier = 0.0 if paid is None else paid.cost_usd or 0.0
            cost = max(0.0, (reply.cost_usd or 0.0) - earlier)  # a budget never grows
        finally:
            self._progress.in_flight -= 1
            self._spending.end(cost)
        self._progress.cost_usd += cost
        return reply

    async def _reply_of(self, planned: PlannedCall, call: Call, paid: Reply | None) -> Reply:
        if call.is_ruled:
            return Reply(call.key, text=call.target or "", finish="stop")
        try:
            if paid is not None and isinstance(planned.model, RemoteModel):
                return await planned.model.ask_after(call, planned.params, paid)
            return await planned.model.ask(call, planned.params)
        except AdjudgeError:
            await self._store.release([call.key])
            raise
        except Exception as fault:  # noqa: BLE001  one broken call must not end a run that costs money
            return Reply(call.key, error=ReplyError("bad_reply", f"{type(fault).__name__}: {fault}"[:500]))

    async def durable_reply(
        self, planned: PlannedCall, call: Call, seq: int, index: int, stored: Reply | None
    ) -> Reply | None:
        """The reply to a call, asked where none is stored, and stored as one of an item's calls; none where
        the run was stopped before.
        """
        paid = None
        if stored is not None and needs_more_room(planned, stored):
            call, paid = with_more_room(call), stored_for_nothing(stored)
            stored = await stored_reply(self._store, call)
        reply = stored or await self.ask(planned, call, paid)
        if reply is not None:
            await self._store.put(self._run, seq, index, call, None if stored is reply else reply, None)
        return reply

    def may_follow_up(self, planned: PlannedCall, reply: Reply) -> bool:
        """Whether the judge can be asked again after this reply, and the user allows it."""
        can_answer = not (planned.model.is_recorded or planned.model.asks_questions) and reply.error is None
        return can_answer and self._plan.options.reask > 0

    async def follow_up(
        self,
        planned: PlannedCall,
        conversation: Conversation,
        seq: int,
        index_of: Callable[[int], int],
        is_answered: Callable[[Conversation], bool],
    ) -> Conversation | None:
        """The conversation with as many follow-up questions as it needs and the user allows; `index_of` is
        the call index of the first, second or third.

        None where the run was stopped before one of them was answered: its next start asks it.
        """
        for number in range(1, self._plan.options.reask + 1):
            if is_answered(conversation):
                break
            call, reply = conversation[-1]
            call = reask_call(call, planned, reply.text)
            stored = await stored_reply(self._store, call)
            next_reply = await self.durable_reply(planned, call, seq, index_of(number), stored)
            if next_reply is None:
                return None
            self._progress.further += stored is None
            if next_reply.error is not None:
                break
            conversation = [*conversation, (call, next_reply)]
        return conversation

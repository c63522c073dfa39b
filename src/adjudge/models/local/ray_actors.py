"""Which Ray actor is asked a call, and what becomes of the calls of an actor that dies."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from msgspec import Struct

from ...errors import HostDown, ModelError
from ...records import Call
from ..base import Parameters, failed
from ..likelihood_passages import passages_of
from .local_model import n_shared
from .ray_actor import ActorAnswer

MOST_LOSSES = 3
"""A call whose actor died so often has failed: it may be the reason."""

LONGEST_LEAD = 16
"""An actor that knows a source is asked about it while it has at most so many more calls than another."""

_SOURCE_CHARACTERS = 100
_MOST_SOURCES = 10_000


class ActorLost(Exception):
    """An actor or its node died; its calls can be asked elsewhere."""


class _Actor(Struct, eq=False):
    is_ready: bool = False
    n_asked: int = 0
    n_lives: int = 0


class Actors:
    """Gives calls to `n` actors, those of one source to the same one, so that its prefix stays cached.

    `start` returns when the actor of a number is there, again after it died; `ask` asks it a call. Both raise
    `ActorLost` where it died.
    """

    def __init__(
        self,
        n: int,
        *,
        start: Callable[[int], Awaitable[None]],
        ask: Callable[[int, Call, Parameters], Awaitable[ActorAnswer]],
        patience_seconds: float,
    ) -> None:
        self._actors = [_Actor() for _ in range(n)]
        self._start, self._ask = start, ask
        self._patience_seconds = patience_seconds
        self.n_lost = 0
        self._losses_in_a_row = 0
        self._reason = "no actor was started"
        self._changed = asyncio.Condition()
        self._one_lost_call = asyncio.Lock()
        self._of_source: dict[str, int] = {}
        self._common: str | None = None

    async def run(self) -> None:
        """Start actors, again where they died, until cancelled; `ModelError` where they cannot work."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            for number in range(len(self._actors)):
                group.create_task(self._keep(number))

    async def ask(self, call: Call, params: Parameters) -> ActorAnswer:
        """The answer of an actor; `ModelError` where the run must stop.

        Calls that were lost with their actor are asked again one at a time, so that a call that kills actors
        takes no other with it more than once.
        """
        loss: ActorLost | None = None
        for n_losses in range(MOST_LOSSES):
            try:
                async with self._one_lost_call if n_losses else contextlib.nullcontext():
                    return await self._ask_once(call, params)
            except ActorLost as fault:
                loss = fault
        message = f"{MOST_LOSSES} Ray actors died while they had this call: {loss}"
        return ActorAnswer(failed(call, "server", message[:500]))

    async def _ask_once(self, call: Call, params: Parameters) -> ActorAnswer:
        async with self._changed:
            await self._changed.wait_for(lambda: any(actor.is_ready for actor in self._actors))
        number = self._choose(self._source_of(call))
        actor = self._actors[number]
        life = actor.n_lives
        actor.n_asked += 1
        try:
            answer = await self._ask(number, call, params)
            if answer.has_no_model:
                raise ActorLost("it died, and was restarted without its model")
        except ActorLost as loss:
            if actor.is_ready and actor.n_lives == life:
                await self._note(actor, loss)
            raise
        finally:
            actor.n_asked -= 1
        if answer.fault:
            raise ModelError(answer.fault)
        self._losses_in_a_row = 0
        return answer

    def _choose(self, source: str) -> int:
        """The actor that knows the source, unless it has much more to do or another has nothing to do."""
        ready = {number: actor.n_asked for number, actor in enumerate(self._actors) if actor.is_ready}
        idlest = min(ready, key=ready.__getitem__)
        known = self._of_source.get(source, idlest)
        is_free = known in ready and (ready[idlest] > 0 or ready[known] == 0)
        if is_free and ready[known] <= ready[idlest] + LONGEST_LEAD:
            idlest = known
        if source:
            self._of_source[source] = idlest
            if len(self._of_source) > _MOST_SOURCES:
                del self._of_source[next(iter(self._of_source))]
        return idlest

    def _source_of(self, call: Call) -> str:
        """What distinguishes the prompts of one source: their first characters after those that all prompts
        share.

        Generated replies have none: the prompt of a rubric shares little beyond the rubric.
        """
        if call.kind != "likelihood":
            return ""
        prompt = passages_of(call)[0].prompt
        common = prompt if self._common is None else self._common
        self._common = common[: n_shared(common, prompt)]
        start = len(self._common)
        return prompt[start : start + _SOURCE_CHARACTERS]

    async def _keep(self, number: int) -> None:
        """One life of an actor after the other."""
        actor = self._actors[number]
        while True:
            try:
                await self._start(number)
            except ActorLost as loss:
                await self._note(actor, loss)
            else:
                async with self._changed:
                    actor.is_ready = True
                    self._changed.notify_all()
                    await self._changed.wait_for(lambda: not actor.is_ready)
            if self._losses_in_a_row > len(self._actors) + 2 * MOST_LOSSES:
                died = f"{self._losses_in_a_row} Ray actors died one after the other without a reply"
                advice = "The memory of a node may be too small: use fewer actors with --replicas N."
                raise ModelError(f"{died}: {self._reason}. {advice}")

    async def _note(self, actor: _Actor, loss: ActorLost) -> None:
        self.n_lost += 1
        self._losses_in_a_row += 1
        self._reason = str(loss)
        actor.n_lives += 1
        async with self._changed:
            actor.is_ready = False
            self._changed.notify_all()

    async def _watch(self) -> None:
        """Stop where no actor has been ready for too long."""
        last_ready = time.monotonic()
        while True:
            await asyncio.sleep(min(1.0, self._patience_seconds / 4 + 0.01))
            down = time.monotonic() - last_ready
            if any(actor.is_ready for actor in self._actors):
                last_ready = time.monotonic()
            elif down > self._patience_seconds:
                raise HostDown(
                    f"no Ray actor has been ready for {down:.0f} seconds: {self._reason}. "
                    "Check with ray status that the cluster has free CPUs."
                )

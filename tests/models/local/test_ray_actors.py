"""Which Ray actor is asked a call, and what happens when actors die.

Actors are stood in for here; `tests/engine/test_proof_ray.py` uses Ray itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from adjudge.errors import HostDown, ModelError
from adjudge.models import Parameters
from adjudge.models.local.ray_actor import Actor, ActorAnswer, Spec
from adjudge.models.local.ray_actors import LONGEST_LEAD, MOST_LOSSES, ActorLost, Actors
from adjudge.records import Call, Reply
from local_judge import call

QUESTION = "\n\nThe response below was written from the text above.\n\nResponse:\n\n"


def about(source: str, number: int = 0) -> Call:
    return call(f"{source * 20}{QUESTION}", f"response {number}", key=f"k{number}")


class Fleet:
    """Stands in for Ray: `dies` says whether an actor dies of a call."""

    def __init__(self, dies: Callable[[int, Call], bool] = lambda _actor, _call: False) -> None:
        self.dies = dies
        self.n_started = 0
        self.asked: list[tuple[int, str]] = []
        self.lives: Counter[int] = Counter()

    async def start(self, _number: int) -> None:
        self.n_started += 1

    async def ask(self, number: int, asked: Call, _params: Parameters) -> ActorAnswer:
        self.asked.append((number, asked.key))
        life = self.lives[number]
        await asyncio.sleep(0)
        if self.dies(number, asked):
            self.lives[number] += 1
        await asyncio.sleep(0)
        if self.lives[number] != life:  # whatever else it had in hand is lost too
            raise ActorLost("killed")
        return ActorAnswer(Reply(asked.key, f"reply to {asked.key}"))


def answers_of(fleet: Any, calls: Sequence[Call], n: int = 2, patience: float = 60.0) -> list[ActorAnswer]:
    async def run() -> list[ActorAnswer]:
        actors = Actors(n, start=fleet.start, ask=fleet.ask, patience_seconds=patience)
        working = asyncio.create_task(actors.run())
        asking = asyncio.gather(*(actors.ask(one, Parameters()) for one in calls))
        await asyncio.wait((working, asking), return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            working.cancel()
            return asking.result()
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
        fault = working.exception()
        assert isinstance(fault, BaseExceptionGroup)
        raise fault.exceptions[0]

    return asyncio.run(asyncio.wait_for(run(), 30))


SOURCES = ("Zebras run.", "Yaks walk.")
"""Asked about first: they teach which text all prompts share."""


def test_an_actor_is_asked_all_calls_about_its_source() -> None:
    fleet = Fleet()
    names = [*SOURCES, *["Bees fly.", "Cats nap."] * 6]
    answers_of(fleet, [about(name, number) for number, name in enumerate(names)])
    actor_of = {key: actor for actor, key in fleet.asked}
    bees, cats = ({actor_of[f"k{number}"] for number in range(first, 14, 2)} for first in (2, 3))
    assert len(bees) == len(cats) == 1
    assert bees != cats


def test_an_actor_with_nothing_to_do_takes_part_in_the_source_of_another() -> None:
    fleet = Fleet()
    answers_of(fleet, [about(name, number) for number, name in enumerate((*SOURCES, *["Bees fly."] * 40))])
    per_actor = Counter(actor for actor, _ in fleet.asked)
    assert max(per_actor.values()) - min(per_actor.values()) <= LONGEST_LEAD + 1


def test_generated_replies_are_spread_evenly() -> None:
    fleet = Fleet()
    answers_of(fleet, [call(f"Rate {number}", None, "generate", key=f"k{number}") for number in range(40)], 4)
    assert set(Counter(actor for actor, _ in fleet.asked).values()) == {10}


def test_the_calls_of_a_dead_actor_are_asked_again_and_the_actor_is_restarted() -> None:
    killed: list[int] = []

    def dies(actor: int, asked: Call) -> bool:
        if actor == 0 and asked.key == "k7" and not killed:
            killed.append(actor)
            return True
        return False

    fleet = Fleet(dies)
    calls = [call(f"Rate {number}", None, "generate", key=f"k{number}") for number in range(50)]
    calls[7], calls[8] = calls[8], calls[7]  # the actors are asked in turn
    answers = answers_of(fleet, calls)
    assert [answer.reply.text for answer in answers] == [f"reply to {one.key}" for one in calls]
    assert fleet.n_started == 3
    times = Counter(key for _, key in fleet.asked)
    assert set(times.values()) == {1, 2}  # those in flight at the dead one, and no other, twice


class Restarted(Fleet):
    """Ray restarts an actor before its death is known: a call then finds it without a model."""

    def __init__(self) -> None:
        super().__init__()
        self.has_model = [False, False]
        self.n_early = 0

    async def start(self, number: int) -> None:
        await super().start(number)
        self.has_model[number] = True

    async def ask(self, number: int, asked: Call, params: Parameters) -> ActorAnswer:
        if asked.key == "k7" and not self.n_early:
            self.has_model[number] = False
        if self.has_model[number]:
            return await super().ask(number, asked, params)
        self.n_early += 1
        actor = Actor(Spec("local:x", "x.gguf", "", None, 1))
        return await actor.ask(asked, params)


def test_an_actor_that_was_restarted_gets_its_model_before_it_is_asked_again() -> None:
    fleet = Restarted()
    calls = [call(f"Rate {number}", None, "generate", key=f"k{number}") for number in range(50)]
    answers = answers_of(fleet, calls)
    assert [answer.reply.text for answer in answers] == [f"reply to {one.key}" for one in calls]
    assert fleet.n_early >= 1
    assert fleet.n_started == 3


def test_a_call_that_kills_every_actor_fails_and_takes_no_other_with_it() -> None:
    calls = [call(f"Rate {number}", None, "generate", key=f"k{number}") for number in range(40)]
    answers = answers_of(Fleet(lambda _actor, asked: asked.key == "k13"), calls)
    assert [answer.reply.call for answer in answers if answer.reply.error is not None] == ["k13"]
    error = answers[13].reply.error
    assert error is not None
    assert f"{MOST_LOSSES} Ray actors died" in error.message


def test_actors_that_all_die_at_once_stop_the_run() -> None:
    with pytest.raises(ModelError, match="died one after the other without a reply: killed"):
        answers_of(Fleet(lambda _actor, _call: True), [about("Bees fly.", number) for number in range(100)])


def test_a_cluster_without_room_for_an_actor_stops_the_run_after_the_patience() -> None:
    class NoRoom(Fleet):
        async def start(self, _number: int) -> None:
            await asyncio.Event().wait()

    with pytest.raises(HostDown, match=r"no Ray actor has been ready .* ray status"):
        answers_of(NoRoom(), [about("Bees fly.")], patience=0.05)


def test_an_actor_without_room_holds_up_no_other() -> None:
    class HalfRoom(Fleet):
        async def start(self, number: int) -> None:
            if number:
                await asyncio.Event().wait()

    fleet = HalfRoom()
    answers_of(fleet, [about("Bees fly.", number) for number in range(9)])
    assert {actor for actor, _ in fleet.asked} == {0}


def test_an_actor_that_says_stop_stops_the_run() -> None:
    class Faulty(Fleet):
        async def ask(self, _number: int, asked: Call, _params: Parameters) -> ActorAnswer:
            return ActorAnswer(Reply(asked.key, ""), fault="on the Ray node n1: too little memory")

    with pytest.raises(ModelError, match="on the Ray node n1: too little memory"):
        answers_of(Faulty(), [about("Bees fly.")])

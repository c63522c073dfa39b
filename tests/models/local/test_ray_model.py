"""Local models in Ray actors: which call goes to which actor, what happens when actors die, and mistakes in a command.

Actors are stood in for here; `tests/engine/test_proof_ray.py` uses Ray itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adjudge.cli.parser import with_address
from adjudge.errors import DataError, HostDown, ModelError
from adjudge.models import LocalModel, Parameters, parse_model
from adjudge.models.local import on_ray
from adjudge.models.local import ray_model as ray_module
from adjudge.models.local.ray_model import (
    LONGEST_STREAK,
    MOST_LOSSES,
    TO_RAY,
    ActorLost,
    Answers,
    Asked,
    Pool,
    Spec,
    WaitingCalls,
    cached_file,
    file_on_node,
    frame,
    read_frame,
    receive,
)
from adjudge.records import Call, Reply
from adjudge.run_options.check import check_options
from adjudge.run_options.options import RunOptions
from local_judge import call

QUESTION = "\n\nThe response below was written from the text above.\n\nResponse:\n\n"


def asked(number: int, source: str = "A text.", criterion: str = "") -> Asked:
    prompt = f"{source * 20}{QUESTION}{criterion}"
    return Asked(number, call(prompt, f"response {number}", key=f"k{number}"), Parameters())


def taken(waiting: WaitingCalls, actor: int, most: int) -> list[int]:
    batch = asyncio.run(waiting.take(actor, lambda: most))
    return [one.number for one in batch]


def waiting_calls(*sources: str) -> WaitingCalls:
    """Calls numbered from 0, after two that teach which text all prompts share."""
    waiting = WaitingCalls()
    for number, source in enumerate(("Zebras run.", "Yaks walk.")):
        waiting.add(asked(-2 + number, source))
    taken(waiting, 99, 2)
    waiting.release(99)
    for number, source in enumerate(sources):
        waiting.add(asked(number, source))
    return waiting


# -- which call goes to which actor


def test_an_actor_gets_the_calls_of_one_source() -> None:
    waiting = waiting_calls("Bees fly.", "Cats nap.", "Bees fly.", "Cats nap.", "Bees fly.", "Cats nap.")
    assert taken(waiting, 0, 2) == [0, 2]
    assert taken(waiting, 1, 2) == [1, 3]
    assert taken(waiting, 0, 1) == [4]
    assert taken(waiting, 1, 1) == [5]


def test_criteria_of_one_source_stay_together() -> None:
    waiting = waiting_calls()
    for number, (source, criterion) in enumerate(
        [("Bees fly.", "true?"), ("Cats nap.", "true?"), ("Bees fly.", "clear?"), ("Cats nap.", "clear?")]
    ):
        waiting.add(asked(number, source, criterion))
    assert taken(waiting, 0, 2) == [0, 2]


def test_an_actor_without_a_source_of_its_own_shares_the_largest() -> None:
    waiting = waiting_calls(*["Bees fly."] * 5)
    assert taken(waiting, 0, 2) == [0, 1]
    assert taken(waiting, 1, 2) == [2, 3]


def test_one_hot_source_does_not_starve_the_others() -> None:
    waiting = waiting_calls(*["Bees fly."] * 1000, "Cats nap.")
    first = taken(waiting, 0, LONGEST_STREAK + 1)
    assert 1000 in first


def test_calls_for_generated_replies_are_handed_out_in_their_order() -> None:
    waiting = WaitingCalls()
    for number in range(4):
        waiting.add(Asked(number, call(f"Rate {number}", None, "generate"), Parameters()))
    assert taken(waiting, 0, 2) == [0, 1]
    assert taken(waiting, 1, 9) == [2, 3]


def test_a_call_that_was_lost_goes_first_and_alone() -> None:
    waiting = waiting_calls("Bees fly.", "Bees fly.")
    waiting.add_lost([asked(7), asked(8)])
    assert taken(waiting, 0, 9) == [7]
    assert taken(waiting, 1, 9) == [8]
    assert taken(waiting, 0, 9) == [0, 1]


# -- actors that answer, and actors that die


class Actors:
    """Stands in for Ray: actors are numbers, and `dies` says which of them dies with which batch."""

    def __init__(self, dies: Callable[[int, list[int]], bool] = lambda _actor, _batch: False) -> None:
        self.dies = dies
        self.n_started = 0
        self.batches: list[list[int]] = []

    async def start(self) -> int:
        self.n_started += 1
        return self.n_started

    async def send(self, actor: int, batch: list[Asked]) -> Answers:
        numbers = [one.number for one in batch]
        self.batches.append(numbers)
        await asyncio.sleep(0)
        if self.dies(actor, numbers):
            raise ActorLost("killed")
        return Answers([Reply(one.call.key, f"reply {one.number}") for one in batch])


def replies_of(
    actors: Any, n_calls: int, n_actors: int = 2, patience: float = 60.0
) -> dict[int, list[Reply]]:
    """What a pool answers to calls, by number."""
    replies: dict[int, list[Reply]] = {}

    async def run() -> None:
        is_done = asyncio.Event()

        def answered(new: list[tuple[int, Reply]], _warnings: list[str]) -> None:
            for number, reply in new:
                replies.setdefault(number, []).append(reply)
            if len(replies) == n_calls:
                is_done.set()

        pool = Pool(
            n_actors, start=actors.start, send=actors.send, answered=answered,
            patience_seconds=patience, pause_seconds=0.0,
        )  # fmt: skip
        for number in range(n_calls):
            pool.waiting.add(asked(number, f"Source {number % 3}."))
        working = asyncio.create_task(pool.run())
        await asyncio.wait((working, asyncio.create_task(is_done.wait())), return_when="FIRST_COMPLETED")
        if working.done():
            raise (working.exception() or AssertionError).exceptions[0]  # type: ignore[union-attr]
        working.cancel()

    asyncio.run(asyncio.wait_for(run(), 30))
    return replies


def test_every_call_is_answered_once_and_in_batches() -> None:
    actors = Actors()
    replies = replies_of(actors, 300)
    assert sorted(replies) == list(range(300))
    assert all([reply.text for reply in got] == [f"reply {number}"] for number, got in replies.items())
    assert len(actors.batches) < 60
    assert actors.n_started == 2


def test_the_calls_of_a_dead_actor_are_asked_again_elsewhere() -> None:
    actors = Actors(lambda actor, _batch: actor == 1)
    replies = replies_of(actors, 50)
    assert {number: [reply.text for reply in got] for number, got in replies.items()} == {
        number: [f"reply {number}"] for number in range(50)
    }
    assert actors.n_started == 3
    counts = Counter(number for batch in actors.batches for number in batch)
    lost = next(batch for batch in actors.batches if counts[batch[0]] > 1)
    assert all(counts[number] == (2 if number in lost else 1) for number in range(50))


def test_a_call_that_kills_every_actor_fails_and_takes_no_other_with_it() -> None:
    replies = replies_of(Actors(lambda _actor, batch: 13 in batch), 40)
    assert [number for number, got in replies.items() if got[0].error is not None] == [13]
    error = replies[13][0].error
    assert error is not None
    assert f"{MOST_LOSSES} Ray actors died" in error.message


def test_actors_that_all_die_at_once_stop_the_run() -> None:
    with pytest.raises(ModelError, match="died one after the other without a reply: killed"):
        replies_of(Actors(lambda _actor, _batch: True), 100)


def test_a_cluster_without_room_for_an_actor_stops_the_run_after_the_patience() -> None:
    class NoRoom(Actors):
        async def start(self) -> int:
            await asyncio.Event().wait()
            raise AssertionError

    with pytest.raises(HostDown, match=r"no Ray actor has been ready .* ray status"):
        replies_of(NoRoom(), 3, patience=0.05)


def test_an_actor_that_says_stop_stops_the_run() -> None:
    class Faulty(Actors):
        async def send(self, _actor: int, _batch: list[Asked]) -> Answers:
            return Answers([], fault="on the Ray node n1: too little memory")

    with pytest.raises(ModelError, match="on the Ray node n1: too little memory"):
        replies_of(Faulty(), 3)


# -- weights on nodes


def spec_of(file: Path, text: bytes) -> Spec:
    return Spec("local:x", str(file), hashlib.sha256(text).hexdigest(), None, 1)


def test_a_node_uses_the_file_that_the_user_named_only_if_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "model.gguf"
    spec = spec_of(file, b"weights")
    assert file_on_node(spec) is None
    file.write_bytes(b"other weights")
    assert file_on_node(spec) is None
    file.write_bytes(b"weights")
    assert file_on_node(spec) == file


def test_a_node_receives_weights_once_and_checks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / "cache"))
    spec = spec_of(tmp_path / "absent.gguf", b"weights")
    with pytest.raises(ModelError, match="changed while they were sent"):
        receive(spec, iter([b"wei", b"rd"]))
    assert file_on_node(spec) is None
    receive(spec, iter([b"wei", b"ghts"]))
    assert file_on_node(spec) == cached_file(spec)
    receive(spec, iter(()))  # nothing is read: they are there
    assert cached_file(spec).read_bytes() == b"weights"
    assert [path.suffix for path in cached_file(spec).parent.iterdir() if path.name.startswith(".")] == []


# -- the pipe, identity, and mistakes


def test_a_call_comes_through_the_pipe_unchanged() -> None:
    sent = asked(3)

    async def through() -> list[Any]:
        reader = asyncio.StreamReader()
        reader.feed_data(frame(sent) + frame(sent)[:-1])
        reader.feed_eof()
        return [await read_frame(reader, TO_RAY), await read_frame(reader, TO_RAY)]

    got, cut_off = asyncio.run(through())
    assert (got.number, got.call, got.params) == (3, sent.call, sent.params)
    assert cut_off is None


def test_the_identity_of_a_call_does_not_depend_on_ray() -> None:
    local = parse_model("judge=local")
    model = on_ray(local, "local", 3, patience_seconds=1)
    assert (model.identity, model.name, model.spec) == (local.identity, "judge", "local")
    assert model.n_hosts == 3
    asyncio.run(model.close())


@pytest.mark.parametrize(
    ("spec", "reason"), [("openai:x", "over the network"), ("fake:text=4", "needs no computation")]
)
def test_ray_is_for_models_that_run_in_the_process(spec: str, reason: str) -> None:
    with pytest.raises(ModelError, match=f"--ray is for models that run in the process .* {reason}"):
        on_ray(parse_model(spec), "local", 1, patience_seconds=1)


def test_without_ray_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_module.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(LocalModel, "check", lambda *_arguments: None)
    model = on_ray(parse_model("local"), "local", 1, patience_seconds=1)
    with pytest.raises(ModelError, match=r"not installed\. Install it: pip install 'adjudge\[ray\]'"):
        model.check(Parameters(), ("likelihood",))


def test_a_cluster_that_cannot_be_reached_is_named_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"weights")
    model = on_ray(LocalModel("local:x", file), "127.0.0.1:1", 1, patience_seconds=1)

    async def ask() -> Reply:
        try:
            return await model.ask(call("a", "b"), Parameters())
        finally:
            await model.close()

    with pytest.raises(
        ModelError, match=r"the Ray cluster at 127\.0\.0\.1:1 cannot be reached: .*refused.* ray status"
    ):
        asyncio.run(ask())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicas": 2}, "--replicas is the number of Ray actors: add --ray"),
        ({"ray": "local", "replicas": 0}, "--replicas 0: must be at least 1"),
        ({"ray": "somewhere"}, "--ray somewhere: write the address"),
        ({"ray": "auto"}, "--ray auto: add how many actors"),
        ({"ray": "ray://head:10001"}, "--ray ray://head:10001: add how many actors"),
    ],
)
def test_mistakes_in_the_options_are_reported_before_anything_is_read(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError) as error:
        check_options(RunOptions(**options))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--ray items.jsonl", "--ray=local items.jsonl"),
        ("items.jsonl --ray", "items.jsonl --ray=local"),
        ("--ray head:6379 items.jsonl", "--ray head:6379 items.jsonl"),
        ("--ray --replicas 2", "--ray=local --replicas 2"),
        ("--ray ray://[::1]:10001", "--ray ray://[::1]:10001"),
        ("--ray auto", "--ray auto"),
        ("", ""),
    ],
)
def test_the_address_after_the_flag_may_be_left_out(given: str, meant: str) -> None:
    assert with_address(given.split()) == meant.split()


def test_keys_of_the_environment_do_not_reach_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.setenv("HF_TOKEN", "hf-x")
    environment = ray_module._environment(True)
    assert not {"OPENAI_API_KEY", "HF_TOKEN"} & environment.keys()
    assert environment["PATH"] == os.environ["PATH"]
    assert environment["RAY_USAGE_STATS_ENABLED"] == "0"
    assert "RAY_AUTH_TOKEN" not in ray_module._environment(False)


def test_a_call_goes_through_the_pipe_without_functions() -> None:
    params = Parameters(is_cut_off=lambda _reply: True)
    with pytest.raises(Exception, match="unsupported"):
        frame(Asked(1, Call("k", "i", "p", (), "m", ()), params))
    assert frame(Asked(1, Call("k", "i", "p", (), "m", ()), msgspec.structs.replace(params, is_cut_off=None)))

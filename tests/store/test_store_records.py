"""What goes into a store comes out the same; and the records from which the other store tests are built."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.errors import StoreError
from adjudge.records import (
    Call,
    Item,
    Judgment,
    Label,
    Message,
    Reply,
    ReplyError,
    Score,
    TokenLogprob,
    TopToken,
)
from adjudge.store import RunRow, Store, open_store
from adjudge.untrusted import has_control

MANIFEST = {
    "items": {"file": "items.jsonl", "sha256": "ab" * 32},
    "models": ["fake:text=4"],
    "command": "adjudge run",
}


def a_call(number: int, *, sample: int = 0, text: str = "Judge this.") -> Call:
    key = hashlib.blake2b(f"{number} {sample} {text}".encode(), digest_size=16).hexdigest()
    messages = (Message("system", "You judge."), Message("user", f"{text} {number}"))
    return Call(
        key, f"item-{number}", "acme/polite@0123", ("polite",), "fake:text=4", messages, sample=sample
    )


def a_reply(call: Call, *, text: str = "Polite. 4", cost: float | None = 0.25) -> Reply:
    return Reply(
        call.key,
        text,
        tokens_in=10,
        tokens_out=5,
        cost_usd=cost,
        seconds=0.5,
        model_name="fake",
        finish="stop",
    )


def an_error(call: Call) -> Reply:
    return Reply(call.key, error=ReplyError("server", "500 from the host"))


def a_judgment(call: Call, value: float = 4.0) -> Judgment:
    return Judgment(
        (Score("polite", "ok", value=value, how="strict", span=(8, 9)),), call.key, explanation="Polite."
    )


def an_item(number: int) -> Item:
    return Item(
        f"item-{number}", {"response": f"Thank you {number}."}, system="acme", group="g", line=number + 1
    )


def started(store: Store, name: str | None = "first", identity: str = "one") -> RunRow:
    return store.start_run(name, MANIFEST, identity)


async def put_answered(store: Store, run: RunRow, first: int, count: int) -> None:
    """Items with one call each: stored, claimed, answered."""
    await store.put_items(run, first, [an_item(number) for number in range(first, first + count)])
    calls = [a_call(number) for number in range(first, first + count)]
    assert (await store.claim(calls)).mine == {call.key for call in calls}
    puts = [
        store.put(run, number, 0, call, a_reply(call), a_judgment(call))
        for number, call in enumerate(calls, first)
    ]
    assert all(await asyncio.gather(*puts))


texts = st.text(max_size=3000)
logprobs = st.none() | st.lists(
    st.builds(
        TokenLogprob,
        st.text(max_size=5),
        st.floats(max_value=0, allow_nan=False),
        st.lists(
            st.builds(TopToken, st.text(max_size=5), st.floats(max_value=0, allow_nan=False)), max_size=2
        ).map(tuple),
    ),
    max_size=5,
).map(tuple)
replies = st.builds(
    Reply,
    call=st.just(""),
    text=texts,
    reasoning=texts,
    logprobs=logprobs,
    tokens_in=st.integers(0, 10**9),
    cost_usd=st.none() | st.floats(0, 100),
    seconds=st.floats(0, 1e6) | st.just(3),
    model_name=st.text(max_size=30),
    fingerprint=st.text(max_size=30),
    finish=st.none() | st.text(max_size=10),
)


@pytest.mark.slow
@given(reply=replies, prompt=texts, target=st.none() | texts)
def test_any_reply_and_any_prompt_come_back_as_they_were(
    reply: Reply, prompt: str, target: str | None
) -> None:
    call = msgspec.structs.replace(a_call(1, text=prompt), target=target, parent="the first answer")
    reply = msgspec.structs.replace(reply, call=call.key)

    async def put(store: Store, run: RunRow) -> None:
        await store.put_items(run, 0, [an_item(1)])
        await store.put(run, 0, 0, call, reply, a_judgment(call))

    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "s.db") as store:
        run = started(store)
        asyncio.run(put(store, run))
        assert store.reply_for([call.key]) == {call.key: reply}
        assert [(asked.call, asked.reply) for asked in store.asked(run)] == [(call, reply)]
        assert store.call(run, call.key) == call


def test_every_text_of_the_attacks_is_stored_byte_for_byte(
    tmp_path: Path, attacks: list[dict[str, str]]
) -> None:
    """As an item's id, system, group and field, as a reply, as an explanation and as the name of a run."""
    payloads = [attack["payload"] for attack in attacks if attack.get("payload")]
    assert len(payloads) > 50
    items = [Item(text, {"response": text, text: (text,)}, text, None, None, text) for text in payloads]
    calls = [a_call(number, text=text) for number, text in enumerate(payloads)]

    async def put(store: Store, run: RunRow) -> None:
        await store.put_items(run, 0, items)
        for number, (call, text) in enumerate(zip(calls, payloads, strict=True)):
            judgment = msgspec.structs.replace(a_judgment(call), explanation=text)
            await store.put(run, number, 0, call, a_reply(call, text=text), judgment)

    with open_store(tmp_path / "s.db") as store:
        for text in payloads:
            if text.strip() and len(text) <= 200 and not has_control(text):
                assert store.start_run(text, MANIFEST, "one").name == text
        run = started(store)
        asyncio.run(put(store, run))
        assert list(store.items(run)) == items
        assert [asked.reply.text for asked in store.asked(run)] == payloads
        assert [judged.judgment.explanation for judged in store.judgments(run) if judged.judgment] == payloads
    assert [path.name for path in tmp_path.iterdir()] == ["s.db"]


def test_text_that_is_not_unicode_fails_alone(tmp_path: Path) -> None:
    good, bad = a_call(1), a_call(2)

    async def put(store: Store, run: RunRow) -> tuple[object, object]:
        return await asyncio.gather(
            store.put(run, 0, 0, good, a_reply(good), a_judgment(good)),
            store.put(run, 1, 0, bad, a_reply(bad, text="half a pair: \ud83d"), None),
            return_exceptions=True,
        )

    with open_store(tmp_path / "s.db") as store:
        run = started(store)
        first, second = asyncio.run(put(store, run))
        assert first is True
        assert isinstance(second, StoreError)
        assert "cannot be stored" in str(second)
        assert store.reply_for([good.key, bad.key]).keys() == {good.key}


def test_labels_are_listed_by_run_and_a_later_one_replaces_the_earlier(tmp_path: Path) -> None:
    first = Label("1", "polite", "ann", 4.0)
    pair = Label("1", "overall", "ann", "tie", subject=None, probability=0.5, origin="annotate")
    with open_store(tmp_path / "s.db") as store:
        run = started(store)
        store.put_labels([first, pair], run)
        store.put_labels([msgspec.structs.replace(first, value=2.0)], run)
        store.put_labels([Label("1", "polite", "bob", 3.0)])
        assert store.labels(run) == [pair, msgspec.structs.replace(first, value=2.0)]
        assert len(store.labels()) == 3


@pytest.mark.parametrize("size", [0, 1023, 1024, 5000])
def test_long_and_short_fields_come_back(tmp_path: Path, size: int) -> None:
    transcript = (Message("user", "é" * size), "and a line")
    item = Item("1", {"dialogue": transcript, "empty": ""}, system_a="x", system_b="y")
    with open_store(tmp_path / "s.db") as store:
        run = started(store)

        async def put() -> None:
            await store.put_items(run, 0, [item])

        asyncio.run(put())
        assert list(store.items(run)) == [item]

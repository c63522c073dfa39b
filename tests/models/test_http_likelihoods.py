"""Likelihoods over HTTP: taken from servers that really tell them, refused from those that only seem to."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge.errors import ModelError
from adjudge.models import Network, Parameters, parse_model
from adjudge.models.http_likelihoods import KNOWN_TEXT
from adjudge.records import Call, Message, Reply
from fakeserver import Answer, FakeServer, Request, as_json, error

SOURCE = "The council voted to build a bridge."
LIKELY = re.findall(r"\s*\S+|\s+", f"{KNOWN_TEXT} Paris. {SOURCE} In short:\n{SOURCE}")
NEIGHBOURS = set(pairwise(LIKELY))


def cut(text: str) -> list[str]:
    """The fake model's tokens: words with the space before them, and line breaks."""
    return re.findall(r"\n|[^\S\n]*[^\s]+|[^\S\n]+", text)


def logprob(before: str, token: str) -> float:
    """How likely a word is: much, where it stands behind the same word in what this model has read."""
    return -0.3 - len(token) * 7 % 5 / 2 if (before, token) in NEIGHBOURS else -8.0 - len(before + token) / 50


def tokens_with_logprobs(text: str) -> tuple[list[str], list[float | None]]:
    tokens = cut(text)
    return tokens, [None, *(logprob(*pair) for pair in pairwise(tokens))]


def generated(text: str) -> tuple[str, float]:
    before = cut(text)[-1]
    after = next((b for a, b in sorted(NEIGHBOURS) if a == before), " and")
    return after, logprob(before, after)


def completion(text: str, tokens: list[str], logprobs: list[float | None], **more: Any) -> Answer:
    choice = {"index": 0, "text": text, "logprobs": {"tokens": tokens, "token_logprobs": logprobs}, **more}
    return as_json({"model": "reader-1", "choices": [choice], "usage": {"prompt_tokens": len(tokens)}})


def echoing(request: Request) -> Answer:
    """A server that does what `echo` means."""
    asked = request.json
    if not asked.get("echo"):
        return error(400, "prompt_logprobs is unknown")
    tokens, logprobs = tokens_with_logprobs(asked["prompt"])
    new, likely = generated(asked["prompt"])
    return completion(asked["prompt"] + new, ["<s>", *tokens, new], [None, -0.1, *logprobs[1:], likely])


def extended(request: Request) -> Answer:
    """A server that knows `prompt_logprobs`, and ignores `echo`."""
    asked = request.json
    new, likely = generated(asked["prompt"])
    pairs = zip(*tokens_with_logprobs(asked["prompt"]), strict=True)
    given = [
        None if value is None else {"7": {"logprob": value, "rank": 1, "decoded_token": token}}
        for token, value in pairs
    ]
    more = {
        "prompt_logprobs": [
            {"1": {"logprob": 0.0, "decoded_token": "The"}} if entry is None else entry for entry in given
        ]
    }
    return completion(new, [new], [likely], **(more if "prompt_logprobs" in asked else {}))


def ignoring(request: Request) -> Answer:
    """As llama.cpp's server: `echo` is accepted, but the log-probabilities are those of the generated
    word."""
    new, likely = generated(request.json["prompt"])
    return completion(new, [new], [likely])


def constant(request: Request) -> Answer:
    tokens, _ = tokens_with_logprobs(request.json["prompt"])
    return completion("", [*tokens, " and"], [None, *(-1.0 for _ in tokens)])


def made_up(request: Request) -> Answer:
    """Numbers that know nothing of what stands before: likely where a sentence is, likely where none is."""
    tokens, _ = tokens_with_logprobs(request.json["prompt"])
    new, likely = generated(request.json["prompt"])
    return completion("", [*tokens, new], [None, *(-0.5 - len(token) / 9 for token in tokens[1:]), likely])


def one_too_late(request: Request) -> Answer:
    """The numbers of the tokens before."""
    tokens, logprobs = tokens_with_logprobs(request.json["prompt"])
    new, likely = generated(request.json["prompt"])
    return completion("", [*tokens, new], [None, -0.3, *logprobs[1:-1], likely])


def asked(server: FakeServer, *calls: Call) -> list[Reply]:
    async def run() -> list[Reply]:
        model = parse_model(f"{server.url}/v1#reader")
        try:
            return await asyncio.gather(*(model.ask(call, Parameters()) for call in calls))
        finally:
            await model.close()

    return asyncio.run(run())


def call(target: str, prompt: str = f"{SOURCE} In short:\n") -> Call:
    return Call("k", "1", "p@1", ("c",), "m", (Message("user", prompt),), kind="likelihood", target=target)


@pytest.mark.parametrize("plan", [echoing, extended], ids=["echo", "prompt_logprobs"])
def test_a_server_that_tells_likelihoods_is_asked_for_those_of_the_target(
    plan: Callable[[Request], Answer],
) -> None:
    with FakeServer(plan) as server:
        likely, strange = asked(server, call(SOURCE), call("Purple nine."))
    assert likely.logprobs is not None
    assert [token.token for token in likely.logprobs] == cut(SOURCE)
    whole = cut(f"{SOURCE} In short:\n{SOURCE}")
    expected = [logprob(a, b) for a, b in pairwise(whole)][-len(cut(SOURCE)) :]
    assert [token.logprob for token in likely.logprobs] == expected
    assert likely.model_name == "reader-1"
    assert json.loads(likely.text)["unconditional"] < -0.5
    assert strange.logprobs is not None
    assert max(token.logprob for token in strange.logprobs) < -5


def test_what_was_asked_once_is_not_asked_again() -> None:
    with FakeServer(echoing) as server:
        asked(server, call(SOURCE), call("A bridge."), call(SOURCE, "Other words:\n"))
    prompts = [request.json["prompt"] for request in server.requests]
    # The probe, then for each text what stands before it, and itself: after its prompt and after a line
    # break.
    assert prompts.count(KNOWN_TEXT) == 1
    assert prompts.count(f"\n{SOURCE}") <= 2
    assert {request.path for request in server.requests} == {"/v1/completions"}


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (ignoring, "gave no log-probabilities for the text"),
        (constant, "equally likely"),
        (made_up, "no likelier than its words backwards|differ by"),
        (one_too_late, "differ by"),
        (lambda _request: error(404, "no such path"), "no such path"),
        (
            lambda _request: as_json({"choices": [{"text": "x", "logprobs": {"content": []}}]}),
            "gave no log-prob",
        ),
    ],
    ids=["ignores echo", "constant", "made up", "one too late", "no completions", "another shape"],
)
def test_a_server_that_only_seems_to_tell_them_is_refused_with_what_to_use(
    plan: Callable[[Request], Answer], words: str
) -> None:
    with FakeServer(plan) as server, pytest.raises(ModelError, match=words) as refused:
        asked(server, call(SOURCE), call("A bridge."))
    assert "-m local" in str(refused.value)
    assert len(server.requests) <= 6


def test_a_text_that_the_server_cannot_tell_apart_is_an_error_and_the_others_go_on() -> None:
    with FakeServer(echoing) as server:
        # This fake model joins letters that follow each other: the first word of the text is half a token.
        glued, fine, empty = asked(server, call("ing on.", "They go"), call("A bridge."), call("  "))
    assert glued.error is not None
    assert "spans the end of the prompt" in glued.error.message
    assert fine.error is None
    assert empty.error is not None
    assert "empty" in empty.error.message


def test_a_text_that_is_too_long_for_the_server_is_an_error_of_its_item() -> None:
    def short(request: Request) -> Answer:
        if len(request.json["prompt"]) > 150:
            return error(
                400, "This model's maximum context length is 30 tokens", code="context_length_exceeded"
            )
        return echoing(request)

    with FakeServer(short) as server:
        long, fine = asked(server, call("word " * 50), call("A bridge."))
    assert long.error is not None
    assert long.error.kind == "too_long"
    assert fine.error is None


def test_a_run_by_likelihood_over_http_scores_the_items(tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    rows = [
        {"id": text, "source_text": SOURCE, "generated_response": text} for text in (SOURCE, "Purple nine.")
    ]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with FakeServer(echoing) as server:
        done = adjudge.run(
            items,
            ["gptscore/fluency", "gptscore/accuracy-both"],
            f"{server.url}/v1#reader",
            store=tmp_path / "a.db",
        )
    values = {(result.item, result.criterion): result.value for result in done.results()}
    assert len(values) == 4
    for criterion in ("fluency", "accuracy"):
        good, bad = values[SOURCE, criterion], values["Purple nine.", criterion]
        assert good is not None
        assert bad is not None
        assert good > bad


def test_an_empty_response_among_others_is_a_failure_and_stops_nothing(tmp_path: Path) -> None:
    rows = [
        {"id": name, "source_text": SOURCE, "generated_response": text}
        for name, text in (("full", SOURCE), ("empty", ""), ("short", "Purple nine."))
    ]
    with FakeServer(echoing) as server:
        done = adjudge.run(rows, "gptscore/fluency", f"{server.url}/v1#reader", store=tmp_path / "a.db")
    results = {result.item: result for result in done.results()}
    assert [name for name, result in results.items() if result.value is not None] == ["full", "short"]
    assert results["empty"].status != "ok"
    assert results["empty"].flags == ("empty_response",)


def test_a_server_that_is_not_there_is_reported_as_such() -> None:
    with FakeServer(echoing) as server:
        address = server.url

    async def ask() -> Reply:
        network = Network(backoff_seconds=0.001)
        try:
            return await parse_model(f"{address}/v1#reader", network=network).ask(call(SOURCE), Parameters())
        finally:
            await network.close()

    with pytest.raises(ModelError, match="Check the address"):
        asyncio.run(ask())

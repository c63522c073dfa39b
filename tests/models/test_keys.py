"""A key goes to its own host and turns up nowhere else: a canary over every way in which a call can end."""

from __future__ import annotations

import asyncio
import base64
import logging
import pickle
import traceback
from urllib.parse import quote

import pytest

import fakeserver as fs
from adjudge.errors import AuthError, ModelError
from adjudge.models import Network, Parameters, parse_model
from adjudge.models.keys import KeySource, Secret
from adjudge.records import Call, Message
from fakeserver import Answer, FakeServer

CANARY = "sk-canary/9f8e7d6c5b4a+Q0"
CALL = Call("key-1", "item-1", "p@1", ("clarity",), "m", (Message("user", "Judge this."),))

ECHOES = {
    "plain": CANARY,
    "bearer": f"Bearer {CANARY}",
    "url": quote(CANARY, safe=""),
    "JSON": "".join(f"\\\\u{ord(letter):04x}" for letter in CANARY),
    "JSON in part": CANARY.replace("/", "\\\\/").replace("+", "\\\\u002B"),
    "url in full": "".join(f"%{ord(letter):02x}" for letter in CANARY),
    "url twice": quote(quote(CANARY, safe=""), safe=""),
    "page": "".join(f"&#{ord(letter)};" for letter in CANARY),
    "base64": base64.b64encode(CANARY.encode()).decode(),
    "base64 behind one byte": base64.b64encode(f":{CANARY}:x".encode()).decode(),
    "base64 of basic": base64.b64encode(f"me:{CANARY}".encode()).decode(),
}
LEAKS = [
    CANARY,
    quote(CANARY, safe=""),
    quote(CANARY, safe="")[:12],
    "".join(f"\\u{ord(letter):04x}" for letter in CANARY[:8]),
    "".join(f"%{ord(letter):02x}" for letter in CANARY[:8]),
    "".join(f"&#{ord(letter)};" for letter in CANARY[:8]),
    *(base64.b64encode(b"\0" * n + CANARY.encode())[4:28].decode() for n in range(3)),
]

ENDS: dict[str, Answer] = {
    **{f"{status}": fs.error(status, "KEY") for status in (400, 401, 403, 404, 413, 418, 422, 500)},
    "quota": fs.error(429, "KEY", code="insufficient_quota"),
    "402": fs.error(402, "KEY"),
    "too long": fs.error(400, "KEY context length"),
    "refused parameter": fs.error(400, "Unsupported parameter: 'temperature' KEY", param="temperature"),
    "refused logprobs": fs.error(400, "logprobs are not supported KEY", param="logprobs"),
    "page": Answer(200, b"<html>KEY</html>", {"content-type": "text/html; KEY"}),
    "garbage": Answer(200, b"KEY" + b"\xff"),
    "no reply": fs.as_json({"KEY": "KEY"}),
    "error in a 200": fs.as_json({"error": {"message": "KEY", "code": "KEY"}}),
    "redirect": fs.redirect("http://KEY.example/KEY?key=KEY"),
    "long wait": fs.limited("99999").with_headers(x_key="KEY"),
    "reset": fs.reset(),
    "bad header": fs.chat().with_headers(content_length="KEY"),
    "reply": fs.chat("your key is KEY", reasoning="KEY"),
}


def with_echo(answer: Answer, echo: str) -> Answer:
    body = answer.body.replace(b"KEY", echo.encode())
    return Answer(
        answer.status, body, {k: v.replace("KEY", echo) for k, v in answer.headers.items()}, answer.wire
    )


async def everything_seen(server: FakeServer, params: Parameters) -> str:
    """All that a call leaves behind, whichever way it ends."""
    net = Network(backoff_seconds=0.001, outage_seconds=60)
    model = parse_model(f"{server.url}/v1#judge", key_env="CANARY_KEY", network=net)
    seen = [repr(model), repr(vars(model)), model.name]
    try:
        seen.append(repr(await model.ask(CALL, params)))
    except ModelError as error:
        cause: BaseException | None = error
        while cause is not None:
            seen.append("".join(traceback.format_exception(cause)) + repr(cause) + repr(cause.args))
            cause = cause.__cause__ or cause.__context__
    finally:
        await net.close()
    return "\n".join([*seen, *model.adjustments, repr(next(iter(net.limiters.values())).given_up)])


@pytest.mark.parametrize("end", ENDS)
def test_the_key_is_in_nothing_that_a_call_leaves_behind(
    end: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("CANARY_KEY", CANARY)
    params = Parameters(temperature=0.5, top_logprobs=None if end == "reply" else 3)
    for echo in ECHOES.values():
        with FakeServer(default=with_echo(ENDS[end], echo)) as server:
            seen = asyncio.run(everything_seen(server, params)) + caplog.text
            assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"
        assert [leak for leak in LEAKS if leak in seen] == []
        assert end != "reply" or "your key is " in seen


def test_a_redirect_to_another_host_is_not_followed_and_that_host_sees_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CANARY_KEY", CANARY)
    with (
        FakeServer() as other,
        FakeServer(default=fs.redirect(f"{other.url}/v1/chat/completions", 307)) as server,
    ):
        asyncio.run(everything_seen(server, Parameters()))
        assert (server.n_requests, other.n_connections) == (1, 0)


def test_no_key_is_sent_unless_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)

    async def run(server: FakeServer) -> None:
        model = parse_model(f"{server.url}/v1#judge")
        await model.ask(CALL, Parameters())
        await model.close()

    with FakeServer() as server:
        asyncio.run(run(server))
        assert "authorization" not in server.requests[0].headers


def test_a_key_that_was_changed_is_read_again_once_after_a_401(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", "sk-old-key-0123456789")

    def plan(request: fs.Request) -> Answer:
        monkeypatch.setenv("CANARY_KEY", "sk-new-key-0123456789")
        return fs.chat("in") if "new" in request.headers["authorization"] else fs.error(401)

    with FakeServer(plan) as server:
        assert "text='in'" in asyncio.run(everything_seen_plain(server))
        assert server.n_requests == 2


async def everything_seen_plain(server: FakeServer) -> str:
    model = parse_model(f"{server.url}/v1#judge", key_env="CANARY_KEY")
    reply = await model.ask(CALL, Parameters())
    await model.close()
    return repr(reply)


def test_a_key_that_stays_refused_stops_at_the_first_401(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    with FakeServer(default=fs.error(401)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")

        async def run() -> None:
            model = parse_model("openai:judge")
            for _ in range(3):
                with pytest.raises(
                    AuthError, match=r"refused the key \(401\)\. Check the key in OPENAI_API_KEY\."
                ):
                    await model.ask(CALL, Parameters())
            await model.close()

        asyncio.run(run())
        assert server.n_requests == 1


def test_a_missing_key_is_reported_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(AuthError, match="OPENAI_API_KEY is not set"):
        parse_model("openai:judge").check(Parameters())


@pytest.mark.parametrize("value", ["sk-with a-space-0123", "sk-line\nbreak-0123456", "sk-ключ-0123456789"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", value)
    with pytest.raises(AuthError, match="CANARY_KEY") as raised:
        KeySource("CANARY_KEY").read()
    assert value not in str(raised.value)


def test_a_secret_prints_as_dots_and_is_not_pickled() -> None:
    secret = Secret(CANARY)
    assert f"{secret} {secret!r} {[secret]}" == "Secret(…) Secret(…) [Secret(…)]"
    with pytest.raises(TypeError, match="not written"):
        pickle.dumps(secret)


def test_a_short_key_of_a_local_server_does_not_change_replies() -> None:
    assert Secret("EMPTY").redact_bytes(b"The box is EMPTY.") == b"The box is EMPTY."
    assert Secret("EMPTY").redact("key EMPTY refused") == "key [key] refused"


def test_the_tokens_of_a_key_in_a_reply_are_hidden_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", CANARY)
    pieces = ["Key: ", CANARY[:7], CANARY[7:15], CANARY[15:] + ".", " [RESULT] ", "4"]
    tokens = [fs.token(piece, -0.5, **{CANARY: -1.0}) for piece in pieces]
    with FakeServer(default=fs.chat("".join(pieces), logprobs={"content": tokens})) as server:
        seen = asyncio.run(everything_seen(server, Parameters(top_logprobs=1)))
    assert CANARY[:7] not in seen.replace(CANARY, "")
    assert "Key: [key]. [RESULT] 4" in seen
    assert CANARY[7:15] not in seen.replace(CANARY, "")


KEY = "sk-proj-q7Hd0Lm3xZ9vT2bN5kR8wY1cE4"


@pytest.mark.parametrize("part", [KEY[:16], KEY[8:28], KEY[-9:], KEY[10:19]])
def test_a_part_of_a_key_is_redacted_from_eight_characters_beyond_the_prefix_on(part: str) -> None:
    secret = Secret(KEY)
    assert secret.redact_reply(f"your key {part}… is wrong") == "your key [key]… is wrong"
    assert secret.spans(f"key {part}!") == [(4, 4 + len(part))]


def test_a_part_of_a_key_without_digits_is_redacted_unless_it_may_be_a_word() -> None:
    secret = Secret("sk-QxZmLpKvRtYwNcBsDfGhJkLzXcVb")
    assert secret.redact_reply("it is QxZmLpKvRtYwNcBsDfGh!") == "it is [key]!"
    plain = Secret("mysecretpassphrase")
    assert plain.redact_reply("a secretpassage") == "a secretpassage"


@pytest.mark.parametrize("part", ["sk-proj-", KEY[:14], KEY[-7:], "a longer text without it"])
def test_a_prefix_or_a_few_characters_are_no_key(part: str) -> None:
    assert Secret(KEY).redact_reply(f"it is {part}.") == f"it is {part}."

"""Whoever did not open the printed address gets nothing, and nothing can be posted from another page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse

from adjudge.web.security import HEADERS, LARGEST_BODY, Guard, Secrets
from webclient import PORT, Answer, ask

HOST = {"host": f"127.0.0.1:{PORT}"}
# Not random here: two processes of the suite must name their tests alike.
SECRETS = Secrets(token="t" * 43, browser_token="b" * 43, session="s" * 43, csrf="c" * 43)
COOKIE = {"cookie": f"adjudge_{PORT}={SECRETS.session}"}
POST = (
    HOST
    | COOKIE
    | {
        "origin": f"http://127.0.0.1:{PORT}",
        "content-type": "application/json",
        "x-adjudge-csrf": SECRETS.csrf,
    }
)


async def behind(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers whatever reaches it."""
    request = Request(scope, receive)
    if request.method == "POST":
        answer: Any = JSONResponse({"got": len(await request.body())})
    else:
        answer = PlainTextResponse(
            f"secret {request.url.path} {request.url.query}", headers={"cache-control": "public"}
        )
    await answer(scope, receive, send)


guarded = Guard(behind, port=PORT, secrets=SECRETS)


def get(url: str, headers: dict[str, str] | list[tuple[str, str]]) -> Answer:
    return ask(guarded, "GET", url, headers)


def post(changes: dict[str, str | None], body: bytes | list[bytes] = b"{}") -> Answer:
    headers = {name: value for name, value in (POST | changes).items() if value is not None}
    return ask(guarded, "POST", "/annotate/label", headers, body)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", f"evil.example:{PORT}", "127.0.0.1", "localhost", f"localhost.evil.example:{PORT}",
        f"127.0.0.1.evil.example:{PORT}", f"evil.example#127.0.0.1:{PORT}", f"127.0.0.1:{PORT + 1}",
        f"0.0.0.0:{PORT}",
        f"[::1]:{PORT}", f"2130706433:{PORT}", f"user@127.0.0.1:{PORT}", "",
    ],
)  # fmt: skip
def test_a_request_under_another_name_is_refused(host: str) -> None:
    refused = get("/", COOKIE | {"host": host})
    assert refused.status == 403
    assert b"secret" not in refused.body


def test_a_request_without_a_host_or_with_two_is_refused() -> None:
    assert get("/", COOKIE).status == 403
    two = [*HOST.items(), ("host", "evil.example"), *COOKIE.items()]
    assert get("/", two).status == 403


def test_a_rebound_name_is_refused_though_its_origin_matches_its_host() -> None:
    evil = {"host": f"evil.example:{PORT}", "origin": f"http://evil.example:{PORT}"}
    assert get("/api/runs", COOKIE | evil).status == 403
    assert post(evil).status == 403


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_both_names_of_this_machine_are_answered(name: str) -> None:
    assert get("/", COOKIE | {"host": f"{name}:{PORT}"}).text == "secret / "


def test_without_the_token_nothing_is_revealed() -> None:
    for url in ("/", "/api/runs", "/items?run=last", "/static", "/static/../api/runs"):
        refused = get(url, HOST)
        if not url.startswith("/static/"):
            assert refused.status == 401, url
            assert b"secret" not in refused.body


@pytest.mark.parametrize(
    "token", ["", "x", SECRETS.session, SECRETS.csrf, SECRETS.token + "x", SECRETS.token[:-1], "é"]
)
def test_a_wrong_token_opens_nothing(token: str) -> None:
    refused = get(f"/?token={token}", HOST)
    assert refused.status == 401
    assert "set-cookie" not in refused.headers


def test_two_tokens_open_nothing() -> None:
    assert get(f"/?token={SECRETS.token}&token=x", HOST).status == 401


def exchanged(url: str, headers: dict[str, str] = HOST) -> Answer:
    """The answer of a server that was just started: a token can be used once."""
    return ask(Guard(behind, port=PORT, secrets=SECRETS), "GET", url, headers)


@pytest.mark.parametrize("token", [SECRETS.token, SECRETS.browser_token])
def test_a_token_opens_the_pages_in_one_browser_once(token: str) -> None:
    fresh = Guard(behind, port=PORT, secrets=SECRETS)
    url = f"/runs?token={token}"
    assert ask(fresh, "HEAD", url, HOST).status == 401  # a look ahead does not use it up
    assert ask(fresh, "GET", url, HOST).status == 303
    again = ask(fresh, "GET", url, HOST)
    assert again.status == 401
    assert "set-cookie" not in again.headers
    assert b"secret" not in again.body
    with_cookie = ask(fresh, "GET", url, HOST | COOKIE)
    assert (with_cookie.status, with_cookie.headers["location"]) == (303, "/runs")


def test_a_token_that_another_page_brings_sets_the_cookie_without_a_redirect() -> None:
    opened = exchanged(f'/run?run="><b>&token={SECRETS.token}', HOST | {"sec-fetch-site": "cross-site"})
    assert opened.status == 200
    assert "SameSite=Strict" in opened.headers["set-cookie"]
    assert SECRETS.token not in opened.text
    assert "<b>" not in opened.text
    assert "url=/run?run=%22%3E%3Cb%3E" in opened.text


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address() -> None:
    opened = exchanged(f"/run?run=a%26b&token={SECRETS.token}&q=x%20y")
    assert opened.status == 303
    assert opened.headers["location"] == "/run?run=a%26b&q=x+y"
    cookie = opened.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert SECRETS.token not in cookie
    assert get("/run", HOST | {"cookie": cookie.partition(";")[0]}).status == 200


def test_the_exchange_never_leads_to_another_host() -> None:
    for path in ("//evil.example/", "///evil.example", "/%2f%2fevil.example"):
        location = exchanged(f"{path}?token={SECRETS.token}").headers["location"]
        assert location.startswith("/")
        assert not location.startswith(("//", "/\\"))


@pytest.mark.parametrize(
    "cookie",
    [
        f"adjudge_{PORT}=", f"adjudge_{PORT}=x", f"adjudge_{PORT + 1}={SECRETS.session}",
        f"x={SECRETS.session}",
        f"adjudge_{PORT}={SECRETS.token}", f"ADJUDGE_{PORT}={SECRETS.session}x",
    ],
)  # fmt: skip
def test_another_cookie_is_none(cookie: str) -> None:
    assert get("/", HOST | {"cookie": cookie}).status == 401


def test_the_cookie_is_found_among_those_of_other_programs() -> None:
    cookie = f"bad cookie; =; a[b]=1; {COOKIE['cookie']}; other=2"
    assert get("/", HOST | {"cookie": cookie}).status == 200


def test_our_own_pages_can_post() -> None:
    assert post({}, b'{"value": 4}').json == {"got": 12}
    assert post({"content-type": "application/json; charset=utf-8"}).status == 200
    assert post({"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}).status == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", None,
             "text/plain; application/json", "application/jsonp"],
)  # fmt: skip
def test_only_json_can_be_posted(kind: str | None) -> None:
    assert post({"content-type": kind}).status == 415


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", None, "", f"https://127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT + 1}",
     f"http://localhost:{PORT}.evil.example", "http://127.0.0.1"],
)  # fmt: skip
def test_a_post_from_another_origin_is_refused(origin: str | None) -> None:
    assert post({"origin": origin}).status == 403


@pytest.mark.parametrize("csrf", [None, "", "x", SECRETS.token, SECRETS.session])
def test_a_post_without_the_secret_of_our_pages_is_refused(csrf: str | None) -> None:
    assert post({"x-adjudge-csrf": csrf}).status == 403


def test_a_post_without_the_cookie_is_refused_even_with_the_token_in_its_address() -> None:
    headers = {name: value for name, value in POST.items() if name != "cookie"}
    assert ask(guarded, "POST", f"/x?token={SECRETS.token}", headers, b"{}").status == 401


def test_a_body_that_is_too_long_is_refused_before_it_is_read() -> None:
    assert post({"content-length": str(LARGEST_BODY + 1)}).status == 413
    assert post({"content-length": "-1"}).status == 413


def test_a_body_that_is_longer_than_it_says_never_reaches_the_application() -> None:
    assert post({}, [b"x" * 40_000, b"x" * 40_000]).status == 400


def test_too_many_headers_are_refused() -> None:
    for more in ([(f"x-{n}", "y") for n in range(200)], [("x", "y" * 40_000)]):
        assert get("/", [*HOST.items(), *COOKIE.items(), *more]).status == 431


def test_a_body_that_is_cut_off_never_reaches_the_application() -> None:
    reached = []

    async def noted(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["path"])
        await behind(scope, receive, send)

    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/annotate/label", "query_string": b"",
        "client": ("::1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in POST.items()],
    }  # fmt: skip
    asyncio.run(Guard(noted, port=PORT, secrets=SECRETS)(scope, receive, send))
    assert reached == []
    assert sent[0]["status"] == 400


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"])
def test_other_methods_are_not_known(method: str) -> None:
    assert ask(guarded, method, "/", HOST | COOKIE | POST).status == 405


def test_every_answer_forbids_scripts_frames_and_caches_and_allows_no_other_origin() -> None:
    answers = [
        get("/", HOST | COOKIE), get("/", HOST), get("/", COOKIE), exchanged(f"/?token={SECRETS.token}"),
        post({}), post({"origin": None}),
    ]  # fmt: skip
    assert {answer.status for answer in answers} == {200, 401, 403, 303}
    for answer in answers:
        assert HEADERS.items() <= answer.headers.items()
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["cache-control"] == "no-store"


def test_a_page_that_refuses_holds_nothing_of_the_request() -> None:
    refused = get("/<script>alert(1)</script>?q=<script>", HOST)
    assert "script" not in refused.text


def test_two_starts_have_nothing_in_common() -> None:
    first, two = Secrets(), Secrets()
    values = [first.token, first.session, first.csrf, two.token, two.session, two.csrf]
    assert len(set(values)) == 6
    assert min(map(len, values)) >= 43


def test_a_web_socket_is_closed() -> None:
    import asyncio

    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    asyncio.run(guarded({"type": "websocket", "path": "/", "headers": []}, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_the_attack_cases_of_the_server_end_as_written(attacks: list[dict[str, str]]) -> None:
    by_id: dict[str, Callable[[], Answer]] = {
        "srv-02": lambda: post({"origin": "https://evil.example", "content-type": "text/plain"}),
        "srv-04": lambda: get("/api/runs", HOST),
    }
    known = {case["id"]: case for case in attacks if case["id"].startswith("srv-")}
    assert by_id.keys() <= known.keys()
    assert by_id["srv-02"]().status in (403, 415)
    assert by_id["srv-04"]().status == 401


def test_the_store_is_named_by_the_command_line_alone(tmp_path: Path) -> None:
    from adjudge.store import open_store
    from webclient import Browser

    open_store(tmp_path / "a.db").close()
    open_store(tmp_path / "other.db").close()
    browser = Browser(tmp_path / "a.db")
    for url in (
        "/?store=other.db",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/C:%5cx",
        "/static/CON",
    ):
        answer = browser.get(url)
        assert "other.db" not in answer.text
        assert answer.status in (200, 404)
        assert "import" not in answer.text

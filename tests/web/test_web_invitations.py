"""A shared server: an invitation opens one person's pages and nothing else, and ends when it is revoked."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import DataError
from adjudge.records import Label
from adjudge.store import open_store
from adjudge.web import security
from adjudge.web.invitation import Invitations, link_of, session_of
from adjudge.web.labelling.session import Session, open_session
from adjudge.web.routes import build_app
from adjudge.web.security import Secrets
from adjudge.web.sharing import Reach, Sharing, reach_of
from running import DIRECT, adjudge, write_rows
from webclient import PORT, Answer, ask

PUBLIC = "labels.example.org"
REACH = Reach(
    {**reach_of(None, PORT).names, PUBLIC: f"https://{PUBLIC}"},
    f"http://127.0.0.1:{PORT}",
    f"https://{PUBLIC}",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four items of a system with a name, with labels of another rater."""
    folder = tmp_path_factory.mktemp("shared")
    items = [
        {
            "id": f"vendor-x-{k}",
            "system": "vendor-x",
            "instruction": "Say a number.",
            "response": f"answer {k}",
        }
        for k in range(4)
    ]
    write_rows(folder / "items.jsonl", items)
    write_rows(folder / "replies.jsonl", [{"item": item["id"], "text": "Well. [RESULT] 4"} for item in items])
    path = folder / "secret-store.db"
    done = adjudge(
        "run", folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'replies.jsonl'}", "--run",
        "secret-run",
        "--store", path,
    )  # fmt: skip
    assert done.code == 0
    with open_store(path) as opened:
        labels = [
            Label(item=item["id"], criterion="tact", rater="zora", value=2.0, origin="annotate")
            for item in items
        ]
        opened.put_labels(labels, opened.run("secret-run"))
    return path


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / made.name))


@pytest.fixture
def session(store: Path) -> Iterator[Session]:
    with open_session(store, "secret-run") as opened:
        yield opened


class Guest:
    """A browser on another machine that opens an invitation link, perhaps after a restart of the server."""

    def __init__(self, app: Any, token: str) -> None:
        self.app = app
        self.opened = self.enter(token)
        self.cookie = self.opened.headers.get("set-cookie", "").partition(";")[0]

    def enter(self, token: object, **changes: str) -> Answer:
        headers = {
            "host": PUBLIC, "origin": f"https://{PUBLIC}", "content-type": "application/json",
        } | {name.replace("_", "-"): value for name, value in changes.items()}  # fmt: skip
        return ask(self.app, "POST", "/invited", headers, json.dumps({"token": token}).encode())

    def get(self, url: str, **changes: str) -> Answer:
        return ask(self.app, "GET", url, {"host": PUBLIC, "cookie": self.cookie, **changes})

    def post(self, url: str, value: Any, csrf: str | None = None) -> Answer:
        if csrf is None:
            page = self.get("/annotate/item").text
            found = re.search(r'name="csrf" content="([^"]+)"', page)
            csrf = found[1] if found else ""
        body = json.dumps(value).encode()
        headers = {
            "host": PUBLIC, "cookie": self.cookie, "origin": f"https://{PUBLIC}",
            "content-type": "application/json",
            "x-adjudge-csrf": csrf, "content-length": str(len(body)),
        }  # fmt: skip
        return ask(self.app, "POST", url, headers, body)


def labelling(store: Path, session: Session) -> tuple[Any, Invitations]:
    invitations = Invitations(store, "rater", session.run)
    app = build_app(
        store, port=PORT, session=session, reach=REACH, invitations=invitations, is_behind_proxy=True
    )
    return app, invitations


def viewing(store: Path) -> tuple[Any, Invitations]:
    invitations = Invitations(store, "guest")
    return build_app(store, port=PORT, reach=REACH, invitations=invitations), invitations


def key_in(page: str) -> str:
    found = re.search(r'data-item="([0-9a-f]+)"', page)
    assert found is not None, page
    return found[1]


def test_a_link_opens_the_pages_under_its_name(store: Path, session: Session) -> None:
    app, invitations = labelling(store, session)
    tokens = invitations.invite(["ann"])
    guest = Guest(app, tokens["ann"])
    assert guest.opened.json == {"go": "/"}
    cookie = guest.opened.headers["set-cookie"]
    assert cookie.startswith(f"__Host-adjudge_{PORT}=")
    for flag in ("HttpOnly", "SameSite=Strict", "Path=/", "Secure"):
        assert flag in cookie
    assert guest.get("/").headers["location"] == "/annotate"
    assert guest.get("/annotate").headers["location"] == "/annotate/item"
    page = guest.get("/annotate/item").text
    assert '<bdi class="strong">ann</bdi>' in page
    answer = guest.post("/annotate/label", {"item": key_in(page), "question": 0, "value": 3})
    assert answer.status == 200
    assert [(label.rater, label.value) for label in session.labels() if label.rater != "zora"] == [
        ("ann", 3.0)
    ]


def test_a_rater_sees_nothing_of_others_of_the_run_and_of_the_machine(store: Path, session: Session) -> None:
    app, invitations = labelling(store, session)
    guest = Guest(app, invitations.invite(["ann", "ben"])["ann"])
    seen = [guest.get("/annotate/item").text]
    for number in range(4):
        page = guest.get("/annotate/item").text
        seen.append(
            guest.post("/annotate/label", {"item": key_in(page), "question": 0, "value": number + 1}).text
        )
        seen.append(guest.get(f"/annotate/item?item={key_in(page)}").text)
    seen.append(guest.get("/annotate/item").text)
    assert "All items are labelled" in seen[-1]
    for text in seen:
        for word in ("zora", "ben", "vendor", "secret", "Well.", "[RESULT] 4", "adjudge trust", "labels.csv"):
            assert word not in text, word


@pytest.mark.parametrize(
    "url",
    ["/annotate/labels.csv", "/run?run=secret-run", "/items?run=secret-run", "/items/export?run=secret-run",
     "/item?run=secret-run&n=0", "/matrix?run=secret-run", "/compare?with=a&with=b", "/api/runs",
     "/live/runs",
     "/live/run", "/review?run=secret-run", "/annotate/item?rater=zora", "/annotate/item?rater=ben",
     "/annotate/item?item=0", "/annotate/item?item=vendor-x-0", "/static/../annotate.py", "/invited/x"],
)  # fmt: skip
def test_no_other_address_gives_a_rater_anything(store: Path, session: Session, url: str) -> None:
    app, invitations = labelling(store, session)
    guest = Guest(app, invitations.invite(["ann"])["ann"])
    answer = guest.get(url)
    assert answer.status in (403, 404), url
    for word in ("zora", "vendor", "secret", "Well."):
        assert word not in answer.text


def test_a_rater_cannot_label_as_another(store: Path, session: Session) -> None:
    app, invitations = labelling(store, session)
    tokens = invitations.invite(["ann", "ben"])
    guest = Guest(app, tokens["ann"])
    key = key_in(guest.get("/annotate/item").text)
    before = session.labels()
    for name in ("ben", "zora", "", 7):
        answer = guest.post("/annotate/label", {"rater": name, "item": key, "question": 0, "value": 5})
        assert answer.status == 403
        assert guest.post("/annotate/undo", {"rater": name}).status == 403
    assert guest.post("/annotate/rater", {"rater": "ben"}).status in (400, 404)
    assert session.labels() == before


def test_links_and_sessions_outlive_the_server_and_even_a_page_that_was_open(store: Path) -> None:
    with open_session(store, "secret-run") as session:
        app, invitations = labelling(store, session)
        token = invitations.invite(["ann"])["ann"]
        guest = Guest(app, token)
        page = guest.get("/annotate/item").text
        found = re.search(r'name="csrf" content="([^"]+)"', page)
    assert found is not None
    with open_session(store, "secret-run") as session:
        guest.app, again = labelling(store, session)
        assert again.invite(["ann"]) == {}  # the link that was sent stays the one
        answer = guest.post(
            "/annotate/label", {"item": key_in(page), "question": 0, "value": 3}, csrf=found[1]
        )
        assert answer.status == 200, answer
        phone = Guest(guest.app, token)
        assert phone.opened.status == 200
        assert '<bdi class="strong">ann</bdi>' in phone.get("/annotate/item").text


def test_a_revoked_invitation_ends_at_the_next_request(store: Path, session: Session) -> None:
    app, invitations = labelling(store, session)
    tokens = invitations.invite(["ann", "ben"])
    ann, ben = (Guest(app, tokens[name]) for name in ("ann", "ben"))
    page = ann.get("/annotate/item").text
    found = re.search(r'name="csrf" content="([^"]+)"', page)
    assert found is not None
    # As another process does it.
    done = adjudge("annotate", "secret-run", "--revoke", "ann", "--store", store)
    assert (done.code, done.out) == (0, "Revoked the invitation of ann.\n")
    refused = ann.get("/annotate/item")
    assert refused.status == 401
    assert "Open your invitation link again" in refused.text
    late = ann.post("/annotate/label", {"item": key_in(page), "question": 0, "value": 3}, csrf=found[1])
    assert late.status == 401
    assert "revoked" in late.json["error"]
    assert Guest(app, tokens["ann"]).opened.status == 403
    assert ben.get("/annotate/item").status == 200
    new = invitations.invite(["ann"])["ann"]
    assert new != tokens["ann"]
    assert Guest(app, new).get("/annotate/item").status == 200
    assert ann.get("/annotate/item").status == 401  # the old session stays ended


def test_neither_link_nor_cookie_is_in_the_store(store: Path, session: Session) -> None:
    app, invitations = labelling(store, session)
    token = invitations.invite(["ann"])["ann"]
    guest = Guest(app, token)
    session.close()
    for path in store.parent.iterdir():
        raw = path.read_bytes()
        for secret in (token, session_of(token), guest.cookie.partition("=")[2]):
            assert secret.encode() not in raw


def test_an_invitation_to_one_run_or_to_read_opens_nothing_else(store: Path, session: Session) -> None:
    app, invitations = labelling(store, session)
    view, guests = viewing(store)
    rater, guest_token = invitations.invite(["ann"])["ann"], guests.invite(["ann"])["ann"]
    assert Guest(app, guest_token).opened.status == 403
    assert Guest(view, rater).opened.status == 403
    guest = Guest(app, rater)
    guest.app = view
    assert guest.get("/").status == 401


def test_a_guest_reads_all_runs_and_changes_nothing(store: Path) -> None:
    app, invitations = viewing(store)
    guest = Guest(app, invitations.invite(["rita"])["rita"])
    page = guest.get("/run?run=secret-run")
    assert page.status == 200
    assert str(store.parent) not in page.text.replace(str(store.parent / "replies.jsonl"), "")
    found = re.search(r'name="csrf" content="([^"]+)"', page.text)
    assert found is not None
    for url in ("/review/verdict", "/note", "/items", "/annotate/label"):
        answer = guest.post(url, {"x": 1}, csrf=found[1])
        assert answer.status == 403
        assert "for reading" in answer.json["error"]


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "é" * 43, None, 7, ["x"], {"a": 1}, "x" * 900])
def test_a_wrong_link_opens_nothing(store: Path, session: Session, token: object) -> None:
    app, invitations = labelling(store, session)
    invitations.invite(["ann"])
    guest = Guest(app, "x")
    answer = guest.enter(token)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    assert guest.get("/annotate/item").status == 401


def test_wrong_links_are_limited_by_client_and_keep_nobody_with_a_right_one_out(
    store: Path, session: Session
) -> None:
    app, invitations = labelling(store, session)
    token = invitations.invite(["ann"])["ann"]
    guest = Guest(app, token)
    for _ in range(10):
        assert guest.enter("y" * 43, x_forwarded_for="6.6.6.6, 7.7.7.7").status == 403
    assert guest.enter("y" * 43, x_forwarded_for="1.2.3.4, 7.7.7.7").status == 429
    # The right link opens also from an address from which others tried wrong ones.
    assert guest.enter(token, x_forwarded_for="1.2.3.4, 7.7.7.7").status == 200
    assert guest.get("/annotate/item", **{"x-forwarded-for": "7.7.7.7"}).status == 200


def test_wrong_tokens_of_the_owner_are_limited_too(store: Path) -> None:
    secrets = Secrets()
    app = build_app(store, port=PORT, secrets=secrets)
    host = {"host": f"127.0.0.1:{PORT}"}
    for _ in range(10):
        assert ask(app, "GET", "/?token=wrong", host).status == 401
    assert ask(app, "GET", "/?token=wrong", host).status == 429
    assert ask(app, "GET", f"/?token={secrets.token}", host).status == 303


@pytest.mark.parametrize(
    ("changes", "status"),
    [({"host": "evil.example"}, 403), ({"host": f"{PUBLIC}:{PORT}"}, 403), ({"host": f"{PUBLIC}."}, 403),
     ({"origin": "https://evil.example"}, 403), ({"origin": f"http://{PUBLIC}"}, 403), ({"origin": "null"},
     403),
     ({"content_type": "text/plain"}, 415)],
)  # fmt: skip
def test_an_invitation_is_exchanged_only_by_its_own_page(
    store: Path, session: Session, changes: dict[str, str], status: int
) -> None:
    app, invitations = labelling(store, session)
    token = invitations.invite(["ann"])["ann"]
    answer = Guest(app, "x").enter(token, **changes)
    assert answer.status == status
    assert "set-cookie" not in answer.headers


def test_the_page_of_a_link_says_nothing_and_a_visit_of_it_uses_nothing_up(
    store: Path, session: Session
) -> None:
    app, invitations = labelling(store, session)
    token = invitations.invite(["ann"])["ann"]
    for _ in range(3):  # a chat program looks at links that are posted in it
        page = ask(app, "GET", "/invited", {"host": PUBLIC})
        assert page.status == 200
        for word in ("ann", "secret", "tact"):
            assert word not in page.text
    assert Guest(app, token).opened.status == 200


def test_without_invitations_there_is_no_such_page(store: Path) -> None:
    app = build_app(store, port=PORT)
    assert ask(app, "GET", "/invited", {"host": f"127.0.0.1:{PORT}"}).status == 401


def test_a_name_that_was_not_declared_is_refused_though_the_server_is_shared(
    store: Path, session: Session
) -> None:
    app, invitations = labelling(store, session)
    guest = Guest(app, invitations.invite(["ann"])["ann"])
    for host in ("evil.example", "0.0.0.0", f"192.168.1.5:{PORT}", f"{PUBLIC}.evil.example", PUBLIC.upper()):
        assert guest.get("/annotate/item", host=host).status == 403


def test_a_body_that_does_not_arrive_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "BODY_SECONDS", 0.05)
    pieces = iter([{"type": "http.request", "body": b"{", "more_body": True}])

    async def receive() -> Any:
        piece = next(pieces, None)
        if piece is None:
            await asyncio.sleep(600)
        return piece

    async def read() -> list[Any]:
        take = security._limited(receive)
        return [await take(), await take()]

    first, last = asyncio.run(read())
    assert first["body"] == b"{"
    assert last == {"type": "http.disconnect"}


def test_after_a_restart_a_page_says_how_to_get_in_again(store: Path) -> None:
    app = build_app(store, port=PORT)
    host = {"host": f"127.0.0.1:{PORT}"}
    for url, cookie in (("/run?run=secret-run", f"adjudge_{PORT}=old"), ("/?token=old", "")):
        page = ask(app, "GET", url, {**host, "cookie": cookie})
        assert page.status == 401
        assert "Adjudge was started again" in page.text
        assert "Open the new address" in page.text
    assert "the address that was printed" in ask(app, "GET", "/", host).text


# Where a server listens, and its names


def test_a_shared_server_answers_under_the_name_of_its_links_alone() -> None:
    direct = reach_of(Sharing(host="192.168.1.5"), 8347)
    assert set(direct.names) == {"127.0.0.1:8347", "localhost:8347", "192.168.1.5:8347"}
    assert link_of(direct, "T") == "http://192.168.1.5:8347/invited#T"
    assert direct.owner == "http://127.0.0.1:8347"
    proxied = reach_of(Sharing(public_url="https://Labels.Example.org:443/"), 8347)
    assert set(proxied.names) - set(direct.names) == {"labels.example.org"}
    assert link_of(proxied, "T") == "https://labels.example.org/invited#T"
    files = (Path("c.pem"), Path("k.pem"))
    secured = reach_of(Sharing(tls=files, public_url="https://labels.example.org:8347"), 8347)
    assert secured.names["labels.example.org:8347"] == secured.owner == "https://labels.example.org:8347"
    assert secured.names["127.0.0.1:8347"] == "https://127.0.0.1:8347"


def test_it_listens_everywhere_unless_a_proxy_is_in_front_of_it_and_says_what_others_can_read() -> None:
    assert Sharing().bind == "0.0.0.0"
    assert "anyone on the network can read" in Sharing().warning()
    assert Sharing(public_url="https://a.example").bind == "127.0.0.1"
    assert Sharing(public_url="https://a.example").warning() == ""
    assert Sharing(host="127.0.0.1").warning() == ""
    assert Sharing(tls=(Path("c"), Path("k"))).warning() == ""
    assert Sharing(host="0.0.0.0", public_url="http://a.example").warning() != ""


@pytest.mark.parametrize(
    "url",
    [
        "labels.example.org",
        "ftp://a",
        "https://",
        "https://a/b",
        "https://a?x=1",
        "https://u@a",
        "https://a/#x",
    ],
)
def test_a_public_address_is_that_of_a_whole_server(url: str) -> None:
    with pytest.raises(DataError, match="whole server"):
        Sharing(public_url=url).check()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("annotate", "--host", "0.0.0.0"), "--host needs --share"),
        (("annotate", "--tls", "a", "b"), "--tls needs --share"),
        (("view", "--public-url", "https://a"), "--public-url needs --share"),
        (("view", "--guest", "a"), "--guest needs --share"),
        (("annotate", "--rater", "a", "--rater", "b"), "Only one --rater"),
        (("annotate", "--share"), "No one is invited"),
        (
            ("annotate", "--share", "--rater", "a", "--tls", "none.pem", "none.key"),
            "there is no file none.pem",
        ),
        (("annotate", "--share", "--rater", "=a"), "formula"),
        (("annotate", "--revoke", "nobody"), "nobody has no open invitation"),
    ],
)
def test_a_mistake_is_a_message(store: Path, arguments: tuple[str, ...], said: str) -> None:
    done = adjudge(*arguments, "--store", store)
    assert done.code == 2
    assert said in done.err


def test_invitations_are_listed(store: Path, session: Session) -> None:
    _, invitations = labelling(store, session)
    invitations.invite(["ann", "ben"])
    invitations.revoke("ben")
    done = adjudge("annotate", "--invitations", "--store", store)
    assert re.search(r"ann +\S+ +open", done.out)
    assert re.search(r"ben +\S+ +20", done.out)

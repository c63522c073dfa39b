"""The labelling pages as a browser and as an attacker would ask for them; and a server that is killed."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from adjudge.store import open_store
from adjudge.web.pages.annotate import open_session
from adjudge.web.security import CSRF_HEADER
from running import DIRECT, EXAMPLES, adjudge, started, write_rows
from webclient import PORT, Answer, Browser

ROBOT = "<img src=x onerror=alert(1)>\u202e</script><script>alert(2)</script>"


class Rater(Browser):
    """A browser whose addresses are put together from their parts."""

    def get(self, url: str, cookie: str = "", **query: str | int) -> Answer:
        return super().get(f"{url}?{urlencode(query)}", cookie=f"{self.cookie}; {cookie}")


def judged(folder: Path, items: list[dict[str, Any]]) -> Path:
    write_rows(folder / "items.jsonl", items)
    replies = [{"item": item["id"], "text": f"Well. [RESULT] {k % 5 + 1}"} for k, item in enumerate(items)]
    write_rows(folder / "replies.jsonl", replies)
    done = adjudge(
        "run", folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'replies.jsonl'}", "--run", "one",
        "--store", folder / "s.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    return folder / "s.db"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(
        tmp_path_factory.mktemp("hostile"),
        [
            {
                "id": f"vendor-x-{k}",
                "system": "vendor-x",
                "instruction": ROBOT,
                "response": f"answer {k} {ROBOT}",
            }
            for k in range(4)
        ],
    )


@pytest.fixture
def store(hostile: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(hostile, tmp_path / "s.db"))


@pytest.fixture
def browser(store: Path) -> Iterator[Rater]:
    with open_session(store, "one") as session:
        yield Rater(store, session=session)


def labels_in(store: Path, run: str = "one") -> list[tuple[str, float | str]]:
    with open_store(store, write=False) as opened:
        return [(label.rater, label.value) for label in opened.labels(opened.run(run))]


def key_shown(page: str) -> str:
    match = re.search(r'data-item="([0-9a-f]+)"', page)
    assert match is not None, page
    return match[1]


def test_the_name_is_asked_for_once_and_remembered(browser: Rater) -> None:
    assert 'name="rater"' in browser.get("/annotate").text
    answer = browser.post("/annotate/rater", {"rater": " 지수 "})
    assert answer.json == {"go": "/annotate/item?rater=%EC%A7%80%EC%88%98"}
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert 'value="지수"' in browser.get("/annotate", cookie=cookie.partition(";")[0]).text


def test_a_cookie_that_is_no_name_is_passed_over(browser: Rater) -> None:
    for cookie in ("adjudge_rater=%00", "adjudge_rater=" + "x" * 500):
        answer = browser.get("/annotate", cookie=cookie)
        assert answer.status == 200
        assert 'value=""' in answer.text


def test_a_page_shows_the_rubric_but_neither_the_score_nor_who_wrote_the_text(browser: Rater) -> None:
    page = browser.get("/annotate/item", rater="ann").text
    assert "Takes the matter over, concretely, without blaming anyone." in page
    assert "keep the customer&#39;s dignity" in page
    assert "vendor" not in page
    assert "[RESULT] 1" not in page
    assert "Well." not in page


def test_text_that_was_judged_is_only_text(browser: Rater) -> None:
    page = browser.get("/annotate/item", rater="ann").text
    assert "<img" not in page
    assert "<script>" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert "\u202e" not in page


def test_a_rater_whose_name_is_markup_labels_like_any_other(browser: Rater, store: Path) -> None:
    name = "\"><script>alert('x')</script>"
    page = browser.get("/annotate/item", rater=name).text
    assert "<script>alert" not in page
    answer = browser.post(
        "/annotate/label", {"rater": name, "item": key_shown(page), "question": 0, "value": 3}
    )
    assert answer.status == 200
    assert labels_in(store) == [(name, 3)]
    assert "<script>alert" not in browser.get("/annotate/item", rater=name).text


def test_a_label_is_in_the_store_when_the_post_is_answered(browser: Rater, store: Path) -> None:
    for n_given in range(1, 5):
        page = browser.get("/annotate/item", rater="ann").text
        answer = browser.post(
            "/annotate/label", {"rater": "ann", "item": key_shown(page), "question": 0, "value": n_given}
        )
        assert answer.status == 200
        assert labels_in(store) == [("ann", value) for value in range(1, n_given + 1)]
    done = browser.get("/annotate/item", rater="ann").text
    assert "data-item=" not in done
    assert "adjudge trust one" in done


def test_skip_undo_and_recall_say_where_to_go_on(browser: Rater, store: Path) -> None:
    first = key_shown(browser.get("/annotate/item", rater="ann").text)
    go = browser.post("/annotate/skip", {"rater": "ann", "item": first}).json["go"]
    second = go.partition("item=")[2]
    assert second
    assert second != first
    nothing = browser.post("/annotate/undo", {"rater": "ann"})
    assert nothing.status == 400
    assert nothing.json["error"]
    browser.post("/annotate/label", {"rater": "ann", "item": second, "question": 0, "value": 2})
    assert browser.post("/annotate/undo", {"rater": "ann"}).json["go"].endswith(second)
    assert labels_in(store) == []
    browser.post("/annotate/recall", {"rater": "ann"})
    assert key_shown(browser.get("/annotate/item", rater="ann").text) == first


def test_a_correction_stays_on_its_item(browser: Rater) -> None:
    key = key_shown(browser.get("/annotate/item", rater="ann").text)
    body = {"rater": "ann", "item": key, "question": 0, "value": 2}
    assert key not in browser.post("/annotate/label", body).json["go"]
    go = browser.post("/annotate/label", {**body, "value": 5}).json["go"]
    assert go.endswith(f"item={key}&question=0")


@pytest.mark.parametrize(
    "change",
    [
        {"value": 6}, {"value": 0}, {"value": 2.5}, {"value": "4"}, {"value": None}, {"value": True},
        {"value": [4]},
        {"value": "left"}, {"question": 1}, {"question": -1}, {"question": "0"}, {"question": True},
        {"question": None},
        {"item": "vendor-x-0"}, {"item": "../../etc/passwd"}, {"item": None}, {"item": {"a": 1}},
        {"rater": ""}, {"rater": "=x"}, {"rater": None}, {"rater": "a\u0000b"}, {"rater": ["ann"]},
        {"rater": "'; DROP TABLE labels;--"},
    ],
    ids=str,
)  # fmt: skip
def test_a_post_that_no_page_would_send_changes_nothing(
    browser: Rater, store: Path, change: dict[str, object]
) -> None:
    key = key_shown(browser.get("/annotate/item", rater="ann").text)
    good = {"rater": "ann", "item": key, "question": 0, "value": 4}
    answer = browser.post("/annotate/label", {**good, **change})
    assert answer.status == 400
    assert answer.json["error"]
    assert labels_in(store) == []
    assert browser.post("/annotate/label", good).status == 200


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"4", b"{", b"null", b'"x"', b"\xff\xfe", b"[" * 30000, b'{"value": NaN}']
)
def test_a_body_that_is_no_object_is_refused(browser: Rater, store: Path, body: bytes) -> None:
    answer = browser.post("/annotate/label", body)
    assert answer.status == 400
    assert answer.json["error"]
    assert labels_in(store) == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({CSRF_HEADER: "guess"}, 403),
        ({"cookie": f"adjudge_{PORT}=guess"}, 401),
        ({"content_length": "100000"}, 413),
    ],
)
def test_a_post_from_elsewhere_does_not_reach_the_store(
    browser: Rater, store: Path, headers: dict[str, str], status: int
) -> None:
    key = key_shown(browser.get("/annotate/item", rater="ann").text)
    body = {"rater": "ann", "item": key, "question": 0, "value": 4}
    assert browser.post("/annotate/label", body, **headers).status == status
    assert labels_in(store) == []


def test_a_label_cannot_be_given_by_opening_an_address(browser: Rater, store: Path) -> None:
    key = key_shown(browser.get("/annotate/item", rater="ann").text)
    for name in ("label", "undo", "skip", "recall", "rater"):
        answer = browser.get(f"/annotate/{name}", rater="ann", item=key, question=0, value=4)
        assert answer.status in (404, 405)
    assert labels_in(store) == []


def test_an_item_of_another_sitting_is_not_found(browser: Rater) -> None:
    answer = browser.get("/annotate/item", rater="ann", item="0" * 24)
    assert answer.status == 404
    assert "Traceback" not in answer.text


def test_labels_can_be_taken_away_as_csv(browser: Rater) -> None:
    key = key_shown(browser.get("/annotate/item", rater="ann").text)
    browser.post("/annotate/label", {"rater": "ann", "item": key, "question": 0, "value": 4})
    answer = browser.get("/annotate/labels.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="labels.csv"'
    assert re.fullmatch(
        r"item,criterion,rater,value,probability,text_hash\nvendor-x-\d,tact,ann,4,1,t[0-9a-f]{16}\n",
        answer.text,
    ), answer.text


def test_the_sides_of_a_pair_are_named_left_and_right_only(tmp_path: Path) -> None:
    store = tmp_path / "p.db"
    done = adjudge(
        "run", EXAMPLES / "advice.jsonl", "-p", "geval/compare", "-m",
        f"replay:{EXAMPLES / 'advice.replies.jsonl'}",
        "--run", "one", "--store", store,
    )  # fmt: skip
    assert done.code == 0, done.err
    with open_session(store, "one", criteria=["overall"]) as session:
        browser = Rater(store, session=session)
        page = browser.get("/annotate/item", rater="ann").text
        key = key_shown(page)
        asked = page.partition("<details")[0]
        assert "response_a" not in asked
        assert "left" in re.sub(r"<[^>]*>", "", asked)
        sent = [
            {"rater": "ann", "item": key, "question": n, "value": v} for n, v in enumerate((5, 2, "left"))
        ]
        for body in sent:
            assert browser.post("/annotate/label", body).status == 200
        left = session.seen_by("ann").turn(key).left
        assert {label.subject: label.value for label in session.labels()} == {
            left: 5, "b" if left == "a" else "a": 2, None: left,
        }  # fmt: skip


# Killed


class Server:
    """`adjudge annotate` in a process of its own, and one browser's cookie."""

    def __init__(self, store: Path, *arguments: str) -> None:
        self.process: subprocess.Popen[str] = started(
            "annotate", "one", "--no-browser", "--store", store, *arguments, PYTHONUNBUFFERED="1"
        )
        assert self.process.stdout is not None
        url = urlsplit(self.process.stdout.readline().strip())
        self._host = url.netloc
        entered = self._ask("GET", f"{url.path}?{url.query}", {})
        self._cookie = (entered.getheader("set-cookie") or "").partition(";")[0]
        page = self._ask("GET", url.path, {"cookie": self._cookie})
        match = re.search(r'name="csrf" content="([^"]+)"', page.text)  # type: ignore[attr-defined]
        assert match is not None
        self._csrf = match[1]

    def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes | None = None) -> Any:
        connection = http.client.HTTPConnection(self._host, timeout=20)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        answer.text = answer.read().decode()  # type: ignore[attr-defined]
        connection.close()
        return answer

    def label(self, rater: str, value: int) -> None:
        page = self._ask(
            "GET", f"/annotate/item?{urlencode({'rater': rater})}", {"cookie": self._cookie}
        ).text
        body = {"rater": rater, "item": key_shown(page), "question": 0, "value": value}
        headers = {
            "cookie": self._cookie,
            "content-type": "application/json",
            "origin": f"http://{self._host}",
            CSRF_HEADER: self._csrf,
        }
        assert self._ask("POST", "/annotate/label", headers, json.dumps(body).encode()).status == 200

    def end(self, number: signal.Signals) -> int:
        os.kill(self.process.pid, number)
        self.process.communicate(timeout=20)
        return self.process.returncode


@pytest.mark.slow
def test_a_killed_server_loses_no_label_and_the_next_one_goes_on(store: Path) -> None:
    server = Server(store)
    for value in (1, 2):
        server.label("ann", value)
    assert server.end(signal.SIGKILL) == -signal.SIGKILL
    assert labels_in(store) == [("ann", 1), ("ann", 2)]
    again = Server(store)
    for value in (3, 4):
        again.label("ann", value)
    assert again.end(signal.SIGINT) == 0
    assert labels_in(store) == [("ann", value) for value in (1, 2, 3, 4)]


@pytest.mark.slow
def test_two_servers_on_one_store_label_at_once(store: Path) -> None:
    servers = {"ann": Server(store), "ben": Server(store)}
    for value in (1, 2, 3, 4):
        for rater, server in servers.items():
            server.label(rater, value)
    for server in servers.values():
        assert server.end(signal.SIGINT) == 0
    assert sorted(labels_in(store)) == [(rater, value) for rater in ("ann", "ben") for value in (1, 2, 3, 4)]

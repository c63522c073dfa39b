"""SIGKILL while people's answers are stored: nothing that was confirmed is lost, and nothing is there twice.

`ADJUDGE_KILLS` is the number of kills of each command; a line says how many answers were confirmed.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from html import unescape
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from adjudge.records import Label
from adjudge.store import open_store
from running import DIRECT, adjudge, answers, ended, started, write_rows

KILLS = int(os.environ.get("ADJUDGE_KILLS", "10"))
N = max(400, 4 * KILLS)
"""Items: enough that people are still labelling at the last kill."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    items = answers(folder / "items.jsonl", N)
    replies = write_rows(
        folder / "replies.jsonl",
        [{"item": f"i{k}", "text": f"So. [RESULT] {k % 5 + 1}"} for k in range(1, N + 1)],
    )
    store = folder / "s.db"
    done = adjudge("run", items, *DIRECT, "-m", f"replay:{replies}", "--run", "one", "--store", store, "-q")
    assert done.code == 0, done.err
    return store


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "s.db"))


def labels_of(store: Path) -> list[Label]:
    with open_store(store, write=False) as opened:
        return opened.labels(opened.run("one"))


@pytest.mark.slow
def test_a_kill_of_labels_add_leaves_all_labels_or_none(store: Path, tmp_path: Path) -> None:
    rows = [f"i{k},tact,{rater},{k % 5 + 1}" for k in range(1, N + 1) for rater in ("ann", "ben")]
    file = tmp_path / "labels.csv"
    file.write_text("\n".join(["item,criterion,rater,value", *rows]) + "\n", encoding="utf-8")
    whole = tmp_path / "whole.db"
    dice, found = Random(5), Counter[int]()
    shutil.copy(store, whole)
    began = time.monotonic()
    assert ended(started("labels", "add", "one", file, "--store", whole)).code == 0
    longest = 1.2 * (time.monotonic() - began)
    for _ in range(KILLS):
        shutil.copy(store, whole)
        process = started("labels", "add", "one", file, "--store", whole)
        # Most of the time is spent before anything is written: the journal shows when that begins.
        journal, deadline = whole.with_name("whole.db-wal"), time.monotonic() + longest
        while process.poll() is None and not journal.exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(dice.uniform(0, 0.4))
        process.kill()
        process.communicate()
        found[len(labels_of(whole))] += 1
        assert set(found) <= {0, len(rows)}
        done = adjudge("labels", "add", "one", file, "--store", whole, "--json")
        assert done.code == 0, done.err
        stored = [(label.item, label.rater) for label in labels_of(whole)]
        assert len(stored) == len(set(stored)) == len(rows)
        for path in tmp_path.glob("whole.db*"):
            path.unlink()
    print(f"labels add: {KILLS} kills, labels afterwards: {dict(found)}")


class Person:
    """A browser that opened the address of a server."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.port = parts.port
        self.origin = f"http://127.0.0.1:{parts.port}"
        status, headers, _ = self.ask("GET", f"{parts.path}?{parts.query}")
        assert status == 303
        self.cookie = (headers["set-cookie"] or "").partition(";")[0]

    cookie = ""

    def ask(self, method: str, url: str, body: object = None, csrf: str = "") -> tuple[int, Any, str]:
        headers = {"Cookie": self.cookie} if self.cookie else {}
        if method == "POST":
            headers |= {"Content-Type": "application/json", "Origin": self.origin, "X-Adjudge-CSRF": csrf}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, url, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def page(self, url: str) -> tuple[str, str]:
        """A page, and the secret that its posts send back."""
        status, _, page = self.ask("GET", url)
        assert status == 200, page[:500]
        csrf = re.search(r'name="csrf" content="([^"]+)"', page)
        assert csrf is not None
        return page, csrf[1]


@contextmanager
def serving(*arguments: str | Path) -> Iterator[tuple[Any, str]]:
    process = started(*arguments, "--no-browser", PYTHONUNBUFFERED="1")
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def killed_while(answer: Callable[[Person], object], seconds: float, *arguments: str | Path) -> list[object]:
    """The answers that a server confirmed until it was killed, some time after the first one."""
    confirmed: list[object] = []
    with serving(*arguments) as (process, url):
        person = Person(url)

        is_working = Event()

        def work() -> None:
            with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
                while (given := answer(person)) is not None:
                    confirmed.append(given)
                    is_working.set()
            is_working.set()

        thread = Thread(target=work)
        thread.start()
        is_working.wait(60)
        time.sleep(seconds)
        process.kill()
        thread.join()
    return confirmed


@pytest.mark.slow
def test_kills_of_annotate_lose_no_label(store: Path) -> None:
    dice = Random(6)
    confirmed: list[object] = []

    def label_one(person: Person) -> object:
        page, csrf = person.page("/annotate/item?rater=ann")
        key = re.search(r'data-item="([0-9a-f]+)"', page)
        if key is None:
            return None
        status, _, text = person.ask(
            "POST", "/annotate/label", {"rater": "ann", "item": key[1], "question": 0, "value": 3}, csrf
        )
        assert status == 200, text
        return key[1]

    n_kills = 0
    while n_kills < KILLS:
        n_kills += 1
        arguments = ("annotate", "one", "-n", str(N), "--rater", "ann", "--store", store)
        confirmed += killed_while(label_one, dice.uniform(0, 0.15), *arguments)
        items = [label.item for label in labels_of(store)]
        assert len(items) == len(set(items))
        assert len(set(confirmed)) == len(confirmed) <= len(items) <= len(confirmed) + KILLS
        if len(items) == N:
            break
    assert confirmed
    print(f"annotate: {n_kills} kills, {len(confirmed)} labels confirmed, {len(items)} stored")


@pytest.mark.slow
def test_kills_of_view_lose_no_review(store: Path) -> None:
    dice = Random(7)
    with open_store(store) as opened:
        labels = [Label(f"i{k}", "tact", "ann", float((k + 2) % 5 + 1)) for k in range(1, N + 1)]
        opened.put_labels(labels, opened.run("one"))
    confirmed: list[object] = []
    address = "/review?run=one"

    def review_one(person: Person) -> object:
        page, csrf = person.page(address)
        if "reviewer=" not in person.cookie:
            body = {"reviewer": "eva", "run": "one", "by": "people"}
            status, headers, text = person.ask("POST", "/review/reviewer", body, csrf)
            assert status == 200, text
            person.cookie += f"; {(headers['set-cookie'] or '').partition(';')[0]}; reviewer=known"
            page, csrf = person.page(address)
        while "still being read" in page:
            page, csrf = person.page(address)
        bodies = re.findall(r'data-post="/review/verdict"[^>]*?data-body="([^"]*)"', page, re.S)
        if not bodies:
            return None
        body = next(one for one in map(json.loads, map(unescape, bodies)) if one["verdict"] == "people")
        status, _, text = person.ask("POST", "/review/verdict", body, csrf)
        assert status == 200, text
        return json.dumps(body)

    n_stored = 0
    for _ in range(KILLS):
        confirmed += killed_while(review_one, dice.uniform(0, 0.15), "view", "one", "--store", store)
        with open_store(store, write=False) as opened:
            cells = [(review.item, review.reviewer) for review in opened.reviews(opened.run("one"))]
        n_stored = len(cells)
        assert n_stored == len(set(cells))
        assert len(set(confirmed)) == len(confirmed) <= n_stored <= len(confirmed) + KILLS
    assert confirmed
    print(f"review: {KILLS} kills, {len(confirmed)} reviews confirmed, {n_stored} stored")

"""The review of disagreements: the queues, what a decision stores,
notes and tags, and what happens where nothing can be saved.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from adjudge.records import Label
from adjudge.store import open_store
from clock import until
from running import DIRECT, EXAMPLES, adjudge, write_rows
from webclient import Browser

N = 12


def judged(folder: Path) -> Path:
    """Twelve items with scores 1 to 5, and labels of two raters on ten of them."""
    items = write_rows(
        folder / "items.jsonl",
        [{"id": f"i{k:02}", "system": "ab"[k % 2], "instruction": "Say hello.",
        "response": f"Hello {k}."} for k in range(N)],
    )  # fmt: skip
    replies = write_rows(
        folder / "replies.jsonl",
        [{"item": f"i{k:02}", "text": f"Feedback {k}. [RESULT] {k % 5 + 1}"} for k in range(N)],
    )
    store = folder / "a.db"
    done = adjudge("run", items, *DIRECT, "-m", f"replay:{replies}", "--run", "first", "--store", store)
    assert done.code == 0, done.err
    with open_store(store) as opened:
        run = opened.run()
        criterion = next(iter(opened.judgments(run))).about.criteria[0]
        labels = [
            Label(f"i{k:02}", criterion, rater, float(k * 3 % 5 + 1))
            for k in range(10)
            for rater in ("ann", "ben")
        ]
        opened.put_labels(labels, run)
    return store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return judged(tmp_path)


class Reviewer:
    """Somebody who reviews in a browser."""

    def __init__(self, store: Path, name: str = "eva") -> None:
        self.browser = Browser(store)
        self.cookie = self.browser.cookie
        self.store = store
        if name:
            self.enter(name)

    def enter(self, name: str) -> None:
        answer = self.browser.post("/review/reviewer", {"reviewer": name, "run": "first", "by": "people"})
        assert answer.status == 200, answer.text
        self.browser.cookie = f"{self.cookie}; {answer.headers['set-cookie'].partition(';')[0]}"

    def page(self, url: str = "/review?run=first") -> str:
        return once(lambda: self._whole(url))

    def _whole(self, url: str) -> str | None:
        answer = self.browser.get(url)
        assert answer.status == 200, answer.text
        return None if "still being read" in answer.text else answer.text

    def bodies(self, page: str) -> list[dict[str, Any]]:
        import json

        posts = re.findall(r'data-post="/review/verdict"[^>]*?data-body="([^"]*)"', page, re.S)
        return [json.loads(unescape(body)) for body in posts]

    def decide(self, verdict: str, url: str = "/review?run=first", **more: Any) -> str:
        """Decides the cell of a page, and returns the next page's address."""
        body = next(one for one in self.bodies(self.page(url)) if one["verdict"] == verdict)
        answer = self.browser.post("/review/verdict", {**body, **more})
        assert answer.status == 200, answer.text
        return str(answer.json["go"])

    def reviews(self) -> list[Any]:
        with open_store(self.store, write=False) as opened:
            return opened.reviews(opened.run())


def once(make: Callable[[], str | None]) -> str:
    """The first text that there is."""
    found: list[str] = []

    def has_text() -> bool:
        text = make()
        if text is not None:
            found.append(text)
        return bool(found)

    until(has_text)
    return found[0]


def shown(page: str) -> str:
    match = re.search(r'<h1 class="rv-title">.*?<bdi>([^<]*)</bdi>', page, re.S)
    assert match is not None, page
    return match[1]


def done(page: str) -> str:
    match = re.search(r'id="done">([^<]*)', page)
    assert match is not None
    return match[1].strip()


def test_the_largest_disagreement_comes_first_with_all_that_is_needed_to_decide(store: Path) -> None:
    page = Reviewer(store).page()
    assert shown(page) == "i01"
    assert done(page) == "0 of 8 reviewed by"
    text = re.sub(r"<[^>]+>", " ", page)
    assert "Hello 1." in text
    assert re.search(r"Feedback\s+1\s*\. \[RESULT\]", text)
    assert re.search(r"<mark[^>]*>2</mark>", page), "the place where the score was read is marked"
    assert re.search(r"People\s+4", text)
    assert re.search(r"ann\s+4\s*,\s*ben\s+4", text)
    assert re.search(r"Difference\s+[-−]2", text)


def test_a_decision_is_stored_with_all_it_is_about_and_the_next_cell_follows(store: Path) -> None:
    eva = Reviewer(store)
    go = eva.decide("judge", note=" because ")
    (review,) = eva.reviews()
    assert (review.item, review.reviewer, review.verdict) == ("i01", "eva", "judge")
    assert (review.answer, review.label, review.reason, review.note) == (2.0, 4.0, "people", "because")
    assert review.model.startswith("replay:")
    assert "@" in review.protocol
    page = eva.page(go)
    assert shown(page) == "i04"
    assert done(page) == "1 of 8 reviewed by"
    # A new server knows it as well, since the page holds nothing.
    assert shown(Reviewer(store).page()) == "i04"
    # Another reviewer starts at the first cell, and sees the decision of the first one there.
    max_page = Reviewer(store, "max").page()
    assert shown(max_page) == "i01"
    assert "because" in max_page


def test_a_second_decision_of_the_same_reviewer_replaces_the_first(store: Path) -> None:
    eva = Reviewer(store)
    body = eva.bodies(eva.page())[0]
    for verdict in ("judge", "unclear", "both"):
        assert eva.browser.post("/review/verdict", {**body, "verdict": verdict}).status == 200
    assert [review.verdict for review in eva.reviews()] == ["both"]


def test_skipped_cells_come_again_and_the_last_decision_can_be_undone(store: Path) -> None:
    eva = Reviewer(store)
    skip = re.search(r'data-key="s"[^>]*href="([^"]*)"', eva.page())
    assert skip is not None
    url = unescape(skip[1])
    assert shown(eva.page(url)) == "i04"
    for _ in range(7):
        url = eva.decide("people", url)
    assert shown(eva.page(url)) == "i01", "the skipped one is offered again"
    answer = eva.browser.post("/review/undo", {"run": "first", "by": "people"})
    assert shown(eva.page(answer.json["go"])) == "i08"
    assert len(eva.reviews()) == 6
    eva.decide("both", eva.decide("both"))
    assert "All 8 are reviewed." in eva.page()
    for _ in range(8):
        assert eva.browser.post("/review/undo", {"run": "first", "by": "people"}).status == 200
    nothing = eva.browser.post("/review/undo", {"run": "first", "by": "people"})
    assert (nothing.status, nothing.json["error"]) == (400, "You have no review to undo.")


def test_random_checks_show_every_label_and_are_stored_as_such(store: Path) -> None:
    eva = Reviewer(store)
    page = eva.page("/review?run=first&by=random")
    assert done(page) == "0 of 10 reviewed by"
    first = shown(page)
    eva.decide("people", "/review?run=first&by=random")
    assert [(review.item, review.reason) for review in eva.reviews()] == [(first, "random")]


def test_the_queue_can_be_read_without_a_name_and_decisions_need_one(store: Path) -> None:
    nobody = Reviewer(store, "")
    page = nobody.page()
    assert shown(page) == "i01"
    assert 'data-form="/review/reviewer"' in page
    assert nobody.bodies(page) == []
    refused = nobody.browser.post("/review/verdict", {"run": "first", "by": "people", "verdict": "judge"})
    assert refused.status == 400
    assert "needs a name" in refused.json["error"]


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "yes"}, {"verdict": None}, {"row": 10**18}, {"row": True}, {"row": "1"},
        {"item": "i09"}, {"item": 3},
        {"note": "x" * 4001}, {"note": "a\x00b"}, {"note": "\ud800"}, {"run": "nope"}, {"run": ["first"]},
        {"reviewer": "=1+1"},
    ],
    ids=lambda change: repr(change)[:24],
)  # fmt: skip
def test_a_decision_that_makes_no_sense_is_refused_and_stores_nothing(
    store: Path, change: dict[str, Any]
) -> None:
    eva = Reviewer(store)
    body = eva.bodies(eva.page())[0]
    answer = eva.browser.post("/review/verdict", {**body, **change})
    assert answer.status == 400
    assert answer.json["error"]
    assert eva.reviews() == []


def test_people_cannot_be_right_where_nobody_gave_a_label(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    arguments = ("run", EXAMPLES / "advice.jsonl", "-p", "geval/compare", "--store", store, "--run", "first")
    assert adjudge(*arguments, "-m", f"replay:{EXAMPLES / 'advice.replies.jsonl'}").code == 0
    eva = Reviewer(store)
    page = eva.page()
    body = next(one for one in eva.bodies(page) if one["verdict"] == "people")
    refused = eva.browser.post("/review/verdict", body)
    assert (refused.status, eva.reviews()) == (400, [])
    assert "no label" in refused.json["error"]
    assert "no number" in page
    eva.decide("judge")
    assert len(eva.reviews()) == 1


def test_of_a_panel_the_reviewer_sides_with_one_judge(tmp_path: Path) -> None:
    items = write_rows(tmp_path / "items.jsonl", [{"id": "x", "instruction": "Hi.", "response": "Hello."}])
    store = tmp_path / "a.db"
    models = [part for n in (2, 5) for part in ("-m", f"fake:text=So. [RESULT] {n}")]
    assert adjudge("run", items, *DIRECT, *models, "--run", "first", "--store", store).code == 0
    eva = Reviewer(store)
    page = eva.page()
    bodies = [body for body in eva.bodies(page) if body["verdict"] == "judge"]
    assert len(bodies) == 2
    assert "Panel splits" in page
    assert eva.browser.post("/review/verdict", bodies[1]).status == 200
    (review,) = eva.reviews()
    assert (review.reason, review.answer, review.model) == ("judges", 5.0, "fake:text=So. [RESULT] 5")


def test_corrected_means_and_the_first_screen_follow_a_decision(store: Path) -> None:
    eva = Reviewer(store)
    before = once(lambda: _answer(eva))
    assert "reviewed" not in before
    eva.decide("judge")
    after = once(lambda: _answer(eva, "reviewed"))
    assert "1 of 10 labels reviewed, 1 changed" in after


def _answer(eva: Reviewer, wanted: str = "Agreement with people") -> str | None:
    page = eva.browser.get("/run?run=first").text
    match = re.search(r'<section class="answer.*?</section>', page, re.S)
    return match[0] if match and wanted in match[0] else None


def test_reviews_are_offered_as_a_file(store: Path) -> None:
    eva = Reviewer(store)
    assert "/review/export" not in eva.page()
    eva.decide("unclear", note="=cmd()")
    assert "/review/export?run=first" in eva.page()
    answer = eva.browser.get("/review/export?run=first")
    assert answer.headers["content-disposition"] == 'attachment; filename="reviews.csv"'
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert (row["item"], row["verdict"], row["note"]) == ("i01", "unclear", "'=cmd()")
    assert '"verdict":"unclear"' in eva.browser.get("/review/export?run=first&format=jsonl").text


def test_a_store_that_cannot_be_written_shows_the_queue_and_says_why(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode, **more: mode != os.W_OK and access(path, mode, **more)
    )
    eva = Reviewer(store)
    page = eva.page()
    assert shown(page) == "i01"
    assert "a.db is read-only for you, so nothing can be saved." in page
    assert page.count("disabled") >= 5
    item = eva.browser.get("/item?run=first&n=1").text
    assert "read-only for you" in item
    assert 'data-save="/note"' not in item


def test_a_store_that_is_gone_is_not_made_anew(store: Path) -> None:
    eva = Reviewer(store)
    body = eva.bodies(eva.page())[0]
    store.rename(store.with_name("moved.db"))
    answer = eva.browser.post("/review/verdict", body)
    assert answer.status == 400
    assert not store.exists()


# Notes and tags


def note(eva: Reviewer, n: int, **body: Any) -> Any:
    return eva.browser.post("/note", {"run": "first", "n": n, "reviewer": "eva", **body})


def test_notes_and_tags_are_on_the_item_and_its_tag_is_a_filter(store: Path) -> None:
    eva = Reviewer(store)
    answer = note(eva, 3, text="look\nagain", tags=" odd ,长文, odd ")
    assert (answer.status, answer.json) == (200, {"said": "Saved.", "tags": "odd, 长文"})
    page = eva.browser.get("/item?run=first&n=3").text
    assert "look\nagain</textarea>" in page
    assert 'href="/items?run=first&amp;tag=odd"' in page
    rows = once(lambda: _tagged(eva))
    assert re.findall(r"<bdi>(i\d\d)</bdi>", rows) == ["i03"]
    assert "tag odd" in rows
    other = Reviewer(store, "max").browser.get("/item?run=first&n=3").text
    assert '<bdi class="strong">eva</bdi>' in other
    assert note(eva, 3, text="", tags="").json["said"] == "Deleted."
    with open_store(store, write=False) as opened:
        assert opened.notes(opened.run()) == []


def _tagged(eva: Reviewer) -> str | None:
    page = eva.browser.get("/items?run=first&tag=odd").text
    return page if "<bdi>i03</bdi>" in page else None


@pytest.mark.parametrize(
    "body",
    [{"n": 99}, {"n": "3"}, {"n": True}, {"n": -1}, {"tags": "x" * 41}, {"tags": ",".join(map(str,
    range(21)))}, {"text": 3},
     {"tags": "a\x07b"}],
    ids=lambda change: repr(change)[:24],
)  # fmt: skip
def test_a_note_that_makes_no_sense_is_refused(store: Path, body: dict[str, Any]) -> None:
    answer = note(Reviewer(store), **{"n": 3, "text": "a", "tags": "b", **body})
    assert answer.status == 400
    assert answer.json["error"]


def test_posts_need_the_token_of_this_servers_pages(store: Path) -> None:
    eva = Reviewer(store)
    for path in ("/review/verdict", "/review/undo", "/review/reviewer", "/note"):
        assert eva.browser.post(path, {}, x_adjudge_csrf="wrong").status == 403
        assert eva.browser.post(path, {}, content_type="text/plain").status == 415
        assert eva.browser.post(path, {}, origin="http://evil.example").status == 403
        assert eva.browser.post(path, b"[1]").status == 400

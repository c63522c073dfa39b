"""A static copy opened by a double click: filters, orders and doors
by keyboard, the same rows as the server's, and nothing acts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from adjudge.records import Label, Note
from adjudge.store import open_store
from adjudge.web.static_copy.copy import write_copy
from running import DIRECT, EXAMPLES, adjudge, write_rows
from webclient import Browser

pytestmark = pytest.mark.browser

ITEM = ".crumbs [aria-current=page]"
"""The id of the item that a page is about."""

N = 30


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty items of three systems on two criteria, some unreadable, some with labels of people."""
    folder = tmp_path_factory.mktemp("scored")
    items = [
        {"id": f"i{k}", "system": f"s{k % 3}", "group": f"g{k // 3}", "instruction": "Say a number.",
        "response": f"answer {k}"}
        for k in range(N)
    ]  # fmt: skip
    write_rows(folder / "items.jsonl", items)
    write_rows(
        folder / "replies.jsonl",
        [
            {
                "item": f"i{k}",
                "criterion": name,
                "text": f"It is {k}. [RESULT] {k * step % 5 + 1}" if k % 9 else "no",
            }
            for name, step in (("tact", 7), ("warmth", 3))
            for k in range(N)
        ],
    )
    (folder / "warmth.toml").write_text((EXAMPLES / "tact.toml").read_text().replace('"tact"', '"warmth"'))
    path = folder / "s.db"
    done = adjudge(
        "run", folder / "items.jsonl", *DIRECT, "--rubric", folder / "warmth.toml",
        "-m", f"replay:{folder / 'replies.jsonl'}", "--run", "tact", "--store", path,
    )  # fmt: skip
    assert done.code == 0
    with open_store(path) as opened:
        run = opened.run("tact")
        labels = [
            Label(item=f"i{k}", criterion="tact", rater="ann", value=float(k % 5 + 1), origin="file")
            for k in range(0, N, 2)
        ]
        opened.put_labels(labels, run)
        opened.put_note(run, Note("i3", "ann", "why?", ("odd",)))
    return path


def apart(work: Callable[[], Any]) -> Any:
    """While playwright is on, this thread has a running event loop: what starts one runs in another
    thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def exported(store: Path, folder: Path) -> None:
    apart(lambda: write_copy(store, "tact", folder))


def adjudge_rows(store: Path, query: dict[str, str]) -> list[str]:
    """The items of a filter, as the server lists them."""
    url = f"/items/export?{urlencode({'run': 'tact', 'format': 'jsonl', **query})}"
    lines = apart(lambda: Browser(store).get(url)).text.splitlines()
    return list(dict.fromkeys(json.loads(line)["item"] for line in lines))


QUERIES: tuple[dict[str, str], ...] = (
    {"sort": "score"},
    {"sort": "-score"},
    {"sort": "-people", "apart": "people"},
    {"status": "failed"},
    {"system": "s1", "low": "2", "high": "3"},
    {"apart": "people", "least": "2"},
    {"people_low": "4"},
    {"people_low": "2", "people_high": "3", "sort": "system"},
    {"q": "i2", "sort": "-item"},
    {"criterion": "tact", "status": "ok"},
    {"criterion": "warmth", "sort": "-score"},
    {"criterion": "warmth", "low": "5"},
    {"criterion": "tact", "people_low": "4", "low": "2", "high": "3"},
    {"tag": "odd"},
)


def test_a_list_of_the_copy_has_the_rows_that_the_server_gives(
    scored: Path, tmp_path: Path, watch: Callable[..., Any]
) -> None:
    exported(scored, tmp_path / "out")
    home = (tmp_path / "out" / "pages" / "items-1.html").as_uri()
    watched = watch(home)
    for query in QUERIES:
        wanted = adjudge_rows(scored, query)
        watched.page.goto("about:blank")
        watched.page.goto(f"{home}#{urlencode(query)}")
        shown = watched.page.eval_on_selector_all(
            "tbody tr:not([hidden]) th a", "(links) => links.map((link) => link.textContent)"
        )
        assert shown == wanted, query
        watched.check_quiet(str(query))


def test_a_copy_is_read_by_keyboard_alone(scored: Path, tmp_path: Path, watch: Callable[..., Any]) -> None:
    exported(scored, tmp_path / "out")
    watched = watch((tmp_path / "out" / "index.html").as_uri())
    page = watched.page
    assert "tact" in page.inner_text("h1")
    page.focus(".tabs a:nth-child(2)")
    watched.open_by_key("Enter")
    assert page.inner_text("[data-count]") == f"{N} items"
    page.keyboard.press("/")
    page.keyboard.type("i1")
    assert page.inner_text("[data-count]") == f"11 of {N} items"
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    watched.open_by_key("Enter")
    assert page.inner_text(ITEM) == "i10"
    watched.open_by_key("j")
    assert page.inner_text(ITEM) == "i11"
    watched.open_by_key("u")
    assert page.evaluate("location.hash") == "#n11"
    page.focus("button[type=reset]")
    page.focus("a[data-sort=score]")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.get_attribute("th[aria-sort]", "aria-sort") == "descending"
    assert page.evaluate("location.hash") == "#criterion=tact&sort=-score"
    watched.check()


def test_a_prompt_is_loaded_when_its_drawer_is_opened(
    scored: Path, tmp_path: Path, watch: Callable[..., Any]
) -> None:
    exported(scored, tmp_path / "out")
    watched = watch((tmp_path / "out" / "pages" / "item-1-4.html").as_uri())
    page = watched.page
    # A text that other items share is there with the page, the prompt when its drawer is opened.
    page.wait_for_selector(".field-block .quote:text-is('Say a number.')")
    assert page.locator("details .quote:has-text('Say a number.')").count() == 0
    page.focus("summary:has-text('Exact prompt')")
    page.keyboard.press("Enter")
    page.wait_for_selector("details[open] .quote:has-text('Say a number.')")
    prompt = page.inner_text("details[open] .quote:has-text('Say a number.')")
    assert "answer 3" in prompt
    page.focus(".others a:has-text('s1')")
    watched.open_by_key("Enter")
    page.wait_for_selector(".field-block .quote:text-is('answer 4')")
    watched.check()


def test_a_door_of_a_chart_opens_its_items(scored: Path, tmp_path: Path, watch: Callable[..., Any]) -> None:
    exported(scored, tmp_path / "out")
    watched = watch((tmp_path / "out" / "index.html").as_uri())
    page = watched.page
    page.focus("a:text-is('Largest disagreements')")
    watched.open_by_key("Enter")
    assert "judge and people differ" in page.inner_text(".above")
    n_apart = page.inner_text("[data-count]")
    page.click("button.chip")
    assert page.inner_text("[data-count]") == f"{N} items" != n_apart

"""Reviewing and comparing in a real browser by keyboard
alone, on a screen and a phone; decisions survive a kill.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from adjudge.records import Label
from adjudge.store import open_store
from running import DIRECT, adjudge, started, write_rows

pytestmark = pytest.mark.browser

N = 12
PAGES = (
    "/review?run=first&by=people",
    "/review?run=first&by=random",
    "/review?run=second",
    "/compare?with=first&with=second",
    "/compare/item?with=first&with=second&item=i03",
    "/item?run=first&n=3",
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two runs of twelve items, with labels that differ from the scores of the first by up to three
    points."""
    items = [
        {"id": f"i{k:02}", "system": "ab"[k % 2], "group": f"g{k // 2}", "instruction": "한 수를 말하라.",
        "response": f"answer {k} " + "long " * 90}
        for k in range(N)
    ]  # fmt: skip
    write_rows(tmp_path / "items.jsonl", items)
    store = tmp_path / "s.db"
    for name, step in (("first", 1), ("second", 3)):
        write_rows(
            tmp_path / f"{name}.jsonl",
            [
                {"item": f"i{k:02}", "text": f"Well, {name} {k}. [RESULT] {k * step % 5 + 1}"}
                for k in range(N)
            ],
        )
        model = f"replay:{tmp_path / f'{name}.jsonl'}"
        done = adjudge("run", tmp_path / "items.jsonl", *DIRECT, "-m", model, "--run", name, "--store", store)
        assert done.code == 0, done.err
    with open_store(store) as opened:
        run = opened.run("first")
        criterion = next(iter(opened.judgments(run))).about.criteria[0]
        opened.put_labels([Label(f"i{k:02}", criterion, "ann", float(k * 3 % 5 + 1)) for k in range(N)], run)
    return store


def decided(store: Path) -> list[tuple[str, str, str]]:
    with open_store(store, write=False) as opened:
        return [(one.item, one.verdict, one.note) for one in opened.reviews(opened.run("first"))]


def shown(page: Any) -> str:
    return str(page.inner_text(".rv-title a"))


def press(page: Any, key: str) -> None:
    """Press a key that leads to another page, and wait for it."""
    page.evaluate("document.querySelector('main').dataset.seen = 'yes'")
    page.keyboard.press(key)
    page.wait_for_selector("main:not([data-seen])")
    page.wait_for_selector("body:not(.is-busy)")


def tab_to(page: Any, selector: str) -> None:
    """Reach an element with the Tab key alone."""
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement?.matches(selector) ?? false", selector):
            return
    raise AssertionError(f"the Tab key does not reach {selector}")


def review(watch: Callable[..., Any], url: str, **more: Any) -> Any:
    watched = watch(url, **more)
    watched.page.goto(f"http://{urlsplit(url).netloc}/review?run=first")
    return watched


def enter(page: Any, name: str = "eva") -> None:
    tab_to(page, "input[name=reviewer]")
    page.keyboard.type(name)
    press(page, "Enter")


def test_a_queue_is_reviewed_by_keyboard_and_the_strip_follows(
    store: Path, watch: Callable[..., Any], host: Callable[..., Any]
) -> None:
    with host(store) as url:
        watched = review(watch, url)
        page = watched.page
        assert shown(page) == "i01"
        enter(page)
        assert shown(page) == "i01"
        press(page, "1")
        assert shown(page) == "i04"
        press(page, "s")
        assert shown(page) == "i06"
        page.keyboard.press("n")
        page.keyboard.type("1 is not 2")
        assert decided(store) == [("i01", "judge", "")], "digits in a note decide nothing"
        page.keyboard.press("Escape")
        press(page, "2")
        press(page, "4")
        assert decided(store) == [
            ("i01", "judge", ""),
            ("i06", "people", "1 is not 2"),
            ("i09", "unclear", ""),
        ]
        press(page, "u")
        assert shown(page) == "i09"
        assert decided(store)[-1] == ("i06", "people", "1 is not 2")
        press(page, "k")
        assert shown(page) == "i06"
        assert page.input_value("#note") == "1 is not 2"
        assert page.get_attribute("[data-key='2']", "aria-pressed") == "true"
        press(page, "3")
        assert decided(store)[-1] == ("i06", "both", "1 is not 2")
        watched.check("the review")
        page.goto(f"http://{urlsplit(url).netloc}/run?run=first")
        page.wait_for_selector(".answer >> text=reviewed", timeout=30_000)
        assert "2 of 12 labels reviewed" in page.inner_text(".answer")


def test_a_screen_reader_finds_the_decisions_by_name_and_hears_where_it_is(
    store: Path, watch: Callable[..., Any], host: Callable[..., Any]
) -> None:
    with host(store) as url:
        page = review(watch, url).page
        enter(page)
        for name in ("Judge right", "People right", "Both defensible", "Item unclear"):
            assert page.get_by_role("button", name=name).count() == 1
        assert page.get_by_role("group", name="Who is right?").count() == 1
        assert page.get_by_role("textbox", name="Note").count() == 1
        assert page.get_by_role("progressbar", name="reviewed by you").count() == 1
        assert page.get_by_role("navigation", name="Queues").count() == 1
        press(page, "1")
        # The new item is read from its beginning, and what was saved is a status.
        assert page.evaluate("document.activeElement.tagName") == "MAIN"
        assert "judge right" in page.get_by_role("status").inner_text()
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
        assert len(ids) == len(set(ids))


def test_decisions_survive_a_kill(store: Path, watch: Callable[..., Any]) -> None:
    process = started("view", "--no-browser", "--store", store, PYTHONUNBUFFERED="1")
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    page = review(watch, url).page
    enter(page)
    for _ in range(3):
        press(page, "1")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert [verdict for _, verdict, _ in decided(store)] == ["judge"] * 3
    assert adjudge("doctor", "--store", store).code == 0


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_review_and_the_comparison_fit_the_window(
    store: Path, watch: Callable[..., Any], host: Callable[..., Any], width: int, height: int, theme: str
) -> None:
    with host(store) as url:
        watched = review(watch, url, width=width, height=height, theme=theme)
        enter(watched.page)
        home = f"http://{urlsplit(url).netloc}"
        for address in PAGES:
            watched.page.goto(home + address)
            watched.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            watched.check(address)


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_axe_finds_nothing_on_the_review_and_the_comparison(
    store: Path, watch: Callable[..., Any], host: Callable[..., Any], width: int, theme: str
) -> None:
    with host(store) as url:
        watched = review(watch, url, width=width, theme=theme)
        enter(watched.page)
        found = []
        for address in PAGES:
            watched.page.goto(f"http://{urlsplit(url).netloc}{address}")
            found += [f"{address}: {one}" for one in watched.axe()]
        assert found == []


def test_two_runs_are_compared_by_keyboard_down_to_the_words(
    store: Path, watch: Callable[..., Any], host: Callable[..., Any]
) -> None:
    with host(store) as url:
        watched = watch(url)
        page = watched.page
        for name in ("first", "second"):
            tab_to(page, f"input[name=with][value={name}]")
            page.keyboard.press("Space")
        tab_to(page, "form[action='/compare'] button")
        page.keyboard.press("Enter")
        page.wait_for_selector(".moved", timeout=30_000)
        assert page.locator("svg .joined").count() == 2
        tab_to(page, ".moved:not([open]) > summary")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.closest('details').open")
        tab_to(page, ".moved a")
        page.keyboard.press("Enter")
        page.wait_for_url("**/compare/item?**")
        marked = page.locator(".changed mark").all_inner_texts()
        assert "first" in " ".join(marked)
        assert "second" in " ".join(marked)
        tab_to(page, "main a[href^='/item']")
        page.keyboard.press("Enter")
        page.wait_for_url("**/item?run=**")
        tab_to(page, ".same a")
        page.keyboard.press("Enter")
        page.wait_for_url("**/item?run=second**")
        watched.check("the same item in the other run")


def test_a_note_and_tags_are_written_by_keyboard_and_found_again(
    store: Path, watch: Callable[..., Any], host: Callable[..., Any]
) -> None:
    with host(store) as url:
        watched = watch(url)
        page = watched.page
        page.goto(f"http://{urlsplit(url).netloc}/item?run=first&n=3")
        tab_to(page, ".notes > summary")
        page.keyboard.press("Enter")
        tab_to(page, "input[name=reviewer]")
        page.keyboard.type("eva")
        tab_to(page, "input[name=tags]")
        page.keyboard.type("odd, 长")
        tab_to(page, "textarea[name=text]")
        page.keyboard.type("look again")
        tab_to(page, ".notes button")
        page.keyboard.press("Enter")
        page.wait_for_selector(".notes [role=status]:has-text('Saved.')")
        page.reload()
        tab_to(page, "a.chip")
        page.keyboard.press("Enter")
        page.wait_for_url("**/items?**")
        page.wait_for_selector("text=tag odd")
        assert page.locator("table.items tbody tr").count() == 1
        watched.check("the items with a tag")

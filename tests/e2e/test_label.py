"""Labelling in a real browser: twenty items by keyboard, pairs,
a scale of two digits, a phone; and `trust` at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adjudge.store import open_store
from adjudge.web.labelling.session import open_session
from adjudge.web.pages.annotate import start_path
from running import DIRECT, EXAMPLES, adjudge, write_rows

pytestmark = pytest.mark.browser

N = 26

RATERS = {"ann", "ben", "cat", "dan", "eve", "fay", "gus", "hal-light", "hal-dark"}
"""whom these tests type"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("label")
    items = [
        {
            "id": f"i{k}", "system": "odd" if k % 2 else "even", "instruction": "한 수를 말하라. قل رقماً.",
            "response": f"answer {k} " + "long " * 150 * (1 + k % 4),
        }
        for k in range(N)
    ]  # fmt: skip
    write_rows(folder / "items.jsonl", items)
    write_rows(
        folder / "replies.jsonl",
        [{"item": f"i{k}", "text": f"Well. [RESULT] {k * 7 % 5 + 1}"} for k in range(N)],
    )
    store = folder / "s.db"
    for arguments in (
        (folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'replies.jsonl'}", "--run", "tact"),
        (
            EXAMPLES / "advice.jsonl", "-p", "geval/compare", "-m",
            f"replay:{EXAMPLES / 'advice.replies.jsonl'}",
            "--run", "pairs",
        ),
        (
            EXAMPLES / "commentary.jsonl", "-p", "commentary-zh/structure",
            "-m", f"replay:{EXAMPLES / 'commentary.replies.jsonl'}", "--run", "ten",
        ),
    ):  # fmt: skip
        done = adjudge("run", *arguments, "--store", store)
        assert done.code == 0, done.err
    return store


@pytest.fixture
def label(store: Path, host: Callable[..., Any]) -> Callable[..., Any]:
    """A server that labels a run, as `adjudge annotate` starts one."""

    @contextmanager
    def hosted(run: str, *, n: int = 50, seed: int = 0, rater: str | None = None) -> Iterator[str]:
        with open_session(store, run, n, seed) as session, host(store, session, start_path(rater)) as url:
            yield url

    return hosted


def labels(store: Path, run: str, rater: str) -> list[tuple[str, str | None, float | str]]:
    with open_store(store, write=False) as opened:
        stored = opened.labels(opened.run(run))
    # A label under a part of the name is lost to its rater, and would only look like none here.
    assert not {label.rater for label in stored} - RATERS
    return [(label.item, label.subject, label.value) for label in stored if label.rater == rater]


def begin(watched: Any, name: str) -> Any:
    page = watched.page
    # The field has the focus as soon as the page is there: no key is lost, and the name is whole.
    page.keyboard.type(name)
    assert page.input_value("[name=rater]") == name
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-item]")
    return page


def shown(page: Any) -> str:
    return str(page.get_attribute("#sheet", "data-item"))


def press(page: Any, key: str) -> None:
    """Press a key and wait for the page that it leads to."""
    page.evaluate("document.querySelector('main').dataset.seen = 'yes'")
    page.keyboard.press(key)
    page.wait_for_selector("main:not([data-seen])")
    page.wait_for_selector("body:not(.is-busy)")


def test_twenty_items_labelled_by_keyboard_are_what_trust_reads(
    store: Path, watch: Callable[..., Any], serve: Callable[..., Any]
) -> None:
    given = {}
    with serve("annotate", "tact", "-n", "20", "--store", store) as url:
        watched = watch(url)
        page = begin(watched, "ann")
        for n_done in range(20):
            assert f"{n_done} of 20 items labelled" in page.inner_text("#done")
            number = int(page.inner_text(".lb-field:nth-of-type(2) .quote").split()[1])
            given[f"i{number}"] = number * 7 % 5 + 1
            press(page, str(given[f"i{number}"]))
            watched.check()
        assert page.inner_text("h1") == "All items are labelled"
        assert "adjudge trust tact" in page.inner_text("main")
        watched.check()
    assert {item: value for item, _, value in labels(store, "tact", "ann")} == given
    card = adjudge("trust", "tact", "--json", "--store", store).json
    assert card["criteria"]["tact"]["item"]["pearson"]["n"] == 20
    assert card["criteria"]["tact"]["item"]["pearson"]["value"] == pytest.approx(1.0)


def test_keys_skip_undo_and_go_back(
    store: Path, watch: Callable[..., Any], label: Callable[..., Any]
) -> None:
    with label("tact", n=3, seed=5) as url:
        watched = watch(url)
        page = begin(watched, "ben")
        first = shown(page)
        press(page, "s")
        second = shown(page)
        assert second != first
        press(page, "4")
        third = shown(page)
        press(page, "u")
        assert shown(page) == second
        assert labels(store, "tact", "ben") == []
        press(page, "2")
        press(page, "k")
        assert shown(page) == second
        assert page.get_attribute('[aria-pressed="true"]', "data-key") == "2"
        press(page, "5")
        assert shown(page) == second
        assert page.get_attribute('[aria-pressed="true"]', "data-key") == "5"
        press(page, "j")
        assert shown(page) == third
        press(page, "1")
        assert page.inner_text("h1") == "All other items are skipped"
        press(page, "r")
        assert shown(page) == first
        press(page, "3")
        assert page.inner_text("h1") == "All items are labelled"
        page.go_back()
        page.wait_for_selector("[data-item]")
        watched.check()
    assert [value for _, _, value in labels(store, "tact", "ben")] == [5, 1, 3]


def test_a_key_off_the_scale_does_nothing_and_keys_typed_ahead_are_not_given_to_the_next_item(
    store: Path, watch: Callable[..., Any], label: Callable[..., Any]
) -> None:
    with label("tact", n=5) as url:
        watched = watch(url)
        page = begin(watched, "cat")
        first = shown(page)
        for key in ("0", "6", "9", "x", "Enter"):
            page.keyboard.press(key)
        assert shown(page) == first
        # Both go down before the first is answered: the second was meant for a text that was not shown yet.
        page.evaluate(
            "for (const key of ['3', '4']) document.body.dispatchEvent(new KeyboardEvent('keydown', "
            "{ key, bubbles: true }))"
        )
        page.wait_for_selector(f'#sheet:not([data-item="{first}"])')
        page.wait_for_selector("body:not(.is-busy)")
        watched.check()
    assert [value for _, _, value in labels(store, "tact", "cat")] == [3]


def test_all_questions_of_a_pair_are_answered_one_after_another(
    store: Path, watch: Callable[..., Any], serve: Callable[..., Any]
) -> None:
    with serve("annotate", "pairs", "--rater", "dan", "--criterion", "overall", "--store", store) as url:
        watched = watch(url)
        page = watched.page
        wanted = {}
        for arrow, side in (("ArrowLeft", 0), ("ArrowRight", 1)):
            first = shown(page)
            chosen = page.locator(".lb-side .quote").nth(side).inner_text()
            for key in ("5", "2"):
                press(page, key)
                assert shown(page) == first
            press(page, arrow)
            wanted[chosen[:30]] = (5, 2) if side == 0 else (2, 5)
        assert page.inner_text("h1") == "All items are labelled"
        watched.check()
    stored_labels = labels(store, "pairs", "dan")
    with open_store(store, write=False) as opened:
        items = {item.id: item for item in opened.items(opened.run("pairs"))}
    for item in items:
        said = {subject: value for name, subject, value in stored_labels if name == item}
        chosen = said[None]
        text = str(items[item].fields[f"response_{chosen}"])
        other = "b" if chosen == "a" else "a"
        assert (said[chosen], said[other]) == wanted[text[:30]]  # type: ignore[index]


def test_a_number_of_two_digits_is_typed(
    store: Path, watch: Callable[..., Any], label: Callable[..., Any]
) -> None:
    with label("ten", rater="eve") as url:
        watched = watch(url)
        page = watched.page
        page.keyboard.type("11")
        page.keyboard.press("Enter")
        page.wait_for_selector("#problem:not([hidden])")
        assert "11 is not on the scale 0 to 10 in steps of 1" in page.inner_text("#problem")
        watched.problems = [text for text in watched.problems if "400 (Bad Request)" not in text]
        page.fill("[data-number]", "10")
        press(page, "Enter")
        page.keyboard.type("7")
        press(page, "Enter")
        assert page.inner_text("h1") == "All items are labelled"
        watched.check()
    assert [value for _, _, value in labels(store, "ten", "eve")] == [10, 7]


def test_two_raters_label_at_once(store: Path, watch: Callable[..., Any], label: Callable[..., Any]) -> None:
    with label("tact", n=4) as url:
        pages = {name: begin(watch(url), name) for name in ("fay", "gus")}
        for value in ("1", "2", "3", "4"):
            for page in pages.values():
                press(page, value)
    for name in pages:
        assert [value for _, _, value in labels(store, "tact", name)] == [1, 2, 3, 4]


@pytest.mark.parametrize("run", ["tact", "pairs", "ten"])
def test_every_labelling_page_fits_a_phone(
    watch: Callable[..., Any], label: Callable[..., Any], run: str
) -> None:
    with label(run, n=2) as url:
        for theme in ("light", "dark"):
            watched = watch(url, width=390, height=844, theme=theme)
            watched.check("the start")
            assert watched.axe() == []
            page = begin(watched, f"hal-{theme}")
            watched.check(run)
            assert watched.axe() == []
            page.set_viewport_size({"width": 1440, "height": 900})
            assert watched.axe() == []
            page.set_viewport_size({"width": 390, "height": 844})
            button = page.locator("[data-current] .key-btn").first
            box = button.bounding_box()
            # The answer is under the thumb without scrolling.
            assert box is not None
            assert box["y"] + box["height"] <= 844
            button.click()
            page.wait_for_selector("body:not(.is-busy)")
            watched.check(run)

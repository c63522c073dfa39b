"""The viewer and the report in a real browser: open a run,
filter, open an item; both themes, a phone, no script.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from adjudge.records import Label
from adjudge.store import open_store
from clock import until
from fakeserver import FakeServer, Request, chat
from running import DIRECT, EXAMPLES, adjudge, answers, ended, model_at, started, write_rows

pytestmark = pytest.mark.browser

ITEM = ".crumbs [aria-current=page]"
"""The id of the item that a page is about."""

N = 60
KOREAN = "답변은 정중하지만 차갑다"
ARABIC = "الرد مهذب لكنه بارد"


def score(k: int) -> int:
    return k * 7 % 5 + 1


MARKDOWN = """# Plan

1. **First** do `this`
   - then [that](https://example.org/a?b=1)

> said before

| step | cost |
|---|--:|
| one | 2 |

```python
def cost(steps: int) -> str:  # of all
    return "2" * steps
```
"""
RICH = {
    "markdown": (MARKDOWN, "## Verdict\n\n- **good** plan\n\nFine. [RESULT] 4"),
    "json": ('{"steps": [1, {"b": "<i>"}], "ok": true}', "Fine. [RESULT] 3"),
    "long": ("short", f"{'It goes on and on. ' * 900}[RESULT] 2 {'And on. ' * 900}"),
    "conflict": ("a\u200bb\u202ec", "[RESULT] 2 or rather [RESULT] 4"),
    "between": ("x", "Fine. [RESULT] 4.5"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of sixty items by three systems with failures and
    labels, a run of pairs, one that failed, an empty one.
    """
    folder = tmp_path_factory.mktemp("view")
    items = [
        {
            "id": f"i{k}", "group": f"g{k // 3}", "system": ("north", "south",
            "a-rather-long-name-of-a-system")[k % 3],
            "instruction": f"Say a number. {ARABIC}",
            "response": f"answer {k} {KOREAN} " + "and so on " * (k * 20 % 300),
        }
        for k in range(N)
    ]  # fmt: skip
    replies = [
        {
            "item": f"i{k}",
            "text": "I would rather not." if k % 10 == 1 else f"Well, {KOREAN}. [RESULT] {score(k)}",
        }
        for k in range(N)
    ]
    write_rows(folder / "items.jsonl", items)
    write_rows(folder / "replies.jsonl", replies)
    write_rows(folder / "none.jsonl", [{"item": "nobody", "text": "x"}])
    rich = [
        {"id": name, "group": "g", "system": name, "instruction": "Say *it*.", "response": text}
        for name, (text, _) in RICH.items()
    ]
    write_rows(folder / "rich.jsonl", rich)
    write_rows(
        folder / "rich-replies.jsonl", [{"item": name, "text": text} for name, (_, text) in RICH.items()]
    )
    store = folder / "s.db"
    for code, arguments in (
        (0, (folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'replies.jsonl'}", "--run", "tact")),
        (0, (EXAMPLES / "advice.jsonl", "-p", "geval/compare", "-m",
        f"replay:{EXAMPLES / 'advice.replies.jsonl'}", "--run", "pairs")),
        (0, (folder / "rich.jsonl", *DIRECT, "-m", f"replay:{folder / 'rich-replies.jsonl'}", "--run",
        "rich")),
        (4, (folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'none.jsonl'}", "--run", "failed")),
    ):  # fmt: skip
        done = adjudge("run", *arguments, "--store", store)
        assert done.code == code, done.err
    with open_store(store) as opened:
        run = opened.run("tact")
        opened.put_labels(
            [
                Label(f"i{k}", "tact", rater, min(5, score(k) + k % 2))
                for k in range(N)
                for rater in ("ann", "ben")
            ],
            run,
        )
        empty = opened.start_run("empty", dict(run.manifest), "of its own")
        opened.finish_run(empty, "interrupted")
    return store


@pytest.fixture(scope="module")
def home(store: Path, serve: Callable[..., Any]) -> Any:
    with serve("view", "--store", store) as url:
        yield url


def at(url: str, path: str, **query: str | int) -> str:
    """Another page of the same server; a profile that has no cookie yet brings the token along."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{path}?{urlencode(query)}&{parts.query}"


def test_from_the_runs_through_a_filter_to_the_place_that_was_read(
    home: str, watch: Callable[..., Any]
) -> None:
    watched = watch(home)
    page = watched.page
    assert "token" not in page.url
    with page.expect_navigation():
        page.click("th bdi:text-is('tact')")
    page.wait_for_selector("main svg >> visible=true")
    watched.check("the run")
    # The script that filters is ready when the page has loaded, not when its first row is there.
    with page.expect_navigation():
        page.click("nav.tabs >> text=Items")
    page.wait_for_selector(".pager-now:has-text('of 60')")
    page.select_option("select[name=system]", "south")
    page.wait_for_selector(".pager-now:has-text('of 20')")
    page.fill("input[name=low]", "4")
    wanted = [k for k in range(N) if k % 3 == 1 and k % 10 != 1 and score(k) >= 4]
    page.wait_for_selector(f".pager-now:has-text('of {len(wanted)}')")
    assert sorted(page.locator("table[data-rows] tbody th").all_inner_texts()) == sorted(
        f"i{k}" for k in wanted
    )
    watched.check("the filter")
    page.keyboard.press("Escape")
    for key in ("j", "j"):
        page.keyboard.press(key)
    watched.open_by_key("Enter")
    assert page.inner_text("mark.span") in ("4", "5")
    shown = page.inner_text(ITEM)
    assert shown in {f"i{k}" for k in wanted}
    assert KOREAN in page.inner_text("main")
    page.click("text=Exact prompt")
    assert "Say a number." in page.inner_text("details[open]")
    watched.check("the item")
    watched.open_by_key("k")
    assert page.inner_text(ITEM) != shown
    assert page.inner_text(ITEM) in {f"i{k}" for k in wanted}
    watched.check("the item before, within the filter")


def test_a_search_finds_text_of_any_script(home: str, watch: Callable[..., Any]) -> None:
    watched = watch(at(home, "/items", run="tact"))
    page = watched.page
    page.wait_for_selector("table[data-rows] tbody tr")
    page.keyboard.press("/")
    page.keyboard.type("answer 17 답변은")
    # While the text is typed, the list has other items that match its beginning.
    page.wait_for_selector("table[data-rows]:not(:has(tbody tr + tr)) th:has-text('i17')")
    assert page.inner_text(".pager-now").endswith("of 1")
    page.fill("input[name=q]", "nothing is like this")
    page.wait_for_selector(".empty")
    watched.check()


def pages(home: str) -> dict[str, str]:
    return {
        "runs": at(home, "/"),
        "run": at(home, "/run", run="tact"),
        "run of pairs": at(home, "/run", run="pairs"),
        "failed run": at(home, "/run", run="failed"),
        "empty run": at(home, "/run", run="empty"),
        "items": at(home, "/items", run="tact"),
        "items of pairs": at(home, "/items", run="pairs"),
        "items of a failed run": at(home, "/items", run="failed"),
        "items of an empty run": at(home, "/items", run="empty"),
        "item": at(home, "/item", run="tact", n=17),
        "pair": at(home, "/item", run="pairs", n=0),
        "failed item": at(home, "/item", run="failed", n=0),
        "matrix": at(home, "/matrix", run="tact"),
        "matrix with an item": at(home, "/matrix", run="tact", open=17),
        "matrix of pairs": at(home, "/matrix", run="pairs"),
        "matrix of an empty run": at(home, "/matrix", run="empty"),
        "comparison": f"{at(home, '/compare', **{'with': 'tact'})}&with=failed",
        "runs sorted and searched": at(home, "/", q="replay", sort="-trust"),
        "items searched": at(home, "/items", run="tact", q="answer 1", low=2, sort="-people"),
        "items that nothing matches": at(home, "/items", run="tact", q="nothing is like this"),
        "matrix by judges": at(home, "/matrix", run="tact", by="judges", colour="score"),
        "review": at(home, "/review", run="tact"),
        **{f"{name} item": at(home, "/item", run="rich", n=n) for n, name in enumerate(RICH)},
    }


def errors(home: str) -> dict[str, str]:
    return {
        "no such run": at(home, "/run", run="nothing"),
        "no page": at(home, "/nowhere"),
        "no item": at(home, "/item", run="tact", n=9999),
        "one run to compare": at(home, "/compare", **{"with": "tact"}),
    }


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(
    home: str, store: Path, tmp_path: Path, watch: Callable[..., Any], width: int, height: int, theme: str
) -> None:
    watched = watch(home, width=width, height=height, theme=theme)
    # The themes differ in colours alone.
    rules = () if theme == "light" else ("color-contrast",)
    found = {}
    for name, address in {**pages(home), **errors(home)}.items():
        watched.open_whole(address)
        found[name] = watched.axe(*rules)
        if name in errors(home):
            # The browser says in its console that such a page was not found.
            watched.problems.clear()
    for run in ("tact", "pairs", "rich"):
        report = tmp_path / f"{run}.html"
        assert adjudge("report", run, "--html", report, "--store", store).code == 0
        found[f"report of {run}"] = watch(report.as_uri(), width=width, height=height, theme=theme).axe(
            *rules
        )
    assert [f"{name}: {one}" for name, several in found.items() for one in several] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_fits_a_screen_and_a_phone_in_both_themes(
    home: str, watch: Callable[..., Any], theme: str
) -> None:
    watched = watch(home, theme=theme)
    for name, address in pages(home).items():
        answer = watched.open_whole(address)
        assert answer.status == 200, name
        assert "token" not in watched.page.url
        ground = watched.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(18, 19, 21)") == (theme == "dark"), ground
        for width, height in ((1440, 900), (390, 844)):
            watched.page.set_viewport_size({"width": width, "height": height})
            watched.check(f"{name} at {width}")


def test_every_page_says_something_without_a_script(home: str, watch: Callable[..., Any]) -> None:
    watched = watch(home, script=False)
    for name, address in pages(home).items():
        assert watched.page.goto(address).status == 200, name
        assert len(watched.page.inner_text("main")) > 20, name


UNNAMED = """() => {
  const found = [];
  const say = (what, one) => found.push(`${what}: ${one.outerHTML.slice(0, 100)}`);
  const all = (selector) => [...document.querySelectorAll(selector)];
  for (const one of all("svg:not([aria-hidden=true])"))
    if (one.getAttribute("role") !== "img" ? !(one.getAttribute("role") === "group" && one.getAttribute("aria-label")) : !one.querySelector(":scope > title")) say("chart", one);
  for (const one of all(".scroll")) if (one.scrollWidth > one.clientWidth && one.tabIndex < 0 && !one.querySelector("a, button, input")) say("no key scrolls", one);
  for (const one of all("a, button, summary")) if (!(one.getAttribute("aria-label") || one.textContent).trim()) say("control", one);
  for (const one of all("input:not([type=hidden]), select, progress, meter"))
    if (!one.labels?.length && !one.getAttribute("aria-label")) say("field", one);
  for (const one of all("thead th:not([scope])")) say("heading of a column", one);
  const ids = all("[id]").map((one) => one.id);
  if (new Set(ids).size < ids.length) found.push("an id that is there twice");
  let level = 0;
  for (const one of all("h1, h2, h3, h4")) {
    if (Number(one.tagName[1]) > level + 1 && !one.closest("dialog")) say(`after h${level}`, one);
    level = Number(one.tagName[1]);
  }
  return found;
}"""  # noqa: E501


def test_every_page_can_be_read_aloud_and_used_by_keyboard(home: str, watch: Callable[..., Any]) -> None:
    watched = watch(home)
    page = watched.page
    for name, address in pages(home).items():
        watched.open_whole(address)
        assert page.evaluate(UNNAMED) == [], name
        page.keyboard.press("Tab")
        skip = page.locator(".skip")
        assert skip.evaluate("(one) => one === document.activeElement"), name
        box = skip.bounding_box()
        assert box is not None
        assert box["x"] >= 0, f"{name}: whoever uses the keyboard does not see where they are"
        page.keyboard.press("Enter")
        if page.locator("main a[href], main button, main summary").count():
            page.keyboard.press("Tab")
            # The first stop after the skip link is in the content, and its outline is drawn.
            at = (
                "(() => { const one = document.activeElement; return [one.closest('main') !== null, "
                "getComputedStyle(one).outlineStyle]; })()"
            )
            page.wait_for_function(f"{at}.join() === 'true,solid'")


def tab_to(page: Any, selector: str, most: int = 200) -> None:
    """Press Tab until an element of the selector has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached by Tab on {page.url}")


def test_from_the_map_of_judge_and_people_to_its_items_by_keyboard(
    home: str, watch: Callable[..., Any]
) -> None:
    page = watch(home).page
    page.goto(at(home, "/run", run="tact"))
    page.wait_for_selector(".answer")
    tab_to(page, ".heat.map .door")
    n = page.evaluate("Number(document.activeElement.textContent)")
    page.keyboard.press("Enter")
    page.wait_for_url("**/items?*")
    assert page.locator("table.items tbody tr").count() == n


def test_a_cell_of_the_matrix_opens_its_item_beside_it_by_keyboard(
    home: str, watch: Callable[..., Any]
) -> None:
    watched = watch(home)
    page = watched.page
    page.goto(at(home, "/matrix", run="tact"))
    tab_to(page, "a[data-pane]")
    title = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("Enter")
    page.wait_for_selector("#pane #results-head")
    assert title.partition(":")[0] in page.inner_text("#pane h2")
    assert page.evaluate("document.activeElement.id") == "pane"
    assert "open=" in page.url
    watched.check("the matrix with an item")
    page.set_viewport_size({"width": 390, "height": 844})
    watched.check("the matrix with an item on a phone")


def test_arrows_go_from_cell_to_cell_and_columns_are_chosen_by_keyboard(
    home: str, watch: Callable[..., Any]
) -> None:
    watched = watch(at(home, "/matrix", run="tact"))
    page = watched.page
    tab_to(page, "a[data-pane]")
    place = "[document.activeElement.closest('td').cellIndex, document.activeElement.closest('tr').rowIndex]"
    # Above the first input stands the row of means, which has no doors.
    assert page.evaluate(place) == [1, 2]
    for key, wanted in (
        ("ArrowRight", [2, 2]),
        ("ArrowDown", [2, 3]),
        ("ArrowLeft", [1, 3]),
        ("ArrowUp", [1, 2]),
    ):
        page.keyboard.press(key)
        assert page.evaluate(place) == wanted
    page.goto(at(home, "/matrix", run="tact"))
    tab_to(page, ".columns > summary")
    page.keyboard.press("Enter")
    tab_to(page, "input[name=col][value=south]", 5)
    page.keyboard.press("Space")
    page.wait_for_selector(".chip:has-text('1 column hidden')")
    assert page.locator(".matrix thead th").all_inner_texts() == [
        "Input",
        "a-rather-long-name-of-a-system",
        "north",
    ]
    assert "col=north" in page.url
    with page.expect_download() as download:
        page.click("text=CSV")
    assert Path(download.value.path()).read_text().splitlines()[0].count(",") == 4
    watched.check("the matrix with fewer columns")


def test_two_runs_of_the_list_are_compared_by_keyboard(home: str, watch: Callable[..., Any]) -> None:
    page = watch(home).page
    page.wait_for_selector(".runs .in-short")
    button = page.locator("form#compare button")
    assert button.is_disabled()
    for run in ("tact", "failed"):
        tab_to(page, f"input[name=with][value={run}]")
        page.keyboard.press("Space")
    assert button.is_enabled()
    tab_to(page, "form#compare button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?*")


def test_a_long_reply_leads_to_its_mark_by_keyboard(home: str, watch: Callable[..., Any]) -> None:
    watched = watch(at(home, "/item", run="rich", n=list(RICH).index("long")))
    page = watched.page
    mark = page.locator(".jump a").first.get_attribute("href")
    seen = (
        f"(() => {{ const one = document.querySelector('{mark}').getBoundingClientRect(), box = "
        f"document.querySelector('{mark}').closest('.quote').getBoundingClientRect(); return one.top "
        ">= box.top - 1 && one.bottom <= box.bottom + 1; })()"
    )
    assert not page.evaluate(seen)
    tab_to(page, ".jump a")
    page.keyboard.press("Enter")
    until(lambda: page.evaluate(seen))
    watched.check("the long reply")


def test_raw_text_takes_the_place_of_rendered_text_and_the_choice_is_kept(
    home: str, watch: Callable[..., Any]
) -> None:
    watched = watch(at(home, "/item", run="rich", n=0))
    page = watched.page
    rendered = page.locator(".judged article > .quote.rendered")
    assert rendered.locator("li strong").inner_text() == "good"
    assert rendered.locator("mark.span").inner_text() == "4"
    assert page.locator("a[href*='example.org']").count() == 0
    page.keyboard.press("r")
    assert not rendered.is_visible()
    raw = page.locator(".judged article > details[data-raw] .quote")
    assert raw.is_visible()
    assert raw.inner_text() == RICH["markdown"][1]
    assert raw.locator("mark.span").inner_text() == "4"
    page.reload()
    assert raw.is_visible()
    page.keyboard.press("r")
    assert rendered.is_visible()
    watched.check("the rendered item")


def test_what_people_said_is_in_sight_on_a_phone(home: str, watch: Callable[..., Any]) -> None:
    watched = watch(at(home, "/items", run="tact", sort="-people"), width=390, height=844)
    page = watched.page
    page.wait_for_selector("table[data-rows] tbody tr")
    ends = page.locator("table[data-rows] tbody tr:first-child td.num").evaluate_all(
        "(cells) => cells.map((one) => one.getBoundingClientRect().right)"
    )
    assert len(ends) == 3
    assert max(ends) <= 390
    top = page.locator("table[data-rows]").bounding_box()
    assert top is not None
    assert top["y"] < 844 / 2, "the filters fill the screen"


def test_on_paper_the_head_of_a_table_is_repeated_and_nothing_is_cut_off(
    home: str, watch: Callable[..., Any]
) -> None:
    page = watch(home).page
    for path in ("/items", "/matrix"):
        page.goto(at(home, path, run="tact"))
        page.wait_for_selector("main table tbody tr")
        page.emulate_media(media="print")
        shown = "(selector) => getComputedStyle(document.querySelector(selector))"
        assert page.evaluate(f"({shown})('main thead').display") == "table-header-group"
        assert page.evaluate(f"({shown})('.scroll').overflowY") == "visible"
        assert page.evaluate(f"({shown})('.scroll').maxHeight") == "none"
        page.emulate_media(media="screen")


def test_the_theme_that_was_chosen_stays(home: str, watch: Callable[..., Any]) -> None:
    watched = watch(home)
    watched.page.keyboard.press("t")
    assert watched.page.evaluate("document.documentElement.dataset.theme") == "dark"
    watched.page.goto(at(home, "/run", run="tact"))
    assert watched.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 19, 21)"


def test_without_the_token_nothing_is_shown(home: str, chromium: Any) -> None:
    parts = urlsplit(home)
    profile = chromium.new_context()
    page = profile.new_page()
    answer = page.goto(f"{parts.scheme}://{parts.netloc}/run?run=tact")
    assert answer.status == 401
    assert "tact" not in page.content()
    assert "terminal" in page.inner_text("main")
    profile.close()


def test_another_page_can_neither_read_nor_post_here(home: str, watch: Callable[..., Any]) -> None:
    watched = watch(home)
    other = watched.page.context.new_page()
    # A page of another origin in the same profile, so that the cookie is there to be misused.
    other.goto("data:text/html,<p>elsewhere</p>")
    parts = urlsplit(home)
    outcome = other.evaluate(
        """async (home) => {
          const tried = [];
          for (const options of [
            { credentials: "include" },
            { method: "POST", credentials: "include", body: "{}", headers: { "Content-Type": "text/plain" } },
            { method: "POST", credentials: "include", body: "{}", headers: { "Content-Type": "application/json" } },
          ]) {
            try { tried.push((await fetch(home + "/api/runs", options)).status); } catch (error) { tried.push("refused"); }
          }
          return tried;
        }""",  # noqa: E501
        f"{parts.scheme}://{parts.netloc}",
    )
    assert outcome == ["refused", "refused", "refused"]


def test_a_run_in_progress_is_followed_without_reloading(
    tmp_path: Path, watch: Callable[..., Any], host: Callable[..., Any]
) -> None:
    store = tmp_path / "live.db"
    items = answers(tmp_path / "items.jsonl", 150)

    # The run takes its time until the page has shown it in progress, however slow the browser is.
    is_seen = threading.Event()

    def slow(request: Request) -> Any:
        del request
        return chat("Feedback: fine. [RESULT] 4").after(0.0 if is_seen.is_set() else 0.4)

    with FakeServer(slow) as server:
        run = started(
            "run",
            items,
            *DIRECT,
            "-m",
            model_at(server),
            "--concurrency",
            "1",
            "--run",
            "live",
            "--store",
            store,
        )
        while not store.exists() or not server.requests:
            assert run.poll() is None
            time.sleep(0.05)
        with host(store, path="/run?run=live") as url:
            watched = watch(url)
            watched.page.wait_for_selector(".pill.running")
            watched.page.evaluate("window.stayed = true")
            watched.page.wait_for_selector(".live-progress:has-text('calls per second')")
            watched.page.wait_for_selector(".live-progress:has-text('Time left')")
            is_seen.set()
            watched.page.wait_for_selector(".live-progress", state="detached", timeout=20_000)
            watched.page.wait_for_selector(".verdict")
            assert watched.page.evaluate("window.stayed") is True
            watched.check()
        assert ended(run).code == 0


@pytest.mark.parametrize("run", ["tact", "pairs", "failed", "empty"])
def test_the_report_opens_offline_and_fits(
    store: Path, watch: Callable[..., Any], tmp_path: Path, run: str
) -> None:
    path = tmp_path / "report.html"
    done = adjudge("report", run, "--html", path, "--store", store)
    assert done.code == 0, done.err
    assert path.stat().st_size < 1_000_000
    for width, theme in ((1440, "light"), (390, "dark")):
        watched = watch(path.as_uri(), width=width, theme=theme)
        assert run in watched.page.inner_text("h1")
        watched.check(f"the report of {run} at {width}")


def test_the_file_that_hands_over_the_token_opens_the_pages(
    store: Path, tmp_path: Path, chromium: Any
) -> None:
    script = tmp_path / "browser"
    script.write_text(
        f'#!/bin/sh\nprintf %s "$*" > {tmp_path}/called.part && mv {tmp_path}/called.part {tmp_path}/called\n'
    )
    script.chmod(0o700)
    process = started("view", "--store", store, BROWSER=str(script))
    try:
        until(lambda: (tmp_path / "called").exists())
        profile = chromium.new_context()
        page = profile.new_page()
        page.goto((tmp_path / "called").read_text())
        page.wait_for_selector("text=tact")
        assert page.url.startswith("http://127.0.0.1:")
        assert "token" not in page.url
        profile.close()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)

"""The first screen in a real browser: its marks and tabs by keyboard, its drawers by links, its axes at every
width and in print, and what axe says of it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from adjudge.records import Label
from adjudge.store import open_store
from running import adjudge, write_rows

pytestmark = pytest.mark.browser

N = 48
SYSTEMS = {"north": 5, "south": 3, "east": 2, "a-rather-long-name-of-a-system": 4}
WIDTHS = (360, 420, 480, 561, 640, 768, 900, 920, 1000, 1080, 1100, 1200, 1440, 1600)
PROTOCOL = """title = "{name}"
task = "score"
language = {{ prompt = "en", reply = "en" }}
source = "own"
inputs = ["response"]
[[criteria]]
name = "{name}"
scale = {{ low = 1, high = 5, step = 1, best = 5 }}
[answer]
reader = "tag"
tag = "score"
"""

OUT_OF_PLACE = """() => {
  const wrong = [];
  const number = (text) => Number(text.replace('−', '-'));
  const middle = (one) => { const box = one.getBoundingClientRect(); return box.left + box.width / 2; };
  const check = (where, ticks, dots) => {
    const marks = [...ticks.map((one) => [number(one.textContent), middle(one)]), ...dots];
    for (const [value, x] of marks) for (const [other, y] of marks)
      if (value > other && x < y - 1) wrong.push(`${where}: ${value} at ${x}, ${other} at ${y}`);
    return dots.length;
  };
  let n = 0;
  for (const svg of document.querySelectorAll('svg.systems')) {
    if (!svg.getBoundingClientRect().width) continue;
    const texts = [...svg.querySelectorAll(':scope > text.t-muted')];
    const ticks = texts.filter((one) => !isNaN(number(one.textContent)));
    const dots = [...svg.querySelectorAll('.system')].map((row) =>
      [number(row.querySelector('.t-num').textContent), middle(row.querySelector('.dot.corrected'))]);
    n += check('systems', ticks, dots);
  }
  for (const table of document.querySelectorAll('.table.drawn')) {
    const head = table.querySelector('thead th.pic svg');
    const rows = [...table.querySelectorAll('tbody tr')].filter((row) => row.querySelector('td.pic .dot')
      && row.querySelector('.c-value .strong'));
    if (!head || !rows.length || !table.getBoundingClientRect().width) continue;
    const ticks = [...head.querySelectorAll('text')].filter((one) => one.textContent.trim() !== '');
    const dots = rows.map((row) =>
      [number(row.querySelector('.c-value .strong').textContent), middle(row.querySelector('td.pic .dot'))]);
    n += check(table.closest('[id]').id, ticks, dots.filter(([value]) => !isNaN(value)));
  }
  return [n, wrong];
}"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two criteria and four systems, labelled by three people, with failures."""
    folder = tmp_path_factory.mktemp("screen")
    names = list(SYSTEMS)
    rows = [
        {"id": f"i{k}", "system": names[k % 4], "response": f"answer {k}", "group": f"g{k // 4}"}
        for k in range(N)
    ]
    write_rows(folder / "items.jsonl", rows)
    replies = []
    for criterion in ("tact", "depth"):
        protocol = folder / criterion
        protocol.mkdir()
        (protocol / "protocol.toml").write_text(PROTOCOL.format(name=criterion), encoding="utf-8")
        (protocol / "user.md").write_text("{{response}}\n", encoding="utf-8")
        for k, row in enumerate(rows):
            given = min(5, max(1, SYSTEMS[row["system"]] + (k * 7 % 3 - 1 if criterion == "tact" else k % 2)))
            text = "I would rather not." if k % 12 == 5 else f"<score>{given}</score>"
            replies.append({"item": row["id"], "criterion": criterion, "text": text})
    write_rows(folder / "replies.jsonl", replies)
    path = folder / "adjudge.db"
    done = adjudge(
        "run", folder / "items.jsonl", "-p", folder / "tact", "-p", folder / "depth",
        "-m", f"replay:{folder / 'replies.jsonl'}", "--run", "help", "--store", path,
    )  # fmt: skip
    assert done.code == 0, done.err
    with open_store(path) as opened:
        labels = [
            Label(
                row["id"], criterion, rater, float(min(5, max(1, SYSTEMS[row["system"]] + (k + r) % 3 - 1)))
            )
            for k, row in enumerate(rows)
            for r, rater in enumerate(("ann", "ben", "cat"))
            for criterion in ("tact", "depth")
        ]
        opened.put_labels(labels, opened.run("help"))
    return path


@pytest.fixture(scope="module")
def home(store: Path, host: Callable[..., Any]) -> Any:
    with host(store, None, "/run?run=help") as url:
        yield url


@pytest.fixture(scope="module")
def report(store: Path) -> str:
    path = store.parent / "report.html"
    assert adjudge("report", "help", "--html", path, "--store", store).code == 0
    return path.as_uri()


def opened(home: str, watch: Callable[..., Any], **how: Any) -> Any:
    """The page of the run, read whole."""
    watched = watch(home, **how)
    parts = urlsplit(home)
    if "run=help" not in watched.page.url:
        watched.page.goto(f"{parts.scheme}://{parts.netloc}/run?run=help")
    watched.page.wait_for_selector(".answer", timeout=30_000)
    return watched


def tab_to(page: Any, selector: str, most: int = 120) -> None:
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement?.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached by Tab on {page.url}")


def test_the_answer_is_on_the_first_screen_and_the_page_is_three_screens(
    home: str, watch: Callable[..., Any]
) -> None:
    page = opened(home, watch).page
    assert page.locator(".verdict").bounding_box()["y"] < 300
    for part in ("svg.systems", ".heat.map"):
        box = page.locator(f"{part}:visible").first.bounding_box()
        assert box["y"] + box["height"] < 900, part
    assert page.evaluate("document.documentElement.scrollHeight") <= 3 * 900
    assert page.locator(".screen-warnings > li").count() <= 3


def test_a_criterion_is_chosen_by_arrow_keys_and_both_pictures_follow(
    home: str, watch: Callable[..., Any]
) -> None:
    page = opened(home, watch).page
    tab_to(page, ".tabset input[type=radio]")
    names = page.locator(".tabset .tab bdi").all_inner_texts()
    assert names == ["tact", "depth"]
    first = page.evaluate("document.activeElement.value")
    before = page.locator(".panel:visible").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.value") != first
    assert page.locator(".panel:visible").count() == 1
    assert page.locator(".panel:visible").inner_text() != before
    assert page.locator("svg.systems:visible").count() == page.locator(".heat.map:visible").count() == 1


def test_every_mark_of_the_pictures_opens_its_items_by_keyboard(home: str, watch: Callable[..., Any]) -> None:
    page = opened(home, watch).page
    tab_to(page, "svg.systems a")
    name = page.evaluate("document.activeElement.getAttribute('aria-label')").partition(":")[0]
    page.keyboard.press("Enter")
    page.wait_for_url("**/items?*")
    assert page.locator("table.items tbody tr").count() == N / 4
    assert name in page.inner_text("table.items tbody tr:first-child")
    page.go_back()
    page.wait_for_selector(".answer")
    tab_to(page, ".heat.map .door")
    n = page.evaluate("Number(document.activeElement.textContent)")
    page.keyboard.press("Enter")
    page.wait_for_url("**/items?*")
    assert page.locator("table.items tbody tr").count() == n


def test_a_drawer_opens_by_its_key_its_link_and_its_address(home: str, watch: Callable[..., Any]) -> None:
    page = opened(home, watch).page
    assert page.locator("#failures:visible").count() == 0
    assert page.locator(".drawer:has(#failures) .drawer-number").inner_text() == "8 of 96 (8.3 %)"
    tab_to(page, ".drawer:has(#failures) > summary")
    page.keyboard.press("Enter")
    page.wait_for_selector("#failures:visible")
    page.click(".contents a[href='#scores']")
    page.wait_for_selector("#scores:visible")
    page.goto(f"{page.url.partition('#')[0]}#timing")
    page.reload()
    page.wait_for_selector("#timing:visible")


def test_a_larger_mean_is_never_left_of_a_smaller_one(home: str, watch: Callable[..., Any]) -> None:
    page = opened(home, watch).page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        n, wrong = page.evaluate(OUT_OF_PLACE)
        assert n >= 12, f"{width}: nothing was compared"
        assert wrong == [], f"at {width} px"
    for width in (559, 680, 720, 1040):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media="print")
        n, wrong = page.evaluate(OUT_OF_PLACE)
        assert n >= 12
        assert wrong == [], f"in print at {width} px"


def test_the_report_file_works_without_a_script(report: str, watch: Callable[..., Any]) -> None:
    page = watch(report, script=False).page
    page.click("label.tab >> nth=0")
    first = page.locator(".panel:visible").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(".panel:visible").inner_text() != first
    page.click(".contents a[href='#failures']")
    assert page.locator("#failures:visible").count() == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing(home: str, report: str, watch: Callable[..., Any], width: int, theme: str) -> None:
    live = opened(home, watch, width=width, theme=theme)
    assert live.axe() == []
    live.check()
    live.page.evaluate("document.querySelector('main').append(document.createElement('img'))")
    assert [one.partition(" ")[0] for one in live.axe()] == ["image-alt"], "axe finds what is there"
    file = watch(report, width=width, theme=theme)
    assert file.n_too_wide() <= 0

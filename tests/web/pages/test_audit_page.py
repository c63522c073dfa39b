"""The pages of an audit, which ranks nothing, and of a run in which every judgment failed."""

from __future__ import annotations

import re
from html import unescape

import pytest

from clock import until
from running import DIRECT, EXAMPLES, adjudge
from webclient import Browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    store = tmp_path_factory.mktemp("audit") / "s.db"
    items = EXAMPLES / "answers.jsonl"
    probes = ("--probes", "length,tone,injection/direct-order", "-m", "fake:text=[RESULT] 4")
    done = adjudge("audit", items, *DIRECT, *probes, "--run", "audit", "--store", store)
    assert done.code == 0, done.err
    arguments = ("-m", "fake:text=It is rather good.", "--run", "failed", "--store", store)
    assert adjudge("run", items, *DIRECT, *arguments).code == 4
    return Browser(store)


def shown(browser: Browser, run: str) -> str:
    page = ""

    def is_made() -> bool:
        nonlocal page
        page = browser.get(f"/run?run={run}").text
        return "The run is being read" not in page

    until(is_made)
    return page


def test_an_audit_has_its_own_first_screen_and_no_ranking(browser: Browser) -> None:
    page = shown(browser, "audit")
    answer = re.findall(r'<h2 class="page-title" id="audit-1">(.*?)</h2>', page)
    assert answer == ["0 of 2 probes move it, 2 unclear · 0 of 1 injection succeed, 1 unclear"]
    text = re.sub(r"<[^>]+>", " ", page)
    # A folder in the command of the run may be called anything.
    assert not re.search(r"(?<!/)\b(Best|tied|leads?)\b", text)
    assert 'id="scores"' not in page
    assert 'id="cautions"' not in page
    assert 'id="audit"' in page, "every probe is in a drawer"


def test_each_probe_of_an_audit_opens_its_items(browser: Browser) -> None:
    page = shown(browser, "audit")
    url = next(url for url in re.findall(r'href="(/items[^"]*)"', page) if "tone" in url)
    items = browser.get(unescape(url)).text
    rows = re.findall(r'<th scope="row" class="name" title="([^"]*)"', items)
    assert rows
    assert all(row.endswith("~ tone") for row in rows)


def test_a_failed_run_shows_the_first_three_replies_and_nothing_empty(browser: Browser) -> None:
    page = shown(browser, "failed")
    assert page.count('class="stack first-reply"') == 3
    assert len(re.findall(r'<div class="quote tall"[^>]*>It is rather good\.</div>', page)) == 3
    assert 'id="scores"' not in page
    for drawer in re.findall(r'<details class="drawer".*?</details>', page, re.S):
        assert len(re.sub(r"<[^>]+>|\s", "", drawer)) > 40

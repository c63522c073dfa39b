"""Every mark of a run's page opens exactly the items that it stands for."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from adjudge.records import Label
from adjudge.store import open_store
from running import DIRECT, EXAMPLES, adjudge, write_rows
from webclient import Browser

N = 60
SYSTEMS = ("north", "south & <b>", "west")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Sixty items of three systems; six replies cannot be read; two raters of thirds of a point."""
    folder = tmp_path_factory.mktemp("doors")
    items = [
        {"id": f"i{k}", "group": f"g{k // 3}", "system": SYSTEMS[k % 3], "instruction": "Say it.",
        "response": f"r{k}"}
        for k in range(N)
    ]  # fmt: skip
    replies = [
        {"item": f"i{k}", "text": "hm" if k % 10 == 1 else f"So. [RESULT] {k * 7 % 5 + 1}"} for k in range(N)
    ]
    write_rows(folder / "items.jsonl", items)
    write_rows(folder / "replies.jsonl", replies)
    done = adjudge(
        "run", folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'replies.jsonl'}", "--run", "tact",
        "--store", folder / "s.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    with open_store(folder / "s.db") as opened:
        labels = [
            Label(f"i{k}", "tact", rater, (k * 3 + turn * k) % 5 + 1)
            for k in range(N)
            for turn, rater in enumerate(("ann", "ben", "cy"))
        ]
        opened.put_labels(labels, opened.run("tact"))
    return Browser(folder / "s.db")


def n_items(browser: Browser, url: str) -> int:
    """How many rows a door leads to."""
    page = browser.get(unescape(url)).text
    shown = re.search(r"of ([\d,]+)</span>", page)
    return int(shown[1].replace(",", "")) if shown else 0


def test_a_cell_of_the_trust_map_opens_as_many_items_as_it_counts(browser: Browser) -> None:
    page = browser.get("/run?run=tact").text
    table = page[page.index('class="heat map"') :]
    table = table[: table.index("</table>")]
    cells = re.findall(r'<a class="door" href="([^"]+)"[^>]*>([\d,]+)</a>', table)
    assert sum(int(n) for _, n in cells) == N - N // 10
    assert all(n_items(browser, url) == int(n) for url, n in cells)


def test_a_bar_of_scores_opens_the_scores_that_it_counts(browser: Browser) -> None:
    page = browser.get("/run?run=tact").text
    bars = re.findall(r'<a href="(/items\?[^"]+)" tabindex="-1" aria-label="[\d.]+: (\d+)">', page)
    assert sum(int(n) for _, n in bars) == N - N // 10
    assert all(n_items(browser, url) == int(n) for url, n in bars)


def test_a_failure_and_a_system_open_their_items(browser: Browser) -> None:
    page = browser.get("/run?run=tact").text
    failed = re.findall(
        r'<a href="(/items\?[^"]+status=unparsed[^"]*)"[^>]*aria-label="unparsed: (\d+) of', page
    )
    assert sum(int(n) for _, n in failed) == 6
    assert all(n_items(browser, url) == int(n) for url, n in failed)
    systems = dict(re.findall(r'<a class="door" href="(/items\?[^"]+system=[^"]+)"><bdi>([^<]+)</bdi>', page))
    assert set(map(unescape, systems.values())) == set(SYSTEMS)
    assert {n_items(browser, url) for url in systems} == {N // 3}


def test_how_replies_were_read_opens_them_by_rule(browser: Browser) -> None:
    page = browser.get("/run?run=tact").text
    parts = re.findall(r'<a href="(/items\?[^"]+model=replay[^"]+)"[^>]*aria-label="(\w+): (\d+) of', page)
    assert {(name, int(n)) for _, name, n in parts} == {("strict", 54), ("failed", 6)}
    assert all(n_items(browser, url) == int(n) for url, _, n in parts)


def test_pairs_open_their_items_and_each_part_those_that_this_system_won(tmp_path: Path) -> None:
    outputs = [EXAMPLES / f"ranking/{name}.jsonl" for name in ("clear", "terse", "wordy")]
    assert adjudge("pair", *outputs, "-o", tmp_path / "pairs.jsonl").code == 0
    done = adjudge(
        "run", tmp_path / "pairs.jsonl", "-p", "prometheus/pairwise", "--rubric",
        EXAMPLES / "ranking/helpful.toml",
        "-m", f"replay:{EXAMPLES / 'ranking/replies.jsonl'}", "--run", "pairs", "--store", tmp_path / "s.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    pairs = Browser(tmp_path / "s.db")
    page = pairs.get("/run?run=pairs").text
    parts = re.findall(r'<a href="(/items\?[^"]+winner=[^"]+)"[^>]*aria-label="[^"]+: (\d+) of', page)
    assert sum(int(n) for _, n in parts) == n_items(pairs, "/items?run=pairs&status=ok")
    assert all(n_items(pairs, url) == int(n) for url, n in parts)
    cells = re.findall(
        r'<a class="door" href="(/items\?[^"]+other=[^"]+)"><span class="strong">\d+ % \((\d+)\)', page
    )
    assert len(cells) == 6
    assert all(n_items(pairs, url) == int(n) for url, n in cells)


def test_the_largest_disagreements_are_one_click_away(browser: Browser) -> None:
    for page in ("/run?run=tact", "/items?run=tact"):
        assert "/items?run=tact&amp;worst=1" in browser.get(page).text
    went = browser.get("/items?run=tact&worst=1")
    assert (went.status, went.headers["location"]) == (303, "/items?run=tact&apart=people&sort=-people")

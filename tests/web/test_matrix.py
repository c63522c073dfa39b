"""The matrix of a run and what leaves the list: cells, winners by name, the item beside it, exported rows, places."""

from __future__ import annotations

import csv
import io
import json
import re
from html import unescape

import pytest

from adjudge.records import Label
from adjudge.store import open_store
from running import DIRECT, EXAMPLES, adjudge, write_rows
from webclient import Browser

N = 30
SYSTEMS = ("north", "=south", "west")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Ten inputs of three systems, labelled; and pairs."""
    folder = tmp_path_factory.mktemp("matrix")
    items = [
        {"id": f"i{k}", "group": f"g{k // 3}", "system": SYSTEMS[k % 3], "instruction": "Say it.", "response": f"words of {k}"}
        for k in range(N)
    ]  # fmt: skip
    replies = [{"item": f"i{k}", "text": f"-So {k}. [RESULT] {k * 7 % 5 + 1}"} for k in range(N)]
    write_rows(folder / "items.jsonl", items)
    write_rows(folder / "replies.jsonl", replies)
    for arguments in (
        (folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'replies.jsonl'}", "--run", "tact"),
        (EXAMPLES / "advice.jsonl", "-p", "geval/compare", "-m", f"replay:{EXAMPLES / 'advice.replies.jsonl'}", "--run", "pairs"),
    ):  # fmt: skip
        done = adjudge("run", *arguments, "--store", folder / "s.db")
        assert done.code == 0, done.err
    with open_store(folder / "s.db") as opened:
        opened.put_labels([Label(f"i{k}", "tact", "ann", k % 5 + 1) for k in range(N)], opened.run("tact"))
    return Browser(folder / "s.db")


def cells(page: str) -> list[tuple[str, str]]:
    """The score and people's answer of every cell."""
    found = re.findall(r'data-pane[^>]*><bdi>([^<]*)</bdi>(?:<span class="ci">([^<]*)</span>)?', page)
    return [(unescape(score), people) for score, people in found]


def test_a_cell_has_the_score_and_what_people_said(browser: Browser) -> None:
    page = browser.get("/matrix?run=tact").text
    # Systems are in the order of their names: =south, north, west.
    wanted = [k for row in range(10) for k in (row * 3 + 1, row * 3, row * 3 + 2)]
    assert cells(page) == [(f"{k * 7 % 5 + 1:.2f}", f"{k % 5 + 1:.2f}") for k in wanted]


def test_the_largest_disagreement_comes_first(browser: Browser) -> None:
    rows = re.findall(r"<tr>.*?</tr>", browser.get("/matrix?run=tact&sort=apart").text, re.S)[1:]
    gaps = [max(abs(float(score) - float(people)) for score, people in cells(row)) for row in rows]
    assert gaps == sorted(gaps, reverse=True)


def test_the_item_of_a_cell_opens_beside_with_the_other_outputs(browser: Browser) -> None:
    page = browser.get("/matrix?run=tact&open=4").text
    pane = page[page.index('id="pane"') :]
    assert "words of 4" in pane
    others = pane[pane.index("others-head") :]
    assert "words of 3" in others
    assert "words of 5" in others
    alone = browser.get("/matrix?run=tact&open=4&part=pane").text
    assert "<html" not in alone
    assert "words of 4" in alone


def test_pairs_show_the_name_of_the_winner(browser: Browser) -> None:
    with_names = {score for score, _ in cells(browser.get("/matrix?run=pairs").text)}
    assert with_names <= {"short", "long", "tie"}
    assert with_names & {"short", "long"}


def test_what_makes_no_sense_in_an_address_is_ignored(browser: Browser) -> None:
    answer = browser.get("/matrix?run=tact&of=nothing&by=x&colour=%27&sort=;&page=-3&open=abc")
    assert answer.status == 200
    assert len(cells(answer.text)) == N


def test_the_export_has_exactly_the_rows_of_the_filter(browser: Browser) -> None:
    query = "run=tact&low=4&sort=-people"
    shown = re.findall(r'<th scope="row"[^>]*><a [^>]*><bdi>([^<]*)', browser.get(f"/items?{query}").text)
    exported = browser.get(f"/items/export?{query}&format=csv")
    assert exported.headers["content-disposition"].startswith("attachment")
    rows = list(csv.DictReader(io.StringIO(exported.text)))
    assert [row["item"] for row in rows] == shown
    lines = [
        json.loads(line) for line in browser.get(f"/items/export?{query}&format=jsonl").text.splitlines()
    ]
    assert [line["item"] for line in lines] == shown
    assert {row["system"] for row in rows} >= {"'=south"}
    assert {line["system"] for line in lines} >= {"=south"}


def test_an_item_says_its_place_in_the_filter_and_leads_back_to_it(browser: Browser) -> None:
    listed = browser.get("/items?run=tact&low=4&sort=-people").text
    links = re.findall(r'<th scope="row"[^>]*><a href="([^"]*)"', listed)
    for at, link in enumerate(links, start=1):
        page = browser.get(unescape(link)).text
        assert f"{at} of {len(links)} in the filtered list" in page
        number = re.search(r"n=(\d+)", link)
        assert number is not None
        assert f'data-up href="/items?run=tact&amp;low=4&amp;sort=-people#n{number[1]}"' in page
        assert f'id="n{number[1]}"' in listed

"""A group that holds several inputs: other outputs are those for the same input, and a cell of the matrix
with several items says how many.
"""

from __future__ import annotations

import re
from html import unescape

import pytest

from running import DIRECT, adjudge, write_rows
from webclient import Browser

CHOOSE = ("-p", "pairwise/helpful", "--order", "given")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    folder = tmp_path_factory.mktemp("inputs")
    items = [
        {
            "id": f"{task}-{system}", "group": "g", "system": system, "instruction": f"Write about {task}.",
            "response": f"{system} on {task}",
        }
        for task in ("rain", "snow", "hail")
        for system in ("x", "y")
    ]  # fmt: skip
    pairs = [
        {
            "id": f"p{k}", "group": "g", "system_a": "x", "system_b": "y", "task": f"Write {k}.",
            "response_a": f"a {k}", "response_b": f"b {k}",
        }
        for k in range(30)
    ]  # fmt: skip
    labels = [
        {"item": f"p{k}", "criterion": "helpful", "rater": "ann", "value": "abb"[k % 3]} for k in range(30)
    ]
    choices = [{"item": f"p{k}", "text": f"<winner>{'AAB'[k % 3]}</winner>"} for k in range(30)]
    scores = [{"item": row["id"], "text": "[RESULT] 4"} for row in items]
    store = folder / "s.db"
    for name, rows, replies, flags in (
        ("scores", items, scores, DIRECT),
        ("pairs", pairs, choices, CHOOSE),
        ("apart", [{**row, "group": row["id"]} for row in pairs], choices, CHOOSE),
    ):
        judged = write_rows(folder / f"{name}.jsonl", rows)
        recorded = write_rows(folder / f"{name}.replies.jsonl", replies)
        done = adjudge("run", judged, *flags, "-m", f"replay:{recorded}", "--run", name, "--store", store)
        assert done.code == 0, done.err
    given = write_rows(folder / "labels.jsonl", labels)
    for name in ("pairs", "apart"):
        assert adjudge("labels", "add", name, given, "--store", store).code == 0
    return Browser(store)


def test_other_outputs_are_those_for_the_same_input_and_not_of_the_whole_group(browser: Browser) -> None:
    page = browser.get("/item?run=scores&n=0").text
    others = page.partition("Other outputs for the same input")[2]
    assert "y on rain" in others
    assert "on snow" not in others
    # Of a pair whose input no other item has there are none.
    assert "Other outputs" not in browser.get("/item?run=pairs&n=0").text


def test_a_cell_of_several_items_says_how_many_and_what_most_of_them_are(browser: Browser) -> None:
    page = unescape(browser.get("/matrix?run=scores").text)
    assert page.count("n = 3") == 2
    cell = re.findall(r'<td class="[^"]*"><a[^>]*>(.*?)</a></td>', browser.get("/matrix?run=pairs").text)
    assert re.sub("<[^>]+>", " ", cell[0]).split() == ["x", "y,", "n", "=", "30"]


def test_what_is_as_it_should_be_and_what_there_is_not_are_not_written(browser: Browser) -> None:
    rows = browser.get("/items?run=scores&col=score&col=status").text
    assert 'class="pill ok"' not in rows
    assert ">4</span>" in rows
    assert "4.00" not in rows
    assert "Bar: judge − people" not in browser.get("/items?run=pairs").text


def test_the_systems_of_labelled_pairs_are_shown_corrected(browser: Browser) -> None:
    page = unescape(browser.get("/run?run=apart").text)
    row = re.search(r"<title>(y: [^<]*)</title>", page)
    assert row is not None
    assert re.match(r"y: corrected \d+ % .*judge 33 % .*people 67 % ", row[1])

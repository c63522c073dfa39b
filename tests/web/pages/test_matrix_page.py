"""The matrix of a run and what leaves the list: cells,
winners by name, the item beside it, exported rows, places.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.records import Label
from adjudge.store import open_store
from adjudge.web.pages import matrix
from adjudge.web.pages.matrix import natural
from running import DIRECT, EXAMPLES, adjudge, as_id, write_rows
from webclient import Browser

N = 30
SYSTEMS = ("north", "=south", "west")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Ten inputs of three systems, labelled; and pairs."""
    folder = tmp_path_factory.mktemp("matrix")
    items = [
        {"id": f"i{k}", "group": f"g{k // 3}", "system": SYSTEMS[k % 3], "instruction": "Say it.",
        "response": f"words of {k}"}
        for k in range(N)
    ]  # fmt: skip
    replies = [{"item": f"i{k}", "text": f"-So {k}. [RESULT] {k * 7 % 5 + 1}"} for k in range(N)]
    write_rows(folder / "items.jsonl", items)
    write_rows(folder / "replies.jsonl", replies)
    for arguments in (
        (folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'replies.jsonl'}", "--run", "tact"),
        (EXAMPLES / "advice.jsonl", "-p", "geval/compare", "-m",
        f"replay:{EXAMPLES / 'advice.replies.jsonl'}", "--run", "pairs"),
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
    assert cells(page) == [(f"{k * 7 % 5 + 1}", f"{k % 5 + 1}") for k in wanted]


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


def test_columns_are_chosen_by_name_and_the_others_are_said_to_be_hidden(browser: Browser) -> None:
    page = browser.get("/matrix?run=tact&col=west&col=north&col=nonsense").text
    heads = re.findall(r'<th scope="col" title="([^"]*)"', page)
    assert heads == ["north", "west"]
    assert "1 column hidden" in page
    assert len(cells(page)) == 20
    assert '<input type="checkbox" name="col" value="=south">' in page
    assert '<input type="checkbox" name="col" value="west" checked>' in page


def test_a_search_in_the_matrix_marks_what_it_found_and_says_so(browser: Browser) -> None:
    page = browser.get("/matrix?run=tact&q=words+of+4").text
    assert len(cells(page)) == 1
    assert '<small dir="auto"><mark class="span hit" title="found">words of 4</mark></small>' in page
    assert "contains “words of 4”" in page


@pytest.mark.parametrize("query", ["", "&sort=apart", "&col=west&col=%3Dsouth", "&q=words+of+1"])
def test_the_export_of_the_matrix_has_exactly_its_rows_and_columns(browser: Browser, query: str) -> None:
    page = browser.get(f"/matrix?run=tact{query}").text
    columns = [unescape(name) for name in re.findall(r'<th scope="col" title="([^"]*)"', page)]
    shown = re.findall(r'<tr><th scope="row" title="([^"]*)"', page)
    rows = list(csv.reader(io.StringIO(browser.get(f"/matrix/export?run=tact{query}&format=csv").text)))
    guarded = ["'=south" if name == "=south" else name for name in columns]
    assert rows[0] == ["input", *(text for name in guarded for text in (name, f"{name} (people)"))]
    assert [row[0] for row in rows[1:]] == shown
    flat = [
        (f"{float(a):g}", f"{float(b):g}")
        for row in rows[1:]
        for a, b in zip(row[1::2], row[2::2], strict=True)
        if a
    ]
    assert flat == cells(page)
    lines = browser.get(f"/matrix/export?run=tact{query}&format=jsonl").text.splitlines()
    assert [json.loads(line)["input"] for line in lines] == shown
    assert {name for line in lines for name in json.loads(line)["columns"]} <= set(columns)


def test_a_pair_is_coloured_by_which_system_of_its_column_won_in_either_order(browser: Browser) -> None:
    page = browser.get("/matrix?run=pairs&colour=score").text
    found = re.findall(r'<td class="(h\d)[^"]*"><a [^>]*><bdi>([^<]*)</bdi>', page)
    assert {name: css for css, name in found} | {"tie": "h4"} == {"long": "h8", "short": "h0", "tie": "h4"}
    assert len(set(found)) <= 3


def test_several_judges_in_one_cell_show_the_choice_of_most(tmp_path: Path) -> None:
    items = [
        {"id": f"p{k}", "system_a": "x", "system_b": "y", "task": "t", "response_a": "1", "response_b": "2"}
        for k in range(2)
    ]
    write_rows(tmp_path / "items.jsonl", items)
    for judge, choices in enumerate((("A", "A"), ("A", "B"), ("B", "B"))):
        rows = [{"item": f"p{k}", "order": order, "text": f"So. [RESULT] "
                                                          f"{choice if order == 'ab' else 'AB'['AB'.index(choice) - 1]}"}  # noqa: E501
                for k, choice in enumerate(choices) for order in ("ab", "ba")]  # fmt: skip
        write_rows(tmp_path / f"{judge}.jsonl", rows)
    judges = [part for judge in range(3) for part in ("-m", f"replay:{tmp_path / f'{judge}.jsonl'}")]
    done = adjudge(
        "run", tmp_path / "items.jsonl", "-p", "prometheus/pairwise", "--rubric", EXAMPLES / "tact.toml",
        *judges,
        "--run", "panel", "--store", tmp_path / "s.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    panel = Browser(tmp_path / "s.db")
    assert [score for score, _ in cells(panel.get("/matrix?run=panel&by=systems").text)] == ["x", "y"]
    by_judge = panel.get("/matrix?run=panel&by=judges&colour=judges").text
    assert [score for score, _ in cells(by_judge)] == ["x", "x", "y", "x", "y", "y"]
    assert "blue where the judges agree" in by_judge


def test_columns_of_the_items_table_can_be_hidden(browser: Browser) -> None:
    page = browser.get("/items?run=tact&col=score&col=status&low=4").text
    heads = re.findall(r'<th scope="col"[^>]*>(?:<a [^>]*>)?([^<]+)', page)
    assert heads == ["Item", "Score", "Status"]
    assert "col=score&amp;col=status" in page
    assert browser.get("/items?run=tact&col=%3Cb%3E").text == browser.get("/items?run=tact").text


def test_a_search_shows_where_its_text_was_found(browser: Browser) -> None:
    page = browser.get("/items?run=tact&q=WORDS+of+12").text
    assert (
        '<span class="muted">response:</span> <mark class="span hit" title="found">words of 12</mark>' in page
    )
    item = browser.get("/item?run=tact&n=12&q=words+of+12").text
    assert '<mark class="span hit" title="found">words of 12</mark>' in item
    assert '<mark class="span" title' in item


SHARED = Path(__file__).parents[4] / "shared" / "attacks.jsonl"


@pytest.mark.skipif(not SHARED.exists(), reason="the attack cases are not beside the repository")
def test_no_attack_case_acts_in_the_lists_or_in_their_exports(tmp_path: Path) -> None:
    cases = [json.loads(line) for line in SHARED.read_text(encoding="utf-8").splitlines()]
    texts = [case["payload"] for case in cases if case["layer"][:2] in ("L6", "L7", "L8")]
    assert len(texts) > 10
    items = [
        {"id": as_id(f"{k} {text}"), "group": as_id(text) or "g", "system": as_id(text)[:300] or "s",
        "instruction": text or "x", "response": f"**b** {text}"}
        for k, text in enumerate(texts)
    ]  # fmt: skip
    replies = [{"item": item["id"], "text": f"Feedback: {item['response']} [RESULT] 3"} for item in items]
    write_rows(tmp_path / "items.jsonl", items)
    write_rows(tmp_path / "replies.jsonl", replies)
    done = adjudge(
        "run", tmp_path / "items.jsonl", *DIRECT, "-m", f"replay:{tmp_path / 'replies.jsonl'}", "--run", "r",
        "--store", tmp_path / "s.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    hostile = Browser(tmp_path / "s.db")
    ours = set(re.findall(r"<(\w+)", hostile.get("/items?run=r&q=nothing+has+this").text))
    ours |= {
        "mark",
        "small",
        "strong",
        "em",
        "del",
        "code",
        "pre",
        "ul",
        "ol",
        "li",
        "blockquote",
        "article",
        "h3",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "bdi",
        "aside",
        "br",
        "hr",
        "fieldset",
        "legend",
        "textarea",
        "noscript",
        "section",
        "dl",
        "dt",
        "dd",
        "text",
        "circle",
        "g",
        "use",
    }
    paths = [
        "/items?run=r",
        "/matrix?run=r",
        *(f"/matrix?run=r&open={k}&part=pane" for k in range(len(texts))),
    ]
    for path in paths:
        page = hostile.get(path).text
        assert set(re.findall(r"<(\w+)", page)) <= ours, path
        assert not re.search(r"<[^>]*\son\w+\s*=(?![^<]*\")", re.sub(r'"[^"]*"', '""', page)), path
    for path in ("/items/export?run=r", "/matrix/export?run=r"):
        rows = list(csv.reader(io.StringIO(hostile.get(f"{path}&format=csv").text)))
        assert len(rows) > 1
        numbers = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?")
        acting = [
            cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t",
            "\r")) and not numbers.fullmatch(cell)
        ]  # fmt: skip
        assert acting == [], path
        for line in hostile.get(f"{path}&format=jsonl").text.splitlines():
            json.loads(line)


def test_systems_stand_in_natural_order() -> None:
    assert sorted(["M10", "M8", "m9", "b", "a2", "a10"], key=natural) == ["a2", "a10", "b", "M8", "m9", "M10"]


@given(st.lists(st.text(max_size=8), max_size=6))
def test_any_names_have_a_natural_order(names: list[str]) -> None:
    ordered = sorted(names, key=natural)
    assert all(natural(a) <= natural(b) for a, b in itertools.pairwise(ordered))


def test_many_pairs_are_a_grid_of_who_wins_and_each_cell_opens_its_items(tmp_path: Path) -> None:
    systems = [f"s{k}" for k in (1, 2, 9, 10)]
    pairs = [(a, b) for place, a in enumerate(systems) for b in systems[place + 1 :]]
    items, replies = [], []
    for k, (a, b) in enumerate([*pairs, *((b, a) for a, b in pairs)]):
        fields = {"task": "t", "response_a": f"by {a}", "response_b": f"by {b}"}
        items.append({"id": f"p{k}", "system_a": a, "system_b": b, **fields})
        won = "A" if systems.index(a) < systems.index(b) else "B"
        replies.append({"item": f"p{k}", "text": f"<winner>{won}</winner>"})
    # More pairs of systems than are columns.
    assert len(pairs) == matrix.MOST_PAIRS
    more = {"task": "t", "response_a": "by s1", "response_b": "by x", "system_a": "s1", "system_b": "x"}
    items.append({"id": "more", **more})
    replies.append({"item": "more", "text": "<winner>tie</winner>"})
    judged = write_rows(tmp_path / "items.jsonl", items)
    recorded = write_rows(tmp_path / "replies.jsonl", replies)
    arguments = (judged, "-p", "pairwise/helpful", "-m", f"replay:{recorded}", "--order", "given")
    assert adjudge("run", *arguments, "--run", "r", "--store", tmp_path / "s.db").code == 0
    browser = Browser(tmp_path / "s.db")
    page = unescape(browser.get("/matrix?run=r").text)
    heads = re.findall(r'<th scope="col" title="([^"]*)">', page)
    assert heads == ["s1", "s2", "s9", "s10", "x"]
    assert 'aria-label="s1 wins 100 % of 2 against s10"' in page
    assert 'aria-label="s1 wins 50 % of 1 against x"' in page
    url = re.findall(r'href="(/items[^"]*)" aria-label="s2 wins 100 % of 2 against s9"', page)[0]
    assert "<strong>2 items</strong>" in browser.get(url).text
    assert browser.get("/matrix?run=r&col=s1+%E2%80%93+s2").text.count('<th scope="col"') == 2

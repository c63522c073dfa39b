"""Two runs compared as a change: words that differ, charts
that say the same as the JSON, and links between runs.
"""

from __future__ import annotations

import itertools
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.records import Label
from adjudge.sections import Mark
from adjudge.store import open_store
from adjudge.web.pages import compare
from adjudge.web.parts import changed_words
from adjudge.web.parts.changed_words import changed_spans
from adjudge.web.parts.charts.axis import Domain
from adjudge.web.parts.charts.dumbbell import dumbbell
from adjudge.web.parts.charts.slope_chart import slopes
from adjudge.web.parts.side_by_side import two_texts
from adjudge.words import signed
from clock import until
from running import DIRECT, adjudge, write_rows
from thorough import tries
from webclient import Browser


def text_of_page(page: str) -> str:
    """What a page says, without tags."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


# Words


def kept(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """The words of a text outside the spans."""
    return [
        match[0]
        for match in changed_words._TOKEN.finditer(text)
        if not any(start <= match.start() and match.end() <= end for start, end in spans)
    ]


def parts(text: str, spans: list[tuple[int, int]]) -> list[str]:
    return [text[start:end] for start, end in spans]


def test_words_that_differ_are_found_and_neighbours_are_one_span() -> None:
    first, second = "The summary is short but clear. Score: 4", "The summary is long and unclear. Score: 2"
    left, right = changed_spans(first, second)
    assert parts(first, left) == ["short but clear", "4"]
    assert parts(second, right) == ["long and unclear", "2"]


def test_chinese_japanese_and_korean_are_compared_by_character() -> None:
    first, second = "结构清晰，得分四", "结构混乱，得分二"
    left, right = changed_spans(first, second)
    assert (parts(first, left), parts(second, right)) == (["清晰", "四"], ["混乱", "二"])
    assert parts("점수는 4점", changed_spans("점수는 4점", "점수가 4점")[0]) == ["는"]


@given(st.text(alphabet="ab c.中文\n", max_size=60), st.text(alphabet="ab c.中文\n", max_size=60))
@settings(max_examples=tries(150), deadline=None)
def test_what_is_not_marked_is_the_same_in_both_texts(first: str, second: str) -> None:
    left, right = changed_spans(first, second)
    assert kept(first, left) == kept(second, right)
    for text, spans in ((first, left), (second, right)):
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    if first == second:
        assert left == right == []


@given(st.lists(st.integers(0, 400), max_size=900), st.lists(st.integers(0, 400), max_size=900))
@settings(max_examples=tries(15), deadline=None)
def test_long_texts_are_divided_and_still_agree_on_what_they_share(
    first: list[int], second: list[int]
) -> None:
    texts = [" ".join(f"w{n}" for n in numbers) for numbers in (first, second)]
    left, right = changed_spans(*texts)
    assert kept(texts[0], left) == kept(texts[1], right)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a " * 50_000, "a b " * 25_000),
        (" ".join(map(str, range(40_000))), " ".join(map(str, range(40_000, 0, -1)))),
        ("中" * 30_000, "文" * 30_000),
        ("x" * 100_000, "y " * 50_000),
    ],
    ids=["repeated", "reversed", "other", "one word"],
)
def test_hostile_texts_take_a_bounded_number_of_steps(
    first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_cells = 0
    compare = changed_words._Kept._compare

    def counted(self: Any, a: int, a_end: int, b: int, b_end: int) -> None:
        nonlocal n_cells
        n_cells += (a_end - a) * (b_end - b)
        compare(self, a, a_end, b, b_end)

    monkeypatch.setattr(changed_words._Kept, "_compare", counted)
    left, right = changed_spans(first, second)
    assert n_cells <= changed_words._ALL_CELLS
    assert kept(first, left) == kept(second, right)


def test_a_text_that_is_missing_or_the_same_has_nothing_marked() -> None:
    both = two_texts(("m", "n"), "same words", "same words")
    assert both.is_same
    assert both.first is not None
    assert both.first.spans == ()
    one = two_texts(("m", ""), "only here", None)
    assert one.second is None
    assert not one.is_same


# Charts


def test_a_change_joins_its_two_dots_and_a_missing_one_has_no_line() -> None:
    domain = Domain(1, 5)
    assert dumbbell(Mark(4, 3, 5), Mark(2, 1, 3), domain, "A").count('class="joined arrow"') == 1
    assert 'class="joined' not in dumbbell(Mark(4), Mark(None), domain, "A")
    assert dumbbell(Mark(4), Mark(None), domain, "A").count("<circle") == 1


def test_a_change_stands_on_one_line_and_one_too_small_to_see_has_no_arrow() -> None:
    domain = Domain(1, 5)
    drawn = dumbbell(Mark(4, 3, 5), Mark(2, 1, 3), domain, "A")
    assert len(set(re.findall(r'<circle [^>]*cy="([^"]*)"', drawn))) == 1
    assert "arrow" not in dumbbell(Mark(4.01), Mark(4), domain, "A")


def test_slopes_say_every_rank_as_text() -> None:
    drawn = slopes([("<b>", 1, 2), ("calm", 2, 1), ("last", 3, 3)], ("old", "new"), "ranks")
    assert "<desc>&lt;b&gt;: 1 → 2; calm: 2 → 1; last: 3 → 3</desc>" in drawn
    assert drawn.count("slope up") == drawn.count("slope down") == 1
    assert "<b>" not in drawn


# Pages


def replies(scores: list[int], word: str) -> list[dict[str, Any]]:
    return [
        {"item": f"i{k:02}", "text": f"It is {word} {k}. [RESULT] {score}"} for k, score in enumerate(scores)
    ]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Two judges of twelve items, a third run that lacks six of them, and one with other items."""
    folder = tmp_path_factory.mktemp("compare")
    store = folder / "a.db"
    rows = [
        {"id": f"i{k:02}", "system": "abc"[k % 3], "instruction": "Say hello.",
        "response": f"Hello {k}."} for k in range(12)
    ]  # fmt: skip
    for name, items, scores, word in (
        ("old", rows, [1 + k % 5 for k in range(12)], "good"),
        ("new", rows, [5 - k % 5 for k in range(12)], "bad"),
        ("part", rows[6:], [3] * 12, "fair"),
        ("other", [{**row, "id": f"x{row['id']}"} for row in rows], [3] * 12, "fair"),
    ):
        file = write_rows(folder / f"{name}.jsonl", items)
        recorded = [
            {**reply, "item": ("x" if name == "other" else "") + reply["item"]}
            for reply in replies(scores, word)
        ]
        model = f"replay:{write_rows(folder / f'{name}.replies.jsonl', recorded)}"
        done = adjudge("run", file, *DIRECT, "-m", model, "--run", name, "--store", store)
        assert done.code == 0, done.err
    with open_store(store) as opened:
        run = opened.run("old")
        criterion = next(iter(opened.judgments(run))).about.criteria[0]
        opened.put_labels([Label(f"i{k:02}", criterion, "ann", float(5 - k % 5)) for k in range(12)], run)
    return Browser(store)


def compared(browser: Browser, first: str = "old", second: str = "new") -> str:
    page = ""

    def is_made() -> bool:
        nonlocal page
        page = browser.get(f"/compare?with={first}&with={second}").text
        return "Computing the comparison" not in page

    until(is_made)
    return page


def test_the_page_shows_the_change_of_each_system_the_ranks_and_the_items_that_moved(
    browser: Browser,
) -> None:
    page = compared(browser)
    assert len(re.findall(r'class="joined[^"]*"', page)) == 3
    assert "Rank by mean, 1 is best" in page
    assert "Whose side people take" in page
    text = text_of_page(page)
    assert (
        "12 of 12 items have another answer in new" in text
        or "of 12 items have another answer in new" in text
    )
    moved = re.findall(r'<details class="fold moved"', page)
    assert 0 < len(moved) <= compare.MOST_SHOWN
    # The replies stand side by side, with the words that differ marked.
    assert '<mark class="span" title="differs">good</mark>' in page
    assert '<mark class="span" title="differs">bad</mark>' in page


def test_the_page_begins_with_whose_side_people_take(browser: Browser) -> None:
    page = compared(browser)
    text = text_of_page(page)
    title = text_of_page(re.findall(r"<h1[^>]*>(.*?)</h1>", page)[0])
    assert "people" in title
    before_systems = text[: text.index("difference [95 % CI]")]
    assert "nearer to new" in before_systems
    # All but the finding, the systems and the items that moved is folded.
    folded = re.findall(r'<details class="drawer"><summary><h[23]>(?:<bdi>)?([^<]*)', page)
    assert {"Ranks of the systems", "Agreement between the runs", "How to read this"} <= set(folded)
    heads = re.findall(r'<details class="drawer">(<summary>.*?</summary>)', page)
    silent = [head for head in heads if "How to read" not in head and not re.search(r">[^<]*\d[^<]*<", head)]
    assert silent == [], "every drawer says a number while it is closed"


def test_the_numbers_of_the_page_are_those_of_the_command(browser: Browser) -> None:
    store = browser.app._app.state.context.store_path  # type: ignore[attr-defined]
    card = next(iter(adjudge("compare", "old", "new", "--json", "--store", store).json["criteria"].values()))
    text = text_of_page(compared(browser))
    for system in card["systems"].values():
        assert signed(system["difference"]["value"]) in text
    people = card["people"]
    assert f"nearer to old on {people['n_first']}, nearer to new on {people['n_second']}" in text
    assert len(card["moved"]) == card["n_moved"]


def test_an_item_is_shown_in_both_runs_and_links_lead_from_it_to_the_others(browser: Browser) -> None:
    page = compared(browser)
    (url, *_) = re.findall(r'href="(/compare/item[^"]*)"', page)
    both = browser.get(unescape(url)).text
    assert "The item has the same texts in both runs." in both
    assert '<mark class="span" title="differs">good</mark>' in both
    item = browser.get("/item?run=old&n=7").text
    links = re.findall(r'<a href="(/item\?run=(\w+)&amp;n=(\d+))">', item)
    assert {(run, n) for _, run, n in links} >= {("new", "7"), ("part", "1")}
    assert not any(run == "other" for _, run, _ in links)
    assert "/compare/item?with=old&amp;with=new&amp;item=i07" in item


def test_items_of_one_run_only_and_runs_without_a_common_item_say_what_to_do(browser: Browser) -> None:
    assert "6 items of old are not in the other run" in text_of_page(compared(browser, "old", "part"))
    half = browser.get("/compare/item?with=old&with=part&item=i01").text
    assert "not in <bdi>part</bdi>" in half
    assert "not in this run" in half
    nothing = browser.get("/compare?with=old&with=other").text
    assert "no item in common" in nothing
    assert "give two versions of one text the same id" in nothing
    missing = browser.get("/compare/item?with=old&with=new&item=nope")
    assert missing.status == 404
    assert "Neither run has an item" in missing.text


def test_the_single_file_has_the_charts_no_links_and_no_script(browser: Browser, tmp_path: Path) -> None:
    store = browser.app._app.state.context.store_path  # type: ignore[attr-defined]
    file = tmp_path / "comparison.html"
    done = adjudge("compare", "old", "new", "--html", file, "--store", store)
    assert (done.code, done.out) == (0, "")
    assert "Wrote the comparison to" in done.err
    page = file.read_text(encoding="utf-8")
    assert len(re.findall(r'class="joined[^"]*"', page)) == 3
    assert "slope" in page
    assert "<script" not in page
    assert 'href="/' not in page
    assert "Content-Security-Policy" in page

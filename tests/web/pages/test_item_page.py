"""The page of an item: the score as its title, people on the scale, the response before its source, pairs
side by side, samples, and the steps of an agent with their turns.
"""

from __future__ import annotations

import csv
import re
from html import unescape
from pathlib import Path

import pytest

from adjudge.records import Label
from adjudge.store import open_store
from running import DIRECT, EXAMPLES, adjudge, write_rows
from webclient import Browser

N = 45


@pytest.fixture(scope="module")
def browser(store: Path) -> Browser:
    return Browser(store)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labelled items, items with samples, pairs in both orders, and an agent's steps."""
    folder = tmp_path_factory.mktemp("item")
    store = folder / "s.db"
    items = [{"id": f"i{k}", "instruction": "Say it.", "response": f"Answer {k}."} for k in range(N)]
    replies = [{"item": f"i{k}", "text": f"Not a 2, I think. [RESULT] {k % 4 + 2}"} for k in range(N)]
    sampled = [
        {"item": "i0", "sample": k, "text": "Hm." if k == 19 else f"[RESULT] {5 if k < 3 else 4}"}
        for k in range(20)
    ]
    talks = EXAMPLES / "conversations"
    runs: dict[str, tuple[Path, Path, tuple[str | Path, ...]]] = {
        "labelled": (
            write_rows(folder / "items.jsonl", items),
            write_rows(folder / "r.jsonl", replies),
            DIRECT,
        ),
        "sampled": (
            write_rows(folder / "one.jsonl", items[:1]),
            write_rows(folder / "s.jsonl", sampled),
            (*DIRECT, "--samples", "20"),
        ),
        "pairs": (
            EXAMPLES / "advice.jsonl",
            EXAMPLES / "advice.replies.jsonl",
            ("-p", "geval/compare"),
        ),
        "steps": (talks / "bookings.jsonl", talks / "steps.replies.jsonl", ("-p", "agent/trajectory")),
    }
    for name, (judged, recorded, more) in runs.items():
        arguments = (judged, *more, "-m", f"replay:{recorded}", "--run", name, "--store", store)
        assert adjudge("run", *arguments).code == 0, name
    with open_store(store) as opened:
        labels = [
            Label(f"i{k}", "tact", rater, min(5, k % 4 + 1 + (rater == "ben") * (k % 3)))
            for k in range(N)
            for rater in ("ann", "ben")
        ]
        opened.put_labels(labels, opened.run("labelled"))
    return store


def test_the_score_is_the_title_and_the_response_stands_first(browser: Browser) -> None:
    page = browser.get("/item?run=labelled&n=3").text
    assert '<h1 class="page-title"><bdi>tact</bdi>: <bdi class="num">5</bdi></h1>' in page
    assert page.index("Answer 3.") < page.index("Say it.")


def test_people_stand_on_the_scale_of_the_judge(browser: Browser) -> None:
    page = browser.get("/item?run=labelled&n=3").text
    strip = re.findall(r'<svg [^>]*class="scale-strip">.*?</svg>', page)[0]
    assert strip.count("dot people") == 2
    assert strip.count("dot judge") == 1
    assert "judge 5; people 4, 4" in strip


def test_what_a_score_is_worth_is_the_interval_of_the_export(browser: Browser, store: Path) -> None:
    browser.get("/items?run=labelled")  # which waits for all labels of the run
    page = unescape(browser.get("/item?run=labelled&n=3").text)
    sentence = r"A 5 here: people said ([\d.]+) to ([\d.]+) in 95 of 100 cases \(n = (\d+)\)"
    ((low, high, n),) = re.findall(sentence, page)
    done = adjudge("export", "labelled", "--format", "csv", "--store", store)
    row = next(row for row in csv.DictReader(done.out.splitlines()) if row["item"] == "i3")
    assert (float(low), float(high)) == (float(row["low"]), float(row["high"]))
    assert n == str(N)


def test_a_number_that_was_passed_over_is_grey_with_its_reason(browser: Browser) -> None:
    page = browser.get("/item?run=labelled&n=3").text
    assert '<mark class="span aside" title="not read: not after [RESULT]">2</mark>' in page
    assert 'Not read: <span class="num">2</span> (not after [RESULT]).' in page
    assert '<span class="muted">after [RESULT]</span>' in page


def test_twenty_samples_are_a_strip_of_dots_and_the_failed_one_is_counted(browser: Browser) -> None:
    page = browser.get("/item?run=sampled&n=0").text
    samples = re.findall(r'<dt class="num">(\d)</dt><dd><span[^>]*>(●+)</span>', page)
    assert [(value, len(dots)) for value, dots in samples] == [("5", 3), ("4", 16)]
    assert "1 of 20 failed" in page
    assert "19 more samples" in page


def test_the_responses_of_a_pair_stand_side_by_side_and_b_is_response_a(browser: Browser) -> None:
    page = browser.get("/item?run=pairs&n=0").text
    sides = re.findall(
        r'<div class="split responses">(.*?)<div class="field-block">\n  <h3><bdi>task', page, re.S
    )
    assert len(sides) == 1
    assert sides[0].count('<div class="field-block">') == 2
    assert '<span class="written">B</span> <span>= response a</span>' in page
    assert "chosen by the judge" in sides[0]


def test_each_step_of_an_agent_opens_its_turn(browser: Browser) -> None:
    page = browser.get("/item?run=steps&n=0").text
    targets = re.findall(r'<tr id="e-[^"]*"><th scope="row"><a href="#([^"]+)"', page)
    assert len(targets) == 2
    for target in targets:
        assert page.count(f'id="{target}"') == 1
    turns = re.findall(r'<div class="turn (\w+)" id="[^"]*-turn-(\d+)">', page)
    assert [kind for kind, _ in turns] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    heads = re.findall(r'<th scope="col"><bdi>(\w+)</bdi>', page)
    assert heads[:5] == ["trajectory", "tool", "arguments", "needed", "result"]


def test_what_is_as_it_should_be_has_no_mark(browser: Browser) -> None:
    assert 'class="pill ok"' not in browser.get("/item?run=labelled&n=3").text


def test_the_list_has_one_row_for_each_item_with_its_text_and_a_bar_for_judge_minus_people(
    browser: Browser,
) -> None:
    page = unescape(browser.get("/items?run=labelled").text)
    assert f"<strong>{N} items</strong>" in page
    assert page.count('<tr class="is-link"') == N
    assert "Answer 3." in page, "the judged text is a column"
    assert 'class="gap-judge"' in page
    assert 'class="pill ok"' not in page
    row = re.findall(r'<tr class="is-link" id="n3">.*?</tr>', page, re.S)[0]
    assert '<td class="c-score" title="people 4">' in row
    assert "+1.00" in row


def test_criteria_are_columns_and_both_sides_of_a_pair_are_in_one_row(browser: Browser) -> None:
    page = unescape(browser.get("/items?run=pairs").text)
    heads = re.findall(r'<th scope="col" class="c-score"[^>]*><a [^>]*><bdi>(.*?)</bdi>', page)
    assert heads == ["accuracy", "completeness", "clarity", "actionability", "relevance", "overall"]
    rows = re.findall(r'<tr class="is-link".*?</tr>', page, re.S)
    assert len(rows) == 2
    assert rows[0].count('<td class="c-score') == 6


def test_a_column_sorts_the_items_by_that_criterion_and_columns_of_results_can_be_chosen(
    browser: Browser,
) -> None:
    page = browser.get("/items?run=labelled").text
    url = unescape(re.findall(r'<th scope="col" class="c-score"><a class="sort" href="([^"]*)"', page)[0])
    values = re.findall(
        r'<td class="c-score"[^>]*><span class="row"><span[^>]*><bdi>(\d)', browser.get(url).text
    )
    assert values == sorted(values)
    results = browser.get("/items?run=labelled&col=score&col=people").text
    assert f"<strong>{N} results</strong>" in results


def test_pages_of_items_follow_each_other_and_a_filter_counts_items(browser: Browser) -> None:
    page = browser.get("/items?run=pairs&criterion=overall&status=ok").text
    assert "<strong>2 items</strong>" in page
    assert browser.get("/items?run=pairs&status=refused").text.count('<tr class="is-link"') == 0


def test_a_new_label_is_seen_at_once(store: Path) -> None:
    browser = Browser(store)
    assert "1 human label" not in browser.get("/item?run=sampled&n=0").text
    with open_store(store) as opened:
        opened.put_labels([Label("i0", "tact", "eve", 3.0)], opened.run("sampled"))
    assert "1 human label" in browser.get("/item?run=sampled&n=0").text

"""What the tables of the viewer say beside the items themselves:
failures of two kinds, people's labels, places of a pair.
"""

from __future__ import annotations

import re
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from adjudge.analysis.brief import brief
from adjudge.data.labels import LabelFile
from adjudge.records import Label
from adjudge.store import open_store
from adjudge.web.context import Context
from adjudge.web.pages.runs import AboutRun, AboutRuns
from adjudge.web.parts.live_progress import Pace, live_progress
from adjudge.web.parts.run_line import RunLine
from running import DIRECT, EXAMPLES, adjudge, answers, read_rows, write_rows
from webclient import Browser


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten items: a run with a failed call and two unreadable
    replies, one of pairs by choice; labels by two people.
    """
    folder = tmp_path_factory.mktemp("lists")
    items = answers(folder / "items.jsonl", 10)
    texts = {f"i{k}": f"Fine. [RESULT] {k % 5 + 1}" for k in range(2, 9)} | {"i9": "hm", "i10": "[RESULT] 11"}
    replies = write_rows(
        folder / "replies.jsonl", [{"item": item, "text": text} for item, text in texts.items()]
    )
    outputs = [EXAMPLES / f"ranking/{name}.jsonl" for name in ("clear", "terse", "wordy")]
    assert adjudge("pair", *outputs, "-o", folder / "pairs.jsonl").code == 0
    for arguments in (
        (items, *DIRECT, "-m", f"replay:{replies}", "--run", "scores"),
        (
            folder / "pairs.jsonl", "-p", "prometheus/pairwise", "--rubric",
            EXAMPLES / "ranking/helpful.toml",
            "-m", f"replay:{EXAMPLES / 'ranking/replies.jsonl'}", "--run", "pairs",
        ),
    ):  # fmt: skip
        done = adjudge("run", *arguments, "--store", folder / "a.db")
        assert done.code in (0, 4), done.err
    with open_store(folder / "a.db") as opened:
        labels = [
            Label(f"i{k}", "tact", rater, float(value))
            for k in (2, 3)
            for rater, value in (("ann", 2), ("ben", 3))
        ]
        opened.put_labels(labels, opened.run("scores"))
    return folder / "a.db"


@pytest.fixture(scope="module")
def browser(store: Path) -> Browser:
    return Browser(store)


def row_of(page: str, name: str) -> list[str]:
    """The cells of the row that a name begins, as text."""
    row = next(row for row in re.findall(r"<tr[ >].*?</tr>", page, re.DOTALL) if f"<bdi>{name}</bdi>" in row)
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
    return [" ".join(unescape(re.sub(r"<[^>]+>", " ", cell)).split()) for cell in cells]


def test_calls_that_failed_and_replies_that_could_not_be_read_are_counted_apart(browser: Browser) -> None:
    counts = {
        row["run"]: (row["calls"], row["failed"], row["unread"]) for row in browser.get("/api/runs").json
    }
    assert counts["scores"] == (10, 1, 2)
    page = browser.get("/").text
    assert row_of(page, "scores")[4:8] == ["1", "2", "10", "10"]


def unread(counts: AboutRuns, runs: dict[str, int], wait: float) -> tuple[dict[str, int | None], bool]:
    known, is_known = counts.of(runs, wait)
    return {name: about.unread for name, about in known.items()}, is_known


def test_unread_replies_are_counted_again_when_the_judgments_have_changed_and_not_before(store: Path) -> None:
    counts = AboutRuns(Context(store))
    looks = _counting(counts)
    assert unread(counts, {"scores": 1}, 20) == ({"scores": 2}, True)
    assert unread(counts, {"scores": 1}, 20) == ({"scores": 2}, True)
    assert len(looks) == 1
    assert unread(counts, {"scores": 2, "gone": 1}, 20) == ({"scores": 2, "gone": None}, True)
    assert len(looks) == 3


def test_a_list_does_not_wait_for_a_count_that_takes_long(store: Path) -> None:
    counts = AboutRuns(Context(store))
    held = threading.Event()
    _counting(counts, before=lambda: held.wait(20))
    assert unread(counts, {"scores": 1}, 0.05) == ({}, False)
    held.set()
    assert unread(counts, {"scores": 1}, 20) == ({"scores": 2}, True)


def _counting(counts: AboutRuns, before: Callable[[], object] = lambda: None) -> list[str]:
    """Every look of a counter at a run, as it happens."""
    looks: list[str] = []
    count_run = counts._of_run

    def look(name: str) -> AboutRun:
        looks.append(name)
        before()
        return count_run(name)

    counts._of_run = look  # type: ignore[method-assign]
    return looks


def test_what_people_said_and_how_far_the_judge_is_from_it_are_two_columns(browser: Browser) -> None:
    page = browser.get("/items?run=scores&sort=-people").text
    # The judge gave 3 and 4; the mean of the labels is 2.5.
    at = row_of(page, "i3").index("2.5")
    assert row_of(page, "i3")[at - 1 : at + 2] == ["4", "2.5", "+1.50"]
    assert row_of(page, "i2")[at - 1 : at + 2] == ["3", "2.5", "+0.50"]
    assert row_of(page, "i4")[at : at + 2] == ["–", "–"]


def test_both_questions_about_the_place_are_drawn_in_one_row(browser: Browser) -> None:
    page = " ".join(browser.get("/run?run=pairs").text.split())
    rows = [row for row in re.findall(r"<tr[ >].*?</tr>", page) if 'data-head="p"' in row]
    assert [row.count("<svg") for row in rows if "<svg" in row] == [2]


def test_a_pair_that_was_only_chosen_between_has_no_columns_of_scores(store: Path, browser: Browser) -> None:
    page = browser.get("/item?run=pairs&n=0").text
    results = page[page.index('aria-label="Results"') :]
    heads = re.findall(r"<th scope=\"col\"[^>]*>([^<]*)</th>", results[: results.index("</table>")])
    assert heads == ["Criterion", "Choice"]
    assert read_rows(store.parent / "pairs.jsonl")[0]["id"] in unescape(page)


def test_the_name_of_the_tool_leads_home_from_every_page_but_home(browser: Browser) -> None:
    home = '<a class="brand" href="/"'
    assert home not in browser.get("/").text
    for address in ("/run?run=scores", "/items?run=scores", "/item?run=scores&n=0"):
        assert home in browser.get(address).text, address


def test_the_judge_card_is_kept_for_the_next_start_until_a_label_changes(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    copy = tmp_path / "copy.db"
    with sqlite3.connect(store) as before, sqlite3.connect(copy) as after:
        before.backup(after)
    first = Browser(copy).get("/run?run=scores").text
    assert 'id="card"' in first
    (kept,) = (tmp_path / "adjudge" / "estimates").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    made: list[str] = []
    estimate = brief.estimates_of

    def counted(*arguments: Any) -> brief.Estimates:
        made.append("again")
        return estimate(*arguments)

    monkeypatch.setattr(brief, "estimates_of", counted)
    assert Browser(copy).get("/run?run=scores").text.count("<tr") == first.count("<tr")
    assert made == []
    with open_store(copy) as opened:
        opened.put_labels([Label("i4", "tact", "cleo", 2)], opened.run("scores"))
    assert Browser(copy).get("/run?run=scores").text != first
    assert made == ["again"]
    kept.write_bytes(b"broken")
    assert 'id="card"' in Browser(store).get("/run?run=scores").text


def test_labels_of_a_file_are_shown_instead_of_those_in_the_store(store: Path) -> None:
    given = LabelFile((Label("i3", "tact", "dora", 1), Label("i5", "tact", "dora", 5)))
    browser = Browser(store, given=given)
    page = browser.get("/items?run=scores&sort=-people").text
    assert row_of(page, "i3")[-4:-2] == ["1", "+3.00"]
    assert row_of(page, "i2")[-4:-2] == ["–", "–"]
    assert "dora" in browser.get("/item?run=scores&n=2").text


def test_the_list_of_runs_is_searched_and_sorted(browser: Browser) -> None:
    def names(query: str) -> list[str]:
        return re.findall(r'<a href="/run\?run=\w+"><bdi>(\w+)', browser.get(f"/?{query}").text)

    assert sorted(names("")) == ["pairs", "scores"]
    assert names("q=pairwise") == ["pairs"]
    assert names("q=nothing-like-it") == []
    assert names("sort=run") == ["pairs", "scores"]
    assert names("sort=-run") == ["scores", "pairs"]
    assert names("sort=-failed") == ["scores", "pairs"]


def test_a_score_between_two_levels_is_not_called_out_of_range(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 3)
    texts = [{"item": f"i{k}", "text": f"So. [RESULT] {score}"} for k, score in enumerate((4.5, 9, 4), 1)]
    replies = write_rows(tmp_path / "replies.jsonl", texts)
    adjudge("run", items, *DIRECT, "-m", f"replay:{replies}", "--run", "r", "--store", tmp_path / "s.db")
    browser = Browser(tmp_path / "s.db")
    listed = browser.get("/items?run=r").text
    pills = re.findall(r'<span class="pill out_of_range">([^<]*)</span>', listed)
    assert pills == ["between levels", "out of range"]
    assert "status off the scale" in browser.get("/items?run=r&status=out_of_range").text
    for number, words in enumerate(pills):
        page = browser.get(f"/item?run=r&n={number}").text
        assert f'<span class="pill out_of_range">{words}</span>' in page
    shown = adjudge("runs", "show", "r", "--item", "i1", "--store", tmp_path / "s.db").out
    assert "between levels" in shown
    report = adjudge("report", "r", "--full", "--store", tmp_path / "s.db").out
    assert "1 off the scale" in " ".join(report.split())


def test_the_pace_of_a_running_run_is_that_of_the_last_minute() -> None:
    pace = Pace()
    assert pace.rate(0, "", now=100.0) is None
    assert pace.rate(10, "", now=105.0) == 2.0
    assert pace.rate(10, "", now=164.0) is None, "nothing came for a minute"
    assert pace.rate(70, "", now=165.0) == pytest.approx(1.0)


def test_a_running_run_shows_its_rate_the_time_left_and_the_cost() -> None:
    line = RunLine("r", "running", "", 0.0, 10, 4, 4, 0, {}, [], ["m"], [], 0.02, 20)
    pace = Pace()
    pace.rate(0, "", now=time.monotonic() - 8)
    live = live_progress(line, 1, pace)
    assert (live.done, live.total, live.spent_usd) == (4, 20, 0.02)
    assert live.rate == pytest.approx(0.5, rel=0.2)
    assert live.seconds_left == pytest.approx(32, rel=0.2)
    assert live.expected_usd == pytest.approx(0.1)

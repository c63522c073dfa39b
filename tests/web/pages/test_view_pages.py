"""The viewer shows what the store holds, finds and sorts it, follows a run that grows, and lets no text
act."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from adjudge.records import Label
from adjudge.results.stored_results import results
from adjudge.store import open_store
from adjudge.store import results as result_rows
from adjudge.web.items import run_table
from adjudge.web.items.filter import Filter
from adjudge.web.items.listing import ItemsTable
from adjudge.web.items.run_table import RunTable
from running import DIRECT, EXAMPLES, adjudge, read_rows, write_rows
from webclient import Browser

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</textarea></title><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "\u202egnp.exe\u2066",
    "'; DROP TABLE rows;--",
)


def judged(path: Path, rows: list[dict[str, Any]], replies: list[dict[str, Any]], *more: str | Path) -> Path:
    """A store with one run, `first`, of these items and recorded replies."""
    items = write_rows(path / "items.jsonl", rows)
    recorded = write_rows(path / "replies.jsonl", replies)
    store = path / "a.db"
    arguments = more or DIRECT
    done = adjudge("run", items, *arguments, "-m", f"replay:{recorded}", "--run", "first", "--store", store)
    assert done.code in (0, 4), done.err
    return store


def answer(number: int, **more: str) -> dict[str, Any]:
    fields = {"instruction": "Say something.", "response": f"Answer number {number}."}
    return {"id": f"i{number:02}", "system": "ab"[number % 2], **fields, **more}


def said(number: int, text: str) -> dict[str, Any]:
    return {"item": f"i{number:02}", "text": text}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Twenty items with scores 1 to 5, two of which could not be read."""
    replies = [said(n, f"Feedback: remark {n}. [RESULT] {n % 5 + 1}") for n in range(18)]
    replies += [said(18, "I would rather not say."), said(19, "[RESULT] 9")]
    return Browser(judged(tmp_path_factory.mktemp("view"), [answer(n) for n in range(20)], replies))


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """A pair in both orders, and a run whose judge says nothing useful."""
    store = tmp_path_factory.mktemp("pairs") / "a.db"
    arguments = ("run", EXAMPLES / "advice.jsonl", "-p", "geval/compare", "--store", store)
    assert (
        adjudge(*arguments, "-m", f"replay:{EXAMPLES / 'advice.replies.jsonl'}", "--run", "advice").code == 0
    )
    assert adjudge(*arguments, "-m", "fake:text=sorry", "--run", "hopeless").code == 4
    return Browser(store)


def items_on(page: str) -> list[str]:
    plain = re.sub(r"</?mark[^>]*>", "", page)
    return re.findall(r'<th scope="row"[^>]*><a href="/item[^"]*"><bdi>([^<]*)</bdi>', plain)


def item_on(page: str) -> str:
    """The id of the item that a page is about, which its last crumb names."""
    return unescape(re.findall(r'<bdi aria-current="page">(.*?)</bdi>', page)[0])


def total_on(page: str) -> int:
    match = re.search(r"of ([\d,]+)</span>", page)
    return int(match[1].replace(",", "")) if match else 0


def test_the_list_of_runs_says_what_each_was(examples: Browser) -> None:
    page = examples.get("/").text
    assert page.index("hopeless") < page.index('run=advice"')
    assert "geval/compare" in page
    assert "fake" in page
    rows = examples.get("/api/runs").json
    assert [row["run"] for row in rows] == ["hopeless", "advice"]
    assert rows[1] | {"started": "", "seconds": 0, "protocols": [], "models": []} == {
        "run": "advice", "status": "done", "started": "", "seconds": 0, "items": 2, "calls": 4, "judged": 4,
        "failed": 0,
        "failures": {}, "protocols": [], "models": [], "fakes": [], "cost_usd": 0.0, "planned": 2,
        "unread": 0,
    }  # fmt: skip


def test_a_run_shows_its_summary(browser: Browser) -> None:
    page = browser.get("/run?run=first").text
    assert "tact" in page
    assert "<svg" in page
    assert "s-out_of_range" in page


def test_the_items_table_holds_the_results_of_the_run(browser: Browser) -> None:
    page = browser.get("/items?run=first").text
    assert items_on(page) == [f"i{n:02}" for n in range(20)]
    assert total_on(page) == 20


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("system=a", [f"i{n:02}" for n in range(0, 20, 2)]),
        ("status=failed", ["i18", "i19"]),
        ("status=out_of_range", ["i19"]),
        ("low=4.5", ["i04", "i09", "i14"]),
        ("low=2&high=2", ["i01", "i06", "i11", "i16"]),
        ("q=Answer+number+1.", ["i01"]),
        ("q=ANSWER+NUMBER+1.", ["i01"]),
        ("q=remark+12", ["i12"]),
        ("q=r%2012", ["i12"]),
        ("q=i07", ["i07"]),
        ("q=07", ["i07"]),
        ("q=zzz", []),
        ("q=zq", []),
        ("q=z", []),
        ("q=7.", ["i07", "i17"]),
        ("q=%25", []),
        ("q=_", []),
        ("q=%22", []),
        ("q=%22%22%22+OR+1", []),
        ("q=%00", [f"i{n:02}" for n in range(20)]),
        ("system=a&low=5&q=answer", ["i04", "i14"]),
        ("criterion=tact&status=ok&system=b&high=1", ["i05", "i15"]),
        ("criterion=nothing", []),
        ("sort=-score&low=5", ["i04", "i09", "i14"]),
        ("low=nonsense&high=nan&page=inf&sort=;DROP&apart=x&least=1", [f"i{n:02}" for n in range(20)]),
    ],
)
def test_a_filter_finds(browser: Browser, query: str, wanted: list[str]) -> None:
    page = browser.get(f"/items?run=first&{query}").text
    assert items_on(page) == wanted
    assert total_on(page) == len(wanted)


@pytest.mark.parametrize(
    "query", ["q=answer", "q=ANSWER+number+1", "q=r+1&sort=-score", "q=ma&system=a&sort=item", "q=0", "q=zq"]
)
def test_a_frequent_text_is_found_as_a_rare_one_is(
    browser: Browser, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adjudge.web.items import listing as items_table

    rare = items_on(browser.get(f"/items?run=first&{query}").text)
    monkeypatch.setattr(items_table, "FREQUENT", 0)
    assert items_on(browser.get(f"/items?run=first&{query}").text) == rare


def test_pages_of_a_frequent_text_follow_each_other_to_the_end(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adjudge.web.items import listing as items_table

    monkeypatch.setattr(items_table, "FREQUENT", 0)
    monkeypatch.setattr(items_table, "ROWS_ON_A_PAGE", 8)
    monkeypatch.setattr("adjudge.web.pages.items.ROWS_ON_A_PAGE", 8)
    seen, url = [], "/items?run=first&q=answer&sort=-score"
    while url:
        page = browser.get(url).text
        seen.append(items_on(page))
        following = re.search(r'rel="next" href="([^"]*)"', page)
        url = unescape(following[1]) if following else ""
    assert [len(part) for part in seen] == [8, 8, 4]
    assert len({name for part in seen for name in part}) == 20
    assert total_on(browser.get("/items?run=first&q=answer").text) == 0, "not counted"


def test_scores_are_sorted_both_ways_and_failures_come_last(browser: Browser) -> None:
    up = items_on(browser.get("/items?run=first&sort=score").text)
    down = items_on(browser.get("/items?run=first&sort=-score").text)
    assert up[:4] == ["i00", "i05", "i10", "i15"]
    assert down[:3] == ["i04", "i09", "i14"]
    assert up[-2:] == down[-2:] == ["i18", "i19"]


def test_a_part_of_a_page_is_the_table_alone(browser: Browser) -> None:
    part = browser.get("/items?run=first&system=a&part=1").text
    assert "<html" not in part
    assert len(items_on(part)) == 10


def test_an_item_shows_its_fields_its_prompt_and_its_reply_with_the_score_marked(browser: Browser) -> None:
    page = unescape(browser.get("/item?run=first&n=3").text)
    assert "Answer number 3." in page
    assert re.search(r'\. \[RESULT\] <mark class="span" title="[^"]*strict[^"]*">4</mark>', page)
    assert page.count("Say something.") == 3, "as a field, and in the prompt as Markdown and as it is"


def test_a_reply_that_was_not_read_is_shown_with_its_status(browser: Browser) -> None:
    page = browser.get("/item?run=first&n=18").text
    assert "I would rather not say." in page
    assert 'class="pill unparsed"' in page or 'class="pill refused"' in page


@pytest.mark.slow
def test_next_and_before_go_through_the_list_as_it_was_filtered_and_sorted(browser: Browser) -> None:
    for query in ("sort=-score&system=a", "sort=score", "q=answer&sort=-item", "", "sort=-status"):
        listed = browser.get(f"/items?run=first&{query}").text
        names = items_on(listed)
        url = unescape(re.findall(r'<th scope="row"[^>]*><a href="(/item[^"]*)"', listed)[0])
        seen = []
        while url:
            page = browser.get(url).text
            seen.append(item_on(page))
            following = re.search(r'rel="next" href="([^"]*)"', page)
            back = re.search(r'rel="prev" href="([^"]*)"', page)
            assert (back is None) == (len(seen) == 1)
            if back is not None:
                before = browser.get(unescape(back[1])).text
                assert item_on(before) == seen[-2]
            url = unescape(following[1]) if following else ""
        assert seen == names


def test_the_link_of_an_item_has_no_token(browser: Browser) -> None:
    page = browser.get("/item?run=first&n=3&sort=score").text
    assert 'data-copy="/item?run=first&amp;n=3"' in page
    assert browser.secrets.token not in page


def test_both_orders_of_a_pair_stand_side_by_side_with_their_evidence(examples: Browser) -> None:
    page = examples.get("/item?run=advice&n=0").text
    assert page.count('<div class="split">') == 1
    matches = re.findall(r'<li><q>.*?<span class="pill (\w+)">', page, re.DOTALL)
    assert matches == ["ok"] * 20, "every quotation of both replies"
    assert '<mark class="span" title="' in page


def test_two_runs_are_compared(examples: Browser) -> None:
    page = examples.get("/compare?with=hopeless&with=advice").text
    assert page.index("<bdi>advice") < page.index("<bdi>hopeless")


@pytest.mark.parametrize(
    "url",
    ["/compare", "/compare?with=advice", "/compare?with=a&with=b&with=c", "/compare?with=advice&with=none"],
)
def test_a_comparison_of_anything_but_two_runs_says_so(examples: Browser, url: str) -> None:
    answered = examples.get(url)
    assert answered.status == 404
    assert "<h1>404</h1>" in answered.text


@pytest.mark.parametrize(
    "url",
    ["/run?run=nobody", "/items?run=nobody", "/item?run=first&n=99", "/item?run=first&n=-1",
    "/item?run=first&n=x",
     "/item?run=first", "/item?run=first&n=1e3", "/nothing", "/run/first", "/item/..%2f..%2fetc",
     "/live/run?run=nobody"],
)  # fmt: skip
def test_an_address_of_nothing_is_a_page_that_says_so(browser: Browser, url: str) -> None:
    answered = browser.get(url)
    assert answered.status == 404
    assert "Traceback" not in answered.text


def test_an_empty_store_says_how_to_begin(tmp_path: Path) -> None:
    open_store(tmp_path / "a.db").close()
    browser = Browser(tmp_path / "a.db")
    assert "adjudge run" in browser.get("/").text
    assert browser.get("/run").status == 404
    assert browser.get("/items").status == 404


def test_a_store_that_has_gone_is_a_message(tmp_path: Path) -> None:
    open_store(tmp_path / "a.db").close()
    browser = Browser(tmp_path / "a.db")
    (tmp_path / "a.db").unlink()
    answered = browser.get("/")
    assert answered.status == 404
    assert "a.db" in answered.text


def test_a_run_that_failed_throughout_can_be_looked_at(examples: Browser) -> None:
    assert examples.get("/run?run=hopeless").status == 200
    assert examples.get("/items?run=hopeless&status=failed").status == 200
    page = examples.get("/item?run=hopeless&n=0").text
    assert page.count("sorry") >= 2, "the reply, and that to the second question"


@pytest.mark.parametrize("text", HOSTILE)
def test_text_cannot_act_on_any_page(tmp_path: Path, text: str) -> None:
    name = text.replace("\u202e", "").replace("\u2066", "")
    rows = [answer(1, response=text, system=name), answer(2, instruction=text)]
    rows[0]["id"] = name
    replies = [
        {"item": name, "text": f"Feedback: {text} [RESULT] 3"},
        said(2, f"Feedback: {text} [RESULT] 3 [RESULT] 4"),
    ]
    store = judged(tmp_path, rows, replies)
    assert adjudge("runs", "rename", "first", name, "--store", store).code == 0
    browser = Browser(store)
    from urllib.parse import urlencode

    run = urlencode({"run": name})
    search = urlencode({"q": text, "system": text, "flag": text, "sort": text})
    for url in (
        "/",
        f"/run?{run}",
        f"/items?{run}",
        f"/items?{run}&{search}",
        f"/item?{run}&n=0",
        f"/item?{run}&n=1",
    ):
        page = browser.get(url).text
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "onload=alert(1)>" not in page
        assert "\u202e" not in re.sub(r'value="[^"]*"', "", page)
        assert 'href="javascript' not in page
        assert "49" not in re.findall(r"<h1.*?</h1>", page, re.S)[0]
        scripts = re.findall(r"<script[^>]*>", page)
        assert scripts == ['<script src="/static/adjudge.js">']
        assert not re.search(r"\son\w+\s*=", re.sub(r">[^<]*<", "><", re.sub(r'"[^"]*"', '""', page)))
        assert not re.search(r'\sstyle="', re.sub(r">[^<]*<", "><", page))
    assert store.exists()


def rows_of(table: RunTable, path: Path) -> list[tuple[Any, ...]]:
    """All rows of a table after it was brought up to date."""
    table.look_again()
    with open_store(path, write=False) as store:
        table.follow(store, 60)
    assert table.progress.is_whole
    listing = ItemsTable(table, lambda: open_store(path, write=False))
    return [
        (
            row["item"],
            row["criterion"],
            row["subject"],
            row["status"],
            row["value"],
            row["choice"],
            row["n_samples"],
            row["n_failed"],
            row["flags"].strip(),
            row["label"],
            row["label_gap"],
        )
        for row in listing.all_rows(Filter())
    ]


@pytest.mark.parametrize("run", ["advice", "hopeless"])
def test_the_rows_of_the_table_are_the_results_of_the_run(examples: Browser, run: str) -> None:
    store_path = examples.app._app.state.context.store_path
    with open_store(store_path, write=False) as store:
        wanted = [
            (
                r.item,
                r.criterion,
                r.subject,
                r.status,
                r.value,
                r.choice,
                r.n_samples,
                r.n_failed,
                " ".join(r.flags),
            )
            for r in results(store, store.run(run))
        ]
    assert [row[:9] for row in rows_of(RunTable(run), store_path)] == wanted


def test_a_run_that_grows_is_followed(tmp_path: Path) -> None:
    rows = [answer(n) for n in range(12)]
    replies = [said(n, f"[RESULT] {n % 5 + 1}") for n in range(12)]
    store = judged(tmp_path, rows[:6], replies)
    table = RunTable("first")
    assert len(rows_of(table, store)) == 6
    before = table.progress.version
    assert len(rows_of(table, store)) == 6
    assert table.progress.version == before
    with open_store(store) as opened:
        run = opened.run("first")
        opened.put_labels([Label("i00", "tact", "ann", 3.0), Label("i00", "tact", "bob", 4.0)], run)
    assert [row[-2:] for row in rows_of(table, store) if row[0] == "i00"] == [(3.5, 2.5)]
    assert table.progress.version > before


def test_a_table_is_read_a_part_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page does not wait until all results of a large run are combined."""
    store = judged(tmp_path, [answer(n) for n in range(9)], [said(n, "[RESULT] 3") for n in range(9)])
    monkeypatch.setattr(result_rows, "_PAGE", 2)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("DELETE FROM result_items")
    table = RunTable("first")
    seen = []
    while not table.progress.is_whole:
        with open_store(store, write=False) as opened:
            table.follow(opened, 0)
        seen.append((table.progress.done, len(table.rows.columns)))
    assert list(dict.fromkeys(seen)) == [(n, n) for n in (1, 3, 5, 7, 9)]
    assert seen[-1] == (9, 9)


def test_a_store_that_cannot_be_written_is_read_a_part_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = judged(tmp_path, [answer(n) for n in range(9)], [said(n, "[RESULT] 3") for n in range(9)])
    before = rows_of(RunTable("first"), store)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("DELETE FROM result_items")
    monkeypatch.setattr(run_table, "_PAGE", 4)
    monkeypatch.setattr(result_rows, "_FREE_BYTES", 1 << 60)
    table = RunTable("first")
    seen = []
    while not table.progress.is_whole:
        with open_store(store, write=False) as opened:
            table.follow(opened, 0)
        seen.append((table.progress.done, len(table.rows.columns)))
    assert seen == [(4, 4), (8, 8), (9, 9)]
    assert rows_of(table, store) == before


def test_the_viewer_changes_nothing_in_the_store(tmp_path: Path) -> None:
    store = judged(tmp_path, [answer(1)], [said(1, "[RESULT] 3")])
    before = store.read_bytes()
    browser = Browser(store)
    for url in ("/", "/run?run=first", "/items?run=first&q=answer", "/item?run=first&n=0"):
        assert browser.get(url).status == 200
    assert store.read_bytes() == before


def test_the_parts_of_a_live_page_come_only_when_something_changed(browser: Browser) -> None:
    for url in ("/live/runs?", "/live/run?run=first", "/live/items?run=first"):
        state = browser.get(url).json
        assert state["html"]
        assert not state["is_live"]
        again = browser.get(f"{url}&version={state['version']}").json
        assert again == {**state, "html": ""}


def test_recorded_replies_of_the_examples_are_all_marked(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    done = adjudge(
        "run", EXAMPLES / "products.jsonl", "-p", "opinion-summary/faithfulness", "-m",
        f"replay:{EXAMPLES / 'products.replies.jsonl'}", "--run", "p", "--store", store,
    )  # fmt: skip
    assert done.code == 0
    browser = Browser(store)
    for number in range(len(read_rows(EXAMPLES / "products.jsonl"))):
        assert '<mark class="span"' in browser.get(f"/item?run=p&n={number}").text


def test_the_attack_cases_of_names_and_queries_find_nothing_and_break_nothing(
    attacks: list[dict[str, str]], browser: Browser
) -> None:
    from urllib.parse import urlencode

    payloads = [case["payload"] for case in attacks if case["layer"].startswith(("L6", "L7", "L8"))]
    assert len(payloads) > 10
    for text in payloads:
        for query in ({"run": text}, {"run": "first", "n": text}):
            assert browser.get(f"/item?{urlencode(query)}").status == 404
        wild = {
            "run": "first",
            "q": text,
            "system": text,
            "status": text,
            "flag": text,
            "sort": text,
            "page": text,
        }
        answered = browser.get(f"/items?{urlencode(wild)}")
        assert answered.status == 200
        assert items_on(answered.text) == []
    assert total_on(browser.get("/items?run=first").text) == 20


def test_a_rater_cannot_reach_the_scores_of_the_judge(tmp_path: Path) -> None:
    from adjudge.web.labelling.session import open_session

    store = judged(tmp_path, [answer(1)], [said(1, "Feedback: told you. [RESULT] 3")])
    with open_session(store, "first", 1, 0, []) as session:
        browser = Browser(store, session=session)
        assert browser.get("/").headers["location"] == "/annotate"
        assert browser.get("/annotate").status == 200
        for url in (
            "/run?run=first",
            "/items?run=first",
            "/item?run=first&n=0",
            "/api/runs",
            "/live/items?run=first",
        ):
            answered = browser.get(url)
            assert answered.status == 404
            assert "told you" not in answered.text

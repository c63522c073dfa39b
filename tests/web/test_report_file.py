"""`adjudge report --html`: one file that opens offline, says
what the report says, and shows what the judge wrote.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from adjudge.store import open_store
from adjudge.version import __version__
from pageparsing import Page, acting, hash_of_style
from running import DIRECT, EXAMPLES, adjudge, answers, write_rows

SCORES = {
    1: "Poor. [RESULT] 1",
    2: "So so. [RESULT] 2",
    3: "Fair. [RESULT] 3",
    4: "Good. [RESULT] 4",
    5: "Fine. [RESULT] 5",
}


def judged(folder: Path, n: int = 12, *flags: str | Path, name: str = "tact") -> Path:
    """A store with a run of recorded replies: every fifth is unreadable, the others go round the scale."""
    items = answers(folder / "items.jsonl", n)
    replies = (
        {"item": f"i{k}", "text": "I would rather not say." if k % 5 == 0 else SCORES[k % 5 + 1]}
        for k in range(1, n + 1)
    )
    recorded = write_rows(folder / "replies.jsonl", replies)
    store = folder / "adjudge.db"
    run = adjudge(
        "run", items, *DIRECT, "-m", f"replay:{recorded}", *flags, "--run", name, "--store", store, "-q"
    )
    assert run.code == 0, run.err
    return store


def page_of(store: Path, run: str = "last", *flags: str | Path) -> Page:
    path = store.parent / "report.html"
    written = adjudge("report", run, "--html", path, *flags, "--store", store)
    assert written.code == 0, written.err
    page = Page(path.read_text(encoding="utf-8"))
    assert page.unbalanced == []
    assert page.open == []
    return page


def labels_for(folder: Path, n: int) -> Path:
    path = folder / "labels.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "criterion", "rater", "value"])
        for k in range(1, n + 1):
            for rater, shift in (("ann", 0), ("bea", 1)):
                writer.writerow([f"i{k}", "tact", rater, min(5, k % 5 + 1 + shift)])
    return path


# -- what is in it


def test_the_report_has_every_number_of_the_summary_with_its_interval(tmp_path: Path) -> None:
    store = judged(tmp_path, 40)
    page = page_of(store)
    summary = adjudge("report", "last", "--json", "--store", store).json
    for system, by_criterion in summary["systems"].items():
        cell = by_criterion["tact"]
        assert f"{cell['value']:.2f} [{cell['low']:.2f}, {cell['high']:.2f}]" in page.text
        assert system in page.text
    assert "8 of 40 (20 %)" in page.text, "the share that failed, and of how many"


def test_cautions_come_before_any_number_of_a_system(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 3)
    store = tmp_path / "adjudge.db"
    adjudge("run", items, *DIRECT, "-m", "fake:text=[RESULT] 4", "--store", store, "-q")
    page = page_of(store)
    assert page.source.index('id="cautions"') < page.source.index('id="scores"')
    assert "fake" in page.text[:400], "marked at the top as well"


def test_recorded_replies_are_marked_as_such(tmp_path: Path) -> None:
    assert "recorded" in page_of(judged(tmp_path)).text[:400]


def test_failures_are_drawn_and_counted_by_status_and_system(tmp_path: Path) -> None:
    page = page_of(judged(tmp_path, 20))
    assert page.having("s-unparsed")
    assert not page.having("s-refused")
    assert "2 unparsed" in page.text


def test_the_place_that_was_read_is_marked_in_the_reply(tmp_path: Path) -> None:
    page = page_of(judged(tmp_path))
    assert page.marks()
    assert set(page.marks()) <= {"1", "2", "3", "4", "5"}
    assert "So so. [RESULT] <mark" in page.source


def test_the_exact_prompt_is_folded_under_each_notable_item(tmp_path: Path) -> None:
    store = judged(tmp_path)
    page = page_of(store)
    with open_store(store, write=False) as opened:
        first = next(opened.asked(opened.run("last")))
    for message in first.call.messages:
        assert re.sub(r"\s+", " ", message.content).strip() in page.text
    assert "<details" in page.source
    assert not re.search(r"<details[^>]* open", page.source)


def test_the_worst_and_the_failed_are_among_the_notable_items_and_the_best_is_not(tmp_path: Path) -> None:
    page = page_of(judged(tmp_path, 30))
    assert "So so. [RESULT]" in page.source
    assert "I would rather not say." in page.source
    assert "Fine. [RESULT]" not in page.source


def test_the_signature_and_the_commands_are_in_it(tmp_path: Path) -> None:
    store = judged(tmp_path)
    page = page_of(store)
    with open_store(store, write=False) as opened:
        run = opened.run("last")
    (protocol,) = run.manifest["protocols"]
    assert protocol["digest"] in page.text
    assert run.manifest["items"]["sha256"] in page.text
    assert f"Adjudge {__version__}" in page.text
    assert "adjudge run " in page.text
    assert "adjudge report tact --html" in page.text


def test_labels_bring_the_judge_card_with_its_plot(tmp_path: Path) -> None:
    store = judged(tmp_path, 40)
    assert "card" not in page_of(store).ids()
    page = page_of(store, "last", "--labels", labels_for(tmp_path, 40))
    assert "card" in page.ids()
    assert len(page.having("point")) == 32, "a dot for each labelled item that the judge scored"
    assert "Spearman" in page.text
    assert "--labels" in page.text


def test_labels_in_the_store_are_found_without_being_named(tmp_path: Path) -> None:
    from adjudge.data import read_labels

    store = judged(tmp_path, 20)
    with open_store(store) as opened:
        opened.put_labels(read_labels(labels_for(tmp_path, 20)).labels, opened.run("last"))
    assert "card" in page_of(store).ids()


def test_pairs_have_a_ranking_a_bar_each_and_the_test_of_the_place(tmp_path: Path) -> None:
    store = tmp_path / "adjudge.db"
    recorded = EXAMPLES / "advice.replies.jsonl"
    how = ("-p", "geval/compare", "-m", f"replay:{recorded}", "--store", store, "-q")
    run = adjudge("run", EXAMPLES / "advice.jsonl", *how)
    assert run.code == 0, run.err
    page = page_of(store)
    assert {"ranking", "pairs", "scores"} <= page.ids()
    assert page.having("side-a")
    assert {"a shown first", "b shown first"} <= set(re.findall(r"[ab] shown first", page.text)), (
        "both orders"
    )


def test_likelihoods_are_drawn_on_an_axis_of_their_own() -> None:
    from adjudge.records import Result, Scale
    from adjudge.web.parts.run import run_parts
    from adjudge.web.templating import environment
    from views import facts, summarise

    scale = Scale(None, None, "high")
    results = [
        Result(f"i{k}", "gptscore/fluency@1", "fluency", "local", "ok", system=f"s{k % 2}", value=-3 + k / 40)
        for k in range(80)
    ]
    summary = summarise(results, facts=facts(scales={("gptscore/fluency", "fluency"): scale}))
    values = {
        ("fluency", f"s{k}"): [result.value or 0.0 for result in results if result.system == f"s{k}"]
        for k in range(2)
    }
    parts = run_parts(summary, values=values)
    page = Page(environment().get_template("parts/run.html").render(parts=parts))
    assert page.unbalanced == []
    assert len(page.having("dot")) == 2
    assert page.having("bar"), "many different values are counted in bins"


# -- runs that went wrong


def test_a_run_in_which_everything_failed_has_a_report_without_a_number(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 6)
    store = tmp_path / "adjudge.db"
    adjudge("run", items, *DIRECT, "-m", "fake:text=no idea", "--store", store, "-q")
    page = page_of(store)
    assert "cautions" in page.ids()
    assert not page.having("dot")
    assert "nan" not in page.text.lower().split()


def empty_copy(store: Path, *, name: str) -> tuple[Path, dict[str, object], str]:
    with open_store(store, write=False) as opened:
        run = opened.run("last")
    return store.parent / f"{name}.db", run.manifest, run.identity


def test_a_run_without_a_single_item_has_a_report(tmp_path: Path) -> None:
    path, manifest, identity = empty_copy(judged(tmp_path), name="empty")
    with open_store(path) as opened:
        opened.finish_run(opened.start_run("empty", manifest, identity), "interrupted")
    page = page_of(path)
    assert "method" in page.ids()
    assert not page.having("dot")


def test_a_run_that_goes_on_at_this_moment_has_a_report_and_is_marked(tmp_path: Path) -> None:
    store = judged(tmp_path)
    with open_store(store) as writing:
        run = writing.run("last")
        writing.start_run(run.name, run.manifest, run.identity)
        page = page_of(store)
    assert page.having("running")


# -- one file, offline, small


def test_nothing_in_the_file_runs_or_loads_or_sends(tmp_path: Path) -> None:
    store = judged(tmp_path, 40)
    assert acting(page_of(store, "last", "--labels", labels_for(tmp_path, 40))) == []


def test_the_policy_allows_the_one_style_by_its_hash_and_nothing_else(tmp_path: Path) -> None:
    page = page_of(judged(tmp_path))
    assert page.policy().startswith("default-src 'none'; ")
    assert f"style-src '{hash_of_style(page)}'" in page.policy()
    assert "unsafe" not in page.policy()
    assert page.source.index("Content-Security-Policy") < page.source.index("<style>")


@pytest.mark.slow
def test_a_thousand_items_stay_under_a_megabyte(tmp_path: Path) -> None:
    page = page_of(judged(tmp_path, 1000), "last", "--labels", labels_for(tmp_path, 1000))
    assert "1,000" in page.text
    assert len(page.source.encode()) < 1_000_000


@pytest.mark.slow
def test_texts_are_shortened_until_the_file_is_small_enough_and_keep_what_was_read(tmp_path: Path) -> None:
    long = "長い文章 <b> & word " * 2500
    items = write_rows(
        tmp_path / "items.jsonl",
        ({"id": f"i{k}", "instruction": long, "response": f"answer {k}. {long}"} for k in range(24)),
    )
    replies = write_rows(
        tmp_path / "replies.jsonl",
        (
            {"item": f"i{k}", "sample": n, "text": f"{long}[RESULT] {(k + n) % 5 + 1}"}
            for k in range(24)
            for n in range(2)
        ),
    )
    store = tmp_path / "adjudge.db"
    run = adjudge("run", items, *DIRECT, "-m", f"replay:{replies}", "--samples", "2", "--store", store, "-q")
    assert run.code == 0, run.err
    page = page_of(store)
    assert len(page.source.encode()) < 1_000_000
    assert set(page.marks()) <= set("12345")
    assert page.marks(), "however much is left out, the place that was read is shown"


@pytest.mark.slow
def test_hundreds_of_systems_are_cut_to_the_best_and_the_worst(tmp_path: Path) -> None:
    items = write_rows(
        tmp_path / "items.jsonl",
        (
            {"id": f"i{k}", "system": f"system-{k % 300:03}", "instruction": "x", "response": f"{k}"}
            for k in range(600)
        ),
    )
    store = tmp_path / "adjudge.db"
    adjudge("run", items, *DIRECT, "-m", "fake:text=[RESULT] 3", "--store", store, "-q")
    page = page_of(store)
    assert "240" in page.text
    assert len(page.source) < 400_000


# -- writing it


def test_the_file_is_written_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    store = judged(tmp_path)
    # SQLite keeps a log beside a store that is read.
    before = {path.name for path in tmp_path.iterdir()} | {"adjudge.db-wal", "adjudge.db-shm"}
    done = adjudge("report", "last", "--html", tmp_path / "report.html", "--store", store)
    assert {path.name for path in tmp_path.iterdir()} - before == {"report.html"}
    assert done.out == ""
    assert "report.html" in done.err


def test_a_report_may_be_written_over_an_older_one_but_not_over_other_files(tmp_path: Path) -> None:
    store = judged(tmp_path)
    page_of(store)
    page_of(store)
    for name in ("items.jsonl", "adjudge.db"):
        before = (tmp_path / name).read_bytes()
        refused = adjudge("report", "last", "--html", tmp_path / name, "--store", store)
        assert refused.code == 2
        assert name in refused.err
        assert (tmp_path / name).read_bytes() == before


def test_a_link_is_never_followed(tmp_path: Path) -> None:
    store = judged(tmp_path)
    target = tmp_path / "precious.html"
    target.write_text("<!doctype html>mine")
    link = tmp_path / "report.html"
    for points_to in (target, tmp_path / "nowhere.html"):
        link.unlink(missing_ok=True)
        link.symlink_to(points_to)
        refused = adjudge("report", "last", "--html", link, "--store", store)
        assert refused.code == 2
        assert "report.html" in refused.err
    assert target.read_text() == "<!doctype html>mine"
    assert not (tmp_path / "nowhere.html").exists()


@pytest.mark.parametrize(
    ("where", "named"), [("missing/report.html", "missing"), (".", ""), ("x" * 300 + ".html", "xxx")]
)
def test_a_place_that_cannot_be_written_is_a_mistake_and_not_a_crash(
    where: str, named: str, tmp_path: Path
) -> None:
    refused = adjudge("report", "last", "--html", tmp_path / where, "--store", judged(tmp_path))
    assert refused.code == 2
    assert str(tmp_path / named) in refused.err
    assert "Traceback" not in refused.err


def test_json_beside_html_is_the_same_json_as_without(tmp_path: Path) -> None:
    store = judged(tmp_path)
    both = adjudge("report", "last", "--html", tmp_path / "report.html", "--json", "--store", store)
    assert json.loads(both.out) == adjudge("report", "last", "--json", "--store", store).json
    assert (tmp_path / "report.html").exists()

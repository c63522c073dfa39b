"""Runs in shards, and stores that are merged: the result is
that of one run in one store, whatever happens in between.
"""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adjudge.records import Label
from adjudge.store import open_store
from fakeserver import Answer, FakeServer, Request, chat
from running import (
    DIRECT,
    adjudge,
    answers,
    asked_once,
    by_number,
    compare_folder,
    ended,
    model_at,
    number_in,
    older,
    score_of,
    started,
    write_rows,
)

TABLES = (
    "runs",
    "items",
    "slots",
    "calls",
    "replies",
    "places",
    "judgments",
    "labels",
    "reviews",
    "notes",
    "counts",
)


def contents(store: Path) -> dict[str, list[Any]]:
    """All rows of a store."""
    with closing(sqlite3.connect(store)) as connection:
        return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}


def exported(store: Path, run: str = "last") -> str:
    done = adjudge("export", run, "--store", store)
    assert done.code == 0, done.err
    return done.out


def test_a_report_of_a_part_says_which_shards_are_missing_and_how_to_merge(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 7)
    command = ("run", items, *DIRECT, "-m", "fake:text=Fine. [RESULT] 4", "--store", tmp_path / "one.db")
    first = adjudge(*command, "--shard", "2/3")
    full = adjudge("report", "last", "--full", "--store", tmp_path / "one.db").out
    assert (
        "Only 2 of 7 items are judged: this store has shard 2 of 3; shards 1, 3 are missing or incomplete."
        in full
    )
    assert "--shard K/3 for each, then merge the stores of all shards: adjudge runs merge" in full
    assert "interrupted" not in first.out
    assert "merge the stores with adjudge runs merge" in first.err
    second = adjudge(*command, "--shard", "1/3")
    assert "this store has shards 1, 2 of 3; shard 3 is missing or incomplete." in second.out
    third = adjudge(*command, "--shard", "3/3")
    assert "all shards are in this store, and the run is complete" in third.err
    assert "shard" not in third.out


def merge(into: Path, *files: Path) -> Any:
    """What a merge reports about each file."""
    done = adjudge("runs", "merge", *files, "--store", into, "--json")
    assert done.code == 0, done.err
    return done.json["files"]


def is_sound(store: Path) -> bool:
    done = adjudge("doctor", "--store", store, "--json")
    return done.code == 0 and not done.json["damaged"]


def assert_shards_give_the_whole(folder: Path, command: list[str | Path], n_shards: int) -> None:
    """The shards of a run in a store each, merged in another order, export what the undivided run exports."""
    whole = folder / "whole.db"
    assert adjudge(*command, "--store", whole, "-q").code == 0
    stores = []
    for number in range(1, n_shards + 1):
        stores.append(folder / f"{number}.db")
        assert adjudge(*command, "--store", stores[-1], "--shard", f"{number}/{n_shards}", "-q").code == 0
    merged = folder / "merged.db"
    files = merge(merged, *stores[1:], stores[0])
    assert [file["runs"][0]["status"] for file in files] == ["stopped"] * (n_shards - 1) + ["done"]
    assert exported(merged) == exported(whole)
    assert is_sound(merged)
    before = contents(merged)
    again = merge(merged, *stores)
    assert contents(merged) == before
    assert {run["calls"] + run["items"] for file in again for run in file["runs"]} == {0}


def pairs(path: Path, n: int) -> Path:
    return write_rows(
        path,
        (
            {"id": f"p{k}", "instruction": f"Say {k}.", "system_a": "x", "system_b": "y",
            "response_a": f"first {k}.",
             "response_b": f"second {k}."}
            for k in range(n)
        ),
    )  # fmt: skip


def test_the_shards_of_a_run_export_the_same_as_the_undivided_run(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 23)
    lines = [
        {"match": f"answer {k}.", "text": f"It is {k}. [RESULT] {score_of(k)}" if k % 7 else "I cannot say."}
        for k in range(1, 24)
    ]
    script = write_rows(tmp_path / "script.jsonl", lines)
    assert_shards_give_the_whole(tmp_path, ["run", items, *DIRECT, "-m", f"fake:script={script}"], 4)


@pytest.mark.parametrize("order", ["both", "random"])
def test_shards_of_pairs_with_samples_from_recorded_replies(tmp_path: Path, order: str) -> None:
    n = 11
    rows = [
        {"item": f"p{k}", "order": shown, "sample": sample, "text": f"Output ({'ab'[(k + sample) % 2]})"}
        for k in range(n)
        for shown in ("ab", "ba")
        for sample in range(2)
        if k != 3  # this item has no replies
    ]
    replies = write_rows(tmp_path / "replies.jsonl", rows)
    items = pairs(tmp_path / "pairs.jsonl", n)
    command = ["run", items, "-p", compare_folder(tmp_path), "-m", f"replay:{replies}", "--samples", "2"]
    assert_shards_give_the_whole(tmp_path, [*command, "--order", order], 3)


def test_a_shard_is_a_part_of_the_run_and_says_so(tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", 10), tmp_path / "adjudge.db"
    with FakeServer(by_number) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store]
        first = adjudge(*command, "--shard", "2/3", "--json")
        assert first.code == 0
        assert server.n_requests == 3
        assert (first.json["status"], first.json["n_items"], first.json["n_planned"]) == ("stopped", 3, 10)
        assert "Shard 2/3 done: 3 of 10 items" in first.err
        with open_store(store, write=False) as opened:
            assert [item.id for item in opened.items(opened.run())] == ["i2", "i5", "i8"]
            assert {judged.seq for judged in opened.judgments(opened.run())} == {1, 4, 7}
        # The undivided command resumes the same run.
        assert adjudge(*command, "--json").json["status"] == "done"
        assert server.n_requests == 10
        assert asked_once(server)
        assert len(adjudge("runs", "--store", store, "--json").json) == 1


def test_shards_in_one_store_are_done_with_the_last(tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", 7), tmp_path / "adjudge.db"
    with FakeServer(by_number) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store, "--json"]
        statuses = [adjudge(*command, "--shard", f"{k}/3").json["status"] for k in (3, 1, 2)]
        assert statuses == ["stopped", "stopped", "done"]
        assert adjudge(*command, "--shard", "1/3").json["status"] == "done"
        assert server.n_requests == 7


def test_a_shard_without_items_is_no_failure(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 2)
    model = ["-m", "fake:text=[RESULT] 4", "--store", tmp_path / "adjudge.db"]
    assert adjudge("run", items, *DIRECT, *model, "--shard", "3/3", "-q").code == 0
    planned = adjudge("run", items, *DIRECT, *model, "--shard", "1/2", "--dry-run", "--json").json
    assert (planned["items"], planned["calls"]) == (1, 1)


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3", "1/3/3"])
def test_a_shard_that_does_not_exist_is_an_error(tmp_path: Path, shard: str) -> None:
    store = tmp_path / "adjudge.db"
    command = ["run", answers(tmp_path / "items.jsonl", 2), *DIRECT, "-m", "fake:text=x", "--store", store]
    done = adjudge(*command, f"--shard={shard}")
    assert done.code == 2
    assert shard in done.err
    assert not store.exists()


def test_shards_do_not_generate_steps_each_for_itself(tmp_path: Path) -> None:
    command = ["run", answers(tmp_path / "items.jsonl", 2), "-p", "geval/score", "--criterion", "polite"]
    done = adjudge(*command, "-m", "fake:text=4", "--steps", "generate", "--shard", "1/2")
    assert (done.code, "--steps FILE" in done.err) == (2, True)


# Two stores that differ


def a_judge(offset: int, n_silent: int = 0) -> Callable[[Request], Answer]:
    """A judge that gives each item its score plus an offset; the first items only when asked again."""

    def judge(request: Request) -> Answer:
        number = number_in(request)
        if number <= n_silent and len(request.json["messages"]) <= 2:
            return chat(f"Feedback: it has merits, in the view of judge {'xyz'[offset]}.")
        return chat(f"Feedback: it is {number}. [RESULT] {(score_of(number) + offset - 1) % 5 + 1}")

    return judge


class ChangingJudge(FakeServer):
    """A judge at one address that changes its mind from run to run."""

    def __init__(self) -> None:
        self.answer: Callable[[Request], Answer] = by_number
        super().__init__(lambda request: self.answer(request))

    def judge(self, answer: Callable[[Request], Answer], items: Path, store: Path, *flags: str) -> None:
        self.answer = answer
        done = adjudge("run", items, *DIRECT, "-m", model_at(self), "--store", store, "-q", *flags)
        assert done.code == 0, done.err


def test_a_reply_that_is_there_is_kept_and_parsed_for_the_merged_run(tmp_path: Path) -> None:
    few, all_items = answers(tmp_path / "few.jsonl", 4), answers(tmp_path / "all.jsonl", 9)
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    with ChangingJudge() as server:
        server.judge(a_judge(0), few, here, "--run", "few")
        server.judge(a_judge(2, n_silent=2), all_items, there, "--run", "all")
    untouched = exported(here, "few")
    assert adjudge("report", "all", "--store", there, "--json").json["n_calls"] == 11
    (run,) = merge(here, there)[0]["runs"]
    assert (run["differing_replies"], run["parsed_again"], run["is_new"], run["status"]) == (
        4,
        4,
        True,
        "done",
    )
    scores = [row["score"] for row in adjudge("export", "all", "--store", here).rows]
    assert scores == [score_of(k) if k <= 4 else (score_of(k) + 1) % 5 + 1 for k in range(1, 10)]
    assert exported(here, "few") == untouched
    # A follow-up question to a reply that was not kept is not part of the run.
    report = adjudge("report", "all", "--store", here, "--json").json
    assert report["n_calls"] == 9
    assert is_sound(here)
    before = contents(here)
    (run,) = merge(here, there)[0]["runs"]
    assert (run["differing_replies"], run["parsed_again"]) == (4, 0)
    assert contents(here) == before


def test_the_same_run_of_two_machines_keeps_the_answers_that_are_there(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 6)
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    with ChangingJudge() as server:
        server.judge(a_judge(0), items, here, "--shard", "1/2")
        server.judge(a_judge(1, n_silent=6), items, there)
    (run,) = merge(here, there)[0]["runs"]
    assert (run["is_new"], run["differing_replies"], run["parsed_again"], run["status"]) == (
        False,
        3,
        0,
        "done",
    )
    scores = [row["score"] for row in adjudge("export", "last", "--store", here).rows]
    assert scores == [score_of(k) if k % 2 else score_of(k) % 5 + 1 for k in range(1, 7)]
    assert is_sound(here)


def test_an_answer_replaces_a_failed_call(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 5)
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    with ChangingJudge() as server:
        server.judge(
            lambda request: Answer(400) if number_in(request) == 2 else by_number(request),
            items,
            here,
        )
        server.judge(by_number, items, there)
    assert [row["status"] for row in adjudge("export", "last", "--store", here).rows].count("no_reply") == 1
    merge(here, there)
    assert exported(here) == exported(there)
    assert is_sound(here)
    merge(there, here)
    assert exported(there) == exported(here)


def test_a_name_that_another_run_has_keeps_both_runs(tmp_path: Path) -> None:
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    model = ["-m", "fake:text=[RESULT] 4", "-q", "--run", "tact", "--store"]
    adjudge("run", answers(tmp_path / "a.jsonl", 3), *DIRECT, *model, here)
    adjudge("run", answers(tmp_path / "b.jsonl", 5), *DIRECT, *model, there)
    (run,) = merge(here, there)[0]["runs"]
    assert (run["run"], run["into"], run["is_new"], run["items"]) == ("tact", "tact-2", True, 5)
    assert exported(here, "tact-2") == exported(there, "tact")
    before = contents(here)
    (run,) = merge(here, there)[0]["runs"]
    assert (run["into"], run["is_new"]) == ("tact-2", False)
    assert contents(here) == before
    assert is_sound(here)
    assert "tact-2" in adjudge("runs", "merge", there, "--store", tmp_path / "here.db").out


def test_two_runs_of_one_identity_stay_two(tmp_path: Path) -> None:
    there, into = tmp_path / "there.db", tmp_path / "into.db"
    command = [
        "run",
        answers(tmp_path / "a.jsonl", 3),
        *DIRECT,
        "-m",
        "fake:text=[RESULT] 4",
        "-q",
        "--store",
        there,
    ]
    for name in ("one", "two"):
        adjudge(*command, "--run", name)
    for _ in range(2):
        assert [run["into"] for run in merge(into, there)[0]["runs"]] == ["one", "two"]
    assert len(contents(into)["calls"]) == 3
    assert contents(into)["replies"] == contents(there)["replies"]


def label(item: str, value: float, rater: str = "ann") -> Label:
    return Label(item, "tact", rater, value, None, None, "file")


def test_labels_join_and_a_label_that_is_there_is_kept(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 3)
    stores = [tmp_path / "here.db", tmp_path / "there.db"]
    given = [
        ([label("i1", 4), label("i2", 5)], [label("x", 1)]),
        ([label("i1", 2), label("i3", 1), label("i1", 3, "bob")], [label("x", 2), label("y", 2)]),
    ]
    for store, (of_run, of_none) in zip(stores, given, strict=True):
        adjudge("run", items, *DIRECT, "-m", "fake:text=[RESULT] 4", "-q", "--store", store)
        with open_store(store) as opened:
            opened.put_labels(of_run, opened.run())
            opened.put_labels(of_none)
    here, there = stores
    (file,) = merge(here, there)
    assert (file["runs"][0]["labels"], file["runs"][0]["differing_labels"]) == (2, 1)
    assert (file["labels"], file["differing_labels"]) == (1, 1)
    with open_store(here, write=False) as opened:
        labels = {(one.item, one.rater): one.value for one in opened.labels()}
    assert labels == {
        ("i1", "ann"): 4,
        ("i2", "ann"): 5,
        ("i3", "ann"): 1,
        ("i1", "bob"): 3,
        ("x", "ann"): 1,
        ("y", "ann"): 2,
    }
    before = contents(here)
    merge(here, there)
    assert contents(here) == before
    assert is_sound(here)


# Files that cannot be merged


def test_a_damaged_file_is_an_error_that_names_it_and_nothing_is_merged(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 3)
    sound, damaged, into = (tmp_path / name for name in ("sound.db", "damaged.db", "into.db"))
    for store in (sound, damaged):
        adjudge("run", items, *DIRECT, "-m", "fake:text=[RESULT] 4", "-q", "--store", store)
    with closing(sqlite3.connect(damaged)) as connection, connection:
        connection.execute("UPDATE replies SET tokens_out = tokens_out + 1 WHERE call = 2")
    done = adjudge("runs", "merge", sound, damaged, "--store", into)
    assert done.code == 2
    assert "damaged.db" in done.err
    assert not into.exists()


@pytest.mark.parametrize("kind", ["missing", "folder", "empty", "text", "newer", "itself"])
def test_a_file_that_is_no_other_store_is_an_error_that_names_it(tmp_path: Path, kind: str) -> None:
    into = tmp_path / "into.db"
    adjudge("run", answers(tmp_path / "items.jsonl", 3), *DIRECT, "-m", "fake:text=4", "-q", "--store", into)
    before = contents(into)
    file = into if kind == "itself" else tmp_path / "other.db"
    if kind == "folder":
        file.mkdir()
    elif kind == "empty":
        file.touch()
    elif kind == "text":
        file.write_text("not a database, but long enough to have a header of its own" * 20)
    elif kind == "newer":
        file.write_bytes(into.read_bytes())
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("INSERT INTO migrations VALUES (99, 'm099', '')")
    done = adjudge("runs", "merge", file, "--store", into)
    assert done.code == 2
    assert file.name in done.err
    assert contents(into) == before


def test_a_store_of_the_first_layout_is_merged_and_not_changed(tmp_path: Path) -> None:
    old, into = tmp_path / "old.db", tmp_path / "into.db"
    adjudge(
        "run",
        answers(tmp_path / "items.jsonl", 3),
        *DIRECT,
        "-m",
        "fake:text=[RESULT] 4",
        "-q",
        "--store",
        old,
    )
    expected = exported(old)
    older(old)
    before = old.read_bytes()
    assert merge(into, old)[0]["runs"][0]["status"] == "done"
    assert old.read_bytes() == before
    assert exported(into) == expected
    assert is_sound(into)


# Kills


@pytest.mark.slow
def test_20_kills_leave_each_run_merged_or_not_begun(tmp_path: Path) -> None:
    files = []
    for part in range(3):
        files.append(tmp_path / f"part-{part}.db")
        for run in range(2):
            items = answers(tmp_path / "items.jsonl", 1200, first=1 + 2000 * run)
            model = [
                "-m",
                "fake:text=Good. [RESULT] 4",
                "-q",
                "--run",
                f"run-{run}",
                "--shard",
                f"{part + 1}/3",
            ]
            assert adjudge("run", items, *DIRECT, *model, "--store", files[-1]).code == 0
    whole = tmp_path / "whole.db"
    process = merging(whole, files)
    before = time.monotonic()
    assert ended(process).code == 0
    seconds = time.monotonic() - before
    expected = contents(whole)
    dice = Random(5)
    n_partial = 0
    for number in range(20):
        into = tmp_path / f"into-{number}.db"
        process = merging(into, files)
        time.sleep(dice.uniform(0, seconds))
        process.kill()
        process.communicate()
        n_partial += check_killed(into)
        merge(into, *files)
        assert timeless(contents(into)) == timeless(expected)
    assert n_partial, "no kill came in the middle of a merge"


def merging(into: Path, files: list[Path]) -> subprocess.Popen[str]:
    """A process that has just begun to merge."""
    process = started("runs", "merge", *files, "--store", into)
    while not into.exists() and process.poll() is None:
        time.sleep(0.001)
    return process


def check_killed(store: Path) -> bool:
    """Each run has whole thirds of its items; whether some are there and some are not."""
    if not store.stat().st_size:
        return False
    with open_store(store, write=False) as opened:
        totals = [opened.totals(run) for run in opened.runs()]
    assert all(one.items % 400 == 0 and one.items == one.calls == one.judged == one.replies for one in totals)
    assert is_sound(store)
    return 0 < sum(one.items for one in totals) < 2400


def timeless(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """All rows but those of the runs, which say when and how long."""
    return {table: found for table, found in rows.items() if table != "runs"}

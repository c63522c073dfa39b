"""`adjudge run` and what follows it, as a user sees them: exit codes, messages, files, and what was sent."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from fakeserver import Answer, FakeServer, Request, chat, error, quota
from running import (
    DIRECT,
    EXAMPLES,
    adjudge,
    answers,
    asked_once,
    by_number,
    model_at,
    number_in,
    read_rows,
    score_of,
    write_rows,
)

COLUMNS = (
    "item system group protocol criterion subject model score normalized status how estimator "
    "samples n_failed choice confidence explanation system_a system_b flags evidence notes reply"
).split()


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return answers(tmp_path / "items.jsonl", 12)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "adjudge.db"


# -- money and keys


def test_a_spent_budget_stops_the_run_which_then_goes_on(tmp_path: Path, store: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 60)
    with FakeServer(by_number) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store, "--concurrency", "4"]
        # A reply of the fake host has 20 tokens in and 5 out: 0.00003 USD at this price.
        priced = [*command, "--price", "1,2"]
        stopped = adjudge(*priced, "--budget", "0.0003")
        n_first = server.n_requests
        assert 10 <= n_first <= 10 + 4, "spent, and the calls in flight at that moment"
        assert stopped.code == 5
        assert "$0.0003" in stopped.err
        assert adjudge("runs", "--store", store, "--json").json[0]["status"] == "stopped"
        assert len(adjudge("export", "last", "--store", store).rows) == n_first, "what came was kept"
        assert adjudge(*priced).code == 0
        assert server.n_requests == 60
        assert asked_once(server)


def test_a_question_is_not_asked_again_once_the_budget_is_spent(items: Path, store: Path) -> None:
    with FakeServer(default=chat("Feedback: fine.")) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store, "--price", "1,2"]
        stopped = adjudge(*command, "--budget", "0.00001", "--concurrency", "1")
        assert (stopped.code, server.n_requests) == (5, 1)


def test_a_budget_without_a_price_is_refused_before_anything_is_sent(items: Path, store: Path) -> None:
    with FakeServer(by_number) as server:
        refused = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "--budget", "1")
        assert (refused.code, server.n_requests) == (2, 0)
    assert "--price" in refused.err


def test_a_used_up_quota_stops_the_run_which_then_goes_on(items: Path, store: Path) -> None:
    def plan(request: Request) -> Answer:
        return quota() if server.n_requests == 6 else by_number(request)

    with FakeServer(plan) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store, "--concurrency", "2"]
        stopped = adjudge(*command)
        n_answered = len(adjudge("export", "last", "--store", store).rows)
        n_first = server.n_requests
        assert stopped.code == 5
        assert "quota" in stopped.err
        assert n_first <= 7, "only the call in flight beside it came after"
        assert n_answered == n_first - 1
        again = adjudge(*command)
        assert again.code == 0
        assert server.n_requests == 12 + 1, "the refused call alone is asked twice"


def test_a_refused_key_ends_the_run_at_once(items: Path, store: Path) -> None:
    canary = "sk-canary-0123456789abcdef"
    with FakeServer(default=error(401, f"Incorrect API key provided: {canary}")) as server:
        refused = adjudge(
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--key-env", "JUDGE_KEY",
            "--concurrency", "2", JUDGE_KEY=canary,
        )  # fmt: skip
        assert refused.code == 2
        assert server.n_requests <= 2
    assert "JUDGE_KEY" in refused.err
    assert "Traceback" not in refused.err
    assert canary not in refused.out + refused.err


def test_a_host_that_is_not_there_is_a_message_and_exit_2(items: Path, store: Path) -> None:
    with FakeServer() as server:
        model = model_at(server)
    refused = adjudge("run", items, *DIRECT, "-m", model, "--store", store, "--concurrency", "2")
    assert refused.code == 2
    assert server.url.removeprefix("http://") in refused.err
    assert "Traceback" not in refused.err


def test_a_run_whose_every_judgment_failed_exits_with_4(items: Path, store: Path) -> None:
    with FakeServer(default=chat("I have no opinion.")) as server:
        run = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "--no-reask", "--json")
        assert (run.code, server.n_requests) == (4, 12)
    rows = adjudge("export", "last", "--store", store).rows
    assert [(row["status"], row["score"], row["n_failed"]) for row in rows] == [("unparsed", None, 1)] * 12
    assert run.json["warnings"][0]["kind"] == "all_failed"


def test_a_run_with_one_judgment_read_exits_with_0_and_counts_the_others(items: Path, store: Path) -> None:
    def plan(request: Request) -> Answer:
        return by_number(request) if number_in(request) == 3 else chat("I have no opinion.")

    with FakeServer(plan) as server:
        run = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "--no-reask", "--json")
    assert (run.code, run.json["n_scores"], run.json["n_failed"]) == (0, 12, 11)


# -- items


def test_all_bad_items_are_reported_in_one_message_before_anything_is_sent(
    tmp_path: Path, store: Path
) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(
        '{"id": "a", "instruction": "x", "response": "answer 1."}\n{"id": "b"\n{"id": "c", "response": '
        '"y"}\n{"id": "a", "instruction": "x", "response": "z"}\n'
    )  # fmt: skip
    with FakeServer(by_number) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store]
        refused = adjudge(*command)
        assert (refused.code, server.n_requests) == (2, 0)
        assert not store.exists()
        for place in ("line 2", "line 3", "line 4"):
            assert place in refused.err
        assert "'instruction'" in refused.err
        skipping = adjudge(*command, "--skip-bad", "--json")
        assert (skipping.code, server.n_requests, skipping.json["n_left_out"]) == (0, 1, 3)
    assert [row["item"] for row in adjudge("export", "last", "--store", store).rows] == ["a"]


def test_duplicate_ids_are_refused(tmp_path: Path, store: Path) -> None:
    row = {"id": "a", "instruction": "x", "response": "answer 1."}
    items = write_rows(tmp_path / "items.jsonl", [row, {**row, "response": "answer 2."}])
    with FakeServer(by_number) as server:
        refused = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store)
        assert (refused.code, server.n_requests) == (2, 0)
    assert "line 2" in refused.err


def test_a_limit_takes_the_first_items(items: Path, store: Path) -> None:
    with FakeServer(by_number) as server:
        run = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "--limit", "3")
        assert (run.code, server.n_requests) == (0, 3)
    assert [row["item"] for row in adjudge("export", "last", "--store", store).rows] == ["i1", "i2", "i3"]


def test_a_map_takes_an_input_from_another_field(tmp_path: Path, store: Path) -> None:
    items = write_rows(
        tmp_path / "items.jsonl", [{"id": "a", "question": "What?", "answer_text": "answer 3."}]
    )
    maps = ["--map", "instruction=question", "--map", "response=answer_text"]
    with FakeServer(by_number) as server:
        run = adjudge("run", items, *DIRECT, *maps, "-m", model_at(server), "--store", store)
        assert run.code == 0
        assert "What?" in json.dumps(server.requests[0].json)
    assert adjudge("export", "last", "--store", store).rows[0]["score"] == score_of(3)


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--samples", "0"], "--samples 0"),
        (["--limit", "0"], "--limit 0"),
        (["--order", "sideways"], "--order sideways"),
        (["--estimator", "guess"], "--estimator guess"),
        (["--estimator", "samples"], "--samples N"),
        (["--price", "cheap"], "--price cheap"),
        (["--map", "nonsense"], "nonsense"),
        (["-p", "prometheus/pairwise"], "response_a"),
        (["--steps", "generate"], "prometheus/direct"),
        (["--steps", "no-such-file"], "no-such-file"),
        (["-m", "fake:text=4", "-m", "fake:text=4"], "fake:text=4"),
        (["-m", "opnai:gpt"], "openai:gpt"),
    ],
)
def test_a_mistake_is_reported_before_anything_is_sent(
    flags: list[str], named: str, items: Path, store: Path
) -> None:
    with FakeServer(by_number) as server:
        refused = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, *flags)
        assert (refused.code, server.n_requests) == (2, 0)
    assert named in refused.err
    assert "Traceback" not in refused.err


@pytest.mark.parametrize("missing", ["-p", "-m"])
def test_a_run_needs_a_protocol_and_a_model(missing: str, items: Path, store: Path) -> None:
    given = {"-p": ["-m", "fake:text=4"], "-m": list(DIRECT)}[missing]
    refused = adjudge("run", items, *given, "--store", store)
    assert refused.code == 2
    assert missing in refused.err


# -- names


def test_a_name_that_stands_for_another_run_is_refused_with_what_differs(items: Path, store: Path) -> None:
    with FakeServer(by_number) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store, "--run", "mine"]
        assert adjudge(*command).code == 0
        refused = adjudge(*command, "--samples", "2")
        assert (refused.code, server.n_requests) == (2, 12)
        assert "settings.samples: 1" in refused.err
        assert (adjudge(*command).code, server.n_requests) == (0, 12)


def test_runs_are_listed_renamed_and_deleted(items: Path, store: Path) -> None:
    for name in ("one", "two"):
        adjudge("run", items, *DIRECT, "-m", "fake:text=[RESULT] 4", "--store", store, "--run", name)
    listed = adjudge("runs", "--store", store, "--json").json
    assert [(row["run"], row["status"], row["items"], row["calls"]) for row in listed] == [
        ("one", "done", 12, 12),
        ("two", "done", 12, 12),
    ]
    table = adjudge("runs", "list", "--store", store)
    assert all(word in table.out for word in ("one", "two", "done", "prometheus/direct"))
    assert adjudge("runs", "rename", "one", "first", "--store", store).code == 0
    assert adjudge("runs", "delete", "two", "--yes", "--store", store).code == 0
    assert [row["run"] for row in adjudge("runs", "--store", store, "--json").json] == ["first"]
    assert adjudge("report", "two", "--store", store).code == 2
    assert adjudge("report", "last", "--store", store).code == 0


# -- dry runs


def test_a_dry_run_sends_nothing_and_says_what_it_would(items: Path, store: Path) -> None:
    with FakeServer(by_number) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store, "--price", "1,2"]
        printed = adjudge(*command, "--dry-run")
        as_json = adjudge(*command, "--dry-run", "--json").json
        assert server.n_requests == 0
        assert not store.exists()
        adjudge(*command)
        sent = sum(
            len(message["content"]) for request in server.requests for message in request.json["messages"]
        )
        after = adjudge(*command, "--dry-run", "--json").json
        more = adjudge(*command, "--dry-run", "--json", "--samples", "2").json
    assert printed.code == 0
    assert "answer 1." in printed.out, "the first prompt is shown"
    assert (as_json["items"], as_json["calls"], as_json["stored"]) == (12, 12, 0)
    assert 0.5 < as_json["tokens_in"] / (sent / 4) < 2
    assert as_json["cost_usd"] == pytest.approx(as_json["tokens_in"] / 1e6)
    assert (after["stored"], after["tokens_in"], after["cost_usd"]) == (12, 0, 0.0)
    assert (more["calls"], more["stored"]) == (24, 0), "samples are asked at another temperature"


def test_a_dry_run_counts_a_call_that_two_items_share_once(tmp_path: Path, store: Path) -> None:
    row = {"instruction": "x", "response": "answer 1."}
    items = write_rows(tmp_path / "items.jsonl", [{"id": "a", **row}, {"id": "b", **row}])
    with FakeServer(by_number) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store]
        dry = adjudge(*command, "--dry-run", "--json").json
        assert adjudge(*command).code == 0
        assert dry["calls"] - dry["stored"] == server.n_requests == 1


def test_a_dry_run_finds_bad_items(tmp_path: Path) -> None:
    items = write_rows(tmp_path / "items.jsonl", [{"id": "a"}])
    refused = adjudge("run", items, *DIRECT, "-m", "fake:text=4", "--dry-run")
    assert refused.code == 2
    assert "line 1" in refused.err


# -- what is printed and written


def test_the_json_of_a_run_is_that_of_its_report(items: Path, store: Path) -> None:
    with FakeServer(by_number) as server:
        run = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "--json")
    report = adjudge("report", "last", "--store", store, "--json")
    assert run.json == report.json
    cell = report.json["systems"]["even"]["tact"]
    assert cell["value"] == pytest.approx(sum(score_of(k) for k in range(2, 13, 2)) / 6)
    assert cell["n"] == 6
    assert cell["n_failed"] == 0
    assert cell["failures"] == {}
    assert cell["low"] <= cell["value"] <= cell["high"]
    keys = "value low high n n_failed n_undefined method unit seed signature".split()
    assert set(keys) <= set(cell)


def test_a_report_can_be_markdown(items: Path, store: Path) -> None:
    adjudge("run", items, *DIRECT, "-m", "fake:text=[RESULT] 4", "--store", store)
    report = adjudge("report", "last", "--markdown", "--store", store)
    assert report.code == 0
    assert "| " in report.out
    assert "fake" in report.out


def test_exports_hold_the_same_rows_in_every_format(items: Path, store: Path, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    with FakeServer(by_number) as server:
        adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store)
    rows = adjudge("export", "last", "--store", store).rows
    assert [list(row) for row in rows] == [COLUMNS] * 12
    assert [row["item"] for row in rows] == [f"i{k}" for k in range(1, 13)]
    assert [row["score"] for row in rows] == [score_of(k) for k in range(1, 13)]
    assert rows[0]["normalized"] == (score_of(1) - 1) / 4
    assert rows[0]["explanation"].endswith("it is 1.")
    as_csv = adjudge("export", "last", "--format", "csv", "--store", store)
    cells = list(csv.DictReader(io.StringIO(as_csv.out)))
    assert list(cells[0]) == COLUMNS
    assert [(cell["item"], float(cell["score"])) for cell in cells] == [
        (row["item"], row["score"]) for row in rows
    ]
    for form in ("jsonl", "csv", "parquet"):
        file = tmp_path / f"rows.{form}"
        assert adjudge("export", "last", "--format", form, "-o", file, "--store", store).code == 0
    assert read_rows(tmp_path / "rows.jsonl") == rows
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8") == as_csv.out.replace("\r\n", "\n")
    frame = polars.read_parquet(tmp_path / "rows.parquet")
    assert frame.columns == COLUMNS
    assert frame["score"].to_list() == [row["score"] for row in rows]
    assert not list(tmp_path.glob(".rows*")), "no half-written file is left"


def test_an_export_that_cannot_be_written_is_a_message(items: Path, store: Path, tmp_path: Path) -> None:
    adjudge("run", items, *DIRECT, "-m", "fake:text=[RESULT] 4", "--store", store)
    for flags in (
        ["--format", "xml"],
        ["--format", "parquet"],
        ["-o", str(tmp_path / "none" / "rows.jsonl")],
    ):
        refused = adjudge("export", "last", "--store", store, *flags)
        assert refused.code == 2
        assert "Traceback" not in refused.err


def test_progress_is_printed_in_plain_lines_and_not_at_all_when_quiet(items: Path, store: Path) -> None:
    command = ["run", items, *DIRECT, "-m", "fake:text=[RESULT] 4", "--store", store]
    progress = adjudge(*command).err
    assert "run-0001" in progress
    assert "12 of 12" in progress
    assert adjudge(*command, "--quiet").err == ""


def test_models_are_listed_and_tried(store: Path) -> None:
    listed = adjudge("models", "list", "--json").json
    assert "openai:NAME" in {row["model"] for row in listed}

    def plan(request: Request) -> Answer:
        if "response_format" in request.json:
            return chat('{"score": 4}')
        if request.json.get("logprobs"):
            return chat("4", logprobs={"content": [{"token": "4", "logprob": -0.1, "top_logprobs": []}]})
        return chat("4")

    with FakeServer(plan) as server:
        tried = adjudge("models", "test", model_at(server), "--json")
        assert adjudge("models", "test", model_at(server)).code == 0
    assert tried.code == 0
    abilities = [tried.json[name] for name in ("answers", "logprobs", "schema", "model_name")]
    assert abilities == [True, True, True, "judge-1"]
    assert not store.exists()


def test_a_model_that_does_not_answer_fails_its_test() -> None:
    with FakeServer(default=error(400, "no such thing")) as server:
        tried = adjudge("models", "test", model_at(server), "--json")
    assert tried.code == 4
    assert tried.json["answers"] is False


def test_two_protocols_are_reported_under_their_own_names(store: Path) -> None:
    script = EXAMPLES / "news.jsonl"
    run = adjudge(
        "run", script, "-p", "gptscore-ko/factuality", "-p", "gptscore-ko/fluency", "-m",
        "fake:text=Score: 4",
        "--store", store, "--json",
    )  # fmt: skip
    assert run.code == 0, run.err
    assert {*run.json["systems"]["full"]} == {
        "gptscore-ko/factuality/factuality",
        "gptscore-ko/fluency/fluency",
    }


def test_what_is_not_there_or_cannot_be_written_is_a_mistake(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "items.jsonl", [{"id": "1", "task": "t", "response": "r"}])
    store = ("--store", tmp_path / "s.db")
    how = ("-p", "geval/score", "--criterion", "c", "-m", "fake:text=<score>4</score>", "-q", *store)
    assert adjudge("run", rows, *how).code == 0
    for command, named in (
        (("export", "last", "-o", tmp_path), str(tmp_path)),
        (("runs", "show", "last", "--item", "nope"), "'nope'"),
    ):
        done = adjudge(*command, *store)
        assert done.code == 2
        assert named in done.err

"""Replies that are cut off, filtered, repeated, garbled or counted
wrongly, and hosts that are down: what a run makes of them.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import adjudge as package
import fakeserver as fs
from adjudge.engine.plan import make_plan
from adjudge.models import FakeModel
from adjudge.protocols import load_protocol
from adjudge.render import estimated_tokens
from adjudge.run_options.options import RunOptions
from fakeserver import Answer, FakeServer, Request, chat
from running import DIRECT, EXAMPLES, adjudge, answers, by_number, model_at, number_in, score_of, write_rows


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return answers(tmp_path / "items.jsonl", 5)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "adjudge.db"


def statuses(store: Path) -> Counter[str]:
    return Counter(row["status"] for row in adjudge("export", "last", "--store", store).rows)


# -- replies that end at the token limit, or at a filter


def test_a_reply_that_stays_cut_off_is_truncated_and_counted(items: Path, store: Path) -> None:
    with FakeServer(default=chat("Good. [RESULT] 1", finish="length")) as server:
        run = adjudge(
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--max-tokens", "60",
            "--no-reask", "--more-room", "--json"
        )  # fmt: skip
        assert (run.code, server.n_requests) == (4, 10)
        assert Counter(request.json["max_tokens"] for request in server.requests) == {60: 5, 4096: 5}
    assert statuses(store) == {"truncated": 5}
    assert run.json["n_failed"] == 5
    cells = [cell for cells in run.json["systems"].values() for cell in cells.values()]
    assert sum(cell["failures"]["truncated"] for cell in cells) == 5


def test_a_reply_that_was_cut_off_is_read_with_more_room(items: Path, store: Path) -> None:
    def judge(request: Request) -> Answer:
        if request.json["max_tokens"] > 60:
            return by_number(request)
        return chat("Feedback: it could be [RESULT] 1 or", finish="length")

    with FakeServer(judge) as server:
        command = [
            "run",
            items,
            *DIRECT,
            "-m",
            model_at(server),
            "--store",
            store,
            "--max-tokens",
            "60",
            "--more-room",
        ]
        assert adjudge(*command).code == 0
        assert adjudge(*command).code == 0
        assert server.n_requests == 10
    rows = adjudge("export", "last", "--store", store).rows
    assert [row["score"] for row in rows] == [score_of(k) for k in range(1, 6)]


@pytest.mark.parametrize("limit", ["60", None])
def test_more_room_asks_again_for_stored_replies_that_were_cut_off_and_for_no_other(
    items: Path, store: Path, limit: str | None
) -> None:
    """A first run without --more-room leaves 3 of 5 cut off; the next one asks these, once."""

    def judge(request: Request) -> Answer:
        if number_in(request) <= 2 or request.json.get("max_tokens", 60) > 60:
            return by_number(request)
        return chat("Feedback: it could be [RESULT] 1 or", finish="length")

    given = ("--store", store, "--no-reask", *(("--max-tokens", limit) if limit else ()))
    with FakeServer(judge) as server:
        run = ("run", items, *DIRECT, "-m", model_at(server), *given)
        assert adjudge(*run, "--run", "short").code == 0
        assert server.n_requests == 5
        first = adjudge("export", "short", "--store", store).out
        for _ in range(2):
            assert adjudge(*run, "--run", "long", "--more-room").code == 0
            assert server.n_requests == 8
        assert adjudge(*run, "--run", "short").code == 0
        assert adjudge(*run, "--run", "longer", "--more-room", "--limit", "4").code == 0
        assert server.n_requests == 8
    assert adjudge("export", "short", "--store", store).out == first
    rows = adjudge("export", "long", "--store", store).rows
    assert [row["score"] for row in rows] == [score_of(k) for k in range(1, 6)]
    assert adjudge("doctor", "--store", store).code == 0


def test_more_room_does_not_ask_again_what_it_has_asked(items: Path, store: Path) -> None:
    with FakeServer(default=chat("Good. [RESULT] 1", finish="length")) as server:
        judge = ("-m", model_at(server), "--store", store, "--max-tokens", "60", "--no-reask")
        adjudge("run", items, *DIRECT, *judge, "--run", "short")
        assert server.n_requests == 5
        adjudge("run", items, *DIRECT, *judge, "--run", "long", "--more-room")
        assert server.n_requests == 10
        adjudge("run", items, *DIRECT, *judge, "--run", "longer", "--more-room", "--limit", "4")
        assert server.n_requests == 10
    assert statuses(store) == {"truncated": 4}


def test_a_cut_reply_whose_answer_is_complete_is_read_and_not_asked_again(items: Path, store: Path) -> None:
    with FakeServer(default=chat("[RESULT] 4\nThe response is", finish="length")) as server:
        adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "--max-tokens", "60")
        assert server.n_requests == 5
    assert statuses(store) == {"ok": 5}


def test_a_filtered_reply_is_refused_and_not_asked_again(items: Path, store: Path) -> None:
    with FakeServer(default=chat("Good. [RESULT] 4", finish="content_filter")) as server:
        adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store)
        assert server.n_requests == 5
    assert statuses(store) == {"refused": 5}


def test_a_number_at_the_end_that_may_go_on_is_flagged_without_a_finish_reason(
    items: Path, store: Path, tmp_path: Path
) -> None:
    rubric = tmp_path / "ten.toml"
    levels = "\n".join(f'{level} = "level {level}"' for level in range(1, 11))
    rubric.write_text(f'criterion = "Is it tactful?"\n[levels]\n{levels}\n', encoding="utf-8")
    texts = ["[RESULT] 1", "[RESULT] 1\n", "[RESULT] 7", "[RESULT] 10", "(Good.) [RESULT] 1"]
    replay = write_rows(
        tmp_path / "replies.jsonl", ({"item": f"i{k}", "text": text} for k, text in enumerate(texts, 1))
    )
    command = ["-p", "prometheus/direct", "--rubric", rubric, "-m", f"replay:{replay}", "--store", store]
    assert adjudge("run", items, *command).code == 0
    rows = adjudge("export", "last", "--store", store).rows
    assert [row["score"] for row in rows] == [1, 1, 7, 10, 1]
    assert ["possibly_cut_off" in row["flags"] for row in rows] == [True, False, False, False, True]


# -- samples


def test_each_sample_has_its_own_seed_and_the_first_has_that_of_the_user(items: Path, store: Path) -> None:
    with FakeServer(lambda request: chat(f"[RESULT] {request.json['seed'] % 5 + 1}")) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store, "--samples", "3"]
        run = adjudge(*command, "--seed", "7", "--json")
        assert Counter(request.json["seed"] for request in server.requests) == {7: 5, 8: 5, 9: 5}
    assert "identical_samples" not in {caution["kind"] for caution in run.json["warnings"]}


def test_the_calls_of_the_first_sample_keep_their_keys() -> None:
    protocol = load_protocol("prometheus/direct", rubric=EXAMPLES / "tact.toml")
    plan = make_plan([protocol], [FakeModel("x")], RunOptions(samples=3, seed=7))
    assert [planned.params.seed for planned in plan.calls] == [7, 8, 9]
    unseeded = make_plan([protocol], [FakeModel("x")], RunOptions(samples=3))
    assert [planned.params.seed for planned in unseeded.calls] == [None, None, None]


@pytest.mark.parametrize("is_identical", [True, False])
def test_samples_that_are_all_the_same_are_reported(is_identical: bool, items: Path, store: Path) -> None:
    numbers = itertools.count()

    def judge(_: Request) -> Answer:
        # The same score in other words is another sample.
        return chat("Fine. [RESULT] 4" if is_identical else f"Fine, {next(numbers)}. [RESULT] 4")

    with FakeServer(judge) as server:
        run = adjudge(
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--samples", "3", "--json"
        )
    kinds = {caution["kind"] for caution in run.json["warnings"]}
    assert ("identical_samples" in kinds) is is_identical


# -- follow-up questions


def garbled(times: int) -> Any:
    """A judge whose first replies about each item hold no answer, so many of them."""
    seen: Counter[int] = Counter()

    def judge(request: Request) -> Answer:
        number = number_in(request)
        seen[number] += 1
        return chat(f"x\ufffd {seen[number]}") if seen[number] <= times else by_number(request)

    return judge


@pytest.mark.parametrize(
    ("garbage", "reask", "n_read"), [(1, 1, 5), (2, 1, 0), (2, 2, 5), (3, 3, 5), (4, 3, 0)]
)
def test_as_many_follow_up_questions_are_asked_as_allowed(
    garbage: int, reask: int, n_read: int, items: Path, store: Path
) -> None:
    with FakeServer(garbled(garbage)) as server:
        command = [
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--reask", str(reask),
            "--price", "1,1", "--json",
        ]  # fmt: skip
        run = adjudge(*command)
        n_asked = min(garbage, reask)
        assert server.n_requests == 5 * (1 + n_asked)
        assert (run.json["n_reasks"], run.json["n_failed"]) == (5 * n_asked, 5 - n_read)
        assert run.json["reasks_usd"] == pytest.approx(5 * n_asked * 25e-6)
        again = adjudge(*command)
        assert server.n_requests == 5 * (1 + n_asked), "a run that is done asks nothing"
        assert again.json["n_failed"] == 5 - n_read
    rows = adjudge("export", "last", "--store", store).rows
    assert Counter(row["how"] for row in rows) == ({"reask": 5} if n_read else {None: 5})
    adjudge("reread", "last", "--store", store)
    assert adjudge("export", "last", "--store", store).rows == rows
    assert f"{5 * n_asked} follow-up questions" in adjudge("report", "last", "--full", "--store", store).out


@pytest.mark.parametrize("script", ["The answer is good and ", "回答很好，", "답변이 좋고 "])
def test_a_follow_up_question_shows_a_reply_that_ran_away_only_in_part(
    script: str, items: Path, store: Path
) -> None:
    runaway = f"First words. {script * 3000}last words."

    def judge(request: Request) -> Answer:
        is_follow_up = len(request.json["messages"]) > 2
        return by_number(request) if is_follow_up else chat(runaway)

    with FakeServer(judge) as server:
        adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store)
        asked = [request.json["messages"] for request in server.requests]
    follow_ups = [messages for messages in asked if len(messages) > 2]
    assert len(follow_ups) == 5
    for messages in follow_ups:
        shown = messages[-2]["content"]
        assert shown.startswith("First words. ")
        assert shown.endswith("last words.")
        assert "characters left out …]" in shown
        assert estimated_tokens(shown) < 1100
    assert all(row["how"] == "reask" for row in adjudge("export", "last", "--store", store).rows)


@pytest.mark.parametrize("number", ["4", "-1", "x"])
def test_more_than_three_follow_up_questions_are_refused(number: str, items: Path, store: Path) -> None:
    with FakeServer() as server:
        run = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "--reask", number)
        assert (run.code, server.n_requests) == (2, 0)


def test_a_follow_up_question_has_the_parameters_of_the_first_call(tmp_path: Path, store: Path) -> None:
    items = write_rows(
        tmp_path / "pairs.jsonl", [{"id": "p", "task": "Greet.", "response_a": "Hello!", "response_b": "No."}]
    )
    with FakeServer(default=chat("no answer")) as server:
        adjudge(
            "run", items, "-p", "geval/compare", "-m", model_at(server), "--store", store, "--seed", "7",
            "--order", "given",
            "--samples", "2", "--temperature", "0.5", "--max-tokens", "300", "--concurrency", "1",
            "--reask", "2",
        )  # fmt: skip
        bodies = [request.json for request in server.requests]
    by_sample: dict[int, list[dict[str, Any]]] = {}
    for body in bodies:
        by_sample.setdefault(body["seed"], []).append({k: v for k, v in body.items() if k != "messages"})
    assert {seed: len(sent) for seed, sent in by_sample.items()} == {7: 3, 8: 3}
    for first, *others in by_sample.values():
        assert others == [first, first]
        assert (first["temperature"], first["max_tokens"]) == (0.5, 300)
        assert first["response_format"]["json_schema"]["schema"]["properties"]


# -- counts that cannot be true


@pytest.mark.parametrize("count", [-4_000_000_000, 2**63 - 1, 0], ids=["negative", "huge", "none"])
def test_a_budget_holds_whatever_a_host_counts(count: int, tmp_path: Path, store: Path) -> None:
    items = answers(tmp_path / "many.jsonl", 300)

    def judge(request: Request) -> Answer:
        body = json.loads(by_number(request).body)
        body["usage"] = {"prompt_tokens": count, "completion_tokens": count}
        return fs.as_json(body)

    with FakeServer(judge) as server:
        run = adjudge(
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--price", "10,10", "--budget",
            "0.05",
            "--concurrency", "4",
        )  # fmt: skip
        assert run.code == 5
        assert 5 < server.n_requests < 100
    report = adjudge("report", "last", "--store", store, "--json")
    assert report.code == 0
    assert 0.04 < report.json["cost_usd"] < 0.1
    assert report.json["flags"].get("usage_implausible", 0) == (server.n_requests if count else 0)
    assert any("estimated" in note for note in report.json["adjustments"])


# -- hosts that are down


def test_a_host_that_is_down_for_longer_than_our_patience_stops_the_run_and_it_resumes(
    items: Path, store: Path
) -> None:
    is_up = False

    def judge(request: Request) -> Answer:
        return by_number(request) if is_up else fs.error(503, "maintenance")

    with FakeServer(judge) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store, "--patience", "0.01"]
        stopped = adjudge(*command)
        assert stopped.code == 5
        assert "maintenance" in stopped.err
        assert "--patience" in stopped.err
        is_up = True
        assert adjudge(*command).code == 0
    assert statuses(store) == {"ok": 5}


@pytest.mark.parametrize("minutes", ["-1", "nan", "inf"])
def test_patience_is_a_number_of_minutes(minutes: str, items: Path, store: Path) -> None:
    run = adjudge("run", items, *DIRECT, "-m", "fake:text=4", "--store", store, "--patience", minutes)
    assert run.code == 2


def test_the_switch_of_python_still_means_one_question_or_none(items: Path, tmp_path: Path) -> None:
    for value, n_requests in ((True, 10), (False, 5)):
        with FakeServer(default=chat("no answer")) as server:
            package.run(
                items, "prometheus/direct", model_at(server), rubric=EXAMPLES / "tact.toml",
                store=tmp_path / f"{value}.db", reask=value,
            )  # fmt: skip
            assert server.n_requests == n_requests


@pytest.mark.slow
def test_a_thousand_judgments_by_a_host_that_closes_every_kept_connection(
    tmp_path: Path, store: Path
) -> None:
    items = answers(tmp_path / "many.jsonl", 1000)
    with FakeServer(by_number, closes_reused=True, keep=0) as server:
        run = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "-q", "--json")
        assert (run.code, run.json["n_failed"], server.n_answered) == (0, 0, 1000)
        assert server.n_closed > 50
    rows = adjudge("export", "last", "--store", store).rows
    assert [row["score"] for row in rows] == [score_of(k) for k in range(1, 1001)]


@pytest.mark.slow
def test_a_thousand_judgments_by_a_host_that_is_down_for_a_while(tmp_path: Path, store: Path) -> None:
    items = answers(tmp_path / "many.jsonl", 1000)
    down_from: list[float] = []

    def judge(request: Request) -> Answer:
        if server.n_requests >= 200 and not down_from:
            down_from.append(request.seconds)
        is_down = down_from and request.seconds < down_from[0] + 8
        return fs.error(503, "maintenance") if is_down else by_number(request)

    with FakeServer(judge, keep=0) as server:
        run = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "-q", "--json")
        assert (run.code, run.json["n_failed"]) == (0, 0)
        assert server.n_requests > 1010, "the host was not down"

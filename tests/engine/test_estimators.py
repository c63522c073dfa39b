"""How a score comes about is recorded with it and never replaced in silence; and what is asked to get it."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from adjudge.store import AskedCall, Judged, open_store
from fakeserver import Answer, FakeServer, Request, chat, error, token
from running import (
    DIRECT,
    adjudge,
    answers,
    by_number,
    model_at,
    number_in,
    prompt_of,
    score_of,
    write_rows,
)


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return answers(tmp_path / "items.jsonl", 4)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "adjudge.db"


def judged(store: Path) -> list[Judged]:
    with open_store(store, write=False) as opened:
        return list(opened.judgments(opened.run("last")))


def asked(store: Path) -> list[AskedCall]:
    with open_store(store, write=False) as opened:
        return list(opened.asked(opened.run("last")))


# -- probability


def likely(top: dict[str, float]) -> Answer:
    """A reply whose score is 4, with these log-probabilities at its place."""
    tokens = [
        token("Feedback: fine. ", -0.1),
        token("[RESULT]", -0.1),
        token(" ", -0.1),
        token("4", top["4"], **top),
    ]
    return chat("Feedback: fine. [RESULT] 4", logprobs={"content": tokens})


def test_probability_is_the_expected_value_with_its_distribution_and_caught_mass(
    items: Path, store: Path
) -> None:
    top = {"4": math.log(0.7), "5": math.log(0.2), "3": math.log(0.05), "The": math.log(0.05)}
    with FakeServer(default=likely(top)) as server:
        run = adjudge(
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--estimator", "probability"
        )
        assert run.code == 0
        sent = server.requests[-1].json
        assert (sent["logprobs"], sent["top_logprobs"]) == (True, 20)
    score = next(place.judgment for place in judged(store) if place.judgment is not None).scores[0]
    assert score.value == pytest.approx((4 * 0.7 + 5 * 0.2 + 3 * 0.05) / 0.95)
    assert score.caught_mass == pytest.approx(0.95)
    assert score.distribution == pytest.approx({4.0: 0.7, 5.0: 0.2, 3.0: 0.05})
    rows = adjudge("export", "last", "--store", store).rows
    assert {row["estimator"] for row in rows} == {"probability"}
    assert rows[0]["score"] == score.value
    assert adjudge("report", "last", "--store", store, "--json").json["estimator"] == "probability"


def test_a_distribution_that_hardly_touches_the_scale_is_no_score(items: Path, store: Path) -> None:
    with FakeServer(default=likely({"4": math.log(0.2), "The": math.log(0.8)})) as server:
        run = adjudge(
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--estimator", "probability",
            "--no-reask",
        )  # fmt: skip
    assert run.code == 4
    scores = [place.judgment.scores[0] for place in judged(store) if place.judgment is not None]
    assert [(score.status, score.value) for score in scores] == [("unparsed", None)] * 4
    assert scores[0].caught_mass == pytest.approx(0.2)


@pytest.mark.parametrize("refusal", ["silently", "with an error"])
def test_probability_on_a_model_without_log_probabilities_is_an_error_before_any_item_is_asked(
    refusal: str, items: Path, store: Path
) -> None:
    def plan(request: Request) -> Answer:
        if refusal == "with an error" and "logprobs" in request.json:
            return error(400, "logprobs is not supported with this model", param="logprobs")
        return chat("[RESULT] 4")

    with FakeServer(plan) as server:
        refused = adjudge(
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--estimator", "probability"
        )
        assert not any("answer " in prompt_of(request) for request in server.requests)
    assert refused.code == 2
    assert "log-probabilities" in refused.err
    assert not store.exists() or not adjudge("runs", "--store", store, "--json").json


def test_a_run_by_probability_that_is_done_asks_nothing_again(items: Path, store: Path) -> None:
    top = {"4": math.log(0.7), "5": math.log(0.3)}
    with FakeServer(default=likely(top)) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store]
        command += ["--estimator", "probability"]
        assert adjudge(*command).code == 0
        n_first = server.n_requests
        assert n_first == 4 + 1, "the items, and one question whether there are log-probabilities"
        assert adjudge(*command).code == 0
        assert server.n_requests == n_first


def test_probability_of_recorded_replies(items: Path, store: Path, tmp_path: Path) -> None:
    tokens = [
        {"token": "[RESULT] ", "logprob": -0.1},
        {
            "token": "4",
            "logprob": -0.5,
            "top": [{"token": "4", "logprob": math.log(0.5)}, {"token": "2", "logprob": math.log(0.5)}],
        },
    ]
    rows = [{"item": f"i{k}", "text": "[RESULT] 4", "logprobs": tokens} for k in (1, 2, 3)]
    replies = write_rows(tmp_path / "replies.jsonl", [*rows, {"item": "i4", "text": "[RESULT] 4"}])
    command = ["run", items, *DIRECT, "-m", f"replay:{replies}", "--store", store]
    assert adjudge(*command, "--estimator", "probability").code == 0
    exported = adjudge("export", "last", "--store", store).rows
    assert [row["score"] for row in exported] == [3.0, 3.0, 3.0, None]
    assert exported[3]["status"] == "no_reply", "never the parsed 4 in its place"
    bare = write_rows(tmp_path / "bare.jsonl", [{"item": "i1", "text": "[RESULT] 4"}])
    refused = adjudge(
        "run", items, *DIRECT, "-m", f"replay:{bare}", "--store", store, "--estimator", "probability"
    )
    assert refused.code == 2


# -- samples


def test_samples_are_averaged_over_those_that_could_be_read(store: Path, tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 1)
    seen: Counter[int] = Counter()

    def plan(request: Request) -> Answer:
        seen[number_in(request)] += 1
        return chat(["[RESULT] 4", "[RESULT] 5", "No number.", "[RESULT] 3"][seen[number_in(request)] - 1])

    with FakeServer(plan) as server:
        run = adjudge(
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--samples", "4", "--no-reask",
            "--json",
        )  # fmt: skip
        assert server.n_requests == 4
        assert {request.json["temperature"] for request in server.requests} == {1.0}
    (row,) = adjudge("export", "last", "--store", store).rows
    assert (row["score"], row["estimator"], row["samples"], row["n_failed"]) == (4.0, "samples", 4, 1)
    with open_store(store, write=False) as opened:
        from adjudge.results.stored_results import results

        (result,) = results(opened, opened.run("last"))
    assert result.spread == pytest.approx(1.0)
    assert (run.json["n_samples"], run.json["n_samples_failed"]) == (4, 1)


def test_a_single_sample_is_asked_at_temperature_0_unless_said_otherwise(items: Path, store: Path) -> None:
    with FakeServer(by_number) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store]
        adjudge(*command, "--limit", "1")
        adjudge(*command, "--limit", "1", "--temperature", "0.5", "--max-tokens", "99", "--seed", "7")
        first, second = (request.json for request in server.requests)
    assert first["temperature"] == 0
    assert (second["temperature"], second["seed"]) == (0.5, 7)
    assert 99 in second.values()


# -- asking again


def test_a_reply_without_a_score_is_asked_again_once_and_says_so(items: Path, store: Path) -> None:
    def plan(request: Request) -> Answer:
        if len(request.json["messages"]) > 2:
            return chat("[RESULT] 2") if number_in(request) == 1 else chat("I still would rather not say.")
        return chat("Feedback: it is fine.") if number_in(request) < 3 else by_number(request)

    with FakeServer(plan) as server:
        run = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store)
        assert run.code == 0
        assert server.n_requests == 4 + 2, "once for each of the two, never twice"
        again = [request.json["messages"] for request in server.requests if len(request.json["messages"]) > 2]
    for messages in again:
        assert messages[-2] == {"role": "assistant", "content": "Feedback: it is fine."}
        assert messages[-1]["role"] == "user"
        assert "[RESULT]" in messages[-1]["content"]
    rows = adjudge("export", "last", "--store", store).rows
    assert [(row["score"], row["how"], row["status"]) for row in rows[:2]] == [
        (2.0, "reask", "ok"),
        (None, None, "unparsed"),
    ]
    assert rows[2]["how"] == "strict"
    places = asked(store)
    parents = {place.call.key: place.call for place in places if place.call.kind == "generate"}
    reasked = [place.call for place in places if place.call.kind == "reask"]
    assert len(reasked) == 2
    assert all(parents[str(call.parent)].item == call.item for call in reasked)


def test_a_pair_without_a_choice_is_asked_again_for_the_choice(store: Path, tmp_path: Path) -> None:
    items = write_rows(
        tmp_path / "pairs.jsonl", [{"id": "p", "instruction": "x", "response_a": "one", "response_b": "two"}]
    )

    def plan(request: Request) -> Answer:
        return chat("[RESULT] A" if len(request.json["messages"]) > 2 else "Feedback: both have merit.")

    with FakeServer(plan) as server:
        adjudge(
            "run", items, "-p", "prometheus/pairwise", *DIRECT[2:], "-m", model_at(server), "--store", store,
            "--order", "given",
        )  # fmt: skip
        assert server.n_requests == 2
    (row,) = adjudge("export", "last", "--store", store).rows
    assert (row["choice"], row["how"]) == ("a", "reask")


def test_nothing_is_asked_again_where_the_user_says_so_where_a_judge_refuses_or_in_a_replay(
    items: Path, store: Path, tmp_path: Path
) -> None:
    with FakeServer(default=chat("Feedback: fine.")) as server:
        adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "--no-reask")
        assert server.n_requests == 4
    with FakeServer(default=chat("I'm sorry, but I can't evaluate this.")) as server:
        adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store)
        assert server.n_requests == 4
        assert {row["status"] for row in adjudge("export", "last", "--store", store).rows} == {"refused"}
    replies = write_rows(
        tmp_path / "r.jsonl", [{"item": f"i{k}", "text": "Feedback: fine."} for k in (1, 2, 3)]
    )
    run = adjudge("run", items, *DIRECT, "-m", f"replay:{replies}", "--store", store)
    assert run.code == 4
    assert {place.about.kind for place in judged(store)} == {"generate"}
    rows = adjudge("export", "last", "--store", store).rows
    assert [row["status"] for row in rows] == ["unparsed"] * 3 + ["no_reply"]


# -- reading again


def test_reread_gives_the_same_judgments_without_asking(items: Path, store: Path) -> None:
    def plan(request: Request) -> Answer:
        if len(request.json["messages"]) > 2:
            return chat("[RESULT] 2")
        return chat("Feedback: fine.") if number_in(request) == 2 else by_number(request)

    with FakeServer(plan) as server:
        adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "--samples", "2")
        before, rows = judged(store), adjudge("export", "last", "--store", store).out
        n_requests = server.n_requests
        reread = adjudge("reread", "last", "--store", store, "--json")
        assert server.n_requests == n_requests
    assert reread.json == {"run": "run-0001", "judgments": 8}
    assert judged(store) == before
    assert adjudge("export", "last", "--store", store).out == rows


# -- criteria and steps of the user's


def scoring(request: Request) -> Answer:
    if "numbered list" in prompt_of(request):
        return chat(
            f"1. Read the answer.\n2. Look for a number (variant {server_count(request)}).\n3. Decide."
        )
    return chat(f"Reasons.\n\nScore: {score_of(number_in(request))}")


_COUNT: Counter[str] = Counter()


def server_count(request: Request) -> int:
    _COUNT[request.headers["host"]] += 1
    return _COUNT[request.headers["host"]]


def test_a_criterion_in_words_judges_without_a_protocol_folder(items: Path, store: Path) -> None:
    with FakeServer(scoring) as server:
        run = adjudge(
            "run", items, "--criterion", "Is the answer a number?", "-m", model_at(server), "--store", store
        )
        assert run.code == 0, run.err
        assert all("Is the answer a number?" in prompt_of(request) for request in server.requests)
    rows = adjudge("export", "last", "--store", store).rows
    assert [row["score"] for row in rows] == [score_of(k) for k in (1, 2, 3, 4)]
    assert rows[0]["protocol"].startswith("geval/score@")


def test_generated_steps_are_asked_for_once_and_are_part_of_the_digest(items: Path, store: Path) -> None:
    flags = ["--criterion", "Is it a number?", "--store", str(store)]
    with FakeServer(scoring) as server:
        model = model_at(server)
        command = ["run", items, *flags, "-m", model, "--steps", "generate"]
        run = adjudge(*command, "--limit", "2")
        assert (run.code, server.n_requests) == (0, 3)
        assert all(
            "Look for a number (variant 1)." in prompt_of(request)
            for request in server.requests
            if "numbered list" not in prompt_of(request)
        )
        assert "Look for a number (variant 1)." in run.err, "the steps are shown"
        digests = {row["protocol"] for row in adjudge("export", "last", "--store", store).rows}
        report = adjudge("report", "last", "--store", store, "--json").json
        assert adjudge(*command, "--limit", "2").code == 0
        assert server.n_requests == 3, "the same run goes on with the same steps"
        dry = adjudge(*command, "--dry-run", "--json").json
        assert (dry["calls"], dry["stored"]) == (5, 3)
        assert adjudge(*command).code == 0
        assert server.n_requests == 5, "another run of the same criterion has the same steps"
        adjudge("run", items, *flags, "-m", model)
    without = {row["protocol"] for row in adjudge("export", "last", "--store", store).rows}
    assert len(digests) == 1
    assert digests.isdisjoint(without)
    assert set(report["protocols"].values()) == {name.partition("@")[2] for name in digests}
    assert report["parameters"]["steps"] == ["Read the answer.", "Look for a number (variant 1).", "Decide."]
    assert adjudge("reread", "run-0001", "--store", store).code == 0


def test_a_judge_that_writes_no_steps_ends_the_run_with_a_message(items: Path, store: Path) -> None:
    with FakeServer(default=chat("")) as server:
        refused = adjudge(
            "run", items, "--criterion", "Is it?", "--steps", "generate", "-m", model_at(server), "--store",
            store
        )  # fmt: skip
        assert server.n_requests == 1
    assert refused.code == 2
    assert "steps" in refused.err


def test_steps_may_come_from_a_file(items: Path, store: Path, tmp_path: Path) -> None:
    steps = tmp_path / "steps.txt"
    steps.write_text("Look closely.\n\nThen decide.\n", encoding="utf-8")
    with FakeServer(scoring) as server:
        adjudge(
            "run", items, "--criterion", "Is it?", "--steps", steps, "-m", model_at(server), "--store", store
        )
        assert all("Then decide." in prompt_of(request) for request in server.requests)
        assert server.n_requests == 4


# -- panels


def test_a_panel_judges_every_item_with_each_judge(items: Path, store: Path) -> None:
    def plan(request: Request) -> Answer:
        return chat("[RESULT] 2") if request.json["model"] == "strict" else chat("[RESULT] 4")

    with FakeServer(plan) as server:
        models = [model_at(server, "strict"), model_at(server, "kind")]
        run = adjudge("run", items, *DIRECT, "-m", models[0], "-m", models[1], "--store", store, "--json")
        assert server.n_requests == 8
    rows = adjudge("export", "last", "--store", store).rows
    assert [(row["item"], row["model"], row["score"]) for row in rows[:2]] == [
        ("i1", models[0], 2.0),
        ("i1", models[1], 4.0),
    ]
    assert len(rows) == 8
    report: dict[str, Any] = run.json
    assert set(report["models"]) == set(models)
    assert report["models"][models[0]]["systems"]["even"]["tact"]["value"] == 2.0
    assert report["systems"]["even"]["tact"]["value"] == 3.0
    assert json.dumps(report).count("judge-1") >= 2

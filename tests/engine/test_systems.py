"""Each of the five systems from its items to its report: over real HTTP, through a real store.

The expected values of the reports are in `reports/`; their words are in `tests/golden`. After a change that
is meant to change them, write them anew with `ADJUDGE_WRITE_REPORTS=1 pytest tests/engine/test_systems.py`
and read the difference.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakeserver import Answer, FakeServer, Request, chat, error
from running import EXAMPLES, adjudge, model_at, prompt_of, read_rows, write_rows

REPORTS = Path(__file__).parent / "reports"


def replying(items: str, judged: str) -> Callable[[Request], Answer]:
    """A judge that finds the item by its judged text in the prompt, and says what was recorded for it."""
    texts = {row["id"]: row[judged] for row in read_rows(EXAMPLES / f"{items}.jsonl")}
    replies = {row["item"]: row["text"] for row in read_rows(EXAMPLES / f"{items}.replies.jsonl")}

    def plan(request: Request) -> Answer:
        # The longest text goes first: one response may stand within another.
        for name in sorted(texts, key=lambda name: -len(texts[name])):
            if texts[name] in prompt_of(request):
                return chat(replies[name])
        return error(400, "a prompt that holds none of the responses")

    return plan


def advising(request: Request) -> Answer:
    """A judge of pairs that says what was recorded for the order in which it sees the two."""
    replies = {
        (row["item"], row["order"]): row["text"] for row in read_rows(EXAMPLES / "advice.replies.jsonl")
    }
    prompt = prompt_of(request)
    for row in read_rows(EXAMPLES / "advice.jsonl"):
        at = prompt.find(row["response_a"]), prompt.find(row["response_b"])
        if min(at) >= 0:
            return chat(replies[row["id"], "ab" if at[0] < at[1] else "ba"])
    return error(400, "a prompt that holds no pair")


def preferring(request: Request) -> Answer:
    """A judge of pairs that knows the better refund letter, and takes the first letter of any other pair."""
    prompt = prompt_of(request)
    calm, cold = prompt.find("I am sorry that you had to ask"), prompt.find("As stated in our terms")
    letter = "A" if calm < 0 or calm < cold else "B"
    return chat(f"Feedback: Response {letter} takes the matter over. [RESULT] {letter}")


def pairs_of_answers(folder: Path) -> Path:
    """The shipped answers, two systems at a time."""
    rows = read_rows(EXAMPLES / "answers.jsonl")
    return write_rows(
        folder / "pairs.jsonl",
        (
            {
                "id": a["group"],
                "instruction": a["instruction"],
                "response_a": a["response"],
                "response_b": b["response"],
                "system_a": a["system"],
                "system_b": b["system"],
            }
            for a, b in zip(rows[::2], rows[1::2], strict=True)
        ),
    )


SYSTEMS: dict[str, tuple[str, Callable[[Request], Answer], list[str], int]] = {
    "gptscore-ko": (
        "news.jsonl",
        replying("news", "generated_response"),
        ["-p", "gptscore-ko/factuality"],
        6,
    ),
    "geval": ("advice.jsonl", advising, ["-p", "geval/compare"], 4),
    "opinion-summary": (
        "products.jsonl",
        replying("products", "summary"),
        ["-p", "opinion-summary/faithfulness"],
        4,
    ),
    "commentary-zh": (
        "commentary.jsonl",
        replying("commentary", "response"),
        ["-p", "commentary-zh/structure", "--examples", str(EXAMPLES / "commentary.examples.jsonl")],
        2,
    ),
    "prometheus": (
        "answers.jsonl",
        replying("answers", "response"),
        ["-p", "prometheus/direct", "--rubric", str(EXAMPLES / "tact.toml")],
        4,
    ),
    "prometheus-pairwise": (
        "",
        preferring,
        ["-p", "prometheus/pairwise", "--rubric", str(EXAMPLES / "tact.toml")],
        4,
    ),
}
"""name → items, judge, how it is asked, and how many calls that takes"""


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_runs_from_items_over_http_to_its_stored_report(name: str, tmp_path: Path) -> None:
    file, plan, flags, n_calls = SYSTEMS[name]
    items = EXAMPLES / file if file else pairs_of_answers(tmp_path)
    store = tmp_path / "adjudge.db"
    with FakeServer(plan) as server:
        run = adjudge(
            "run", items, *flags, "-m", model_at(server), "--run", name, "--store", store, "--price", "1,2"
        )
        assert server.n_requests == n_calls
        assert {request.path for request in server.requests} == {"/v1/chat/completions"}
        text = adjudge("report", name, "--store", store)
        as_json = adjudge("report", name, "--json", "--store", store)
        assert server.n_requests == n_calls, "a report asks nothing"
    assert (run.code, text.code, as_json.code) == (0, 0, 0), run.err
    assert run.out == text.out, "a run ends with the first screen of its report"
    path = REPORTS / f"{name}.json"
    values = json.dumps(values_of(as_json.json), indent=1, ensure_ascii=False) + "\n"
    values = re.sub(r"(127\.0\.0\.1:)\d{5}", r"\g<1>PORT0", values)
    if os.environ.get("ADJUDGE_WRITE_REPORTS"):
        path.write_text(values, encoding="utf-8")
    assert values == path.read_text(encoding="utf-8"), f"differs from {path.name}; see this module's text"


def values_of(report: Any) -> Any:
    """A report without its words and without what differs from run to run: its time and its seconds."""
    left_out = ("method", "reason", "text", "started", "seconds")
    if isinstance(report, dict):
        return {key: values_of(value) for key, value in report.items() if key not in left_out}
    return [values_of(value) for value in report] if isinstance(report, list) else report


def test_both_orders_of_a_pair_are_asked_and_come_out_in_the_frame_of_the_item(tmp_path: Path) -> None:
    store = tmp_path / "adjudge.db"
    with FakeServer(preferring) as server:
        adjudge(
            "run", pairs_of_answers(tmp_path), "-p", "prometheus/pairwise", "--rubric",
            EXAMPLES / "tact.toml",
            "-m", model_at(server), "--store", store,
        )  # fmt: skip
        firsts = [
            prompt_of(request).find("I am sorry that you had to ask")
            < prompt_of(request).find("As stated in our terms")
            for request in server.requests
            if "As stated in our terms" in prompt_of(request)
        ]
    rows = {row["item"]: row for row in adjudge("export", "last", "--store", store).rows}
    assert sorted(firsts) == [False, True]
    assert (rows["refund"]["choice"], rows["refund"]["flags"]) == ("a", [])
    assert rows["late"]["choice"] == "tie", "this judge takes whatever it sees first"
    assert "order_conflict" in rows["late"]["flags"]
    assert rows["refund"]["samples"] == 2


@pytest.mark.parametrize("policy", ["given", "random"])
def test_one_order_is_asked_where_the_user_says_so(policy: str, tmp_path: Path) -> None:
    flags = ["-p", "prometheus/pairwise", "--rubric", str(EXAMPLES / "tact.toml"), "--order", policy]
    with FakeServer(preferring) as server:
        run = adjudge(
            "run", pairs_of_answers(tmp_path), *flags, "-m", model_at(server), "--store", tmp_path / "s.db"
        )
        assert (run.code, server.n_requests) == (0, 2)

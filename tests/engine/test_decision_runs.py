"""Protocols asked as typed questions: every system over real
HTTP, in both formats, under faults, killed and resumed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjudge.protocols import load_protocol
from fakedecisions import decides, decision, too_many
from fakeserver import Answer, FakeServer, Request, as_json, chat, error, limited, reset
from running import EXAMPLES, adjudge, answers, ended, read_rows, started, write_rows

FORMATS = ("decisions", "systemone")

SYSTEMS: dict[str, tuple[str, list[str]]] = {
    "gptscore-ko": ("news.jsonl", ["-p", "gptscore-ko/factuality"]),
    "geval": ("advice.jsonl", ["-p", "geval/compare"]),
    "opinion-summary": ("products.jsonl", ["-p", "opinion-summary/faithfulness"]),
    "commentary-zh": ("commentary.jsonl", ["-p", "commentary-zh/structure", "-p", "commentary-zh/evidence"]),
    "prometheus": ("answers.jsonl", ["-p", "prometheus/direct", "--rubric", str(EXAMPLES / "tact.toml")]),
}


def judge(server: FakeServer, wire: str) -> str:
    return f"{wire}+{server.url}/v1#judge"


def export(folder: Path, run: str = "r") -> list[dict[str, Any]]:
    return adjudge("export", run, "--format", "jsonl", "--store", folder / "s.db").rows


@pytest.mark.parametrize("wire", FORMATS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_runs_on_a_decision_model(tmp_path: Path, system: str, wire: str) -> None:
    items, flags = SYSTEMS[system]
    with FakeServer(decides()) as server:
        done = adjudge(
            "run",
            EXAMPLES / items,
            *flags,
            "-m",
            judge(server, wire),
            "--run",
            "r",
            "--store",
            tmp_path / "s.db",
        )
        assert done.code == 0, done.err
        assert all(request.path == f"/v1/{wire}" for request in server.requests)
    rows = export(tmp_path)
    assert rows
    assert {row["status"] for row in rows} == {"ok"}
    assert {row["estimator"] for row in rows} == {"decision"}
    assert {row["explanation"] for row in rows} == {""}
    scores = [row["score"] for row in rows if row["score"] is not None]
    assert scores
    assert any(score != round(score) for score in scores), "an expected value lies between levels"
    report = adjudge("report", "r", "--json", "--store", tmp_path / "s.db")
    assert report.code == 0
    again = adjudge("reread", "r", "--store", tmp_path / "s.db")
    assert again.code == 0, again.err
    assert export(tmp_path) == rows


@pytest.mark.parametrize("wire", FORMATS)
def test_a_pair_is_asked_in_both_orders_as_a_choice(tmp_path: Path, wire: str) -> None:
    pair = {
        "id": "p",
        "task": "Say hi.",
        "response_a": "Hello!",
        "response_b": "Go away.",
        "system_a": "x",
        "system_b": "y",
    }

    def prefers_hello(request: Request) -> Answer:
        body = request.json
        first = (
            body["state"]["response_a"] if wire == "systemone" else body["input"].partition("response_b")[0]
        )
        return as_json(
            decision(body, lambda _, n: ([0.8, 0.15] if "Hello" in first else [0.15, 0.8]) + [0.05] * (n - 2))
        )

    items = write_rows(tmp_path / "i.jsonl", [pair])
    with FakeServer(prefers_hello) as server:
        done = adjudge(
            "run",
            items,
            "-p",
            "pairwise/helpful",
            "-m",
            judge(server, wire),
            "--run",
            "r",
            "--store",
            tmp_path / "s.db",
        )
        assert done.code == 0, done.err
        assert server.n_requests == 2
    (row,) = export(tmp_path)
    assert (row["choice"], row["estimator"], row["flags"]) == ("a", "decision", [])


@pytest.mark.slow
@pytest.mark.parametrize("wire", FORMATS)
def test_a_long_checklist_is_split_into_calls_that_the_format_takes(tmp_path: Path, wire: str) -> None:
    most = {"decisions": 400, "systemone": 200}[wire]
    points = [f"It names the number {number}." for number in range(1, 1001)]
    items = write_rows(
        tmp_path / "i.jsonl", [{"id": "one", "task": "Count.", "response": "1 2 3", "checklist": points}]
    )
    seen: list[int] = []

    def plan(request: Request) -> Answer:
        body = request.json
        text = json.dumps(body)
        names = list(body["questions"]) if wire == "systemone" else [q["name"] for q in body["questions"]]
        numbers = [int(name.rpartition("-")[2]) for name in names]
        assert all(f"It names the number {number}." in text for number in numbers)
        seen.extend(numbers)
        return too_many(body, most) or as_json(decision(body))

    with FakeServer(plan) as server:
        done = adjudge(
            "run",
            items,
            "-p",
            "checklist/follow",
            "-m",
            judge(server, wire),
            "--run",
            "r",
            "--store",
            tmp_path / "s.db",
        )
        assert done.code == 0, done.err
        assert server.n_requests == -(-1000 // most)
    assert sorted(seen) == list(range(1, 1001))
    rows = export(tmp_path)
    assert {row["status"] for row in rows} == {"ok"}
    before = [json.dumps(row) for row in rows]
    assert adjudge("reread", "r", "--store", tmp_path / "s.db").code == 0
    assert [json.dumps(row) for row in export(tmp_path)] == before


def test_claims_are_checked_where_the_item_brings_them_and_refused_otherwise(tmp_path: Path) -> None:
    item = {"id": "one", "task": "t", "response": "Rome is old. It is big.", "source": "Rome is old."}
    without = write_rows(tmp_path / "a.jsonl", [item])
    given = write_rows(tmp_path / "b.jsonl", [{**item, "claims": ["Rome is old.", "Rome is big."]}])
    with FakeServer(decides()) as server:
        flags = ["-p", "claims/supported", "-m", judge(server, "decisions"), "--store", tmp_path / "s.db"]
        refused = adjudge("run", without, *flags)
        assert refused.code == 2
        assert "writes no text" in refused.err
        assert server.n_requests == 0
        done = adjudge("run", given, *flags, "--run", "r")
        assert done.code == 0, done.err
        assert server.n_requests == 1
        assert len(server.requests[-1].json["questions"]) == 2


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["-p", "gptscore/fluency"], "likelihood"),
        (["-p", "geval/score", "--criterion", "Kind", "--steps", "generate"], "writes no steps"),
        (["-p", "opinion-summary/fluency", "--estimator", "probability"], "its estimator is decision"),
        (["-p", "opinion-summary/fluency", "--estimator", "parsed"], "its estimator is decision"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_the_run(tmp_path: Path, flags: list[str], words: str) -> None:
    fields = {
        "task": "t",
        "response": "r",
        "source_text": "s",
        "generated_response": "g",
        "summary": "u",
        "reviews": "v",
    }
    items = write_rows(tmp_path / "i.jsonl", [{"id": "1", **fields}])
    with FakeServer(decides()) as server:
        refused = adjudge(
            "run", items, *flags, "-m", judge(server, "systemone"), "--store", tmp_path / "s.db"
        )
        assert refused.code == 2
        assert words in refused.err
        assert server.n_requests == 0


def faulty(wire: str) -> Callable[[Request], Answer]:
    """A host whose faults follow from the item, so that what must come out of each is known."""
    tries: dict[int, int] = {}

    def plan(request: Request) -> Answer:
        body = request.json
        match = re.search(r"answer (\d+)\.", json.dumps(body))
        assert match is not None
        number = int(match[1])
        tries[number] = tries.get(number, 0) + 1
        if tries[number] == 1 and number % 10 in (1, 2, 3, 4):
            return {1: limited("0"), 2: error(503), 3: reset(), 4: Answer(200, b'{"answers": [')}[number % 10]
        whole = decision(body, lambda _, n: [0.01] * (n - 1) + [0.99 - 0.01 * (n - 1)])
        names = list(whole["answers"]) if wire == "systemone" else list(range(len(whole["answers"])))
        spoilt = names[0]
        if number % 10 == 5:  # a refusal
            if wire == "systemone":
                del whole["answers"][spoilt]
            else:
                whole["answers"][spoilt] = {"type": "refusal", "name": body["questions"][0]["name"]}
        if number % 10 == 6:
            whole["answers"][spoilt]["type"] = "box"
        if number % 10 == 7:
            whole["answers"][spoilt]["probabilities"] = [] if wire == "decisions" else {}
        if number % 10 == 8:
            whole["more"] = {"of": ["this"]}
            whole["answers"][spoilt]["more"] = None
        if number % 10 == 9 and wire == "decisions":
            whole["answers"].reverse()
        return as_json(whole)

    return plan


@pytest.mark.slow
@pytest.mark.parametrize("wire", FORMATS)
def test_a_thousand_judgments_under_faults_are_neither_lost_nor_wrong(tmp_path: Path, wire: str) -> None:
    n_items = 1000
    items = answers(tmp_path / "i.jsonl", n_items)
    with FakeServer(faulty(wire)) as server:
        done = adjudge(
            "run", items, "-p", "geval/score", "--criterion", "Is it kind?", "-m", judge(server, wire),
            "--run", "r",
            "--store", tmp_path / "s.db", "--concurrency", "32",
        )  # fmt: skip
    assert done.code in (0, 1), done.err
    rows = {row["item"]: row for row in export(tmp_path)}
    assert len(rows) == n_items
    refused = "refused" if wire == "decisions" else "no_reply"
    expected = {5: refused, 6: "unparsed", 7: "unparsed"}
    for number in range(1, n_items + 1):
        row = rows[f"i{number}"]
        assert row["status"] == expected.get(number % 10, "ok"), row
        value = (1 + 2 + 3 + 4) * 0.01 + 5 * 0.95
        assert row["score"] == (pytest.approx(value / 0.99) if row["status"] == "ok" else None)


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_export(tmp_path: Path) -> None:
    items = answers(tmp_path / "i.jsonl", 60)
    flags = ["-p", "geval/score", "--criterion", "Is it kind?", "--run", "r"]
    with FakeServer(decides(), hold_from=31) as server:
        model = judge(server, "decisions")
        process = started(
            "run", items, *flags, "-m", model, "--store", tmp_path / "s.db", "--concurrency", "4"
        )
        while server.n_requests < 31 and process.poll() is None:
            pass
        process.kill()
        process.communicate()
        server.release()
        resumed = ended(started("run", items, *flags, "-m", model, "--store", tmp_path / "s.db"))
        assert resumed.code == 0, resumed.err
        killed = export(tmp_path)
        (tmp_path / "t").mkdir()
        whole = adjudge("run", items, *flags, "-m", model, "--store", tmp_path / "t" / "s.db")
        assert whole.code == 0, whole.err
    assert killed == export(tmp_path / "t")


def test_a_chat_judge_and_a_decision_model_sit_on_one_panel(tmp_path: Path) -> None:
    items = answers(tmp_path / "i.jsonl", 10)

    def plan(request: Request) -> Answer:
        return (
            chat("Fine.\nScore: 4")
            if request.path.endswith("/chat/completions")
            else as_json(decision(request.json))
        )

    with FakeServer(plan) as server:
        done = adjudge(
            "run", items, "-p", "geval/score", "--criterion", "Is it kind?", "-m", f"chat={server.url}/v1#c",
            "-m", f"typed={judge(server, 'systemone')}", "--run", "r", "--store", tmp_path / "s.db",
        )  # fmt: skip
        assert done.code == 0, done.err
    rows = export(tmp_path)
    assert {(row["model"], row["estimator"]) for row in rows} == {("chat", "parsed"), ("typed", "decision")}
    report = adjudge("report", "r", "--full", "--store", tmp_path / "s.db")
    assert report.code == 0
    assert "typed answers typed questions with probabilities, without an explanation." in report.out
    assert read_rows(items)


@pytest.mark.parametrize("wire", FORMATS)
def test_trust_says_whether_the_probabilities_can_be_believed(tmp_path: Path, wire: str) -> None:
    n_items = 120
    items = answers(tmp_path / "i.jsonl", n_items)
    rubric = tmp_path / "kind.toml"
    rubric.write_text('name = "kind"\ncriterion = "Is it kind?"\n[levels]\n0 = "unkind"\n1 = "kind"\n')

    def chance(text: str) -> float:
        match = re.search(r"answer (\d+)\.", text)
        assert match is not None
        return int(match[1]) % 10 / 10 + 0.05

    def overconfident(text: str, n_options: int) -> list[float]:
        assert n_options == 2
        upper = 0.99 if chance(text) > 0.5 else 0.01
        return [1 - upper, upper]

    labels = write_rows(
        tmp_path / "l.jsonl",
        (
            {"item": f"i{k}", "criterion": "kind", "rater": "r", "value": int(k // 10 % 10 < k % 10 + 0.5)}
            for k in range(1, n_items + 1)
        ),
    )
    with FakeServer(decides(overconfident)) as server:
        done = adjudge(
            "run", items, "-p", "geval/score", "--rubric", rubric, "-m", judge(server, wire), "--run", "r",
            "--store", tmp_path / "s.db",
        )  # fmt: skip
        assert done.code == 0, done.err
    flags = ("trust", "r", "--labels", labels, "--store", tmp_path / "s.db")
    found = adjudge(*flags, "--json").json["criteria"]["kind"]["probabilities"]
    assert found["error"]["low"] > 0.1, "0.99 and 0.01 are not how often it is right"
    assert found["auroc"]["value"] > 0.6
    assert found["risk"][0]["coverage"] == 1.0
    text = (
        adjudge(*flags, "--full").out if "--full" in adjudge("trust", "--help").out else adjudge(*flags).out
    )
    assert "The judge's probabilities are off" in text
    assert "Reliability diagram" in text


def scale_without_step(folder: Path, low: float, high: float) -> Path:
    folder.mkdir()
    (folder / "user.md").write_text("How good is it?\n{{response}}\n<score>N</score>\n")
    (folder / "protocol.toml").write_text(
        'title = "t"\ntask = "score"\nlanguage = { prompt = "en", reply = "en" }\nsource = "s"\n'
        'inputs = ["response"]\n[[criteria]]\nname = "good"\n'
        f"scale = {{ low = {low}, high = {high}, best = {high} }}\n"
        '[answer]\nreader = "tag"\ntag = "score"\n'
    )
    return folder


@pytest.mark.parametrize("wire", FORMATS)
@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [(1, 5, "1, 2, 3, 4, 5"), (0, 1, "0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1")],
)
def test_a_scale_without_a_step_is_asked_in_levels_and_said(
    tmp_path: Path, wire: str, low: float, high: float, labels: str
) -> None:
    protocol = scale_without_step(tmp_path / "p", low, high)
    with FakeServer(decides()) as server:
        done = adjudge(
            "run", answers(tmp_path / "i.jsonl", 5), "-p", protocol, "-m", judge(server, wire), "--run", "r",
            "--store", tmp_path / "s.db",
        )  # fmt: skip
        assert done.code == 0, done.err
        asked = server.requests[0].json["questions"]
    levels = asked["good"]["criteria"] if wire == "systemone" else [o["label"] for o in asked[0]["levels"]]
    assert ", ".join(levels) == labels
    assert f"has no step: the typed question offers the levels {labels}" in done.err
    assert all(low < row["score"] < high for row in export(tmp_path))


@pytest.mark.parametrize("wire", FORMATS)
@pytest.mark.parametrize("number", ["000", "001", "002", "003", "004"])
def test_the_originals_run_on_a_decision_model(shared: Path, tmp_path: Path, number: str, wire: str) -> None:
    [document] = (shared / "seeds").glob(f"{number}_*")
    assert adjudge("protocols", "import", document, "--to", tmp_path / "p").code == 0
    example = write_rows(
        tmp_path / "e.jsonl", [{"instruction": "i", "response": "r", "judgment": "8", "kind": "positive"}]
    )
    with FakeServer(decides()) as server:
        for folder in sorted(path.parent for path in (tmp_path / "p").glob("*/protocol.toml")):
            protocol = load_protocol(folder, rubric=EXAMPLES / "tact.toml" if number == "004" else None)
            fields = {name: f"the {name}" for name in (*protocol.inputs, *protocol.optional)}
            pair = {"system_a": "x", "system_b": "y"} if protocol.task == "compare" else {}
            items = write_rows(tmp_path / "i.jsonl", [{"id": "1", **fields, **pair}])
            rubric = ["--rubric", EXAMPLES / "tact.toml"] if number == "004" else []
            examples = ["--examples", example] if "示例指令" in protocol.alias else []
            done = adjudge(
                "run", items, "-p", folder, *rubric, *examples, "-m", judge(server, wire),
                "--run", folder.name, "--store", tmp_path / "s.db",
            )  # fmt: skip
            assert done.code == 0, (folder.name, done.err)
            assert {row["status"] for row in export(tmp_path, folder.name)} == {"ok"}, folder.name


def test_examples_are_shown_where_the_prompt_is_the_instructions(tmp_path: Path) -> None:
    example = {"instruction": "Say hi.", "response": "Howdy", "judgment": "9", "kind": "positive"}
    flags = ["--examples", write_rows(tmp_path / "e.jsonl", [example]), "--store", tmp_path / "s.db"]
    with FakeServer(decides()) as server:
        done = adjudge(
            "run", EXAMPLES / "commentary.jsonl", "-p", "commentary-zh/structure", *flags,
            "-m", judge(server, "decisions"),
        )  # fmt: skip
        assert done.code == 0, done.err
        (question,) = server.requests[0].json["questions"]
    assert "Howdy" in question["instructions"]
    assert "Howdy" not in server.requests[0].json["input"]

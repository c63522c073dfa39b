"""One view of a run: all analyses agree on what a failed
row is, and each judgment is decoded once per command.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from adjudge.analysis.rank.games import ranking_inputs
from adjudge.analysis.report.report import summarise
from adjudge.analysis.run_view.given_results import kinds_of, view_of_results
from adjudge.analysis.run_view.panel import pooled_over_models
from adjudge.records import Choice, Result, Scale
from adjudge.results.stored_results import bring_up_to_date
from adjudge.store import open_store
from adjudge.store import rows as stored_rows
from running import EXAMPLES, adjudge, write_rows

FIVE = Scale(1.0, 5.0, 5.0, 1.0)


def row(**fields: Any) -> Result:
    return Result(
        **{"item": "i", "protocol": "p@1", "criterion": "c", "model": "m", "status": "unparsed", **fields}
    )


PAIR = {"system_a": "x", "system_b": "y"}
CASES: dict[str, tuple[list[Result], dict[tuple[str, str], Scale | None], list[str]]] = {
    "a failed row of a criterion without a scale is a choice": ([row()], {("p", "c"): None}, ["choices"]),
    "a failed row of a criterion with a scale is a score": ([row(**PAIR)], {("p", "c"): FIVE}, ["scores"]),
    "what another judge gave says what a failed row is": (
        [row(status="ok", choice="a"), row(model="n")], {}, ["choices", "choices"],
    ),
    "a score of another judge, too": ([row(status="ok", value=3.0, **PAIR), row(model="n", **PAIR)], {},
    ["scores", "scores"]),
    "beside scores with a subject a row without one is the choice": (
        [row(subject="a"), row(subject="b"), row()], {("p", "c"): FIVE}, ["scores", "scores", "choices"],
    ),
    "where nothing is known, a row of a pair is a choice": ([row(**PAIR), row(criterion="d")], {},
    ["choices", "scores"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_kind_of_a_failed_row(name: str) -> None:
    results, scales, kinds = CASES[name]
    assert list(kinds_of(results, scales)) == kinds


VOTES: dict[Choice, tuple[tuple[Choice, ...], ...]] = {
    "a": (("a", "tie"), ("a", "tie", "tie"), ("a", "a", "b")),
    "b": (("b", "b", "a", "tie"),),
    "tie": (("a", "b"), ("a", "b", "tie"), ("tie", "tie")),
}


@pytest.mark.parametrize(
    ("winner", "votes"), [(winner, votes) for winner in VOTES for votes in VOTES[winner]]
)
def test_every_analysis_counts_the_votes_of_a_panel_alike(winner: Choice, votes: tuple[Choice, ...]) -> None:
    view = view_of_results(
        row(model=f"m{k}", status="ok", choice=choice, **PAIR) for k, choice in enumerate(votes)
    )
    (pair,) = summarise(view).pairs["c"]
    assert {"a": pair.a, "b": pair.b, "tie": pair.tie}[winner] == 1
    assert ranking_inputs(view)[0].games[0].share == {"a": 1.0, "b": 0.0, "tie": 0.5}[winner]
    assert pooled_over_models(view)[0].results[0].choice == winner


N_PAIRS = 3


@pytest.fixture
def two_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs without system names, two judges, the second never readable; and a run of the first judge
    alone."""
    monkeypatch.chdir(tmp_path)
    items = [
        {"id": f"p{k}", "instruction": f"Question {k}?", "response_a": "Yes.", "response_b": "Perhaps."}
        for k in range(N_PAIRS)
    ]
    write_rows(tmp_path / "pairs.jsonl", items)
    for name, text in (("good", "Fine. [RESULT] A"), ("mute", "I would rather talk about the weather.")):
        replies = [
            {"item": item["id"], "order": order, "text": text} for item in items for order in ("ab", "ba")
        ]
        write_rows(tmp_path / f"{name}.jsonl", replies)
    run = (
        "run",
        "pairs.jsonl",
        "-p",
        "prometheus/pairwise",
        "--rubric",
        str(EXAMPLES / "ranking" / "helpful.toml"),
        "-q",
    )
    assert adjudge(*run, "-m", "replay:good.jsonl", "-m", "replay:mute.jsonl", "--run", "both").code == 0
    assert adjudge(*run, "-m", "replay:good.jsonl", "--run", "one").code == 0
    labels = [{"item": item["id"], "criterion": "helpful", "rater": "ann", "value": "a"} for item in items]
    write_rows(tmp_path / "labels.jsonl", labels)


def as_json(*command: str) -> dict[str, Any]:
    done = adjudge(*command, "--json")
    assert done.code in (0, 1, 3, 4), done.err
    output: dict[str, Any] = json.loads(done.out)
    return output


@pytest.mark.usefixtures("two_judges")
def test_every_command_counts_the_failures_of_a_judge_that_is_never_readable() -> None:
    mute = "replay:mute.jsonl"
    report = as_json("report", "both")
    assert [pair["failed"] for pair in report["models"][mute]["pairs"]["helpful"]] == [N_PAIRS]
    assert report["systems"] == {}

    card = as_json("trust", "both", "--labels", "labels.jsonl")["criteria"][f"helpful · {mute}"]
    assert (card["kind"], card["n_labelled"], card["n_failed"]) == ("choices", N_PAIRS, N_PAIRS)

    ranking = as_json("rank", "both")
    assert {share["n_failed"] for share in ranking["by_model"][mute].values()} == {N_PAIRS}

    comparison = as_json("compare", "one", "both")
    assert [compared_criterion["kind"] for compared_criterion in comparison["criteria"].values()] == [
        "choices"
    ]
    (criterion,) = comparison["criteria"].values()
    assert any(mute in note for note in criterion["notes"])

    gate = as_json("gate", "both", "--min", "helpful=10%", "--system", "a")
    assert any(f"{mute} failed on {N_PAIRS} of {N_PAIRS}" in note for note in gate["notes"])

    rows = [json.loads(line) for line in adjudge("export", "both", "--format", "jsonl").out.splitlines()]
    assert Counter(row["status"] == "ok" for row in rows if row["model"] == mute) == {False: N_PAIRS}


COMMANDS = {
    "report": ("report", "both"),
    "report --html": ("report", "both", "--html", "report.html", "--labels", "labels.jsonl"),
    "trust": ("trust", "both", "--labels", "labels.jsonl"),
    "rank": ("rank", "both"),
    "compare": ("compare", "both", "both"),
    "gate": ("gate", "both", "--min", "helpful=10%", "--system", "a"),
    "export": ("export", "both", "--format", "jsonl"),
    "sample": ("sample", "both", "-n", "2"),
}
TIMES = {"compare": 2, "report --html": 2, "export": 0, "sample": 0}
"""Two runs are read; a report reads the few items that it shows in full once more. Stored results need
none."""


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("two_judges")
def test_the_judgments_of_a_run_are_decoded_once_per_command(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = 0
    original = stored_rows.read_judgment

    def counting(*columns: Any) -> Any:
        nonlocal decoded
        decoded += 1
        return original(*columns)

    with open_store("adjudge.db", write=False) as store:
        n_judgments = len(list(store.judgments(store.run("both"))))
        assert bring_up_to_date(store, store.run("both"))
    monkeypatch.setattr(stored_rows, "read_judgment", counting)
    assert adjudge(*COMMANDS[name]).code in (0, 1, 3, 4)
    assert decoded == TIMES.get(name, 1) * n_judgments

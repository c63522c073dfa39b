"""What hands expect: defaults, other names for fields,
standard input, replacing a run, completion in a shell.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from adjudge.protocols import builtin_ids, load_protocol
from adjudge.records import VOCABULARY, Item, Label
from adjudge.render import problems_of, render
from adjudge.store import open_store
from running import DIRECT, Outcome, adjudge, answers, ended, python, read_rows, started, write_rows

FAKE = ("-m", "fake:text=[RESULT] 4")


def run(folder: Path, items: Path, *arguments: str | Path) -> Outcome:
    return adjudge("run", items, *arguments, "--store", folder / "s.db", "-q")


def n_replies(folder: Path) -> int:
    with open_store(folder / "s.db", write=False) as store:
        return sum(store.totals(row).replies for row in store.runs())


# -- one vocabulary

OLD_NAMES = {name: common for common, names in VOCABULARY.items() for name in names}


@pytest.mark.parametrize("name", builtin_ids())
def test_a_built_in_protocol_takes_the_common_names_and_its_own(name: str) -> None:
    protocol = load_protocol(name)
    optional = protocol.optional if protocol.at_least_one else ()
    old = {field: f"text of {OLD_NAMES.get(field, field)}" for field in (*protocol.inputs, *optional)}
    common = {OLD_NAMES.get(field, field): text for field, text in old.items()}
    if "rubric" in protocol.takes:
        old["rubric"] = common["rubric"] = "Is it good?"
    assert set(protocol.inputs) <= set(old), "the names of the protocol work as they always did"
    needs_criterion = [problem for problem in problems_of(protocol, Item("1", old)) if "criterion" in problem]
    if needs_criterion:
        protocol = load_protocol(name, criterion="Is it good?")
    assert render(protocol, Item("1", common)).messages == render(protocol, Item("1", old)).messages


def test_a_field_of_the_item_wins_over_one_that_means_the_same() -> None:
    protocol = load_protocol("gptscore-ko/fluency")
    fields = {"source_text": "s", "generated_response": "its own", "response": "another"}
    text = "".join(message.content for message in render(protocol, Item("1", fields)).messages)
    assert "its own" in text
    assert "another" not in text


def test_the_inputs_of_a_users_protocol_have_no_other_names(tmp_path: Path) -> None:
    assert adjudge("protocols", "new", tmp_path / "mine").code == 0
    protocol = load_protocol(tmp_path / "mine")
    fields = {OLD_NAMES.get(name, name) + "_": "x" for name in protocol.inputs}
    assert problems_of(
        protocol, Item("1", {**fields, "task": "x", "summary": "x", "generated_response": "x"})
    )


def test_the_list_of_protocols_shows_the_fields_that_each_needs() -> None:
    out = adjudge("protocols", "list").out
    (line,) = (line for line in out.splitlines() if line.split()[:1] == ["geval/score"])
    assert "task, response, source?, reference? +criterion +rubric +steps" in line
    (row,) = (row for row in adjudge("protocols", "list", "--json").json if row["id"] == "gptscore/fluency")
    assert row["inputs"] == ["source_text", "generated_response"]
    assert row["fields"]["source_text"] == ["source", "source_text"]


def test_a_missing_field_is_reported_with_the_fields_that_were_found(tmp_path: Path) -> None:
    items = write_rows(tmp_path / "i.jsonl", [{"id": 1, "question": "Why?", "answer": "So."}])
    done = run(tmp_path, items, *DIRECT, *FAKE)
    assert done.code == 2
    assert "field 'response' is missing or empty (found: answer, question)" in done.err


# -- where items come from


@pytest.mark.slow
def test_items_come_from_standard_input(tmp_path: Path) -> None:
    text = answers(tmp_path / "items.jsonl", 3).read_bytes()
    arguments = ["run", "-", *DIRECT, *FAKE, "--store", str(tmp_path / "s.db"), "-q", "--json"]
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", "from adjudge.cli import main; main()", *arguments],
            input=text, capture_output=True, check=True,
        )  # fmt: skip
        assert json.loads(done.stdout)["n_items"] == 3
    with open_store(tmp_path / "s.db", write=False) as store:
        assert len(store.runs()) == 1, "the same text again is the same run"
    assert n_replies(tmp_path) == 3


def test_a_pair_is_made_of_mapped_fields(tmp_path: Path) -> None:
    for system in ("x", "y"):
        rows = [{"key": k, "out": {"text": f"{system}{k}"}} for k in range(3)]
        write_rows(tmp_path / f"{system}.jsonl", rows)
    done = adjudge(
        "pair", tmp_path / "x.jsonl", tmp_path / "y.jsonl", "--map", "id=key", "--map", "response=out.text",
        "-o", tmp_path / "pairs.jsonl",
    )  # fmt: skip
    assert done.code == 0, done.err
    rows = read_rows(tmp_path / "pairs.jsonl")
    assert [{row["response_a"], row["response_b"]} for row in rows] == [{f"x{k}", f"y{k}"} for k in range(3)]


# -- a run that was edited


def test_an_edited_run_is_replaced_and_unchanged_replies_are_reused(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 4)
    assert run(tmp_path, items, *DIRECT, *FAKE, "--run", "mine").code == 0
    with open_store(tmp_path / "s.db") as store:
        store.put_labels([Label("i1", "tact", "ann", 5.0)], store.run("mine"))
    rows = read_rows(items)
    rows[0]["response"] = "answer 9."
    write_rows(items, rows)
    refused = run(tmp_path, items, *DIRECT, *FAKE, "--run", "mine")
    assert refused.code == 2
    assert "--replace" in refused.err
    dry = adjudge("run", items, *DIRECT, *FAKE, "--store", tmp_path / "s.db", "--dry-run", "--json").json
    assert (dry["calls"], dry["stored"]) == (4, 3)
    assert run(tmp_path, items, *DIRECT, *FAKE, "--run", "mine", "--replace").code == 0
    with open_store(tmp_path / "s.db", write=False) as store:
        assert [row.name for row in store.runs()] == ["mine"]
        row = store.run("mine")
        assert next(iter(store.items(row))).fields["response"] == "answer 9."
        assert store.totals(row).calls == 4
        assert [label.value for label in store.labels(row)] == [5.0], "human labels are kept"
    assert n_replies(tmp_path) == 4


def test_a_run_that_cannot_start_replaces_nothing(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 2)
    assert run(tmp_path, items, *DIRECT, *FAKE, "--run", "mine").code == 0
    refused = run(tmp_path, items, *DIRECT, "-m", "http://127.0.0.1:9/v1#x", "--run", "mine", "--replace")
    assert refused.code != 0
    with open_store(tmp_path / "s.db", write=False) as store:
        assert [(row.name, store.totals(row).judged) for row in store.runs()] == [("mine", 2)]


# -- defaults


@pytest.mark.parametrize(
    "command",
    [
        ("report", "--json"), ("export",), ("reread", "--json"), ("sample", "-n", "1"), ("runs", "show",
        "--json"),
        ("gate", "--min", "tact=1", "--json"), ("rank", "--json"),
    ],
)  # fmt: skip
def test_a_command_takes_the_last_run_where_none_is_named(tmp_path: Path, command: tuple[str, ...]) -> None:
    items = answers(tmp_path / "items.jsonl", 20)
    run(tmp_path, items, *DIRECT, *FAKE, "--run", "mine")
    done = adjudge(*command, ADJUDGE_STORE=str(tmp_path / "s.db"))
    named = list(command)
    named.insert(2 if command[0] == "runs" else 1, "mine")
    assert done.code == 0, done.err
    assert done.out == adjudge(*named, "--store", tmp_path / "s.db").out


def test_what_deletes_or_renames_a_run_needs_its_name() -> None:
    assert adjudge("runs", "delete", "--yes").code == 2
    assert adjudge("runs", "rename").code == 2


def test_the_environment_names_the_model_and_the_store(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 2)
    environment = {"ADJUDGE_MODEL": "fake:text=Fine. [RESULT] 4", "ADJUDGE_STORE": str(tmp_path / "env.db")}
    assert adjudge("run", items, *DIRECT, "-q", **environment).code == 0
    with open_store(tmp_path / "env.db", write=False) as store:
        assert [model["spec"] for model in store.run("last").manifest["models"]] == [
            "fake:text=Fine. [RESULT] 4"
        ]
    code = (
        "import adjudge, sys; r = adjudge.run(sys.argv[1], 'prometheus/direct', rubric=sys.argv[2]); "
        "print(adjudge.open_run().name == r.name, r.store)"
    )
    done = ended(python(code, items, DIRECT[3], **environment))
    assert done.out.split() == ["True", str(tmp_path / "env.db")], done.err
    assert adjudge("run", items, *DIRECT, "-q").code == 2


def test_a_gate_may_accept_that_there_is_not_enough_evidence(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 40)
    replies = [{"item": f"i{k}", "text": f"[RESULT] {2 + k % 3}"} for k in range(1, 41)]
    run(tmp_path, items, *DIRECT, "-m", f"replay:{write_rows(tmp_path / 'r.jsonl', replies)}")
    gate = ("gate", "--store", tmp_path / "s.db", "--json")
    unclear = adjudge(*gate, "--min", "tact=3")
    accepted = adjudge(*gate, "--min", "tact=3", "--accept-unclear")
    assert (unclear.code, accepted.code) == (3, 0)
    assert accepted.out == unclear.out, "what was found is the same"
    assert adjudge(*gate, "--min", "tact=4.9", "--accept-unclear").code == 1


# -- completion


def completed(*words: str, **environment: str) -> list[str]:
    """What a shell offers for the last of these words."""
    process = started(
        _ADJUDGE_COMPLETE="complete_bash", COMP_WORDS=" ".join(("adjudge", *words)),
        COMP_CWORD=str(len(words)),
        **environment,
    )  # fmt: skip
    done = ended(process)
    assert done.code == 0, done.err
    return done.out.split()


@pytest.mark.slow
def test_a_shell_completes_commands_flags_protocols_and_runs(tmp_path: Path) -> None:
    assert completed("re") == ["report", "reread"]
    assert completed("export", "--for") == ["--format"]
    assert completed("run", "items.jsonl", "-p", "prometheus/d") == [
        "prometheus/direct",
        "prometheus/direct-reference",
    ]
    run(tmp_path, answers(tmp_path / "items.jsonl", 1), *DIRECT, *FAKE, "--run", "mine")
    assert completed("report", "m", ADJUDGE_STORE=str(tmp_path / "s.db")) == ["mine"]
    assert completed("report", "m", ADJUDGE_STORE=str(tmp_path / "none.db")) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_printed(shell: str) -> None:
    done = ended(started(_ADJUDGE_COMPLETE=f"source_{shell}"))
    assert done.code == 0
    assert f"_ADJUDGE_COMPLETE=complete_{shell}" in done.out

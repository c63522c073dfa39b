"""The next step that trust, report and gate print runs as it stands, and a longer form holds the shorter."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from running import adjudge

N = 20


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of two systems with labels in its store, one failure, and the labels as a file."""
    monkeypatch.chdir(tmp_path)
    items, labels, script = [], ["item,criterion,rater,value"], []
    for n in range(N):
        for system, worth in (("new", 4), ("old", 2)):
            text = f"The {system} answer {n}."
            items.append({"id": f"{system}{n}", "task": "Q", "response": text, "system": system})
            label = worth - n % 3 // 2
            score = min(5, label + n // 2 % 2)
            reply = "No idea." if (system, n) == ("old", 7) else f"Fine. Score: {score}"
            script.append({"match": text, "text": reply})
            if n % 2:
                labels.append(f"{system}{n},score,ann,{label}")
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in items))
    Path("script.jsonl").write_text("".join(json.dumps(row) + "\n" for row in script))
    Path("labels.csv").write_text("\n".join(labels) + "\n")
    done = adjudge(
        "run", "items.jsonl", "-p", "geval/score", "--criterion", "Good?", "-m", "fake:script=script.jsonl",
        "--run", "r",
    )  # fmt: skip
    assert done.code == 0, done.err


pytestmark = pytest.mark.usefixtures("judged")


def gate_in(text: str) -> list[str]:
    found = re.search(r"adjudge (gate \S+ --min \S+ --labels \S+)", " ".join(text.split()))
    assert found, text
    return shlex.split(found[1])


def test_the_gate_that_trust_names_runs() -> None:
    of_file = adjudge("trust", "r", "--labels", "labels.csv").out
    assert gate_in(of_file)[-1] == "labels.csv"
    assert adjudge(*gate_in(of_file)).code in (0, 1, 3)
    assert adjudge("labels", "add", "r", "labels.csv").code == 0
    of_store = adjudge("trust", "r").out
    assert gate_in(of_store)[-1] == "store"
    assert adjudge(*gate_in(of_store)).code in (0, 1, 3)


def test_the_first_screen_says_by_how_much_two_systems_differ() -> None:
    card = adjudge("trust", "r", "--labels", "labels.csv", "--json").json["criteria"]["score"]
    found = card["differences"]["new - old"]
    shown = " ".join(adjudge("trust", "r", "--labels", "labels.csv").out.split())
    assert (
        f"new minus old, corrected: {found['value']:.2f} [{found['low']:.2f}, {found['high']:.2f}]" in shown
    )
    agreement = card["item"]["spearman"]
    assert f"{agreement['value']:.2f} [{agreement['low']:.2f}, {agreement['high']:.2f}] (Spearman)" in shown


def test_a_report_takes_labels_of_a_file_and_in_full_begins_with_its_answer() -> None:
    short = adjudge("report", "r", "--labels", "labels.csv")
    assert short.code == 0, short.err
    assert "only with means corrected" in short.out
    full = adjudge("report", "r", "--labels", "labels.csv", "--full").out
    answer = short.out.partition("Before you use these numbers")[0]
    assert " ".join(full.split()).startswith(" ".join(answer.split()))
    assert "Time and cost" in full
    Path("others.csv").write_text("item,criterion,rater,value\nnobody,score,ann,3\n")
    assert adjudge("report", "r", "--labels", "others.csv").code == 2


def test_a_gate_says_what_to_do_about_failures_and_about_one_of_its_systems() -> None:
    failed = adjudge("gate", "r", "--min", "score=1", "--max-failed", "0")
    assert failed.code == 4
    assert "adjudge runs show r --failed" in failed.out
    assert "--max-failed" in failed.out
    worse = adjudge("gate", "r", "--min", "score=3")
    assert worse.code == 1
    assert "--system new" in worse.out
    assert adjudge("gate", "r", "--min", "score=3", "--system", "new").code == 0
    assert "--system" not in adjudge("gate", "r", "--min", "score=5").out


def test_an_accepted_gate_says_the_code_that_it_ends_with() -> None:
    gate = ("gate", "r", "--min", "score=4.1", "--system", "new")
    unclear, accepted = adjudge(*gate), adjudge(*gate, "--accept-unclear")
    assert (unclear.code, accepted.code) == (3, 0)
    assert "(exit 3)" in unclear.out
    assert "(exit 0, accepted)" in accepted.out


def test_few_labels_lead_to_the_items_that_have_none() -> None:
    few = Path("labels.csv").read_text().splitlines()[:9]
    Path("few.csv").write_text("\n".join(few) + "\n")
    said = adjudge("gate", "r", "--min", "score=3.9", "--labels", "few.csv", "--system", "new").out
    assert "label the other 16 first" in said


def test_a_dash_as_the_file_of_an_export_is_standard_output() -> None:
    assert (
        adjudge("export", "r", "--format", "csv", "-o", "-").out
        == adjudge("export", "r", "--format", "csv").out
    )
    assert not Path("-").exists()
    assert adjudge("export", "r", "--format", "parquet", "-o", "-").code == 2


def test_a_fake_judge_whose_reply_has_sentences_is_still_called_one() -> None:
    spec = "fake:text=Fine. All good. Score: 4"
    arguments = ("-p", "geval/score", "--criterion", "Good?", "-m", spec, "--run", "texts")
    assert "fake judge for tests" in " ".join(adjudge("run", "items.jsonl", *arguments).out.split())

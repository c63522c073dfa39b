"""`adjudge tune RUN --rounds N`: prompts that a model proposes, over HTTP; copies of texts are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from test_tune_run import N, protocol, write

from fakeserver import Answer, FakeServer, Request, chat
from running import adjudge

CAREFUL = "<prompt>\nCareful: {{response}}. Answer <score>n</score>, 1 to 5.\n</prompt>"


def host(proposals: list[str], asked: list[str]) -> object:
    """The judge gives 3 to all but a careful prompt; the proposer gives one proposal after the other."""

    def answer(request: Request) -> Answer:
        text = request.json["messages"][-1]["content"]
        if "<current>" in text:
            asked.append(text)
            return chat(proposals[len(asked) - 1])
        match = re.search(r"guest number (\d+)", text)
        assert match is not None
        return chat(f"<score>{1 + int(match[1]) % 5 if text.startswith('Careful') else 3}</score>")

    return answer


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [f"the quick reply of guest number {k} came late on day {k} ends" for k in range(N)]
    write(tmp_path / "items.jsonl", [{"id": f"i{k}", "response": text} for k, text in enumerate(texts)])
    write(tmp_path / "labels.jsonl", [{"item": f"i{k}", "rater": "r", "value": 1 + k % 5} for k in range(N)])
    protocol(tmp_path / "start", "Plain")


TUNE = ("tune", "base", "--labels", "labels.jsonl", "--json")


def test_a_proposal_wins_and_copies_of_labelled_texts_are_refused() -> None:
    asked: list[str] = []
    copy = CAREFUL.replace("Careful", "Give 4 to the quick reply of guest number 3 came late on day 3")
    lost = CAREFUL.replace("{{response}}", "the reply")
    with FakeServer(host([copy, lost, CAREFUL], asked)) as server:
        model = f"judge={server.url}/v1#m"
        done = adjudge("run", "items.jsonl", "-p", "start", "-m", model, "--run", "base", "--quiet")
        assert done.code == 0, done.err
        tuned = adjudge(*TUNE, "--rounds", "3", "-o", "winner")
        assert tuned.code == 0, tuned.err
        n_requests = server.n_requests
        again = adjudge(*TUNE, "--rounds", "3")
        assert (again.code, len(asked)) == (0, 3)
        assert server.n_requests == n_requests
    assert again.json["notes"] == tuned.json["notes"]
    assert again.json["locked"]["looks"] == 2
    result = tuned.json
    assert result["winner"] == "base.tune.proposed-3"
    assert result["claim"] is True
    assert "Proposal 1 was refused: it contains text of a labelled item" in result["notes"][0]
    assert (
        "Proposal 2 was refused: its placeholders are not those of the start (response)" in result["notes"][1]
    )
    assert Path("winner/user.md").read_text(encoding="utf-8").startswith("Careful: {{response}}")
    assert json.loads(Path("winner/tuned.json").read_text(encoding="utf-8"))["winner"].endswith("proposed-3")
    assert Path("start/user.md").read_text(encoding="utf-8").startswith("Plain")


def test_only_items_of_the_search_part_are_shown() -> None:
    asked: list[str] = []
    with FakeServer(host([CAREFUL], asked)) as server:
        adjudge("run", "items.jsonl", "-p", "start", "-m", f"{server.url}/v1#m", "--run", "base", "--quiet")
        first = adjudge(*TUNE, "--rounds", "1").json
    shown = re.findall(r"guest number (\d+)", asked[0])
    assert len(shown) == 8
    assert first["locked"]["looks"] == 1
    assert all(int(k) % 5 != 2 for k in shown)

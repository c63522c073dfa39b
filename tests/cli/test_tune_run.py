"""`adjudge tune RUN --candidates DIR`: candidate prompts
judged, chosen and tested; copies of labelled texts refused.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from running import adjudge

SETTINGS = """title = "Tact"
task = "score"
language = { prompt = "en", reply = "en" }
source = "a test"
inputs = ["response"]

[[criteria]]
name = "tact"
scale = { low = 1, high = 5, step = 1, best = 5 }

[answer]
reader = "tag"
tag = "score"
"""
N = 80


def protocol(folder: Path, words: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "protocol.toml").write_text(SETTINGS, encoding="utf-8")
    (folder / "user.md").write_text(
        f"{words}: {{{{response}}}}. Answer <score>n</score>, 1 to 5.\n", encoding="utf-8"
    )
    return folder


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose prompt always gives 3; a candidate that is right, and one that is as poor as the start."""
    monkeypatch.chdir(tmp_path)
    texts = [f"the quick reply of guest number {k} came late on day {k} ends" for k in range(N)]
    write(tmp_path / "items.jsonl", [{"id": f"i{k}", "response": text} for k, text in enumerate(texts)])
    script: list[dict[str, object]] = [
        {"match": f"Careful: {text}", "text": f"<score>{1 + k % 5}</score>"} for k, text in enumerate(texts)
    ]
    script += [{"match": words, "text": "<score>3</score>"} for words in ("Plain", "Other")]
    write(tmp_path / "script.jsonl", script)
    write(tmp_path / "labels.jsonl", [{"item": f"i{k}", "rater": "r", "value": 1 + k % 5} for k in range(N)])
    protocol(tmp_path / "start", "Plain")
    protocol(tmp_path / "candidates" / "careful", "Careful")
    protocol(tmp_path / "candidates" / "other", "Other")
    done = adjudge(
        "run", "items.jsonl", "-p", "start", "-m", "fake:script=script.jsonl", "--run", "base", "--quiet"
    )
    assert done.code == 0, done.err
    return tmp_path


TUNE = ("tune", "base", "--candidates", "candidates", "--labels", "labels.jsonl")


def test_the_better_prompt_wins_and_is_written_with_its_provenance(judged: Path) -> None:
    done = adjudge(*TUNE, "-o", "winner", "--json")
    assert done.code == 0, done.err
    assert (done.json["start"], done.json["winner"]) == ("base", "base.tune.careful")
    assert done.json["claim"] is True
    assert done.json["search"]["base.tune.careful"]["value"] == 1.0
    assert (judged / "winner" / "user.md").read_text(encoding="utf-8").startswith("Careful")
    provenance = json.loads((judged / "winner" / "tuned.json").read_text(encoding="utf-8"))
    assert provenance["result"]["locked"]["n"] == N // 2
    assert (judged / "start" / "user.md").read_text(encoding="utf-8").startswith("Plain")
    again = adjudge(*TUNE, "-o", "winner")
    assert again.code == 2
    assert "already exists" in again.err


def test_a_prompt_that_copies_a_labelled_text_is_refused_before_anything_is_asked(judged: Path) -> None:
    protocol(
        judged / "candidates" / "copy", "Give 4 to The quick reply of guest number 3, came late on day 3"
    )
    done = adjudge(*TUNE)
    assert done.code == 2
    assert "copy: its prompt contains text of a labelled item" in done.err
    assert "base.tune" not in adjudge("runs").out


def test_candidates_without_a_folder_are_a_mistake(judged: Path) -> None:
    (judged / "empty").mkdir()
    done = adjudge("tune", "base", "--candidates", "empty", "--labels", "labels.jsonl")
    assert done.code == 2
    assert "no protocol folders" in done.err
    assert adjudge("tune", "base", "--labels", "labels.jsonl").code == 2

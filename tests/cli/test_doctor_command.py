"""`adjudge doctor` on stores that were damaged for real."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import running
from running import Outcome


def adjudge(folder: Path, *arguments: str) -> Outcome:
    with contextlib.chdir(folder):
        return running.adjudge(*arguments)


def judged(folder: Path) -> Path:
    rows = [{"id": str(n), "task": "t", "response": f"r{n}"} for n in range(3)]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    command = (
        "run",
        "items.jsonl",
        "-p",
        "geval/score",
        "-m",
        "fake:text=<score>4</score>",
        "--criterion",
        "clarity",
    )
    assert adjudge(folder, *command).code == 0
    return folder / "adjudge.db"


def test_a_sound_store_is_said_to_be_sound(tmp_path: Path) -> None:
    judged(tmp_path)
    done = adjudge(tmp_path, "doctor")
    assert done.code == 0
    assert "1 run, the file is whole" in done.out
    assert "Every reply is as it was written" in done.out


def test_a_damaged_reply_is_counted_and_set_aside(tmp_path: Path) -> None:
    store = judged(tmp_path)
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE replies SET tokens_out = tokens_out + 1 WHERE call = 1")
    connection.close()
    assert len(json.loads(adjudge(tmp_path, "doctor", "--json").out)["damaged"]) == 1
    assert json.loads(adjudge(tmp_path, "doctor", "--json").out)["damaged"] == []


def test_a_damaged_page_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    store = judged(tmp_path)
    raw = bytearray(store.read_bytes())
    raw[4096 + 100 : 4096 * 3] = b"\xff" * (4096 * 2 - 100)
    store.write_bytes(raw)
    done = adjudge(tmp_path, "doctor")
    assert done.code == 2
    assert "damaged" in done.err or "malformed" in done.err
    assert "Traceback" not in done.err


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    done = adjudge(tmp_path, "doctor", "--store", "none.db")
    assert done.code == 2
    assert "none.db" in done.err
    assert not (tmp_path / "none.db").exists()

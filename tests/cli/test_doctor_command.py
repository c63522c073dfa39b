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
    how = ("-p", "geval/score", "-m", "fake:text=<score>4</score>", "--criterion", "clarity")
    assert adjudge(folder, "run", "items.jsonl", *how).code == 0
    return folder / "adjudge.db"


def test_a_sound_store_has_nothing_damaged(tmp_path: Path) -> None:
    judged(tmp_path)
    done = adjudge(tmp_path, "doctor", "--json")
    assert (done.code, done.json["damaged"]) == (0, [])


def test_a_damaged_reply_is_counted_and_set_aside(tmp_path: Path) -> None:
    store = judged(tmp_path)
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE replies SET tokens_out = tokens_out + 1 WHERE call = 1")
    connection.close()
    assert len(adjudge(tmp_path, "doctor", "--json").json["damaged"]) == 1
    assert adjudge(tmp_path, "doctor", "--json").json["damaged"] == []


def test_a_damaged_page_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    store = judged(tmp_path)
    raw = bytearray(store.read_bytes())
    raw[4096 + 100 : 4096 * 3] = b"\xff" * (4096 * 2 - 100)
    store.write_bytes(raw)
    done = adjudge(tmp_path, "doctor")
    assert done.code == 2
    assert "adjudge.db" in done.err
    assert "Traceback" not in done.err


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    done = adjudge(tmp_path, "doctor", "--store", "none.db")
    assert done.code == 2
    assert "none.db" in done.err
    assert not (tmp_path / "none.db").exists()

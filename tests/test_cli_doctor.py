"""`adjudge doctor` on stores that were damaged for real."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

ADJUDGE = str(Path(sys.executable).with_name("adjudge"))


def adjudge(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ADJUDGE, *arguments], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )


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
    assert adjudge(folder, *command).returncode == 0
    return folder / "adjudge.db"


def test_a_sound_store_is_said_to_be_sound(tmp_path: Path) -> None:
    judged(tmp_path)
    done = adjudge(tmp_path, "doctor")
    assert done.returncode == 0
    assert "1 run, the file is whole" in done.stdout
    assert "Every reply is as it was written" in done.stdout


def test_a_damaged_reply_is_counted_and_set_aside(tmp_path: Path) -> None:
    store = judged(tmp_path)
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE replies SET tokens_out = tokens_out + 1 WHERE call = 1")
    connection.close()
    assert len(json.loads(adjudge(tmp_path, "doctor", "--json").stdout)["damaged"]) == 1
    assert json.loads(adjudge(tmp_path, "doctor", "--json").stdout)["damaged"] == []


def test_a_damaged_page_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    store = judged(tmp_path)
    raw = bytearray(store.read_bytes())
    raw[4096 + 100 : 4096 * 3] = b"\xff" * (4096 * 2 - 100)
    store.write_bytes(raw)
    done = adjudge(tmp_path, "doctor")
    assert done.returncode == 2
    assert "damaged" in done.stderr or "malformed" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    done = adjudge(tmp_path, "doctor", "--store", "none.db")
    assert done.returncode == 2
    assert "none.db" in done.stderr
    assert not (tmp_path / "none.db").exists()

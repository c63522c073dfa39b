"""A store that was written before results were stored resumes without a new call, and exports the same rows.

`written_by_e1980e5` holds what the version of commit e1980e5 wrote: a store, its inputs and its exports.
Columns that came later stand after those that it had.
"""

from __future__ import annotations

import csv
import gzip
import io
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from running import adjudge

WRITTEN = Path(__file__).parent / "written_by_e1980e5"

DIRECT = ("-p", "prometheus/direct", "--rubric", "tact.toml")
RUNS = {
    "scores": ("items.jsonl", *DIRECT, "-m", "replay:items.replies.jsonl", "--samples", "2"),
    "noid": ("noid.jsonl", *DIRECT, "-m", "replay:noid.replies.jsonl"),
    "pairs": ("pairs.jsonl", "-p", "prometheus/pairwise", "--rubric", "tact.toml",
              "-m", "replay:pairs.replies.jsonl"),
    "unread": ("items.jsonl", "-p", "geval/score", "--criterion", "Is it tactful?",
               "--map", "task=instruction", "-m", "fake:text=Nothing to see"),
}  # fmt: skip
TABLES = ("runs", "items", "calls", "replies", "places", "judgments")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the older store beside its inputs."""
    monkeypatch.chdir(tmp_path)
    for path in WRITTEN.glob("*.*"):
        shutil.copy(path, tmp_path)
    (tmp_path / "store.db").write_bytes(gzip.decompress((WRITTEN / "store.db.gz").read_bytes()))
    return tmp_path / "store.db"


def test_who_reads_a_store_leaves_no_files_beside_it(store: Path) -> None:
    Path("labels.csv").write_text("item,criterion,rater,value\ni0,tact,ann,3\n")
    for command in (
        ("runs",),
        ("runs", "show", "scores"),
        ("report", "scores"),
        ("trust", "scores", "--labels", "labels.csv"),
        ("doctor",),
    ):
        assert adjudge(*command, "--store", store).code == 0, command
        assert sorted(Path().glob("store.db*")) == [Path("store.db"), Path("store.db.gz")], command


def counted(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        return {
            table: int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in TABLES
        }


@pytest.mark.parametrize("is_resumed", [False, True], ids=["as it is", "resumed"])
def test_an_older_store_exports_the_same_rows_and_needs_no_new_call(store: Path, is_resumed: bool) -> None:
    before = counted(store)
    for run, arguments in RUNS.items():
        if is_resumed:
            done = adjudge("run", *arguments, "--run", run, "--store", store, "-q")
            assert done.code == (4 if run == "unread" else 0), done.err
        rows = adjudge("export", run, "--store", store).out.encode()
        assert (
            b"".join(without_later(line) for line in rows.splitlines())
            == (WRITTEN / f"{run}.rows.jsonl").read_bytes()
        )
        assert adjudge("export", run, "-o", "new.csv", "--store", store).code == 0
        older = (WRITTEN / f"{run}.csv").read_bytes()
        assert first_columns(Path("new.csv").read_bytes(), older) == older
    assert counted(store) == before


def without_later(row: bytes) -> bytes:
    """A line without the keys that came later."""
    return row[: row.index(b',"evidence":')] + b"}\n"


def first_columns(table: bytes, older: bytes) -> bytes:
    """As many columns of a table as an older one has."""
    n = len(next(csv.reader(io.StringIO(older.decode()))))
    text = io.StringIO(newline="")
    csv.writer(text).writerows(row[:n] for row in csv.reader(io.StringIO(table.decode(), newline="")))
    return text.getvalue().encode()

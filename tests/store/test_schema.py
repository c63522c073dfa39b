"""A store is created private, brought up to date once, and
refuses what it cannot use with a reason and a remedy.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_store_records import a_call, a_judgment, a_reply, put_answered, started

from adjudge.errors import StoreError
from adjudge.store import open_store, schema
from adjudge.store.merge import merge
from adjudge.store.repair import examine

needs_root = pytest.mark.skipif(
    os.name != "posix" or os.getuid() != 0, reason="only root can become somebody else"
)


def test_a_new_store_and_its_log_can_be_read_by_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with open_store(tmp_path / "s.db") as store:
            asyncio.run(put_answered(store, started(store), 0, 1))
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"s.db": 0o600, "s.db-wal": 0o600, "s.db-shm": 0o600}


CREATE_AND_STOP = """
import os, sqlite3, sys
from adjudge.store import open_store

n_left = int(sys.argv[2])

def stop(*_):
    global n_left
    n_left -= 1
    if n_left == 0:
        os._exit(9)

sys.setprofile(lambda frame, event, what: stop() if event in ("call", "c_call") and (
    "/adjudge/store/" in frame.f_code.co_filename) else None)
open_store(sys.argv[1]).close()
sys.setprofile(None)
"""


@pytest.mark.slow
def test_a_kill_at_any_step_of_the_creation_leaves_no_half_store(tmp_path: Path) -> None:
    path, n_killed, step = tmp_path / "s.db", 0, 1
    while True:
        done = subprocess.run([sys.executable, "-c", CREATE_AND_STOP, path, str(step)], check=False)
        if path.exists():
            with open_store(path, write=False) as store:
                assert store.runs() == []
        if done.returncode == 0:
            break
        n_killed, step = n_killed + 1, step + 7
        for left in tmp_path.iterdir():
            left.unlink()
    assert n_killed > 10


def test_a_store_that_another_process_creates_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, link = tmp_path / "s.db", os.link

    def late(partial: Path, target: Path) -> None:
        monkeypatch.setattr(os, "link", link)
        with open_store(target) as other:
            started(other)
        link(partial, target)

    monkeypatch.setattr(os, "link", late)
    with open_store(path) as store:
        assert len(store.runs()) == 1
    assert [left.name for left in tmp_path.iterdir()] == ["s.db"]


def test_a_file_system_without_links_still_gets_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    with open_store(tmp_path / "s.db") as store:
        started(store)
    assert [left.name for left in tmp_path.iterdir()] == ["s.db"]


def test_what_a_killed_process_left_is_removed_when_it_is_old(tmp_path: Path) -> None:
    old, new = tmp_path / ".s.db.new-1", tmp_path / ".s.db.new-2"
    for left in (old, new):
        left.touch()
    os.utime(old, (0, 0))
    open_store(tmp_path / "s.db").close()
    assert sorted(left.name for left in tmp_path.iterdir()) == [".s.db.new-2", "s.db"]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW extra AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x FROM n",
        "CREATE TRIGGER theirs AFTER INSERT ON runs BEGIN DELETE FROM replies; END",
        "CREATE TABLE extra (x)",
        "CREATE INDEX extra ON runs (status)",
        "DROP TABLE migrations; CREATE VIEW migrations AS WITH RECURSIVE n(number) AS "
        "(SELECT 1 UNION ALL SELECT number FROM n) SELECT number FROM n",
        "DROP TABLE labels; CREATE VIEW labels AS WITH RECURSIVE n(id) AS "
        "(SELECT 1 UNION ALL SELECT id FROM n) SELECT id FROM n",
        "ALTER TABLE labels ADD COLUMN extra GENERATED ALWAYS AS (hex(zeroblob(100000000)))",
        "DROP TRIGGER run_in; CREATE TRIGGER run_in AFTER INSERT ON runs BEGIN DELETE FROM replies; END",
    ],
)
def test_what_adjudge_did_not_write_into_a_store_is_never_used(tmp_path: Path, statement: str) -> None:
    def unused(*_: object) -> Any:
        raise AssertionError

    theirs, ours = tmp_path / "theirs.db", tmp_path / "ours.db"
    with open_store(theirs) as store:
        started(store)
    with contextlib.closing(sqlite3.connect(theirs)) as connection:
        connection.executescript(statement)
    for write in (False, True):
        with pytest.raises(StoreError, match=r"did not write|is not as Adjudge writes it"):
            open_store(theirs, write=write)
    with pytest.raises(StoreError, match=r"did not write|is not as Adjudge writes it"):
        merge(ours, [theirs], parse_again=unused, calls_needed=unused)
    with pytest.raises(StoreError, match=r"did not write|is not as Adjudge writes it"):
        examine(theirs)


def test_a_closed_store_is_one_file_and_says_so_when_used(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        run = started(store)
    assert [path.name for path in tmp_path.iterdir()] == ["s.db"]
    with pytest.raises(StoreError, match="closed"):
        store.runs()
    with pytest.raises(StoreError, match="closed"):
        store.finish_run(run, "done")
    store.close()


def test_names_with_signs_of_an_address_are_plain_names(tmp_path: Path) -> None:
    for name in ("a?mode=memory#b.db", "100%25.db", "ü ñ.db"):
        open_store(tmp_path / name).close()
        assert (tmp_path / name).stat().st_size > 0


def test_durability_is_asked_of_the_disk(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        connection = store._access.connection
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_text(path: Path) -> None:
    path.write_text("item,score\n" * 200)


def anothers_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url)")
    connection.close()


def a_newer_store(path: Path) -> None:
    open_store(path).close()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("INSERT INTO migrations VALUES (99, 'm099_future', '')")
    connection.close()


def a_store_with_a_broken_page(path: Path) -> None:
    with open_store(path) as store:
        asyncio.run(put_answered(store, started(store), 0, 50))
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (a_folder, "cannot be opened|is a folder"),
        (a_text, "not an Adjudge store"),
        (anothers_database, "another program's database"),
        (a_newer_store, "newer Adjudge"),
        (a_store_with_a_broken_page, "damaged"),
    ],
)
def test_what_is_not_a_usable_store_is_refused_and_not_changed(
    tmp_path: Path, make: Callable[[Path], None], reason: str, write: bool
) -> None:
    path = tmp_path / "s.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError, match=reason) as error:
        open_store(path, write=write).runs()
    where, *remedy = str(error.value).split("\n")
    assert where.startswith(str(path))
    assert remedy
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize("write", [True, False])
def test_a_folder_that_is_not_there_is_named(tmp_path: Path, write: bool) -> None:
    with pytest.raises(StoreError, match=r"there is no (folder|store)[\s\S]*--store"):
        open_store(tmp_path / "absent" / "s.db", write=write)
    assert list(tmp_path.iterdir()) == []


def test_reading_does_not_create_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store"):
        open_store(tmp_path / "s.db", write=False)
    assert list(tmp_path.iterdir()) == []


def test_a_store_opened_for_reading_is_not_written(tmp_path: Path) -> None:
    open_store(tmp_path / "s.db").close()
    with open_store(tmp_path / "s.db", write=False) as store:
        assert store.runs() == []
        with pytest.raises(StoreError, match="reading only"):
            started(store)


def test_a_store_that_another_program_locks_is_an_error_after_the_wait(tmp_path: Path) -> None:
    open_store(tmp_path / "s.db").close()
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"locked by another program[\s\S]*Wait"):
        open_store(tmp_path / "s.db", busy_seconds=0.1)
    other.execute("ROLLBACK")
    with open_store(tmp_path / "s.db", busy_seconds=0.1) as store:
        run = started(store)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            store.finish_run(run, "done")
        other.execute("ROLLBACK")
        store.finish_run(run, "done")  # the same store goes on once the lock is gone
    other.close()


def test_steps_are_applied_once_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(tmp_path / "s.db") as store:
        started(store)

    def m099_more(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE runs ADD COLUMN note TEXT")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, m099_more))
    for write in (False, True, True):  # a reader, too, needs the new form
        with open_store(tmp_path / "s.db", write=write) as store:
            assert [run.name for run in store.runs()] == ["first"]
    connection = sqlite3.connect(tmp_path / "s.db")
    rows = connection.execute("SELECT number, name FROM migrations").fetchall()
    connection.close()
    names = [migration.__name__ for migration in schema.MIGRATIONS]
    assert names[-1] == "m099_more"
    assert rows == list(enumerate(names, start=1))


def test_a_step_that_fails_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(tmp_path / "s.db").close()

    def m002_broken(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE runs")
        connection.execute("SELECT * FROM nowhere")

    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, m002_broken))
        with pytest.raises(StoreError):
            open_store(tmp_path / "s.db")
    with open_store(tmp_path / "s.db") as store:
        assert store.runs() == []


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # what is tested is not to be done
def test_a_fork_must_open_the_store_for_itself(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        run = started(store)
        child = os.fork()
        if child == 0:
            try:
                store.finish_run(run, "done")
            except StoreError as error:
                os._exit(7 if "fork" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert store.run().status == "running"


def test_several_event_loops_and_threads_can_use_one_store(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        run = started(store)

        async def put(number: int) -> bool:
            call = a_call(number)
            return await store.put(run, number, 0, call, a_reply(call), a_judgment(call))

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            assert all(pool.map(lambda number: asyncio.run(put(number)), range(20)))
            counts = list(pool.map(lambda _: len(list(store.judgments(run))), range(4)))
    assert counts == [20] * 4


@needs_root
@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "write", "reason"),
    [
        (0o755, 0o644, True, "cannot be written|cannot be opened|readonly"),
        (0o755, 0o600, False, "cannot be opened"),
        (0o700, 0o644, True, "permission denied|cannot be opened|there is no"),
        (0o755, None, True, "permission denied"),
        (0o755, 0o644, False, "reads"),
    ],
)
def test_without_permission_there_is_a_message_or_the_store_can_be_read(
    folder_mode: int, file_mode: int | None, write: bool, reason: str
) -> None:
    """As a user to whom neither the folder nor the file belongs."""
    # Not pytest's own folder: other users may not enter that.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        if file_mode is not None:
            with open_store(path) as store:
                started(store)
            path.chmod(file_mode)
        Path(folder).chmod(folder_mode)
        said = as_nobody(path, write)
    assert any(part in said for part in reason.split("|")), said
    if reason != "reads":
        assert "--store" in said


def as_nobody(path: Path, write: bool) -> str:
    code = f"""
import os, sys
from adjudge.errors import StoreError
from adjudge.store import open_store
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    with open_store({str(path)!r}, write={write}) as store:
        print("reads", [run.name for run in store.runs()])
except StoreError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


@needs_root
@pytest.mark.parametrize("is_damaged", [False, True])
def test_doctor_examines_a_store_that_it_cannot_write(tmp_path: Path, is_damaged: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        with open_store(path) as store:
            run = started(store)
            asyncio.run(put_answered(store, run, 0, 3))
        if is_damaged:
            connection = sqlite3.connect(path)
            with connection:
                connection.execute("UPDATE replies SET text = 'other' WHERE call = 2")
            connection.close()
        copy = shutil.copy(path, tmp_path)
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        before = path.read_bytes()
        # The first time as root, on a copy: another user may not read the modules that are imported there.
        code = f"""
import contextlib, io, os, sys
from adjudge.cli import main
sys.argv = ["adjudge", "doctor", "--store", {str(copy)!r}]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.argv[-1] = {str(path)!r}
main()
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert path.read_bytes() == before
        assert os.listdir(folder) == ["s.db"]
        Path(folder).chmod(0o755)
    assert "1 run, the file is intact" in done.stdout
    if is_damaged:
        assert (done.returncode, done.stderr) == (2, "")
        assert "1 reply is damaged, but could not be quarantined.\n" in done.stdout
        assert "s.db" in done.stdout.splitlines()[-2] + done.stdout.splitlines()[-1]
    else:
        assert done.returncode == 0, done.stderr

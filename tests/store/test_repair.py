"""Rows that are damaged or missing are an error, never a shorter table; and what is whole can be saved."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from msgspec import structs
from test_store_records import a_call, an_error, an_item, put_answered, started

from adjudge.errors import StoreError
from adjudge.records import Label, Note, Review
from adjudge.store import RunRow, Store, browsing, database_file, open_store, schema
from adjudge.store.repair import examine, repair
from running import adjudge, older

N = 40
READ = {
    "judgments": lambda store, run: list(store.judgments(run)),
    "items": lambda store, run: list(store.items(run)),
    "asked": lambda store, run: list(store.asked(run)),
    "totals": lambda store, run: store.totals(run),
    "labels": lambda store, run: store.labels(run),
    "reviews": lambda store, run: store.reviews(run),
    "notes": lambda store, run: store.notes(run),
    "invitations": lambda store, run: store.invitations("rater", run),
    "runs": lambda store, _: store.runs(),
    "run": lambda store, _: store.run("first"),
    "call": lambda store, run: store.call(run, a_call(3).key),
    "between": lambda store, run: browsing.judged_between(store, run, 0, N),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a finished run of forty items, one failed call, and ten labels."""
    path = tmp_path / "s.db"

    async def judge(store: Store, run: RunRow) -> None:
        await put_answered(store, run, 0, N)
        await store.put_items(run, N, [an_item(N)])
        await store.put(run, N, 0, a_call(N), an_error(a_call(N)), None)

    with open_store(path) as store:
        run = started(store)
        asyncio.run(judge(store, run))
        store.put_labels([Label(f"item-{k}", "polite", "ann", float(k % 5)) for k in range(10)], run)
        for k in range(3):
            store.put_review(run, a_review(k))
            store.put_note(run, Note(f"item-{k}", "ann", "odd", ("check", "长")))
        store.invite("rater", "ann", "a hash", run)
        store.finish_run(run, "done")
    return path


def a_review(k: int) -> Review:
    return Review(
        f"item-{k}", "tone@1", "polite", "judge", "ann", "judge", None, 4.0, 2.5, "people", "says why"
    )


def alter(path: Path, statement: str) -> None:
    """Change rows as damage would: without the triggers that count them."""
    connection = sqlite3.connect(path)
    with connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)
    connection.close()


DAMAGES = [
    ("DELETE FROM judgments WHERE item = 3", ["judgments", "totals"]),
    ("UPDATE judgments SET body = x'00' || body WHERE item = 3", ["judgments", "between"]),
    ("UPDATE judgments SET item = 400 WHERE item = 3", ["judgments"]),
    ("DELETE FROM places WHERE item = 3", ["judgments", "asked", "totals"]),
    ("UPDATE places SET call = 5 WHERE item = 3", ["judgments", "between"]),
    ("UPDATE places SET error_kind = 'timeout' WHERE error_kind IS NOT NULL", ["judgments"]),
    ("DELETE FROM calls WHERE id = 4", ["judgments", "asked"]),
    ("UPDATE calls SET messages = x'00' || messages WHERE id = 4", ["call"]),
    ("DELETE FROM items WHERE seq = 3", ["judgments", "items", "totals", "between"]),
    ("UPDATE items SET id = 'other' WHERE seq = 3", ["judgments", "items"]),
    ("UPDATE items SET checksum = NULL WHERE seq = 3", ["judgments", "items"]),
    ("UPDATE slots SET model = 'other'", ["judgments"]),
    ("DELETE FROM slots", ["judgments"]),
    ("DELETE FROM labels WHERE id = 3", ["labels"]),
    ("UPDATE labels SET value = '1.5' WHERE id = 3", ["labels"]),
    ("UPDATE runs SET manifest = x'0041'", ["runs", "run"]),
    ("UPDATE runs SET name = 'second'", ["runs"]),
    ("DELETE FROM runs", ["runs", "run"]),
    ("DELETE FROM counts WHERE run <> 0", ["judgments", "runs"]),
    ("UPDATE counts SET judgments = judgments + 1", ["judgments", "totals"]),
    ("UPDATE counts SET items = items - 1 WHERE run <> 0", ["items", "totals"]),
    ("UPDATE counts SET judgments = x'39' WHERE run <> 0", ["judgments", "totals"]),
    ("UPDATE counts SET items = 'many' WHERE run <> 0", ["items", "totals"]),
    ("DELETE FROM counts WHERE run = 0", ["labels", "reviews", "notes"]),
    ("DELETE FROM reviews WHERE id = 2", ["reviews"]),
    ("UPDATE reviews SET verdict = 'people' WHERE id = 2", ["reviews"]),
    ("DELETE FROM notes WHERE id = 1", ["notes"]),
    ("UPDATE notes SET tags = '[]' WHERE id = 1", ["notes"]),
    ("DELETE FROM replies", []),
    ("DELETE FROM replies WHERE call = 4", []),
    ("INSERT INTO owners (machine, pid, started) VALUES (x'00', 'a', 1)", ["runs", "run"]),
    ("INSERT INTO owners (machine, pid, started) VALUES ('no host', 1, '1')", ["runs"]),
]


@pytest.mark.parametrize(("statement", "refused"), DAMAGES)
def test_damage_is_an_error_that_says_what_to_do(path: Path, statement: str, refused: list[str]) -> None:
    with open_store(path, write=False) as store:
        run = store.run("first")
        for read in READ.values():
            read(store, run)
    alter(path, statement)
    with open_store(path, write=False) as store:
        for name in refused:
            with pytest.raises(StoreError, match=r"damaged[\s\S]*doctor"):
                READ[name](store, run)
    assert examine(path) != []


def test_a_whole_store_has_no_damage(path: Path) -> None:
    assert examine(path) == []


def test_the_counts_follow_every_change(path: Path) -> None:
    with open_store(path) as store:
        run = store.run("first")
        store.replace_judgments(run, [])
        store.put_labels([Label("item-1", "polite", "ann", 2.0), Label("item-30", "polite", "ben", 2.0)], run)
        assert store.delete_label(run, Label("item-30", "polite", "ben", 2.0))
        store.put_review(run, structs.replace(a_review(1), verdict="unclear"))
        assert store.delete_review(run, a_review(2))
        assert not store.delete_review(run, a_review(2))
        store.put_note(run, Note("item-1", "ann", "changed"))
        store.put_note(run, Note("item-2", "ann"))
        assert [(note.item, note.text) for note in store.notes(run)] == [
            ("item-0", "odd"),
            ("item-1", "changed"),
        ]
        assert [review.verdict for review in store.reviews(run)] == ["judge", "unclear"]
        store.rename_run("first", "renamed")
        store.note_adjustments(run, ["no seed"])
        other = store.start_run("other", {"items": {}}, "two")
        asyncio.run(put_items_of(store, other))
        store.finish_run(other, "done")
        for name in READ.keys() - {"run"}:
            READ[name](store, store.run("renamed"))
        store.delete_run("renamed")
        assert [row.name for row in store.runs()] == ["other"]
        assert len(store.labels()) == 10
        assert store.reviews(run) == [] == store.notes(run)
    assert examine(path) == []


async def put_items_of(store: Store, run: RunRow) -> None:
    await store.put_items(run, 0, [an_item(k) for k in range(3)])


def test_repair_saves_what_is_whole_and_the_run_can_go_on(path: Path, tmp_path: Path) -> None:
    alter(path, "UPDATE judgments SET body = x'00' WHERE item IN (3, 4)")
    alter(path, "UPDATE items SET id = 'other' WHERE seq = 7")
    alter(path, "DELETE FROM calls WHERE id = 10")
    alter(path, "UPDATE labels SET value = '9' WHERE id = 2")
    alter(path, "UPDATE reviews SET note = '' WHERE id = 2")
    alter(path, "DELETE FROM notes WHERE id = 3")
    before = path.read_bytes()
    out = tmp_path / "saved.db"
    (saved,), damage = repair(path, out)
    assert path.read_bytes() == before
    assert (saved.items, saved.items_written) == (N, N + 1)
    assert (saved.calls, saved.calls_written) == (N - 1, N + 1)
    assert (saved.judgments, saved.judgments_written) == (N - 4, N)
    lost = {"items", "calls", "judgments", "labels", "reviews", "notes", "replies"}
    assert {part.what for part in damage} == lost
    assert examine(out) == []
    with open_store(out) as store:
        run = store.run("first")
        assert run.status == "interrupted"
        assert len(store.labels(run)) == 9
        assert [review.item for review in store.reviews(run)] == ["item-0", "item-2"]
        assert [note.tags for note in store.notes(run)] == [("check", "长")] * 2
        assert sum(judged.judgment is not None for judged in store.judgments(run)) == N - 4
        # Replies that were paid for are there, also those whose item is lost.
        assert len(store.reply_for([a_call(k).key for k in range(N)])) == N - 1
        assert store.start_run("first", run.manifest, "one").is_resumed


def test_repair_reads_around_a_page_that_is_gone(path: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(path)
    pages = connection.execute(
        "SELECT pageno FROM dbstat WHERE name = 'judgments' AND pagetype = 'leaf' ORDER BY pageno"
    ).fetchall()
    connection.close()
    data = bytearray(path.read_bytes())
    assert len(pages) > 1
    start = (pages[0][0] - 1) * 4096
    data[start : start + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"), open_store(path, write=False) as store:
        list(store.judgments(store.run("first")))
    (saved,), _ = repair(path, tmp_path / "saved.db")
    assert (saved.items, saved.calls) == (N + 1, N + 1)
    assert 0 < saved.judgments < N
    assert examine(tmp_path / "saved.db") == []


def test_replies_that_are_gone_are_requested_again_after_a_repair(path: Path, tmp_path: Path) -> None:
    alter(path, "DELETE FROM replies WHERE call IN (4, 5)")
    assert [(part.what, part.run, part.n) for part in examine(path)] == [("replies", "first", 2)]
    saved, _ = repair(path, tmp_path / "new.db")
    assert all(run.is_whole for run in saved)
    assert examine(tmp_path / "new.db") == []
    with open_store(tmp_path / "new.db") as store:
        run = store.run("first")
        assert len(list(store.judgments(run))) == N + 1
        assert {item for item, _ in store.finished(run, 0, N)} == set(range(N)) - {3, 4}


def test_a_reply_that_was_set_aside_is_not_missing(path: Path) -> None:
    alter(path, "UPDATE replies SET text = 'other' WHERE call = 4")
    assert adjudge("doctor", "--store", path).code == 0
    assert examine(path) == []


def test_a_store_that_lost_replies_is_not_merged(path: Path, tmp_path: Path) -> None:
    alter(path, "DELETE FROM replies")
    done = adjudge("runs", "merge", path, "--store", tmp_path / "all.db")
    assert done.code == 2
    assert "40 replies of run first" in done.err
    assert adjudge("doctor", "--store", path).code == 2


def test_a_damaged_list_of_tables_is_a_message(path: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    data = path.read_bytes()
    name = b"tablequarantinequarantine"
    assert name in data
    path.write_bytes(
        data.replace(name, b"tablequ\xffrantine\xffuarantine").replace(
            b"CREATE TABLE quarantine", b"CREATE TABLF quarantine"
        )
    )
    for arguments in (
        ("runs", "merge", path, "--store", tmp_path / "all.db"),
        ("doctor", "--store", path),
        ("runs", "--store", path),
    ):
        done = adjudge(*arguments)
        assert done.code == 2
        assert "damaged" in done.err, done.err


def test_repair_overwrites_nothing_and_leaves_nothing_half_done(path: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken.db"
    taken.write_text("mine")
    with pytest.raises(StoreError, match="there is a file"):
        repair(path, taken)
    assert taken.read_text() == "mine"
    path.write_bytes(b"\0" * 8192)
    with pytest.raises(StoreError):
        repair(path, tmp_path / "new.db")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["s.db", "taken.db"]


def read_all(store: Store) -> dict[str, object]:
    return {name: read(store, store.run("first")) for name, read in READ.items()}


def lost_since(version: int) -> dict[str, object]:
    """What a store of an older version cannot have had."""
    return {name: [] for name, (since, _) in schema._EMPTY_BEFORE.items() if since > version and name in READ}


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("version", range(1, len(schema.MIGRATIONS)))
def test_an_older_store_is_upgraded_and_reads_the_same(path: Path, write: bool, version: int) -> None:
    with open_store(path) as store:
        right = read_all(store) | lost_since(version)
    older(path, version)
    with open_store(path, write=write) as store:
        assert read_all(store) == right
    assert examine(path) == []
    alter(path, "DELETE FROM judgments WHERE item = 3")
    with pytest.raises(StoreError, match="damaged"), open_store(path, write=False) as store:
        list(store.judgments(store.run("first")))


@pytest.mark.parametrize("version", range(1, len(schema.MIGRATIONS)))
def test_an_older_store_that_cannot_be_written_is_read_as_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    with open_store(path) as store:
        right = read_all(store) | lost_since(version)
    older(path, version)
    connect = database_file.connect

    def refused(where: Path, *, write: bool, busy_seconds: float) -> sqlite3.Connection:
        if write:
            raise PermissionError(13, "Permission denied", str(where))
        return connect(where, write=write, busy_seconds=busy_seconds)

    monkeypatch.setattr(database_file, "connect", refused)
    before = path.read_bytes()
    with open_store(path, write=False) as store:
        assert read_all(store) == right
    assert path.read_bytes() == before
    assert examine(path) == []


def test_a_store_that_is_deleted_is_noticed_at_the_next_commit(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with open_store(path) as store:
        run = started(store)
        asyncio.run(put_answered(store, run, 0, 5))
        path.rename(tmp_path / "moved.db")
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            asyncio.run(put_one(store, run))
        path.write_bytes((tmp_path / "moved.db").read_bytes())  # another file of the same name
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            asyncio.run(put_one(store, run))
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            store.finish_run(run, "done")


async def put_one(store: Store, run: RunRow) -> None:
    call = a_call(7)
    await store.put(run, 7, 0, call, an_error(call), None)


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "a\x00", "a\u2028b", "x" * 201])
def test_a_run_has_a_short_name_of_printable_characters(tmp_path: Path, name: str) -> None:
    with open_store(tmp_path / "s.db") as store:
        with pytest.raises(StoreError, match="name of a run"):
            started(store, name)
        started(store, "fine")
        with pytest.raises(StoreError, match="name of a run"):
            store.rename_run("fine", name)
        assert started(store, "é" * 200, "two").name == "é" * 200

"""The store: one SQLite file that holds every run, call, reply and judgment, opened by `open_store`.

How the engine asks without paying twice, beside other processes on the same file:

    claim = await store.claim(calls)         # durable before anything is sent
    replies = store.reply_for(claim.answered)
    for each call in claim.mine:             # send it, then either of
        await store.put(run, item, slot, call, reply, judgment)
        await store.release([call.key])
    await store.wait(claim.elsewhere)        # until one is answered or given up; then claim those again

This file only hands work on: what writes goes to the writer's thread, what reads has a
connection of its own per thread. A method named with `await` above returns a future that
is done when the row is durable; all others block for one commit at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from adjudge.errors import StoreError
from adjudge.records import Call, Item, Judgment, Label, Reply
from adjudge.store import labels, owners, reading, rereading, runs, schema
from adjudge.store.calls import CallWriter, Claim
from adjudge.store.faults import store_error
from adjudge.store.writer import Put, Writer

T = TypeVar("T")

RESERVE_BYTES = 4 << 20
"""With less free than this no new call is claimed, so that there is room for the replies to those in flight."""

LINGER_SECONDS = 0.002
"""How long the writer lets others join a commit. Shorter than the commit itself takes."""

_BATCH = 1000


def open_store(path: str | Path, *, write: bool = True, busy_seconds: float = 30.0) -> Store:
    """Open a store, for reading only or for writing; for writing it is created where there is none."""
    where = Path(path)
    try:
        if write:
            schema.create_file(where)
        elif not where.exists():
            raise StoreError(
                f"{where}: there is no store.\nStart a run with `adjudge run`, or give the file with --store."
            )
        return Store(where, write=write, busy_seconds=busy_seconds)
    except (sqlite3.Error, OSError) as fault:
        raise store_error(where, fault) from fault


class Store:
    """An open store. Not to be used across a fork; to be closed, best by `with`."""

    def __init__(self, where: Path, *, write: bool, busy_seconds: float) -> None:
        self.path = where
        self._busy_seconds = busy_seconds
        self._pid = os.getpid()
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._watch = owners.Watch()
        self._is_open = True
        self._writer: Writer | None = None
        if write or self._is_older():
            self._open_writer()
        if not write:
            self.close_writer()

    def _is_older(self) -> bool:
        return schema.version_of(self._reader(), self.path) < len(schema.MIGRATIONS)

    def _open_writer(self) -> None:
        connection = schema.connect(self.path, write=True, busy_seconds=self._busy_seconds)
        try:
            schema.migrate(connection, self.path, busy_seconds=self._busy_seconds)
            self._calls = CallWriter(connection)
            self._calls.owner = self._sign_in(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self._writer = Writer(
            connection,
            self.path,
            put_all=self._calls.put_all,
            forget=self._calls.forget,
            beat=self._calls.beat,
            linger_seconds=LINGER_SECONDS,
        )

    def _sign_in(self, connection: sqlite3.Connection) -> int:
        connection.execute("BEGIN IMMEDIATE")
        try:
            gone = [owner for owner in owners.owners(connection) if owners.is_gone(owner)]
            # A killed process cannot harm the file: the system still writes what it was given.
            # After a power failure the disk has to be believed, so it is looked at first.
            if any(owners.was_cut_off(owner) for owner in gone):
                _check_pages(connection, self.path)
            for owner in gone:
                owners.leave(connection, owner.id)
            number = owners.enter(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return number

    # Opening and closing

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what waits and sign out: what was claimed and not put is free for others."""
        self._is_open = False
        self.close_writer()
        for connection in self._readers:
            connection.close()
        self._readers.clear()

    def close_writer(self) -> None:
        """Stop writing; the store can still be read."""
        if self._writer is None or os.getpid() != self._pid:
            return
        writer, self._writer = self._writer, None
        # On a full disk even signing out may fail; the claims then end with this process.
        with contextlib.suppress(StoreError):
            writer.now(lambda: owners.leave(self._connection, self._calls.owner))
        writer.close()
        self._connection.close()

    # Runs

    def start_run(self, name: str | None, manifest: Mapping[str, Any], identity: str) -> runs.RunRow:
        """Begin a run, or go on with it: that of this name, or without a name the last of this identity.

        A run of this name with another identity is an error that says which parts of the
        manifests differ. `command` and `version` may differ.
        """
        return self._do(lambda: runs.start(self._connection, name, identity, manifest, self._calls.owner))

    def finish_run(self, run: runs.RunRow, status: runs.RunStatus, seconds: float = 0.0) -> None:
        """Say how a start of a run ended, and how long it took by the monotonic clock."""
        self._do(lambda: runs.finish(self._connection, run.id, status, seconds))

    def runs(self) -> list[runs.RunRow]:
        """All runs, in the order in which they were last started."""
        return self._read(runs.all_runs)

    def run(self, name: str = "last") -> runs.RunRow:
        """The run of that name; `last` is the one last started."""
        return self._read(lambda connection: runs.one_run(connection, name))

    def rename_run(self, old: str, new: str) -> None:
        self._do(lambda: runs.rename(self._connection, old, new))

    def delete_run(self, name: str) -> None:
        """Delete a run, and the calls and replies that no other run uses. The file keeps its size."""
        self._do(lambda: runs.delete(self._connection, name))

    def put_items(self, run: runs.RunRow, first: int, items: Sequence[Item]) -> Awaitable[None]:
        """Store items; `first` is the number of the first in its file, from 0. Known ones are compared."""
        return self._soon(lambda: runs.put_items(self._connection, run.id, first, items))

    # Calls

    def claim(self, calls: Sequence[Call]) -> Awaitable[Claim]:
        """Take those calls that nobody has asked and nobody is asking, before they are sent."""
        return self._soon(lambda: self._claim(calls))

    def _claim(self, calls: Sequence[Call]) -> Claim:
        free = shutil.disk_usage(self.path.parent).free
        if free < RESERVE_BYTES:
            raise StoreError(
                f"{self.path}: the disk is nearly full ({free >> 10} KB free), so nothing more is asked.\n"
                "Free some space and give the same command again: it goes on from here."
            )
        return self._calls.claim(calls)

    def release(self, keys: Sequence[str]) -> Awaitable[None]:
        """Give back claimed calls that will not be asked after all."""
        return self._soon(lambda: self._calls.release(keys))

    def put(
        self,
        run: runs.RunRow,
        item: int,
        slot: int,
        call: Call,
        reply: Reply | None,
        judgment: Judgment | None,
    ) -> Awaitable[bool]:
        """Store a call at its place in a run with its reply and what was read from it.

        `item` is the item's number, -1 for a call of the run as a whole; `slot` numbers the
        calls of an item, the same for all items, and decides their order. Without a reply
        the one in the store is meant. A reply with an error is counted in the run, but
        the call stays to be asked. False: the call has another reply already, which
        stands; read that one and put its judgment.
        """
        self._check_writable()
        assert self._writer is not None
        return self._writer.soon(Put(run.id, item, slot, call, reply, judgment))

    async def wait(self, keys: Collection[str]) -> None:
        """Return when one or more of these calls are no longer being asked: answered, failed or given up."""
        pause = 0.05
        while keys and len(self._being_asked(keys)) == len(set(keys)):
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.5)

    def _being_asked(self, keys: Collection[str]) -> dict[str, int]:
        held = self._read(lambda connection: reading.held(connection, keys))
        live = {owner.id for owner in self.owners() if not self._watch.is_lost(owner)}
        return {key: owner for key, owner in held.items() if owner in live}

    def owners(self) -> list[owners.Owner]:
        """Who has this store open for writing, this process included."""
        return self._read(owners.owners)

    def reply_for(self, keys: Collection[str]) -> dict[str, Reply]:
        """The replies that are there, by key. A damaged one is set aside and counts as absent."""
        replies: dict[str, Reply] = {}
        for batch in _batches(keys):
            sound, damaged = self._read(
                lambda connection, batch=batch: reading.replies_by_key(connection, batch)
            )
            replies.update(sound)
            self._set_aside(damaged)
        return replies

    def answered(self, keys: Collection[str]) -> set[str]:
        """Which of the calls have a reply, without reading it."""
        return self._read(lambda connection: reading.answered(connection, keys))

    def finished(self, run: runs.RunRow, first: int, last: int) -> set[tuple[int, int]]:
        """The places (item, slot) of the items `first` to `last` that need no work: judged, from a sound reply."""
        done, damaged = self._read(lambda connection: reading.finished(connection, run.id, first, last))
        self._set_aside(damaged)
        return done

    # Streams, in the order of the items

    def judgments(self, run: runs.RunRow) -> Iterator[reading.Judged]:
        """Every place of a run, with its judgment or its error."""
        return self._stream(lambda connection: reading.judgments(connection, run.id))

    def asked(self, run: runs.RunRow) -> Iterator[reading.Asked]:
        """Every place of a run that has a reply, with all that is needed to read it anew."""
        damaged: list[reading.DamagedReply] = []
        yield from self._stream(lambda connection: reading.asked(connection, run.id, damaged))
        self._set_aside(damaged)

    def items(self, run: runs.RunRow) -> Iterator[Item]:
        """The items of a run."""
        return self._stream(lambda connection: reading.items(connection, run.id))

    def replace_judgments(self, run: runs.RunRow, read: Iterable[rereading.NewJudgment]) -> int:
        """Replace judgments, given as (item, slot, judgment), all at once or not at all; returns how many."""
        number, new_reading = self._do(lambda: rereading.begin(self._connection, run.name))
        n_written = 0
        for page in _batches(read):
            self._do(lambda page=page: rereading.write(self._connection, number, new_reading, page))
            n_written += len(page)
        self._do(lambda: rereading.make_valid(self._connection, number, new_reading, n_written))
        return n_written

    # What a run comes to

    def totals(self, run: runs.RunRow) -> reading.Totals:
        """Items, calls, failures, tokens and costs of a run, counted now."""
        return self._read(lambda connection: reading.totals(connection, run.id))

    def models_seen(self, run: runs.RunRow) -> list[reading.ModelSeen]:
        """What the models called themselves; two lines for one model mean that it was changed."""
        return self._read(lambda connection: reading.models_seen(connection, run.id))

    def call(self, run: runs.RunRow, key: str) -> Call | None:
        """One call of a run with its messages."""
        return self._read(lambda connection: reading.call_by_key(connection, run.id, key))

    # Labels

    def put_labels(self, given: Sequence[Label], run: runs.RunRow | None = None) -> None:
        """Store labels; a rater's later label takes the place of the earlier one."""
        self._do(lambda: labels.put_labels(self._connection, given, None if run is None else run.id))

    def labels(self, run: runs.RunRow | None = None) -> list[Label]:
        """The labels given to the items of a run, or all in the store."""
        return self._read(lambda connection: labels.all_labels(connection, None if run is None else run.id))

    # Damage

    def verify(self) -> list[str]:
        """Look at the whole file; set damaged replies aside. Returns the keys of the calls to be asked again."""
        self._read(lambda connection: _check_pages(connection, self.path))
        damaged = list(self._stream(reading.all_damaged))
        self._set_aside(damaged)
        return [key for key, _, _ in damaged]

    def _set_aside(self, damaged: Sequence[reading.DamagedReply]) -> None:
        # Whoever only reads treats them as absent; whoever writes next will set them aside.
        if damaged and self._writer is not None:
            self._do(lambda: self._calls.set_aside(damaged))

    # Handing on

    def _check_open(self) -> None:
        if not self._is_open:
            raise StoreError(f"{self.path}: the store has been closed.\nOpen it again.")
        if os.getpid() != self._pid:
            raise StoreError(f"{self.path}: the store was opened before a fork.\nOpen it in the new process.")

    def _check_writable(self) -> None:
        self._check_open()
        if self._writer is None:
            raise StoreError(f"{self.path}: the store was opened for reading only.\nOpen it for writing.")

    def _do(self, work: Callable[[], T]) -> T:
        self._check_writable()
        assert self._writer is not None
        return self._writer.now(work)

    def _soon(self, work: Callable[[], T]) -> Awaitable[T]:
        self._check_writable()
        assert self._writer is not None
        return self._writer.soon(work)

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = schema.connect(self.path, write=False, busy_seconds=self._busy_seconds)
            self._local.connection = connection
            self._readers.append(connection)
        return connection

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._check_open()
        try:
            return work(self._reader())
        except (sqlite3.Error, StoreError) as fault:
            raise store_error(self.path, fault) from fault

    def _stream(self, work: Callable[[sqlite3.Connection], Iterator[T]]) -> Iterator[T]:
        self._check_open()
        try:
            yield from work(self._reader())
        except sqlite3.Error as fault:
            raise store_error(self.path, fault) from fault


def _check_pages(connection: sqlite3.Connection, path: Path) -> None:
    (problem,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        raise StoreError(
            f"{path}: the store is damaged ({problem}).\nPut a backup in its place, or move the file away and start "
            "anew; `sqlite3 FILE .recover` saves what can still be read."
        )


def _batches(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while batch := list(itertools.islice(rest, _BATCH)):
        yield batch

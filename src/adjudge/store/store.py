"""The store: one SQLite file that holds every run, call, reply and judgment, opened by `open_store`.

How the engine asks without paying twice, beside other processes on the same file:

    claim = await store.claim(calls)         # durable before anything is sent
    replies = store.reply_for(claim.answered)
    for each call in claim.mine:             # send it, then either of
        await store.put(run, item, slot, call, reply, judgment)
        await store.release([call.key])
    await store.wait(claim.elsewhere)        # until one is answered or given up; then claim those again

A method with `await` above returns a future that is done when the row is durable; every
other one that writes blocks for one commit. This file only names what can be done with a
store; how, is in the modules beside it.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import sqlite3
import time
from collections.abc import Awaitable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from ..errors import StoreError
from ..records import Call, Item, Judgment, Label, Reply
from . import owners, reading, runs, schema, stored_labels
from .calls import Claim
from .connection import Access, check_pages
from .runs import NewJudgment, RunRow, RunStatus
from .sqlite_errors import is_explained, store_error
from .writer import Put

T = TypeVar("T")

RESERVE_BYTES = 4 << 20
"""With less free than this no new call is claimed, so that there is room for the replies to those in flight."""

ROOM_SECONDS = 0.02
"""How long a look at the free space holds. Nothing that comes in meanwhile fills the reserve."""

_BATCH = 1000


def open_store(path: str | Path, *, write: bool = True, busy_seconds: float = 30.0) -> Store:
    """Open a store, for reading only or for writing; for writing it is created where there is none."""
    where = Path(path)
    try:
        if where.is_dir():
            raise StoreError(f"{where}: this is a folder.\nGive the name of a file with --store.")
        if write:
            schema.create_file(where)
        elif not where.exists():
            raise StoreError(
                f"{where}: there is no store.\nStart a run with `adjudge run`, or give the file with --store."
            )
        return Store(Access(where, write=write, busy_seconds=busy_seconds))
    except (sqlite3.Error, OSError) as fault:
        if isinstance(fault, sqlite3.Error) and not is_explained(fault):
            _look_for_damage(where)
        raise store_error(where, fault) from fault


def _look_for_damage(where: Path) -> None:
    """A damaged page can make SQLite say anything; raises where that is the reason."""
    with (
        suppress(sqlite3.Error, OSError),
        closing(schema.connect(where, write=False, busy_seconds=1.0)) as looking,
    ):
        check_pages(looking, where)


class Store:
    """An open store. Not to be used across a fork; to be closed, best by `with`."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._has_room_until = 0.0

    @property
    def path(self) -> Path:
        return self._access.path

    # Opening and closing

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what waits and sign out: what was claimed and not put is free for others."""
        self._access.close()

    # Runs

    def start_run(self, name: str | None, manifest: Mapping[str, Any], identity: str) -> RunRow:
        """Begin a run, or go on with it: that of this name, or without a name the last of this identity.

        A run of this name with another identity is an error that says which parts of the
        manifests differ. `command` and `version` may differ.
        """
        return self._access.do(
            lambda: runs.start(self._access.connection, name, identity, manifest, self._access.calls.owner)
        )

    def finish_run(self, run: RunRow, status: RunStatus, seconds: float = 0.0) -> None:
        """Say how a start of a run ended, and how long it took by the monotonic clock."""
        self._access.do(lambda: runs.finish(self._access.connection, run.id, status, seconds))

    def note_adjustments(self, run: RunRow, told: Sequence[str]) -> None:
        """Keep with a run what was asked of its models and not sent. No part of its identity."""
        self._access.do(lambda: runs.note_adjustments(self._access.connection, run.id, told))

    def runs(self) -> list[RunRow]:
        """All runs, in the order in which they were last started."""
        return self._access.read(runs.all_runs)

    def run(self, name: str = "last") -> RunRow:
        """The run of that name; `last` is the one last started."""
        return self._access.read(lambda connection: runs.one_run(connection, name))

    def rename_run(self, old: str, new: str) -> None:
        self._access.do(lambda: runs.rename(self._access.connection, old, new))

    def delete_run(self, name: str) -> None:
        """Delete a run, and the calls and replies that no other run uses. The file keeps its size."""
        self._access.do(lambda: runs.delete(self._access.connection, name))

    def put_items(self, run: RunRow, first: int, items: Sequence[Item]) -> Awaitable[None]:
        """Store items; `first` is the number of the first in its file, from 0. Known ones are compared."""
        return self._access.soon(lambda: runs.put_items(self._access.connection, run.id, first, items))

    # Calls

    def claim(self, calls: Sequence[Call]) -> Awaitable[Claim]:
        """Take those calls that nobody has asked and nobody is asking, before they are sent."""
        return self._access.soon(lambda: self._claim(calls))

    def _claim(self, calls: Sequence[Call]) -> Claim:
        self.check_room()
        return self._access.calls.claim(calls)

    def check_room(self) -> None:
        """`StoreError` where the disk has no room to spare; to be asked before each call that costs money."""
        now = time.monotonic()
        if now < self._has_room_until:
            return
        self._has_room_until = now + ROOM_SECONDS
        free = shutil.disk_usage(self.path.parent).free
        if free < RESERVE_BYTES:
            self._has_room_until = 0.0
            raise StoreError(
                f"{self.path}: the disk is nearly full ({free >> 10} KB free), so nothing more is asked.\n"
                "Free some space and give the same command again: it goes on from here."
            )

    def release(self, keys: Sequence[str]) -> Awaitable[None]:
        """Give back claimed calls that will not be asked after all."""
        return self._access.soon(lambda: self._access.calls.release(keys))

    def put(
        self,
        run: RunRow,
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
        return self._access.soon(Put(run.id, item, slot, call, reply, judgment))

    async def wait(self, keys: Collection[str]) -> None:
        """Return when one or more of these calls are no longer being asked: answered, failed or given up."""
        pause = 0.05
        while keys and len(self._being_asked(keys)) == len(set(keys)):
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.5)

    def _being_asked(self, keys: Collection[str]) -> dict[str, int]:
        held = self._access.read(lambda connection: reading.held(connection, keys))
        # The same watch as the claims': both must come to the same view of who is lost.
        watch = self._access.calls.watch
        live = {owner.id for owner in self.owners() if not watch.is_lost(owner)}
        return {key: owner for key, owner in held.items() if owner in live}

    def owners(self) -> list[owners.Owner]:
        """Who has this store open for writing, this process included."""
        return self._access.read(owners.owners)

    def reply_for(self, keys: Collection[str]) -> dict[str, Reply]:
        """The replies that are there, by key. A damaged one is set aside and counts as absent."""
        replies: dict[str, Reply] = {}
        for batch in _batches(keys):
            sound, damaged = self._access.read(partial(reading.replies_by_key, keys=batch))
            replies.update(sound)
            self._set_aside(damaged)
        return replies

    def answered(self, keys: Collection[str]) -> set[str]:
        """Which of the calls have a reply, without reading it."""
        return self._access.read(lambda connection: reading.answered(connection, keys))

    def finished(self, run: RunRow, first: int, last: int) -> set[tuple[int, int]]:
        """The places (item, slot) of the items `first` to `last` that need no work: judged, from a sound reply."""
        done, damaged = self._access.read(
            lambda connection: reading.finished(connection, run.id, first, last)
        )
        self._set_aside(damaged)
        return done

    # Streams, in the order of the items

    def judgments(self, run: RunRow) -> Iterator[reading.Judged]:
        """Every place of a run, with its judgment or its error."""
        return self._access.stream(lambda connection: reading.judgments(connection, run.id))

    def asked(self, run: RunRow) -> Iterator[reading.Asked]:
        """Every place of a run that has a reply, with all that is needed to read it anew."""
        damaged: list[reading.DamagedReply] = []
        yield from self._access.stream(lambda connection: reading.asked(connection, run.id, damaged))
        self._set_aside(damaged)

    def items(self, run: RunRow) -> Iterator[Item]:
        """The items of a run."""
        return self._access.stream(lambda connection: reading.items(connection, run.id))

    def replace_judgments(self, run: RunRow, read: Iterable[NewJudgment]) -> int:
        """Replace judgments, given as (item, slot, judgment), all at once or not at all; returns how many."""
        number, new_reading = self._access.do(lambda: runs.begin(self._access.connection, run.name))
        n_written = 0
        for page in _batches(read):
            self._access.do(partial(runs.write, self._access.connection, number, new_reading, page))
            n_written += len(page)
        self._access.do(lambda: runs.make_valid(self._access.connection, number, new_reading, n_written))
        return n_written

    # What a run comes to

    def totals(self, run: RunRow) -> reading.Totals:
        """Items, calls, failures, tokens and costs of a run, counted now."""
        return self._access.read(lambda connection: reading.totals(connection, run.id))

    def models_seen(self, run: RunRow) -> list[reading.ModelSeen]:
        """What the models called themselves; two lines for one model mean that it was changed."""
        return self._access.read(lambda connection: reading.models_seen(connection, run.id))

    def call(self, run: RunRow, key: str) -> Call | None:
        """One call of a run with its messages."""
        return self._access.read(lambda connection: reading.call_by_key(connection, run.id, key))

    # Labels

    def put_labels(self, given: Sequence[Label], run: RunRow | None = None) -> None:
        """Store labels; a rater's later label takes the place of the earlier one."""
        self._access.do(
            lambda: stored_labels.put_labels(self._access.connection, given, None if run is None else run.id)
        )

    def labels(self, run: RunRow | None = None) -> list[Label]:
        """The labels given to the items of a run, or all in the store."""
        return self._access.read(
            lambda connection: stored_labels.all_labels(connection, None if run is None else run.id)
        )

    # Damage

    def verify(self) -> list[str]:
        """Look at the whole file; set damaged replies aside. Returns the keys of the calls to be asked again."""
        self._access.read(lambda connection: check_pages(connection, self.path))
        damaged = list(self._access.stream(reading.all_damaged))
        self._set_aside(damaged)
        return [key for key, _, _ in damaged]

    def _set_aside(self, damaged: Sequence[reading.DamagedReply]) -> None:
        # Whoever only reads treats them as absent; whoever writes next will set them aside.
        if damaged and self._access.is_writable:
            self._access.do(lambda: self._access.calls.set_aside(damaged))


def _batches(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while batch := list(itertools.islice(rest, _BATCH)):
        yield batch

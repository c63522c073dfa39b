"""The store: one SQLite file that holds every run, call, reply and judgment, opened by `open_store`.

How the engine avoids paying twice while other processes use the same file:

    claim = await store.claim(calls)         # durable before anything is sent
    replies = store.reply_for(claim.answered)
    for each call in claim.mine:             # send it, then either of
        await store.put(run, item, call_index, call, reply, judgment)
        await store.release([call.key])
    await store.wait(claim.elsewhere)        # until one is answered or released; then claim again

A method with `await` above returns a future that is done when the row is durable; every
other method that writes blocks for one commit. This file is the store's interface; the
modules beside it hold the SQL.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import sqlite3
import time
from collections.abc import Awaitable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from ..errors import StoreError
from ..records import Call, ErrorKind, Item, Judgment, Label, Note, Reply, Review
from . import batches, invitations, locked_looks, owners, reading, replace_judgments, reviews, runs
from . import database_file as schema
from . import items as item_rows
from . import labels as label_rows
from . import results as result_rows
from . import totals as run_totals
from .assemble import RunPart, assemble
from .batches import BatchLine, BatchRow, Settled
from .calls import Claim
from .connection import Access, check_pages
from .invitations import Invitation, InvitationKind
from .replace_judgments import NewJudgment
from .results import CannotStoreError, ResultPage, ResultState, ResultWriter, StoredItem
from .rows import DECODE_FAULTS
from .runs import RunRow, RunStatus
from .store_errors import damage_error, is_explained, store_error
from .writer import Put

T = TypeVar("T")

RESERVE_BYTES = 4 << 20
"""With less free disk space than this, no call is claimed:
the rest is kept for the replies to calls in flight.
"""

ROOM_SECONDS = 0.02
"""How long a measurement of the free space is used. The reserve is large enough for the replies of that time.
"""

_BATCH = 1000


def open_store(
    path: str | Path, *, write: bool = True, busy_seconds: float = 30.0, is_durable: bool = True
) -> Store:
    """Open a store, read-only or for writing; a missing file is created for writing.

    One that is not durable is faster, and may be lost with its machine: for files that are deleted anyway.
    """
    where = Path(path)
    try:
        if where.is_dir():
            raise StoreError(f"{where}: this is a folder.\nGive the name of a file with --store.")
        if write:
            schema.create_file(where, busy_seconds=busy_seconds)
        elif not where.exists():
            raise StoreError(
                f"{where}: there is no store.\nStart a run with `adjudge run`, or give the file with --store."
            )
        return Store(Access(where, write=write, busy_seconds=busy_seconds, is_durable=is_durable))
    except (sqlite3.Error, OSError) as fault:
        if isinstance(fault, sqlite3.Error) and not is_explained(fault):
            _look_for_damage(where)
        raise store_error(where, fault) from fault
    except DECODE_FAULTS as fault:
        raise damage_error(where, fault) from fault


def _look_for_damage(where: Path) -> None:
    """Raise where a damaged page is the reason for an error: SQLite's own message may say anything then."""
    with (
        suppress(sqlite3.Error, OSError),
        closing(schema.connect(where, write=False, busy_seconds=1.0)) as connection,
    ):
        check_pages(connection, where)


class Store:
    """An open store. Close it, best with `with`; do not use it after a fork."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._has_room_until = 0.0
        self._added: dict[int, item_rows.AddedItems] = {}

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
        """Write what is queued and end this process's claims: calls claimed and not put are free for
        others."""
        self._access.close()

    # Runs

    def start_run(self, name: str | None, manifest: Mapping[str, Any], identity: str) -> RunRow:
        """Start a run or resume it: the one of this name, or without a name the latest of this identity.

        A run of this name with another identity is an error that lists the differences between
        the manifests. `command` and `version` may differ.
        """
        return self._access.do(
            lambda: runs.start(self._access.connection, name, identity, manifest, self._access.calls.owner)
        )

    def assemble_run(
        self, name: str, manifest: Mapping[str, Any], identity: str, model: str, parts: Sequence[RunPart]
    ) -> None:
        """Put a run together from others on the same items, as `assemble` says; all of it or nothing."""
        self._access.do(
            lambda: assemble(
                self._access.connection, name, identity, manifest, model, parts, self._access.calls.owner
            )
        )

    def finish_run(self, run: RunRow, status: RunStatus, seconds: float = 0.0) -> None:
        """Record how a run ended, and how long this start of it took by the monotonic clock."""
        self._access.do(lambda: self._finish(run, status, seconds))

    def _finish(self, run: RunRow, status: RunStatus, seconds: float) -> None:
        self._access.check_in_place()
        runs.finish(self._access.connection, run.id, status, seconds)

    def note_adjustments(self, run: RunRow, adjustments: Sequence[str]) -> None:
        """Add to a run's manifest the parameters that its models refused. Not part of its identity."""
        self._access.do(lambda: runs.note_adjustments(self._access.connection, run.id, adjustments))

    def note_prompt_cache(self, run: RunRow, tokens: int, saved_usd: float) -> None:
        """Add to the manifest what the prompt caches of providers gave."""
        self._access.do(lambda: runs.note_prompt_cache(self._access.connection, run.id, tokens, saved_usd))

    def note_tuning(self, run: RunRow, tuning: Mapping[str, Any]) -> None:
        """Keep what the latest tuning that began with this run found. Not part of its identity."""
        self._access.do(lambda: runs.note_tuning(self._access.connection, run.id, tuning))

    def runs(self) -> list[RunRow]:
        """All runs, in the order in which they were last started."""
        return self._access.read(runs.all_runs)

    def run(self, name: str = "last") -> RunRow:
        """The run of that name; `last` is the one last started."""
        return self._access.read(lambda connection: runs.one_run(connection, name))

    def rename_run(self, old: str, new: str) -> None:
        self._access.do(lambda: runs.rename(self._access.connection, old, new))

    def set_aside(self, name: str, identity: str) -> str | None:
        """Rename a run of this name with another identity to NAME-2, NAME-3, …; its new name, or none."""
        return self._access.do(lambda: runs.rename_other(self._access.connection, name, identity))

    def exchange_names(self, first: str, second: str) -> None:
        """Give two runs the name of each other."""
        self._access.do(lambda: runs.exchange_names(self._access.connection, first, second))

    def delete_run(self, name: str) -> None:
        """Delete a run, and the calls and replies that no other run uses. The file keeps its size."""
        self._access.do(lambda: runs.remove_run(self._access.connection, name))

    def put_items(self, run: RunRow, first: int, items: Sequence[Item], step: int = 1) -> Awaitable[None]:
        """Store items; `first` is the number of the first one, from 0, and `step` the distance of their
        numbers.

        Items stored already must be unchanged.
        """
        return self._access.soon(
            lambda: item_rows.put_items(self._access.connection, run.id, first, items, step)
        )

    def add_items(self, run: RunRow, items: Sequence[Item]) -> Awaitable[list[tuple[int, Item]]]:
        """Add items at the end of a run; each with its number. One that the run has already keeps its
        number."""
        added = self._added.setdefault(run.id, item_rows.AddedItems(run.id))
        return self._access.soon(lambda: added.add(self._access.connection, items))

    def is_whole(self, run: RunRow, n_calls: int) -> bool:
        """Whether a run has all its calls, each judged or failed."""
        return self._access.read(lambda connection: item_rows.is_whole(connection, run.id, n_calls))

    def items_by_shard(self, run: RunRow, n_shards: int) -> list[int]:
        """How many items of each of so many shards are stored."""
        return self._access.read(lambda connection: item_rows.items_by_shard(connection, run.id, n_shards))

    # Calls

    def claim(self, calls: Sequence[Call]) -> Awaitable[Claim]:
        """Claim those calls that have no reply and are not in flight, before they are sent."""
        return self._access.soon(lambda: self._claim(calls))

    def _claim(self, calls: Sequence[Call]) -> Claim:
        self.check_room()
        return self._access.calls.claim(calls)

    def check_room(self) -> None:
        """`StoreError` where the disk is nearly full or the file
        is gone; to be called before each call that costs money.
        """
        now = time.monotonic()
        if now < self._has_room_until:
            return
        self._has_room_until = now + ROOM_SECONDS
        self._access.check_in_place()
        free = shutil.disk_usage(self.path.parent).free
        if free < RESERVE_BYTES:
            self._has_room_until = 0.0
            raise StoreError(
                f"{self.path}: the disk is nearly full ({free >> 10} KB free), so no more calls are sent.\n"
                "Free some space, then run the same command again to resume."
            )

    def release(self, keys: Sequence[str]) -> Awaitable[None]:
        """Give up claims on calls that will not be sent."""
        return self._access.soon(lambda: self._access.calls.release(keys))

    def put(
        self,
        run: RunRow,
        item: int,
        call_index: int,
        call: Call,
        reply: Reply | None,
        judgment: Judgment | None,
    ) -> Awaitable[bool]:
        """Store a call of a run with its reply and judgment.

        `item` is the item's number, -1 for a call of the run as a whole. `call_index` numbers the
        calls of an item in the same way for all items, and decides their order. Without a reply,
        the one in the store is used. A reply with an error is counted in the run, and the call
        can be retried. False: the call has another reply already, which is kept; parse that
        one and put its judgment.
        """
        return self._access.soon(Put(run.id, item, call_index, call, reply, judgment))

    async def wait(self, keys: Collection[str]) -> None:
        """Return when one or more of these calls are no longer in flight: answered, failed or released."""
        pause = 0.05
        while keys and len(self._in_flight(keys)) == len(set(keys)):
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.5)

    def _in_flight(self, keys: Collection[str]) -> dict[str, int]:
        claimed = self._access.read(lambda connection: reading.claimed_keys(connection, keys))
        # The watch that claims use: both must agree on which owners are lost.
        watch = self._access.calls.watch
        live = {owner.id for owner in self.owners() if not watch.is_lost(owner)}
        return {key: owner for key, owner in claimed.items() if owner in live}

    def owners(self) -> list[owners.Owner]:
        """The processes that have this store open for writing, including this one."""
        return self._access.read(owners.owners)

    def reply_for(self, keys: Collection[str]) -> dict[str, Reply]:
        """The stored replies by key. A damaged one is quarantined and counts as absent."""
        replies: dict[str, Reply] = {}
        for batch in _batches(keys):
            sound, damaged = self._access.read(partial(reading.replies_by_key, keys=batch))
            replies.update(sound)
            self._quarantine(damaged)
        return replies

    def shown_replies(self, keys: Collection[str]) -> dict[str, Reply]:
        """The replies of calls that were answered, to be shown: `StoreError` where one is damaged or missing.

        One that `doctor` has set aside is left out.
        """
        replies: dict[str, Reply] = {}
        for batch in _batches(keys):
            replies.update(self._access.read(partial(reading.whole_replies, keys=batch)))
        return replies

    def answered(self, keys: Collection[str]) -> set[str]:
        """Which of the calls have a reply, without reading it."""
        return self._access.read(lambda connection: reading.answered_keys(connection, keys))

    def finished(self, run: RunRow, first: int, last: int) -> dict[tuple[int, int], Judgment | None]:
        """The calls (item, call index) of the items `first` to
        `last` with an undamaged reply, and their judgments.
        """
        done, damaged = self._access.read(
            lambda connection: reading.finished_calls(connection, run.id, first, last)
        )
        self._quarantine(damaged)
        return done

    # Batches: calls that are handed to a provider all at once; see `batches` for their states

    def begin_batch(self, name: str, run: RunRow, model: str, identity: str) -> Awaitable[BatchRow]:
        """A new batch of this process, without calls."""
        return self._access.soon(
            lambda: batches.begin(self._access.connection, name, run.id, model, identity, self._owner)
        )

    def fill_batch(self, batch: BatchRow, lines: Sequence[tuple[str, int]]) -> Awaitable[None]:
        """Move claimed calls (key, call index) into a batch: from now on no one else may send them."""
        return self._access.soon(lambda: self._fill_batch(batch, lines))

    def _fill_batch(self, batch: BatchRow, lines: Sequence[tuple[str, int]]) -> None:
        batches.fill(self._access.connection, batch.id, lines, self._owner)
        self._access.calls.forget_ids(key for key, _ in lines)

    def change_batch(self, batch: BatchRow, **values: Any) -> Awaitable[BatchRow]:
        """Record the next step of a batch of this process, before it is taken."""
        return self._access.soon(
            lambda: batches.change(self._access.connection, batch.id, self._owner, values)
        )

    def take_batch(self, batch: BatchRow) -> Awaitable[BatchRow | None]:
        """Become the process that advances a batch; none where another live one does."""
        return self._access.soon(
            lambda: batches.take(self._access.connection, batch.id, self._owner, self._access.calls.watch)
        )

    def drop_batch(self, batch: BatchRow, note: str = "", *, is_refused: bool = False) -> Awaitable[None]:
        """Free the calls of a batch that the provider does not have."""
        state: Literal["dropped", "refused"] = "refused" if is_refused else "dropped"
        return self._access.soon(lambda: batches.drop(self._access.connection, batch.id, state, note))

    def settle_batch(self, batch: BatchRow, lines: Sequence[Settled]) -> Awaitable[None]:
        """Store the outcomes of lines, with their replies."""
        return self._access.soon(lambda: batches.settle_lines(self._access.connection, batch, lines))

    def close_batches(self, run: RunRow) -> None:
        """Mark the batches of a complete run: a failed line may be asked again by its next start."""
        self._access.do(lambda: batches.close_batches(self._access.connection, run.id))

    def batches(self, run: RunRow | None = None) -> list[BatchRow]:
        """The batches of a run or of all runs, oldest first."""
        return self._access.read(
            lambda connection: batches.of_run(connection, None if run is None else run.id)
        )

    def batch_lines(self, run: RunRow, keys: Collection[str]) -> dict[str, BatchLine]:
        """What the batches of a run say of calls: failures, flags, and how often they were not answered."""
        return self._access.read(lambda connection: batches.lines(connection, run.id, keys))

    def open_lines(self, batch: BatchRow) -> Iterator[list[str]]:
        """The keys of the lines of a batch without an outcome, in pages."""
        return self._access.stream(lambda connection: batches.open_lines(connection, batch.id))

    def batch_calls(self, batch: BatchRow, keys: Collection[str]) -> dict[str, tuple[Call, int]]:
        """Calls of a batch with their messages and call index, by key."""
        return self._access.read(lambda connection: batches.calls_of(connection, batch.id, keys))

    def batch_outcomes(self, batch: BatchRow) -> dict[str, int]:
        """How many lines of a batch have each outcome."""
        return self._access.read(lambda connection: batches.counted(connection, batch.id))

    def remote_batches(self) -> set[str]:
        """The providers' ids of all batches in this store."""
        return self._access.read(batches.remote_ids)

    @property
    def _owner(self) -> int:
        """This process; it may change while the process runs, so it is read inside the transaction."""
        return self._access.calls.owner

    # Streams, in the order of the items

    def judgments(self, run: RunRow) -> Iterator[reading.Judged]:
        """Every call of a run, with its judgment or its error."""
        return self._access.stream(lambda connection: reading.judgments(connection, run.id))

    def asked(self, run: RunRow) -> Iterator[reading.AskedCall]:
        """Every call of a run that has a reply, with all that is needed to parse it again.

        A store open for writing sets damaged replies aside; otherwise they are a `StoreError`.
        """
        damaged: list[reading.DamagedReply] = []
        yield from self._access.stream(lambda connection: reading.asked(connection, run.id, damaged))
        self._quarantine(damaged)
        if not self._access.is_writable:
            self._access.read(lambda connection: reading.check_set_aside(connection, damaged))

    def items(self, run: RunRow) -> Iterator[Item]:
        """The items of a run."""
        return self._access.stream(lambda connection: reading.items(connection, run.id))

    def replace_judgments(self, run: RunRow, new: Iterable[NewJudgment]) -> int:
        """Replace judgments, given as (item, call index, judgment), all or none; returns how many."""
        number, new_reading = self._access.do(
            lambda: replace_judgments.begin_reading(self._access.connection, run.name)
        )
        n_written = 0
        for page in _batches(new):
            self._access.do(
                partial(replace_judgments.write_reading, self._access.connection, number, new_reading, page)
            )
            n_written += len(page)
        self._access.do(
            lambda: replace_judgments.finish_reading(self._access.connection, number, new_reading, n_written)
        )
        return n_written

    # Results

    def results_are_current(self, run: RunRow, version: int) -> bool:
        """Whether the stored results of a run are those of its judgments, by this version of `combine`."""
        return self._access.read(lambda connection: result_rows.are_current(connection, run.id, version))

    @contextmanager
    def writing_results(self, run: RunRow, version: int) -> Iterator[ResultWriter]:
        """A writer that brings the stored results up to date; `CannotStoreError` where they cannot be
        written."""
        with (
            self._access.caching() as connection,
            result_rows.result_writer(connection, self.path, run.id, version) as writer,
        ):
            yield writer

    def stored_results(self, run: RunRow, *, with_texts: bool) -> Iterator[StoredItem]:
        """The stored results of a run, item by item; without `with_texts` those have no explanation,
        evidence or notes.
        """
        return self._access.stream(
            lambda connection: result_rows.read(connection, run.id, with_texts=with_texts)
        )

    def result_pages(self, run: RunRow) -> Iterator[ResultPage]:
        """The stored results of a run as rows, much faster than as records."""
        return self._access.stream(lambda connection: result_rows.pages(connection, run.id))

    def stored_results_of(self, run: RunRow, version: int, items: Sequence[int]) -> dict[int, StoredItem]:
        """The stored results of some items with their texts, without those that are missing or outdated."""
        return self._access.read(lambda connection: result_rows.of_items(connection, run.id, version, items))

    def result_state(self, run: RunRow) -> ResultState:
        """A value that changes with the results of a run."""
        return self._access.read(lambda connection: result_rows.state_of(connection, run.id))

    def forget_results(self, run: RunRow, items: Sequence[int]) -> None:
        """Have the results of damaged items stored again by the next reader."""
        with suppress(CannotStoreError), self._access.caching() as connection:
            result_rows.forget_items(connection, run.id, items)

    # Totals

    def samples_are_identical(self, run: RunRow) -> bool:
        """Whether a run has several samples of its calls, and the replies to the same call are all the
        same."""
        return self._access.read(lambda connection: run_totals.samples_are_identical(connection, run.id))

    def totals(self, run: RunRow) -> run_totals.Totals:
        """Items, calls, failures, tokens and costs of a run, counted now."""
        return self._access.read(lambda connection: run_totals.totals(connection, run.id))

    def first_error(self, run: RunRow, kind: ErrorKind) -> str:
        """The message of the first call of a run that failed with this kind of error."""
        return self._access.read(lambda connection: run_totals.first_error(connection, run.id, kind))

    def n_reasks_failed(self, run: RunRow) -> int:
        """How many follow-up questions of a run got no reply."""
        return self._access.read(lambda connection: run_totals.n_reasks_failed(connection, run.id))

    def models_seen(self, run: RunRow) -> list[run_totals.ModelSeen]:
        """The model names that servers reported; two for one model mean that the server changed it."""
        return self._access.read(lambda connection: run_totals.models_seen(connection, run.id))

    def call(self, run: RunRow, key: str) -> Call | None:
        """One call of a run with its messages."""
        return self._access.read(lambda connection: reading.call_by_key(connection, run.id, key))

    # Labels

    def put_labels(self, labels: Sequence[Label], run: RunRow | None = None) -> None:
        """Store labels; a rater's later label replaces the earlier one."""
        run_id = None if run is None else run.id
        self._access.do(lambda: label_rows.put_labels(self._access.connection, labels, run_id))

    def labels(self, run: RunRow | None = None) -> list[Label]:
        """The labels of a run's items, or all in the store. Oldest first."""
        run_id = None if run is None else run.id
        return self._access.read(lambda connection: label_rows.stored_labels(connection, run_id))

    def labels_of_rater(self, run: RunRow, rater: str) -> list[Label]:
        """The labels of one rater on a run's items, oldest first."""
        return self._access.read(lambda connection: label_rows.labels_of_rater(connection, run.id, rater))

    def labels_with_runs(self) -> list[tuple[int | None, Label]]:
        """All labels in the store, each with the number of its run; oldest first."""
        return self._access.read(label_rows.labels_with_runs)

    def delete_label(self, run: RunRow, label: Label) -> bool:
        """Delete a label, durably; false where it is gone already or has another value now."""
        return self._access.do(lambda: label_rows.delete_label(self._access.connection, run.id, label))

    # Reviews and notes

    def put_review(self, run: RunRow, review: Review) -> None:
        """Store a review; a reviewer's later one of the same cell replaces the earlier."""
        self._access.do(lambda: reviews.put_review(self._access.connection, review, run.id))

    def reviews(self, run: RunRow) -> list[Review]:
        """The reviews of a run, oldest first."""
        return self._access.read(lambda connection: reviews.read_reviews(connection, run.id))

    def delete_review(self, run: RunRow, review: Review) -> bool:
        """Delete a review, durably; false where it is gone already or was changed."""
        return self._access.do(lambda: reviews.delete_review(self._access.connection, run.id, review))

    def put_note(self, run: RunRow, note: Note) -> None:
        """Store a person's note and tags on an item, instead of the earlier ones; an empty note deletes
        them."""
        self._access.do(lambda: reviews.put_note(self._access.connection, note, run.id))

    def notes(self, run: RunRow) -> list[Note]:
        """The notes and tags on a run's items, oldest first."""
        return self._access.read(lambda connection: reviews.read_notes(connection, run.id))

    # Invitations

    def invite(self, kind: InvitationKind, name: str, secret: str, run: RunRow | None = None) -> None:
        """Store an invitation to a run, or to all runs. `secret` is a hash: the link itself is never
        stored."""
        run_id = None if run is None else run.id
        self._access.do(
            lambda: invitations.put_invitation(self._access.connection, run_id, kind, name, secret)
        )

    def invitations(self, kind: InvitationKind, run: RunRow | None = None) -> list[Invitation]:
        """The invitations to a run, or to all runs, revoked ones too; oldest first."""
        run_id = None if run is None else run.id
        return self._access.read(lambda connection: invitations.read_invitations(connection, run_id, kind))

    def revoke(self, kind: InvitationKind, name: str, run: RunRow | None = None) -> bool:
        """Revoke an invitation, durably; false where the name has none that is open."""
        run_id = None if run is None else run.id
        return self._access.do(
            lambda: invitations.revoke_invitation(self._access.connection, run_id, kind, name)
        )

    # Locked labels

    def count_look(self, digest: str) -> int:
        """Record one more look at the locked labels of this
        hash, durably; returns how many there are with it.
        """
        return self._access.do(lambda: locked_looks.count_look(self._access.connection, digest))

    def n_looks(self, digest: str) -> int:
        """How often the locked labels of this hash were looked at."""
        return self._access.read(lambda connection: locked_looks.n_looks(connection, digest))

    # Damage

    def verify(self) -> list[str]:
        """Check the whole file and quarantine damaged replies.
        Returns the keys of the calls to be sent again.
        """
        self._access.read(lambda connection: check_pages(connection, self.path))
        damaged = list(self._access.stream(reading.all_damaged))
        self._quarantine(damaged)
        return [key for key, _, _ in damaged]

    def _quarantine(self, damaged: Sequence[reading.DamagedReply]) -> None:
        # A reader treats damaged replies as absent; the next writer quarantines them.
        if damaged and self._access.is_writable:
            self._access.do(lambda: self._access.calls.quarantine(damaged))


def _batches(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while batch := list(itertools.islice(rest, _BATCH)):
        yield batch

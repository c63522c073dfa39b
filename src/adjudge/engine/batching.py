"""The batches of a run: calls are collected into batches, submitted, followed, and their replies stored.

A batch is one more way to ask. A reply from a batch is stored as any other; the loop of the run then finds it
and parses it. Each step is in the store before it is taken (see `store/batches.py`), so that the same command
finds every batch again after a crash, also one whose creation was never answered, and creates none twice:

    calls ─ add ─▶ filling ─▶ planned ─ upload ─▶ uploaded ─▶ creating ─ create ─▶ open ─ follow ─▶ ended ─
    collect ─▶ collected
                                                                │ no answer: search the provider's list
                                                                ▼
                                                    open, or proven not to exist: created again

Lines that expired, were cancelled or failed for a passing reason are asked again, alone: in a second batch,
and if that does not answer them either, as single calls.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from random import uniform
from time import monotonic
from typing import IO, TypeVar

from ..errors import AdjudgeError, HostDown, ModelError, RateLimited, sentences
from ..models import Model
from ..models.batch_apis.base import BatchApi, RemoteBatch, ResultLine, is_queue_full, lines_in
from ..models.http_errors import Fault
from ..models.remote import RemoteModel
from ..records import Call, ReplyError
from ..store import BatchLine, BatchRow, RunRow, Settled, Store
from .batch_estimate import estimate_usd
from .plan import Plan, PlannedCall

T = TypeVar("T")


SETTLE_SECONDS = 20.0
"""How long a batch whose creation was not answered may take to appear in the provider's list."""


POLL_SECONDS = 5.0


LONGEST_POLL_SECONDS = 60.0


BACKOFF_SECONDS = 0.5


LONGEST_BACKOFF_SECONDS = 30.0


LONGEST_STATED_SECONDS = 3600.0


LONGEST_LIMITED_SECONDS = 300.0
"""For the creation of a batch; the same command tries again later."""


CREATE_TRIES = 6


LEAST_LINES = 100
"""A batch of so few calls is not split where the provider's queue is full: it waits."""


ROUNDS = 2
"""In so many batches a call may go unanswered; then it is asked as a single call."""


_PAGE = 256


_LINES = 500


class _Filling:
    """A batch that calls are being added to, and the file of its lines."""

    def __init__(self, row: BatchRow, api: BatchApi, path: Path) -> None:
        self.row, self.api, self.path = row, api, path
        self.file: IO[bytes] = path.open("wb")
        self.file.write(api.opening)
        self.n_lines = 0
        self.size = len(api.opening) + len(api.closing)
        self.estimate_usd = 0.0
        self.pending: list[tuple[str, int]] = []

    def write(self, line: bytes) -> None:
        if self.n_lines:
            self.file.write(self.api.separator)
        self.file.write(line)
        self.n_lines += 1
        self.size += len(line) + len(self.api.separator)


class Batches:
    """The batches of one start of a run."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        run: RunRow,
        *,
        patience_seconds: float = 600.0,
        on_change: Callable[[Sequence[BatchRow]], None] | None = None,
    ) -> None:
        self._plan, self._store, self._run = plan, store, run
        self._patience_seconds = patience_seconds
        self._on_change = on_change
        self._folder = tempfile.TemporaryDirectory(prefix="adjudge-batch-")
        self._apis = {model.identity: api for model in plan.models if (api := model.batch_api()) is not None}
        self._filling: dict[str, _Filling] = {}
        self._spools: dict[int, Path] = {}
        """the lines of batches that wait for room at a provider that takes no files"""
        self._full: set[str] = set()
        """identities of models whose provider takes no more batches at present"""
        self._most_lines: dict[str, int] = {}
        self._reserved: dict[int, float] = {}
        self.collected_usd = 0.0
        self.n_held = 0
        """calls that are not in a batch because the provider takes no more at present"""
        self._stop_error: AdjudgeError | None = None
        for row in store.batches(run):
            self._learn_size(row)

    @property
    def reserved_usd(self) -> float:
        """The most that the open batches of this start may cost."""
        return sum(self._reserved.values()) + sum(part.estimate_usd for part in self._filling.values())

    def close(self) -> None:
        """Remove the files of lines."""
        for part in self._filling.values():
            part.file.close()
        self._folder.cleanup()

    def rows(self) -> list[BatchRow]:
        """The batches that hold calls of this run."""
        return [row for row in self._store.batches(self._run) if row.holds_calls]

    # Filling and submitting

    def takes(self, planned: PlannedCall, line: BatchLine | None) -> bool:
        """Whether a call goes into a batch. `line` is what earlier batches say of it."""
        if not planned.model.is_batched or planned.model.identity not in self._apis:
            return False
        return line is None or (line.outcome != "cut" and line.n_lost < ROUNDS)

    async def add(self, planned: PlannedCall, call: Call) -> None:
        """Put a call that this process has claimed into a batch; a full one is submitted."""
        model = planned.model
        assert isinstance(model, RemoteModel)
        api = self._apis[model.identity]
        if model.identity in self._full and not api.has_files:
            self.n_held += 1
            await self._store.release([call.key])
            return
        body = model.body_of(call, planned.params)
        part = self._filling.get(model.identity)
        room = len(body) + 200
        if part is not None and (part.n_lines >= self._most(model, api) or part.size + room > api.most_bytes):
            await self._submit(part)
            part = None
        if part is None:
            part = await self._begin(model, api)
        part.write(api.line(f"{part.row.name}_{call.key}", body))
        part.pending.append((call.key, planned.index))
        part.estimate_usd += estimate_usd(model, planned, len(body)) or 0.0
        if len(part.pending) >= _PAGE:
            await self._flush(part)

    def _most(self, model: Model, api: BatchApi) -> int:
        return min(api.most_lines, self._most_lines.get(model.identity, api.most_lines))

    async def _begin(self, model: Model, api: BatchApi) -> _Filling:
        name = secrets.token_hex(8)
        row = await self._store.begin_batch(name, self._run, model.name, model.identity)
        part = self._filling[model.identity] = _Filling(row, api, Path(self._folder.name) / name)
        return part

    async def _flush(self, part: _Filling) -> None:
        pending, part.pending = part.pending, []
        if pending:
            await self._store.fill_batch(part.row, pending)

    async def finish(self) -> None:
        """Submit the batches that are being filled."""
        for part in list(self._filling.values()):
            await self._submit(part)

    async def abandon(self) -> None:
        """Free the calls of batches that are being filled; nothing of them was sent."""
        while self._filling:
            _, part = self._filling.popitem()
            part.file.close()
            with suppress(AdjudgeError):
                await self._store.release([key for key, _ in part.pending])
                await self._store.drop_batch(part.row)

    async def _submit(self, part: _Filling) -> None:
        self._filling.pop(part.row.identity, None)
        api = part.api
        self._store.check_room()
        await self._flush(part)
        part.file.write(api.closing)
        part.file.close()
        row = await self._store.change_batch(part.row, state="planned", estimate_usd=part.estimate_usd)
        self._reserved[row.id] = part.estimate_usd
        self._spools[row.id] = part.path
        self._notify()
        if api.has_files:
            row = await self._upload(row, api, part.path)
        if row.identity not in self._full:
            await self._create(row, api)
        self._notify()

    async def _upload(self, row: BatchRow, api: BatchApi, path: Path) -> BatchRow:
        uploaded = await self._repeated(api, lambda: api.upload(row.name, path))
        if isinstance(uploaded, Fault):
            raise await self._refused(row, api, uploaded.message)
        file, mark = uploaded
        row = await self._store.change_batch(row, state="uploaded", file=file, mark=mark)
        self._drop_spool(row)
        return row

    def _drop_spool(self, row: BatchRow) -> None:
        path = self._spools.pop(row.id, None)
        if path is not None:
            path.unlink(missing_ok=True)

    async def _create(self, row: BatchRow, api: BatchApi) -> BatchRow:
        """Create a batch: once, whatever becomes of the answer."""
        source: str | Path = row.file if api.has_files else self._spools[row.id]
        fault: Fault | None = None
        for number in range(CREATE_TRIES):
            row = await self._mark_creating(row, api)
            created = await api.create(row.name, source)
            if isinstance(created, RemoteBatch):
                return await self._opened(row, created)
            fault = created
            if _may_have_created(fault):
                row = await self._search(row, api)
                if row.state in ("open", "creating"):
                    return row
            else:
                row = await self._store.change_batch(
                    row, state=_before_creation(api), note=fault.message[:300]
                )
                if self._is_full(row, api, fault):
                    return await self._wait_for_room(row, fault.message)
                if fault.status == 404 and not _is_unready(fault):
                    raise _no_batch_api(api)
                if fault.is_final:
                    raise api.model.stopped_by(fault)
                if not (fault.is_retryable or (_is_unready(fault) and number < CREATE_TRIES - 1)):
                    raise await self._refused(row, api, fault.message)
                if (fault.wait_seconds or 0.0) > LONGEST_LIMITED_SECONDS:
                    raise RateLimited(
                        sentences(fault.message, "Run the same command again later, to resume.")
                    )
            await asyncio.sleep(_pause_after(fault, number))
        assert fault is not None
        raise HostDown(
            sentences(fault.message, "The batch was not created. Run the same command again, to resume.")
        )

    async def _mark_creating(self, row: BatchRow, api: BatchApi) -> BatchRow:
        mark = row.mark
        if not api.has_files:
            newest = await self._repeated(api, api.newest)
            if isinstance(newest, Fault):
                raise _no_batch_api(api) if newest.status == 404 else ModelError(newest.message)
            mark = newest
        return await self._store.change_batch(row, state="creating", mark=mark)

    async def _opened(self, row: BatchRow, remote: RemoteBatch) -> BatchRow:
        row = await self._store.change_batch(
            row, state="open", remote=remote.id, provider_state=remote.state, note=""
        )
        self._drop_spool(row)
        return row

    async def _wait_for_room(self, row: BatchRow, message: str) -> BatchRow:
        """The provider takes no more at present: the batch waits until an earlier one has ended, or is
        split."""
        self._full.add(row.identity)
        if self._others_wait(row) or row.n_calls <= LEAST_LINES:
            return await self._store.change_batch(row, note=f"the provider's queue is full: {message}"[:300])
        # Nothing else of ours is in the queue: this batch alone may be too large for it.
        row = await self._store.change_batch(
            row, n_failed=row.n_calls, note=f"too large for the provider's queue: {message}"[:300]
        )
        self._learn_size(row)
        self._full.discard(row.identity)
        self.n_held += row.n_calls
        self._reserved.pop(row.id, None)
        self._drop_spool(row)
        await self._store.drop_batch(row, row.note, is_refused=True)
        return row

    def _is_full(self, row: BatchRow, api: BatchApi, fault: Fault) -> bool:
        """Whether a creation was refused because too much of earlier batches is waiting."""
        if fault.status not in (400, 403, 429) or fault.wait_seconds:
            return False
        if fault.kind == "quota":
            return api.quota_is_queue and self._others_wait(row)
        return is_queue_full(f"{fault.error_body.code} {fault.message}")

    def _others_wait(self, row: BatchRow) -> bool:
        """Whether the store has other batches of this model in the provider's queue."""
        return any(
            other.identity == row.identity and other.id != row.id and other.state in ("creating", "open")
            for other in self._store.batches()
        )

    def _learn_size(self, row: BatchRow) -> None:
        """Smaller batches after one that was too large for the provider's queue."""
        if not row.note.startswith("too large") or not row.n_failed:
            return
        most = max(LEAST_LINES, row.n_failed // 4)
        self._most_lines[row.identity] = min(most, self._most_lines.get(row.identity, most))

    async def _refused(self, row: BatchRow, api: BatchApi, message: str) -> ModelError:
        """The error for a batch that the provider refuses as a whole; its calls are free again."""
        self._reserved.pop(row.id, None)
        self._drop_spool(row)
        await self._store.drop_batch(row, message[:300], is_refused=True)
        return ModelError(
            f"{api.title} refused a batch of {row.n_calls} calls to {row.model}: {message}\n"
            "Nothing of it was asked. Correct what it says and run the same command again, or leave "
            "--batch out."
        )

    # A batch that may have been created

    async def _search(self, row: BatchRow, api: BatchApi) -> BatchRow:
        """Find a batch whose creation was not answered. Where it is not in the list, it does not exist."""
        for is_last in (False, True):
            match, candidates = await self._listed(row, api)
            if match is not None:
                return await self._opened(row, match)
            if candidates:
                note = (
                    f"its creation was not answered; it may be {', '.join(candidates)}, which its "
                    "results will show"
                )
                return await self._store.change_batch(row, note=note[:300])
            if not is_last:
                await asyncio.sleep(SETTLE_SECONDS)
        return await self._store.change_batch(row, state=_before_creation(api), note="")

    async def _listed(self, row: BatchRow, api: BatchApi) -> tuple[RemoteBatch | None, list[str]]:
        """The batch in the provider's list, or those of which it cannot be said yet whether they are it."""
        started, number = monotonic(), 0
        while True:
            known = self._store.remote_batches()
            candidates: list[str] = []
            fault: Fault | None = None
            async for entry in api.listed(row.mark):
                if isinstance(entry, Fault):
                    fault = entry
                elif entry.id not in known and not entry.is_queue_full:
                    verdict = await self._is_ours(row, api, entry)
                    if verdict:
                        return entry, []
                    if verdict is None:
                        candidates.append(entry.id)
            if fault is None:
                return None, candidates
            await self._pause(api, fault, number, started)
            number += 1

    async def _is_ours(self, row: BatchRow, api: BatchApi, entry: RemoteBatch) -> bool | None:
        """Whether a listed batch is this one; none where only its results will show it."""
        if entry.name == row.name or (row.file and entry.file == row.file):
            return True
        if entry.name is not None or entry.file is not None:
            return False
        if entry.n_calls not in (None, row.n_calls):
            return False
        if entry.phase == "open":
            return None
        for output in entry.outputs:
            sink = _FirstLine()
            await api.download(output, sink)  # type: ignore[arg-type]
            line = api.read_line(sink.line())
            if line is not None:
                return line.custom_id.startswith(f"{row.name}_")
        return False

    # Following and collecting

    async def advance(self) -> None:
        """Take every open batch of this run one step further, as far as the provider is."""
        for row in self.rows():
            await self._advance(row)
        self._notify()
        if self._stop_error is not None:
            raise self._stop_error

    async def wait(self) -> None:
        """Follow the open batches until all are collected."""
        pause = POLL_SECONDS
        n_held, self.n_held = self.n_held, 0
        if n_held and not self.rows():
            await asyncio.sleep(pause)  # the provider's queue is full of other batches
        self._full.clear()
        while True:
            before = [(row.state, row.n_done, row.n_failed) for row in self.rows()]
            await self.advance()
            rows = self.rows()
            if not rows:
                return
            open_models = {row.identity for row in rows if row.state in ("creating", "open")}
            self._full &= (
                open_models  # with nothing of ours in the queue, trying again is the only way to know
            )
            if [(row.state, row.n_done, row.n_failed) for row in rows] != before:
                pause = POLL_SECONDS
            await asyncio.sleep(pause * uniform(0.8, 1.2))
            pause = min(LONGEST_POLL_SECONDS, pause * 1.5)

    async def _advance(self, row: BatchRow) -> None:
        taken = await self._store.take_batch(row)
        if taken is None:
            return  # another process has it
        row = taken
        api = self._apis.get(row.identity)
        if api is None:
            raise ModelError(
                f"run {self._run.name} has an open batch of {row.model} at another address. "
                "Set the environment variables with which it was submitted, then run the same command again."
            )
        if row.state == "creating":
            row = await self._search(row, api)
        if row.state in ("filling", "planned") and row.id not in self._spools:
            # The process that filled it has ended, and nothing was sent.
            await self._store.drop_batch(row)
            return
        if row.state in ("planned", "uploaded") and row.identity not in self._full:
            row = await self._create(row, api)
        if row.state == "open":
            row = await self._follow(row, api)
        if row.state == "ended":
            await self._collect(row, api)

    async def _follow(self, row: BatchRow, api: BatchApi) -> BatchRow:
        remote = await self._repeated(api, lambda: api.retrieve(row.remote))
        if isinstance(remote, Fault):
            if remote.status not in (404, 410):
                raise ModelError(remote.message)
            # It was deleted, or the provider keeps batches for less long. What it answered is lost.
            return await self._store.change_batch(row, state="ended", outputs=(), provider_state="missing")
        if remote.phase == "failed":
            if not remote.is_queue_full:
                raise await self._refused(row, api, remote.message or remote.state)
            row = await self._store.change_batch(
                row,
                state=_before_creation(api),
                remote="",
                provider_state=remote.state,
                note=remote.message[:300],
            )
            return await self._wait_for_room(row, remote.message)
        if remote.phase == "ended":
            self._full.discard(row.identity)
        return await self._store.change_batch(
            row,
            state="ended" if remote.phase == "ended" else "open",
            provider_state=remote.state,
            outputs=remote.outputs,
            n_done=remote.n_done,
            n_failed=remote.n_failed,
        )

    async def _collect(self, row: BatchRow, api: BatchApi) -> None:
        """Store the replies of a batch that has ended; what it did not answer is asked again."""
        for output in row.outputs:
            path = Path(self._folder.name) / f"{row.name}.results"
            if not await self._downloaded(api, output, path):
                continue
            with path.open("rb") as file:
                lines = lines_in(file)
                while page := list(islice(lines, _LINES)):
                    await self._store.settle_batch(row, self._settled(row, api, page))
            path.unlink()
        why = ReplyError("timeout", f"the batch has no answer to this call ({row.provider_state})")
        for keys in self._store.open_lines(row):
            await self._store.settle_batch(row, [Settled(key, "lost", error=why) for key in keys])
        counts = self._store.batch_outcomes(row)
        n_done = counts.get("answered", 0) + counts.get("cut", 0)
        await self._store.change_batch(
            row, state="collected", n_done=n_done, n_failed=row.n_calls - n_done, note=_note_on(counts)
        )
        self._reserved.pop(row.id, None)

    async def _downloaded(self, api: BatchApi, output: str, path: Path) -> bool:
        """Whether the results are in the file; false where the provider does not have them any more."""

        async def once() -> bool | Fault:
            with path.open("wb") as sink:
                fault = await api.download(output, sink)
            return True if fault is None else fault

        result = await self._repeated(api, once)
        if isinstance(result, Fault):
            if result.status not in (404, 410):
                raise ModelError(result.message)
            return False
        return True

    def _settled(self, row: BatchRow, api: BatchApi, page: Sequence[bytes]) -> list[Settled]:
        """The outcomes of lines of results; a line that is not of this batch counts for nothing."""
        prefix = f"{row.name}_"
        read = [api.read_line(raw) for raw in reversed(page)]  # the first of two lines for a call counts
        lines = {
            line.custom_id.removeprefix(prefix): line
            for line in read
            if line is not None and line.custom_id.startswith(prefix)
        }
        if n_unread := sum(line is None for line in read):
            api.model.warnings.append(
                f"batch {row.name}: skipped {n_unread} lines of results that cannot be read"
            )
        calls = self._store.batch_calls(row, lines.keys())
        return [
            self._outcome(self._plan.calls[index], call, lines[key]) for key, (call, index) in calls.items()
        ]

    def _outcome(self, planned: PlannedCall, call: Call, line: ResultLine) -> Settled:
        model = planned.model
        assert isinstance(model, RemoteModel)
        if not line.status:
            return Settled(call.key, "lost", error=ReplyError("timeout", line.message[:500]))
        try:
            result = model.read_batched(call, planned.params, line.status, line.body)
        except AdjudgeError as stop:
            self._stop_error = stop
            return Settled(call.key, "lost", error=ReplyError("bad_reply", str(stop)[:500]))
        if isinstance(result, Fault):
            if result.is_final:
                self._stop_error = model.stopped_by(result)
            is_lost = result.is_final or result.is_retryable
            error = ReplyError(result.kind, result.message[:500])
            return Settled(call.key, "lost" if is_lost else "failed", error=error)
        self.collected_usd += max(0.0, result.cost_usd or 0.0)
        return Settled(call.key, "cut" if model.is_cut_off(result, planned.params) else "answered", result)

    # Requests that may be repeated

    async def _repeated(self, api: BatchApi, request: Callable[[], Awaitable[T | Fault]]) -> T | Fault:
        """The answer to a request that changes nothing twice;
        a fault that repeating does not mend is returned.
        """
        started, number = monotonic(), 0
        while True:
            result = await request()
            if not isinstance(result, Fault) or result.status in (404, 410):
                return result
            if not result.is_retryable and not result.is_final:
                return result
            await self._pause(api, result, number, started)
            number += 1

    async def _pause(self, api: BatchApi, fault: Fault, number: int, started: float) -> None:
        """Wait before a request is repeated; raises where that is of no use."""
        if fault.status == 404:
            raise _no_batch_api(api)
        if fault.is_final or not fault.is_retryable:
            raise api.model.stopped_by(fault)
        if (fault.wait_seconds or 0.0) > LONGEST_STATED_SECONDS:
            raise RateLimited(sentences(fault.message, "Run the same command again later, to resume."))
        if monotonic() - started > self._patience_seconds:
            raise HostDown(sentences(fault.message, "Run the same command again when it is back, to resume."))
        await asyncio.sleep(_pause_after(fault, number))

    def _notify(self) -> None:
        if self._on_change is not None:
            self._on_change(self._store.batches(self._run))


class _FirstLine:
    """Takes the first line of a download, and ends it there."""

    def __init__(self) -> None:
        self._data = b""

    def write(self, data: bytes) -> int:
        self._data += data
        if b"\n" in self._data:
            raise OSError("the first line is enough")
        return len(data)

    def line(self) -> bytes:
        return self._data.partition(b"\n")[0].strip()


def _before_creation(api: BatchApi) -> str:
    return "uploaded" if api.has_files else "planned"


def _may_have_created(fault: Fault) -> bool:
    """Whether a batch may exist although its creation was answered with a fault, or not at all."""
    if fault.is_unreached:
        return False
    return fault.status < 400 or fault.status >= 500 or fault.status in (408, 409, 425)


_UNREADY = re.compile(r"\bfile\b", re.IGNORECASE)


def _is_unready(fault: Fault) -> bool:
    """Whether the uploaded file is not known yet where
    batches are created: some seconds, with some providers.
    """
    return fault.status in (400, 404, 409) and _UNREADY.search(fault.message) is not None


def _pause_after(fault: Fault, number: int) -> float:
    longest = min(LONGEST_BACKOFF_SECONDS, BACKOFF_SECONDS * 2.0**number)
    return fault.wait_seconds or uniform(longest / 2, longest)


def _no_batch_api(api: BatchApi) -> ModelError:
    return ModelError(
        f"{api.model.endpoint} has no batch API: it answered 404. Leave --batch out, or check the "
        f"address of {api.model.name}."
    )


def _note_on(counts: dict[str, int]) -> str:
    words = {"lost": "to be asked again", "failed": "failed", "cut": "cut off, to be asked again"}
    return ", ".join(f"{counts[name]} {text}" for name, text in words.items() if counts.get(name))

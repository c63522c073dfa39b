"""The progress of a run: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any

from ..engine import Prepared, Progress, Watcher
from ..models import Model
from ..records import Item, Protocol
from ..store import BatchRow, RunRow, RunStatus
from ..untrusted import raw_stream, safe_text
from ..words import count, price
from .terminal import print_note

_LINE_SECONDS = 5.0
_SILENT_SECONDS = 15.0
"""The longest time without a line where there is no terminal, whether anything is done or not."""


def _size(prepared: Prepared, calls: int) -> str:
    """How much there is to do. How many calls a judgment in steps takes is not known before."""
    if any(protocol.pipeline for protocol in prepared.plan.protocols):
        return f"{calls} judgments in steps"
    models = prepared.plan.models
    # Recorded replies, and judges that answer typed questions, get no follow-up questions.
    n_asked = sum(not (model.is_recorded or model.asks_questions) for model in models)
    reasks = round(calls * prepared.plan.options.reask * n_asked / len(models))
    questions = f", and {count(reasks, 'follow-up question')}" if reasks else ""
    return f"at most {count(calls, 'call')}{questions}"


class ProgressWatcher(Watcher):
    """Prints to standard error, so that standard output holds only the result."""

    def __init__(self, *, is_quiet: bool) -> None:
        self.run: RunRow | None = None
        self.prepared: Prepared | None = None
        self.latest = Progress()
        self.batches: tuple[BatchRow, ...] = ()
        self._is_quiet = is_quiet
        self._bar: Any = None
        self._task: Any = None
        self._started = self._printed = time.monotonic()
        self._planned = 0
        self._ended = threading.Event()

    def __enter__(self) -> ProgressWatcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._bar is not None:
            self._bar.update(self._task, completed=self.latest.done, words=self._bar_words())
            self._bar.stop()
        elif self.run is not None and not self._is_quiet:
            self._print_line()

    def started(self, run: RunRow, prepared: Prepared) -> None:
        self.run, self.prepared = run, prepared
        if self._is_quiet:
            return
        for text in prepared.items.notes:
            print_note(f"note: {text}\n")
        for text in prepared.bad[:20]:
            print_note(f"skipped: {text}\n")
        if len(prepared.bad) > 20:
            sys.stderr.write(f"skipped: {len(prepared.bad) - 20} more\n")
        if any(model.is_fake for model in prepared.plan.models):
            sys.stderr.write("a fake model answers: the scores below are meaningless\n")
        for model in prepared.plan.models:
            if model.ending is not None:
                print_note(f"note: {model.ending.text(model.name)}\n")
        verb = "Resuming" if run.is_resumed else "Starting"
        shard = f", shard {prepared.shard.number}/{prepared.shard.n}" if prepared.shard.n > 1 else ""
        calls = prepared.n_judged * len(prepared.plan.calls_of(Item("", {})))
        sys.stderr.write(
            f"{verb} run {run.name}{shard}: {count(prepared.n_judged, 'item')}, {_size(prepared, calls)}\n"
        )
        if batched := [model.name for model in prepared.plan.models if model.is_batched]:
            print_note(
                f"Batches for {', '.join(batched)}: half the price, answers within 24 hours. "
                "Follow-up questions, evaluation steps and other calls that depend on an answer are "
                "sent one by one, at full price.\n"
            )
            if in_steps := [protocol.id for protocol in prepared.plan.protocols if protocol.pipeline]:
                print_note(f"In steps, so that all calls are sent one by one: {', '.join(in_steps)}\n")
        sys.stderr.flush()
        self._planned = calls
        if sys.stderr.isatty():
            self._open_bar()
        threading.Thread(target=self._break_silence, daemon=True).start()

    def _break_silence(self) -> None:
        """Print a line now and then although nothing is done: a
        run that waits should not look like one that hangs.
        """
        while not self._ended.wait(1.0):
            now = time.monotonic()
            if self._bar is not None:
                self._bar.update(self._task, words=self._bar_words())
            elif now - self._printed > _SILENT_SECONDS:
                self._printed = now
                self._print_line()

    def shard_note(self, status: RunStatus) -> str:
        """What to do after a shard of a run; empty where the run is not one of several."""
        if self.prepared is None or self.prepared.shard.n == 1:
            return ""
        number, n = self.prepared.shard
        done = f"Shard {number}/{n} done: {self.prepared.n_judged:,} of {self.prepared.n_items:,} items; "
        if status == "done":
            return f"{done}all shards are in this store, and the run is complete"
        return f"{done}merge the stores with adjudge runs merge"

    def wrote_steps(self, protocol: Protocol) -> None:
        if not self._is_quiet:
            steps = "".join(f"  {number}. {step}\n" for number, step in enumerate(protocol.steps, 1))
            print_note(f"evaluation steps that the judge wrote for {protocol.id}:\n{steps}")

    def _open_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[words]}", markup=False),
            TimeRemainingColumn(),
            console=Console(file=raw_stream(sys.stderr)),
            transient=False,
        )
        self._task = self._bar.add_task("", total=None, words="")
        self._bar.start()

    def progressed(self, progress: Progress) -> None:
        self.latest = progress
        now = time.monotonic()
        if self._bar is not None:
            if now - self._printed > 0.1 or progress.done == progress.total:
                self._printed = now
                words = self._bar_words()
                self._bar.update(self._task, completed=progress.done, total=progress.total, words=words)
        elif not self._is_quiet and now - self._printed > _LINE_SECONDS:
            self._printed = now
            self._print_line()

    def batched(self, batches: Sequence[BatchRow]) -> None:
        """Show how much of the open batches is answered: on the bar, or in a line where something changed."""
        earlier, self.batches = self.batches, tuple(batches)
        words = batch_words(self.batches)
        if self._bar is not None:
            held = [row for row in batches if row.holds_calls]
            n_done = sum(row.n_done + row.n_failed for row in held)
            self._bar.update(
                self._task, completed=n_done, total=sum(row.n_calls for row in held) or None, words=words
            )
        elif not self._is_quiet and words and words != batch_words(earlier):
            sys.stderr.write(f"{words}\n")
            sys.stderr.flush()

    def _print_line(self) -> None:
        latest = self.latest
        left = ""
        if 0 < latest.done < latest.total:
            seconds = (time.monotonic() - self._started) / latest.done * (latest.total - latest.done)
            left = f", {_duration(seconds)} left"
        done = f"{latest.done} of {latest.total or self._planned} done"
        print_note(f"{done}, {self._words()}{left}{self._troubles()}\n")
        sys.stderr.flush()

    def _troubles(self) -> str:
        return troubles(self.prepared.plan.models) if self.prepared is not None else ""

    def _bar_words(self) -> str:
        words = self._words() if not self.batches else batch_words(self.batches) or self._words()
        return safe_text(words + self._troubles())

    def _words(self) -> str:
        latest = self.latest
        rate = latest.done / max(time.monotonic() - self._started, 1e-9)
        cost = f", {price(latest.cost_usd)}" if latest.cost_usd else ""
        stored = f", {latest.cached} from the store" if latest.cached else ""
        batched = f", {latest.in_batches} in batches" if latest.in_batches else ""
        return f"{latest.failed} failed{batched}{stored}{cost}, {rate:.1f}/s"


def troubles(models: Iterable[Model]) -> str:
    """Why the run waits, with the remedy: a rate limit, a host that is down, timeouts."""
    # Several judges of one host wait for the same reason.
    each = dict.fromkeys(model.trouble for model in models)
    return "".join(f". {trouble}" for trouble in each if trouble)


def batch_words(batches: Sequence[BatchRow]) -> str:
    """The batches of a run that are not collected, by their state, and how many of their calls are
    answered."""
    held = [row for row in batches if row.holds_calls]
    if not held:
        return ""
    states: dict[str, int] = {}
    for row in held:
        name = row.provider_state if row.state == "open" and row.provider_state else row.state
        states[name] = states.get(name, 0) + 1
    n_done, n_calls = sum(row.n_done for row in held), sum(row.n_calls for row in held)
    listed = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in states.items())
    return f"batches: {listed}; {n_done:,} of {n_calls:,} calls answered"


@contextlib.contextmanager
def page_progress() -> Iterator[Callable[[int, int], None]]:
    """The progress of writing pages: a bar on a terminal, a line every few seconds elsewhere."""
    printed = time.monotonic()

    def print_line(done: int, total: int) -> None:
        nonlocal printed
        if time.monotonic() - printed > _LINE_SECONDS:
            printed = time.monotonic()
            sys.stderr.write(f"{done} of {total} pages written\n")
            sys.stderr.flush()

    if not sys.stderr.isatty():
        yield print_line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("pages"), TimeRemainingColumn())
    with Bar(*columns, console=Console(file=raw_stream(sys.stderr)), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

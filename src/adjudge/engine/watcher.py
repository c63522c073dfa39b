"""The watcher of a run, which receives its progress."""

from __future__ import annotations

from collections.abc import Sequence

from ..records import Protocol, Reply
from ..store import BatchRow, RunRow
from .prepared import Prepared
from .progress import Progress


class Watcher:
    """Receives the progress of a run: override the methods that you need."""

    def started(self, run: RunRow, prepared: Prepared) -> None:
        """The run is in the store; no call has been made yet."""

    def wrote_steps(self, protocol: Protocol) -> None:
        """The judge has written the evaluation steps of a protocol, now or in an earlier start of this
        run."""

    def asked_for_steps(self, reply: Reply, *, is_stored: bool) -> None:
        """The judge was asked for the evaluation steps of a protocol, or had been asked before."""

    def progressed(self, progress: Progress) -> None:
        """A judgment was made and is durable."""

    def batched(self, batches: Sequence[BatchRow]) -> None:
        """A batch of the run was submitted, or the provider has answered more of it."""

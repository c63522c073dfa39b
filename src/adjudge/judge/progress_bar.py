"""The progress bar of many items, on a terminal and in a notebook."""

from __future__ import annotations

import sys
from typing import Any

from ..engine import Progress, Watcher


class ProgressBar(Watcher):
    """Draws on standard error, and only where somebody can see it move."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    def progressed(self, progress: Progress) -> None:
        if not _is_seen():
            return
        if self._bar is None:
            self._open()
        words = f"{progress.failed} failed, {progress.cached} from the store"
        if progress.cost_usd:
            words += f", ${progress.cost_usd:.4f}"
        self._bar.update(self._task, completed=progress.done, total=progress.total, words=words)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[words]}"),
            TimeRemainingColumn(),
        )
        self._bar = Bar(*columns, console=Console(file=sys.stderr))
        self._task = self._bar.add_task("", total=None, words="")
        self._bar.start()

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self._bar is not None:
            self._bar.stop()


def _is_seen() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules

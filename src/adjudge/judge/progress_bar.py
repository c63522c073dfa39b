"""The progress bar of many items, on a terminal and in a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any

from ..engine import Progress, Watcher

_WIDTH = 40
_SECONDS = 0.2
"""between two drawings in a notebook"""


class ProgressBar(Watcher):
    """Draws on standard error, and only where a person can see it move."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._drawn_at = 0.0

    def progressed(self, progress: Progress) -> None:
        words = f"{progress.failed} failed, {progress.cached} from the store"
        if progress.cost_usd:
            words += f", ${progress.cost_usd:.4f}"
        if _is_notebook():
            self._draw_line(progress, words)
        elif sys.stderr.isatty():
            if self._bar is None:
                self._open()
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

    def _draw_line(self, progress: Progress, words: str) -> None:
        """A line that is written over: rich draws in notebooks only with ipywidgets."""
        is_done = progress.done >= progress.total
        if not is_done and time.monotonic() - self._drawn_at < _SECONDS:
            return
        self._drawn_at = time.monotonic()
        filled = _WIDTH * progress.done // max(progress.total, 1)
        bar = "━" * filled + "─" * (_WIDTH - filled)
        sys.stderr.write(f"\r{bar} {progress.done}/{progress.total} {words}")
        sys.stderr.flush()

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self._bar is not None:
            self._bar.stop()
        elif self._drawn_at:
            sys.stderr.write("\n")


def _is_notebook() -> bool:
    return "ipykernel" in sys.modules

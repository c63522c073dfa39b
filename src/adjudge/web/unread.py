"""How many replies of a run could not be read in full: counted beside the list of runs, since it takes a look at each.

A call that brought a reply has not failed, and a list that counted failed calls alone would
show a run of nothing but unreadable replies as sound. One thread counts one run after another;
what it found holds until the run's judgments change. A run that goes on is not counted.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Hashable, Mapping
from pathlib import Path

from ..errors import AdjudgeError
from ..records import Judgment
from ..store import open_store

State = Hashable
"""Whatever changes with the judgments of a run."""


class UnreadReplies:
    """The counts of all runs of a store that have come to an end."""

    def __init__(self, store_path: Path) -> None:
        self._store_path = store_path
        self._lock = threading.Lock()
        self._known: dict[str, tuple[State, int | None]] = {}
        self._wanted: dict[str, State] = {}
        self._is_counting = False

    def of(self, runs: Mapping[str, State], wait_seconds: float) -> tuple[dict[str, int | None], bool]:
        """By name how many replies could not be read, none where that is not known; and whether all were counted."""
        give_up = time.monotonic() + wait_seconds
        while True:
            with self._lock:
                found = {
                    name: self._known[name] for name, state in runs.items() if self._is_current(name, state)
                }
                self._wanted |= {name: state for name, state in runs.items() if name not in found}
                if self._wanted and not self._is_counting:
                    self._is_counting = True
                    threading.Thread(target=self._count, name="unread replies", daemon=True).start()
            is_whole = len(found) == len(runs)
            if is_whole or time.monotonic() >= give_up:
                return {name: count for name, (_, count) in found.items()}, is_whole
            time.sleep(0.01)

    def _is_current(self, name: str, state: State) -> bool:
        return name in self._known and self._known[name][0] == state

    def _count(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self._is_counting = False
                    return
                name, state = self._wanted.popitem()
            count = self._of_run(name)
            with self._lock:
                self._known[name] = (state, count)

    def _of_run(self, name: str) -> int | None:
        try:
            with open_store(self._store_path, write=False) as store:
                places = store.judgments(store.run(name))
                return sum(place.judgment is not None and _is_lacking(place.judgment) for place in places)
        except (AdjudgeError, sqlite3.Error, OSError):
            return None  # the run was deleted, or its page says what is wrong with the store


def _is_lacking(judgment: Judgment) -> bool:
    """Whether anything that was asked for could not be read."""
    return judgment.choice_status not in (None, "ok") or any(
        score.status != "ok" for score in judgment.scores
    )

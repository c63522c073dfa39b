"""What every page of the live server is given: the store, the frame of all pages, and what is made once and kept.

A page opens the store for as long as it reads, so that a store may be written, moved or
replaced while the server runs. Nothing here writes to it. What is derived from a store (the
items tables) lies in a folder of this process and ends with it.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse

from ..store import RunRow, Store, Totals, open_store
from .items_index import Indexes

# What takes too long to make for every request: made by a thread, kept, and made again when the run has changed.
#
# The summary and the card of a large run take seconds. A page shows the last one there is and says
# how old it is; while a run goes on, a new one is begun when a page asks, and never two at once for
# one run. This file knows nothing of what it makes.


T = TypeVar("T")

REST = 4
"""While a run grows, a new value is begun only after so many times as long as the last one took."""


class Kept(Generic[T]):
    """One value that follows a state."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._value: T | None = None
        self._state: object = None
        self._fault: Exception | None = None
        self._is_making = False
        self._took = 0.0
        self._ended = 0.0
        self.number = 0
        """grows with every new value"""

    def get(self, state: object, wait_seconds: float) -> tuple[T | None, bool]:
        """The last value, and whether it is of this state; waits a little while for the first one."""
        with self._changed:
            is_rested = self.number == 0 or time.monotonic() - self._ended > min(30.0, REST * self._took)
            if self._state != state and not self._is_making and is_rested:
                self._is_making = True
                threading.Thread(target=self._work, args=(state,), daemon=True).start()
            self._changed.wait_for(lambda: not self._is_making, timeout=wait_seconds)
            if self._fault is not None:
                raise self._fault
            return self._value, self._state == state

    def _work(self, state: object) -> None:
        began = time.monotonic()
        value: T | None = None
        fault: Exception | None = None
        try:
            value = self._make()
        except Exception as error:  # noqa: BLE001 - it is raised again, to whoever asks for the value
            fault = error
        with self._changed:
            if fault is None:
                self._value, self._state = value, state
            # After a fault no state is reached, so that whoever asks a little later makes it try again.
            self._fault, self._is_making = fault, False
            self._ended = time.monotonic()
            self._took = self._ended - began
            self.number += 1
            self._changed.notify_all()


class Context:
    """Shared by all routes of one server."""

    def __init__(self, store_path: Path, csrf: str) -> None:
        self.store_path = store_path
        self.csrf = csrf
        self._lock = threading.Lock()
        self._indexes: Indexes | None = None
        self._totals: dict[int, tuple[RunRow, Totals]] = {}

    def reading(self) -> Store:
        """The store, to be used by `with`."""
        return open_store(self.store_path, write=False)

    @property
    def indexes(self) -> Indexes:
        """The items tables. Their folder is made when the first one is looked at."""
        with self._lock:
            if self._indexes is None:
                folder = tempfile.mkdtemp(prefix="adjudge-")  # readable by this user alone
                self._indexes = Indexes(Path(folder), self.store_path)
                weakref.finalize(self, _tidy, self._indexes, folder)
            return self._indexes

    def totals(self, store: Store, run: RunRow) -> Totals:
        """What a run comes to. It is counted once for a run that has come to an end."""
        known = self._totals.get(run.id)
        if known is not None and known[0] == run and run.status != "running":
            return known[1]
        totals = store.totals(run)
        self._totals[run.id] = (run, totals)
        return totals

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A template as an answer, with what the frame of all pages needs."""
        return HTMLResponse(self.fragment(request, template, **values), status_code=status)

    def fragment(self, request: Request, template: str, **values: Any) -> str:
        """A template as text."""
        from .templating import render

        common = {"csrf": self.csrf, "store_name": self.store_path.name, "path": request.url.path}
        return render(template, **common, **values)


def _tidy(indexes: Indexes, folder: str) -> None:
    indexes.close()
    shutil.rmtree(folder, ignore_errors=True)

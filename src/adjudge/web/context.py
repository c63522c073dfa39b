"""What every page of the live server is given: the store, the frame of all pages, and what is made once and kept.

A page opens the store for as long as it reads, so that a store may be written, moved or
replaced while the server runs. Nothing here writes to it. What is derived from a store (the
items tables) lies in a folder of this process and ends with it.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from ..store import RunRow, Store, Totals, open_store
from .index import Indexes


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
        from .pages import render

        common = {"csrf": self.csrf, "store_name": self.store_path.name, "path": request.url.path}
        return render(template, **common, **values)


def _tidy(indexes: Indexes, folder: str) -> None:
    indexes.close()
    shutil.rmtree(folder, ignore_errors=True)

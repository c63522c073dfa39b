"""What all pages of one server share: the store, the items tables, the frame around a page, and who asks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from ..analysis.labels.in_store import labels_in_store
from ..analysis.labels.judged_texts import is_of_text
from ..data.labels import LabelFile
from ..errors import AdjudgeError, DataError, StoreError
from ..records import Item, Label
from ..results.manifest import protocols_of
from ..store import RunRow, Store, Totals, open_store
from ..store.browsing import labels_state
from .invitation import Visitor
from .items.run_table import RunTables
from .security import VISITOR

if TYPE_CHECKING:
    from .static_copy.limits import Limits
    from .static_copy.shared_texts import SharedTexts


class Context:
    """What all pages of one server share: the store, the items tables, and the frame around a page.

    A page opens the store only while it reads, so that the store may be written, moved or replaced while the
    server runs.
    """

    def __init__(self, store_path: Path, given: LabelFile | None = None) -> None:
        self.store_path = store_path
        self.given = given
        """labels of a file, which replace those in the store"""
        self.limits: Limits | None = None
        """for a static copy: its runs, and how many items of each"""
        self.shared_texts: SharedTexts | None = None
        """for a static copy: the texts that its pages load when they are asked for"""
        self.tables = RunTables(given)
        self._labels: dict[int, tuple[tuple[int, int], dict[str, list[Label]]]] = {}
        self._totals: dict[int, tuple[RunRow, Totals]] = {}

    def reading(self) -> Store:
        """The store, opened for reading; close it by `with`."""
        return open_store(self.store_path, write=False)

    def writing(self) -> Store:
        """The store, opened for writing; close it by `with`. A store that is gone is not made anew."""
        if self.limits is not None or not self.store_path.exists():
            raise StoreError(
                f"{self.store_path}: there is no store that can be written.\nStart `adjudge view` again."
            )
        return open_store(self.store_path)

    def why_read_only(self, request: Request) -> str:
        """Why nothing can be saved; empty where it can."""
        path = self.store_path
        if not visitor_of(request).is_owner:
            return "You are invited to read: nothing can be saved here."
        if self.limits is not None:
            return "This is a copy of the pages: nothing can be saved here."
        if not os.access(path, os.W_OK):
            return f"{path.name} is read-only for you, so nothing can be saved. Copy it, or ask its owner."
        if not os.access(path.absolute().parent, os.W_OK):
            return (
                f"The folder of {path.name} is read-only for you, so nothing can be saved. Copy the "
                "store to another folder."
            )
        return ""

    def shown_store(self, request: Request) -> str:
        """The store in a command to copy; its folder is nothing to people who were invited."""
        return str(self.store_path) if visitor_of(request).is_owner else self.store_path.name

    def labels(self, store: Store, run: RunRow, item: Item) -> tuple[list[Label], int]:
        """The labels of an item's text, of the file that was given or in the store; and how many are of
        another text.
        """
        protocols = list(protocols_of(store, run).values())
        of_item = self._labels_by_item(store, run).get(item.id, [])
        of_text = [label for label in of_item if is_of_text(label, item, protocols)]
        return of_text, len(of_item) - len(of_text)

    def _labels_by_item(self, store: Store, run: RunRow) -> dict[str, list[Label]]:
        """All labels of a run, read again when a label is added or changed."""
        state = (0, 0) if self.given is not None else labels_state(store)
        known = self._labels.get(run.id)
        if known is not None and known[0] == state and run.status != "running":
            return known[1]
        by_item: dict[str, list[Label]] = {}
        for label in self.given.labels if self.given is not None else labels_in_store(store, run):
            by_item.setdefault(label.item, []).append(label)
        self._labels[run.id] = (state, by_item)
        return by_item

    def totals(self, store: Store, run: RunRow) -> Totals:
        """The totals of a run; those of a run that has ended are counted once."""
        known = self._totals.get(run.id)
        if known is not None and known[0] == run and run.status != "running":
            return known[1]
        totals = store.totals(run)
        self._totals[run.id] = (run, totals)
        return totals

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A template as a response, with what the frame of all pages needs."""
        return HTMLResponse(self.fragment(request, template, **values), status_code=status)

    def fragment(self, request: Request, template: str, **values: Any) -> str:
        """A template as text."""
        from .templating import render_page

        common = {
            "csrf": visitor_of(request).csrf,
            "store_name": self.store_path.name,
            "path": request.url.path,
            "is_copy": self.limits is not None,
            "shared": self.shared_texts.places if self.shared_texts is not None else None,
        }
        return render_page(template, **common, **values)


def visitor_of(request: Request) -> Visitor:
    """Who sends a request that passed the checks."""
    visitor: Visitor = getattr(request.state, VISITOR, None) or Visitor()
    return visitor


async def posted(request: Request) -> dict[str, Any]:
    """The JSON object that a page has sent."""
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise DataError("The request is not a JSON object. Reload the page.")
    return body


def refused(error: AdjudgeError) -> Response:
    """The answer to a page whose request cannot be carried out."""
    return JSONResponse({"error": str(error)}, status_code=400)

"""The viewer's page of one item: its fields, its results and labels, and every call with its reply."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response

from ...analysis.item_view.item_view import item_view
from ...analysis.item_view.shown_text import shorten
from ...errors import StoreError
from ...records import Item
from ...results.manifest import protocols_of
from ...store import RunRow, Store
from ...store.browsing import calls_of_item, item_at, items_between
from ..context import Context
from ..items.filter import Filter, read_filter
from ..items.index import field_text
from ..items.listing import FIRST_COPY_SECONDS, ROWS_ON_A_PAGE, IndexedRow, Listing
from ..page_addresses import query_number, run_named
from .items import ItemsPage

LONGEST_TEXT = 60_000
"""Characters of one text on the page; `adjudge runs show` has all of it."""


class ItemPage:
    """The endpoint of one item."""

    def __init__(self, context: Context, items: ItemsPage) -> None:
        self._context = context
        self._items = items

    def page(self, request: Request) -> Response:
        wanted = read_filter(request.query_params)
        seq = query_number(request.query_params.get("n"))
        if seq is None:
            raise StoreError("The address has no item number.\nGo back to the list of runs.")
        with self._context.reading() as store:
            run = run_named(store, request)
            values = self.values(store, run, seq, wanted, query_number(request.query_params.get("row")))
            values |= self._written(request, store, run, values["item"], seq)
        crumbs = [
            (self._context.store_path.name, "/"),
            (run.name, f"/run?{urlencode({'run': run.name})}"),
            ("Items", values["list"]),
            (values["item"].id, None),
        ]
        return self._context.page(request, "view/item.html", crumbs=crumbs, **values)

    def _written(self, request: Request, store: Store, run: RunRow, item: Item, seq: int) -> dict[str, Any]:
        """What people wrote about an item, who writes here, and the same item in other runs."""
        from ..parts.same_item import same_item
        from ..reviewer import reviewer_of

        limits = self._context.limits
        runs = [one for one in reversed(store.runs()) if limits is None or one.name in limits.runs]
        return {
            "same": same_item(store, run, item, seq, runs),
            "notes": [note for note in store.notes(run) if note.item == item.id],
            "reviewer": reviewer_of(request),
            "read_only": self._context.why_read_only(request),
        }

    def values(self, store: Store, run: RunRow, seq: int, wanted: Filter, row: int | None) -> dict[str, Any]:
        """What a page shows of an item, in the order of a list."""
        item = item_at(store, run, seq)
        places = calls_of_item(store, run, seq)
        labels = self._context.labels(store, run, item)
        has_order = wanted.is_narrowed or bool(wanted.sort)
        # Only a filtered or sorted list needs the copy; otherwise the item numbers give the neighbours.
        listing = self._items.listing(run, FIRST_COPY_SECONDS if has_order else 0.0)
        is_last = not items_between(store, run, seq + 1, seq + 1)
        view = item_view(item, places, protocols_of(store, run), longest=LONGEST_TEXT)
        rows = listing.of_item(seq) or listing.index.made_at_once(store, run, seq)
        place: tuple[int, int] | None = None
        if has_order:
            row = row if row is not None or not rows else rows[0]["id"]
            back, after = _around(listing, run, wanted, row)
            place = listing.place(wanted, row) if row is not None else None
        else:
            back = f"/item?{wanted.query(run.name)}&n={seq - 1}" if seq else None
            after = None if is_last else f"/item?{wanted.query(run.name)}&n={seq + 1}"
        results, flags = _results(rows)
        # The page of the list on which this item is, and its row there.
        page = (place[0] - 1) // ROWS_ON_A_PAGE + 1 if place is not None else wanted.page
        anchor = f"#n{seq}"
        return {
            "run": run.name,
            "item": item,
            "number": seq + 1,
            "place": place,
            "view": view,
            "results": results,
            "flags": flags,
            "labels": labels,
            "others": _others(store, run, item, seq, listing),
            "back": back,
            "next": after,
            "list": f"/items?{wanted.query(run.name, page=page)}{anchor}",
            "is_narrowed": wanted.is_narrowed,
            "searched": wanted.q,
            "permalink": f"/item?{urlencode({'run': run.name, 'n': seq})}",
        }


_MOST_OTHERS = 12


_LONGEST_OTHER = 1500


class OtherOutput(Struct, frozen=True):
    """What another system gave for the same input: the fields that differ, and its results."""

    item: str
    system: str
    url: str
    results: tuple[IndexedRow, ...]
    texts: tuple[tuple[str, str], ...]


def _others(store: Store, run: RunRow, item: Item, seq: int, listing: Listing) -> list[OtherOutput]:
    """The other items of the same group."""
    if item.group is None:
        return []
    others = []
    for number in listing.of_input(item.group, seq, _MOST_OTHERS):
        other = items_between(store, run, number, number).get(number)
        if other is not None:
            texts = [
                (name, shorten(field_text(value), _LONGEST_OTHER).text)
                for name, value in other.fields.items()
                if value != item.fields.get(name)
            ]
            url = f"/item?{urlencode({'run': run.name, 'n': number})}"
            system = other.system if other.system_b is None else f"{other.system_a} – {other.system_b}"
            others.append(OtherOutput(other.id, system, url, tuple(listing.of_item(number)), tuple(texts)))
    return others


def _around(listing: Listing, run: RunRow, wanted: Filter, row: int | None) -> tuple[str | None, str | None]:
    """The addresses of the items before and after this one in the order of the list."""
    if row is None:
        return None, None
    query = wanted.query(run.name)
    back, after = (
        None if neighbour is None else f"/item?{query}&n={neighbour['seq']}&row={neighbour['id']}"
        for neighbour in listing.around(wanted, row)
    )
    return back, after


class ResultLine(Struct):
    """One judge on one criterion: the score, or for a pair the scores of both sides and the choice."""

    criterion: str
    model: str
    a: IndexedRow | None = None
    b: IndexedRow | None = None
    item: IndexedRow | None = None
    """the score of a single response, or the choice of a pair"""
    n_samples: int = 0
    n_failed: int = 0
    statuses: list[str] = field(default_factory=list)
    labels: list[float | str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    """flags that not all results of the item have"""


def _results(rows: list[IndexedRow]) -> tuple[list[ResultLine], list[str]]:
    """The results of an item by judge and criterion, and the flags that all of them have."""
    row_flags = [row["flags"].split() for row in rows]
    common = [
        flag for flag in (row_flags[0] if row_flags else ()) if all(flag in flags for flags in row_flags)
    ]
    lines: dict[tuple[str, str, str], ResultLine] = {}
    for row, flags in zip(rows, row_flags, strict=True):
        key = (row["protocol"], row["criterion"], row["model"])
        line = lines.setdefault(key, ResultLine(row["criterion"], row["model"]))
        setattr(line, row["subject"] or "item", row)
        line.n_samples = max(line.n_samples, row["n_samples"])
        line.n_failed = max(line.n_failed, row["n_failed"])
        line.statuses = list(dict.fromkeys((*line.statuses, row["status"])))
        line.flags = list(dict.fromkeys((*line.flags, *(flag for flag in flags if flag not in common))))
        if row["label"] is not None:
            line.labels.append(row["label"])
    return list(lines.values()), common

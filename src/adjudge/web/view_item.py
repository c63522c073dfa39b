"""The page of one item: what was judged, the exact prompt, every reply, and what was read from it where."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from ..errors import StoreError
from ..store import RunRow
from ..store.browsing import item_at, places_of
from .context import Context
from .filters import Filter, neighbours, read_filter
from .index import COLUMNS, RunIndex
from .item_parts import fields_of, groups_of
from .view_items import rule_for
from .view_run import run_named


class ItemPage:
    """The endpoint of one item."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def page(self, request: Request) -> Response:
        wanted = read_filter(request.query_params)
        seq = _whole(request.query_params.get("n"))
        row = _whole(request.query_params.get("row"))
        if seq is None:
            raise StoreError("This address names no item.\nGo back to the list of runs.")
        with self._context.reading() as store:
            run = run_named(store, request)
            item = item_at(store, run, seq)
            places = places_of(store, run, seq)
            labels = [label for label in store.labels(run) if label.item == item.id]
        index = self._context.indexes.of(run)
        index.follow()
        back, after = _around(index, run, wanted, seq, row)
        values: dict[str, Any] = {
            "run": run.name,
            "item": item,
            "number": seq + 1,
            "fields": fields_of(item, places),
            "groups": groups_of(item, places),
            "results": _results(index, seq),
            "labels": labels,
            "back": back,
            "next": after,
            "list": f"/items?{wanted.query(run.name)}",
            "is_narrowed": wanted.is_narrowed,
            "permalink": f"/item?{urlencode({'run': run.name, 'n': seq})}",
            "crumbs": [
                (self._context.store_path.name, "/"),
                (run.name, f"/run?{urlencode({'run': run.name})}"),
                ("Items", f"/items?{wanted.query(run.name)}"),
                (item.id, None),
            ],
        }
        return self._context.page(request, "view/item.html", **values)


def _around(
    index: RunIndex, run: RunRow, wanted: Filter, seq: int, row: int | None
) -> tuple[str | None, str | None]:
    """The addresses of the items before and after this one, in the order in which the list showed them."""
    with index.reading() as connection:
        if row is None:
            found = connection.execute("SELECT min(id) FROM rows WHERE seq = ?", (seq,)).fetchone()
            row = found[0]
        if row is None:
            return None, None
        near = neighbours(connection, wanted, rule_for(index, wanted), row)
    query = wanted.query(run.name)
    back, after = (None if one is None else f"/item?{query}&n={one[1]}&row={one[0]}" for one in near)
    return back, after


def _results(index: RunIndex, seq: int) -> list[dict[str, Any]]:
    with index.reading() as connection:
        found = connection.execute(f"SELECT {COLUMNS} FROM rows WHERE seq = ? ORDER BY id", (seq,)).fetchall()
    return [dict(zip(COLUMNS.split(", "), row, strict=True)) for row in found]


def _whole(text: str | None) -> int | None:
    """A number of an item or a row; nothing else is one."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 15:
        return None
    return int(text)

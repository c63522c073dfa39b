"""Addresses of the viewer: what a query names, and the links to the pages of a run."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from starlette.requests import Request

from ..store import RunRow, Store


def run_named(store: Store, request: Request) -> RunRow:
    """The run named in the query; the last one by default."""
    return store.run(request.query_params.get("run") or "last")


def tabs(run: str) -> list[tuple[str, str]]:
    """The pages of a run."""
    query = urlencode({"run": run})
    return [
        ("Summary", f"/run?{query}"),
        ("Items", f"/items?{query}"),
        ("Matrix", f"/matrix?{query}"),
        ("Largest disagreements", f"/items?{query}&worst=1"),
        ("Review", f"/review?{query}"),
    ]


def query_number(text: str | None) -> int | None:
    """The number of an item or a row in a query; none where it is not a plain number."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 15:
        return None
    return int(text)


def item_url(runs: Iterable[str], item: str, place: int | None) -> str:
    """One item in both runs. Its number in one of them saves a search for its id."""
    query = [*(("with", run) for run in runs), ("item", item)]
    return f"/compare/item?{urlencode(query if place is None else [*query, ('n', str(place))])}"

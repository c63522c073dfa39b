"""The same item in other runs."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from msgspec import Struct

from ...records import Item
from ...store import RunRow, Store
from ...store.browsing import items_between, items_named
from ..page_addresses import item_url

_MOST_RUNS = 12


_MOST_SEARCHED = 20_000
"""Items of all other runs together."""


class SameItem(Struct, frozen=True):
    """Another run that has an item."""

    run: str
    url: str
    beside: str
    """both runs side by side"""


def same_item(store: Store, run: RunRow, item: Item, seq: int, runs: Iterable[RunRow]) -> list[SameItem]:
    """The other runs that have the item, the latest first.

    Runs of the same items have it at the same place. Elsewhere it is searched, which takes too long in a
    large run.
    """
    found: list[SameItem] = []
    n_searched = 0
    for other in runs:
        if other.id == run.id or len(found) == _MOST_RUNS:
            continue
        there = items_between(store, other, seq, seq).get(seq)
        number = seq if there is not None and there.id == item.id else None
        n_items = int(other.manifest.get("items", {}).get("n") or _MOST_SEARCHED)
        if number is None and n_searched + n_items <= _MOST_SEARCHED:
            n_searched += n_items
            number = items_named(store, other, [item.id]).get(item.id)
        if number is not None:
            pair = [run.name, other.name] if run.id < other.id else [other.name, run.name]
            url = f"/item?{urlencode({'run': other.name, 'n': number})}"
            found.append(SameItem(other.name, url, item_url(pair, item.id, seq)))
    return found

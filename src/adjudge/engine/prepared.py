"""A prepared run: a request with everything loaded and checked, and the items of its shard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ..records import Item
from ..run_options.shard import Shard
from .item_source import ItemSource
from .plan import Plan


class Prepared(Struct, frozen=True):
    """A request with everything loaded and checked; no call has been made yet."""

    plan: Plan
    items: ItemSource
    n_items: int
    manifest: dict[str, Any]
    bad: tuple[str, ...] = ()
    shard: Shard = Shard(1, 1)

    def numbered(self) -> Iterator[tuple[int, Item]]:
        """The items to judge, with their numbers in the run."""
        return self.shard.numbered(self.items)

    @property
    def n_judged(self) -> int:
        """How many items are to be judged: all, or those of the shard."""
        return self.shard.size(self.n_items)

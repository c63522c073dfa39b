"""What a static copy holds: its runs, and how many items of each."""

from __future__ import annotations

from msgspec import Struct

MOST_ITEMS = 2000


MOST_ROWS = 20_000
"""Rows of an items table: a browser shows so many on one page without delay."""


class Limits(Struct, frozen=True):
    """What a copy holds: its runs, and how many items of each."""

    runs: tuple[str, ...]
    most_items: int = MOST_ITEMS

    def kept(self, n_items: int, n_rows: int) -> int:
        """How many items of a run with so many items and rows are copied."""
        rows_per_item = max(1.0, n_rows / max(1, n_items))
        return min(n_items, self.most_items, int(MOST_ROWS / rows_per_item))


class LeftOut(Struct, frozen=True):
    """A run of which not all items are in the copy."""

    run: str
    n_items: int
    n_all: int

"""Estimates over labelled items: undefined ones with their reason, and the failures among them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from ...records import Estimate
from ...stats.arrays import undefined
from ..labels.labelled import LabelledItem

MOST_LEVELS = 11
"""Gwet's coefficient is given for scales of at most this many levels."""


def undefined_items(why: str, n: int = 0, n_failed: int = 0) -> Estimate:
    """An undefined estimate over items, with the reason."""
    return undefined(why, n=n, n_failed=n_failed, unit="item")


def with_failures(estimate: Estimate, n_failed: int, *, by_item: bool = True) -> Estimate:
    """The estimate with the judge's failures as `n_failed`, and no longer among the undefined."""
    left_out = max(0, estimate.n_undefined - n_failed) if by_item else estimate.n_undefined
    return structs.replace(estimate, n_failed=n_failed, n_undefined=left_out)


def count_failed(rows: Sequence[LabelledItem]) -> int:
    return sum(row.answer is None for row in rows)

"""Cells that a spreadsheet shows as text, and back again.

A spreadsheet takes a cell that begins with one of a few characters for a formula, and runs it. Our exports
set an apostrophe before such a cell, and before one that begins with an apostrophe itself, so that it can be told
from ours. When a table is read, the apostrophe is taken off again only where the header is that of a file of ours (an
export, items drawn to be labelled, replies drawn to be checked): in a user's own file every apostrophe is the user's.
Pure; knows no file.
"""

from __future__ import annotations

from collections.abc import Sequence

EXPORT_HEADER = (
    "item", "system", "group", "protocol", "criterion", "subject", "model", "score", "normalized", "status", "how",
    "estimator", "samples", "n_failed", "choice", "confidence", "explanation", "system_a", "system_b", "flags",
)  # fmt: skip
"""The columns of an export, by which it is known again."""

_DRAWN_HEADERS = ({"rater", "value", "probability"}, {"reply", "read", "status", "right"})
"""What tells a file that was drawn to be filled in; it begins with item and criterion, and a person may add columns."""

STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")
"""The full-width signs count too: spreadsheets of East Asian locales take them for the narrow ones."""


def is_ours(header: Sequence[str]) -> bool:
    """Whether the cells below this header were guarded by us."""
    if tuple(header) == EXPORT_HEADER:
        return True
    return tuple(header[:2]) == ("item", "criterion") and any(own <= set(header) for own in _DRAWN_HEADERS)


def guarded(text: str) -> str:
    """The text as a cell that is no formula."""
    return f"'{text}" if text.startswith(STARTS) else text


def unguarded(cell: str) -> str:
    """The text that `guarded` was given."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(STARTS) else cell

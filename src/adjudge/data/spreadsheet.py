"""Cells that a spreadsheet shows as text, and back again.

A spreadsheet takes a cell that begins with one of a few characters for a formula, and runs it. Our exports
set an apostrophe before such a cell, and before one that begins with an apostrophe itself, so that it can be told
from ours. When a table is read, the apostrophe is taken off again only where the header is exactly that of an
export: in a user's own file every apostrophe is the user's. Pure; knows no file.
"""

from __future__ import annotations

EXPORT_HEADER = (
    "item", "system", "group", "protocol", "criterion", "subject", "model", "score", "normalized", "status", "how",
    "estimator", "samples", "n_failed", "choice", "confidence", "explanation", "system_a", "system_b", "flags",
)  # fmt: skip
"""The columns of an export, by which it is known again."""

STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")
"""The full-width signs count too: spreadsheets of East Asian locales take them for the narrow ones."""


def guarded(text: str) -> str:
    """The text as a cell that is no formula."""
    return f"'{text}" if text.startswith(STARTS) else text


def unguarded(cell: str) -> str:
    """The text that `guarded` was given."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(STARTS) else cell

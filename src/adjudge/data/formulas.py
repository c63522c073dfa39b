"""Formula injection: a spreadsheet runs a cell that begins with one of a few characters.

Our exports put an apostrophe before such a cell, and before a cell that begins with an apostrophe. It is
removed again only below a header that we wrote (an export, items drawn to be labelled, replies drawn to be
checked).
"""

from __future__ import annotations

from collections.abc import Sequence

EXPORT_HEADER = (
    "item", "system", "group", "protocol", "criterion", "subject", "model", "score", "normalized", "status",
    "how",
    "estimator", "samples", "n_failed", "choice", "confidence", "explanation", "system_a", "system_b",
    "flags",
    "evidence", "notes", "reply",
)  # fmt: skip
"""The columns of an export; a file whose header begins like this is recognised as one."""

_FIRST_EXPORT = 20
"""How many columns the first exports had."""

_DRAWN_HEADERS = ({"rater", "value", "probability"}, {"reply", "read", "status", "right"})
"""Columns of the files that are drawn to be filled in. They begin with item and criterion; users may add
columns."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")
"""With the full-width signs, which spreadsheets of East Asian locales treat like the ASCII ones."""


def is_written_by_us(header: Sequence[str]) -> bool:
    """Whether `guarded` was applied to the cells below this header."""
    # Older exports end with the flags; later ones have more columns behind them.
    if tuple(header[:_FIRST_EXPORT]) == EXPORT_HEADER[:_FIRST_EXPORT]:
        return True
    return tuple(header[:2]) == ("item", "criterion") and any(
        columns <= set(header) for columns in _DRAWN_HEADERS
    )


def guarded(text: str) -> str:
    """The text as a cell that no spreadsheet runs as a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def unguarded(cell: str) -> str:
    """The inverse of `guarded`."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_STARTS) else cell

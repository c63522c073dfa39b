"""Fits text to a terminal: aligned columns, shortened names, wrapped prose. Nothing here prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .untrusted import safe

Line = tuple[str, str]
"""a text without line breaks, and its style"""


def prose(lead: str, text: str, width: int, style: str = "") -> Iterable[Line]:
    """A text wrapped into lines with a hanging indent."""
    indent = " " * min(n_columns(lead), 12)
    line, is_empty = lead, True
    for word in safe(text).split(" "):
        if not is_empty and n_columns(line) + 1 + n_columns(word) > width:
            yield line, style
            line, is_empty = indent, True
        line = f"{line}{word}" if is_empty else f"{line} {word}"
        is_empty = False
        while n_columns(line) > width:
            n = _n_fitting(line, width)
            yield line[:n], style
            line = indent + line[n:]
    yield line, style


def _n_fitting(text: str, width: int) -> int:
    """How many characters of a text fit into `width` columns."""
    n, used = 0, 0
    while n < len(text) and (used := used + n_columns(text[n])) <= width:
        n += 1
    return n


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of one width each, two spaces apart."""
    widths = [max(map(n_columns, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + " " * (wide - n_columns(cell)) for cell, wide in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def n_columns(text: str) -> int:
    """How many columns a text takes; Chinese and Korean characters take two."""
    from rich.cells import cell_len

    return cell_len(text)


def fitted(text: str, width: int) -> str:
    """A name in exactly `width` columns; a longer one is cut
    in the middle, because versions differ at the end.
    """
    from rich.cells import set_cell_size

    if n_columns(text) <= width:
        return set_cell_size(text, width)
    head = set_cell_size(text, width // 2)
    tail = text
    while n_columns(tail) > width - n_columns(head) - 1:
        tail = tail[1:]
    return set_cell_size(f"{head}…{tail}", width)

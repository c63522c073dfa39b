"""Lines of text that fit a terminal: names that cannot act on it, columns that stand below each other, broken prose.

Names of systems, criteria and models come from users' files, and may hold escape sequences, line breaks, or lines that a
CI runner would take for commands: none of them reaches the output as it is. Nothing here knows what is reported.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_LONGEST_NAME = 48
LEAST_ROOM = 12
"""columns below which a name stands on a line of its own"""
_COMMAND = re.compile(r"(^|\s)(?=::)|(#)(?=#\[)")
"""A runner reads `::name::` at the beginning of a line, and `##[name]` wherever it stands."""

Line = tuple[str, str]
"""a text without line breaks, and its style"""


def safe(text: str) -> str:
    """A text that can do nothing but stand there: one line, no control characters, no CI command."""
    shown = "".join(_visible(character) for character in text)
    return _COMMAND.sub(lambda found: f"{found[0]}\\", shown)


def _visible(character: str) -> str:
    # Two of the format characters join letters in Persian and Hindi, and act on nothing else.
    if (
        unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        and character not in "\u200c\u200d"
    ):
        return " " if character in "\t\n\r" else f"\\u{ord(character):04x}"
    return character


def named(
    names: Sequence[str], rows: Sequence[Sequence[str]], remarks: Sequence[str], width: int
) -> Iterable[Line]:
    """Names, numbers in columns, and remarks: on one line where the width allows it, else on several."""
    numbers = aligned(rows)
    room = width - 4 - max(map(n_columns, numbers))
    longest = min(_LONGEST_NAME, max(map(n_columns, names)))
    has_room = room >= min(LEAST_ROOM, longest)
    for name, text, remark in zip(names, numbers, remarks, strict=True):
        if has_room:
            line = f"  {fitted(name, min(room, longest))}  {text}"
        else:
            yield f"  {fitted(name, min(width - 2, longest))}", ""
            line = f"    {text}"
        if remark and n_columns(line) + 2 + n_columns(safe(remark)) <= width:
            yield f"{line}  {safe(remark)}", ""
            continue
        yield line, ""
        if remark:
            yield from prose(" " * 6, remark, width, "dim")


def headed(
    names: Sequence[str], heads: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> Iterable[Line]:
    """A table under heads; where there is no room for it, a line for each cell under its name."""
    numbers = aligned([heads, *rows])
    room = width - 4 - max(map(n_columns, numbers))
    longest = min(_LONGEST_NAME, max(map(n_columns, names), default=0))
    if room >= min(LEAST_ROOM, longest):
        column = min(room, longest)
        yield f"  {' ' * column}  {numbers[0]}", "dim"
        for name, text in zip(names, numbers[1:], strict=True):
            yield f"  {fitted(name, column)}  {text}", ""
        return
    for name, row in zip(names, rows, strict=True):
        yield f"  {fitted(name, min(width - 2, longest))}", ""
        for head, cell in zip(heads, row, strict=True):
            yield from prose("    ", f"{head}: {cell}", width)


def prose(lead: str, text: str, width: int, style: str = "") -> Iterable[Line]:
    """A text broken into lines, those after the first indented under it."""
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
    """How many characters of a text fit into so many columns."""
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
    """A name in exactly so many columns. A longer one is cut in its middle: ends tell versions apart."""
    from rich.cells import set_cell_size

    if n_columns(text) <= width:
        return set_cell_size(text, width)
    head = set_cell_size(text, width // 2)
    tail = text
    while n_columns(tail) > width - n_columns(head) - 1:
        tail = tail[1:]
    return set_cell_size(f"{head}…{tail}", width)

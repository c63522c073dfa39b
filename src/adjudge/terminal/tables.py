"""Tables and prose in the width of a terminal: cells are wrapped between words, and nothing is cut.

An interval, a share and a comparison stay on one line: half an interval reads as another number. A table that
is still too wide leaves columns out, and in less than 80 columns becomes a list with a block for each row.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence

from ..terminal_text import Line, n_columns, prose
from ..untrusted import safe

_GAP = "  "


_TALLEST = 4
"""With more lines than this per row, a list is easier to read."""


_LONGEST_CELL = 40
"""A last cell wider than this goes below its row."""


_SHORT_CELL = 22
"""Up to this width, cells of a list share a line."""


_USUAL_WIDTH = 80
"""A terminal of this width shows tables as tables."""


_BOUND = "\N{NO-BREAK SPACE}"


_TOGETHER = re.compile(
    r"\[[^\[\]\n]{0,32}\]"  # an interval, or the head of a column of them
    r"|(?<=[\d)]) (?=%)"
    r"|(?<=[<>=≤≥±]) (?=[\d.-])"
    r"|(?<=\w) (?=[<>=≤≥] [\d.-])"
    r"| ?(?<=[\d %])/ ?(?=[\d ])"
)


_LEAD = re.compile(r" *(?:[!*•-] )?")


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    spare: Sequence[str] = (),
    *,
    is_of_numbers: bool = False,
) -> list[Line]:
    """A table of at most `width` columns of text, or a list if it does not fit.

    The columns in `spare` are hidden, one after the other, if that makes the table fit; of a table of numbers
    in a terminal of usual width also the others, from the right, the last one at the end. A note names them.
    """
    if is_of_numbers and width >= _USUAL_WIDTH:
        # The last column is often the outcome of the row.
        others = [safe(name) for name in (*columns[-1:], *columns[2:-1])] if len(columns) > 2 else []
        hidden = (*spare, *(name for name in reversed(others) if name not in spare))
    else:
        hidden = tuple(spare)
    left_out: list[str] = []
    names, cells = [safe(name) for name in columns], [[safe(cell) for cell in row] for row in rows]
    while True:
        shown = [at for at, name in enumerate(names) if name not in left_out]
        heads, body = [names[at] for at in shown], [[row[at] for at in shown] for row in cells]
        # A column that may be hidden does not deserve a line of each row.
        if lines := _table(heads, body, width, with_remarks=heads[-1] not in spare):
            break
        if len(left_out) == len(hidden):
            return _tall(names, cells, width) or _list(names, cells, width)
        left_out.append(hidden[len(left_out)])
    if left_out:
        note = f"Columns hidden (terminal too narrow): {', '.join(reversed(left_out))}. --json has all."
        lines += [("", ""), *prose(" ", note, width, "dim")]
    return lines


def _tall(names: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Line]:
    """A table with rows of any height, where a terminal of usual width has no other; otherwise nothing."""
    if width < _USUAL_WIDTH:
        return []
    return _table(names, rows, width, with_remarks=False, tallest=None)


def wrapped(text: str, width: int, lead: str = "") -> list[str]:
    """A text wrapped between words with a hanging indent; its leading spaces and bullet are kept."""
    match = _LEAD.match(text)
    mark = match[0] if match is not None else ""
    lines = prose(lead + mark, _bound(text[len(mark) :]), width)
    return [line.replace(_BOUND, " ").rstrip() for line, _ in lines]


def _bound(text: str) -> str:
    """The text with non-breaking spaces where a line must not be broken."""
    return _TOGETHER.sub(lambda match: match[0].replace(" ", _BOUND), text)


def _table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    with_remarks: bool,
    tallest: int | None = _TALLEST,
) -> list[Line]:
    """The table; empty if it does not fit, or has a row of more than `tallest` lines."""
    remarks = [""] * len(rows)
    if with_remarks and _is_prose(heads, rows) and _natural_width([heads, *rows]) > width:
        # A long text beside the numbers would take their room, so it goes on its own line below them.
        remarks = [f"{heads[-1]}: {row[-1]}" if row[-1] else "" for row in rows]
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    widths = _widths([heads, *rows], width - 1 - len(_GAP) * (len(heads) - 1))
    if widths is None:
        return []
    head, *blocks = [_block(row, widths) for row in (heads, *rows)]
    if tallest is not None and any(len(block) > tallest for block in (head, *blocks)):
        return []
    blocks = [
        [*block, *(wrapped(remark, width, "   ") if remark else [])]
        for block, remark in zip(blocks, remarks, strict=True)
    ]
    # Rows of several lines need an empty line between them.
    is_tall = 2 * sum(len(block) > 1 for block in blocks) > len(rows)
    lines: list[Line] = [(line, "bold") for line in head]
    lines.append((" " + "─" * (sum(widths) + len(_GAP) * (len(widths) - 1)), ""))
    for at, block in enumerate(blocks):
        lines += ([("", "")] if is_tall and at else []) + [(line, "") for line in block]
    return lines


def _is_prose(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    return len(heads) > 2 and max((n_columns(row[-1]) for row in rows), default=0) > _LONGEST_CELL


def _natural_width(rows: Sequence[Sequence[str]]) -> int:
    columns = list(zip(*rows, strict=True))
    return 1 + len(_GAP) * (len(columns) - 1) + sum(max(map(n_columns, column)) for column in columns)


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """The width of each column; none if not even the longest words fit."""
    columns = list(zip(*rows, strict=True))
    wanted = [max(map(n_columns, column)) for column in columns]
    widths = [max(map(_longest_word, column)) for column in columns]
    if sum(widths) > room:
        return None
    # Columns that need least come first, so that as many as possible stay on one line.
    for at in sorted(range(len(widths)), key=lambda at: wanted[at] - widths[at]):
        widths[at] += min(wanted[at] - widths[at], room - sum(widths))
    return widths


def _longest_word(cell: str) -> int:
    return max(map(n_columns, _bound(cell).split(" ")))


def _block(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The lines of one row."""
    cells = [_cell_lines(cell, wide) if cell else [] for cell, wide in zip(row, widths, strict=True)]
    lines = []
    for at in range(max(1, *map(len, cells))):
        parts = [cell[at] if at < len(cell) else "" for cell in cells]
        padded = [part + " " * (wide - n_columns(part)) for part, wide in zip(parts, widths, strict=True)]
        lines.append(" " + _GAP.join(padded).rstrip())
    return lines


def _cell_lines(cell: str, width: int) -> list[str]:
    """A cell wrapped between words, without an indent."""
    return [line.replace(_BOUND, " ") for line, _ in prose("", _bound(cell), width)]


def _list(heads: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> list[Line]:
    """A block for each row: its first cell, then the others that are not empty, short cells side by side."""
    lines: list[Line] = []
    for row in rows:
        if lines:
            lines.append(("", ""))
        first, *others = [(f"{head}: " if head else "", cell) for head, cell in zip(heads, row, strict=True)]
        lines += [(line, "bold") for line in wrapped(first[1], width, f" {first[0]}")]
        lines += [(line, "") for line in _flowing([entry for entry in others if entry[1]], width)]
    return lines


def _flowing(cells: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Cells with their heads: one line for each long cell, several short cells on one line."""
    lines: list[str] = []
    is_open = False
    for head, cell in cells:
        text = head + cell
        is_short = n_columns(text) <= _SHORT_CELL
        if is_short and is_open and n_columns(f"{lines[-1]} · {text}") <= width:
            lines[-1] += f" · {text}"
        else:
            lines += [f"   {text}"] if is_short else wrapped(cell, width, f"   {head}")
        is_open = is_short
    return lines


def piped_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Line]:
    """As wide as needed: a program reads it line by line."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*(safe(name) for name in columns), box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(safe(cell)) for cell in row))
    wide = Console(width=1_000_000)
    console = Console(width=max(200, wide.measure(table).maximum), file=io.StringIO(), no_color=True)
    with console.capture() as captured:
        console.print(table)
    # Without the spaces that fill the last column: a pipe has no right edge.
    return [(text.rstrip(), "") for text in captured.get().removesuffix("\n").split("\n")]

"""Tables and prose in the width of a terminal: cells are broken between words, and nothing is ever cut.

An interval, a share and a comparison stay in one piece: half an interval reads as another number. A table that has no room
even so becomes a list, a block for each row. Nothing here knows what is shown, or prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..report.lines import Line, n_columns, prose, safe

_GAP = "  "
_TALLEST = 4
"""Lines of one row, beyond which a list is easier to read."""

_LONGEST_CELL = 40
"""Columns of text, beyond which the last cell of a row is a remark."""

_SHORT_CELL = 22
"""Columns of text, up to which a cell with its head shares its line in a list."""

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
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, spare: Sequence[str] = ()
) -> list[Line]:
    """A table in so many columns of text; a list where there is no room for one.

    The columns named in `spare` are left out, one after the other, where that saves the table; what is left out is said.
    """
    left_out: list[str] = []
    names, cells = [safe(name) for name in columns], [[safe(cell) for cell in row] for row in rows]
    while True:
        shown = [at for at, name in enumerate(names) if name not in left_out]
        heads, body = [names[at] for at in shown], [[row[at] for at in shown] for row in cells]
        # What may be left out is not worth a line for each row.
        if lines := _table(heads, body, width, with_remarks=heads[-1] not in spare):
            break
        if len(left_out) == len(spare):
            return _list(names, cells, width)
        left_out.append(spare[len(left_out)])
    if left_out:
        said = f"Left out for want of room: {', '.join(reversed(left_out))}. A wider terminal and --json have all."
        lines += [("", ""), *prose(" ", said, width, "dim")]
    return lines


def wrapped(text: str, width: int, lead: str = "") -> list[str]:
    """A text broken between words; the lines after the first stand under it. Its own indent and mark stay in front."""
    own = _LEAD.match(text)
    mark = own[0] if own is not None else ""
    found = prose(lead + mark, _bound(text[len(mark) :]), width)
    return [line.replace(_BOUND, " ").rstrip() for line, _ in found]


def _bound(text: str) -> str:
    """The text with spaces that no line may be broken at."""
    return _TOGETHER.sub(lambda found: found[0].replace(" ", _BOUND), text)


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, with_remarks: bool
) -> list[Line]:
    """The table; nothing where it has no room."""
    remarks = [""] * len(rows)
    if with_remarks and _is_prose(heads, rows) and _natural_width([heads, *rows]) > width:
        # Beside the numbers a long text takes the room of all of them; below them it has a line of its own.
        remarks = [f"{heads[-1]}: {row[-1]}" if row[-1] else "" for row in rows]
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    widths = _widths([heads, *rows], width - 1 - len(_GAP) * (len(heads) - 1))
    if widths is None:
        return []
    head, *blocks = [_block(row, widths) for row in (heads, *rows)]
    if any(len(block) > _TALLEST for block in (head, *blocks)):
        return []
    blocks = [
        [*block, *(wrapped(remark, width, "   ") if remark else [])]
        for block, remark in zip(blocks, remarks, strict=True)
    ]
    # Where most rows take several lines, something between them has to tell them apart.
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
    """How wide each column is; nothing where the longest words alone have no room."""
    columns = list(zip(*rows, strict=True))
    wanted = [max(map(n_columns, column)) for column in columns]
    widths = [max(map(_longest_word, column)) for column in columns]
    if sum(widths) > room:
        return None
    # Those that lack least come first: as many columns as possible stay on one line.
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
    """A cell broken between words, without an indent."""
    return [line.replace(_BOUND, " ") for line, _ in prose("", _bound(cell), width)]


def _list(heads: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> list[Line]:
    """A block for each row: its first cell, then the others that are not empty, short ones side by side."""
    lines: list[Line] = []
    for row in rows:
        if lines:
            lines.append(("", ""))
        first, *others = [(f"{head}: " if head else "", cell) for head, cell in zip(heads, row, strict=True)]
        lines += [(line, "bold") for line in wrapped(first[1], width, f" {first[0]}")]
        lines += [(line, "") for line in _flowing([one for one in others if one[1]], width)]
    return lines


def _flowing(cells: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Cells under their heads: a line for each long one, as many short ones on a line as it holds."""
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

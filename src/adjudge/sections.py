"""Results as sections of text and tables, independent of how they are shown.

Every analysis makes them; the printers for terminal, Markdown and HTML show them. A cell with numbers also
has its text, so that HTML can draw what the others write. Names are as users wrote them; the printers escape
them.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

from msgspec import Struct, structs


class Mark(Struct, frozen=True):
    """A value with its interval, and its range including failures."""

    value: float | None
    low: float | None = None
    high: float | None = None
    possible: tuple[float, float] | None = None


class DrawnInterval(Struct, frozen=True):
    """A number with its interval; a second mark is another number to compare it with."""

    text: str
    marks: tuple[Mark, ...]
    legend: str = ""
    """what the first mark is and what the second; empty: a corrected number, and the judge's alone"""
    is_change: bool = False
    """whether the second mark became the first, so that a line joins them"""


class Part(Struct, frozen=True):
    """One part of a whole: its name, its size, and its kind
    (a status, a reading rule, `first`, `tie`, `second`).
    """

    name: str
    n: int
    kind: str


class Counts(Struct, frozen=True):
    """The parts of a whole."""

    text: str
    parts: tuple[Part, ...]


class Bars(Struct, frozen=True):
    """A histogram; with one level more than counts, the levels are the edges of bins."""

    text: str
    levels: tuple[float, ...]
    counts: tuple[int, ...]
    tallest: int
    """the largest count of the column"""


class Shade(Struct, frozen=True):
    """A share in a table of all pairs, with its details."""

    text: str
    share: float
    detail: str


Value = str | DrawnInterval | Counts | Bars | Shade


class Axis(Struct, frozen=True):
    """The axis of a column that HTML draws; without ends it fits the numbers."""

    low: float | None = None
    high: float | None = None
    reference: float | None = None
    is_whole: bool = False
    """whether only whole numbers exist on it, such as ranks"""
    is_in_percent: bool = False


SHARES = Axis(0.0, 1.0, is_in_percent=True)
WIN_RATES = Axis(0.0, 1.0, 0.5, is_in_percent=True)
CORRELATIONS = Axis(-1.0, 1.0, 0.0)


class Column(Struct, frozen=True):
    """The head of a column, and how printers treat it."""

    name: str
    axis: Axis | None = None
    """the axis of its intervals"""
    is_spare: bool = False
    """hidden first where a terminal is too narrow"""
    is_minor: bool = False
    """in HTML only in the unabridged table"""


class Sourced(Struct, frozen=True):
    """A sentence, and the method behind it."""

    text: str
    source: str


class Notice(Struct, frozen=True):
    """A warning about the numbers of a section."""

    text: str
    is_severe: bool = False


REMARK = "remark"
"""The name of a last column that says what limits the numbers of a row."""


SectionKind = Literal[
    "text", "criterion", "how_to_read", "flags", "moved", "ranks", "order", "people", "agreement"
]
"""What a section is, for printers that show some in another way; its title is for readers alone.

`criterion`: the first of those about one criterion.
"""


class Section(Struct, frozen=True):
    """A heading with lines of text, notices, a table, and notes below it; any of them may be empty."""

    title: str
    lines: tuple[str | Sourced, ...] = ()
    columns: tuple[str | Column, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ()
    depth: int = 2
    notices: tuple[Notice, ...] = ()
    notes: tuple[str, ...] = ()
    is_detail: bool = False
    """folded in HTML"""
    kind: SectionKind = "text"
    criterion: str = ""
    """the criterion that all of it is about, by the name that results have; the title shows a short one"""

    @property
    def heads(self) -> tuple[Column, ...]:
        """The columns as `Column`s."""
        return tuple(Column(column) if isinstance(column, str) else column for column in self.columns)

    def filled(self) -> Section:
        """The section without empty columns; a remark on most rows is one note below the table."""
        if self.heads and self.heads[-1].name == REMARK:
            return self._with_shared_remarks()._filled()
        return self._filled()

    def _with_shared_remarks(self) -> Section:
        remarks = [cell_text(row[-1]).split("; ") for row in self.rows]
        counts = Counter(part for parts in remarks for part in dict.fromkeys(parts) if part)
        shared = [part for part, n in counts.items() if n >= max(3, len(remarks) / 2)]
        if not shared:
            return self
        rows = tuple(
            (*row[:-1], "; ".join(part for part in parts if part not in shared))
            for row, parts in zip(self.rows, remarks, strict=True)
        )
        scope = {True: "All rows", False: "Most rows"}
        notes = tuple(f"{scope[counts[part] == len(remarks)]}: {part}." for part in shared)
        return structs.replace(self, rows=rows, notes=(*self.notes, *notes))

    def _filled(self) -> Section:
        kept = [at for at in range(len(self.columns)) if any(cell_text(row[at]) for row in self.rows)]
        rows = tuple(tuple(row[at] for at in kept) for row in self.rows)
        return structs.replace(self, columns=tuple(self.columns[at] for at in kept), rows=rows)


def how_to_read(*lines: str, is_detail: bool = False) -> Section:
    """The last section of a result: what its terms and intervals mean."""
    return Section("How to read this", lines, is_detail=is_detail, kind="how_to_read")


def cell_text(value: Value) -> str:
    """The text of a cell."""
    return value if isinstance(value, str) else value.text


def plain_lines(section: Section) -> tuple[str, ...]:
    """The lines of a section, with each method on its own line."""
    lines: list[str] = []
    for line in section.lines:
        lines += [line] if isinstance(line, str) else [line.text, f"  method: {line.source}"]
    return tuple(lines)


def notices(texts: tuple[str, ...] | list[str]) -> tuple[Notice, ...]:
    """Notices that are not severe."""
    return tuple(Notice(text) for text in texts)

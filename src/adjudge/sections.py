"""What a result says to a person: sections of text and tables, before anyone decides how they are shown.

Every analysis makes them; a terminal, Markdown and a page show them. A cell that holds numbers has its words beside
them, so that a page can draw what the other two write. Names are users' words as they came: what shows a section
makes them harmless.
"""

from __future__ import annotations

from msgspec import Struct, structs


class Mark(Struct, frozen=True):
    """A value with its interval, and the span that failures leave possible."""

    value: float | None
    low: float | None = None
    high: float | None = None
    possible: tuple[float, float] | None = None


class Interval(Struct, frozen=True):
    """A number with its interval; a second mark is another number to compare it with."""

    text: str
    marks: tuple[Mark, ...]


class Part(Struct, frozen=True):
    """One part of a whole: its name, its size, and what kind of part it is (a status, a rung, `first`, `tie`, `second`)."""

    name: str
    n: int
    kind: str


class Counts(Struct, frozen=True):
    """The parts of a whole."""

    text: str
    parts: tuple[Part, ...]


class Bars(Struct, frozen=True):
    """How often each level was given; one level more than counts where they are the edges of bins."""

    text: str
    levels: tuple[float, ...]
    counts: tuple[int, ...]
    tallest: int
    """the largest count of the column"""


class Shade(Struct, frozen=True):
    """A share in a table of all against all, with the rest of what is known of it."""

    text: str
    share: float
    detail: str


Value = str | Interval | Counts | Bars | Shade


class Axis(Struct, frozen=True):
    """Where a page draws the numbers of a column. Without ends: around the numbers."""

    low: float | None = None
    high: float | None = None
    reference: float | None = None


SHARES = Axis(0.0, 1.0)
WIN_RATES = Axis(0.0, 1.0, 0.5)
CORRELATIONS = Axis(-1.0, 1.0, 0.0)


class Column(Struct, frozen=True):
    """The head of a column, and what a table may do with it."""

    name: str
    axis: Axis | None = None
    """where its intervals are drawn"""
    is_spare: bool = False
    """the first to go where a terminal has no room"""
    is_minor: bool = False
    """a page has it in the unabridged table only"""


class Sourced(Struct, frozen=True):
    """A sentence, and what it rests on."""

    text: str
    source: str


class Notice(Struct, frozen=True):
    """Something to know before using the numbers of a section."""

    text: str
    is_severe: bool = False


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
    """folded away on a page"""

    @property
    def heads(self) -> tuple[Column, ...]:
        """The columns, each with what a table may do with it."""
        return tuple(Column(column) if isinstance(column, str) else column for column in self.columns)

    def filled(self) -> Section:
        """The section without the columns that no row fills."""
        kept = [at for at in range(len(self.columns)) if any(text_of(row[at]) for row in self.rows)]
        rows = tuple(tuple(row[at] for at in kept) for row in self.rows)
        return structs.replace(self, columns=tuple(self.columns[at] for at in kept), rows=rows)


def text_of(value: Value) -> str:
    """A cell in words."""
    return value if isinstance(value, str) else value.text


def plain_lines(section: Section) -> tuple[str, ...]:
    """The lines of a section, each source on a separate line."""
    lines: list[str] = []
    for line in section.lines:
        lines += [line] if isinstance(line, str) else [line.text, f"  from: {line.source}"]
    return tuple(lines)


def notices(texts: tuple[str, ...] | list[str]) -> tuple[Notice, ...]:
    """Notices of one weight."""
    return tuple(Notice(text) for text in texts)

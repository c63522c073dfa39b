"""Sections as Markdown, for a pull request, a paper or a step summary.

Names come from users' files, so they are escaped: they cannot start a tag, a table cell, a link or a mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..sections import Bars, DrawnInterval, Section, Value, cell_text, plain_lines
from ..untrusted import safe

_SPECIAL = re.compile(
    r"(?P<bracket>(?<![!\]])(?!^\[[^\]]*\]:)\[[\w−–+.,% -]+\](?![(\[]))"  # an interval or a name: no link
    r"|(?P<sign>(?<=\])\(|[`*~\\$\[\]]|(?<![^\W_])_|_(?![^\W_])|^>|^[#+=-](?=[#+=\s-]|$)|(?<=^\d)[.)](?=\s|$))"
    r"|(?P<entity><(?=[A-Za-z/!?])|&(?=#?\w+;)|\|)",
    re.MULTILINE,
)


_ENTITIES = {"<": "&lt;", "&": "&amp;", "|": "&#124;"}


_LINKING = re.compile(r"(?<=@)|(?<=#)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=GH)(?=-\d)", re.IGNORECASE)


def escaped(text: str) -> str:
    """A text that Markdown shows unchanged: no HTML, no table cell, no emphasis, no link, no mention.

    Signs get a backslash and intervals stay as they are, so that the source can be read as well.
    """
    # A zero-width space keeps GitHub from turning names into links and mentions.
    unlinked = _LINKING.sub("\u200b", safe(text))
    # A sign behind spaces begins a list, too.
    start = len(unlinked) - len(unlinked.lstrip())
    return unlinked[:start] + _SPECIAL.sub(_shown, unlinked[start:])


def _shown(match: re.Match[str]) -> str:
    if match["bracket"]:
        return match[0]
    if match["sign"]:
        return f"\\{match[0]}"
    return _ENTITIES[match[0]]


def markdown_of(sections: Iterable[Section]) -> str:
    """Headings, paragraphs and tables, separated by empty lines."""
    return "\n\n".join(block for section in sections for block in _blocks(section.filled()))


def _blocks(section: Section) -> Iterator[str]:
    yield f"{'#' * section.depth} {escaped(section.title)}"
    yield from (escaped(line.strip()) for line in plain_lines(section))
    yield from (f"! {escaped(notice.text)}" for notice in section.notices)
    if section.columns:
        yield _markdown_table(section)
    yield from (escaped(note) for note in section.notes)


def _markdown_table(section: Section) -> str:
    """The table without its histograms, which need the spaces that Markdown drops."""
    kept = [
        at for at in range(len(section.columns)) if not any(isinstance(row[at], Bars) for row in section.rows)
    ]
    heads = [escaped(section.heads[at].name) for at in kept]
    rows = [[_cell(row[at]) for at in kept] for row in section.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(kept), *rows))


def _cell(value: Value) -> str:
    # An interval contains only numbers, so its brackets need no escape.
    return value.text if isinstance(value, DrawnInterval) else escaped(cell_text(value))

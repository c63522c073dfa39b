"""Prints the first screen of a result: at most thirty lines at 80 columns, or everything with `--full`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from ..sections import Section
from .markdown import markdown_of
from .sections import section_lines
from .terminal import print_sections, print_text, terminal_width

MOST_LINES = 30


_MOST_ROWS = (12, 10, 8, 6, 4, 2)
"""Rows of a table that are tried, until the screen fits."""


def show_screen(screen: Callable[[int], Sequence[Section]], *, as_markdown: bool) -> None:
    """Print a screen that is made with the largest number of rows for which it fits."""
    show_sections(fitted_screen(screen), as_markdown=as_markdown)


def fitted_screen(screen: Callable[[int], Sequence[Section]]) -> Sequence[Section]:
    """The screen with the largest number of rows for which it fits a terminal."""
    width = terminal_width() if sys.stdout.isatty() else 80
    for most_rows in _MOST_ROWS:
        sections = screen(most_rows)
        if len(section_lines(sections, width)) <= MOST_LINES:
            break
    return sections


def show_sections(sections: Iterable[Section], *, as_markdown: bool) -> None:
    """Print sections for a terminal, or as Markdown."""
    if as_markdown:
        print_text(markdown_of(sections))
    else:
        print_sections(sections)

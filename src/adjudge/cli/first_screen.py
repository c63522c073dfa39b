"""Prints the first screen of a result: at most thirty lines at 80 columns, or everything with `--full`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from ..sections import Section
from ..terminal.sections import fitted_sections
from .markdown import markdown_of
from .terminal import print_sections, print_text, terminal_width


def show_screen(screen: Callable[[int], Sequence[Section]], *, as_markdown: bool) -> None:
    """Print a screen that is made with the largest number of rows for which it fits."""
    show_sections(fitted_screen(screen), as_markdown=as_markdown)


def fitted_screen(screen: Callable[[int], Sequence[Section]]) -> Sequence[Section]:
    """The screen with the largest number of rows for which it fits this terminal."""
    return fitted_sections(screen, terminal_width() if sys.stdout.isatty() else 80)


def show_sections(sections: Iterable[Section], *, as_markdown: bool) -> None:
    """Print sections for a terminal, or as Markdown."""
    if as_markdown:
        print_text(markdown_of(sections))
    else:
        print_sections(sections)

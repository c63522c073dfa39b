"""A page as its reader sees it: headings, tables, captions and fields in order, one line for each block.

Of several folds with the same summary the first is shown open. It knows no page in particular. Links, classes
and styles are not shown: tests/web and tests/e2e assert those.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from shortened import shortened

HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
BEGINS: dict[str, str] = {**HEADINGS, "li": "- ", "summary": "> ", "caption": "caption: ", "title": "title: "}
"""What a block of this kind begins with."""
BLOCKS = frozenset(
    (
        "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form "
        "header hr"
        " legend main nav ol option p pre section select table tbody td textarea tfoot th thead tr ul"
    ).split()
) | set(BEGINS)
CELLS = frozenset(("td", "th"))
AROUND = {"mark": "⟦⟧", "button": "[]", "kbd": "‹›"}
"""Inline parts whose kind the reader sees."""
VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
UNSEEN = frozenset(("script", "style", "template"))
WORDS_OF_PICTURES = frozenset(("title", "desc", "text"))


class _Reader(HTMLParser):
    """Collects the lines of a page; a row of a table is one line, whatever its cells hold."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.line = ""
        self.prefix = ""
        self.open: list[tuple[str, bool]] = []
        """The open elements, each with whether its text is hidden."""
        self.row_depth = 0
        self.folds: set[str] = set()
        """The summaries of the folds so far."""

    def end_line(self) -> None:
        if self.row_depth:
            self.line += " "
            return
        text = re.sub(r"\s+", " ", self.line).strip(" |")
        if text:
            self.lines.append(self.prefix + shortened(text))
            self.prefix = ""
        self.line = ""

    @property
    def is_hidden(self) -> bool:
        return bool(self.open) and self.open[-1][1]

    @property
    def is_in_picture(self) -> bool:
        return any(tag == "svg" for tag, _ in self.open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        is_closed = tag == "dialog" and "open" not in values
        is_drawn_only = tag == "svg" and values.get("aria-hidden") == "true"
        hidden = self.is_hidden or tag in UNSEEN or "hidden" in values or is_closed or is_drawn_only
        if not hidden:
            self.begin(tag, values)
        if tag not in VOID:
            self.open.append((tag, hidden))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            self.handle_starttag(tag, attrs)

    def begin(self, tag: str, values: dict[str, str | None]) -> None:
        if self.is_in_picture:
            self.line += " "
        elif tag == "svg":
            self.line += " (picture: "
        elif tag in CELLS:
            self.line += " | "
        elif tag in BLOCKS and not (tag == "dd" and self.line.rstrip().endswith(":")):
            self.end_line()
            self.prefix = BEGINS.get(tag, self.prefix)
            self.row_depth += tag == "tr"
        elif tag in AROUND:
            self.line += AROUND[tag][0]
        elif tag in ("input", "br"):
            self.line += _field(values) if tag == "input" else " "

    def handle_endtag(self, tag: str) -> None:
        while self.open:
            closed, hidden = self.open.pop()
            if not hidden:
                self.finish(closed)
            if closed == tag:
                return

    def finish(self, tag: str) -> None:
        if self.is_in_picture:
            return
        if tag == "svg":
            self.line = re.sub(r"\s+$", "", self.line) + ") "
        elif tag in AROUND:
            self.line += AROUND[tag][1]
        elif tag == "dt" and self.row_depth == 0:
            self.line = self.line.rstrip() + ": "
        elif tag in BLOCKS and tag not in CELLS:
            self.row_depth -= tag == "tr"
            self.end_line()
            self.prefix = "" if tag in BEGINS else self.prefix
            if tag == "summary" and self.lines:
                self.close_if_known(self.lines[-1])

    def close_if_known(self, summary: str) -> None:
        """Hide the rest of the fold that has this summary, where an earlier one of the page has it, too."""
        if summary in self.folds and self.open and self.open[-1][0] == "details":
            self.open[-1] = ("details", True)
        self.folds.add(summary)

    def handle_data(self, data: str) -> None:
        if self.is_hidden or (self.is_in_picture and self.open[-1][0] not in WORDS_OF_PICTURES):
            return
        self.line += data


def _field(values: dict[str, str | None]) -> str:
    """An input of a form by its kind and what stands in it."""
    kind = values.get("type") or "text"
    if kind == "hidden":
        return ""
    said = values.get("value") or values.get("placeholder") or values.get("aria-label") or ""
    return f"({kind}{' checked' if 'checked' in values else ''}: {said})" if said else f"({kind})"


def page_text(html: str) -> str:
    """The lines of a page; a long one is shortened."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.row_depth = 0
    reader.end_line()
    return "".join(line + "\n" for line in reader.lines)

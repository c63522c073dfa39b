"""Text of items, judges and users as HTML that cannot act: escaped, with marks, and rendered where it is
Markdown or JSON.

Every character comes from the text through `escape`, with acting characters written out; the only tags and
attributes are the few that are written here. There are no links and no images: a link is its text with its
target beside it, so that nothing in a judged text can be followed or loaded. All of it takes linear time.

The renderer works on places in the text, not on copies of it. So a mark, such as the place where a score was
read, is exact in the rendered text as well; where Markdown hides a marked character, the text is not rendered
first.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup, escape

from ...untrusted import ACTING, code_point, safe_text

Span = tuple[int, int]

_LAYOUT = "\t\n\r"
"""White space that HTML shows or ignores by itself."""


def plain(text: str) -> str:
    """The text with acting characters written out, `\\u202e`; for names, titles and attributes."""
    return safe_text(text, _LAYOUT)


def shown(text: str) -> Markup:
    """The text as HTML, with acting characters written out in a box."""
    parts = []
    start = 0
    for match in ACTING.finditer(text):
        if match[0] in _LAYOUT:
            continue
        parts.append(escape(text[start : match.start()]))
        parts.append(Markup('<span class="ctl">{}</span>').format(code_point(match[0])))
        start = match.end()
    parts.append(escape(text[start:]))
    return Markup("").join(parts)


# Marks in a text


HIT = "span hit"
"""The class of what was searched for; other marks are what was read."""


class TextMark(NamedTuple):
    """A place to mark, and why."""

    start: int
    end: int
    css: str
    title: str


def marks_of(
    text: str,
    spans: Iterable[Span | None],
    title: str = "",
    doubtful: Sequence[Span] = (),
    searched: str = "",
) -> list[TextMark]:
    """The marks of a text in order: what was read, and what was searched
    for; spans outside the text or inside others are ignored.
    """
    contradicts = "one of several answers that contradict each other"
    wanted = [
        TextMark(*span, "span doubt", contradicts) if span in doubtful else TextMark(*span, "span", title)
        for span in sorted(span for span in spans if span is not None)
    ]
    marks: list[TextMark] = []
    for mark in wanted:
        if (marks[-1].end if marks else 0) <= mark.start < mark.end <= len(text):
            marks.append(mark)
    starts = [mark.start for mark in marks]
    for start, end in _hit_spans(text, searched):
        place = bisect.bisect_left(starts, start)
        is_free = (not place or marks[place - 1].end <= start) and (
            place == len(starts) or end <= starts[place]
        )
        if is_free:
            marks.insert(place, TextMark(start, end, HIT, "found"))
            starts.insert(place, start)
    return marks


_MOST_HITS = 500


def _hit_spans(text: str, searched: str) -> Iterator[Span]:
    low, wanted = text.lower(), searched.lower()
    # Few letters have a lower case of another length; then no place in one text is a place in the other.
    start = low.find(wanted) if wanted and len(low) == len(text) else -1
    for _ in range(_MOST_HITS):
        if start < 0:
            return
        yield start, start + len(wanted)
        start = low.find(wanted, start + len(wanted))


def marked(
    text: str,
    spans: Iterable[Span | None],
    title: str = "",
    doubtful: Sequence[Span] = (),
    searched: str = "",
    first_id: str = "",
) -> Markup:
    """The text as HTML with its spans marked, those in `doubtful`
    as contradictions; the first mark gets the id `first_id`.
    """
    writer = _Writer(text, marks_of(text, spans, title, doubtful, searched), first_id)
    writer.text(0, len(text))
    return writer.html()


def hits(text: str, searched: str) -> Markup:
    """The text as HTML with what was searched for marked."""
    return marked(text, (), searched=searched)


def snippet(text: str, searched: str, before: int = 16, after: int = 60) -> str:
    """The surroundings of the first place where a text is found; empty where it is not."""
    for start, end in _hit_spans(text, searched):
        low, high = max(0, start - before), min(len(text), end + after)
        inside = " ".join(text[low:high].split())
        return f"{'…' if low else ''}{inside}{'…' if high < len(text) else ''}"
    return ""


class _Writer:
    """Collects HTML. Text comes in by its place only, and is escaped and marked here."""

    def __init__(self, source: str, marks: Sequence[TextMark] = (), first_id: str = "") -> None:
        self.source = source
        self._marks = marks
        self._ends = [mark.end for mark in marks]
        self._first_id = first_id
        self._has_read = any(mark.css != HIT for mark in marks)
        self._parts: list[str] = []
        self.n_read = 0
        """characters of marks, apart from hits, that were written"""

    def text(self, start: int, end: int) -> None:
        """A part of the text."""
        place = bisect.bisect_right(self._ends, start)
        while place < len(self._marks) and self._marks[place].start < end:
            mark = self._marks[place]
            low, high = max(start, mark.start), min(end, mark.end)
            self._parts.append(shown(self.source[start:low]))
            name = ""
            if self._first_id and (mark.css != HIT or not self._has_read):
                name, self._first_id = Markup(' id="{}"').format(self._first_id), ""
            self._parts.append(
                Markup('<mark class="{}" title="{}"{}>{}</mark>').format(
                    mark.css, plain(mark.title), name, shown(self.source[low:high])
                )
            )
            self.n_read += high - low if mark.css != HIT else 0
            start, place = high, place + 1
        self._parts.append(shown(self.source[start:end]))

    def tag(self, tag: str) -> None:
        """A tag of ours, never a part of the text."""
        self._parts.append(tag)

    @contextlib.contextmanager
    def inside(self, tag: str, attributes: str = "") -> Iterator[None]:
        """Everything written meanwhile is inside an element."""
        self._parts.append(f"<{tag}{attributes and ' '}{attributes}>")
        yield
        self._parts.append(f"</{tag}>")

    def html(self) -> Markup:
        return Markup("").join(map(Markup, self._parts))


# Markdown and JSON as they are meant to be read

LONGEST_RENDERED = 60_000
"""A longer text is shown as it is."""

_DEEPEST = 6
"""Lists and quotations inside each other; what is deeper is a paragraph."""

_MARKDOWN = re.compile(
    r"^ {0,3}(?:#{1,6} \S|[-*+] \S|\d{1,9}[.)] \S|```|~~~|> ?\S|\|[^\n]*\|[ \t]*$)"
    r"|\*\*[^\s*][^\n]{0,200}?\*\*|`[^`\n]+`|\[[^\]\n]{1,200}\]\(",
    re.M,
)


def rendered(
    text: str,
    spans: Iterable[Span | None] = (),
    title: str = "",
    doubtful: Sequence[Span] = (),
    searched: str = "",
    first_id: str = "",
) -> Markup | None:
    """The text as Markdown or JSON, with the same marks as `marked`;
    none where it is neither, too long, or hides a mark.
    """
    if len(text) > LONGEST_RENDERED:
        return None
    marks = marks_of(text, spans, title, doubtful, searched)
    writer = _Writer(text, marks, first_id)
    if _is_json(text):
        with writer.inside("pre", 'class="code" dir="ltr"'):
            _write_json(writer)
    elif _MARKDOWN.search(text):
        _Markdown(writer).blocks(list(_lines(text)), 0)
    else:
        return None
    # What was searched for may be hidden, as a fence's language is; what was read must not be.
    n_read = sum(mark.end - mark.start for mark in marks if mark.css != HIT)
    return writer.html() if writer.n_read == n_read else None


def _is_json(text: str) -> bool:
    body = text.strip()
    if body[:1] not in ("{", "["):
        return False
    with contextlib.suppress(ValueError, RecursionError):
        return bool(json.loads(body))
    return False


_JSON_TOKEN = re.compile(
    r'(?P<text>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<open>[{\[])|(?P<close>[}\]])|(?P<comma>,)|(?P<colon>:)'
    r"|(?P<number>-?\d[\d.eE+-]*)|(?P<word>[^\s{}\[\],:\"]+)",
    re.S,
)
_WIDEST_INDENT = 20


def _write_json(writer: _Writer) -> None:
    """Valid JSON, indented; the tokens are those of the text, with their places."""
    tokens = [
        (match.lastgroup or "", match.start(), match.end()) for match in _JSON_TOKEN.finditer(writer.source)
    ]
    depth = 0
    for place, (kind, start, end) in enumerate(tokens):
        after = tokens[place + 1][0] if place + 1 < len(tokens) else ""
        before = tokens[place - 1][0] if place else ""
        if kind == "close":
            depth -= 1
            if before != "open":
                writer.tag(_new_line(depth))
        css = {"text": "j-key" if after == "colon" else "j-text", "number": "j-number", "word": "j-word"}
        if kind in css:
            with writer.inside("span", f'class="{css[kind]}"'):
                writer.text(start, end)
        else:
            writer.text(start, end)
        if kind == "open":
            depth += 1
            if after != "close":
                writer.tag(_new_line(depth))
        elif kind == "comma":
            writer.tag(_new_line(depth))
        elif kind == "colon":
            writer.tag(" ")


def _new_line(depth: int) -> str:
    return "\n" + "  " * min(depth, _WIDEST_INDENT)


# Code

_HASH = frozenset("python py sh bash shell zsh yaml yml toml ruby rb r perl makefile dockerfile ini".split())
_DASH = frozenset("sql lua haskell hs ada".split())
_MARKUP = frozenset("html xml svg markdown md text txt plain diff output console".split())
_STRINGS = (
    r'(?P<text>"[^"\\\n]*(?:\\.[^"\\\n]*)*"?'
    r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'?"
    r"|`[^`\\]*(?:\\.[^`\\]*)*`?)"
)
_REST = r"|(?P<number>\b\d[\w.]*)|(?P<word>[^\W\d]\w*)"
_TRIPLE = r"\"\"\"(?:[^\"]|\"(?!\"\"))*(?:\"\"\")?|'''(?:[^']|'(?!''))*(?:''')?"
_CODE = {
    "hash": re.compile(rf"(?P<comment>\#[^\n]*)|(?P<long>{_TRIPLE})|{_STRINGS}{_REST}", re.S),
    "dash": re.compile(rf"(?P<comment>--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)|{_STRINGS}{_REST}", re.S),
    "slash": re.compile(rf"(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)|{_STRINGS}{_REST}", re.S),
}
_KEYWORDS = frozenset(
    (
        "abstract and as assert async await begin bool boolean break by case catch char class const "
        "continue create def default delete do done double elif else elseif end enum except export "
        "extends false False final finally float fn for from func function global go goto group "
        "having if impl implements import in insert instanceof int interface into is join lambda let "
        "limit local long loop match mod mut namespace new nil none None nonlocal not null of on or "
        "order override package pass private protected pub public raise return select self set short "
        "static str string struct super switch table then this throw throws trait true True try type "
        "typeof undefined union unsigned update use using values var virtual void volatile when "
        "where while with yield"
    ).split()
)


def _write_code(writer: _Writer, lines: Sequence[Span], language: str) -> None:
    """Lines of code, with comments, texts, numbers and keywords coloured.

    Lines may stand apart in the text, as in a quotation. Then each is read by itself, and a comment of
    several lines is coloured in its first one only.
    """
    if not lines:
        return
    is_joined = all(after[0] <= before[1] + 2 for before, after in pairwise(lines))
    parts = [(lines[0][0], lines[-1][1])] if is_joined else lines
    for number, (start, end) in enumerate(parts):
        if number:
            writer.tag("\n")
        _write_code_part(writer, start, end, language.lower())


def _write_code_part(writer: _Writer, start: int, end: int, language: str) -> None:
    # Without a language, a quotation mark may be an apostrophe.
    if language in _MARKUP or (not language and not _is_json(writer.source[start:end])):
        writer.text(start, end)
        return
    family = "hash" if language in _HASH else "dash" if language in _DASH else "slash"
    for match in _CODE[family].finditer(writer.source, start, end):
        kind = "text" if match.lastgroup == "long" else match.lastgroup or ""
        if kind == "word" and match[0].lower() not in _KEYWORDS:
            continue
        writer.text(start, match.start())
        with writer.inside("span", f'class="j-{kind}"'):
            writer.text(match.start(), match.end())
        start = match.end()
    writer.text(start, end)


# Blocks of Markdown

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]{0,30})[^`\n]*$")
_HEAD = re.compile(r" {0,3}(#{1,6})[ \t]+(?=\S)")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r"( *)(?:[-*+]|(\d{1,9})[.)])(?:[ \t]{1,4}(?=\S)|[ \t]*$)")
_COLUMN = re.compile(r"[ \t]*(:?)-+(:?)[ \t]*")


def _lines(text: str) -> Iterator[Span]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end - (end > start and text[end - 1] == "\r")
        start = end + 1


class _Markdown:
    """Writes Markdown, given by the places of its lines; inside
    a list or a quotation a line begins after its marks.
    """

    def __init__(self, writer: _Writer) -> None:
        self._writer = writer
        self._source = writer.source

    def blocks(self, lines: list[Span], depth: int) -> None:
        """Headings, lists, quotations, tables, code and paragraphs, in their order."""
        place = 0
        while place < len(lines):
            if self._is_blank(lines[place]):
                place += 1
                continue
            place = self._block(lines, place, depth)

    def _block(self, lines: list[Span], place: int, depth: int) -> int:
        """Write the block that begins at a line; the place of the first line after it."""
        line = lines[place]
        if fence := self._match(_FENCE, line):
            return self._fence(lines, place + 1, fence[1], fence[2])
        if self._match(_RULE, line):
            self._writer.tag("<hr>")
            return place + 1
        if head := self._match(_HEAD, line):
            with self._writer.inside("p", f'class="md-head md-h{len(head[1])}"'):
                self._inline(head.end(), line[1])
            return place + 1
        if depth < _DEEPEST and self._match(_QUOTE, line):
            return self._quotation(lines, place, depth)
        if depth < _DEEPEST and self._match(_ITEM, line):
            return self._list(lines, place, depth)
        columns = self._columns(lines, place)
        if columns:
            return self._table(lines, place, columns)
        return self._paragraph(lines, place, depth)

    def _match(self, pattern: re.Pattern[str], line: Span) -> re.Match[str] | None:
        return pattern.match(self._source, *line)

    def _is_blank(self, line: Span) -> bool:
        return not self._source[line[0] : line[1]].strip()

    def _fence(self, lines: list[Span], place: int, mark: str, language: str) -> int:
        closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{min(len(mark), 1000)},}}[ \t]*$")
        end = place
        while end < len(lines) and not self._match(closing, lines[end]):
            end += 1
        with self._writer.inside("pre", 'class="code" dir="ltr"'):
            _write_code(self._writer, lines[place:end], language)
        return end + 1

    def _quotation(self, lines: list[Span], place: int, depth: int) -> int:
        inner = []
        while place < len(lines) and (mark := self._match(_QUOTE, lines[place])):
            inner.append((mark.end(), lines[place][1]))
            place += 1
        with self._writer.inside("blockquote"):
            self.blocks(inner, depth + 1)
        return place

    def _list(self, lines: list[Span], place: int, depth: int) -> int:
        first = self._match(_ITEM, lines[place])
        assert first is not None
        number = first[2]
        tag, attributes = ("ul", "") if number is None else ("ol", f'start="{int(number)}"')
        with self._writer.inside(tag, attributes):
            while place < len(lines):
                item = self._match(_ITEM, lines[place])
                if item is None or (item[2] is None) != (number is None) or self._match(_RULE, lines[place]):
                    break
                place = self._list_item(lines, place, item, depth)
        return place

    def _list_item(self, lines: list[Span], place: int, item: re.Match[str], depth: int) -> int:
        """One item: its first line, and the lines that are indented below it."""
        indent = len(item[1])
        inner = [(item.end(), lines[place][1])]
        place += 1
        while place < len(lines):
            start, end = lines[place]
            if self._is_blank(lines[place]):
                after = place + 1
                if after < len(lines) and self._indent(lines[after]) > indent + 1:
                    inner.append((end, end))
                    place += 1
                    continue
                # A blank line between two items of one list belongs to neither.
                next_item = self._match(_ITEM, lines[after]) if after < len(lines) else None
                place += (
                    next_item is not None
                    and len(next_item[1]) <= indent + 1
                    and (next_item[2] is None) == (item[2] is None)
                )
                break
            width = self._indent(lines[place])
            if width <= indent + 1 and self._begins_block(lines[place]):
                break
            inner.append((start + min(width, item.end() - lines[place - len(inner)][0]), end))
            place += 1
        with self._writer.inside("li"):
            if len(inner) == 1:
                self._inline(*inner[0])
            else:
                self.blocks(inner, depth + 1)
        return place

    def _indent(self, line: Span) -> int:
        start, end = line
        width = 0
        while start + width < end and self._source[start + width] == " ":
            width += 1
        return width

    def _begins_block(self, line: Span) -> bool:
        return any(self._match(pattern, line) for pattern in (_FENCE, _RULE, _HEAD, _QUOTE, _ITEM))

    def _paragraph(self, lines: list[Span], place: int, depth: int) -> int:
        with self._writer.inside("p"):
            self._inline(*lines[place])
            place += 1
            while place < len(lines) and not self._is_blank(lines[place]):
                # At the deepest level lists and quotations are paragraphs, too.
                if depth < _DEEPEST and self._begins_block(lines[place]):
                    break
                if depth == _DEEPEST and self._match(_FENCE, lines[place]):
                    break
                self._writer.tag("\n")
                self._inline(*lines[place])
                place += 1
        return place

    # Tables

    def _columns(self, lines: list[Span], place: int) -> list[str]:
        """How the columns of a table are aligned; empty where no table begins here."""
        if place + 1 >= len(lines) or "|" not in self._source[slice(*lines[place])]:
            return []
        ends = [_COLUMN.fullmatch(self._source, *cell) for cell in self._cells(lines[place + 1])]
        columns = [{":": "num"}.get(end[2], "") if end is not None else None for end in ends]
        known = [css for css in columns if css is not None]
        return known if len(known) == len(columns) == len(self._cells(lines[place])) else []

    def _cells(self, line: Span) -> list[Span]:
        start, end = line
        text = self._source[start:end]
        start += len(text) - len(text.lstrip())
        end -= len(text) - len(text.rstrip())
        start += self._source.startswith("|", start, end)
        end -= end > start and self._source[end - 1] == "|" and self._source[end - 2 : end - 1] != "\\"
        cells = []
        place = start
        while place < end:
            bar = self._source.find("|", place, end)
            if bar < 0:
                break
            if bar > start and self._source[bar - 1] == "\\":
                place = bar + 1
                continue
            cells.append((start, bar))
            start = place = bar + 1
        return [*cells, (start, end)]

    def _table(self, lines: list[Span], place: int, columns: list[str]) -> int:
        writer = self._writer
        writer.tag(
            '<div class="scroll" tabindex="0" role="group" aria-label="table"><table class="md-table">'
        )
        with writer.inside("thead"):
            self._row("th", lines[place], columns)
        place += 2
        with writer.inside("tbody"):
            while (
                place < len(lines)
                and not self._is_blank(lines[place])
                and "|" in self._source[slice(*lines[place])]
            ):
                self._row("td", lines[place], columns)
                place += 1
        writer.tag("</table></div>")
        return place

    def _row(self, tag: str, line: Span, columns: list[str]) -> None:
        cells = self._cells(line)
        # Too many cells would be lost: the rest of the line goes into the last one.
        cells = (
            [*cells[: len(columns) - 1], (cells[len(columns) - 1][0], line[1])]
            if len(cells) > len(columns)
            else cells
        )
        with self._writer.inside("tr"):
            for css, (start, end) in zip(columns, cells, strict=False):
                with self._writer.inside(tag, _cell_attributes(tag, css)):
                    text = self._source[start:end]
                    self._inline(
                        start + len(text) - len(text.lstrip()), end - (len(text) - len(text.rstrip()))
                    )
            for css in columns[len(cells) :]:
                with self._writer.inside(tag, _cell_attributes(tag, css)):
                    pass

    def _inline(self, start: int, end: int) -> None:
        _Inline(self._writer).write(start, end, 0)


def _cell_attributes(tag: str, css: str) -> str:
    scope = 'scope="col"' if tag == "th" else ""
    return " ".join(part for part in (scope, f'class="{css}"' if css else "") if part)


# Words inside a line

_SPECIAL = re.compile(r"[\\`*_~\[!]")
_LONGEST_LINK = 1000
_LONGEST_TICKS = 20
_MOST_PARENTHESES = 5
_PARENTHESIS = re.compile(r"[()]")


class _Inline:
    """Writes one line: code, bold, italics, struck text, and links as text with their target.

    A mark that is not closed in its line is shown as it is. The place of each kind of mark that was looked
    for in vain is remembered, so that many of them take no longer.
    """

    def __init__(self, writer: _Writer) -> None:
        self._writer = writer
        self._source = writer.source
        self._missing: dict[str, int] = {}
        """mark → there is none of it from here to there"""

    def write(self, start: int, end: int, depth: int) -> None:
        done = place = start
        while match := _SPECIAL.search(self._source, place, end):
            place = match.start()
            taken = self._element(place, end, depth, done)
            if taken is None:
                place += 1
            else:
                done = place = taken
        self._writer.text(done, end)

    def _element(self, place: int, end: int, depth: int, done: int) -> int | None:
        """Write the element that begins here, after the text
        before it; the place after it, none where there is none.
        """
        source = self._source
        sign = source[place]
        if sign == "\\":
            if place + 1 < end and source[place + 1] in "\\`*_~[]()#+-.!|<>{}":
                self._writer.text(done, place)
                self._writer.text(place + 1, place + 2)
                return place + 2
            return None
        if sign == "`":
            return self._code(place, end, done)
        if sign in "[!":
            return self._link(place, end, depth, done)
        if depth > 2:
            return None
        for mark, tag in (("**", "strong"), ("__", "strong"), ("~~", "del"), ("*", "em"), ("_", "em")):
            if source.startswith(mark, place, end):
                return self._emphasis(place, end, depth, done, mark, tag)
        return None

    def _find(self, mark: str, start: int, end: int) -> int:
        if self._missing.get(mark, -1) >= end:
            return -1
        at = self._source.find(mark, start, end)
        if at < 0:
            self._missing[mark] = end
        return at

    def _code(self, place: int, end: int, done: int) -> int | None:
        source = self._source
        inner = place
        while inner < min(end, place + _LONGEST_TICKS) and source[inner] == "`":
            inner += 1
        mark = source[place:inner]
        close = self._find(mark, inner, end)
        if close < 0:
            return None
        self._writer.text(done, place)
        with self._writer.inside("code"):
            self._writer.text(inner, close)
        return close + len(mark)

    def _emphasis(self, place: int, end: int, depth: int, done: int, mark: str, tag: str) -> int | None:
        source, inner = self._source, place + len(mark)
        is_word_before = place > 0 and source[place - 1].isalnum()
        if inner >= end or source[inner].isspace() or (is_word_before and mark != "**"):
            return None
        close = self._find(mark, inner + 1, end)
        if mark == "**" and close >= 0 and source.startswith("***", close, end):
            close += 1
        if close < 0 or source[close - 1].isspace():
            return None
        after = close + len(mark)
        # 2*3*4 and snake_case_names are no emphasis.
        if mark != "**" and after < end and source[after].isalnum():
            return None
        if len(mark) == 1 and after < end and source[after] == mark:
            return None
        self._writer.text(done, place)
        with self._writer.inside(tag):
            _Inline(self._writer).write(inner, close, depth + 1)
        return after

    def _link(self, place: int, end: int, depth: int, done: int) -> int | None:
        """[text](target) and ![text](target): the text, with its target beside it."""
        source = self._source
        inner = place + 1 + (source[place] == "!")
        if source[place] == "!" and not source.startswith("[", place + 1, end):
            return None
        limit = min(end, place + _LONGEST_LINK)
        middle = source.find("](", inner, limit)
        close = self._closing(middle + 1, limit) if middle > 0 else -1
        if close < 0 or source.find("[", inner, middle) >= 0:
            return None
        self._writer.text(done, place)
        if source[place] == "!":
            self._writer.tag('<span class="md-url">picture</span> ')
        _Inline(self._writer).write(inner, middle, depth + 1 if depth < 3 else depth)
        self._writer.tag(' <span class="md-url">')
        self._writer.text(middle + 1, close + 1)
        self._writer.tag("</span>")
        return close + 1

    def _closing(self, opening: int, end: int) -> int:
        """The parenthesis that closes the one at `opening`; -1 where there is none."""
        depth = 0
        for sign in _PARENTHESIS.finditer(self._source, opening, end):
            depth += 1 if sign[0] == "(" else -1
            if not depth:
                return sign.start()
            if depth > _MOST_PARENTHESES:
                return -1
        return -1


_RTL = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
    "(?:[^\\w\n]{0,3}[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff])*"
)


def with_bdi(text: str) -> Markup:
    """A sentence with names in it: a right-to-left name gets a `bdi`
    element, so that it cannot reorder the numbers beside it.
    """
    parts = []
    start = 0
    for match in _RTL.finditer(text):
        parts.append(shown(text[start : match.start()]))
        parts.append(Markup("<bdi>{}</bdi>").format(shown(match[0])))
        start = match.end()
    parts.append(shown(text[start:]))
    return Markup("").join(parts)

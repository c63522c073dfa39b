"""Markdown and JSON of a judged text as they are meant to be read, without a way to act.

markdown-it-py parses; only the tags below are written, and every character of the text through `shown`. There
are no links and no images: a link is its text with its target beside it, so that nothing in a judged text can
be followed or loaded. The borders of marks travel through the parser as characters that the text does not
contain, so a mark is exact. A text of which rendering would hide a word, or a part of a mark, is not
rendered.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Iterable, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from .code_colours import coloured
from .marks import MarkedWriter, Span, marks_of, may_be_marked, with_borders, without_borders

LONGEST_RENDERED = 60_000
"""A longer text is shown as it is."""
_LONGEST_LINE = 20_000
"""So is one with a longer line: the parser takes quadratic time on some."""

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
    rejected: Iterable[tuple[Span, str]] = (),
) -> Markup | None:
    """The text as Markdown or JSON, with the same marks as `marked`; none where it is neither, is too long,
    or would hide something.
    """
    if len(text) > LONGEST_RENDERED or "\0" in text or not may_be_marked(text):
        return None
    marks = marks_of(text, spans, title, doubtful, searched, rejected)
    writer = MarkedWriter(marks, first_id)
    source = with_borders(text, marks)
    if _is_json(text):
        writer.tag('<pre class="code" dir="ltr">')
        _write_json(writer, source)
        writer.tag("</pre>")
    elif _MARKDOWN.search(text) and max(map(len, text.split("\n"))) <= _LONGEST_LINE:
        page = _Page(writer)
        page.write(_parser().parse(_TIMES.sub(_STAR, source)))
        if _letters(page.seen) != _letters([text]):
            return None
    else:
        return None
    return writer.html() if writer.is_whole() else None


def _letters(parts: Iterable[str]) -> str:
    return "".join(letter for part in parts for letter in part if letter.isalpha())


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


def _write_json(writer: MarkedWriter, source: str) -> None:
    """Valid JSON, indented; the tokens are those of the text."""
    tokens = [(match.lastgroup or "", match[0]) for match in _JSON_TOKEN.finditer(source)]
    depth = 0
    for place, (kind, token) in enumerate(tokens):
        after = tokens[place + 1][0] if place + 1 < len(tokens) else ""
        before = tokens[place - 1][0] if place else ""
        if kind == "close":
            depth -= 1
            if before != "open":
                writer.tag(_new_line(depth))
        css = {"text": "j-key" if after == "colon" else "j-text", "number": "j-number", "word": "j-word"}
        _write_coloured(writer, token, css.get(kind, ""))
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


def _write_coloured(writer: MarkedWriter, text: str, css: str) -> None:
    if css:
        writer.tag(f'<span class="{css}">')
    writer.text(text)
    if css:
        writer.tag("</span>")


@functools.cache
def _parser() -> MarkdownIt:
    """CommonMark with tables and struck text, without what would change or hide a text: entities, references,
    raw HTML, headings by underlines and code by indentation.
    """
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 16}).enable(["table", "strikethrough"])
    parser.disable(["entity", "reference", "html_inline", "html_block", "autolink", "lheading", "code"])
    setattr(parser, "validateLink", lambda _: True)  # noqa: B010 - a target is shown, never followed
    setattr(parser, "normalizeLink", lambda url: url)  # noqa: B010
    return parser


_TIMES = re.compile(r"(?<=\w)\*(?=\w)")
"""A star between two words, as in 2*3*4, is no emphasis."""
_STAR = "\U000ffff8"
"""Stands for it while the text is parsed."""

_TAGS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "strong": "strong",
    "em": "em",
    "s": "del",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
}
_TABLE = '<div class="scroll" tabindex="0" role="group" aria-label="table"><table class="md-table">'


class _Page:
    """Writes the tokens of a text, and remembers which words a reader sees."""

    def __init__(self, writer: MarkedWriter) -> None:
        self._writer = writer
        self._targets: list[str] = []
        self.seen: list[str] = []

    def write(self, tokens: Iterable[Token]) -> None:
        for token in tokens:
            if token.children is not None and token.type == "inline":
                self.write(token.children)
            elif token.type in ("text", "code_inline"):
                self._leaf(token)
            elif token.type in ("softbreak", "hardbreak"):
                self._writer.tag("\n")
            elif token.type == "fence":
                self._code(token)
            elif token.type == "hr":
                self._writer.tag("<hr>")
            elif token.type == "image":
                self._writer.tag('<span class="md-url">picture</span> ')
                self.write(token.children or ())
                self._target(_target_of(token, "src"))
            elif not token.hidden:
                self._border(token)

    def _text(self, text: str) -> None:
        text = text.replace(_STAR, "*")
        self.seen.append(text)
        self._writer.text(text)

    def _leaf(self, token: Token) -> None:
        is_code = token.type == "code_inline"
        self._writer.tag("<code>" if is_code else "")
        self._text(token.content)
        self._writer.tag("</code>" if is_code else "")

    def _border(self, token: Token) -> None:
        """The opening or closing tag of an element."""
        name, is_opening = token.type.rpartition("_")[0], token.nesting == 1
        if name == "link":
            if is_opening:
                self._targets.append(_target_of(token, "href"))
            else:
                self._target(self._targets.pop())
        elif name == "table":
            self._writer.tag(_TABLE if is_opening else "</table></div>")
        elif name == "heading":
            self._writer.tag(f'<p class="md-head md-{token.tag}">' if is_opening else "</p>")
        else:
            tag = _TAGS[name]
            self._writer.tag(f"<{tag}{_attributes(token)}>" if is_opening else f"</{tag}>")

    def _target(self, target: str) -> None:
        self._writer.tag(' <span class="md-url">')
        self._text(f"({target})")
        self._writer.tag("</span>")

    def _code(self, token: Token) -> None:
        """Code in a fence: coloured, or plain where a mark stands in it, which a lexer would not know."""
        code = token.content.removesuffix("\n").replace(_STAR, "*")
        language = (
            without_borders(token.info).split(maxsplit=1)[0] if without_borders(token.info).strip() else ""
        )
        self.seen.append(token.info)
        self._writer.tag('<pre class="code" dir="ltr">')
        if not language and _is_json(code):
            language = "json"
        parts = coloured(code, language) if without_borders(code) == code else [(code, "")]
        for part, css in parts:
            self.seen.append(part)
            _write_coloured(self._writer, part, css and f"j-{css}")
        self._writer.tag("</pre>")


def _target_of(token: Token, name: str) -> str:
    """The target of a link, and its title, as the text has them."""
    title = token.attrGet("title")
    return f"{token.attrGet(name) or ''}" + (f' "{title}"' if title else "")


def _attributes(token: Token) -> str:
    parts = []
    if token.type == "ordered_list_open" and (start := token.attrGet("start")) is not None:
        parts.append(f'start="{int(start)}"')
    if token.type == "th_open":
        parts.append('scope="col"')
    if token.type in ("th_open", "td_open") and "right" in str(token.attrGet("style") or ""):
        parts.append('class="num"')
    return "".join(f" {part}" for part in parts)

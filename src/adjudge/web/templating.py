"""Turns templates and text into HTML: the one place that knows jinja2.

Every value is escaped, and characters that hide or reverse text are written out, wherever a template shows them.
An undefined name in a template is an error. Templates and static files are part of the package and are found by name in
one flat list: no name from outside ever becomes a path.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ..analysis.item_view import Span
from ..untrusted import ACTING, code_point, safe_text
from ..version import __version__
from ..words import NO_VALUE, count, duration, number, share


def render(name: str, **context: Any) -> str:
    """The page of a template. `name` comes from our code, never from a request."""
    return environment().get_template(name).render(**context)


@cache
def environment() -> Environment:
    """The templates, with the filters that write numbers as the rest of the project does."""
    templates = Environment(
        loader=PackageLoader("adjudge.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "shown": shown,
        "with_bdi": with_bdi,
        "judge_name": judge_name,
        "marked": marked,
        "number": _number,
        "share": _share,
        "duration": duration,
        "counted": count,
        "thousands": lambda value: f"{value:,}",
        "words": lambda name: str(name).replace("_", " "),
        "moment": _moment,
        "short": _short,
        "middle": middle,
        "hits": hits,
        "rendered": rendered,
    }
    templates.globals |= {"version": __version__, "no_value": NO_VALUE}
    return templates


@cache
def static_text(name: str) -> str:
    """A static file of the package, for the single-file report."""
    return files("adjudge.web").joinpath("static", name).read_text(encoding="utf-8")


def _finalize(value: Any) -> Any:
    """How a value is shown: never as `None` or `nan`, and without characters that act on their surroundings."""
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return NO_VALUE
    if isinstance(value, str) and not isinstance(value, Markup):
        return plain(value)
    return value


def _number(value: float | None, digits: int = 2) -> str:
    return NO_VALUE if value is None or not math.isfinite(value) else number(value, digits)


def _share(value: float | None) -> str:
    return NO_VALUE if value is None or not math.isfinite(value) else share(value)


def _short(text: str, most: int = 120) -> str:
    """A name that fits a table."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def middle(text: str, most: int = 40) -> str:
    """A name that fits, without its middle: ids differ at both ends."""
    if len(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"


def hits(text: str, searched: str) -> Markup:
    """The text as HTML with what was searched for marked."""
    low, wanted = text.lower(), searched.lower()
    spans = []
    start = low.find(wanted) if wanted and len(low) == len(text) else -1
    while start >= 0:
        spans.append((start, start + len(wanted)))
        start = low.find(wanted, start + len(wanted))
    return marked(text, spans, "found")


def _moment(stamp: str | None) -> str:
    """2026-11-16 05:45 of an ISO timestamp; the zone is UTC."""
    return f"{stamp[:10]} {stamp[11:16]} UTC" if stamp and len(stamp) >= 16 else NO_VALUE


# Text of items, judges and users as HTML that cannot act

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


def marked(text: str, spans: Iterable[Span | None], title: str = "", doubtful: Sequence[Span] = ()) -> Markup:
    """The text as HTML with its spans marked, those in `doubtful` as contradictions; spans outside the text or inside others are ignored."""
    parts = []
    position = 0
    for start, end in sorted(span for span in spans if span is not None):
        if not position <= start < end <= len(text):
            continue
        parts.append(shown(text[position:start]))
        is_doubtful = (start, end) in doubtful
        css, why = (
            ("span doubt", "one of several answers that contradict each other")
            if is_doubtful
            else ("span", title)
        )
        parts.append(Markup('<mark class="{}" title="{}">{}</mark>').format(css, why, shown(text[start:end])))
        position = end
    parts.append(shown(text[position:]))
    return Markup("").join(parts)


# Markdown and JSON as they are meant to be read. Every piece of text is escaped by `shown`; links and images stay text.

_LONGEST_RENDERED = 30_000
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*\n(.*?)(?:^ {0,3}\1[ \t]*$|\Z)", re.S | re.M)
_BLOCK = re.compile(r"^ {0,3}(?:(?P<head>#{1,6})[ \t]+|(?P<bullet>[-*+]|\d{1,3}[.)])[ \t]+)(?P<rest>\S.*)$")
_INLINE = re.compile(
    r"`([^`\n]{1,400})`|\*\*([^*\n]{1,400})\*\*|(?<![\w*])\*([^*\s][^*\n]{0,400})\*(?![\w*])"
)
_JSON_TOKEN = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>-?\d[\d.eE+-]*)|(?P<word>true|false|null)'
)
_MARKDOWN = re.compile(
    r"^ {0,3}(?:#{1,6} \S|[-*+] \S|\d{1,3}[.)] \S|```|~~~)|\*\*\S[^*\n]*\*\*|`[^`\n]+`", re.M
)


def rendered(text: str) -> Markup | None:
    """The text as Markdown or JSON; none where it is neither, or too long to be worth it."""
    if len(text) > _LONGEST_RENDERED:
        return None
    body = text.strip()
    if body[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(body)
            return _code(json.dumps(value, ensure_ascii=False, indent=2)) if value else None
    return _markdown(text) if _MARKDOWN.search(text) else None


def _code(text: str) -> Markup:
    """Code, with the parts of JSON coloured."""
    parts, start = [], 0
    for match in _JSON_TOKEN.finditer(text):
        parts.append(shown(text[start : match.start()]))
        parts.append(Markup('<span class="j-{}">{}</span>').format(match.lastgroup, shown(match[0])))
        start = match.end()
    parts.append(shown(text[start:]))
    return Markup('<pre class="code" dir="ltr">{}</pre>').format(Markup("").join(parts))


def _markdown(text: str) -> Markup:
    parts, start = [], 0
    for fence in _FENCE.finditer(text):
        parts.append(_blocks(text[start : fence.start()]))
        parts.append(_code(fence[2].rstrip("\n")))
        start = fence.end()
    parts.append(_blocks(text[start:]))
    return Markup("").join(parts)


def _blocks(text: str) -> Markup:
    """Headings, list items and paragraphs."""
    parts: list[Markup] = []
    lines: list[str] = []

    def end_paragraph() -> None:
        if any(line.strip() for line in lines):
            parts.append(Markup("<p>{}</p>").format(_inline("\n".join(lines).strip("\n"))))
        lines.clear()

    for line in text.splitlines():
        block = _BLOCK.match(line)
        if block is None:
            if line.strip():
                lines.append(line)
            else:
                end_paragraph()
            continue
        end_paragraph()
        if block["head"]:
            parts.append(Markup('<p class="md-head">{}</p>').format(_inline(block["rest"])))
        else:
            sign = "•" if not block["bullet"][0].isdigit() else block["bullet"]
            parts.append(Markup('<p class="md-item">{} {}</p>').format(sign, _inline(block["rest"])))
    end_paragraph()
    return Markup("").join(parts)


def _inline(text: str) -> Markup:
    parts, start = [], 0
    for match in _INLINE.finditer(text):
        parts.append(shown(text[start : match.start()]))
        name = ("code", "strong", "em")[(match.lastindex or 1) - 1]
        parts.append(Markup(f"<{name}>{{}}</{name}>").format(shown(match[match.lastindex or 1])))
        start = match.end()
    parts.append(shown(text[start:]))
    return Markup("").join(parts)


_RTL = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
    "(?:[^\\w\n]{0,3}[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff])*"
)


def with_bdi(text: str) -> Markup:
    """A sentence with names in it: a right-to-left name gets a `bdi` element, so that it cannot reorder the numbers beside it."""
    parts = []
    start = 0
    for match in _RTL.finditer(text):
        parts.append(shown(text[start : match.start()]))
        parts.append(Markup("<bdi>{}</bdi>").format(shown(match[0])))
        start = match.end()
    parts.append(shown(text[start:]))
    return Markup("").join(parts)


def judge_name(spec: str) -> str:
    """A short name of a judge: a model in a file is named without its folders."""
    kind, _, path = spec.partition(":")
    if kind not in ("replay", "local") or not path:
        return spec
    name = path.replace("\\", "/").rpartition("/")[2]
    return f"{kind}:{name or path}"

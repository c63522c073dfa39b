"""What a reply says in its own voice: everything it merely repeats is set aside, in place.

A judge thinks aloud, quotes the text that it judges and shows code. None of that is its answer, and
text under judgment must not be able to answer for it. Everything here keeps the length of the text, so a
place found in the result is the same place in the original. This file knows nothing of scores or verdicts.

Every function takes time linear in the text, for hostile text too: the patterns never give back what they
have taken, and an unterminated quotation is consumed once rather than tried again from each character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from ...lazy_patterns import lazily

Span = tuple[int, int]
ASIDE = "\ufffc"
"""What stands where something was set aside: neither a space nor a word, so nothing reads across it."""

MOST_QUOTATIONS = 20_000
"""No judge quotes or fences more often; past this many the rest of the text counts as quoted."""

_THOUGHT_TAG = lazily(r"<(/?)(?:think|thinking|thought|thoughts|reasoning|reflection)[ \t]{0,8}>", re.I)
_FENCE_LINE = lazily(r"^[ \t]{0,8}(```+|~~~+)([^\n]*)$", re.M)
_PLAIN_BLOCKS = frozenset(
    (
        "",
        "json",
        "jsonc",
        "text",
        "txt",
        "plaintext",
        "plain",
        "markdown",
        "md",
        "xml",
        "yaml",
        "yml",
        "toml",
        "html",
    )
)
_BLOCK_QUOTE = lazily(r"^[ \t]{0,8}>[^\n]*", re.M)
_QUOTATION = lazily(
    # An unterminated quotation ends at the next blank line and is then not one. A mark after a letter or
    # a digit opens nothing: it is an inch or a closing mark.
    r'"(?<![0-9A-Za-z]")(?:[^"\\\n]++|\\[^\n]|\\|\n(?![ \t]*+\n))*+"?'
    r"|“(?:[^“”\n]++|\n(?![ \t]*+\n))*+”?"
    r"|'(?<![0-9A-Za-z]')(?=[^\s'])[^'\n]{0,60}(?:\[\[|<|:\s?[0-9A-Z]|\]\s?[0-9A-Z])[^'\n]{0,60}'(?![0-9A-Za-z:])"
    r"|‘[^‘’\n]*+’?|「[^「」\n]*+」?|『[^『』\n]*+』?|«[^«»\n]*+»?|„[^„“”\n]*+[“”]?"
    r"|``?+(?!`)[^`\n]*+`{0,2}+"
)
_CLOSING = frozenset("\"'”’」』»“`")

# A name or a bare value between quotation marks is a way of writing it ("A", `4`, "score": 4), not a
# quotation; a key is always kept.
_NAME = lazily(
    r"\s?(?:[^\W\d]\w{0,39}|\[?\[?[A-Za-z]\]?\]?|[+-]?\d{1,3}(?:\.\d{1,2})?"
    r"|(?:output|response|assistant|answer|option|model|summary|candidate|system)\s?\(?\w\)?)\s?",
    re.I,
)
_KEY = lazily(r"[\w \-/().&']{1,60}")
_SHORT_VALUE = lazily(r"\s?(?:[0-9][^\n:]{0,15}|\[\[[^\[\]\n]{1,8}\]\])\s?")
_OWN_CLOSING = lazily(
    r"(?:\A\s{0,4}|(?:\A|\n)[ \t#*_\-]{0,8}(?:(?:final|my|overall)\s)?"
    r"(?:verdict|decision|judge?ment|conclusion|rating|score|result|evaluation|판정|결론|结论|判定)"
    r"[ \t*_]{0,4}(?::[ \t*_]{0,4}\n?|\n)\s{0,4}\**)(?=[\"“][^\"“”\n]{1,240}[\"”][\s.*_]{0,4}\Z)",
    re.I,
)
"""The heading of a verdict whose quotation ends the reply, or a quotation that is the whole reply: the judge
quotes itself.
"""

_REACH = 320
_COLON_NEXT = lazily(r"[ \t]{0,4}[:：]")


def window(text: str) -> Span:
    """Where the reply stands: inside white space, bold marks
    or a code fence around the whole, after thinking.
    """
    start, end = _trimmed(text, 0, len(text))
    aloud = thoughts(text)
    while True:
        if end - start >= 4 and text.startswith("**", start) and text.endswith("**", start, end):
            start, end = _trimmed(text, start + 2, end - 2)
            continue
        inner = _inside_fence(text, start, end) or _after_thinking(aloud, start, end)
        if inner is None:
            return start, end
        start, end = _trimmed(text, *inner)


def _after_thinking(aloud: list[Span], start: int, end: int) -> Span | None:
    """What is left of text[start:end] behind a thought at its beginning; none where there is none."""
    while aloud and aloud[0][1] <= start:
        del aloud[0]
    if aloud and aloud[0][0] <= start < aloud[0][1] < end:
        return aloud[0][1], end
    return None


def _trimmed(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _inside_fence(text: str, start: int, end: int) -> Span | None:
    """The inside of one fence around text[start:end]; none where there are several, or there is none."""
    if not (text.startswith(("```", "~~~"), start) and text.endswith(("```", "~~~"), start, end)):
        return None
    # Cut out, so that a fence behind leading spaces stands at the beginning of a line.
    inner = text[start:end]
    lines = []
    for line in _FENCE_LINE.finditer(inner):
        lines.append(line)
        if len(lines) > 2:
            return None
    if len(lines) != 2 or lines[0].start() != 0 or lines[1].end() != len(inner):
        return None
    opening, closing = lines
    if opening[1] != closing[1] or closing[2] or "`" in opening[2] or " " in opening[2].strip():
        return None
    return start + opening.end() + 1, start + max(opening.end() + 1, closing.start() - 1)


def thoughts(text: str) -> list[Span]:
    """Thinking aloud between tags; also where the opening or the closing tag is missing."""
    spans: list[Span] = []
    if "<" not in text:
        return spans
    opened: int | None = None
    done = 0
    for tag in _THOUGHT_TAG.finditer(text):
        if not tag[1]:
            opened = tag.start() if opened is None else opened
            continue
        # Some models are started inside the thought: a lone closing tag ends it.
        spans.append((done if opened is None else opened, tag.end()))
        opened, done = None, tag.end()
    if opened is not None:
        spans.append((opened, len(text)))
    return spans


def fences(text: str) -> list[Span]:
    """Fenced blocks with their fence lines; an unterminated one reaches the end."""
    spans: list[Span] = []
    if "```" not in text and "~~~" not in text:
        return spans
    opened: re.Match[str] | None = None
    for count, line in enumerate(_FENCE_LINE.finditer(text)):
        if count >= MOST_QUOTATIONS:
            return [*spans, (line.start(), len(text))]
        if opened is None:
            if "`" not in line[2]:
                opened = line
        elif line[1].startswith(opened[1]) and not line[2].strip():
            spans.append((opened.start(), line.end()))
            opened = None
    if opened is not None:
        spans.append((opened.start(), len(text)))
    return spans


def without_code(text: str) -> str:
    """The text without the fenced blocks that say which programming language they hold.

    One that is never closed stays: the judge's own words may follow the code.
    """
    return masked(text, [span for span in fences(text) if _is_code(text, *span)])


def _is_code(text: str, start: int, end: int) -> bool:
    if not text[max(start + 3, end - 64) : end].rstrip().endswith(("```", "~~~")):
        return False
    line = _FENCE_LINE.match(text, start)
    return line is not None and line[2].strip().lower() not in _PLAIN_BLOCKS


def fence_lines(text: str) -> list[Span]:
    """The lines that open and close fences, without what stands between them."""
    if "```" not in text and "~~~" not in text:
        return []
    lines = [line.span() for line in islice(_FENCE_LINE.finditer(text), MOST_QUOTATIONS + 1)]
    return lines if len(lines) <= MOST_QUOTATIONS else [*lines, (lines[-1][1], len(text))]


def quotations(text: str) -> list[Span]:
    """Quotations, inline code and block quotes; quoted names, keys and bare values are none of these."""
    spans: list[Span] = []
    closing = (
        _OWN_CLOSING.search(text, max(0, len(text) - _REACH))
        if text[-8:].rstrip(" .*_\n")[-1:] in _CLOSING
        else None
    )
    for count, match in enumerate(_QUOTATION.finditer(text)):
        start, end = match.span()
        if closing is not None and start >= closing.end():
            continue
        if count >= MOST_QUOTATIONS:
            return [*spans, (start, len(text))]
        if end - start > 2 and text[end - 1] in _CLOSING and not _is_only_written_so(text, start, end):
            spans.append((start, end))
    if ">" in text:
        blocks = [match.span() for match in islice(_BLOCK_QUOTE.finditer(text), MOST_QUOTATIONS + 1)]
        if len(blocks) > MOST_QUOTATIONS:
            blocks.append((blocks[-1][1], len(text)))
        spans = sorted(spans + blocks)
    return spans


def _is_only_written_so(text: str, start: int, end: int) -> bool:
    """Whether the marks around text[start:end] stand around a name, a key or a bare value."""
    if end - start > 64:
        return False
    content = text[start + 1 : end - 1].strip("`")
    if _NAME.fullmatch(content) and "[[" not in content:
        return True
    if _COLON_NEXT.match(text, end):
        return _KEY.fullmatch(content) is not None
    before = text[max(0, start - 4) : start].rstrip()
    return before.endswith((":", "：")) and _SHORT_VALUE.fullmatch(content) is not None


def places(text: str, words: Iterable[str], most: int) -> list[Span]:
    """Where any of the words stands, in order, at most so many times each.

    One search for each word is several times as fast as one pattern of all of them.
    """
    spans: list[Span] = []
    for word in words:
        at = text.find(word)
        count = 0
        while at >= 0 and count < most:
            spans.append((at, at + len(word)))
            at = text.find(word, at + len(word))
            count += 1
    spans.sort()
    return spans


def masked(text: str, spans: Iterable[Span]) -> str:
    """The text with each span filled by `ASIDE`; spans are in order and may overlap."""
    parts: list[str] = []
    at = 0
    for start, end in spans:
        if end <= at:
            continue
        start = max(start, at)
        parts += (text[at:start], ASIDE * (end - start))
        at = end
    if not parts:
        return text
    parts.append(text[at:])
    return "".join(parts)


def set_aside(text: str, *, thinking: bool = True, fenced: bool = True, quoted: bool = True) -> str:
    """The text, as long as it was, without thinking, fenced blocks and quotations.

    With `fenced=False` the blocks stay and only their fence lines go.
    """
    if thinking:
        text = masked(text, thoughts(text))
    text = masked(text, fences(text) if fenced else fence_lines(text))
    if quoted:
        text = masked(text, quotations(text))
    return text

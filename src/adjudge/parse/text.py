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
from typing import Any, cast

# Patterns that are compiled when they are first used.
#
# The readers know hundreds of patterns, and compiling all of them took longer than everything else that an import
# does; a reply of a known format needs a few of them. This file knows no pattern itself.


_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub")


class _Lazy:
    """Stands for a pattern until one of its methods is asked for; from then on holds that pattern's methods."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._written = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(*self._written)
        # Kept as attributes, so that later uses find them without passing through here.
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazily(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern as `re.compile` would give it, compiled at its first use."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))


Span = tuple[int, int]

ASIDE = "\ufffc"
"""What stands where something was set aside: neither a space nor a word, so nothing reads across it."""

MOST_QUOTATIONS = 20_000
"""No judge quotes or fences more often; past this many the rest of the text counts as quoted."""

_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_INVISIBLE = (
    "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)
_NARROW = (
    {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
    | {0x1D7CE + n: ord("0") + n % 10 for n in range(50)}
    | {ord(space): " " for space in _SPACES + _INVISIBLE}
)
_WIDE_SET = "[\uff01-\uff5e\U0001d7ce-\U0001d7ff" + _SPACES + _INVISIBLE + "]"
_WIDE = lazily(_WIDE_SET + _WIDE_SET + "*+")  # a plain set in front lets the search skip ahead

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
_OUTER_UNDERSCORE = lazily(r"_(?:(?<![0-9A-Za-z]_)|(?![0-9A-Za-z]))")
_HEADING = lazily(r"^[ \t]{0,3}#{1,6}(?=[ \t])", re.M)
_BLOCK_QUOTE = lazily(r"^[ \t]{0,8}>[^\n]*", re.M)
_QUOTATION = lazily(
    # An unterminated quotation ends at the next blank line and is then not one. A mark after a letter or
    # a digit opens nothing: it is an inch or a closing mark.
    r'"(?<![0-9A-Za-z]")(?:[^"\\\n]++|\\[^\n]|\\|\n(?![ \t]*+\n))*+"?'
    r"|“(?:[^“”\n]++|\n(?![ \t]*+\n))*+”?"
    r"|‘[^‘’\n]*+’?|「[^「」\n]*+」?|『[^『』\n]*+』?|«[^«»\n]*+»?|„[^„“”\n]*+[“”]?"
    r"|``?+(?!`)[^`\n]*+`{0,2}+"
)
_CLOSING = frozenset('"”’」』»“`')

# A name or a bare value between quotation marks is a way of writing it ("A", `4`, "score": 4), not a
# quotation; a key is always kept.
_NAME = lazily(
    r"\s?(?:[^\W\d]\w{0,39}|\[?\[?[A-Za-z]\]?\]?|[+-]?\d{1,3}(?:\.\d{1,2})?"
    r"|(?:output|response|assistant|answer|option|model|summary|candidate|system)\s?\(?\w\)?)\s?",
    re.I,
)
_KEY = lazily(r"[\w \-/().&']{1,60}")
_SHORT_VALUE = lazily(r"\s?(?:[0-9][^\n:]{0,15}|\[\[[^\[\]\n]{1,8}\]\])\s?")
_COLON_NEXT = lazily(r"[ \t]{0,4}[:：]")


def narrow(text: str) -> str:
    """Full-width letters, digits and signs as ASCII, odd spaces as spaces; one character for each."""
    if text.isascii():
        return text
    if len(text) > 100_000:
        return text.translate(_NARROW)
    return _WIDE.sub(lambda wide: wide[0].translate(_NARROW), text)


def folded(text: str) -> str:
    """The text in lower case; a letter whose small form is longer stays, so that places stay."""
    lower = text.lower()
    return (
        lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    )


def without_emphasis(text: str) -> str:
    """The text with bold, italic and heading marks blanked; an underscore inside a word stays."""
    if "*" in text:
        text = text.replace("*", " ")
    if "#" in text:
        text = _HEADING.sub(lambda mark: " " * len(mark[0]), text)
    if "_" in text:
        text = _OUTER_UNDERSCORE.sub(" ", text)
    return text


def window(text: str) -> Span:
    """Where the reply stands: inside white space, bold marks or a code fence around the whole, after thinking."""
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
    for count, match in enumerate(_QUOTATION.finditer(text)):
        start, end = match.span()
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


# Whether a reply declines to judge. Asked only where no answer was found: a refusal beside an answer is prose.


MOST_SIGNS = 4
_HEAD = 300
"""How far into a reply a refusal begins, in characters."""

_TASK = (
    r"(?:evaluat|assess|rat(?:e|ing)|scor|judg|grad|compar|provid|assist|help|compl|fulfil|determin|choos|select|giv|"
    r"answer|respond|engag|continu|do\s(?:that|this|so)|process|review|participat|offer|make|decid|pick|support|generat|discuss)"
)
_SIGNS = (
    *(
        "n't",
        "n’t",
        "cant ",
        "cannot",
        "can not",
        "could not",
        "will not",
        "unable",
        "not able",
        "declin",
        "refuse",
        "wont ",
    ),
    *("comfortable", "sorry", "apolog", "impossible", "not possible", "n/a", "not applicable", "abstain"),
    *("no score", "no rating", "no verdict"),
)
_ASIAN_SIGN = lazily(
    "无法|無法|不能|还没|不便|拒绝|拒絕|没有办法|없|불가|어렵|않겠|못|거부|거절|できません|できない|しかね"
)
_AROUND = 80
"""How far around one of these words a refusal reaches: most text is then never searched at all."""

_REFUSAL = lazily(
    rf"\bi(?:['’]m|\sam)?\s(?:\w+\s)?(?:cannot|can['’]?t|can\snot|could\snot|couldn['’]t|won['’]?t|will\snot|unable|"
    rf"not\sable|must\s(?:respectfully\s)?decline|decline|refuse|do\snot\sfeel\scomfortable|don['’]t\sfeel\scomfortable|"
    rf"not\scomfortable|have\sto\sdecline)\b[^.\n]{{0,40}}?\b{_TASK}"
    r"|\b(?:sorry|apologi[sz]e|apologies)\b[^.\n]{0,30}\b(?:but|cannot|can['’]?t|unable|not\sable)\b"
    rf"|^(?:unable|impossible|not\spossible)\sto\s{_TASK}|^(?:\w+\s){{1,4}}cannot\sbe\s(?:evaluated|rated|scored|judged|assessed|graded)"
    r"|^(?:n/a|not\sapplicable|(?:i\s)?abstain|no\s(?:score|rating|verdict))\b"
    r"|(?:抱歉|对不起|對不起|很遗憾|很遺憾)[^。\n]{0,30}(?:无法|無法|不能|不便|没有办法|还没学)"
    r"|(?:我|本人|作为|因此)?[^。\n]{0,12}(?:无法|無法|不能|拒绝|拒絕|不便)[^。\n]{0,12}(?:评价|评分|评估|評|打分|判断|判斷|提供|回答|协助|比较|完成|给出|满足|回应|处理)"
    r"|(?:평가|판단|채점|답변|제공|비교|점수|선택|도와|응답|결정)[^.\n]{0,16}(?:수\s?없|불가|어렵습니다|않겠|못\s?합니다|거부|거절)"
    r"|(?:죄송|유감)[^.\n]{0,40}(?:없|불가|어렵)"
    r"|(?:評価|判断|回答|採点|お答え)[^。\n]{0,10}(?:できません|できない|致しかね|いたしかね)",
)


def declines(text: str) -> bool:
    """Whether the beginning of the reply says that the judge cannot or will not judge."""
    head = folded(narrow(text[: 2 * _HEAD])).strip()[:_HEAD]
    signs = places(head, _SIGNS, MOST_SIGNS)
    if not head.isascii():
        signs += [match.span() for match in islice(_ASIAN_SIGN.finditer(head), MOST_SIGNS)]
    return any(_REFUSAL.search(head, max(0, start - _AROUND), end + _AROUND) for start, end in signs)

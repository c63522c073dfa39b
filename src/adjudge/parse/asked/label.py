"""The answer behind a label: `Coherence Score (1-5): 4`."""

from __future__ import annotations

import re
from functools import lru_cache

from ...lazy_patterns import lazily
from ...records import Reading
from ..free.marks import LABEL, TABLE_ROW, label_rank
from ..text.own_voice import Span
from .settle import MarkedValue, leads_line, loosely, marks_in, prepared, settle
from .values import Value


def read_label(text: str, labels: tuple[str, ...], value: Value) -> Reading | None:
    """`Coherence Score (1-5): 4`. A label at the start of a line outranks one inside a sentence."""
    plain = _with_colons(prepared(text), text, labels)
    by_place: dict[Span, MarkedValue] = {}
    for mark in (mark for label in labels for mark in marks_in(plain, _label_pattern(label), value)):
        # Of two labels before one value, the longer one counts: "Final score" and the "score" in it.
        if mark.span not in by_place or mark.mark < by_place[mark.span].mark:
            by_place[mark.span] = mark
    found = sorted(by_place.values(), key=lambda mark: mark.mark)
    values = [mark for mark in found if mark.is_readable and label_rank(plain, mark.mark)]
    leading = [mark for mark in values if _leads_line(plain, mark.mark)]
    if leading:
        # Behind them, only a label that names nothing else revises the answer.
        last = leading[-1].mark
        behind = [mark for mark in values if mark.mark > last and label_rank(plain, mark.mark) >= LABEL]
        values = leading + behind
    unread = [mark for mark in found if _is_unread_answer(plain, mark)]
    reading = settle(sorted([*values, *unread], key=lambda mark: mark.mark), text)
    return reading or (Reading(status="unparsed") if found else None)


def _with_colons(plain: str, text: str, labels: tuple[str, ...]) -> str:
    """The text with a colon behind a label in the row of a table, and behind one that is a heading, in the
    place of the line end: "| Score | 4 |", "## Score\\n4"."""
    if "|" in text:
        plain = TABLE_ROW.sub(lambda row: f"{row[0][:-1]}:", plain)
    if "#" not in text and "**" not in text:
        return plain
    for heading in _heading_pattern(labels).finditer(text):
        plain = plain[: heading.end() - 1] + ":" + plain[heading.end() :]
    return plain


@lru_cache(maxsize=64)
def _heading_pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    either = "|".join(loosely(label) for label in labels)
    return re.compile(
        rf"^[ \t]{{0,3}}(?:#{{1,6}}[ \t]{{1,3}}(?:\*\*)?|\*\*)(?:{either})"
        r"(?:\*\*)?[ \t]{0,3}\n(?=\s{0,3}\S)",
        re.I | re.M,
    )


_QUALIFIED = lazily(
    r"(?:(?:my|the|so|thus|therefore|hence|final|overall|revised|corrected|updated|adjusted|new|최종|종합|수정(?:된)?|"
    r"最终|最終|综合|综上|总|本次|(?:更正|修正|调整|修改)过?的?|[一-鿿]{1,4}[后後]的?|重新|新)[\s,:]{0,2}){1,3}$"
)
"""Words before a label that leads its line all the same: "My final score:"."""


def _leads_line(plain: str, at: int) -> bool:
    words = _QUALIFIED.search(plain, max(0, at - 32), at)
    return leads_line(plain, words.start() if words else at)


def _is_unread_answer(plain: str, mark: MarkedValue) -> bool:
    """Whether a label without an answer claims one: "Score:
    N/A", and not "the reason for the score: it is …".
    """
    if mark.is_readable:
        return False
    has_colon = ":" in plain[mark.mark : mark.span[1]]
    claims = mark.status == "refused" or has_colon or _COLON_BEHIND.match(plain, mark.span[1]) is not None
    return claims and _ABOUT_LABEL.search(plain, max(0, mark.mark - 24), mark.mark) is None


_COLON_BEHIND = lazily(r"\s{0,3}(?:\([^()\n]{0,40}\)|\[[^\[\]\n]{0,40}\])?\s{0,3}[:=]")
_ABOUT_LABEL = lazily(
    r"\b(?:for|of|behind|about|regarding|explain(?:s|ing)?|justif(?:y|ies|ying))\s(?:the|this|that|my|its|"
    r"a)\s(?:final\s|overall\s)?$",
    re.I,
)
"""What makes a label the subject of a heading: "Reason for the score:"."""


_CJK = "\u2e80"


@lru_cache(maxsize=64)
def _label_pattern(label: str) -> re.Pattern[str]:
    # A label without its colon is a word of a sentence: "the score given was 4" is not an answer. A dash
    # right behind the label stands for the colon.
    # A Chinese label may stand at the end of a longer word: "最终评分".
    before = "" if label[:1] >= _CJK else r"(?<![^\W\d_])"
    return re.compile(rf"{before}{loosely(label)}(?:\s{{0,3}}(?=[:=(\[]|is\b)|\s?[-–—](?!\s?[^\W\d]))", re.I)

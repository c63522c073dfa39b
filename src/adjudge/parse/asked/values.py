"""What may stand behind a mark: a number of the scale, the name of a level, one of two responses."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ...lazy_patterns import lazily
from ...records import Scale, Status
from ..free.said_scores import IN_PARTS, counts_things, is_taken_back
from ..numbers.not_scores import begins_range, counts_plural, names_another
from ..numbers.number import Number, number_at
from ..text.own_voice import Span

# A minus sign before a digit belongs to the number: "-1" is off the scale, not 1.
_BEFORE_VALUE = lazily(
    r"(?:[\s:=(\[{\"'“”‘’«`>|*_→【「『《]|-(?![0-9])|[–—](?=\s)|\$(?=[0-9.]{1,6}\$)|\\boxed\{(?:\\text\{)?|\\[(\[]|\$(?=\\boxed)){0,12}"
    r"(?:(?:the\s)?(?:final\s|overall\s)?(?:score|rating|result|level|is|of|점수|评分|得分|分数|"
    r"i(?:'d|\swould)?\s(?:say|give\s(?:it|this)(?:\san?(?=\s))?))(?:[\s:=(\[*_\"']|-(?![0-9])){0,6}){0,2}",
    re.I,
)
_BOUND = lazily(r"(?:[^-=>\n]|\A)>\s?\Z")
"""A lone `>` before a number is a lower bound, not an arrow and not the end of a tag."""
_MENU = lazily(
    r"(?:\s?[,|/]\s?[0-9]{1,3}(?:\.[0-9])?){1,20}\s?,?\s?(?:\|{1,2}|or|and)\s?[0-9]|(?:\s?[,|]\s?[0-9]{1,"
    r"3}(?![0-9.])){2,20}",
    re.I,
)
"""The levels of the scale one after the other: a repeated format, no answer."""
_VALUE_ENDS = lazily(r"\s{0,3}(?:[^\w\s]|\n|\Z|[^\W\d])")
Value = Callable[[str, int], tuple[float | str | None, Status, Span] | None]
"""Reads what stands at a place of a narrowed text; none where nothing readable does."""


def score_value(scale: Scale) -> Value:
    """A reader of the one number, or level name, that stands at a place."""

    def read(text: str, at: int) -> tuple[float | str | None, Status, Span] | None:
        number = number_at(text, at)
        if number is None or not _VALUE_ENDS.match(text, number.until):
            return _named_level(text, at, scale)
        if _MENU.match(text, number.end) or _is_in_doubt(text, number):
            return None
        return number.value, _fits(number, scale), (number.start, number.end)

    return read


def _is_in_doubt(text: str, number: Number) -> bool:
    """Whether what comes with a number makes it none that is given: "4?", "4 or 5", "4 minutes"."""
    at = number.until
    return (
        is_taken_back(text, number)
        or names_another(text, number)
        or IN_PARTS.match(text, at) is not None
        or counts_plural(text, number)
        or begins_range(text, number)
        or (number.in_words and counts_things(text, number))
    )


def _fits(number: Number, scale: Scale) -> Status:
    """On the scale, and "out of" the scale's own top where the judge names one."""
    if number.top is not None and scale.high is not None and number.top != scale.high:
        return "out_of_range"
    return scale.status_of(number.value)


def _named_level(text: str, at: int, scale: Scale) -> tuple[float | str | None, Status, Span] | None:
    for level, name in scale.names.items():
        end = at + len(name)
        if text[at:end].casefold() == name.casefold() and not text[end : end + 1].isalnum():
            # "correct/incorrect" repeats what was offered.
            offers = _OFFERS.match(text, end)
            is_menu = offers and any(text[offers.end() :].startswith(other) for other in scale.names.values())
            return None if is_menu else (level, "ok", (at, end))
    return None


_OFFERS = lazily(r"\s?(?:[/|,]|or\b)\s?")


_OTHER_TIES = ("tied", "draw", "무승부", "동점", "平局", "平手", "引き分け")
"""What judges also write where a tie was offered."""


def choice_value(options: tuple[str, str], tie: str | None) -> Value:
    """A reader of one of the words that the prompt offers: first, second or tie."""
    words = {options[0].casefold(): "first", options[1].casefold(): "second"}
    if tie is not None:
        words |= dict.fromkeys((tie.casefold(), *_OTHER_TIES), "tie")
    written = tuple(sorted(words, key=len, reverse=True))
    pattern, contested = _choice_pattern(written), _contested_pattern(written)

    def read(text: str, at: int) -> tuple[float | str | None, Status, Span] | None:
        match = pattern.match(text, at)
        if match is None or _LOSES.match(text, match.end()) or contested.match(text, match.end()):
            return None
        if match[1] in ("a", "A") and _ARTICLE.match(text, match.end(1)):
            return None
        side, rival = words[match[1].casefold()], match["rival"]
        if rival is None:
            return side, "ok", match.span(1)
        # "A > B" is a comparison: the winner stands on the open side of the sign.
        other = words.get(rival.casefold())
        if other is None or other == side or "tie" in (side, other):
            return None
        return (side if match["sign"][0] == ">" else other), "ok", match.span(1)

    return read


@lru_cache(maxsize=64)
def _choice_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    either = "|".join(map(re.escape, words))
    return re.compile(
        r"(?:(?:response|output|answer|assistant|option|model|candidate|the)[\s_]{1,2}){0,2}[(\[\"'“‘*]{0,3}"
        + f"({either})"
        + r"(?![\w])(?!\s{0,2}(?:or|/|and|=)\s{0,2}\w{1,9}\b)"
        + rf"(?:\s{{0,2}}(?P<sign>>{{1,3}}|<{{1,3}})\s{{0,2}}(?P<rival>{either})(?!\w))?",
        re.I,
    )


@lru_cache(maxsize=64)
def _contested_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """What leaves open which response is meant: "A?", "A & B", "A, maybe B", "A (or B)"."""
    either = "|".join(map(re.escape, words))
    return re.compile(
        r"[)\]\"'”’]{0,2}\s{0,2}(?:\?|(?:,\s?)?\(?(?:[&|≈]|or|and|vs\.?|versus|maybe|perhaps|possibly)\s{0,2}"
        rf"(?:(?:response|output|answer|assistant|option|model)\s)?(?:{either})\b"
        rf"|,\s?(?:{either})\s{{0,2}}(?:\Z|[\n.)\]]))",
        re.I,
    )


_ARTICLE = lazily(
    r"\s(?:tie|draw|close|toss|dead|fair|mixed|balanced|bit|little|slight|combination|third|new|different)\b",
    re.I,
)
"""What makes the letter A an article: "a tie"."""
_LOSES = lazily(
    r"[)\]\"'”’]{0,2}\s(?:loses\b|fails\b|(?:is|was|seems)(?:n't|\s(?:not|never|worse|weaker|wrong|inferior|"
    r"incorrect|the\s(?:worse|weaker|inferior|wrong)))\b)",
    re.I,
)
"""What says that the response just named is not the better one."""


def value_from(plain: str, at: int, end: int, value: Value) -> tuple[float | str | None, Status, Span] | None:
    skipped = _BEFORE_VALUE.match(plain, at, end)
    if skipped and _BOUND.search(skipped[0]):
        return None
    read = value(plain, skipped.end() if skipped else at)
    return read if read is not None and read[2][1] <= end else None

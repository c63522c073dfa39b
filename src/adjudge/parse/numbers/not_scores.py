"""Numbers and letters that only count something: the entries of a list, the levels of a scale, a citation.

"Strengths:\n1. clear\n2. short" gives no score of 1, "1 = bad, 5 = good" none of either, and "the answer is
\\boxed{4}" is the task's answer where the judge speaks of another answer. All of them stand where an answer
could stand, so only what comes before or behind tells them apart. This file knows no scale and no option.

The text must be narrow, folded and without emphasis. Every search is bounded, so all of it is linear.
"""

from __future__ import annotations

import re

from ...lazy_patterns import lazily
from .number import Number

_REACH = 1_500
"""How far behind an entry the next one is looked for, in characters."""

_MOST_LOOKS = 60
"""How many places that could be the next entry are looked at."""

_LAST_ENTRY = 20
_ENTRY = lazily(r"(?:[.)\]:][ \t]++|、[ \t]*+|[.)\]](?=[\u3040-\ud7ff]))(?=\S)")
_LIST_LINE = lazily(r"^[ \t]{0,8}\(?([0-9]{1,2})(?:[.)][ \t]|、)", re.M)
_EQUALS = lazily(r"[ \t]?(?:=|:|[-–—][ \t])")
_BOX_ENDS = lazily(r"[^{}<\n]{0,24}(?:\}|</answer>)[^0-9A-Za-z\u00c0-\uffef]*+(?:\\?\)[\s.]*+)?\Z")
_ANSWER_BOX = lazily(
    r"(?:[^\w]|\\text|\\mathrm|\\textbf|so|thus|therefore|hence|the|my|final|overall|answer|is|as|verdict|"
    r"choice|winner|conclusion|"
    r"i|would|will|give|it|better|best|response|assistant|output|option)*+$"
)
_OF_SCORE = lazily(r"\b(?:scor|rat(?:e|ing)|grad|verdict|winner|prefer|choos)|评分|得分|分数|점수|평점")
_SENTENCE_STARTS = lazily(r"[.!?。！？\n]\s")


def is_entry(judge_text: str, mark: int, number: Number, *, is_part: bool) -> bool:
    """Whether the number behind a mark that begins at `mark` counts an entry of a list and is no value.

    Below a label that is not one of scores, a number with a dot and a text behind it is always an entry;
    below or behind "Result:" only where the list continues.
    """
    if number.in_words or number.top is not None or not _ENTRY.match(judge_text, number.until):
        return False
    is_below = judge_text.find("\n", mark, number.start) >= 0
    if is_part and is_below:
        return True
    return number.value == 1 and goes_on(judge_text, number)


def goes_on(judge_text: str, number: Number) -> bool:
    """Whether an entry with the next number follows: "2." after "1."."""
    if number.value != int(number.value) or not 0 <= number.value < _LAST_ENTRY:
        return False
    following = f"{int(number.value) + 1}"
    at = judge_text.find(following, number.until, number.until + _REACH)
    for _ in range(_MOST_LOOKS):
        if at < 0:
            break
        before, after = judge_text[at - 1], judge_text[at + len(following) : at + len(following) + 2]
        if (before.isspace() or before in "(（。；;，,、") and (
            (after[:1] in (".", ")", "]") and not after[1:].isdigit()) or after.startswith("、")
        ):
            return True
        at = judge_text.find(following, at + 1, number.until + _REACH)
    return False


def is_a_list(judge_text: str) -> bool:
    """Whether lines are numbered, upwards or downwards, so that an opening "1." is no score."""
    first: int | None = None
    for line in _LIST_LINE.finditer(judge_text):
        if first is None:
            first = int(line[1])
        else:
            return abs(int(line[1]) - first) == 1
    return False


_ENDS_EXPLAINED = lazily(r"[ \t]?=[ \t]?[^\n=]{1,40}[,;.][ \t]?(?:and[ \t])?[0-9]{1,2}[ \t]?=")
"""Only the ends of a scale are explained: "1 = poor, 5 = excellent"."""


def is_legend(judge_text: str, number: Number) -> bool:
    """Whether the levels of a scale are explained one by one: "1 = bad, 2 = poor"."""
    if not _EQUALS.match(judge_text, number.until):
        return False
    if _ENDS_EXPLAINED.match(judge_text, number.until):
        return True
    return any(
        _is_explained(judge_text, number, f"{level:g}") for level in (number.value + 1, number.value - 1)
    )


def _is_explained(judge_text: str, number: Number, level: str) -> bool:
    at = judge_text.find(level, max(0, number.start - _REACH), number.until + _REACH)
    for _ in range(_MOST_LOOKS):
        if at < 0:
            break
        if (
            not judge_text[at - 1 : at].isalnum()
            and judge_text[at - 1 : at] not in (".", "-", "/", ":")
            and _EQUALS.match(judge_text, at + len(level))
            and not judge_text[at + len(level) + 1 : at + len(level) + 2].isdigit()
        ):
            return True
        at = judge_text.find(level, at + 1, number.until + _REACH)
    return False


_PLURAL = lazily(
    r"[ \t](?:[a-z]{3,}\s)?(?!(?:as|is|has|was|this|its|stars|points|marks|seems|feels|looks|fits|suits|"
    r"means|shows|reflects|indicates|across|unless|less|thus|plus|perhaps|always|besides)\b)[a-z]{3,}s\b"
    r"(?!\s(?:the|an?|that|this|it|its|how|right|fair|appropriate|good|well|best|my|some|both|most)\b)"
)
_TO_OTHER_END = lazily(
    r"\s?\([^()\n]{1,40}\)\s?(?:to|through|[-–—~,]|至|到|에서)\s?[0-9]{1,3}\s?(?:points?|점|分)?\s?\("
)


_ANOTHER = lazily(
    r"(?:[ \t]?(?:[,;&<]|and|vs\.?|\(?or|\.{2,3}|…)|\s?(?:또는|혹은|이나|或者?|还是))\s?"
    r"(?:an?\s)?[0-9]++(?:\.[0-9]++)?+\s?(?:점|分|points?)?\s?(?:$|[\n.,;)\]<])"
    r"|[ \t]?[,(]?\s?(?:or\s)?(?:maybe|perhaps|possibly|or\seven)\s(?:an?\s)?[0-9]"
    r"|[ \t]++[0-9]++(?:\.[0-9]++)?+[ \t]?[.)]?[ \t]*+(?:\n|\Z)"
    r"|[ \t]?(?:→|->|=>)[ \t]?(?:n/?a\b|none\b|pending\b|tbd\b|unknown\b|\?)"
    r"|[ \t]?<[ \t]?[a-z]\b"
    r"|[ \t]?(?:→|->|=>)[^\n]{1,40}?(?:→|->|=>)[ \t]?[0-9]"
    r"|[ \t]?(?:→|->|=>)[ \t]?[^\W\d][^\n0-9]{3,40}[:=][ \t]?[0-9]++(?![0-9%]|\s%)"
    r"|[ \t]?\((?:initial|initially|first|original|provisional|tentative|before[^()\n]{1,30})\)"
)


def names_another(judge_text: str, number: Number) -> bool:
    """Whether another number comes with this one with the same claim: "4 or 5", "4 (maybe 5)"."""
    return _ANOTHER.match(judge_text, number.until) is not None


def counts_plural(judge_text: str, number: Number) -> bool:
    """Whether things stand behind a number: "4 minutes", "4 errors found"."""
    return number.top is None and not number.unit and _PLURAL.match(judge_text, number.until) is not None


def begins_range(judge_text: str, number: Number) -> bool:
    """Whether a number is one end of a scale whose ends are explained: "1 (worst) to 5 (best)"."""
    return _TO_OTHER_END.match(judge_text, number.until) is not None


def is_answer_box(judge_text: str, start: int, at: int) -> bool:
    """Whether a box that begins at `start` is the judge's
    answer: nothing follows it, and no other answer is meant.
    """
    if not _BOX_ENDS.match(judge_text, at):
        return False
    begin = max(0, start - 160)
    for stop in _SENTENCE_STARTS.finditer(judge_text, begin, start):
        begin = stop.end()
    left = judge_text[begin:start]
    return _OF_SCORE.search(left) is not None or _ANSWER_BOX.match(left) is not None

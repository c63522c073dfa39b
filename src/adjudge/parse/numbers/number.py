"""Numbers as judges write them, each with its place in the text.

Digits, decimals, "4/5", "4 out of 5", "4점", "5점 만점에 4점", "8分", "满分10分，得8分", and the words for
zero to ten in English, Korean and Chinese (what each language adds is in a separate file). A sum is its
result: "5 - 2 = 3" is a three. What looks like a number and is none is passed over: versions, dates, ranges,
ordinals, money, "1_0", sums without a result, the name of a scale ("10分制"). This file does not know any
scale: whether a number is a score is for others.

The text must have gone through `text.narrow` first. All patterns are linear: none gives back what it took.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...lazy_patterns import lazily
from . import chinese, english, european, korean

_WORDS: dict[str, float] = english.WORDS | chinese.WORDS | korean.WORDS
_DIGITS = r"[0-9]++(?:\.[0-9]++)?+"
_UNIT = rf"(?:{korean.POINT}|{chinese.UNITS}|{korean.UNITS}|{english.UNITS}|{european.UNITS})"
_WORD = rf"(?:{english.WORD}|{chinese.WORD}|{korean.WORD})"
_BLOB = lazily(r"[0-9][0-9]*+(?:[.,:/_~–—−-][0-9]++)*+")
_PLAIN = lazily(r"([0-9]++(?:\.[0-9]++)?+)(?:/([0-9]++(?:\.[0-9]++)?+))?+")
_POINT_FIRST = lazily(r"\.[0-9]{1,6}(?![0-9.,:/])")
_THOUSANDS = lazily(r"[0-9]{1,3}(?:,[0-9]{3})++")
_WORD_AT = lazily(_WORD, re.I)
_STARS = lazily(r"((?:[★⭐🌟]\ufe0f?+){1,20})((?:☆\ufe0f?+){0,20})(?![★⭐🌟☆])")
_HALF = lazily(r"\s?½|\sand\sa\shalf\b|(?<=分)半", re.I)
_NOT_A_NUMBER_AFTER = lazily(r"[A-Za-z_+²³°℃]|-[A-Za-z]|\s?(?:percent\b|°)", re.I)
_UNIT_AFTER = lazily(r"\s{0,2}" + _UNIT, re.I)
_TIGHT_UNIT = lazily(r"(?:points?|pts?|stars?|marks?|out)\b", re.I)
_PERCENT = lazily(r"\s?%")
_TOP_AFTER = lazily(
    # On one line: the next one may begin with "Of the 3 points, …".
    rf"[ \t]{{0,2}}{_UNIT}?+[ \t]{{0,2}}(?:/|{english.OUT_OF}|{european.OUT_OF})\s{{0,2}}"
    rf"{english.MOST}({_DIGITS}|{_WORD})",
    re.I,
)
_TOP_IN_WORDS = lazily(
    rf"[ \t]?\([ \t]?(?:out\s)of\s(?:an?\s|the\s)?({_DIGITS}|{_WORD})"
    rf"|[ \t]{{1,2}}{_UNIT}?+[ "
    rf"\t]?(?:on|in)\s(?:an?|the|this|your|our)\s(?:scale\s(?:of|from)\s(?:(?:{_DIGITS}|{_WORD})\s?(?:-|–|—|"
    rf"~|to)\s?)?({_DIGITS}|{_WORD})"
    rf"|(?:{_DIGITS}\s?(?:-|–|—|~|to)\s?)?({_DIGITS}|{_WORD})(?:[-\s]points?)?\s(?:likert\s)?scale)",
    re.I,
)
_FULL_MARKS_AFTER = lazily(
    rf"\s{{0,2}}{_UNIT}?+\s{{0,2}}[(,，"
    rf"]?\s{{0,2}}(?:{chinese.FULL_MARKS}|{korean.FULL_MARKS})(?:为|是|:)?\s{{0,2}}({_DIGITS}|{_WORD})"
    rf"|\s{{0,2}}{_UNIT}?+\s{{0,2}}\(\s?({_DIGITS}|{_WORD})\s?(?:{korean.FULL_MARKS_IN_BRACKETS}|"
    rf"{chinese.FULL_MARKS_IN_BRACKETS})",
    re.I,
)
_TOP_FIRST = lazily(
    rf"({_DIGITS}|{_WORD})\s?(?:{korean.TOP_FIRST}|{chinese.TOP_FIRST})"
    rf"(?:\s?(?:에서|중))?[:\s]{{0,3}}(?:{chinese.GIVES})?(?={_DIGITS}|{_WORD})"
    rf"|(?:{chinese.FULL_MARKS})(?:为|是)?\s?({_DIGITS}|{_WORD})\s?分?[,，、。"
    rf":\s]{{0,3}}(?:得分?|给出?|评分?)?(?:为|是|:)?\s?(?={_DIGITS}|{_WORD})",
    re.I,
)
_EQUATION = lazily(
    # A single fraction is none: "4/5 = 80%" gives the four.
    rf"(?!{_DIGITS}\s?/\s?{_DIGITS}\s?=){_DIGITS}\s?{_UNIT}?+"
    r"(?:\s?\)?\s?(?:[-+−–×*÷/]|x\b|[ ](?=[ "
    rf"]?[0-9])|plus\b|minus\b|times\b)\s?\(?{_DIGITS}\s?{_UNIT}?+){{1,12}}+"
    rf"\s?\)?\s?(?:=|{english.MAKES}|{korean.MAKES}|{chinese.MAKES})\s?(?=[0-9])"
)
_UNFINISHED_SUM = lazily(
    rf"\s?{_UNIT}?+,?\s?(?:\+\s?[0-9]|(?:plus|minus)\s(?:[0-9]|{_WORD})"
    rf"|[-−–]\s?{_DIGITS}\s?{_UNIT})"
    rf"|[ \t]?{_UNIT}?+,?[ \t]?[-−–][ \t]?{_DIGITS}(?:[ \t]?(?=\(|for\b)|[ \t]*+(?:\n|\Z))",
    re.I,
)
_SCALE_NAME = lazily(rf"\s?(?:{chinese.SCALE_NAME}|{korean.SCALE_NAME}|{english.SCALE_NAME})")
_BOUND_AFTER = lazily(rf"\s?{_UNIT}?+\s?(?:{english.BOUND}|{korean.BOUND}|{chinese.BOUND})")
_RANGE_AFTER = lazily(
    rf"[ \t]{{0,2}}{_UNIT}?+[ "
    rf"\t]{{0,2}}(?:[-–—~−～]|{english.RANGE}|{european.RANGE}|{chinese.RANGE}|"
    rf"{korean.RANGE})\s{{0,2}}({_DIGITS}|{_WORD})",
    re.I,
)
_RANGE_BEFORE = lazily(
    rf"(?:between|from)\s{{1,2}}(?:{_DIGITS}\sand\s)?$|{_DIGITS}\s?{_UNIT}?+\s?(?:to|or|{european.RANGE}|{chinese.RANGE}|"
    rf"{korean.RANGE_ENDS})\s?$",
    re.I,
)


class Number(NamedTuple):
    """A number in a text. `start` and `end` hold the value alone, `until` all that belongs to it."""

    value: float
    start: int
    end: int
    until: int
    top: float | None = None
    """the most there was to have, where the text says so: the 5 of "4/5" """
    unit: bool = False
    """whether a unit of scores follows: points, stars, 점, 分"""
    in_words: bool = False


def number_at(text: str, at: int) -> Number | None:
    """The number that begins at `at`, in digits or in words; none where another thing begins there."""
    equation = _EQUATION.match(text, at)
    if equation:
        return _digits_at(text, equation.end())
    top: float | None = None
    first = _TOP_FIRST.match(text, at)
    if first:
        top = _value(first[1] or first[2])
        at = first.end()
    sign = 1.0
    if text.startswith(("-", "−", "+"), at):
        sign = 1.0 if text[at] == "+" else -1.0
        at += 1
    number = (
        _digits_at(text, at)
        or _word_at(text, at)
        or _stars_at(text, at)
        or _fraction_at(text, at)
        or _european_words_at(text, at)
    )
    if number is None:
        return None
    if sign < 0:
        number = number._replace(value=-number.value, start=at - 1)
    return number if top is None else number._replace(top=top)


def numbers_between(text: str, start: int = 0, end: int | None = None) -> Iterator[Number]:
    """All numbers in digits between two places, in order; each in the sense of its surroundings."""
    until = start
    for at, _ in digits(text, start, len(text) if end is None else end):
        number = free_number_at(text, at) if at >= until else None
        if number is not None:
            yield number
            until = number.until


def digits(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where runs of digits stand, with the signs that join them, regardless of what they mean."""
    return (blob.span() for blob in _BLOB.finditer(text, start, end))


def free_number_at(text: str, at: int) -> Number | None:
    """The number whose digits begin at `at`; none where what comes before makes them part of something
    else."""
    return number_at(text, at) if _stands_free(text, at) else None


def _stands_free(text: str, at: int) -> bool:
    """Whether what comes before lets a number begin here: "GPT-4", "$4" and "3 to 4" have none."""
    if at == 0:
        return True
    before = text[at - 1]
    if before in "_.,$€£¥₩#^\\/&@" or (before.isalpha() and before < "\u2e80"):
        return before == "." and text[max(0, at - 3) : at] == "..."
    if text.endswith(("out of ", "out of the ", "out of a "), max(0, at - 11), at):
        return False
    if before in "-−" or text.endswith(("满分", "满分为", "满分是", "滿分"), max(0, at - 4), at):
        return False
    if before in "–—~" and at > 1 and text[at - 2].isalnum():
        return False
    return not _RANGE_BEFORE.search(text, max(0, at - 20), at)


def _digits_at(text: str, at: int) -> Number | None:
    blob = _BLOB.match(text, at)
    if blob is None:
        return None
    shape = _PLAIN.fullmatch(blob[0])
    comma = _decimal_comma(text, at) if shape is None else None
    if comma is not None:
        top = _value(comma[3]) if comma.lastindex == 3 else None
        number = Number(float(f"{comma[1]}.{comma[2]}"), at, comma.end(2), comma.end(), top)
        return _with_tail(text, number)
    if shape is None:
        if not _THOUSANDS.fullmatch(blob[0]):
            return None
        return Number(_value(blob[0].replace(",", "")), at, blob.end(), blob.end())
    end = at + shape.end(1)
    value = _value(shape[1])
    if shape[2] is not None:
        number = Number(value, at, end, blob.end(), _value(shape[2]))
    else:
        number = Number(value, at, end, blob.end())
    return _with_tail(text, number)


def _decimal_comma(text: str, at: int) -> re.Match[str] | None:
    """The number with a decimal comma that begins at a place, where it can be no list of two numbers."""
    if european.DECIMAL_BEHIND_LABEL.search(text, max(0, at - 32), at):
        return european.PLAIN_DECIMAL.match(text, at) or european.DECIMAL.match(text, at)
    return european.DECIMAL.match(text, at)


def _word_at(text: str, at: int) -> Number | None:
    decimal = chinese.DECIMAL.match(text, at)
    if decimal:
        value = _WORDS[decimal[1]] + _WORDS[decimal[2]] / 10
        return _with_unit(text, Number(value, at, decimal.end(), decimal.end(), in_words=True))
    word = _WORD_AT.match(text, at)
    if word is None:
        return None
    number = Number(_WORDS[word[0].lower()], at, word.end(), word.end(), in_words=True)
    # 一些, 이것, 十二: a character of a longer word or of a longer number is not the number.
    after = text[word.end() : word.end() + 1]
    if not word[0].isascii() and after.isalpha() and not _UNIT_AFTER.match(text, word.end()):
        return None
    return _with_tail(text, number)


def _fraction_at(text: str, at: int) -> Number | None:
    """A decimal without its zero: ".7"."""
    digits = _POINT_FIRST.match(text, at) if text.startswith(".", at) else None
    if digits is None:
        return None
    return _with_tail(text, Number(float(digits[0]), at, digits.end(), digits.end()))


def _european_words_at(text: str, at: int) -> Number | None:
    """A score in words with the most there was: "vier von fünf"."""
    if not text[at : at + 1].isalpha():
        return None
    words = european.OUT_OF_IN_WORDS.match(text, at)
    if words is None:
        return None
    value, top = european.WORDS[words[1]], european.WORDS[words[2]]
    return _with_unit(text, Number(value, at, words.end(1), words.end(), top, in_words=True))


def _stars_at(text: str, at: int) -> Number | None:
    """As many as there are full stars; empty ones beside them say how many there could have been."""
    stars = _STARS.match(text, at)
    if stars is None:
        return None
    full = sum(char in "★⭐🌟" for char in stars[1])
    empty = sum(char == "☆" for char in stars[2])
    return Number(
        float(full), at, stars.end(), stars.end(), float(full + empty) if empty else None, unit=True
    )


def _with_tail(text: str, number: Number) -> Number | None:
    """The number with what follows it: a unit, the most there was, a half; none where it was no number."""
    end = number.until
    if end == len(text):
        return number
    following = text[end : end + 1]
    if _NOT_A_NUMBER_AFTER.match(text, end) and not (following.isalpha() and _TIGHT_UNIT.match(text, end)):
        return None
    if following == "." and text[end + 1 : end + 2].isdigit():
        return None
    half = _HALF.match(text, end)
    if half:
        number = number._replace(value=number.value + 0.5, end=half.end(), until=half.end())
        end = half.end()
    percent = _PERCENT.match(text, end)
    if percent:
        return number._replace(top=100.0, until=percent.end())
    if number.top is not None:
        return _with_unit(text, number)
    top = _TOP_AFTER.match(text, end) or _FULL_MARKS_AFTER.match(text, end) or _TOP_IN_WORDS.match(text, end)
    if top:
        return number._replace(top=_value(top[top.lastindex or 1]), until=top.end(), unit=True)
    if _BOUND_AFTER.match(text, end):
        return None
    if _UNFINISHED_SUM.match(text, end) or _SCALE_NAME.match(text, end):
        return None
    upper = _RANGE_AFTER.match(text, end)
    if upper and (_value(upper[1]) >= number.value or upper[0].strip()[0].isalpha()):
        return None
    return _with_unit(text, number)


def _with_unit(text: str, number: Number) -> Number:
    unit = _UNIT_AFTER.match(text, number.until)
    if not unit:
        return number
    number = number._replace(until=unit.end(), unit=True)
    half = _HALF.match(text, number.until)
    return number._replace(value=number.value + 0.5, until=half.end()) if half else number


def _value(written: str) -> float:
    """The value of digits or of a word; a number too long to be meant is infinite, so on no scale."""
    if written[0].isdigit() and written[0].isascii():
        return float(written) if len(written) <= 24 else float("inf")
    return _WORDS[written.lower()]

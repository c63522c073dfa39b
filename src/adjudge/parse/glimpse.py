"""What a reply shows of an answer although it is not in the requested format.

A follow-up question must not override it: a judge that writes "I would give it 5" and then answers "1" has
contradicted itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import structs

from ..lazy_patterns import lazily
from ..records import Judgment, Order, Protocol, Scale
from .free.said_scores import is_count
from .judgment import parse
from .numbers import chinese, english, korean
from .numbers.number import Number, number_at
from .text.characters import folded, narrow, without_emphasis
from .text.own_voice import set_aside

_MARKED = ("tag", "marker", "label", "first_line")

_SHORT, _TERSE = 300, 60
"""Characters of a reply in which a grade anywhere, or any number that counts nothing, is its answer."""

_NUMERAL = lazily(
    r"(?<![a-z0-9_.,])(?<![^0-9]-)(?<!\A-)[0-9]{1,3}(?:\.[0-9]{1,2})?(?![a-z0-9_]|[.,][0-9])"
    # "This one" is a pronoun.
    rf"|\b(?:{'|'.join(name for name in english.NAMES if name != 'one')}|(?<=\ba\s)one)\b"
    rf"|{chinese.WORD}(?=分)|{korean.WORD}(?=\s?점)"
)
_OUT_OF = lazily(r"\s?(?:/|out\sof|von|sur|de|su|из|van|na|dari|em|sobre)\s?([0-9]{1,3})(?![\w.][0-9]|[0-9])")
_UNIT = lazily(r"\s?(?:分(?=$|[\s。,.!;)])|점(?=$|[\s,.!)]|입니다|을|를|이다)|点(?=$|[\s。、,.!)]|です))")
_END_OF_SENTENCE = lazily(r"(?<=[.!?。！？])\s*(?=\S)|\n")


class ShownValue(NamedTuple):
    """A value that a reply shows, and how far from it an answer may lie."""

    value: float
    within: float = 0.0
    """more than 0 for a grade on another scale, "8/10", which only tells about which level is meant"""

    def admits(self, answer: float) -> bool:
        return abs(answer - self.value) <= self.within


def shown_values(protocol: Protocol, text: str, *, is_conflicting: bool) -> frozenset[ShownValue]:
    """The values of the scale that a reply shows as its grade although none was read surely.

    These are grades such as "4 of 5" or "8/10" in a short reply or in the last sentence, a number of a reply
    that says hardly more ("a solid four"), or any number where its answers conflict. A count ("4 of my
    friends") is no grade. None where there are several criteria.
    """
    scales = [scale for scale in protocol.criteria.values() if scale is not None]
    if len(scales) != 1 or protocol.task != "score" or scales[0].low is None or scales[0].high is None:
        return frozenset()
    said = folded(without_emphasis(set_aside(narrow(text), fenced=False, quoted=False))).strip()
    is_whole = is_conflicting or (len(said) <= _TERSE and "\ufffd" not in said)
    part = said if is_whole or len(said) <= _SHORT else _END_OF_SENTENCE.split(said)[-1]
    values = (
        _grade(part, number, scales[0], is_whole=is_whole)
        for number in _numbers(part)
        if is_conflicting or not is_count(part, number)
    )
    return frozenset(value for value in values if value is not None)


def _numbers(text: str) -> Iterator[Number]:
    """Every number of a text in digits or words; of a range, both ends."""
    for place in _NUMERAL.finditer(text):
        number = number_at(text, place.start())
        out_of = _OUT_OF.match(text, place.end())
        if number is None:
            value = english.WORDS.get(place[0])
            value = float(place[0]) if value is None and place[0][0].isdigit() else value
            number = Number(value, *place.span(), len(text)) if value is not None else None
        if number is not None:
            yield number._replace(top=float(out_of[1]), until=out_of.end()) if out_of else number


def _grade(text: str, number: Number, scale: Scale, *, is_whole: bool) -> ShownValue | None:
    assert scale.low is not None
    assert scale.high is not None
    value, top = number.value, number.top
    if top is not None and top != scale.high:
        is_grade = 0 <= value <= top and scale.low >= 0
        return (
            ShownValue(value / top * scale.high, scale.step or (scale.high - scale.low) / 4)
            if is_grade
            else None
        )
    if not scale.low <= value <= scale.high:
        return None
    is_grade = is_whole or top is not None or _UNIT.match(text, number.end) is not None
    return ShownValue(value) if is_grade else None


def glimpsed(protocol: Protocol, text: str, order: Order = "ab") -> Judgment | None:
    """The reply read in any format, however unsure that is; none where the protocol asks for JSON."""
    if protocol.answer.reader not in _MARKED:
        return None
    return parse(
        structs.replace(protocol, answer=structs.replace(protocol.answer, reader="free")), text, order=order
    )

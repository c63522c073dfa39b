"""What a reply shows of an answer although it is not in the requested format.

A follow-up question must not override it: a judge that writes "I would give it 5" and then answers "1" has
contradicted itself.
"""

from __future__ import annotations

import re

from msgspec import structs

from ..records import Judgment, Order, Protocol
from .judgment import parse

_MARKED = ("tag", "marker", "label", "first_line")


_SHORT, _TERSE = 300, 60
"""Characters of a reply in which a grade anywhere, or a clause that is its value, is taken for its answer."""


_NUMBER = re.compile(r"(?<![A-Za-z0-9_.,-])\d{1,3}(?:\.\d{1,2})?(?![A-Za-z0-9_%]|[.,]\d)")


_GRADE = re.compile(
    r"(?<![A-Za-z0-9_.,-])(?P<value>\d{1,3}(?:\.\d{1,2})?)\s?"
    r"(?:(?:/|out of|von|sur|de|su|из|van|na|dari|em|sobre)\s?(?P<best>\d{1,3})(?![\w.]\d|\d)"
    r"|分(?=$|[\s。，,.!！;；)）])|점(?=$|[\s,.!)]|입니다|을|를|이다)|点(?=$|[\s。、,.!)]|です))"
)


_VALUE = r"\d{1,3}(?:\.\d{1,2})?"
_POINTS = r"(?:points?|Punkte?n?|puntos?|pontos?|punti|балл\w{0,2}|점|分|点)"
_VALUE_CLAUSE = re.compile(
    rf"\s*(?:[^\W\d_]+(?:['’]|\s+)){{0,5}}(?:[^\W\d_]+)?(?P<value>{_VALUE})"
    rf"(?:\s*(?:[-–—~～/]|[^\W\d_]+(?:\s+[^\W\d_]+)?)\s*(?P<other>{_VALUE}))?"
    rf"\s*(?:{_POINTS}(?:\s+[^\W\d_]+)?)?\s*",
    re.IGNORECASE,
)
"""A clause that ends with its value: "about 4", "between 4 and 5", "I would give it 4 points"."""


_END_OF_CLAUSE = re.compile(r"[.!?](?=\s|$)|[,;:](?=\s)|[。！？，；：\n()（）]")


_END_OF_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*(?=\S)|\n")


def shown_values(protocol: Protocol, text: str, *, is_conflicting: bool) -> frozenset[float]:
    """The values of the scale that a reply shows as its grade although none was read surely.

    These are grades such as "4 of 5" in a short reply or in the last sentence, a clause that says hardly more
    than its value, or any number where its answers conflict. A count ("4 of my friends") is no grade.
    None where there are several criteria.
    """
    scales = [scale for scale in protocol.criteria.values() if scale is not None]
    if len(scales) != 1 or protocol.task != "score" or scales[0].low is None or scales[0].high is None:
        return frozenset()
    low, high = scales[0].low, scales[0].high
    stripped = text.strip()
    numbers: list[float] = []
    if is_conflicting:
        numbers = [float(match[0]) for match in _NUMBER.finditer(stripped)]
    elif len(stripped) <= _TERSE:
        numbers = _values_of_clauses(stripped)
    if values := frozenset(number for number in numbers if low <= number <= high):
        return values
    part = stripped if len(stripped) <= _SHORT else _END_OF_SENTENCE.split(stripped)[-1]
    grades = [
        float(match["value"])
        for match in _GRADE.finditer(part)
        if match["best"] is None or float(match["best"]) == high
    ]
    return frozenset(grade for grade in grades if low <= grade <= high)


def _values_of_clauses(text: str) -> list[float]:
    clauses = [_VALUE_CLAUSE.fullmatch(clause) for clause in _END_OF_CLAUSE.split(text)]
    return [
        float(clause[name]) for clause in clauses if clause for name in ("value", "other") if clause[name]
    ]


def glimpsed(protocol: Protocol, text: str, order: Order = "ab") -> Judgment | None:
    """The reply read in any format, however unsure that is; none where the protocol asks for JSON."""
    if protocol.answer.reader not in _MARKED:
        return None
    return parse(
        structs.replace(protocol, answer=structs.replace(protocol.answer, reader="free")), text, order=order
    )

"""Calls that a rule answers in place of a judge: a number, an
option or a short answer that equals the reference, or cannot.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

from ..records import Item, Protocol
from ..render import written_answer

_LONGEST_RULED = 200


_NUMBER = re.compile(
    r"(?P<currency>[$€£¥]?)\s?(?P<sign>[-−+]?)(?P<digits>\d{1,3}(?:,\d{3})+|\d{1,15})(?P<decimals>\.\d{1,"
    r"12})?\s?(?P<unit>%|[^\W\d_]{0,12}²?³?)"
)


_OPTIONS = (frozenset({"yes", "no"}), frozenset({"true", "false"}), frozenset("abcdefghij"))


_APPROXIMATE = re.compile(
    r"about|approx|estimat|roughly|nearest|around|circa|round|at least|at most|~|≈", re.I
)


_ABOUT_CASE = re.compile(r"capital|upper|lower|case", re.I)


_EDGES = " \t\r\n.!\"'`*“”‘’()"


def answer_by_rule(protocol: Protocol, item: Item) -> str | None:
    """The reply that a rule gives in place of a judge, in
    the protocol's format; none where it is not certain.
    """
    if protocol.rule is None:
        return None
    fields = {
        name: item.fields[field]
        for name in ("task", "response", "reference")
        if (field := protocol.field_for(name, item.fields)) is not None
    }
    response, reference = fields.get("response"), fields.get("reference")
    if not isinstance(response, str) or reference is None or not 0 < len(response.strip()) <= _LONGEST_RULED:
        return None
    task = fields.get("task", "")
    references = [reference] if isinstance(reference, str) else list(reference)
    if not isinstance(task, str) or not all(isinstance(entry, str) for entry in references):
        return None
    verdicts = [_is_equal(response, str(entry), task) for entry in references]
    if True in verdicts:
        return _ruled(protocol, "The response is the reference answer.", is_right=True)
    if verdicts and None not in verdicts:
        return _ruled(protocol, "The response is not the reference answer.", is_right=False)
    return None


def _ruled(protocol: Protocol, reason: str, *, is_right: bool) -> str:
    ((_, scale),) = protocol.criteria.items()
    assert scale is not None
    assert scale.ends is not None
    worst, best = scale.ends
    return f"{reason}\n{written_answer(protocol.answer, scale.names[best if is_right else worst])}"


def _is_equal(response: str, reference: str, task: str) -> bool | None:
    """Whether a response is the reference; none where only a judge can say."""
    given, right = (
        " ".join(unicodedata.normalize("NFKC", text).strip(_EDGES).split()) for text in (response, reference)
    )
    if not given or not right:
        return None
    if given == right:
        return True
    if given.casefold() == right.casefold():
        return None if _ABOUT_CASE.search(task) else True
    for options in _OPTIONS:
        if {given.casefold(), right.casefold()} <= options:
            return False
    ours, theirs = _NUMBER.fullmatch(given), _NUMBER.fullmatch(right)
    return _is_same_number(ours, theirs, task) if ours is not None and theirs is not None else None


def _is_same_number(ours: re.Match[str], theirs: re.Match[str], task: str) -> bool | None:
    """Two numbers as written: the same, surely another, or none
    where rounding, units or the notation leave it open.
    """
    if (ours["currency"], ours["unit"].casefold()) != (theirs["currency"], theirs["unit"].casefold()):
        return None
    values = [Decimal(_digits(match)) for match in (ours, theirs)]
    if values[0] == values[1]:
        return True
    has_odd_form = any(
        (match["digits"].startswith("0") and len(match["digits"]) > 1)  # a code, not a quantity
        or (
            len(match["decimals"] or "") == 4 and len(match["digits"]) <= 3
        )  # 1.500 may be one thousand five hundred
        for match in (ours, theirs)
    )
    if has_odd_form or _APPROXIMATE.search(task):
        return None
    places = min(len((match["decimals"] or ".")[1:]) for match in (ours, theirs))
    # One may be the other, rounded or cut off.
    return (
        None
        if abs(values[0] - values[1]) <= Decimal(1).scaleb(-places) and _differ_in_length(ours, theirs)
        else False
    )


def _digits(match: re.Match[str]) -> str:
    sign = "-" if match["sign"] in ("-", "−") else ""
    return f"{sign}{match['digits'].replace(',', '')}{match['decimals'] or ''}"


def _differ_in_length(ours: re.Match[str], theirs: re.Match[str]) -> bool:
    return len(ours["decimals"] or "") != len(theirs["decimals"] or "")

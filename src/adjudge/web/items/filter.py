"""The filter of the items table: read from an address, as a choice of rows, and in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct, structs
from starlette.datastructures import QueryParams

from ...results.columns import Columns, Mask
from ...words import status_text

GAPS = {"samples": "samples_gap", "judges": "judges_gap", "orders": "orders_gap", "people": "label_gap"}
"""Kinds of disagreement, and their columns."""


_LONGEST_QUERY = 200


SORTS = {
    "item": "item",
    "system": "system",
    "criterion": "criterion",
    "status": "status",
    "score": "value",
    "people": "label_gap",
    "samples": "samples_gap",
    "judges": "judges_gap",
    "orders": "orders_gap",
}


EQUAL = ("criterion", "protocol", "model", "choice", "how")


_TEXTS = ("system", "other", "winner", "status", "flag", "tag", "people")


COLUMNS_SHOWN = {
    "system": "System",
    "criterion": "Criterion",
    "protocol": "Protocol",
    "model": "Judge",
    "score": "Score",
    "people": "People",
    "samples": "Samples",
    "judges": "Judges",
    "orders": "Orders",
    "status": "Status",
    "explanation": "Explanation",
}
"""The columns of the table that can be hidden."""


_ROUNDING = 1e-9
"""A number in an address has 15 digits; the mean of three has more."""


class Filter(Struct, frozen=True):
    """Which rows to show, and in which order."""

    q: str = ""
    system: str = ""
    status: str = ""
    """a status, or `failed` for all but ok"""
    criterion: str = ""
    protocol: str = ""
    model: str = ""
    choice: str = ""
    flag: str = ""
    tag: str = ""
    people: str = ""
    """people's choice"""
    other: str = ""
    """of a pair: the other system"""
    winner: str = ""
    """of a pair: the system that won, or `tie`"""
    how: str = ""
    """how a score was read"""
    low: float | None = None
    high: float | None = None
    people_low: float | None = None
    people_high: float | None = None
    apart: str = ""
    """a kind of disagreement, of `GAPS`"""
    least: float | None = None
    """its smallest size; above 0 where this is none"""
    sort: str = ""
    page: int = 1
    col: tuple[str, ...] = ()
    """the columns to show; the usual ones where there are none"""

    def query(self, run: str, **changes: Any) -> str:
        """The query string of the same filter with some changes."""
        values = structs.asdict(structs.replace(self, **changes))
        kept = {
            name: f"{value:.15g}" if isinstance(value, float) else value
            for name, value in values.items()
            if value not in ("", None, ()) and (name, value) != ("page", 1)
        }
        return urlencode({"run": run, **kept}, doseq=True)

    @property
    def is_narrowed(self) -> bool:
        return structs.replace(self, sort="", page=1, col=()) != Filter()

    @property
    def is_by_disagreement(self) -> bool:
        """Whether these are the largest disagreements of a kind."""
        return bool(self.apart) and self.sort == f"-{self.apart}"


def read_filter(query: QueryParams) -> Filter:
    """The filter in a query string, which anybody may have written: what makes no sense is ignored."""
    texts = {name: query.get(name, "")[:1000] for name in (*_TEXTS, *EQUAL)}
    sort = query.get("sort", "")
    apart = query.get("apart", "")
    return Filter(
        q=query.get("q", "").replace("\0", "").strip()[:_LONGEST_QUERY],
        low=_number(query.get("low", "")),
        high=_number(query.get("high", "")),
        people_low=_number(query.get("people_low", "")),
        people_high=_number(query.get("people_high", "")),
        apart=apart if apart in GAPS else "",
        least=_number(query.get("least", "")) if apart in GAPS else None,
        sort=sort if sort.removeprefix("-") in SORTS else "",
        page=max(1, min(10_000_000, int(_number(query.get("page", "")) or 1))),
        col=tuple(name for name in COLUMNS_SHOWN if name in query.getlist("col")),
        **texts,
    )


def rows_of(columns: Columns, tags: Mapping[int, Sequence[str]], wanted: Filter) -> Mask:
    """The rows of a filter, apart from the text to search."""
    masks = [columns.equals(name, value) for name in EQUAL if (value := getattr(wanted, name))]
    if wanted.system:
        names = ("system", "system_a", "system_b")
        masks.append(_any(columns.equals(name, wanted.system) for name in names))
    if wanted.other:
        masks.append(_any(columns.equals(name, wanted.other) for name in ("system_a", "system_b")))
    if wanted.winner == "tie":
        masks.append(columns.equals("choice", "tie"))
    elif wanted.winner:
        sides = (("a", "system_a"), ("b", "system_b"))
        masks.append(
            _any(columns.equals("choice", side) & columns.equals(name, wanted.winner) for side, name in sides)
        )
    if wanted.status == "failed":
        masks.append(~columns.equals("status", "ok"))
    elif wanted.status:
        masks.append(columns.equals("status", wanted.status))
    if wanted.flag:
        masks.append(columns.with_flag(wanted.flag))
    if wanted.tag:
        masks.append(columns.of_items(seq for seq, some in tags.items() if wanted.tag in some))
    if wanted.people:
        masks.append(columns.equals("label_name", wanted.people))
    for column, low, high in (
        ("value", wanted.low, wanted.high),
        ("label", wanted.people_low, wanted.people_high),
    ):
        if low is not None or high is not None:
            masks.append(
                columns.within(
                    column,
                    None if low is None else low - _ROUNDING,
                    None if high is None else high + _ROUNDING,
                )
            )
    if wanted.apart:
        gap = GAPS[wanted.apart]
        masks.append(columns.above(gap, 0.0) if wanted.least is None else columns.within(gap, wanted.least))
    return reduce(and_, masks) if masks else columns.all_rows()


def _any(masks: Iterable[Mask]) -> Mask:
    return reduce(or_, masks)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def hits_in(text: str, searched: str) -> bool:
    """Whether a text contains what is searched for, in any case."""
    return searched.lower() in text.lower()


_SAID = {
    "q": "contains “{}”",
    "system": "system {}",
    "other": "against {}",
    "winner": "winner {}",
    "how": "read by rule {}",
    "status": "status {}",
    "criterion": "criterion {}",
    "protocol": "protocol {}",
    "model": "judge {}",
    "choice": "choice {}",
    "flag": "flag {}",
    "tag": "tag {}",
    "people": "people chose {}",
    "low": "score at least {}",
    "high": "score at most {}",
    "people_low": "people at least {}",
    "people_high": "people at most {}",
    "least": "difference at least {}",
}


_SAID_APART = {
    "people": "judge and people differ",
    "samples": "samples differ",
    "judges": "judges differ",
    "orders": "the two orders differ",
}


def condition_words() -> str:
    """The words of all conditions, for the script of a static copy."""
    apart = {f"apart={kind}": words for kind, words in _SAID_APART.items()}
    return msgspec.json.encode({**_SAID, **apart}).decode()


def conditions_in_words(wanted: Filter, run: str) -> list[tuple[str, str]]:
    """Each condition of a filter in words, with the address without it."""
    said = []
    for name, value in structs.asdict(wanted).items():
        if value in ("", None) or name in ("sort", "page", "col"):
            continue
        shown = f"{value:.4g}" if isinstance(value, float) else status_text(str(value))
        words = _SAID_APART[value] if name == "apart" else _SAID[name].format(shown)
        empty = Filter.__struct_defaults__[Filter.__struct_fields__.index(name)]
        said.append((words, f"/items?{wanted.query(run, **{name: empty, 'page': 1})}"))
    return said

"""The filter of the items table: read from an address, as an SQL condition, and in words."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct, structs
from starlette.datastructures import QueryParams

from ...words import status_text
from .index import GAPS

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


class Where(Struct, frozen=True):
    """An SQL condition with its parameters."""

    sql: str
    parameters: tuple[Any, ...]
    is_narrow: bool = False
    """whether it matches few rows, which an index finds"""
    is_frequent: bool = False
    """whether rows are scanned one by one, because many may match"""


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


def where(wanted: Filter) -> Where:
    """The condition of a filter, apart from the text to search.

    Values are parameters and columns come from the tables above, so that no part of a query becomes SQL.
    """
    parts: list[tuple[str, tuple[Any, ...]]] = []
    if wanted.system:
        parts.append(("(system = ? OR system_a = ? OR system_b = ?)", (wanted.system,) * 3))
    if wanted.other:
        parts.append(("(system_a = ? OR system_b = ?)", (wanted.other,) * 2))
    if wanted.winner == "tie":
        parts.append(("choice = 'tie'", ()))
    elif wanted.winner:
        won = "(choice = 'a' AND system_a = ? OR choice = 'b' AND system_b = ?)"
        parts.append((won, (wanted.winner,) * 2))
    if wanted.status == "failed":
        parts.append(("status <> 'ok'", ()))
    elif wanted.status:
        parts.append(("status = ?", (wanted.status,)))
    parts += [(f"{name} = ?", (value,)) for name in EQUAL if (value := getattr(wanted, name))]
    if wanted.flag:
        parts.append(("instr(flags, ?)", (f" {wanted.flag} ",)))
    if wanted.tag:
        parts.append(("seq IN (SELECT seq FROM tags WHERE tag = ?)", (wanted.tag,)))
    if wanted.low is not None:
        parts.append(("value >= ?", (wanted.low - _ROUNDING,)))
    if wanted.high is not None:
        parts.append(("value <= ?", (wanted.high + _ROUNDING,)))
    if wanted.people:
        parts.append(("label = ?", (wanted.people,)))
    # Choices are texts, and in SQLite every text is above every number.
    if wanted.people_low is not None:
        parts.append(("label >= ? AND typeof(label) <> 'text'", (wanted.people_low - _ROUNDING,)))
    if wanted.people_high is not None:
        parts.append(("label <= ?", (wanted.people_high + _ROUNDING,)))
    if wanted.apart:
        column = GAPS[wanted.apart]
        parts.append((f"{column} > 0", ()) if wanted.least is None else (f"{column} >= ?", (wanted.least,)))
    sql = " AND ".join(part for part, _ in parts) or "1"
    return Where(sql, tuple(value for _, values in parts for value in values))


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

"""What a page of the items table was asked for, and the SQL that answers it.

A filter is read from a query that anybody may have written: what has no meaning is left out,
every value is a parameter of the statement, and columns are chosen from the tables below, never
named by the query.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct, structs

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
GAPS = {"samples": "samples_gap", "judges": "judges_gap", "orders": "orders_gap", "people": "label_gap"}
_EQUAL = ("criterion", "protocol", "model", "choice")


class Filter(Struct, frozen=True):
    """Which rows are wanted, and in which order."""

    q: str = ""
    system: str = ""
    status: str = ""
    """a status, or `failed` for all but ok"""
    criterion: str = ""
    protocol: str = ""
    model: str = ""
    choice: str = ""
    flag: str = ""
    low: float | None = None
    high: float | None = None
    apart: str = ""
    """which disagreement: between samples, judges or orders, or with people"""
    least: float | None = None
    """how large it is at least; above 0 where this is not given"""
    sort: str = ""
    page: int = 1

    def query(self, run: str, **changes: Any) -> str:
        """The address of a page for the same rows, but for the changes."""
        told = structs.asdict(structs.replace(self, **changes))
        kept = {
            name: f"{value:g}" if isinstance(value, float) else value
            for name, value in told.items()
            if value not in ("", None) and (name, value) != ("page", 1)
        }
        return urlencode({"run": run, **kept})

    @property
    def is_narrowed(self) -> bool:
        return structs.replace(self, sort="", page=1) != Filter()


class Where(Struct, frozen=True):
    """A condition with its parameters."""

    sql: str
    given: tuple[Any, ...]
    is_narrow: bool = False
    """whether few rows can meet it, and an index finds those"""
    is_frequent: bool = False
    """whether rows are looked at one by one, because many of them may meet it"""


def read_filter(query: Mapping[str, str]) -> Filter:
    """The filter in a query; what cannot be understood is as if it were not there."""
    texts = {name: query.get(name, "")[:1000] for name in ("system", "status", "flag", *_EQUAL)}
    sort = query.get("sort", "")
    apart = query.get("apart", "")
    return Filter(
        q=query.get("q", "").replace("\0", "").strip()[:_LONGEST_QUERY],
        low=_number(query.get("low", "")),
        high=_number(query.get("high", "")),
        apart=apart if apart in GAPS else "",
        least=_number(query.get("least", "")) if apart in GAPS else None,
        sort=sort if sort.removeprefix("-") in SORTS else "",
        page=max(1, min(10_000_000, int(_number(query.get("page", "")) or 1))),
        **texts,
    )


def where(wanted: Filter) -> Where:
    """The condition of a filter, but for the text that is searched."""
    parts: list[tuple[str, tuple[Any, ...]]] = []
    if wanted.system:
        parts.append(("(system = ? OR system_a = ? OR system_b = ?)", (wanted.system,) * 3))
    if wanted.status == "failed":
        parts.append(("status <> 'ok'", ()))
    elif wanted.status:
        parts.append(("status = ?", (wanted.status,)))
    parts += [(f"{name} = ?", (value,)) for name in _EQUAL if (value := getattr(wanted, name))]
    if wanted.flag:
        parts.append(("instr(flags, ?)", (f" {wanted.flag} ",)))
    if wanted.low is not None:
        parts.append(("value >= ?", (wanted.low,)))
    if wanted.high is not None:
        parts.append(("value <= ?", (wanted.high,)))
    if wanted.apart:
        column = GAPS[wanted.apart]
        parts.append((f"{column} > 0", ()) if wanted.least is None else (f"{column} >= ?", (wanted.least,)))
    sql = " AND ".join(part for part, _ in parts) or "1"
    return Where(sql, tuple(value for _, given in parts for value in given))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None

"""What a page of the items table was asked for, and the SQL that answers it.

A filter is read from a query that anybody may have written: what has no meaning is left out,
every value is a parameter of the statement, and columns are chosen from the tables below, never
named by the query.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct, structs

from .index import COLUMNS

ROWS_ON_A_PAGE = 50
_LONGEST_QUERY = 200
_SHORTEST_INDEXED = 3
"""The index of words holds pieces of three characters; a shorter text is looked for in all texts."""

_LAST = "9e999"
_SORTS = {
    "": "id",
    "item": "item COLLATE NOCASE",
    "system": "system COLLATE NOCASE",
    "criterion": "criterion COLLATE NOCASE",
    "status": "status",
    "score": "value",
    "people": "label_gap",
    "samples": "samples_gap",
    "judges": "judges_gap",
    "orders": "orders_gap",
}
_NUMBERS = ("score", "people", "samples", "judges", "orders")
_GAPS = {"samples": "samples_gap", "judges": "judges_gap", "orders": "orders_gap", "people": "label_gap"}
# The choice of a pair belongs to both of its systems, and to no third one.
_SYSTEMS = {
    "system": "subject IS NOT NULL OR system_b IS NULL",
    "system_a": "subject IS NULL AND system_a IS NOT NULL",
    "system_b": "subject IS NULL AND system_b IS NOT NULL",
}
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


def read_filter(query: Mapping[str, str]) -> Filter:
    """The filter in a query; what cannot be understood is as if it were not there."""
    texts = {name: query.get(name, "")[:1000] for name in ("system", "status", "flag", *_EQUAL)}
    sort = query.get("sort", "")
    apart = query.get("apart", "")
    return Filter(
        q=query.get("q", "").replace("\0", "").strip()[:_LONGEST_QUERY],
        low=_number(query.get("low", "")),
        high=_number(query.get("high", "")),
        apart=apart if apart in _GAPS else "",
        least=_number(query.get("least", "")) if apart in _GAPS else None,
        sort=sort if sort.removeprefix("-") in _SORTS and sort != "-" else "",
        page=max(1, min(10_000_000, int(_number(query.get("page", "")) or 1))),
        **texts,
    )


def where(wanted: Filter, *, is_searchable: bool) -> Where:
    """The condition of a filter."""
    parts: list[tuple[str, tuple[Any, ...]]] = []
    if wanted.q:
        parts.append(_holds(wanted.q, is_searchable))
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
        column = _GAPS[wanted.apart]
        parts.append((f"{column} > 0", ()) if wanted.least is None else (f"{column} >= ?", (wanted.least,)))
    sql = " AND ".join(part for part, _ in parts) or "1"
    return Where(sql, tuple(value for _, given in parts for value in given))


def page_of(connection: sqlite3.Connection, wanted: Filter, rule: Where) -> list[dict[str, Any]]:
    """One page of rows."""
    key, direction = _order(wanted)
    found = connection.execute(
        f"SELECT {COLUMNS} FROM rows WHERE {rule.sql} ORDER BY {key} {direction}, id LIMIT ? OFFSET ?",
        (*rule.given, ROWS_ON_A_PAGE, (wanted.page - 1) * ROWS_ON_A_PAGE),
    )
    return [_named(row) for row in found]


def count(connection: sqlite3.Connection, rule: Where) -> int:
    """How many rows there are on all pages."""
    found: int = connection.execute(f"SELECT count(*) FROM rows WHERE {rule.sql}", rule.given).fetchone()[0]
    return found


def neighbours(
    connection: sqlite3.Connection, wanted: Filter, rule: Where, row: int
) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """The rows (id, seq) of the items before and after a row in the order of the table; none at its ends."""
    key, direction = _order(wanted)
    here = connection.execute(f"SELECT {key}, seq FROM rows WHERE id = ?", (row,)).fetchone()
    if here is None:
        return None, None
    value, seq = here
    found = []
    for is_after in (False, True):
        forward = is_after == (direction == "ASC")
        less, order = (">", "ASC") if forward else ("<", "DESC")
        # Within equal keys the order is always by id, whichever way the keys run.
        own, own_order = (">", "ASC") if is_after else ("<", "DESC")
        found.append(
            connection.execute(
                f"SELECT id, seq FROM rows WHERE {rule.sql} AND seq <> ? AND ({key} {less} ? OR ({key} = ? AND id {own} ?))"
                f" ORDER BY {key} {order}, id {own_order} LIMIT 1",
                (*rule.given, seq, value, value, row),
            ).fetchone()
        )
    return found[0], found[1]


def facets(connection: sqlite3.Connection) -> dict[str, Any]:
    """What can be chosen for a filter, with the number of rows of each; `n_apart`: rows with each disagreement."""
    found: dict[str, Any] = {
        name: connection.execute(
            f"SELECT {name}, count(*) FROM rows WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 200"
        ).fetchall()
        for name in ("status", "criterion", "protocol", "model", "choice")
    }
    systems: dict[str, int] = {}
    for column, rule in _SYSTEMS.items():
        for name, n in connection.execute(f"SELECT {column}, count(*) FROM rows WHERE {rule} GROUP BY 1"):
            systems[name] = systems.get(name, 0) + n
    found["system"] = sorted(systems.items())[:500]
    flags: dict[str, int] = {}
    for text, n in connection.execute("SELECT flags, count(*) FROM rows WHERE flags <> '' GROUP BY 1"):
        for flag in text.split():
            flags[flag] = flags.get(flag, 0) + n
    found["flag"] = sorted(flags.items())
    counts = connection.execute(f"SELECT {', '.join(f'count({column})' for column in _GAPS.values())} FROM rows")
    found["n_apart"] = dict(zip(_GAPS, counts.fetchone(), strict=True))
    return found


def _order(wanted: Filter) -> tuple[str, str]:
    """An expression that is never null, and its direction. What has no number comes last either way."""
    name = wanted.sort.removeprefix("-")
    is_down = wanted.sort.startswith("-")
    column = _SORTS[name]
    if name in _NUMBERS:
        column = f"ifnull({column}, {'-' if is_down else ''}{_LAST})"
    return column, "DESC" if is_down else "ASC"


def _holds(text: str, is_searchable: bool) -> tuple[str, tuple[Any, ...]]:
    if is_searchable and len(text) >= _SHORTEST_INDEXED:
        quoted = text.replace('"', '""')
        return "seq IN (SELECT rowid FROM words WHERE words MATCH ?)", (f'"{quoted}"',)
    pattern = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return "seq IN (SELECT seq FROM texts WHERE text LIKE ? ESCAPE '\\')", (f"%{pattern}%",)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _named(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(COLUMNS.split(", "), row, strict=True))

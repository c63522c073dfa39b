"""The viewer's matrix of a run: inputs in rows, systems or judges in columns, and the item of a cell beside it.

Everything is read from the copy that `items_index` keeps. A cell is the mean of its results; it is coloured by score or by
the distance from people.
"""

from __future__ import annotations

import sqlite3
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ..store import RunRow
from ..words import number, status_text
from .items_table import (
    FIRST_COPY_SECONDS,
    Filter,
    ItemPage,
    ItemsPage,
    Listing,
    Where,
    query_number,
    read_filter,
)
from .run_pages import run_named, tabs
from .section_view import shade
from .server import Context
from .templating import judge_name

ROWS_ON_A_PAGE = 40
MOST_COLUMNS = 40
_CHOICES = {"a": 1.0, "tie": 0.5, "b": 0.0}


class Question(Struct, frozen=True):
    """What was judged in a matrix: the scores, or the choices, on one criterion of one protocol."""

    protocol: str
    criterion: str
    is_choice: bool

    @property
    def key(self) -> str:
        return f"{int(self.is_choice)} {self.protocol} {self.criterion}"

    @property
    def rule(self) -> Where:
        side = "subject IS NULL AND system_b IS NOT NULL"
        kind = side if self.is_choice else f"NOT ({side})"
        return Where(f"protocol = ? AND criterion = ? AND {kind}", (self.protocol, self.criterion))


class MatrixCell(Struct, frozen=True):
    """One cell: its text, people's answer, its colour, and the item behind it."""

    text: str = ""
    people: str = ""
    css: str = ""
    url: str = ""
    title: str = ""
    is_open: bool = False


class MatrixRow(Struct, frozen=True):
    """One input, or one item where the columns are judges."""

    name: str
    cells: tuple[MatrixCell, ...]


class Shown(Struct, frozen=True):
    """How a matrix is shown."""

    of: str = ""
    by: str = ""
    """`systems` or `judges`"""
    colour: str = ""
    """`score` or `people`"""
    sort: str = ""
    """`apart`: the largest disagreement first; else in the order of the items"""
    page: int = 1
    open: int | None = None

    def query(self, run: str, q: str, **changes: Any) -> str:
        values = structs.asdict(structs.replace(self, **changes))
        kept = {
            name: value
            for name, value in values.items()
            if value not in ("", None) and (name, value) != ("page", 1)
        }
        return urlencode({"run": run, **({"q": q} if q else {}), **kept})


class MatrixPage:
    """The endpoint of the matrix."""

    def __init__(self, context: Context, items: ItemsPage, item: ItemPage) -> None:
        self._context = context
        self._items = items
        self._item = item

    def page(self, request: Request) -> Response:
        with self._context.reading() as store:
            run = run_named(store, request)
            wanted = Filter(q=read_filter(request.query_params).q)
            shown = _read(request)
            values = self._values(run, wanted, shown)
            if shown.open is not None:
                values["pane"] = self._item.values(store, run, shown.open, Filter(), None)
        if request.query_params.get("part") == "pane":
            return HTMLResponse(self._context.fragment(request, "view/matrix_pane.html", **values))
        if "part" in request.query_params:
            return HTMLResponse(self._context.fragment(request, "view/matrix_rows.html", **values))
        crumbs = [(self._context.store_path.name, "/"), (run.name, values["tabs"][0][1]), ("Matrix", None)]
        return self._context.page(request, "view/matrix.html", crumbs=crumbs, **values)

    def _values(self, run: RunRow, wanted: Filter, shown: Shown) -> dict[str, Any]:
        listing = self._items.listing(run, FIRST_COPY_SECONDS)
        with listing.matching(wanted) as (connection, rule):
            questions = _questions(listing, connection)
            question = next(
                (one for one in questions if one.key == shown.of), questions[0] if questions else None
            )
            matrix: dict[str, Any] = {
                "rows": [],
                "columns": [],
                "total": 0,
                "hidden": 0,
                "is_labelled": False,
            }
            if question is not None:
                shown = _settled(listing, connection, question, shown)
                matrix = _Matrix(
                    listing, connection, _joined(question.rule, rule), question, shown, run.name, wanted.q
                ).made()
        total, first = matrix["total"], (shown.page - 1) * ROWS_ON_A_PAGE + 1
        last = first + len(matrix["rows"]) - 1
        return {
            **matrix,
            "run": run.name,
            "line": {"run": run.name},
            "shown": shown,
            "question": question,
            "questions": questions,
            "q": wanted.q,
            "first": first,
            "last": last,
            "back": f"/matrix?{shown.query(run.name, wanted.q, page=shown.page - 1)}"
            if shown.page > 1
            else None,
            "next": f"/matrix?{shown.query(run.name, wanted.q, page=shown.page + 1)}"
            if last < total
            else None,
            "progress": listing.index.progress,
            "pane": None,
            "tabs": tabs(run.name),
            "tab": "Matrix",
        }


def _read(request: Request) -> Shown:
    """What an address asks for; what makes no sense is ignored."""
    query = request.query_params
    return Shown(
        of=query.get("of", "")[:1000],
        by=query["by"] if query.get("by") in ("systems", "judges") else "",
        colour=query["colour"] if query.get("colour") in ("score", "people") else "",
        sort="apart" if query.get("sort") == "apart" else "",
        page=max(1, min(10_000_000, query_number(query.get("page")) or 1)),
        open=query_number(query.get("open")),
    )


def _settled(listing: Listing, connection: sqlite3.Connection, question: Question, shown: Shown) -> Shown:
    """The same with defaults that fit the run: judges where there are several of them and one system."""
    rule = question.rule
    ((n_systems, n_judges, n_labels),) = listing.remembered(
        connection,
        f"SELECT count(DISTINCT system), count(DISTINCT model), count(label) FROM rows WHERE {rule.sql}",
        rule.parameters,
    )
    by = shown.by or ("judges" if n_judges > 1 and (question.is_choice or n_systems < 2) else "systems")
    return structs.replace(shown, by=by, colour=shown.colour or ("people" if n_labels else "score"))


def _questions(listing: Listing, connection: sqlite3.Connection) -> list[Question]:
    found = listing.remembered(
        connection,
        "SELECT protocol, criterion, subject IS NULL AND system_b IS NOT NULL, min(id) FROM rows GROUP BY 1, 2, 3 ORDER BY 3 DESC, 4",
    )
    return [Question(protocol, criterion, bool(is_choice)) for protocol, criterion, is_choice, _ in found]


def _joined(left: Where, right: Where) -> Where:
    return Where(f"{left.sql} AND {right.sql}", (*left.parameters, *right.parameters))


class _Matrix:
    """One page of a matrix, from the copy."""

    def __init__(
        self,
        listing: Listing,
        connection: sqlite3.Connection,
        rule: Where,
        question: Question,
        shown: Shown,
        run: str,
        q: str,
    ) -> None:
        self._listing = listing
        self._connection = connection
        self._rule = rule
        self._question = question
        self._shown = shown
        self._run = run
        self._q = q
        is_by_judge = shown.by == "judges"
        self._row = "item" if is_by_judge else "input"
        # The same two systems share a column, whichever of them is a.
        pair = "min(system_a, system_b) || ' – ' || max(system_a, system_b)"
        self._column = "model" if is_by_judge else pair if question.is_choice else "system"

    def made(self) -> dict[str, Any]:
        columns = [
            name
            for (name,) in self._remembered(f"SELECT DISTINCT {self._column} FROM rows WHERE RULE ORDER BY 1")
        ]
        ((total, n_labels, low, high, widest),) = self._remembered(
            f"SELECT count(DISTINCT {self._row}), count(label), min(value), max(value), max(label_gap) FROM rows WHERE RULE"
        )
        kept = columns[:MOST_COLUMNS]
        self._ends = (low or 0.0, high or 0.0, widest or 0.0)
        rows = self._rows(kept, bool(n_labels))
        is_by_judge = self._shown.by == "judges"
        return {
            "columns": [judge_name(name) if is_by_judge else name for name in kept],
            "hidden": len(columns) - len(kept),
            "rows": rows,
            "total": total,
            "is_labelled": bool(n_labels),
        }

    def _remembered(self, sql: str) -> list[Any]:
        return self._listing.remembered(
            self._connection, sql.replace("RULE", self._rule.sql), self._rule.parameters
        )

    def _select(self, sql: str, *more: Any) -> list[Any]:
        return self._connection.execute(
            sql.replace("RULE", self._rule.sql), (*self._rule.parameters, *more)
        ).fetchall()

    def _rows(self, columns: list[str], is_labelled: bool) -> list[MatrixRow]:
        apart = "max(label_gap)" if is_labelled else "max(value) - min(value)"
        order = f"{apart} DESC, min(seq)" if self._shown.sort == "apart" else "min(seq)"
        offset = (self._shown.page - 1) * ROWS_ON_A_PAGE
        keys = [
            key
            for (key,) in self._remembered(
                f"SELECT {self._row} FROM rows WHERE RULE GROUP BY 1 ORDER BY {order}"
            )[offset : offset + ROWS_ON_A_PAGE]
        ]
        marks = ",".join("?" * len(keys))
        found = self._select(
            f"SELECT {self._row}, {self._column}, seq, value, choice, label, label_gap, status, system_a, system_b, item "
            f"FROM rows WHERE RULE AND {self._row} IN ({marks}) ORDER BY id",
            *keys,
        )
        by_place: dict[tuple[str, str], list[Any]] = {}
        for key, column, *rest in found:
            by_place.setdefault((key, column), []).append(rest)
        return [
            MatrixRow(key, tuple(self._cell(by_place.get((key, column), [])) for column in columns))
            for key in keys
        ]

    def _cell(self, results: list[Any]) -> MatrixCell:
        if not results:
            return MatrixCell()
        seq, _, choice, label, _, status, system_a, system_b, item = results[0]
        values = [one[1] for one in results if one[1] is not None]
        labels = [one[3] for one in results if isinstance(one[3], float | int)]
        gaps = [one[4] for one in results if one[4] is not None]
        sides = {"a": system_a, "b": system_b, "tie": "tie"}
        mean = sum(values) / len(values) if values else None
        text = (
            sides[choice] if choice is not None else number(mean) if mean is not None else status_text(status)
        )
        people = ""
        if isinstance(label, str):
            people = sides.get(label, label)
        elif labels:
            people = number(sum(labels) / len(labels))
        return MatrixCell(
            text,
            people,
            self._css(mean, choice, gaps),
            f"/matrix?{self._shown.query(self._run, self._q, open=seq)}#pane",
            f"{item}: {text}" + (f", people {people}" if people else ""),
            self._shown.open == seq,
        )

    def _css(self, mean: float | None, choice: str | None, gaps: list[float]) -> str:
        low, high, widest = self._ends
        if mean is None and choice is None:
            return "failed"
        if self._shown.colour == "people":
            if not gaps:
                return ""
            gap = max(gaps) / widest if widest else 0.0
            return shade(0.75 if not gap else 0.5 - gap / 2)
        if choice is not None:
            return shade(_CHOICES[choice])
        return shade((mean - low) / (high - low)) if mean is not None and high > low else ""

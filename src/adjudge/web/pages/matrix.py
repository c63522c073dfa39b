"""The viewer's matrix of a run: inputs in rows, systems or judges in columns, and the item of a cell beside
it.

Everything is read from the copy that `items.index` keeps. A cell is the mean of its results, or the choice of
most; it is coloured by score, or by a disagreement: with people, between judges, orders or samples.
"""

from __future__ import annotations

import csv
import io
import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ...data.formulas import guarded
from ...store import RunRow, Store
from ...store.browsing import items_between
from ...words import number, status_text
from ..context import Context
from ..items.filter import Filter, Where, hits_in, read_filter
from ..items.index import GAPS, field_text
from ..items.listing import FIRST_COPY_SECONDS, Listing
from ..page_addresses import query_number, run_named, tabs
from ..parts.marks import snippet
from ..parts.names import judge_name
from ..parts.table import shade
from .item import ItemPage
from .items import ItemsPage

ROWS_ON_A_PAGE = 40
_ROWS_AT_ONCE = 400
MOST_COLUMNS = 40
MOST_NAMED = 400
"""Columns that can be chosen by name."""
COLOURS = {
    "score": "score",
    "people": "distance from people",
    "judges": "difference between judges",
    "orders": "difference between orders",
    "samples": "difference between samples",
}
_MEANINGS = {
    "people": "blue where judge and people agree, orange the farther they are apart",
    "judges": "blue where the judges agree, orange the farther they are apart",
    "orders": "blue where both orders agree, orange where they differ",
    "samples": "blue where all samples agree, orange the more they differ",
}


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
    seq: int = 0
    value: float | str | None = None
    """as it is exported: the mean, or the winner; none where it failed"""
    label: float | str | None = None


class MatrixRow(Struct, frozen=True):
    """One input, or one item where the columns are judges."""

    name: str
    cells: tuple[MatrixCell, ...]
    snippet: str = ""
    """where a text was found that is not in the name"""


class Shown(Struct, frozen=True):
    """How a matrix is shown."""

    of: str = ""
    by: str = ""
    """`systems` or `judges`"""
    colour: str = ""
    """of `COLOURS`"""
    sort: str = ""
    """`apart`: the largest disagreement first; else in the order of the items"""
    page: int = 1
    open: int | None = None
    col: tuple[str, ...] = ()
    """the columns to show; the first ones where there are none"""

    def query(self, run: str, q: str, **changes: Any) -> str:
        values = structs.asdict(structs.replace(self, **changes))
        kept = {
            name: value
            for name, value in values.items()
            if value not in ("", None, ()) and (name, value) != ("page", 1)
        }
        return urlencode({"run": run, **({"q": q} if q else {}), **kept}, doseq=True)


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
            values = self._values(store, run, wanted, shown)
            if shown.open is not None:
                values["pane"] = self._item.values(store, run, shown.open, Filter(), None)
        if request.query_params.get("part") == "pane":
            return HTMLResponse(self._context.fragment(request, "view/matrix_pane.html", **values))
        if "part" in request.query_params:
            return HTMLResponse(self._context.fragment(request, "view/matrix_rows.html", **values))
        crumbs = [(self._context.store_path.name, "/"), (run.name, values["tabs"][0][1]), ("Matrix", None)]
        return self._context.page(request, "view/matrix.html", crumbs=crumbs, **values)

    def export(self, request: Request) -> Response:
        """All rows of the matrix with the columns shown, as CSV or JSON lines."""
        with self._context.reading() as store:
            run = run_named(store, request)
        wanted, shown = Filter(q=read_filter(request.query_params).q), _read(request)
        listing = self._items.listing(run, FIRST_COPY_SECONDS)
        with listing.matching(wanted) as (connection, rule):
            matrix = _matrix_of(listing, connection, rule, shown, run.name, wanted.q)
            columns, rows = matrix.whole() if matrix is not None else ([], iter(()))
            is_csv = request.query_params.get("format") != "jsonl"
            data = "".join(_as_csv(columns, rows)) if is_csv else b"".join(_as_json_lines(columns, rows))
        name = "matrix.csv" if is_csv else "matrix.jsonl"
        return Response(
            data,
            media_type="text/csv; charset=utf-8" if is_csv else "application/x-ndjson",
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )

    def _values(self, store: Store, run: RunRow, wanted: Filter, shown: Shown) -> dict[str, Any]:
        listing = self._items.listing(run, FIRST_COPY_SECONDS)
        with listing.matching(wanted) as (connection, rule):
            questions = _questions(listing, connection)
            built = _matrix_of(listing, connection, rule, shown, run.name, wanted.q)
            matrix = built.made() if built is not None else _EMPTY
        shown = built.shown if built is not None else shown
        if wanted.q:
            matrix["rows"] = [_with_snippet(store, run, row, wanted.q) for row in matrix["rows"]]
        total, first = matrix["total"], (shown.page - 1) * ROWS_ON_A_PAGE + 1
        last = first + len(matrix["rows"]) - 1
        n_apart = listing.choices()["n_apart"]

        def url(**changes: Any) -> str:
            return f"/matrix?{shown.query(run.name, wanted.q, **changes)}"

        return {
            **matrix,
            "run": run.name,
            "line": {"run": run.name},
            "shown": shown,
            "question": built.question if built is not None else None,
            "questions": questions,
            "q": wanted.q,
            "without_q": f"/matrix?{shown.query(run.name, '', page=1)}",
            "first": first,
            "last": last,
            "back": url(page=shown.page - 1) if shown.page > 1 else None,
            "next": url(page=shown.page + 1) if last < total else None,
            "all_columns": url(col=(), page=1),
            "colours": [(name, words) for name, words in COLOURS.items() if name == "score" or n_apart[name]],
            "meaning": _MEANINGS.get(shown.colour, ""),
            "export": f"/matrix/export?{shown.query(run.name, wanted.q, page=1, open=None)}",
            "progress": listing.index.progress,
            "pane": None,
            "tabs": tabs(run.name),
            "tab": "Matrix",
        }


_EMPTY: dict[str, Any] = {
    "rows": [],
    "columns": [],
    "choosable": [],
    "total": 0,
    "hidden": 0,
    "is_labelled": False,
}


def _matrix_of(
    listing: Listing, connection: sqlite3.Connection, rule: Where, shown: Shown, run: str, q: str
) -> _Matrix | None:
    """The matrix that an address asks for; none where nothing is judged yet."""
    questions = _questions(listing, connection)
    question = next((one for one in questions if one.key == shown.of), questions[0] if questions else None)
    if question is None:
        return None
    shown = _settled(listing, connection, question, shown)
    return _Matrix(listing, connection, _joined(question.rule, rule), question, shown, run, q)


def _with_snippet(store: Store, run: RunRow, row: MatrixRow, searched: str) -> MatrixRow:
    """A row with the place where a text was found, unless it is in the name."""
    if hits_in(row.name, searched):
        return row
    for seq in dict.fromkeys(cell.seq for cell in row.cells if cell.url):
        item = items_between(store, run, seq, seq).get(seq)
        for value in item.fields.values() if item is not None else ():
            if found := snippet(field_text(value), searched, 12, 24):
                return structs.replace(row, snippet=found)
    return row


def _as_csv(columns: list[str], rows: Iterator[MatrixRow]) -> Iterator[str]:
    """A row for each input: its name, and for each column the score and what people said."""
    line = io.StringIO()
    writer = csv.writer(line)
    writer.writerow(["input", *(guarded(text) for name in columns for text in (name, f"{name} (people)"))])
    for row in rows:
        values = [value for cell in row.cells for value in (cell.value, cell.label)]
        cells = [guarded(value) if isinstance(value, str) else value for value in (row.name, *values)]
        writer.writerow(cells)
        yield line.getvalue()
        line.seek(0)
        line.truncate()
    yield line.getvalue()


def _as_json_lines(columns: list[str], rows: Iterator[MatrixRow]) -> Iterator[bytes]:
    for row in rows:
        cells = {
            name: {"value": cell.value, "people": cell.label}
            for name, cell in zip(columns, row.cells, strict=True)
            if cell.url
        }
        yield msgspec.json.encode({"input": row.name, "columns": cells}) + b"\n"


def _read(request: Request) -> Shown:
    """What an address asks for; what makes no sense is ignored."""
    query = request.query_params
    return Shown(
        of=query.get("of", "")[:1000],
        by=query["by"] if query.get("by") in ("systems", "judges") else "",
        colour=query["colour"] if query.get("colour") in COLOURS else "",
        sort="apart" if query.get("sort") == "apart" else "",
        page=max(1, min(10_000_000, query_number(query.get("page")) or 1)),
        open=query_number(query.get("open")),
        col=tuple(dict.fromkeys(name[:1000] for name in query.getlist("col")[:MOST_NAMED])),
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
        "SELECT protocol, criterion, subject IS NULL AND system_b IS NOT NULL, min(id) FROM rows "
        "GROUP BY 1, 2, 3 ORDER BY 3 DESC, 4",
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
        self.question = question
        self.shown = shown
        self._run = run
        self._q = q
        is_by_judge = shown.by == "judges"
        self._row = "item" if is_by_judge else "input"
        # The same two systems share a column, whichever of them is a.
        pair = "min(system_a, system_b) || ' – ' || max(system_a, system_b)"
        self._column = "model" if is_by_judge else pair if question.is_choice else "system"
        self._gap = GAPS.get(shown.colour, "label_gap")

    def made(self) -> dict[str, Any]:
        """What a page shows."""
        columns, shown = self._columns()
        offset = (self.shown.page - 1) * ROWS_ON_A_PAGE
        rows = self._rows(shown, self._keys()[offset : offset + ROWS_ON_A_PAGE])
        is_by_judge = self.shown.by == "judges"
        return {
            "columns": [judge_name(name) if is_by_judge else name for name in shown],
            "choosable": [
                (name, judge_name(name) if is_by_judge else name, name in shown)
                for name in columns[:MOST_NAMED]
            ],
            "hidden": len(columns) - len(shown),
            "rows": rows,
            "total": len(self._keys()),
            "is_labelled": self._is_labelled,
        }

    def whole(self) -> tuple[list[str], Iterator[MatrixRow]]:
        """The columns, and all rows."""
        _, shown = self._columns()
        keys = self._keys()
        starts = range(0, len(keys), _ROWS_AT_ONCE)
        return shown, (
            row for start in starts for row in self._rows(shown, keys[start : start + _ROWS_AT_ONCE])
        )

    def _columns(self) -> tuple[list[str], list[str]]:
        """All columns, and those that are shown."""
        found = self._remembered(f"SELECT DISTINCT {self._column} FROM rows WHERE RULE ORDER BY 1")
        columns = [name for (name,) in found]
        ((n_labels, low, high, widest),) = self._remembered(
            f"SELECT count(label), min(value), max(value), max({self._gap}) FROM rows WHERE RULE"
        )
        self._ends = (low or 0.0, high or 0.0, widest or 0.0)
        self._is_labelled = bool(n_labels)
        chosen = [name for name in columns if name in self.shown.col]
        return columns, (chosen or columns)[:MOST_COLUMNS]

    def _keys(self) -> list[str]:
        """The names of all rows in their order."""
        apart = "max(value) - min(value)"
        if self.shown.colour in GAPS or self._is_labelled:
            apart = f"max({self._gap})"
        order = f"{apart} DESC, min(seq)" if self.shown.sort == "apart" else "min(seq)"
        return [
            key
            for (key,) in self._remembered(
                f"SELECT {self._row} FROM rows WHERE RULE GROUP BY 1 ORDER BY {order}"
            )
        ]

    def _remembered(self, sql: str) -> list[Any]:
        return self._listing.remembered(
            self._connection, sql.replace("RULE", self._rule.sql), self._rule.parameters
        )

    def _select(self, sql: str, *more: Any) -> list[Any]:
        return self._connection.execute(
            sql.replace("RULE", self._rule.sql), (*self._rule.parameters, *more)
        ).fetchall()

    def _rows(self, columns: list[str], keys: list[str]) -> list[MatrixRow]:
        marks = ",".join("?" * len(keys))
        found = self._select(
            f"SELECT {self._row}, {self._column}, seq, value, choice, label, {self._gap}, status, "
            f"system_a, system_b, item FROM rows WHERE RULE AND {self._row} IN ({marks}) ORDER BY id",
            *keys,
        )
        by_place: dict[tuple[str, str], list[_Answer]] = {}
        for key, column, *rest in found:
            by_place.setdefault((key, column), []).append(_Answer(*rest))
        return [
            MatrixRow(key, tuple(self._cell(by_place.get((key, column), [])) for column in columns))
            for key in keys
        ]

    def _cell(self, answers: list[_Answer]) -> MatrixCell:
        if not answers:
            return MatrixCell()
        first = answers[0]
        values = [one.value for one in answers if one.value is not None]
        winners = Counter(one.name_of(one.choice) for one in answers if one.choice is not None)
        labels = [one.label for one in answers if isinstance(one.label, float | int)]
        named = [one.name_of(one.label) for one in answers if isinstance(one.label, str)]
        value: float | str | None = sum(values) / len(values) if values else None
        if winners:
            value = _most(winners)
        label: float | str | None = sum(labels) / len(labels) if labels else None
        label = named[0] if named else label
        text = status_text(first.status) if value is None else _text(value)
        people = "" if label is None else _text(label)
        return MatrixCell(
            text,
            people,
            self._css(value, first, [one.gap for one in answers if one.gap is not None]),
            f"/matrix?{self.shown.query(self._run, self._q, open=first.seq)}#pane",
            f"{first.item}: {text}" + (f", people {people}" if people else ""),
            self.shown.open == first.seq,
            first.seq,
            value,
            label,
        )

    def _css(self, value: float | str | None, first: _Answer, gaps: list[float]) -> str:
        low, high, widest = self._ends
        if value is None:
            return "failed"
        if self.shown.colour in GAPS:
            if not gaps:
                return ""
            gap = max(gaps) / widest if widest else 0.0
            return shade(0.75 if not gap else 0.5 - gap / 2)
        if isinstance(value, str):
            # Blue where the first system of the column won, in whichever order the item has the two.
            pair = sorted((first.system_a or "", first.system_b or ""))
            return shade(1.0 if value == pair[0] else 0.0 if value == pair[1] else 0.5)
        return shade((value - low) / (high - low)) if high > low else ""


class _Answer(NamedTuple):
    """One result of a cell."""

    seq: int
    value: float | None
    choice: str | None
    label: float | str | None
    gap: float | None
    status: str
    system_a: str | None
    system_b: str | None
    item: str

    def name_of(self, choice: str | float | None) -> str:
        """The system that a choice names."""
        return {"a": self.system_a or "a", "b": self.system_b or "b"}.get(str(choice), str(choice))


def _most(winners: Counter[str]) -> str:
    """The choice of most judges or items; a tie where two are chosen equally often."""
    (name, n), *others = winners.most_common()
    return "tie" if others and others[0][1] == n else name


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else number(value)

"""The viewer's matrix of a run: inputs in rows, systems or judges in columns, and the item of a cell beside
it.

A cell is the mean of its results, or the choice of
most; it is coloured by score, or by a disagreement: with people, between judges, orders or samples.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ...data.formulas import guarded
from ...records import Protocol
from ...results.columns import Columns, Mask
from ...results.manifest import protocols_of
from ...store import RunRow, Store
from ...store.browsing import items_between
from ...words import number, score_text, share, status_text
from ..context import Context
from ..items.field_text import searched_text
from ..items.filter import GAPS, Filter, hits_in, read_filter
from ..items.listing import FIRST_READ_SECONDS
from ..page_addresses import query_number, run_named, tabs
from ..parts.marks import snippet
from ..parts.names import judge_name
from ..parts.table import shade
from .item import ItemPage
from .items import ItemsPage

ROWS_ON_A_PAGE = 40
_ROWS_AT_ONCE = 400
MOST_COLUMNS = 40
_DIGITS = re.compile(r"(?a:(\d{1,15}))")
MOST_PAIRS = 6
"""Of more pairs of systems, a grid of systems shows who wins."""
MOST_NAMED = 400
"""Columns that can be chosen by name."""
COLOURS = {
    "score": "score",
    "people": "judge − people",
    "judges": "difference between judges",
    "orders": "difference between orders",
    "samples": "difference between samples",
}
_MEANINGS = {
    "people": "blue where the judge is higher than people, violet where people are higher or differ",
    "judges": "blue where the judges agree, violet the farther they are apart",
    "orders": "blue where both orders agree, violet where they differ",
    "samples": "blue where all samples agree, violet the more they differ",
}


class JudgedQuestion(Struct, frozen=True):
    """What was judged in a matrix: the scores, or the choices, on one criterion of one protocol."""

    protocol: str
    criterion: str
    is_choice: bool

    @property
    def key(self) -> str:
        return f"{int(self.is_choice)} {self.protocol} {self.criterion}"

    def rows_in(self, columns: Columns) -> Mask:
        kind = _is_choice(columns) if self.is_choice else ~_is_choice(columns)
        return columns.equals("protocol", self.protocol) & columns.equals("criterion", self.criterion) & kind


def _is_choice(columns: Columns) -> Mask:
    """The choices of pairs."""
    return ~columns.has("subject") & columns.has("system_b")


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


class MatrixView(Struct, frozen=True):
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
    usual: tuple[tuple[str, str], ...] = ()
    """what an address need not name: the first question, and how the run is shown unless something else is
    chosen"""

    def query(self, run: str, q: str, **changes: Any) -> str:
        values = structs.asdict(structs.replace(self, usual=(), **changes))
        unnamed = {("page", 1), *self.usual}
        kept = {
            name: value
            for name, value in values.items()
            if value not in ("", None, ()) and (name, value) not in unnamed
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
        listing = self._items.listing(run, FIRST_READ_SECONDS)
        matrix = _matrix_of(listing.columns, listing.matching(wanted), shown, run.name, wanted.q)
        columns, rows = matrix.whole() if matrix is not None else ([], iter(()))
        is_csv = request.query_params.get("format") != "jsonl"
        data = "".join(_as_csv(columns, rows)) if is_csv else b"".join(_as_json_lines(columns, rows))
        name = "matrix.csv" if is_csv else "matrix.jsonl"
        return Response(
            data,
            media_type="text/csv; charset=utf-8" if is_csv else "application/x-ndjson",
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )

    def _values(self, store: Store, run: RunRow, wanted: Filter, shown: MatrixView) -> dict[str, Any]:
        listing = self._items.listing(run, FIRST_READ_SECONDS)
        questions = _questions(listing.columns)
        built = _matrix_of(listing.columns, listing.matching(wanted), shown, run.name, wanted.q)
        matrix = built.made() if built is not None else _EMPTY
        shown = built.shown if built is not None else shown
        if wanted.q:
            matrix["rows"] = [_with_snippet(store, run, row, wanted.q) for row in matrix["rows"]]
        elif not matrix["is_head_to_head"]:
            protocols = list(protocols_of(store, run).values())
            matrix["rows"] = [_with_first_words(store, run, row, protocols) for row in matrix["rows"]]
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
            "across": _across(listing.columns, shown),
            "meaning": _MEANINGS.get(shown.colour, ""),
            "export": f"/matrix/export?{shown.query(run.name, wanted.q, page=1, open=None)}",
            "progress": listing.progress,
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
    "means": [],
    "is_labelled": False,
    "is_head_to_head": False,
}


def _matrix_of(columns: Columns, rule: Mask, shown: MatrixView, run: str, q: str) -> _Matrix | None:
    """The matrix that an address asks for; none where nothing is judged yet."""
    questions = _questions(columns)
    question = next(
        (question for question in questions if question.key == shown.of), questions[0] if questions else None
    )
    if question is None:
        return None
    of_question = question.rows_in(columns)
    shown = _settled(columns, of_question, question, shown)
    return _Matrix(columns, of_question & rule, question, shown, run, q)


def _with_snippet(store: Store, run: RunRow, row: MatrixRow, searched: str) -> MatrixRow:
    """A row with the place where a text was found, unless it is in the name."""
    if hits_in(row.name, searched):
        return row
    for seq in dict.fromkeys(cell.seq for cell in row.cells if cell.url):
        item = items_between(store, run, seq, seq).get(seq)
        for value in item.fields.values() if item is not None else ():
            if found := snippet(searched_text(value), searched, 12, 24):
                return structs.replace(row, snippet=found)
    return row


_FIRST_WORDS = 48


def _with_first_words(store: Store, run: RunRow, row: MatrixRow, protocols: Sequence[Protocol]) -> MatrixRow:
    """A row with the first words of its input: of what the judged text was made from, where there is any."""
    seq = next((cell.seq for cell in row.cells if cell.url), None)
    item = None if seq is None else items_between(store, run, seq, seq).get(seq)
    if item is None:
        return row
    judged = {
        protocol.field_for(name, item.fields) for protocol in protocols for name in protocol.judged_inputs
    }
    sources = [name for name in item.fields if name not in judged] or list(item.fields)
    text = " ".join(searched_text(item.fields[sources[0]])[:200].split()) if sources else ""
    words = text if len(text) <= _FIRST_WORDS else f"{text[: _FIRST_WORDS - 1]}…"
    return structs.replace(row, snippet=words)


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


def _read(request: Request) -> MatrixView:
    """What an address asks for; what makes no sense is ignored."""
    query = request.query_params
    return MatrixView(
        of=query.get("of", "")[:1000],
        by=query["by"] if query.get("by") in ("systems", "judges") else "",
        colour=query["colour"] if query.get("colour") in COLOURS else "",
        sort="apart" if query.get("sort") == "apart" else "",
        page=max(1, min(10_000_000, query_number(query.get("page")) or 1)),
        open=query_number(query.get("open")),
        col=tuple(dict.fromkeys(name[:1000] for name in query.getlist("col")[:MOST_NAMED])),
    )


def _settled(columns: Columns, of_question: Mask, question: JudgedQuestion, shown: MatrixView) -> MatrixView:
    """The same with defaults that fit the run: judges where there are several of them and one system."""
    n_systems, n_judges = (len(columns.names[name].counts(of_question)) for name in ("system", "model"))
    n_labels = int((_is_labelled(columns) & of_question).sum())
    usual = {
        "of": _questions(columns)[0].key,
        "by": "judges" if n_judges > 1 and (question.is_choice or n_systems < 2) else "systems",
        "colour": "people" if n_labels else "score",
    }
    chosen = {name: getattr(shown, name) or value for name, value in usual.items()}
    return structs.replace(shown, **chosen, usual=tuple(usual.items()))


def _across(columns: Columns, shown: MatrixView) -> list[tuple[str, str]]:
    """What the columns may be: a run of one judge would have one column of judges."""
    has_judges = len(columns.names["model"].counts()) > 1 or shown.by == "judges"
    return [(name, name) for name in ("systems", "judges") if has_judges or name == "systems"]


def _is_labelled(columns: Columns) -> Mask:
    return columns.has("label") | columns.has("label_name")


def _questions(columns: Columns) -> list[JudgedQuestion]:
    """What was judged: choices first, otherwise in the order of the results."""
    protocols, criteria = columns.names["protocol"], columns.names["criterion"]
    found: list[tuple[bool, int, JudgedQuestion]] = []
    for is_choice in (True, False):
        rows = columns.selected(_is_choice(columns) if is_choice else ~_is_choice(columns))
        for protocol in columns.groups("protocol", rows).order:
            of_protocol = columns.with_codes("protocol", [protocol], rows)
            for criterion in columns.groups("criterion", of_protocol).order:
                first = int(columns.with_codes("criterion", [criterion], of_protocol)[0])
                question = JudgedQuestion(protocols.names[protocol], criteria.names[criterion], is_choice)
                found.append((not is_choice, first, question))
    return [question for _, _, question in sorted(found, key=lambda one: one[:2])]


class _Matrix:
    """One page of a matrix."""

    def __init__(
        self, columns: Columns, rule: Mask, question: JudgedQuestion, shown: MatrixView, run: str, q: str
    ) -> None:
        self._of = columns
        self._all = columns.selected(rule)
        self.question = question
        self.shown = shown
        self._run = run
        self._q = q
        is_by_judge = shown.by == "judges"
        self._row = "item" if is_by_judge else "input"
        # The same two systems share a column, whichever of them is a.
        self._column = "model" if is_by_judge else "pair" if question.is_choice else "system"
        columns.join("pair", ("system_a", "system_b"))
        self._gap = GAPS.get(shown.colour, "label_gap")
        self._is_labelled = bool(_is_labelled(columns)[self._all].any())

    def made(self) -> dict[str, Any]:
        """What a page shows."""
        columns, shown = self._columns()
        if self.is_head_to_head(columns):
            return self._head_to_head()
        offset = (self.shown.page - 1) * ROWS_ON_A_PAGE
        keys = self._keys()
        rows = self._rows(shown, keys[offset : offset + ROWS_ON_A_PAGE])
        is_by_judge = self.shown.by == "judges"
        return {
            "columns": [judge_name(name) if is_by_judge else name for name in shown],
            "choosable": [
                (name, judge_name(name) if is_by_judge else name, name in shown)
                for name in columns[:MOST_NAMED]
            ],
            "hidden": len(columns) - len(shown),
            "rows": rows,
            "means": [self._mean(name) for name in shown],
            "total": len(keys),
            "is_labelled": self._is_labelled,
            "is_head_to_head": False,
        }

    def is_head_to_head(self, columns: list[str]) -> bool:
        """Whether there are so many pairs of systems that their columns would be sparse."""
        is_by_pair = self._column == "pair"
        return is_by_pair and len(columns) > MOST_PAIRS and not self.shown.col

    def _mean(self, column: str) -> str:
        """The mean of a column over all rows; empty for choices."""
        names = self._of.names[self._column]
        codes, values = names.codes[self._all], self._of.numbers["value"][self._all]
        part = values[codes == names.code(column)]
        part = part[part == part]  # without failures, which are not a number
        return number(float(part.mean())) if len(part) and not self.question.is_choice else ""

    def _head_to_head(self) -> dict[str, Any]:
        """Systems in rows and columns: how often the row wins against the column, with a way to the items."""
        names = self._of.names
        a_codes, b_codes, choices = (
            names[column].codes[self._all].tolist() for column in ("system_a", "system_b", "choice")
        )
        won: defaultdict[tuple[str, str], float] = defaultdict(float)
        met: Counter[tuple[str, str]] = Counter()
        for a_code, b_code, chosen in zip(a_codes, b_codes, choices, strict=True):
            choice = names["choice"].names[chosen] if chosen >= 0 else None
            if choice is None:
                continue
            a, b = names["system_a"].names[a_code] or "", names["system_b"].names[b_code] or ""
            taken = {"a": 1.0, "b": 0.0}.get(choice, 0.5)
            for row, column, part in ((a, b, taken), (b, a, 1 - taken)):
                met[row, column] += 1
                won[row, column] += part
        systems = sorted({name for pair in met for name in pair}, key=natural)
        of_all = {name: sum(won[name, other] for other in systems) for name in systems}
        n_all = {name: sum(met[name, other] for other in systems) for name in systems}
        return {
            "columns": systems,
            "choosable": [],
            "hidden": 0,
            "rows": [
                MatrixRow(
                    name,
                    tuple(self._met(name, other, won[name, other], met[name, other]) for other in systems),
                )
                for name in systems
            ],
            "means": [share(of_all[name] / n_all[name]) for name in systems],
            "total": len(systems),
            "is_labelled": False,
            "is_head_to_head": True,
        }

    def _met(self, row: str, column: str, won: float, n: int) -> MatrixCell:
        if not n:
            return MatrixCell()
        query = {"run": self._run, "system": row, "other": column, "criterion": self.question.criterion}
        text = share(won / n)
        title = f"{row} wins {text} of {n} against {column}"
        return MatrixCell(text, f"n = {n}", shade(max(0.5, won / n)), f"/items?{urlencode(query)}", title)

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
        columns = sorted((name for name, _ in self._of.names[self._column].counts(self._all)), key=natural)
        self._ends = self._of.ends("value", self._all) or (0.0, 0.0)
        self._widest = (self._of.ends(self._gap, self._all) or (0.0, 0.0))[1]
        chosen = [name for name in columns if name in self.shown.col]
        return columns, (chosen or columns)[:MOST_COLUMNS]

    def _keys(self) -> list[int]:
        """The codes of the names of all rows of the matrix in their order."""
        groups = self._of.groups(self._row, self._all)
        if self.shown.sort != "apart":
            return list(groups.order)
        if self.shown.colour in GAPS or self._is_labelled:
            return groups.largest_first(self._of.numbers[self._gap][self._all])
        values = self._of.numbers["value"][self._all]
        return groups.spread_first(values, values)

    def _rows(self, columns: list[str], keys: list[int]) -> list[MatrixRow]:
        by_place: dict[tuple[int, str], list[_Answer]] = {}
        row_names, column_names = self._of.names[self._row], self._of.names[self._column]
        for row in self._of.with_codes(self._row, keys, self._all).tolist():
            place = (int(row_names.codes[row]), column_names[row] or "")
            by_place.setdefault(place, []).append(_answer(self._of, row, self._gap))
        return [
            MatrixRow(
                row_names.names[key],
                tuple(self._cell(by_place.get((key, column), [])) for column in columns),
            )
            for key in keys
        ]

    def _cell(self, answers: list[_Answer]) -> MatrixCell:
        if not answers:
            return MatrixCell()
        first = answers[0]
        values = [answer.value for answer in answers if answer.value is not None]
        winners = Counter(answer.name_of(answer.choice) for answer in answers if answer.choice is not None)
        labels = [answer.label for answer in answers if isinstance(answer.label, float | int)]
        named = [answer.name_of(answer.label) for answer in answers if isinstance(answer.label, str)]
        value: float | str | None = sum(values) / len(values) if values else None
        if winners:
            value = _most(winners)
        label: float | str | None = sum(labels) / len(labels) if labels else None
        label = _most(Counter(named)) if named else label
        text = status_text(first.status) if value is None else _text(value)
        people = "" if label is None else _text(label)
        n = len({answer.seq for answer in answers})
        people = people if n == 1 else ", ".join(filter(None, (people, f"n = {n:,}")))
        return MatrixCell(
            text,
            people,
            self._css(value, label, first, [answer.gap for answer in answers if answer.gap is not None]),
            f"/matrix?{self.shown.query(self._run, self._q, open=first.seq)}#pane",
            f"{first.item}: {text}" + (f", people {people}" if label is not None else ""),
            self.shown.open == first.seq,
            first.seq,
            value,
            label,
        )

    def _signed_css(self, value: float | str, label: float | str | None) -> str:
        """Judge − people: above the middle where the judge is higher; choices that differ are below."""
        if label is None:
            return ""
        if isinstance(value, str) or isinstance(label, str):
            return shade(0.5 if value == label else 0.125)
        return shade(0.5 + (value - label) / self._widest / 2) if self._widest else shade(0.5)

    def _css(
        self, value: float | str | None, label: float | str | None, first: _Answer, gaps: list[float]
    ) -> str:
        low, high = self._ends
        if value is None:
            return "failed"
        if self.shown.colour == "people":
            return self._signed_css(value, label)
        if self.shown.colour in GAPS:
            if not gaps:
                return ""
            gap = max(gaps) / self._widest if self._widest else 0.0
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


def _answer(columns: Columns, row: int, gap: str) -> _Answer:
    def number_in(column: str) -> float | None:
        value = float(columns.numbers[column][row])
        return None if math.isnan(value) else value

    names = columns.names
    return _Answer(
        int(columns.seq[row]),
        number_in("value"),
        names["choice"][row],
        names["label_name"][row] or number_in("label"),
        number_in(gap),
        names["status"][row] or "",
        names["system_a"][row],
        names["system_b"][row],
        names["item"][row] or "",
    )


def natural(name: str) -> list[tuple[int, int, str]]:
    """The key of an order in which M8 stands before M10."""
    return [
        (0, int(part), "") if part.isascii() and part.isdecimal() else (1, 0, part.lower())
        for part in _DIGITS.split(name)
    ]


def _most(winners: Counter[str]) -> str:
    """The choice of most judges or items; a tie where two are chosen equally often."""
    (name, n), *others = winners.most_common()
    return "tie" if others and others[0][1] == n else name


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else score_text(value)

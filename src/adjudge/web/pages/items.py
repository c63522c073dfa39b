"""The viewer's items table: every result of a run, filtered, sorted, searched and exported."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from ...analysis.item_view.calls import off_scale_text
from ...data.formulas import guarded
from ...records import Item, Protocol
from ...results.manifest import protocols_of
from ...store import RunRow, Store
from ...store.browsing import calls_of_item, items_between
from ...untrusted import ACTING
from ...words import status_text
from ..context import Context
from ..items.field_text import searched_text
from ..items.filter import (
    COLUMNS_SHOWN,
    GAPS,
    Filter,
    condition_words,
    conditions_in_words,
    hits_in,
    read_filter,
)
from ..items.listing import FIRST_READ_SECONDS, ROWS_ON_A_PAGE, IndexedRow, ItemsTable
from ..page_addresses import run_named, tabs
from ..parts.item_rows import MOST_CRITERIA, ItemRow, item_rows
from ..parts.marks import snippet

GAP_TITLES = (
    ("people", "Judge − people"),
    ("samples", "Samples"),
    ("judges", "Judges"),
    ("orders", "Orders"),
)


STATUSES = ("ok", "failed", "unparsed", "out_of_range", "conflicting", "refused", "truncated", "no_reply")


class ItemsPage:
    """The endpoints of the table."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def listing(self, run: RunRow, wait_seconds: float = 0.0) -> ItemsTable:
        """The table of a run, brought up to date with the store."""
        table = self._context.tables.of(run)
        with self._context.reading() as store:
            table.follow(store, wait_seconds)
        return ItemsTable(table, self._context.reading)

    def page(self, request: Request) -> Response:
        with self._context.reading() as store:
            run = run_named(store, request)
        if "worst" in request.query_params:
            return RedirectResponse(f"/items?{self._worst(run).query(run.name)}", status_code=303)
        values = self._values(request, run)
        if "part" in request.query_params:
            return HTMLResponse(self._context.fragment(request, "view/items_rows.html", **values))
        crumbs = [(self._context.store_path.name, "/"), (run.name, values["tabs"][0][1]), ("Items", None)]
        return self._context.page(request, "view/items.html", crumbs=crumbs, **values)

    def _worst(self, run: RunRow) -> Filter:
        """The largest disagreements first: with people, else
        between judges, orders or samples; or else the failures.
        """
        n_apart = self.listing(run, FIRST_READ_SECONDS).choices()["n_apart"]
        kind = next((name for name in ("people", "judges", "orders", "samples") if n_apart[name]), "")
        return Filter(apart=kind, sort=f"-{kind}") if kind else Filter(status="failed")

    def export(self, request: Request) -> Response:
        """The rows of a filter as a file, all pages of them: CSV, or JSON lines."""
        with self._context.reading() as store:
            run = run_named(store, request)
        listing, limits = self.listing(run, FIRST_READ_SECONDS), self._context.limits
        rows = (
            listing.all_rows(read_filter(request.query_params))
            if limits is None
            else iter(listing.first_items(limits))
        )
        is_csv = request.query_params.get("format") != "jsonl"
        name = "items.csv" if is_csv else "items.jsonl"
        return Response(
            "".join(_as_csv(rows)) if is_csv else b"".join(_as_json_lines(rows)),
            media_type="text/csv; charset=utf-8" if is_csv else "application/x-ndjson",
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )

    def live(self, request: Request) -> Response:
        """The rows alone, for a page that updates itself."""
        with self._context.reading() as store:
            run = run_named(store, request)
        values = self._values(request, run)
        is_same = request.query_params.get("version") == values["live_version"]
        return JSONResponse(
            {
                "version": values["live_version"],
                "is_live": values["is_live"],
                "html": "" if is_same else self._context.fragment(request, "view/items_rows.html", **values),
            }
        )

    def _values(self, request: Request, run: RunRow) -> dict[str, Any]:
        wanted = read_filter(request.query_params)
        listing = self.listing(run, FIRST_READ_SECONDS)
        limits = self._context.limits
        choices = listing.choices()
        columns = _columns(choices)
        with self._context.reading() as store:
            criteria = _in_order(protocols_of(store, run), choices)
        is_by_item = _is_by_item(wanted, criteria)
        rows: list[Any] = []
        if is_by_item:
            rows, total = self._by_item(run, listing, wanted, criteria)
        else:
            results, total = listing.page(wanted) if limits is None else (listing.first_items(limits), None)
            total = len(results) if limits is not None else total
            with self._context.reading() as store:
                rows = list(with_reasons(store, run, results, wanted.q))
        kinds = _kinds(row for one in rows for row in (one.results if isinstance(one, ItemRow) else (one,)))
        progress = listing.progress
        first = (wanted.page - 1) * ROWS_ON_A_PAGE + 1
        last = first + len(rows) - 1
        has_more = len(rows) == ROWS_ON_A_PAGE if total is None else last < total
        return {
            "run": run.name,
            "line": {"run": run.name},
            "filter": wanted,
            "rows": rows,
            "is_by_item": is_by_item,
            "criteria": criteria,
            "offers": _offers(wanted, run.name, choices),
            "by_criterion": lambda name: _by_criterion(wanted, run.name, name),
            "total": total,
            "first": first,
            "last": last,
            "back": f"/items?{wanted.query(run.name, page=wanted.page - 1)}" if wanted.page > 1 else None,
            "next": f"/items?{wanted.query(run.name, page=wanted.page + 1)}" if has_more else None,
            "query": wanted.query(run.name),
            "sorted_by": lambda name: _sorted_by(wanted, run.name, name),
            "choices": choices,
            "gaps": [gap for gap in GAP_TITLES if choices["n_apart"][gap[0]]],
            "statuses": STATUSES,
            "progress": progress,
            "is_live": run.status == "running" or not progress.is_whole,
            "live_version": f"{progress.version}-{progress.is_whole}-"
            f"{progress.done * 20 // max(1, progress.total)}",
            "tabs": tabs(run.name),
            "tab": "Largest disagreements" if wanted.is_by_disagreement else "Items",
            "columns": columns,
            "has": (wanted.col or _first_columns(columns, choices)).__contains__,
            "said": conditions_in_words(wanted, run.name),
            "export": f"/items/export?{wanted.query(run.name, page=1)}",
            "kinds": json.dumps(kinds),
            "row_facts": lambda results: _row_facts(results, kinds),
            "said_words": condition_words(),
        }

    def _by_item(
        self, run: RunRow, listing: ItemsTable, wanted: Filter, criteria: list[str]
    ) -> tuple[list[ItemRow], int | None]:
        limits, total = self._context.limits, None
        if limits is None:
            found, total = listing.page_of_items(wanted)
            results = [row for _, of_item in found for row in of_item]
            opened = [row for row, _ in found]
        else:
            results = listing.first_items(limits)
            opened = list({row["seq"]: row["id"] for row in reversed(results)}.values())[::-1]
        with self._context.reading() as store:
            items: dict[int, Item] = {}
            for seq in dict.fromkeys(row["seq"] for row in results):
                if seq not in items:  # of a copy all items follow each other
                    items |= items_between(store, run, seq, seq + (0 if limits is None else _ITEMS_AT_ONCE))
            protocols = protocols_of(store, run)
            of_items = group_by_item(with_reasons(store, run, results, ""))
        groups = list(zip(opened, of_items, strict=True))
        shown = item_rows(groups, items, protocols, criteria, wanted.query(run.name), wanted.q)
        return shown, len(shown) if limits is not None else total


_ITEMS_AT_ONCE = 200


def group_by_item(results: Iterable[IndexedRow]) -> list[list[IndexedRow]]:
    """The results of each item, in their order."""
    groups: dict[int, list[IndexedRow]] = {}
    for row in results:
        groups.setdefault(row["seq"], []).append(row)
    return list(groups.values())


def _in_order(protocols: Mapping[str, Protocol], choices: dict[str, Any]) -> list[str]:
    """The criteria of a run in the order of its protocols."""
    known = dict.fromkeys(name for protocol in protocols.values() for name in protocol.criteria)
    judged = [name for name, _ in choices["criterion"]]
    return sorted(judged, key=lambda name: list(known).index(name) if name in known else len(known))


def _is_by_item(wanted: Filter, criteria: list[str]) -> bool:
    """Whether a row is an item: not where columns of results are chosen, or disagreements are sorted."""
    is_of_items = wanted.sort.removeprefix("-") in ("", "item", "system", "score")
    return is_of_items and not wanted.col and not wanted.apart and 0 < len(criteria) <= MOST_CRITERIA


def _offers(wanted: Filter, run: str, choices: dict[str, Any]) -> list[tuple[str, int, str]]:
    """Filters that people want most, with the number of results of each; not those that are set."""
    failed = sum(n for status, n in choices["status"] if status != "ok")
    offers = [] if wanted.status or not failed else [("failed", failed, {"status": "failed"})]
    if not wanted.flag:
        offers += [(flag.replace("_", " "), n, {"flag": flag}) for flag, n in choices["flag"][:_MOST_OFFERS]]
    if not wanted.apart and choices["n_apart"]["people"]:
        largest = {"apart": "people", "sort": "-people"}
        offers.append(("compared with people", choices["n_apart"]["people"], largest))
    return [(words, n, f"/items?{wanted.query(run, page=1, **changes)}") for words, n, changes in offers]


_MOST_OFFERS = 4


def _by_criterion(wanted: Filter, run: str, name: str) -> tuple[str, str]:
    """The address that sorts the items by their score on a criterion, and how they are sorted now."""
    is_here = wanted.criterion == name
    now = {"score": "ascending", "-score": "descending"}.get(wanted.sort, "") if is_here else ""
    sort = "-score" if now == "ascending" else "score"
    return f"/items?{wanted.query(run, criterion=name, sort=sort, page=1)}", now


_OF_RESULT = {"choice": "choice", "score": "value", "label": "label", "flags": "flags"}


_KIND = ("protocol", "criterion", "model", "how", "status")


def _kinds(results: Iterable[IndexedRow]) -> list[dict[str, Any]]:
    """What many results of a static copy have in common, each combination once."""
    return [
        dict(zip(_KIND, kind, strict=True))
        for kind in dict.fromkeys(tuple(row[name] for name in _KIND) for row in results)
    ]


def _row_facts(results: Sequence[IndexedRow], kinds: Sequence[Mapping[str, Any]]) -> Markup:
    """What the script of a static copy filters and sorts a row by: the same names as a filter and `SORTS`
    have, once for the item and once for each of its results. In an attribute of single quotes.
    """
    one = results[0]
    names = {
        **{name: one[name] for name in ("item", "system", "system_a", "system_b") if one[name] is not None},
        **({"tags": one["tags"]} if one["tags"] else {}),
    }
    # How far the judge is from people follows from both numbers.
    apart = {name: column for name, column in GAPS.items() if name != "people" or one["choice"] is not None}
    of_results = [
        {
            "kind": kinds.index({name: row[name] for name in _KIND}),
            **{
                name: row[column]
                for name, column in {**_OF_RESULT, **apart}.items()
                if row[column] not in (None, "")
            },
        }
        for row in results
    ]
    facts = msgspec.json.encode({**names, "results": of_results}).decode()
    # Characters that hide or reverse text are written out wherever a page shows them; JSON has a way of its
    # own for that.
    acting = ACTING.sub(lambda match: json.dumps(match[0])[1:-1], facts)
    return Markup(acting.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;"))


def with_reasons(store: Store, run: RunRow, rows: list[IndexedRow], searched: str) -> list[IndexedRow]:
    """The rows of a page with what a result does not hold: why
    a score is off its scale, and where a text was found.
    """
    protocols = protocols_of(store, run) if any(row["status"] == "out_of_range" for row in rows) else {}
    more = []
    for row in rows:
        words, place, found = status_text(row["status"]), "", ""
        if row["status"] == "out_of_range":
            words = _off_scale(store, run, row, protocols)
        if searched and not any(hits_in(row[name], searched) for name in ("item", "explanation")):
            item = items_between(store, run, row["seq"], row["seq"]).get(row["seq"])
            texts = item.fields.items() if item is not None else ()
            place, found = next(
                ((name, part) for name, value in texts if (part := snippet(searched_text(value), searched))),
                ("", ""),
            )
        more.append({**row, "status_text": words, "snippet_of": place, "snippet": found})
    return more


def _off_scale(store: Store, run: RunRow, row: IndexedRow, protocols: Mapping[str, Protocol]) -> str:
    """Whether the scores of a row are between two levels or
    out of range; both may be true of several samples.
    """
    protocol = protocols.get(row["protocol"])
    scale = protocol.criteria.get(row["criterion"]) if protocol is not None else None
    reasons = {
        off_scale_text(score, place.reply, scale)
        for place in calls_of_item(store, run, row["seq"])
        if place.judgment is not None
        and (place.about.protocol, place.about.model) == (row["protocol"], row["model"])
        for score in place.judgment.scores
        if (score.criterion, score.subject, score.status) == (row["criterion"], row["subject"], row["status"])
    }
    return reasons.pop() if len(reasons) == 1 else status_text(row["status"])


def _columns(choices: dict[str, Any]) -> dict[str, str]:
    """The columns that this run has, with their names."""
    several = {name for name in ("protocol", "model") if len(choices[name]) > 1}
    apart = {name for name, n in choices["n_apart"].items() if n}
    always = {"system", "criterion", "score", "status", "explanation"}
    return {name: text for name, text in COLUMNS_SHOWN.items() if name in always | several | apart}


def _first_columns(columns: dict[str, str], choices: dict[str, Any]) -> tuple[str, ...]:
    """The columns that are shown unless others are chosen: not the protocol where each criterion has its
    own."""
    is_clear = len(choices["protocol"]) == len(choices["criterion"])
    return tuple(name for name in columns if name != "protocol" or not is_clear)


EXPORTED = (
    "item",
    "input",
    "system",
    "system_a",
    "system_b",
    "subject",
    "protocol",
    "criterion",
    "model",
    "status",
    "value",
    "choice",
    "label",
    "samples_gap",
    "judges_gap",
    "orders_gap",
    "label_gap",
    "n_samples",
    "n_failed",
    "how",
    "flags",
    "explanation",
)
"""The explanation is as the table has it: its first 200 characters."""


def _as_csv(rows: Iterator[IndexedRow]) -> Iterator[str]:
    line = io.StringIO()
    writer = csv.writer(line)
    writer.writerow(EXPORTED)
    for row in rows:
        cells = (row[name] for name in EXPORTED)
        writer.writerow([guarded(cell.strip()) if isinstance(cell, str) else cell for cell in cells])
        yield line.getvalue()
        line.seek(0)
        line.truncate()
    yield line.getvalue()


def _as_json_lines(rows: Iterator[IndexedRow]) -> Iterator[bytes]:
    for row in rows:
        yield msgspec.json.encode({name: row[name] for name in EXPORTED}) + b"\n"


def _sorted_by(wanted: Filter, run: str, name: str) -> tuple[str, str]:
    """The address that sorts by a column or reverses it, and how it is sorted now."""
    is_up, is_down = wanted.sort == name, wanted.sort == f"-{name}"
    # The most interesting rows come first: the largest disagreement, but the lowest score.
    starts_down = name in ("samples", "judges", "orders", "people")
    new = f"-{name}" if is_up or (starts_down and not is_down) else name
    shown = "ascending" if is_up else "descending" if is_down else ""
    return f"/items?{wanted.query(run, sort=new, page=1)}", shown

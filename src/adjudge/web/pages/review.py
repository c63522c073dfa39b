"""The viewer's review of disagreements: one cell at a time from a queue, decided by keys; and notes on items.

What a reviewer decides is durable in the store before the next cell is shown. Pages hold no state.
`security.Guard` checks host, token and CSRF; what a POST says is checked here.
"""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Callable, Sequence
from typing import Any, cast, get_args
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...analysis.labels.reviews import REVIEW_COLUMNS, review_row
from ...data import guarded
from ...errors import AdjudgeError, DataError
from ...records import Label, Note, Review, ReviewVerdict
from ...store import RunRow, Store
from ...store.browsing import item_at
from ..context import Context, posted, refused
from ..items.filter import Filter
from ..items.listing import FIRST_READ_SECONDS, IndexedRow, ItemsTable
from ..labelling.rater_name import rater_name
from ..notes import LONGEST_NOTE, checked_text, read_tags
from ..page_addresses import query_number, run_named, tabs
from ..review_queues import (
    GOAL,
    QUEUES,
    CellKey,
    Queue,
    QueuePlace,
    cells_of,
    goal_text,
    next_open,
    place_in_queue,
    queue_named,
)
from ..reviewer import reviewer_of, with_reviewer
from .item import ItemPage
from .items import ItemsPage

VERDICTS: dict[ReviewVerdict, str] = {
    "judge": "judge right",
    "people": "people right",
    "both": "both defensible",
    "unclear": "item unclear",
}


class JudgeSide(Struct, frozen=True):
    """One judge's answer in a cell, with the key that sides with it."""

    row: IndexedRow
    key: str
    is_here: bool
    """whether this row put the cell into the queue"""


class ReviewPage:
    """The endpoints of the review and of notes."""

    def __init__(self, context: Context, items: ItemsPage, item: ItemPage) -> None:
        self._context, self._items, self._item = context, items, item

    def routes(self) -> list[Route]:
        actions: dict[str, Callable[[str, dict[str, Any]], dict[str, str]]] = {
            "/review/verdict": self._decide,
            "/review/undo": self._undo,
            "/note": self._take_note,
        }
        return [
            Route("/review", self.page, methods=["GET"]),
            Route("/review/export", self.export, methods=["GET"]),
            Route("/review/reviewer", self.enter, methods=["POST"]),
            *(Route(path, self._acting(action), methods=["POST"]) for path, action in actions.items()),
        ]

    # Pages

    def page(self, request: Request) -> Response:
        """A cell of a queue: the one that the address names, or the first that is not reviewed."""
        query = request.query_params
        reviewer = reviewer_of(request)
        with self._context.reading() as store:
            run = run_named(store, request)
            listing = self._items.listing(run, FIRST_READ_SECONDS)
            reviews = store.reviews(run)
            own = [review for review in reviews if review.reviewer == reviewer]
            sizes = {one.name: len(cells_of(listing, one)) for one in QUEUES}
            queue = queue_named(query.get("by"), sizes)
            criterion = query.get("criterion", "")[:1000]
            cells = cells_of(listing, queue, criterion)
            done = {(review.item, review.criterion, review.subject) for review in own}
            here = place_in_queue(cells, done, query_number(query.get("cell")))
            values = self._values(run, queue, criterion, cells, done, here)
            if here is not None:
                values |= self._cell_values(store, run, cells[here], reviews, reviewer)
        values |= {
            "reviewer": reviewer,
            "sizes": sizes,
            "last": own[-1] if own else None,
            "verdicts": VERDICTS,
            "n_reviews": len(reviews),
            "read_only": self._context.why_read_only(request),
            "progress": listing.progress,
            "criteria": [name for name, _ in listing.choices()["criterion"]],
        }
        crumbs = [(self._context.store_path.name, "/"), (run.name, values["tabs"][0][1]), ("Review", None)]
        return self._context.page(request, "view/review.html", crumbs=crumbs, **values)

    def _values(
        self,
        run: RunRow,
        queue: Queue,
        criterion: str,
        cells: Sequence[QueuePlace],
        done: set[CellKey],
        here: int | None,
    ) -> dict[str, Any]:
        def address(place: int | None) -> str | None:
            return None if place is None else _address(run.name, queue.name, criterion, cells[place].row)

        last = len(cells) - 1
        return {
            "run": run.name,
            "line": {"run": run.name},
            "tabs": tabs(run.name),
            "tab": "Review",
            "cell": None,
            "queue": queue,
            "queues": QUEUES,
            "criterion": criterion,
            "n_cells": len(cells),
            "n_done": sum(cell.key in done for cell in cells),
            "n_goal": min(GOAL, len(cells)),
            "goal": goal_text(self._items.listing(run), queue, cells, criterion),
            "place": None if here is None else here + 1,
            "here": _address(run.name, queue.name, criterion) if here is None else address(here),
            "before": address(here - 1) if here else None,
            "after": address(here + 1) if here is not None and here < last else None,
            "skip": address(next_open(cells, done, here)) if here is not None else None,
            "address_of": lambda name, wanted=criterion: _address(run.name, name, wanted),
            "export": f"/review/export?{urlencode({'run': run.name})}",
        }

    def _cell_values(
        self, store: Store, run: RunRow, cell: QueuePlace, reviews: Sequence[Review], reviewer: str
    ) -> dict[str, Any]:
        """What a reviewer needs to decide one cell."""
        values = self._item.values(store, run, cell.seq, Filter(), None)
        rows = self._items.listing(run).of_item(cell.seq)
        row = next(row for row in rows if row["id"] == cell.row)
        same = [
            one
            for one in rows
            if (one["criterion"], one["subject"]) == cell.key[1:]
            and (one["choice"] is None) == (row["choice"] is None)
        ]
        others = [one for one in same if one["id"] != cell.row]
        standings = [JudgeSide(row, "1", True)]
        standings += [JudgeSide(one, str(5 + k) if k < 5 else "", False) for k, one in enumerate(others)]
        of_cell = [
            review for review in reviews if (review.item, review.criterion, review.subject) == cell.key
        ]
        protocols = {one["protocol"] for one in same}
        view = values["view"]
        of_criterion = tuple(call for call in view.calls if call.protocol in protocols)
        return {
            **{name: values[name] for name in ("item", "number", "flags", "labels", "others")},
            "view": msgspec.structs.replace(view, calls=of_criterion) if of_criterion else view,
            "responses": values["responses"],
            "judged_fields": view.fields[: values["n_judged"]],
            "source_fields": view.fields[values["n_judged"] :],
            "cell": cell,
            "row": row,
            "standings": standings,
            "raters": _raters(values["labels"], cell.key),
            "mine": next((review for review in of_cell if review.reviewer == reviewer), None),
            "theirs": [review for review in of_cell if review.reviewer != reviewer],
            "item_url": f"/item?{urlencode({'run': run.name, 'n': cell.seq})}",
        }

    def export(self, request: Request) -> Response:
        """All reviews of a run as a file: CSV, or JSON lines."""
        with self._context.reading() as store:
            reviews = [review_row(review) for review in store.reviews(run_named(store, request))]
        is_csv = request.query_params.get("format") != "jsonl"
        name = "reviews.csv" if is_csv else "reviews.jsonl"
        return Response(
            _as_csv(reviews) if is_csv else b"".join(msgspec.json.encode(row) + b"\n" for row in reviews),
            media_type="text/csv; charset=utf-8" if is_csv else "application/x-ndjson",
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )

    # What is posted

    async def enter(self, request: Request) -> Response:
        """Checks the reviewer's name, and stores it in a cookie."""
        try:
            body = await posted(request)
            reviewer = rater_name(body.get("reviewer"))
            where = _address(
                _text(body, "run"), _text(body, "by"), _text(body, "criterion"), body.get("cell")
            )
        except AdjudgeError as error:
            return refused(error)
        return with_reviewer(JSONResponse({"go": where}), reviewer)

    def _acting(self, action: Callable[[str, dict[str, Any]], dict[str, str]]) -> Callable[[Request], Any]:
        """An endpoint that carries out an action in a thread, since it waits for the disk."""

        async def act(request: Request) -> Response:
            try:
                body = await posted(request)
                name = rater_name(body.get("reviewer") or reviewer_of(request))
                answer = await asyncio.to_thread(action, name, body)  # as in `annotate`: pages do not wait
            except AdjudgeError as error:
                return refused(error)
            return with_reviewer(JSONResponse(answer), name)

        return act

    def _decide(self, reviewer: str, body: dict[str, Any]) -> dict[str, str]:
        verdict = body.get("verdict")
        if verdict not in get_args(ReviewVerdict):
            raise DataError("The request names no decision. Reload the page.")
        verdict = cast("ReviewVerdict", verdict)
        queue = queue_named(_text(body, "by"), {})
        criterion = _text(body, "criterion")
        note = checked_text(_text(body, "note"), LONGEST_NOTE, "note")
        with self._context.writing() as store:
            run = store.run(_text(body, "run") or "last")
            listing = self._items.listing(run)
            row = _row(listing, body.get("row"), _text(body, "item"))
            if verdict == "people" and row["label"] is None:
                raise DataError("This item has no label, so people cannot be right. Choose another decision.")
            answer = row["choice"] if row["choice"] is not None else row["value"]
            store.put_review(
                run,
                Review(
                    row["item"],
                    row["protocol"],
                    row["criterion"],
                    row["model"],
                    reviewer,
                    verdict,
                    row["subject"],
                    answer,
                    row["label"],
                    queue.name,
                    note,
                ),
            )
            done = {
                (review.item, review.criterion, review.subject)
                for review in store.reviews(run)
                if review.reviewer == reviewer
            }
        cells = cells_of(listing, queue, criterion)
        key = (row["item"], row["criterion"], row["subject"])
        here = next((place for place, cell in enumerate(cells) if cell.key == key), None)
        ahead = next_open(cells, done, here)
        return {"go": _address(run.name, queue.name, criterion, None if ahead is None else cells[ahead].row)}

    def _undo(self, reviewer: str, body: dict[str, Any]) -> dict[str, str]:
        """Deletes the reviewer's last review and goes back to it."""
        queue, criterion = queue_named(_text(body, "by"), {}), _text(body, "criterion")
        with self._context.writing() as store:
            run = store.run(_text(body, "run") or "last")
            own = [review for review in store.reviews(run) if review.reviewer == reviewer]
            if not own:
                raise DataError("You have no review to undo.")
            store.delete_review(run, own[-1])
        key = (own[-1].item, own[-1].criterion, own[-1].subject)
        cells = cells_of(self._items.listing(run), queue, criterion)
        row = next((cell.row for cell in cells if cell.key == key), None)
        if row is None:
            # It was reviewed in another queue: go there.
            queue, criterion = queue_named(own[-1].reason, {}), ""
            cells = cells_of(self._items.listing(run), queue, criterion)
            row = next((cell.row for cell in cells if cell.key == key), None)
        return {"go": _address(run.name, queue.name, criterion, row)}

    def _take_note(self, author: str, body: dict[str, Any]) -> dict[str, str]:
        seq = body.get("n")
        if isinstance(seq, bool) or not isinstance(seq, int):
            raise DataError("The request names no item. Reload the page.")
        text = checked_text(_text(body, "text"), LONGEST_NOTE, "note")
        tags = read_tags(_text(body, "tags"))
        with self._context.writing() as store:
            run = store.run(_text(body, "run") or "last")
            item = item_at(store, run, seq)
            store.put_note(run, Note(item.id, author, text, tags))
        self._context.tables.of(run).look_again()
        return {"said": "Saved." if text or tags else "Deleted.", "tags": ", ".join(tags)}


def _raters(labels: Sequence[Label], key: CellKey) -> list[Label]:
    return [label for label in labels if (label.criterion, label.subject) == key[1:]]


def _row(listing: ItemsTable, number: object, item: str) -> IndexedRow:
    """The row that a decision is about; an error where the run was judged or parsed again meanwhile."""
    rows = []
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 60:
        rows = [one for one in listing.of_item(number >> 16) if one["id"] == number]
    if not rows or rows[0]["item"] != item:
        raise DataError("This item has changed since the page was loaded. Reload the page.")
    return rows[0]


def _address(run: str, by: str, criterion: str = "", cell: object = None) -> str:
    query = {"run": run, "by": by, "criterion": criterion, "cell": cell}
    return f"/review?{urlencode({name: value for name, value in query.items() if value not in ('', None)})}"


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name, "")
    if not isinstance(value, str):
        raise DataError("The request is not one of this page's. Reload the page.")
    return value


def _as_csv(rows: Sequence[dict[str, str | None]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(REVIEW_COLUMNS)
    for row in rows:
        writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in row.values()])
    return text.getvalue()

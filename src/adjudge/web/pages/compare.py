"""The viewer's comparison of two runs as a change: means, ranks, and the items that moved, word by word.

All numbers are those of `adjudge compare --json`; here they are drawn, and the replies behind them are shown
side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ...analysis.compare.comparison import Comparison, CriterionComparison, MovedItem
from ...analysis.compare.words import answer_text
from ...errors import AdjudgeError, StoreError
from ...records import Item
from ...store import RunRow, Store
from ...store.browsing import calls_of_item, item_at, items_between, items_named, labels_state, reading_of
from ...words import short_name
from ..cached import WAIT_SECONDS, Cached
from ..context import Context
from ..items.field_text import searched_text
from ..page_addresses import item_url, query_number
from ..parts.comparison import ComparisonParts, comparison_parts
from ..parts.run_line import run_line
from ..parts.side_by_side import TwoTexts, replies_of, side_by_side, two_texts

if TYPE_CHECKING:
    from ...analysis.run_view.run_view import RunView


_MOST_CACHED = 50


MOST_SHOWN = 8
"""Items of a criterion whose replies are on the page; the others are a link away."""


class MovedView(Struct, frozen=True):
    """An item that moved, with the replies of both runs."""

    item: str
    title: str
    url: str
    replies: tuple[TwoTexts, ...]


class ShownComparison(Struct, frozen=True):
    """What the page of a comparison shows."""

    comparison: ComparisonParts
    moved: dict[str, tuple[MovedView, ...]]
    """criterion → its items"""


class ComparePage:
    """The endpoints of a comparison."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._cache: dict[tuple[str, str], Cached[ShownComparison]] = {}

    def page(self, request: Request) -> Response:
        values = self._values(request, WAIT_SECONDS)
        crumbs = [(self._context.store_path.name, "/"), ("Compare", None)]
        return self._context.page(request, "view/compare.html", crumbs=crumbs, **values)

    def live(self, request: Request) -> Response:
        """The changing part alone, for a page that updates itself."""
        values = self._values(request, 0.2)
        is_same = request.query_params.get("version") == values["live_version"]
        html = "" if is_same else self._context.fragment(request, "view/compare_live.html", **values)
        return JSONResponse({"version": values["live_version"], "is_live": values["is_live"], "html": html})

    def item(self, request: Request) -> Response:
        """One item in both runs: its texts where they differ, and all replies."""
        name = request.query_params.get("item", "")
        with self._context.reading() as store:
            runs = _two_runs(store, request)
            place = query_number(request.query_params.get("n"))
            found = [_numbered(store, run, name, place) for run in runs]
            if found == [None, None]:
                raise StoreError(f"Neither run has an item {name!r}.\nGo back to the comparison.")
            items = [
                None if seq is None else item_at(store, run, seq)
                for run, seq in zip(runs, found, strict=True)
            ]
            replies = [
                [] if seq is None else replies_of(calls_of_item(store, run, seq))
                for run, seq in zip(runs, found, strict=True)
            ]
        compared = urlencode([("with", run.name) for run in runs])
        values: dict[str, Any] = {
            "item_id": name,
            "runs": [run.name for run in runs],
            "links": [
                None if seq is None else f"/item?{urlencode({'run': run.name, 'n': seq})}"
                for run, seq in zip(runs, found, strict=True)
            ],
            "fields": list(_fields(items[0], items[1])),
            "replies": side_by_side(replies[0], replies[1]),
        }
        crumbs = [(self._context.store_path.name, "/"), ("Compare", f"/compare?{compared}"), (name, None)]
        return self._context.page(request, "view/compare_item.html", crumbs=crumbs, **values)

    def _values(self, request: Request, wait_seconds: float) -> dict[str, Any]:
        with self._context.reading() as store:
            # The older run first: a difference then says what the newer one changed.
            runs = sorted(_two_runs(store, request), key=lambda run: run.id)
            lines = [run_line(run, self._context.totals(store, run)) for run in runs]
            state = (lines, [reading_of(store, run) for run in runs], labels_state(store))
        first, second = (line.run for line in lines)
        cached = self._cached_for(first, second)
        refusal = ""
        parts: ShownComparison | None = None
        is_current = True
        try:
            parts, is_current = cached.get(state, wait_seconds)
        except AdjudgeError as error:
            # Runs without a common item are still shown side by side.
            refusal = str(error)
        return {
            "lines": lines,
            "links": {line.run: f"/run?{urlencode({'run': line.run})}" for line in lines},
            "parts": parts,
            "refusal": refusal,
            "is_live": not is_current or any(line.status == "running" for line in lines),
            "live_version": f"{cached.number}-{'-'.join(str(line.judged) for line in lines)}",
            "query": urlencode([("with", line.run) for line in lines]),
        }

    def _cached_for(self, first: str, second: str) -> Cached[ShownComparison]:
        with self._lock:
            if len(self._cache) > _MOST_CACHED:
                self._cache.clear()
            return self._cache.setdefault((first, second), Cached(lambda: self._make(first, second)))

    def _make(self, first: str, second: str) -> ShownComparison:
        """Runs in a thread, so it opens the store for itself."""
        from ...analysis.compare.compare import compare_views
        from ...analysis.labels.judged_texts import of_judged_texts, other_texts_note
        from ...analysis.labels.read import labels_of_runs
        from ...analysis.run_view.tabulate import tabulate
        from ...data import LabelFile

        with self._context.reading() as store:
            runs = [store.run(name) for name in (first, second)]
            views: list[RunView] = [tabulate(store, run, for_comparison=True) for run in runs]
            given = self._context.given
            if given is None:
                given = LabelFile(tuple(labels_of_runs(store, (first, second))))
            known = of_judged_texts(store, runs, given)
            comparison = compare_views(
                views[0], views[1], labels=known.labels, labels_note=other_texts_note(known)
            )
            parts = comparison_parts(comparison, views[0].seqs)
            moved = dict(self._moved(store, runs, [view.seqs for view in views], comparison))
        return ShownComparison(parts, moved)

    def _moved(
        self,
        store: Store,
        runs: Sequence[RunRow],
        numbers: Sequence[Mapping[str, int]],
        comparison: Comparison,
    ) -> Iterator[tuple[str, tuple[MovedView, ...]]]:
        for name, card in comparison.criteria.items():
            shown = card.moved[:MOST_SHOWN]
            yield short_name(name), tuple(self._moved_view(store, runs, numbers, card, one) for one in shown)

    def _moved_view(
        self,
        store: Store,
        runs: Sequence[RunRow],
        numbers: Sequence[Mapping[str, int]],
        card: CriterionComparison,
        one: MovedItem,
    ) -> MovedView:
        replies = [
            replies_of(calls_of_item(store, run, known[one.item]), protocol, card.criterion)
            if one.item in known
            else []
            for run, known, protocol in zip(runs, numbers, card.protocols, strict=True)
        ]
        title = " → ".join(answer_text(answer, one.system) for answer in (one.first, one.second))
        return MovedView(
            one.item,
            title,
            item_url((run.name for run in runs), one.item, numbers[0].get(one.item)),
            tuple(side_by_side(replies[0], replies[1])),
        )


def _two_runs(store: Store, request: Request) -> list[RunRow]:
    names = list(dict.fromkeys(request.query_params.getlist("with")))
    if len(names) != 2:
        raise StoreError(f"A comparison needs two runs; {len(names)} were selected.\nGo back and select two.")
    return [store.run(name) for name in names]


def _numbered(store: Store, run: RunRow, name: str, place: int | None) -> int | None:
    """The number of an item: runs of the same items have it at the same place; elsewhere it is searched."""
    there = None if place is None else items_between(store, run, place, place).get(place)
    if there is not None and there.id == name:
        return place
    return items_named(store, run, [name]).get(name)


def _fields(first: Item | None, second: Item | None) -> Iterator[tuple[str, TwoTexts]]:
    """The fields of an item that differ between the runs; all of them where one run lacks the item."""
    fields = [{} if item is None else item.fields for item in (first, second)]
    for name in {**fields[0], **fields[1]}:
        texts = [searched_text(field[name]) if name in field else None for field in fields]
        if texts[0] != texts[1]:
            yield name, two_texts(("", ""), texts[0], texts[1])

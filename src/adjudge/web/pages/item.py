"""The viewer's page of one item: its fields, its results and labels, and every call with its reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from msgspec import Struct, field, structs
from starlette.requests import Request
from starlette.responses import Response

from ...analysis.item_view.item_view import item_view
from ...analysis.item_view.shown_text import shorten
from ...analysis.item_view.views import FieldView, ItemView
from ...errors import StoreError
from ...records import Item, Label, Protocol
from ...results.manifest import protocols_of
from ...store import RunRow, Store
from ...store.browsing import calls_of_item, item_at, items_between
from ...words import score_text, status_text
from ..context import Context
from ..items.field_text import searched_text
from ..items.filter import Filter, read_filter
from ..items.listing import FIRST_READ_SECONDS, ROWS_ON_A_PAGE, IndexedRow, ItemsTable
from ..page_addresses import query_number, run_named
from ..parts.charts.axis import Domain, domain_of
from ..parts.charts.scale_strip import scale_strip
from ..parts.one_score import OneScore, worth_text
from .items import ItemsPage

LONGEST_TEXT = 60_000
"""Characters of one text on the page; `adjudge runs show` has all of it."""

LABELS_SECONDS = 0.3
"""How long an item with labels waits for those of the others, which say what its score is worth."""


class ItemPage:
    """The endpoint of one item."""

    def __init__(self, context: Context, items: ItemsPage) -> None:
        self._context = context
        self._items = items
        self._one_score = OneScore(context.given)

    def page(self, request: Request) -> Response:
        wanted = read_filter(request.query_params)
        seq = query_number(request.query_params.get("n"))
        if seq is None:
            raise StoreError("The address has no item number.\nGo back to the list of runs.")
        with self._context.reading() as store:
            run = run_named(store, request)
            values = self.values(store, run, seq, wanted, query_number(request.query_params.get("row")))
            values |= self._written(request, store, run, values["item"], seq)
        crumbs = [
            (self._context.store_path.name, "/"),
            (run.name, f"/run?{urlencode({'run': run.name})}"),
            ("Items", values["list"]),
            (values["item"].id, None),
        ]
        return self._context.page(request, "view/item.html", crumbs=crumbs, **values)

    def _written(self, request: Request, store: Store, run: RunRow, item: Item, seq: int) -> dict[str, Any]:
        """What people wrote about an item, who writes here, and the same item in other runs."""
        from ..parts.same_item import same_item
        from ..reviewer import reviewer_of

        limits = self._context.limits
        runs = [one for one in reversed(store.runs()) if limits is None or one.name in limits.runs]
        return {
            "same": same_item(store, run, item, seq, runs),
            "notes": [note for note in store.notes(run) if note.item == item.id],
            "reviewer": reviewer_of(request),
            "read_only": self._context.why_read_only(request),
        }

    def values(self, store: Store, run: RunRow, seq: int, wanted: Filter, row: int | None) -> dict[str, Any]:
        """What a page shows of an item, in the order of a list."""
        item = item_at(store, run, seq)
        places = calls_of_item(store, run, seq)
        labels, n_of_other_texts = self._context.labels(store, run, item)
        has_order = wanted.is_narrowed or bool(wanted.sort)
        # Only a filtered or sorted list needs all results; otherwise the item numbers give the neighbours.
        wait_seconds = FIRST_READ_SECONDS if has_order else LABELS_SECONDS if labels else 0.0
        listing = self._items.listing(run, wait_seconds)
        is_last = not items_between(store, run, seq + 1, seq + 1)
        protocols = protocols_of(store, run)
        view = item_view(item, places, protocols, longest=LONGEST_TEXT)
        rows = listing.of_item(seq)
        place: tuple[int, int] | None = None
        if has_order:
            row = row if row is not None or not rows else rows[0]["id"]
            back, after = _around(listing, run, wanted, row)
            place = listing.place(wanted, row) if row is not None else None
        else:
            back = f"/item?{wanted.query(run.name)}&n={seq - 1}" if seq else None
            after = None if is_last else f"/item?{wanted.query(run.name)}&n={seq + 1}"
        results, flags = _results(rows)
        drawn: list[Domain] = []
        for line in results:
            self._complete(line, store, run, listing, protocols.get(line.protocol), view, labels, drawn)
        view = structs.replace(view, fields=_response_first(view.fields, protocols.values()))
        others = _others(store, run, item, seq, listing, protocols.values())
        # The page of the list on which this item is, and its row there.
        page = (place[0] - 1) // ROWS_ON_A_PAGE + 1 if place is not None else wanted.page
        anchor = f"#n{seq}"
        return {
            "run": run.name,
            "item": item,
            "number": seq + 1,
            "place": place,
            "view": view,
            "results": results,
            "title": _title(results, row),
            "responses": _responses(view, protocols.values()),
            "n_judged": len(_judged_fields(protocols.values(), [one.name for one in view.fields])),
            "flags": flags,
            "labels": labels,
            "n_of_other_texts": n_of_other_texts,
            "others": others,
            "repeated": _repeated(item, others, protocols.values()),
            "back": back,
            "next": after,
            "list": f"/items?{wanted.query(run.name, page=page)}{anchor}",
            "is_narrowed": wanted.is_narrowed,
            "searched": wanted.q,
            "permalink": f"/item?{urlencode({'run': run.name, 'n': seq})}",
        }

    def _complete(
        self,
        line: JudgeLine,
        store: Store,
        run: RunRow,
        listing: ItemsTable,
        protocol: Protocol | None,
        view: ItemView,
        labels: Sequence[Label],
        drawn: list[Domain],
    ) -> None:
        """Adds to a score what people said, its samples, and what it is worth."""
        scale = protocol.criteria.get(line.criterion) if protocol is not None else None
        row = line.item
        if row is None or scale is None or row["choice"] is not None:
            return
        line.people = [
            float(label.value)
            for label in labels
            if label.criterion == line.criterion
            and label.subject is None
            and not isinstance(label.value, str)
        ]
        answers = [
            answer.value
            for call in view.calls
            if (call.protocol, call.model) == (line.protocol, line.model)
            for answer in call.answers
            if (answer.name, answer.subject) == (line.criterion, None)
        ]
        values = [float(value) for value in answers if value is not None and not isinstance(value, str)]
        line.samples = sorted(Counter(values).items(), reverse=True) if line.n_samples > 1 else []
        if scale.limits is not None and (row["value"] is not None or line.people):
            domain = domain_of(scale)
            if all(domain.low <= value <= domain.high for value in line.people):
                line.strip = scale_strip(domain, row["value"], sorted(line.people), line.criterion, drawn)
        if row["value"] is not None:
            about = (line.protocol, line.criterion, line.model)
            line.worth = worth_text(row["value"], self._one_score.of(store, run, listing, scale, about))


_MOST_OTHERS = 12


_LONGEST_OTHER = 1500


class OtherOutput(Struct, frozen=True):
    """What another system gave for the same input: the fields that differ, and its results."""

    item: str
    system: str
    url: str
    results: tuple[IndexedRow, ...]
    texts: tuple[tuple[str, str], ...]


def _others(
    store: Store, run: RunRow, item: Item, seq: int, listing: ItemsTable, protocols: Iterable[Protocol]
) -> list[OtherOutput]:
    """The other items of the same group that share an input: a group may hold more than one input."""
    if item.group is None:
        return []
    judged = _judged_fields(protocols, item.fields)
    inputs = {name: value for name, value in item.fields.items() if name not in judged}
    others = []
    numbers = listing.of_input(item.group, seq, _MOST_OTHERS)
    rows = listing.of_items(numbers)
    for number in numbers:
        other = items_between(store, run, number, number).get(number)
        if other is not None and _shares_input(inputs, other):
            texts = [
                (name, shorten(searched_text(value), _LONGEST_OTHER).text)
                for name, value in other.fields.items()
                if value != item.fields.get(name)
            ]
            url = f"/item?{urlencode({'run': run.name, 'n': number})}"
            system = other.system if other.system_b is None else f"{other.system_a} – {other.system_b}"
            others.append(OtherOutput(other.id, system, url, tuple(rows[number]), tuple(texts)))
    return others


def _repeated(item: Item, others: Sequence[OtherOutput], protocols: Iterable[Protocol]) -> list[str]:
    """The fields whose text all other outputs have too, but for what is judged."""
    own = {name for other in others for name, _ in other.texts} | set(_judged_fields(protocols, item.fields))
    return [name for name in item.fields if name not in own] if others else []


def _shares_input(inputs: Mapping[str, object], other: Item) -> bool:
    """Whether another item has one of these fields; without any, its group alone says so."""
    return not inputs or any(other.fields.get(name) == value for name, value in inputs.items())


def _around(
    listing: ItemsTable, run: RunRow, wanted: Filter, row: int | None
) -> tuple[str | None, str | None]:
    """The addresses of the items before and after this one in the order of the list."""
    if row is None:
        return None, None
    query = wanted.query(run.name)
    back, after = (
        None if neighbour is None else f"/item?{query}&n={neighbour['seq']}&row={neighbour['id']}"
        for neighbour in listing.around(wanted, row)
    )
    return back, after


class JudgeLine(Struct):
    """One judge on one criterion: the score, or for a pair the scores of both sides and the choice."""

    protocol: str
    criterion: str
    model: str
    a: IndexedRow | None = None
    b: IndexedRow | None = None
    item: IndexedRow | None = None
    """the score of a single response, or the choice of a pair"""
    n_samples: int = 0
    n_failed: int = 0
    statuses: list[str] = field(default_factory=list)
    labels: list[float | str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    """flags that not all results of the item have"""
    people: list[float] = field(default_factory=list)
    samples: list[tuple[float, int]] = field(default_factory=list)
    """score → how many samples have it, the highest first; empty for a single sample"""
    strip: Markup | None = None
    """the score on its scale with people's"""
    worth: str = ""

    @property
    def first_row(self) -> IndexedRow | None:
        return self.item or self.a or self.b

    @property
    def text(self) -> str:
        """The score, or the system that was chosen, or why there is none."""
        row = self.first_row
        if row is None:
            return ""
        if row["choice"] is not None:
            return str({"a": row["system_a"], "b": row["system_b"]}.get(row["choice"], row["choice"]))
        if row["value"] is None:
            return status_text(row["status"])
        return score_text(row["value"]) if self.item is not None else ""


def _title(results: Sequence[JudgeLine], row: int | None) -> JudgeLine | None:
    """The result that the page is about: that of the row it was opened from, else the choice or the first."""
    rows = [(line, one) for line in results for one in (line.item, line.a, line.b) if one is not None]
    chosen = (line for line in results if line.item is not None and line.item["choice"] is not None)
    usual = next(chosen, results[0] if results else None)
    return next((line for line, one in rows if one["id"] == row), usual)


def _judged_fields(protocols: Iterable[Protocol], names: Collection[str]) -> list[str]:
    """The fields that hold the judged text."""
    fields = dict.fromkeys(names)
    found = (protocol.field_for(name, fields) for protocol in protocols for name in protocol.judged_inputs)
    return list(dict.fromkeys(name for name in found if name is not None))


def _response_first(fields: Sequence[FieldView], protocols: Iterable[Protocol]) -> tuple[FieldView, ...]:
    """The judged text before what it was made from."""
    judged = _judged_fields(protocols, [one.name for one in fields])
    return tuple(sorted(fields, key=lambda one: one.name not in judged))


def _responses(view: ItemView, protocols: Iterable[Protocol]) -> list[str]:
    """The names of the two responses of a pair, which are shown side by side."""
    is_pair = view.item is not None and view.item.system_b is not None
    names = _judged_fields(protocols, [one.name for one in view.fields]) if is_pair else []
    return names if len(names) == 2 else []


def _results(rows: list[IndexedRow]) -> tuple[list[JudgeLine], list[str]]:
    """The results of an item by judge and criterion, and the flags that all of them have."""
    row_flags = [row["flags"].split() for row in rows]
    common = [
        flag for flag in (row_flags[0] if row_flags else ()) if all(flag in flags for flags in row_flags)
    ]
    lines: dict[tuple[str, str, str], JudgeLine] = {}
    for row, flags in zip(rows, row_flags, strict=True):
        key = (row["protocol"], row["criterion"], row["model"])
        line = lines.setdefault(key, JudgeLine(row["protocol"], row["criterion"], row["model"]))
        setattr(line, row["subject"] or "item", row)
        line.n_samples = max(line.n_samples, row["n_samples"])
        line.n_failed = max(line.n_failed, row["n_failed"])
        line.statuses = list(dict.fromkeys((*line.statuses, row["status"])))
        line.flags = list(dict.fromkeys((*line.flags, *(flag for flag in flags if flag not in common))))
        if row["label"] is not None:
            line.labels.append(row["label"])
    return list(lines.values()), common

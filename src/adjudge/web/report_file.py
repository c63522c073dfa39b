"""The report as one HTML file that opens offline: everything is in it, nothing is fetched, nothing runs.

The calls of the most notable items are in it, their texts shortened until the file is small enough to send.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from markupsafe import Markup
from msgspec import structs

from ..analysis.about import About
from ..analysis.item_view.item_view import item_view
from ..analysis.item_view.views import ItemView
from ..analysis.labels.belonging import check_belong
from ..analysis.labels.read import read_labels_for
from ..analysis.rank.rank import has_logprobs
from ..analysis.report.report import about_these_items, summarise
from ..analysis.report.summary import Summary
from ..analysis.run_view.run_view import RunView
from ..analysis.run_view.tabulate import tabulate
from ..records import Item, Protocol
from ..store import RunRow, Store
from ..store.browsing import CallOutcome, calls_of_item, item_at
from .html_file import policy, style, write_page
from .notable_items import NotableItem, notable_items
from .parts.known_of_run import known_of
from .parts.run import RunParts, run_parts
from .templating import render_page

MOST_BYTES = 950_000
"""A report stays under a megabyte; texts are shortened until it does."""


MOST_CALLS = 4
"""Calls of one item that are shown; the others are counted."""


_LONGEST = 6000


_SHORTEST = 300


def write_report(
    store: Store, run: RunRow, path: Path, labels: Path | None = None, about: About = "new-inputs"
) -> tuple[Summary, int]:
    """Write the report of a run; its summary, and the size of the file in bytes."""
    view = tabulate(store, run, choice_spans=has_logprobs(store, run))
    summary = summarise(view)
    if about == "these-items":
        summary = about_these_items(summary)
    text = report_page(store, view, summary, labels=labels, path=path)
    return summary, write_page(path, text)


def report_page(
    store: Store, view: RunView, summary: Summary, *, labels: Path | None = None, path: Path | None = None
) -> str:
    """The report of a run as a page."""
    assert view.run is not None
    given = read_labels_for([view], labels) if labels is not None else None
    if given is not None:
        check_belong(store, [view.run], given)
    known = known_of(store, view, summary, given)
    parts = run_parts(summary, **known)
    method = structs.replace(
        parts.method, commands=(*parts.method.commands, *_commands(store, view.run, path, labels, parts))
    )
    notable = notable_items(view.results, view.scales, known["points"])
    parts = structs.replace(parts, method=method)
    return _fitted(parts, _with_calls(store, view, notable), view.protocols, store.path)


ItemCalls = Sequence[tuple[NotableItem, Item, Sequence[CallOutcome]]]


def _with_calls(store: Store, view: RunView, notable: Sequence[NotableItem]) -> ItemCalls:
    """The items with their fields and calls, from the store."""
    assert view.run is not None
    return [
        (
            why,
            item_at(store, view.run, view.seqs[why.item]),
            calls_of_item(store, view.run, view.seqs[why.item]),
        )
        for why in notable
    ]


def _fitted(parts: RunParts, items: ItemCalls, protocols: Mapping[str, Protocol], store_path: Path) -> str:
    """The page, below the size limit: first texts are shortened, then items and folded tables are dropped."""
    longest = _LONGEST
    while True:
        views = [
            (
                why.reasons,
                item_view(
                    item, places, protocols, shown=calls_to_show(places, why.criteria), longest=longest
                ),
            )
            for why, item, places in items
        ]
        page = _page(parts, views, store_path)
        if len(page.encode("utf-8", "backslashreplace")) <= MOST_BYTES:
            return page
        if longest > _SHORTEST:
            longest //= 2
        elif len(items) > 1:
            items = items[: len(items) // 2]
        elif parts.has_details():
            parts = parts.without_details()
        else:
            return page


def calls_to_show(places: Sequence[CallOutcome], criteria: Set[str]) -> list[CallOutcome]:
    """The few calls to show, in their order: on those criteria
    first; of many samples the lowest and the highest.
    """
    error_kinds: set[str] = set()
    distinct = []
    for place in places:
        # The same error twenty times says no more than once.
        if place.error is None or place.error.kind not in error_kinds:
            distinct.append(place)
        if place.error is not None:
            error_kinds.add(place.error.kind)
    matching = [place for place in distinct if not criteria or criteria & set(place.about.criteria)]
    others = [place for place in distinct if place not in matching]
    if len(matching) > MOST_CALLS:
        by_score = sorted(matching, key=_mean_score)
        half = MOST_CALLS // 2
        matching = [*by_score[:half], *by_score[-half:]]
    return sorted([*matching, *others][:MOST_CALLS], key=lambda place: place.call_index)


def _mean_score(place: CallOutcome) -> float:
    """The mean of a call's scores; calls without one sort first."""
    scores = place.judgment.scores if place.judgment is not None else ()
    values = [score.value for score in scores if score.value is not None]
    return sum(values) / len(values) if values else float("-inf")


def _page(parts: RunParts, items: Sequence[tuple[Sequence[str], ItemView]], store_path: Path) -> str:
    css = style()
    run, at = parts.summary.run or "last", ["--store", str(store_path)]
    return render_page(
        "report/report.html",
        parts=parts,
        at=f" {shlex.join(at)}",
        replies_command=shlex.join(["adjudge", "runs", "show", run, *at]),
        items=items,
        css=Markup(css),  # a file of the package: nothing in it needs escaping
        policy=policy(css),
    )


def _commands(
    store: Store, run: RunRow, path: Path | None, labels: Path | None, parts: RunParts
) -> list[str]:
    """The commands that make this file and its numbers again."""
    with_labels = ["--labels", str(labels)] if labels is not None else []
    with_labels += ["--store", str(store.path)]
    commands = [
        shlex.join(["adjudge", "report", run.name, "--html", str(path or "report.html"), *with_labels])
    ]
    if parts.has("card"):
        commands.append(shlex.join(["adjudge", "trust", run.name, *with_labels]))
    return commands

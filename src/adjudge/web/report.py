"""The report as one HTML file that opens offline: everything in it, nothing fetched, nothing that runs.

The one style block is allowed by its hash; scripts, frames and fetches are forbidden by the page itself. Replies
are those of the most telling items, shortened until the file is small enough to send.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup
from msgspec import structs

from ..data import read_labels
from ..engine import protocols_of, results
from ..records import Item, Protocol
from ..report import Summary, summary_of
from ..store import RunRow, Store
from ..store.browsing import Place, item_at, places_of
from .files import write_page
from .pages import render, static_text
from .parts import RunParts, known_of, run_parts
from .replies import MOST_CALLS, ItemView, item_view
from .telling import Telling, telling_items

MOST_BYTES = 950_000
"""A report stays under a megabyte; texts are shortened until it does."""

_LONGEST = 6000
_SHORTEST = 300


def write_report(store: Store, run: RunRow, path: Path, labels: Path | None = None) -> tuple[Summary, int]:
    """Write the report of a run; its summary, and the size of the file in bytes."""
    summary = summary_of(store, run)
    text = report_page(store, run, summary, labels=labels, path=path)
    return summary, write_page(path, text)


def report_page(
    store: Store, run: RunRow, summary: Summary, *, labels: Path | None = None, path: Path | None = None
) -> str:
    """The report of a run as a page."""
    said = read_labels(labels) if labels is not None else None
    known = known_of(store, run, summary, said)
    parts = run_parts(summary, **known)
    method = structs.replace(
        parts.method, commands=(*parts.method.commands, *_commands(run, path, labels, parts))
    )
    protocols = protocols_of(store, run)
    scales = {
        (key, criterion): scale
        for key, protocol in protocols.items()
        for criterion, scale in protocol.criteria.items()
    }
    telling = telling_items(results(store, run), scales, known["points"])
    return _fitted(structs.replace(parts, method=method), _found(store, run, telling), protocols)


def style() -> str:
    """The style sheet without its comments and its line breaks."""
    text = re.sub(r"/\*.*?\*/", "", static_text("adjudge.css"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", text).strip()


def policy(css: str) -> str:
    """What the page may load and run: its own style, and pictures that are written into it."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


Found = Sequence[tuple[Telling, Item, Sequence[Place]]]


def _found(store: Store, run: RunRow, telling: Sequence[Telling]) -> Found:
    """The items with their fields and calls, found by their ids in one pass that ends with the last of them."""
    missing = {one.item: one for one in telling}
    found: dict[str, tuple[Telling, Item, Sequence[Place]]] = {}
    for judged in store.judgments(run) if missing else ():
        if judged.item is not None and judged.item.id in missing:
            one = missing.pop(judged.item.id)
            places = places_of(store, run, judged.seq)
            found[one.item] = (one, item_at(store, run, judged.seq), places)
            if not missing:
                break
    return [found[one.item] for one in telling if one.item in found]


def _fitted(parts: RunParts, found: Found, protocols: Mapping[str, Protocol]) -> str:
    """The page with as much as the size allows: first texts are shortened, then items and folded tables go."""
    longest = _LONGEST
    while True:
        items = [item_view(item, places, one, protocols, longest) for one, item, places in found]
        page = _page(parts, items)
        if len(page.encode("utf-8", "backslashreplace")) <= MOST_BYTES:
            return page
        if longest > _SHORTEST:
            longest //= 2
        elif len(found) > 1:
            found = found[: len(found) // 2]
        elif parts.has_tables():
            parts = parts.without_tables()
        else:
            return page


def _page(parts: RunParts, items: Sequence[ItemView]) -> str:
    css = style()
    return render(
        "report/report.html",
        parts=parts,
        items=items,
        css=Markup(css),  # our own file, so nothing in it needs escaping
        policy=policy(css),
        most_calls=MOST_CALLS,
    )


def _commands(run: RunRow, path: Path | None, labels: Path | None, parts: RunParts) -> list[str]:
    """What makes this file and its numbers again."""
    with_labels = ["--labels", str(labels)] if labels is not None else []
    commands = [
        shlex.join(["adjudge", "report", run.name, "--html", str(path or "report.html"), *with_labels])
    ]
    if parts.card is not None:
        commands.append(shlex.join(["adjudge", "trust", run.name, *with_labels]))
    return commands

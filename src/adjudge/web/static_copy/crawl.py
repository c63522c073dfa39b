"""Following the links of the viewer from its first page, and writing every page that belongs into a copy.

A new page of the viewer is copied without a line here. Names of files come from our own routes and from
numbers, never from a text of the run.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from markupsafe import escape

from ...errors import StoreError
from ...words import count
from ..context import Context
from ..routes import build_pages
from .addresses import PageAddress, read_address
from .limits import LeftOut
from .rewriting import Rewriter, choosing_forms, links_in

_MOST_OTHERS = 3000
"""Pages of any other kind; a kind with more has a query that was not meant to be followed."""


_MOST_PAIRS = 6
"""Up to so many runs, every two of them are compared; of more, each with the one before it."""


_WAIT_SECONDS = 600.0


_SUFFIXES = {"text/html": "html", "text/csv": "csv", "application/x-ndjson": "jsonl"}


OnProgress = Callable[[int, int], None]
"""Called with the number of pages written, and of those known so far."""


class Crawl:
    """One copy: which pages are known, which are written, and what was left out."""

    def __init__(
        self, context: Context, folder: Path, hidden: Mapping[str, str], on_progress: OnProgress
    ) -> None:
        assert context.limits is not None
        self._context, self._limits, self._folder = context, context.limits, folder
        self._app = build_pages(context)
        self._hidden = hidden
        self._on_progress = on_progress
        self._names: dict[PageAddress, str] = {}
        self._waiting: list[PageAddress] = []
        self._moved: dict[PageAddress, str] = {}
        self._n_of_kind: Counter[str] = Counter()
        self._is_single = False
        self._made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        self.files: list[str] = []
        self.left_out: list[LeftOut] = []
        self.is_capped = False
        self.n_pages = 0

    async def run(self, *, is_single: bool) -> None:
        """Write all pages: the lists of items first, since they decide which items are in the copy."""
        self._is_single = is_single
        self._write_static()
        start = PageAddress("/run", (("run", self._limits.runs[0]),)) if is_single else PageAddress("/", ())
        self._names[start] = "index.html"
        self._waiting.append(start)
        for run in self._limits.runs:
            items = PageAddress("/items", (("run", run),))
            self._add(items)
            _, _, body = await self._settled(items.url)
            for href in links_in(body.decode("utf-8")):
                await self.link(href, items)
            self._note_left_out(run)
        for pair in _pairs(self._limits.runs):
            self._add(PageAddress("/compare", tuple(("with", name) for name in pair)))
        while self._waiting:
            await self._write(self._waiting.pop(0))
            self._on_progress(self.n_pages, self.n_pages + len(self._waiting))
        self._write_texts()

    def _note_left_out(self, run: str) -> None:
        with self._context.reading() as store:
            n_all = self._context.totals(store, store.run(run)).items
        n_items = sum(name.path == "/item" and name.get("run") == run for name in self._names)
        if n_items < n_all:
            self.left_out.append(LeftOut(run, n_items, n_all))

    def _write_static(self) -> None:
        from importlib.resources import files

        for entry in (files("adjudge.web") / "static").iterdir():
            if entry.name in ("adjudge.css", "adjudge.js", "view.css"):
                self._put(f"static/{entry.name}", entry.read_bytes())

    def _write_texts(self) -> None:
        texts = self._context.shared_texts
        for number, script in enumerate(texts.scripts(self._without_paths) if texts else (), 1):
            self._put(f"pages/texts-{number}.js", script.encode("utf-8"))

    def _put(self, name: str, data: bytes) -> None:
        (self._folder / name).write_bytes(data)
        self.files.append(name)

    # Which pages there are

    def _add(self, address: PageAddress) -> str:
        """The file of a page; a new one is written later."""
        known = self._names.get(address)
        if known is None:
            self._n_of_kind[address.path] += 1
            known = self._names[address] = self._new_name(address)
            self._waiting.append(address)
        return known

    def _new_name(self, address: PageAddress) -> str:
        # A route has letters and slashes; anything else would be another program's address.
        kind = re.sub(r"[^a-z]+", "-", address.path.lower()).strip("-") or "page"
        suffix = {"csv": "csv", "jsonl": "jsonl"}.get(address.get("format"), "html")
        if address.path == "/item":
            run = self._limits.runs.index(address.get("run")) + 1
            return f"pages/item-{run}-{int(address.get('n')) + 1}.html"
        return f"pages/{kind}-{self._n_of_kind[address.path]}.{suffix}"

    def _is_copied(self, address: PageAddress, source: PageAddress) -> bool:
        """Whether a page that is not known yet belongs into the copy."""
        runs = [value for name, value in address.query if name in ("run", "with")]
        if any(name not in self._limits.runs for name in runs) or not _is_page(address.path):
            return False
        if address.path == "/":
            return not self._is_single
        if address.path == "/item":
            return source.path == "/items" and address.get("n").isdigit()
        if address.path == "/compare":
            return False  # the pairs are known before the first page
        if address.path == "/matrix" and address.get("sort") and address.get("colour"):
            return False  # one choice at a time
        if address.path == "/matrix" and address.get("page"):
            # Of another order, the first page is what it is for.
            return not address.get("sort") and int(address.get("page")) <= 1 + self._limits.most_items // 40
        if self._n_of_kind[address.path] < _MOST_OTHERS:
            return True
        self.is_capped = True
        return False

    async def link(self, href: str, source: PageAddress) -> str | None:
        """A link of a page as the copy has it; none where the copy does not have what it leads to."""
        if href.startswith("#") or not href.startswith("/") or href.startswith("//"):
            return href if href.startswith("#") else None
        address, fragment = read_address(href)
        if "worst=" in href and "worst" in dict(parse_qsl(urlsplit(href).query)):
            # Which disagreements are the largest is known to the server alone: it sends on to their filter.
            moved = await self._location(href)
            address, fragment = read_address(moved)
        if self._is_single and address.path == "/":
            address = PageAddress("/run", (("run", self._limits.runs[0]),))
        elif address.path == "/compare":
            # The page has the older run first, however they are named.
            order = {name: number for number, name in enumerate(self._limits.runs)}
            query = sorted(address.query, key=lambda pair: order.get(pair[1], 0))
            address = PageAddress(address.path, tuple(query))
        name = self._names.get(address)
        if name is None:
            if not self._is_copied(address, source):
                return None
            name = self._add(address)
        if self._names[source].startswith("pages/"):
            name = name.removeprefix("pages/") if name.startswith("pages/") else f"../{name}"
        return name + (f"#{self._shown_fragment(fragment)}" if fragment else "")

    def _shown_fragment(self, fragment: str) -> str:
        """The conditions of a filter, with names as the rows of the copy have them."""
        if "=" not in fragment:
            return fragment
        return urlencode([(name, self._without_paths(value)) for name, value in parse_qsl(fragment)])

    async def _location(self, href: str) -> str:
        key, _ = read_address(href)
        if key not in self._moved:
            status, headers, _ = await self._ask(href)
            self._moved[key] = headers.get("location", href) if status in (302, 303, 307) else href
        return self._moved[key]

    # Pages

    async def _write(self, address: PageAddress) -> None:
        status, headers, body = await self._settled(address.url)
        if status != 200:
            raise StoreError(
                f"The page {address.path} could not be made (status {status}).\nOpen it with "
                "`adjudge view` to see why."
            )
        kind = headers.get("content-type", "").partition(";")[0]
        text = self._without_paths(body.decode("utf-8"))
        if kind == "text/html":
            text = await self._rewritten(text, address)
        elif kind not in _SUFFIXES:
            raise StoreError(f"The page {address.path} has the type {kind}, which a copy cannot hold.")
        self._put(self._names[address], text.encode("utf-8"))
        self.n_pages += 1

    def _without_paths(self, text: str) -> str:
        for path, shown in self._hidden.items():
            if path in text:
                text = text.replace(path, shown)
            if (escaped := str(escape(path))) in text:
                text = text.replace(escaped, str(escape(shown)))
        return text

    async def _rewritten(self, text: str, source: PageAddress) -> str:
        # Forms that choose a view become links.
        forms = choosing_forms(text)
        hrefs = [*links_in(text), *(href for form in forms for href in form.hrefs)]
        links = {href: await self.link(href, source) for href in dict.fromkeys(hrefs)}
        prefix = "../" if self._names[source].startswith("pages/") else ""
        compared = [
            (pair, f"{prefix}{self._names[address]}")
            for pair in _pairs(self._limits.runs)
            if (address := PageAddress("/compare", tuple(("with", name) for name in pair))) in self._names
        ]
        return Rewriter(links, forms, prefix, self._note(source), compared).rewrite(text)

    def _note(self, source: PageAddress) -> str:
        """What the copy is, and what it lacks, for the foot of every page."""
        run = source.get("run")
        parts = [f"Copy of {self._made}: searching whole texts, updates and labelling need adjudge view."]
        parts += [
            f"It has {one.n_items:,} of the {count(one.n_all, 'item')} of {one.run}; the other items "
            "and the links to them are left out."
            for one in self.left_out
            if run in ("", one.run)
        ]
        return " ".join(parts)

    async def _settled(self, url: str) -> tuple[int, dict[str, str], bytes]:
        """A page when nothing on it is being computed any more."""
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            answer = await self._ask(url)
            if b" data-live=" not in answer[2] or time.monotonic() > deadline:
                return answer
            await asyncio.sleep(0.1)

    async def _ask(self, url: str) -> tuple[int, dict[str, str], bytes]:
        """One request to the application in this process."""
        parts = urlsplit(url)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": unquote(parts.path),
            "raw_path": parts.path.encode(),
            "root_path": "",
            "query_string": parts.query.encode(),
            "headers": [(b"host", b"copy")],
            "server": ("copy", 80),
        }
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        start = next(message for message in sent if message["type"] == "http.response.start")
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]
        }
        return start["status"], headers, b"".join(message.get("body", b"") for message in sent)


def _is_page(path: str) -> bool:
    """Whether an address is a page to read; a review is work on the server."""
    return not path.startswith(("/live/", "/api/", "/static/", "/review"))


def _pairs(runs: Sequence[str]) -> list[tuple[str, str]]:
    """The runs that are compared, each pair in the order that its page has."""
    if len(runs) <= _MOST_PAIRS:
        return [(first, second) for k, first in enumerate(runs) for second in runs[k + 1 :]]
    return list(pairwise(runs))

"""Static copies of the viewer: `adjudge view RUN --export DIR` asks the application for its pages and writes them as files.

Every page is reached by following links from the first one, so that a new page of the viewer is copied without a line here.
What needs a server is left out or done by the page's script; a link either leads to a file of the copy or is none. Names of
files come from our own routes and from numbers, never from a text of the run. The folder appears whole or not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from markupsafe import escape
from msgspec import Struct

from ..data.labels import LabelFile
from ..errors import DataError, StoreError
from ..store import RunRow, open_store
from ..version import __version__
from ..words import count
from .server import Context, build_pages

MOST_ITEMS = 2000
MOST_ROWS = 20_000
"""Rows of an items table: a browser shows so many on one page without delay."""

_MOST_OTHERS = 3000
"""Pages of any other kind; a kind with more has a query that was not meant to be followed."""
_MOST_PAIRS = 6
"""Up to so many runs, every two of them are compared; of more, each with the one before it."""
_WAIT_SECONDS = 600.0
_MARKER = "adjudge-copy.json"
_POLICY = (
    "default-src 'none'; style-src 'self' file:; script-src 'self' file:; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'"
)
"""As the server's. Not every browser counts a file beside the page as 'self'; a page of a web server loads no file."""

OnProgress = Callable[[int, int], None]
"""Called with the number of pages written, and of those known so far."""


class Limits(Struct, frozen=True):
    """What a copy holds: its runs, and how many items of each."""

    runs: tuple[str, ...]
    most_items: int = MOST_ITEMS

    def kept(self, n_items: int, n_rows: int) -> int:
        """How many items of a run with so many items and rows are copied."""
        rows_per_item = max(1.0, n_rows / max(1, n_items))
        return min(n_items, self.most_items, int(MOST_ROWS / rows_per_item))


class LeftOut(Struct, frozen=True):
    """A run of which not all items are in the copy."""

    run: str
    n_items: int
    n_all: int


class Written(Struct, frozen=True):
    """What a copy has."""

    runs: tuple[str, ...]
    n_pages: int
    n_bytes: int
    left_out: tuple[LeftOut, ...]
    running: tuple[str, ...]
    """runs that are not in the copy because they had not ended"""
    is_capped: bool = False
    """whether pages of a kind were too many to copy all"""


def write_copy(
    store_path: Path,
    run: str | None,
    folder: Path,
    *,
    most_items: int = MOST_ITEMS,
    given: LabelFile | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> Written:
    """Write the pages of one run, or of all runs that have ended, into a new folder or in place of an earlier copy."""
    with open_store(store_path, write=False) as store:
        known = store.runs()
        wanted = known if run is None else [store.run(run)]
    ended = [one for one in wanted if one.status != "running"]
    running = tuple(one.name for one in wanted if one.status == "running")
    if not ended:
        raise StoreError(_nothing_ended(store_path, running))
    _check_target(folder)
    context = Context(store_path, given)
    context.limits = Limits(tuple(one.name for one in ended), most_items)
    with _new_folder(folder) as part:
        crawl = _Crawl(context, part, _hidden_paths(store_path, ended), on_progress)
        asyncio.run(crawl.run(is_single=run is not None))
        _finish(part, crawl.files)
        n_bytes = sum(path.stat().st_size for path in part.rglob("*") if path.is_file())
        _put_in_place(part, folder)
    left_out = tuple(crawl.left_out)
    return Written(context.limits.runs, crawl.n_pages, n_bytes, left_out, running, crawl.is_capped)


def _nothing_ended(store_path: Path, running: Sequence[str]) -> str:
    if running:
        return f"Run {running[0]} has not ended, and a copy shows one moment.\nExport it when it has ended."
    return f"{store_path}: the store has no runs to export.\nStart one with `adjudge run`."


# The folder


def _check_target(folder: Path) -> None:
    """`DataError` unless the folder is new, empty, or an earlier copy to which nothing was added."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise DataError(f"{folder} is not a folder. Name a new folder for the export.")
    if not folder.absolute().parent.is_dir():
        raise DataError(f"There is no folder {folder.absolute().parent}. Create it, or choose another place.")
    if not folder.exists() or not any(folder.iterdir()):
        return
    written = _files_of(folder)
    if written is None:
        raise DataError(f"{folder} has files that are not from an export. Name a new or an empty folder.")
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if added := sorted(there - written - {_MARKER}):
        raise DataError(
            f"{folder} is an earlier export, but {added[0]} was added to it. Move it away, or name a new folder."
        )


def _files_of(folder: Path) -> set[str] | None:
    """The files of an earlier copy, by its marker; none where it has no valid one."""
    try:
        marker = json.loads((folder / _MARKER).read_text(encoding="utf-8"))
        return (
            {str(name) for name in marker["files"]} if marker["made_by"] == "adjudge view --export" else None
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextlib.contextmanager
def _new_folder(folder: Path) -> Any:
    """A folder beside the target, deleted where the export fails."""
    try:
        part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.absolute().parent))
        (part / "pages").mkdir()
        (part / "static").mkdir()
    except OSError as fault:
        raise DataError(f"{folder} cannot be written: {fault.strerror}. Choose another place.") from fault
    try:
        yield part
    except OSError as fault:
        raise DataError(f"{folder} cannot be written: {fault.strerror}. Nothing was exported.") from fault
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _finish(part: Path, files: Iterable[str]) -> None:
    """The list of files, which marks the folder as ours, and the usual rights instead of those of a temporary folder."""
    marker = {"made_by": "adjudge view --export", "version": __version__, "files": sorted(files)}
    (part / _MARKER).write_text(json.dumps(marker, indent=1), encoding="utf-8")
    mask = os.umask(0o022)
    os.umask(mask)
    part.chmod(0o777 & ~mask)


def _put_in_place(part: Path, folder: Path) -> None:
    """Rename the complete copy; an earlier one is deleted only when the new one is there."""
    if not folder.exists():
        os.rename(part, folder)
        return
    if not any(folder.iterdir()):
        folder.rmdir()
        os.rename(part, folder)
        return
    _check_target(folder)
    earlier = part.with_suffix(".earlier")
    os.rename(folder, earlier)
    os.rename(part, folder)
    shutil.rmtree(earlier, ignore_errors=True)


# What the pages must not show

_PATH = re.compile(r"(?:^|(?<=[\s'\"=:,]))(?!//)(?:/|[A-Za-z]:[\\/])[^\s'\",]*[\\/][^\s'\",]+")
"""An absolute path where one can begin: not in the middle of an address or of a model's name."""


def _hidden_paths(store_path: Path, runs: Sequence[RunRow]) -> dict[str, str]:
    """Absolute paths of this machine that a page may name → what it shows instead."""
    texts = [str(path) for path in (store_path, store_path.absolute(), store_path.resolve())]
    for run in runs:
        texts += _strings(run.manifest)
    paths = {match[0] for text in texts for match in _PATH.finditer(text)}
    paths |= {text for text in texts if text.startswith("/") and "/" in text[1:] and "\n" not in text}
    shown = {path: re.split(r"[\\/]", path.rstrip("\\/"))[-1] for path in paths}
    return dict(sorted(shown.items(), key=lambda pair: -len(pair[0])))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in _strings(part)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in _strings(part)]
    return []


# Addresses


class Address(NamedTuple):
    """A page of the application, in one spelling for all addresses that show the same."""

    path: str
    query: tuple[tuple[str, str], ...]

    @property
    def url(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    def get(self, name: str) -> str:
        return dict(self.query).get(name, "")


_QUERIES = {
    "/": (),
    "/run": ("run",),
    "/items": ("run",),
    "/items/export": ("run", "format"),
    "/item": ("run", "n"),
    "/matrix": ("run", "of", "by", "colour", "sort", "page"),
    "/compare": ("with",),
}
"""The parts of a query that make another page; a filter of a list is applied by the script of the copy."""

_BY_SCRIPT = ("/", "/items")
"""Lists that the script of the copy filters and sorts: the rest of their query becomes the fragment."""

_SUFFIXES = {"text/html": "html", "text/csv": "csv", "application/x-ndjson": "jsonl"}


def read_address(href: str) -> tuple[Address, str]:
    """The page that a link of the application leads to, and the fragment of the link in a copy."""
    parts = urlsplit(href)
    path, fragment = unquote(parts.path), parts.fragment
    query = parse_qsl(parts.query)
    kept = _QUERIES.get(path)
    if path == "/matrix" and dict(query).get("open"):
        # The item of a cell opens beside the matrix by a request of its own: in a copy it is a page.
        return Address("/item", (("n", dict(query)["open"]), ("run", dict(query).get("run", "")))), ""
    if kept is None:
        return Address(path, _in_order(query)), fragment
    rest = [(name, value) for name, value in query if name not in kept and name != "part"]
    if path in _BY_SCRIPT and rest:
        fragment = urlencode(rest)
    return Address(path, _in_order([pair for pair in query if pair[0] in kept])), fragment


def _in_order(query: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """A query in one order for all addresses of a page; which of two runs comes first stays as it is."""
    return tuple(sorted(query, key=lambda pair: pair[0]))


class _Crawl:
    """One copy: which pages are known, which are written, and what was left out."""

    def __init__(
        self, context: Context, folder: Path, hidden: Mapping[str, str], on_progress: OnProgress
    ) -> None:
        assert context.limits is not None
        self._context, self._limits, self._folder = context, context.limits, folder
        self._app = build_pages(context)
        self._hidden = hidden
        self._on_progress = on_progress
        self._names: dict[Address, str] = {}
        self._waiting: list[Address] = []
        self._moved: dict[Address, str] = {}
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
        start = Address("/run", (("run", self._limits.runs[0]),)) if is_single else Address("/", ())
        self._names[start] = "index.html"
        self._waiting.append(start)
        for run in self._limits.runs:
            items = Address("/items", (("run", run),))
            self._add(items)
            _, _, body = await self._settled(items.url)
            for href in _hrefs(body.decode("utf-8")):
                await self.link(href, items)
            self._note_left_out(run)
        for pair in _pairs(self._limits.runs):
            self._add(Address("/compare", tuple(("with", name) for name in pair)))
        while self._waiting:
            await self._write(self._waiting.pop(0))
            self._on_progress(self.n_pages, self.n_pages + len(self._waiting))

    def _note_left_out(self, run: str) -> None:
        with self._context.reading() as store:
            n_all = self._context.totals(store, store.run(run)).items
        n_items = sum(one.path == "/item" and one.get("run") == run for one in self._names)
        if n_items < n_all:
            self.left_out.append(LeftOut(run, n_items, n_all))

    def _write_static(self) -> None:
        from importlib.resources import files

        for entry in (files("adjudge.web") / "static").iterdir():
            if entry.name in ("adjudge.css", "adjudge.js", "view.css"):
                self._put(f"static/{entry.name}", entry.read_bytes())

    def _put(self, name: str, data: bytes) -> None:
        (self._folder / name).write_bytes(data)
        self.files.append(name)

    # Which pages there are

    def _add(self, address: Address) -> str:
        """The file of a page; a new one is written later."""
        known = self._names.get(address)
        if known is None:
            self._n_of_kind[address.path] += 1
            known = self._names[address] = self._new_name(address)
            self._waiting.append(address)
        return known

    def _new_name(self, address: Address) -> str:
        # A route has letters and slashes; anything else would be another program's address.
        kind = re.sub(r"[^a-z]+", "-", address.path.lower()).strip("-") or "page"
        suffix = {"csv": "csv", "jsonl": "jsonl"}.get(address.get("format"), "html")
        if address.path == "/item":
            run = self._limits.runs.index(address.get("run")) + 1
            return f"pages/item-{run}-{int(address.get('n')) + 1}.html"
        return f"pages/{kind}-{self._n_of_kind[address.path]}.{suffix}"

    def _is_copied(self, address: Address, source: Address) -> bool:
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
        if address.path == "/matrix" and address.get("page"):
            return int(address.get("page")) <= 1 + self._limits.most_items // 40
        if self._n_of_kind[address.path] < _MOST_OTHERS:
            return True
        self.is_capped = True
        return False

    async def link(self, href: str, source: Address) -> str | None:
        """A link of a page as the copy has it; none where the copy does not have what it leads to."""
        if href.startswith("#") or not href.startswith("/") or href.startswith("//"):
            return href if href.startswith("#") else None
        address, fragment = read_address(href)
        if "worst" in dict(parse_qsl(urlsplit(href).query)):
            # Which disagreements are the largest is known to the server alone: it sends on to their filter.
            moved = await self._location(href)
            address, fragment = read_address(moved)
        if self._is_single and address.path == "/":
            address = Address("/run", (("run", self._limits.runs[0]),))
        elif address.path == "/compare":
            # The page has the older run first, however they are named.
            order = {name: number for number, name in enumerate(self._limits.runs)}
            query = sorted(address.query, key=lambda pair: order.get(pair[1], 0))
            address = Address(address.path, tuple(query))
        name = self._names.get(address)
        if name is None:
            if not self._is_copied(address, source):
                return None
            name = self._add(address)
        here = self._names[source]
        start = "../" if here.startswith("pages/") else ""
        return f"{start}{name}" + (f"#{self._shown_fragment(fragment)}" if fragment else "")

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

    async def _write(self, address: Address) -> None:
        status, headers, body = await self._settled(address.url)
        if status != 200:
            raise StoreError(
                f"The page {address.path} could not be made (status {status}).\nOpen it with `adjudge view` to see why."
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

    async def _rewritten(self, text: str, source: Address) -> str:
        # Forms that choose a view become links.
        forms = _choosing_forms(text)
        hrefs = [*_hrefs(text), *(href for form in forms for href in form.hrefs)]
        links = {href: await self.link(href, source) for href in dict.fromkeys(hrefs)}
        prefix = "../" if self._names[source].startswith("pages/") else ""
        compared = [
            (pair, f"{prefix}{self._names[address]}")
            for pair in _pairs(self._limits.runs)
            if (address := Address("/compare", tuple(("with", name) for name in pair))) in self._names
        ]
        return _Rewriter(links, forms, prefix, self._note(source), compared).rewrite(text)

    def _note(self, source: Address) -> str:
        """What the copy is, and what it lacks, for the foot of every page."""
        run = source.get("run")
        parts = [f"Copy of {self._made}: searching whole texts, updates and labelling need adjudge view."]
        parts += [
            f"It has {one.n_items:,} of the {count(one.n_all, 'item')} of {one.run}; the other items and the links to them are left out."
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
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": unquote(parts.path), "raw_path": parts.path.encode(), "root_path": "",
            "query_string": parts.query.encode(), "headers": [(b"host", b"copy")], "server": ("copy", 80),
        }  # fmt: skip
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


# Pages as files

_HREF = re.compile(r'\s(?:href|data-copy)="([^"]*)"')
"""A quotation mark in a text is escaped: only attributes of our templates match."""

_KEPT_FORMS = ("#rows", "#runs")
"""Filters of lists, which the script of the copy applies."""

_DROPPED_ATTRIBUTES = ("data-live", "data-version", "data-pane")
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())


def _hrefs(text: str) -> list[str]:
    return [unescape(href) for href in _HREF.findall(text)]


class Choice(Struct):
    """One selection of a form: its label and its options (value, text, whether it is selected)."""

    name: str
    label: str
    options: list[tuple[str, str, bool]]


class ChoosingForm(Struct):
    """A form that chooses how a page is shown, by selections alone."""

    action: str
    fixed: dict[str, str]
    choices: list[Choice]

    def href(self, choice: Choice, value: str) -> str:
        """The address of the page with another choice."""
        chosen = {
            one.name: next((option for option, _, is_selected in one.options if is_selected), "")
            for one in self.choices
        }
        query = {**self.fixed, **chosen, choice.name: value}
        return f"{self.action}?{urlencode({name: text for name, text in query.items() if text})}"

    @property
    def hrefs(self) -> list[str]:
        return [self.href(choice, value) for choice in self.choices for value, _, _ in choice.options]


def _is_choosing(attributes: Mapping[str, str | None]) -> bool:
    target = attributes.get("data-instant")
    return (
        target is not None and target not in _KEPT_FORMS and (attributes.get("action") or "").startswith("/")
    )


def _choosing_forms(text: str) -> list[ChoosingForm]:
    if "data-instant" not in text:
        return []
    reader = _FormReader()
    reader.feed(text)
    reader.close()
    return reader.forms


class _FormReader(HTMLParser):
    """Reads the forms that choose a view."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[ChoosingForm] = []
        self._form: ChoosingForm | None = None
        self._label: list[str] = []
        self._option: tuple[str, bool] | None = None
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "form" and _is_choosing(values):
            self._form = ChoosingForm(values.get("action") or "", {}, [])
            self.forms.append(self._form)
        if self._form is None:
            return
        if tag == "input" and values.get("type") == "hidden":
            self._form.fixed[values.get("name") or ""] = values.get("value") or ""
        elif tag == "label":
            self._label = []
        elif tag == "select":
            self._form.choices.append(Choice(values.get("name") or "", "".join(self._label).strip(), []))
        elif tag == "option":
            self._option = (values.get("value") or "", "selected" in values)
            self._text = []

    def handle_data(self, data: str) -> None:
        (self._text if self._option is not None else self._label).append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "option" and self._option is not None:
            if self._form is not None:
                value, is_selected = self._option
                self._form.choices[-1].options.append((value, "".join(self._text).strip(), is_selected))
            self._option = None


class _Rewriter(HTMLParser):
    """Writes a page as a file of the copy. What is not changed is copied as it stands."""

    def __init__(
        self,
        links: Mapping[str, str | None],
        forms: Sequence[ChoosingForm],
        prefix: str,
        note: str,
        compared: Sequence[tuple[tuple[str, str], str]],
    ) -> None:
        super().__init__(convert_charrefs=False)
        self._links, self._forms, self._prefix = links, list(forms), prefix
        self._note, self._compared = note, compared
        self._out: list[str] = []
        self._skipped = ""
        self._depth = 0
        self._kept_forms: list[bool] = []

    def rewrite(self, text: str) -> str:
        self.feed(text)
        self.close()
        return "".join(self._out)

    # Tags

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipped:
            self._depth += tag == self._skipped
            return
        values = dict(attrs)
        if tag == "form" and self._begin_form(values):
            return
        if self._needs_server(tag, values):
            if tag not in _VOID:
                self._skipped, self._depth = tag, 1
            return
        self._out.append(self._start(tag, values))
        if tag == "meta" and "charset" in values:
            self._out.append(f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">')
        if tag == "footer":
            self._out.append(f"<p>{escape(self._note)}</p>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag, attrs  # marks of a chart, which lead nowhere
        if not self._skipped:
            self._out.append(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            self._depth -= tag == self._skipped
            if not self._depth:
                self._skipped = ""
            return
        if tag == "form" and self._kept_forms and not self._kept_forms.pop():
            return
        self._out.append(f"</{tag}>")

    def _begin_form(self, values: Mapping[str, str | None]) -> bool:
        """Whether a form was replaced by something else."""
        if _is_choosing(values) and self._forms:
            self._out.append(self._choices(self._forms.pop(0)))
            self._skipped, self._depth = "form", 1
            return True
        if values.get("method") == "post" or {"data-save", "data-form"} & values.keys():
            self._skipped, self._depth = "form", 1
            return True
        is_kept = values.get("method") == "dialog" or values.get("data-instant") in _KEPT_FORMS
        self._kept_forms.append(is_kept)
        if not is_kept and values.get("action") == "/compare":
            self._out.append(self._comparisons())
        return not is_kept

    def _needs_server(self, tag: str, values: Mapping[str, str | None]) -> bool:
        if tag == "meta":
            return values.get("name") == "csrf" or (values.get("http-equiv") or "").lower() == "refresh"
        if "data-post" in values or "data-form" in values or "data-copy-text" in values:
            return True
        in_form = bool(self._kept_forms) and self._kept_forms[-1]
        is_control = tag in ("input", "select", "textarea") or (tag == "button" and "data-help" not in values)
        return is_control and not in_form and not {"data-theme-switch", "data-copy"} & values.keys()

    def _start(self, tag: str, values: dict[str, str | None]) -> str:
        """A start tag with its links as the copy has them."""
        changed = {name: value for name, value in values.items() if name not in _DROPPED_ATTRIBUTES}
        if tag == "html":
            changed["data-static"] = ""
        elif tag == "form":
            changed = {name: value for name, value in changed.items() if name != "action"}
        for name in ("href", "src", "data-copy"):
            value = changed.get(name)
            if value is None or tag == "base":
                continue
            if value.startswith("/static/"):
                changed[name] = f"{self._prefix}{value[1:]}"
            elif not value.startswith("data:"):
                target = self._links.get(value)
                changed[name] = target
                if target is None:
                    del changed[name]
                    changed |= (
                        {"aria-disabled": "true", "title": "not in this copy"} if name == "href" else {}
                    )
        if changed == values:
            return self.get_starttag_text() or ""
        parts = [name if value is None else f'{name}="{escape(value)}"' for name, value in changed.items()]
        return f"<{' '.join((tag, *parts))}>"

    # Text

    def _copy(self, text: str) -> None:
        if not self._skipped:
            self._out.append(text)

    def handle_data(self, data: str) -> None:
        self._copy(data)

    def handle_entityref(self, name: str) -> None:
        self._copy(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._copy(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._copy(f"<!{decl}>")

    # What takes the place of forms

    def _choices(self, form: ChoosingForm) -> str:
        lines = []
        for choice in form.choices:
            links = []
            for value, text, is_selected in choice.options:
                href = self._links.get(form.href(choice, value))
                current = ' aria-current="true"' if is_selected else ""
                if href is not None:
                    links.append(
                        f'<a class="chip" href="{escape(href)}"{current}><bdi>{escape(text)}</bdi></a>'
                    )
            if len(links) > 1:
                lines.append(
                    f'<span class="row small"><span class="muted">{escape(choice.label)}</span> {" ".join(links)}</span>'
                )
        return f'<nav class="toolbar" aria-label="View">{" ".join(lines)}</nav>' if lines else ""

    def _comparisons(self) -> str:
        links = [
            f'<a class="chip" href="{escape(href)}"><bdi>{escape(first)}</bdi> and <bdi>{escape(second)}</bdi></a>'
            for (first, second), href in self._compared
        ]
        return (
            f'<nav class="row small" aria-label="Comparisons"><span class="muted">Compare</span> {" ".join(links)}</nav>'
            if links
            else ""
        )

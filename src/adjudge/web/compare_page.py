"""The viewer's comparison of two runs as a change: means joined by lines, ranks, and the items that moved, word by word.

All numbers are those of `adjudge compare --json`; here they are drawn, and the replies behind them are shown side by side.
The same parts make the single file of `adjudge compare --html`, which has no links and no replies.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup
from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..analysis.compare_words import MOVED, RANKS, answer_text, compare_sections
from ..analysis.item_view import shorten
from ..analysis.match import Comparison, CriterionComparison, MovedItem
from ..errors import AdjudgeError, StoreError
from ..records import Item
from ..store import RunRow, Store
from ..store.browsing import (
    CallOutcome,
    calls_of_item,
    item_at,
    items_between,
    items_named,
    labels_state,
    reading_of,
)
from .charts import slopes
from .items_index import field_text
from .items_table import query_number
from .run_pages import WAIT_SECONDS, Cached, line_of
from .section_view import Figure, SectionView, view_of
from .server import Context

if TYPE_CHECKING:
    from ..analysis.run_view import RunView

_MOST_CACHED = 50
MOST_SHOWN = 8
"""Items of a criterion whose replies are on the page; the others are a link away."""
LONGEST_REPLY = 6000
MOST_RANKED = 40
_LONGEST_NAME = 18

# Words that differ

Span = tuple[int, int]

_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+|[^\w\s]")
"""A word, a sign, or one character of a script that has no spaces between words."""
_MOST_CELLS = 60_000
"""Of the table of one exact comparison; a longer part is first divided at words that both texts have once."""
_ALL_CELLS = 400_000
_DEEPEST = 6


def changed_spans(before: str, after: str) -> tuple[list[Span], list[Span]]:
    """What differs between two texts, word by word, as spans of each; in time that grows with their length only."""
    tokens = [list(_TOKEN.finditer(text)) for text in (before, after)]
    first, second = ([match[0] for match in found] for found in tokens)
    kept = _Kept(first, second)
    return _spans(tokens[0], kept.first), _spans(tokens[1], kept.second)


class _Kept:
    """Which words two texts have in common, in the same order."""

    def __init__(self, first: Sequence[str], second: Sequence[str]) -> None:
        self._a, self._b = first, second
        self.first: set[int] = set()
        self.second: set[int] = set()
        self._cells = _ALL_CELLS
        parts = [(0, len(first), 0, len(second), 0)]
        while parts:
            parts += self._divide(*parts.pop())

    def _keep(self, a: int, b: int) -> None:
        self.first.add(a)
        self.second.add(b)

    def _divide(
        self, a: int, a_end: int, b: int, b_end: int, depth: int
    ) -> list[tuple[int, int, int, int, int]]:
        """Compare one part of both texts; what is too long for that is divided, and returned in parts."""
        while a < a_end and b < b_end and self._a[a] == self._b[b]:
            self._keep(a, b)
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and self._a[a_end - 1] == self._b[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            self._keep(a_end, b_end)
        n_cells = (a_end - a) * (b_end - b)
        if not n_cells:
            return []
        if n_cells <= min(_MOST_CELLS, self._cells):
            self._cells -= n_cells
            self._compare(a, a_end, b, b_end)
            return []
        if depth == _DEEPEST:
            return []
        parts: list[tuple[int, int, int, int, int]] = []
        for a_anchor, b_anchor in (*self._anchors(a, a_end, b, b_end), (a_end, b_end)):
            if (a_anchor, b_anchor) == (a_end, b_end) and not parts and a == a_anchor:
                break
            parts.append((a, a_anchor, b, b_anchor, depth + 1))
            a, b = a_anchor, b_anchor
        return parts if len(parts) > 1 else []

    def _anchors(self, a: int, a_end: int, b: int, b_end: int) -> list[tuple[int, int]]:
        """Places of words that both parts have once, as many as are in the same order (patience)."""
        counts = [Counter(self._a[a:a_end]), Counter(self._b[b:b_end])]
        place_of = {word: b + k for k, word in enumerate(self._b[b:b_end]) if counts[1][word] == 1}
        places = [
            (a + k, place_of[word])
            for k, word in enumerate(self._a[a:a_end])
            if counts[0][word] == 1 and word in place_of
        ]
        ends: list[int] = []
        last: list[int] = []
        before: list[int | None] = []
        for index, (_, place) in enumerate(places):
            length = bisect_left(ends, place)
            before.append(last[length - 1] if length else None)
            ends[length : length + 1] = [place]
            last[length : length + 1] = [index]
        chain: list[tuple[int, int]] = []
        at = last[-1] if last else None
        while at is not None:
            chain.append(places[at])
            at = before[at]
        return [place for place in reversed(chain) if place != (a, b)]

    def _compare(self, a: int, a_end: int, b: int, b_end: int) -> None:
        """The longest common sequence, from a table of lengths."""
        wide = b_end - b + 1
        lengths = [[0] * wide]
        for word in self._a[a:a_end]:
            above, row = lengths[-1], [0]
            for k in range(1, wide):
                is_same = word == self._b[b + k - 1]
                row.append(above[k - 1] + 1 if is_same else max(above[k], row[-1]))
            lengths.append(row)
        i, k = a_end - a, wide - 1
        while i and k:
            if self._a[a + i - 1] == self._b[b + k - 1]:
                i, k = i - 1, k - 1
                self._keep(a + i, b + k)
            elif lengths[i - 1][k] >= lengths[i][k - 1]:
                i -= 1
            else:
                k -= 1


def _spans(tokens: Sequence[re.Match[str]], kept: set[int]) -> list[Span]:
    """The spans of the words that are not kept; neighbours are one span."""
    spans: list[Span] = []
    was_changed = False
    for number, match in enumerate(tokens):
        is_changed = number not in kept
        if is_changed and was_changed:
            spans[-1] = (spans[-1][0], match.end())
        elif is_changed:
            spans.append(match.span())
        was_changed = is_changed
    return spans


# Replies side by side


class Words(Struct, frozen=True):
    """A text of one run, with what the other run says in another way."""

    about: str
    text: str
    spans: tuple[Span, ...] = ()


class TwoTexts(Struct, frozen=True):
    """The same call, or the same field, in both runs; none where a run has none."""

    first: Words | None
    second: Words | None

    @property
    def is_same(self) -> bool:
        return self.first is not None and self.second is not None and self.first.text == self.second.text


class MovedView(Struct, frozen=True):
    """An item that moved, with the replies of both runs."""

    item: str
    title: str
    url: str
    replies: tuple[TwoTexts, ...]


class Shown(Struct, frozen=True):
    """What the page of a comparison shows."""

    sections: tuple[SectionView, ...]
    moved: dict[str, tuple[MovedView, ...]]
    """title of a criterion's section → its items"""


def two_texts(about: tuple[str, str], before: str | None, after: str | None) -> TwoTexts:
    """Two texts, shortened, with their differing words."""
    texts = [None if text is None else shorten(text, LONGEST_REPLY).text for text in (before, after)]
    left, right = texts
    spans: tuple[list[Span], list[Span]] = ([], [])
    if left is not None and right is not None and left != right:
        spans = changed_spans(left, right)
    words = [
        None if text is None else Words(name, text, tuple(found))
        for name, text, found in zip(about, texts, spans, strict=True)
    ]
    return TwoTexts(words[0], words[1])


def replies_of(
    calls: Sequence[CallOutcome], protocol: str = "", criterion: str = ""
) -> list[tuple[str, str, str]]:
    """Judge, order and text of each reply, or its error; of one protocol and criterion where they are named."""
    return [
        (
            call.about.model,
            call.about.order,
            call.reply.text
            if call.reply is not None
            else f"No reply: {call.error.kind.replace('_', ' ')}."
            if call.error is not None
            else "",
        )
        for call in calls
        if call.about.kind not in ("reask", "steps")
        and (not protocol or call.about.protocol == protocol)
        and (not criterion or criterion in call.about.criteria)
    ]


def side_by_side(
    first: Sequence[tuple[str, str, str]], second: Sequence[tuple[str, str, str]]
) -> list[TwoTexts]:
    """The replies of two runs, matched by judge and order where both have them, else by their place."""
    rest = list(second)
    pairs: list[tuple[tuple[str, str, str] | None, tuple[str, str, str] | None]] = []
    for reply in first:
        same = next((one for one in rest if one[:2] == reply[:2]), None)
        same = same or next((one for one in rest if one[1] == reply[1]), rest[0] if rest else None)
        if same is not None:
            rest.remove(same)
        pairs.append((reply, same))
    pairs += [(None, reply) for reply in rest]
    return [
        two_texts(
            (_about(before), _about(after)),
            None if before is None else before[2],
            None if after is None else after[2],
        )
        for before, after in pairs
    ]


def _about(reply: tuple[str, str, str] | None) -> str:
    if reply is None:
        return ""
    from .templating import judge_name

    return f"{judge_name(reply[0])}, b shown first" if reply[1] == "ba" else judge_name(reply[0])


# The parts of a comparison


def parts_of(comparison: Comparison, places: Mapping[str, int] | None = None) -> tuple[SectionView, ...]:
    """The sections of a comparison as HTML, with the ranks as a picture.

    Items are links where their numbers in the first run are given.
    """
    moved = [card.moved for card in comparison.criteria.values() if card.moved]
    orders = [card.order for card in comparison.criteria.values() if card.order is not None]
    views = []
    for section in compare_sections(comparison):
        figures: tuple[Figure, ...] = ()
        if section.title == RANKS and orders:
            order = orders.pop(0)
            figures = tuple(_rank_figure(order.first, order.second, comparison))
        view = view_of(section, figures)
        if section.title == MOVED and section.rows:
            items = [one.item for one in moved.pop(0)]
            if places is not None:
                runs = (comparison.first, comparison.second)
                view = _with_links(view, [item_url(runs, item, places.get(item)) for item in items])
        views.append(view)
    return tuple(views)


def item_url(runs: Iterable[str], item: str, place: int | None) -> str:
    """One item in both runs. Its number in one of them saves a search for its id."""
    query = [*(("with", run) for run in runs), ("item", item)]
    return f"/compare/item?{urlencode(query if place is None else [*query, ('n', str(place))])}"


def _with_links(view: SectionView, urls: Sequence[str]) -> SectionView:
    """The section with a link on each name of its table."""
    if view.table is None:
        return view
    rows = tuple(
        tuple(structs.replace(cell, url=url) if cell.is_name else cell for cell in row)
        for row, url in zip(view.table.rows, urls, strict=True)
    )
    return structs.replace(view, table=structs.replace(view.table, rows=rows))


def _rank_figure(first: Sequence[str], second: Sequence[str], comparison: Comparison) -> Iterator[Figure]:
    if not 1 < len(first) <= MOST_RANKED:
        return
    place = {name: rank for rank, name in enumerate(second, start=1)}
    names = [(_short(name), rank, place[name]) for rank, name in enumerate(first, start=1)]
    heads = (_short(comparison.first), _short(comparison.second))
    title = f"ranks of the systems in {comparison.first} and {comparison.second}"
    yield Figure("Rank by mean, 1 is best", slopes(names, heads, title))


def _short(name: str) -> str:
    """A name that fits beside a chart: the middle is left out."""
    half = (_LONGEST_NAME - 1) // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[:half]}…{name[-half:]}"


def write_comparison(comparison: Comparison, path: Path) -> int:
    """Write a comparison as one HTML file that opens offline; returns its size in bytes."""
    from .report_file import policy, style, write_page
    from .templating import render

    css = style()
    text = render(
        "report/comparison.html",
        comparison=comparison,
        sections=parts_of(comparison),
        css=Markup(css),  # a file of the package: nothing in it needs escaping
        policy=policy(css),
    )
    return write_page(path, text)


class ComparePage:
    """The endpoints of a comparison."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._cache: dict[tuple[str, str], Cached[Shown]] = {}

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
            lines = [line_of(run, self._context.totals(store, run)) for run in runs]
            state = (lines, [reading_of(store, run) for run in runs], labels_state(store))
        first, second = (line.run for line in lines)
        cached = self._cached_for(first, second)
        refusal = ""
        parts: Shown | None = None
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

    def _cached_for(self, first: str, second: str) -> Cached[Shown]:
        with self._lock:
            if len(self._cache) > _MOST_CACHED:
                self._cache.clear()
            return self._cache.setdefault((first, second), Cached(lambda: self._make(first, second)))

    def _make(self, first: str, second: str) -> Shown:
        """Runs in a thread, so it opens the store for itself."""
        from ..analysis.compare import compare_views, labels_of_runs
        from ..analysis.run_view import tabulate

        with self._context.reading() as store:
            runs = [store.run(name) for name in (first, second)]
            views: list[RunView] = [tabulate(store, run, for_comparison=True) for run in runs]
            given = self._context.given
            labels = labels_of_runs(store, (first, second)) if given is None else given.labels
            comparison = compare_views(views[0], views[1], labels=labels)
            sections = parts_of(comparison, views[0].seqs)
            moved = dict(self._moved(store, runs, [view.seqs for view in views], comparison))
        return Shown(sections, _by_section(sections, list(comparison.criteria), moved))

    def _moved(
        self,
        store: Store,
        runs: Sequence[RunRow],
        numbers: Sequence[Mapping[str, int]],
        comparison: Comparison,
    ) -> Iterator[tuple[str, tuple[MovedView, ...]]]:
        for name, card in comparison.criteria.items():
            shown = card.moved[:MOST_SHOWN]
            yield name, tuple(self._moved_view(store, runs, numbers, card, one) for one in shown)

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


def _by_section(
    sections: Sequence[SectionView], names: Sequence[str], moved: dict[str, tuple[MovedView, ...]]
) -> dict[str, tuple[MovedView, ...]]:
    """The items of each section of moved items, by the place of the section."""
    waiting = [name for name in names if moved.get(name)]
    found = {}
    for place, view in enumerate(sections):
        if view.section.title == MOVED and view.section.rows and waiting:
            found[str(place)] = moved[waiting.pop(0)]
    return found


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
        texts = [field_text(one[name]) if name in one else None for one in fields]
        if texts[0] != texts[1]:
            yield name, two_texts(("", ""), texts[0], texts[1])


# The same item in other runs

_MOST_RUNS = 12
_MOST_SEARCHED = 20_000
"""Items of all other runs together."""


class SameItem(Struct, frozen=True):
    """Another run that has an item."""

    run: str
    url: str
    beside: str
    """both runs side by side"""


def same_item(store: Store, run: RunRow, item: Item, seq: int, runs: Iterable[RunRow]) -> list[SameItem]:
    """The other runs that have the item, the latest first.

    Runs of the same items have it at the same place. Elsewhere it is searched, which takes too long in a large run.
    """
    found: list[SameItem] = []
    n_searched = 0
    for other in runs:
        if other.id == run.id or len(found) == _MOST_RUNS:
            continue
        there = items_between(store, other, seq, seq).get(seq)
        number = seq if there is not None and there.id == item.id else None
        n_items = int(other.manifest.get("items", {}).get("n") or _MOST_SEARCHED)
        if number is None and n_searched + n_items <= _MOST_SEARCHED:
            n_searched += n_items
            number = items_named(store, other, [item.id]).get(item.id)
        if number is not None:
            pair = [run.name, other.name] if run.id < other.id else [other.name, run.name]
            url = f"/item?{urlencode({'run': other.name, 'n': number})}"
            found.append(SameItem(other.name, url, item_url(pair, item.id, seq)))
    return found

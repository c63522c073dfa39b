"""The report as one HTML file that opens offline: everything is in it, nothing is fetched, nothing runs.

Its policy allows the one style block by its hash and forbids scripts, frames and fetches. The calls of the most notable
items are in it, their texts shortened until the file is small enough to send. Which items are notable is decided here in one
pass over the results; nothing is random, so the same run always shows the same items.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import heapq
import os
import re
import shlex
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from pathlib import Path

from markupsafe import Markup
from msgspec import Struct, structs

from ..analysis.item_view import ItemView, item_view
from ..analysis.label_join import LabelledTable, read_labels_for
from ..analysis.rank import has_logprobs
from ..analysis.report import summarise
from ..analysis.result_types import Summary
from ..analysis.run_view import RunView, tabulate
from ..errors import DataError
from ..records import Item, Protocol, Result, Scale
from ..sections import Section
from ..store import RunRow, Store
from ..store.browsing import CallOutcome, calls_of_item, item_at
from ..words import status_text
from .run_parts import RunParts, known_of, run_parts
from .section_view import views_of
from .templating import render, static_text

# Notable items: far from human labels, failed, worst, least certain, most disagreed on

MOST_ITEMS = 20
_OF_A_KIND = 3
_FAILURE_WEIGHT = {"conflicting": 3.0, "refused": 3.0, "out_of_range": 2.0, "unparsed": 2.0, "truncated": 1.0}
"""A refusal or a conflict is rarer and says more than a missing reply."""

Scales = Mapping[tuple[str, str], Scale | None]
"""(protocol, criterion) → scale"""


class NotableItem(Struct, frozen=True):
    """An item and why it is shown."""

    item: str
    reasons: tuple[str, ...]
    criteria: frozenset[str] = frozenset()
    """the criteria that the reasons are about: calls on these are shown first"""


class Reason(Struct, frozen=True):
    """Why an item is shown, and the criterion that this is about."""

    words: str
    criterion: str


class _Heaviest:
    """The few items of largest weight; of equals those that came first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[tuple[float, int, str, Reason]] = []
        self._n_offered = 0

    def offer(self, weight: float, item: str, words: str, criterion: str) -> None:
        self._n_offered += 1
        entry = (weight, -self._n_offered, item, Reason(words, criterion))
        if any(kept[2] == item for kept in self._kept):
            return
        if len(self._kept) < self._most:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)

    def __iter__(self) -> Iterator[tuple[str, Reason]]:
        for _, _, item, reason in sorted(self._kept, reverse=True):
            yield item, reason


def notable_items(
    results: Iterable[Result],
    scales: Scales,
    points: Mapping[str, LabelledTable] | None = None,
    most: int = MOST_ITEMS,
) -> list[NotableItem]:
    """The most notable items, those farthest from people first. Each kind adds a few; an item may have several reasons."""
    kinds: dict[str, _Heaviest] = {
        name: _Heaviest(_OF_A_KIND)
        for name in ("far", "failed", "worst", "order", "judges", "samples", "unsure", "flagged")
    }
    _offer_far_from_people(kinds["far"], points or {})
    for _, group in groupby(results, key=lambda result: result.item):
        item_results = list(group)
        for result in item_results:
            _offer_result(result, scales, kinds)
        _offer_disagreement(item_results, scales, kinds["judges"])
    return _take_turns(kinds, most)


def _offer_result(result: Result, scales: Scales, kinds: Mapping[str, _Heaviest]) -> None:
    """Reasons that one result gives by itself."""
    item, criterion = result.item, result.criterion
    scale = scales.get((result.protocol, criterion))
    name = f"{criterion} of {result.subject}" if result.subject else criterion
    if result.status != "ok":
        words = f"{name}: {status_text(result.status)}"
        kinds["failed"].offer(_FAILURE_WEIGHT.get(result.status, 0.0), item, words, criterion)
    elif result.value is not None and (badness := _badness(result.value, scale)):
        kinds["worst"].offer(badness, item, f"among the lowest on {name}: {result.value:.4g}", criterion)
    if result.spread:
        words = f"samples differ on {name} (standard deviation {result.spread:.2f})"
        kinds["samples"].offer(result.spread / _width(scale), item, words, criterion)
    if result.confidence is not None and result.status == "ok":
        words = f"lowest stated confidence on {name} ({result.confidence:.2f})"
        kinds["unsure"].offer(-result.confidence, item, words, criterion)
    if "order_conflict" in result.flags:
        kinds["order"].offer(0.0, item, f"the choice on {name} changed with the order", criterion)
    for flag in ("injection_suspected", "verdict_contradicts_scores"):
        if flag in result.flags:
            kinds["flagged"].offer(0.0, item, flag.replace("_", " "), criterion)


def _offer_disagreement(results: list[Result], scales: Scales, judges: _Heaviest) -> None:
    """Several judges that disagree on one item."""
    if len({result.model for result in results}) < 2:
        return
    by_question: dict[tuple[str, str, str | None], list[Result]] = {}
    for result in results:
        by_question.setdefault((result.protocol, result.criterion, result.subject), []).append(result)
    item = results[0].item
    for (protocol, criterion, _), answers in by_question.items():
        values = [result.value for result in answers if result.value is not None]
        choices = {result.choice for result in answers if result.choice is not None}
        if len(values) > 1 and max(values) > min(values):
            difference = (max(values) - min(values)) / _width(scales.get((protocol, criterion)))
            words = f"judges differ on {criterion}: {min(values):.4g} and {max(values):.4g}"
            judges.offer(difference, item, words, criterion)
        elif {"a", "b"} <= choices:
            judges.offer(1.0, item, f"judges choose opposite sides on {criterion}", criterion)


def _offer_far_from_people(far: _Heaviest, points: Mapping[str, LabelledTable]) -> None:
    for name, joined in points.items():
        if not joined.is_same_scale:
            continue
        for row in joined.labelled():
            if isinstance(row.answer, float | int) and isinstance(row.label, float | int):
                difference = abs(row.answer - row.label)
                if difference:
                    words = f"{name}: judge {row.answer:.4g}, people {row.label:.4g}"
                    far.offer(difference / _width(joined.scale), row.item, words, joined.criterion)
            elif isinstance(row.answer, str) and isinstance(row.label, str) and row.answer != row.label:
                weight = 0.5 if "tie" in (row.answer, row.label) else 1.0
                words = f"{name}: judge chose {row.answer}, people {row.label}"
                far.offer(weight, row.item, words, joined.criterion)


def _take_turns(kinds: Mapping[str, _Heaviest], most: int) -> list[NotableItem]:
    """One of each kind, then the second of each, so that no kind crowds out the others."""
    reasons: dict[str, list[Reason]] = {}
    queues = [list(few) for few in kinds.values()]
    for position in range(_OF_A_KIND):
        for queue in queues:
            if position < len(queue):
                item, reason = queue[position]
                if item in reasons or len(reasons) < most:
                    reasons.setdefault(item, []).append(reason)
    return [
        NotableItem(
            item,
            tuple(dict.fromkeys(reason.words for reason in of_item)),
            frozenset(reason.criterion for reason in of_item),
        )
        for item, of_item in reasons.items()
    ]


def _badness(value: float, scale: Scale | None) -> float | None:
    """How bad a score is, comparable between criteria: 0 at the best end of the scale; none where that is unknown."""
    if scale is None or scale.direction == 0:
        return None
    normal = scale.normalized(value)
    return 1 - normal if normal is not None else -value * scale.direction / 1e6


def _width(scale: Scale | None) -> float:
    if scale is None or scale.low is None or scale.high is None or scale.high <= scale.low:
        return 1.0
    return scale.high - scale.low


# The file

_BEGINNING = b"<!doctype html"


def write_page(path: Path, text: str) -> int:
    """Write a page, completely or not at all; its size in bytes.

    Only an HTML page is overwritten. A link is not followed: it may point to any file.
    """
    _check(path)
    body = text.encode("utf-8", "backslashreplace")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as error:
        raise _cannot(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; a report gets the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        # `replace` does not follow a link, not even one that was made since `_check`.
        os.replace(name, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise _cannot(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)
    return len(body)


def _check(path: Path) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise DataError(
                f"{path} cannot be written: there is no folder {path.parent}. Create it first."
            ) from None
        return
    except (OSError, ValueError) as error:
        raise _cannot(path, error) from error
    if stat.S_ISLNK(status.st_mode):
        raise DataError(f"{path} is a link, and links are not followed. Give the name of the file itself.")
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise DataError(f"{path} is {what}. Give the name of a file, such as report.html.")
    if status.st_size and not _is_page(path):
        raise DataError(
            f"{path} already exists and is not an HTML page, so it is not overwritten. Give another name, such as report.html."
        )


def _is_page(path: Path) -> bool:
    try:
        # Since `lstat` a link may have been put in its place.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(handle, "rb") as file:
            return file.read(64).lstrip().lower().startswith(_BEGINNING)
    except OSError as error:
        raise _cannot(path, error) from error


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _cannot(path: Path, error: OSError | ValueError) -> DataError:
    why = error.strerror if isinstance(error, OSError) else str(error)
    return DataError(f"{path} cannot be written: {why}. Choose another place with --html.")


MOST_BYTES = 950_000
"""A report stays under a megabyte; texts are shortened until it does."""

MOST_CALLS = 4
"""Calls of one item that are shown; the others are counted."""

_LONGEST = 6000
_SHORTEST = 300


def write_report(store: Store, run: RunRow, path: Path, labels: Path | None = None) -> tuple[Summary, int]:
    """Write the report of a run; its summary, and the size of the file in bytes."""
    view = tabulate(store, run, choice_spans=has_logprobs(store, run))
    summary = summarise(view)
    text = report_page(store, view, summary, labels=labels, path=path)
    return summary, write_page(path, text)


def report_page(
    store: Store, view: RunView, summary: Summary, *, labels: Path | None = None, path: Path | None = None
) -> str:
    """The report of a run as a page."""
    assert view.run is not None
    known = known_of(store, view, summary, read_labels_for([view], labels) if labels is not None else None)
    parts = run_parts(summary, **known)
    method = structs.replace(
        parts.method, commands=(*parts.method.commands, *_commands(store, view.run, path, labels, parts))
    )
    notable = notable_items(view.results, view.scales, known["points"])
    parts = structs.replace(parts, method=method)
    return _fitted(parts, _with_calls(store, view, notable), view.protocols, store.path)


def style() -> str:
    """The style sheet without its comments and its line breaks."""
    text = re.sub(r"/\*.*?\*/", "", static_text("adjudge.css"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", text).strip()


_OF_PAGE = re.compile(r"(^|[{},])\s*(?::root|html|body)(?=[\s{,.:\[])")
"""Selectors of the whole page, which a part of a page must not style."""


def fragment(sections: Iterable[Section], title: str = "") -> str:
    """Sections as a part of somebody else's page, such as a notebook; its style is nested below one class."""
    css = _OF_PAGE.sub(r"\1 &", style())
    return render("parts/fragment.html", views=views_of(sections), title=title, css=Markup(css))


def policy(css: str) -> str:
    """The content security policy: this style block, and images inside the page."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


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
    """The few calls to show, in their order: on those criteria first; of many samples the lowest and the highest."""
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
    return render(
        "report/report.html",
        parts=parts,
        label_command=shlex.join(["adjudge", "annotate", run, "-n", "50", *at]),
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

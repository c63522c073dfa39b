"""The results of a stored run: from the table `results` of its store, which is brought up to date first.

Results are combined from judgments item by item, once: by the first reader, or again where judgments, their
reading or `combine` have changed. A store that cannot be written is combined in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from ..errors import StoreError
from ..parse.estimators import failed_judgment
from ..records import PART_KINDS, Item, Protocol, Result
from ..store import Judged, RunRow, Store
from ..store.browsing import judged_between
from ..store.results import CannotStoreError, StoredItem, StoredResult
from .call_digests import JudgeKey, call_digests
from .combine import VERSION, CallJudgment, Kind, combine
from .disagreement import Combined, gaps_of
from .manifest import protocols_of


def results(store: Store, run: RunRow) -> Iterator[Result]:
    """All results of a run, in the order of the items; a call that failed counts as a failure."""
    for item in stored_items(store, run, with_texts=True):
        for stored in item.results or ():
            yield stored.result


def stored_items(
    store: Store, run: RunRow, *, with_texts: bool = False, on_read: Callable[[int], None] | None = None
) -> Iterator[StoredItem]:
    """The results of a run item by item, in the order of the items.

    Explanations, evidence and notes only with `with_texts`: an analysis does not need them. `on_read` gets
    the number of items that were combined.
    """
    last = -1
    if bring_up_to_date(store, run, on_read):
        damaged: list[int] = []
        try:
            for item in store.stored_results(run, with_texts=with_texts):
                yield item if item.results is not None else _made_again(store, run, item.seq, damaged)
                last = item.seq
        except StoreError:  # a damaged page of the table: what follows is combined in memory
            pass
        else:
            last = -2
        if damaged:
            store.forget_results(run, damaged)
            bring_up_to_date(store, run)
    if last != -2:
        yield from (item for item in combined_items(store, run) if item.seq > last)


def bring_up_to_date(store: Store, run: RunRow, on_read: Callable[[int], None] | None = None) -> bool:
    """Store the results that are missing or outdated; false where the store cannot be written."""
    if store.results_are_current(run, VERSION):
        return True
    try:
        for last in _update(store, run):
            if on_read is not None:
                on_read(last + 1)
    except CannotStoreError:
        return False
    return True


def bring_closer_to_date(store: Store, run: RunRow, seconds: float) -> bool:
    """Spend at most about so long on storing results; whether all are stored now.

    `CannotStoreError` where the store cannot be written.
    """
    if store.results_are_current(run, VERSION):
        return True
    deadline = time.monotonic() + seconds
    # What is stored when time is up is not combined again by the next call.
    return all(time.monotonic() < deadline for _ in _update(store, run)) and store.results_are_current(
        run, VERSION
    )


def _update(store: Store, run: RunRow) -> Iterator[int]:
    """Store the results that are missing or outdated; gives the last item of each page that is stored."""
    with store.writing_results(run, VERSION) as writer:
        protocols = protocols_of(store, run)
        for first, last, stale in writer.pages():
            calls = (call for call in judged_between(store, run, first, last) if call.seq in stale)
            writer.put(stale, [_stored(item) for item in judged_items(calls, protocols)])
            yield last
        writer.finish()


def results_of_items(store: Store, run: RunRow, seqs: Sequence[int]) -> Iterator[StoredItem]:
    """The results of single items with their texts; combined in memory where they are not stored."""
    stored = store.stored_results_of(run, VERSION, seqs)
    protocols = protocols_of(store, run)
    for seq in seqs:
        item = stored.get(seq)
        if item is None or item.results is None:
            made = judged_items(judged_between(store, run, seq, seq), protocols)
            item = next(map(_stored, made), StoredItem(seq, ()))
        yield item


def combined_between(store: Store, run: RunRow, first: int, last: int) -> list[StoredItem]:
    """The results of the items `first` to `last`, combined in memory."""
    return list(map(_stored, judged_items(judged_between(store, run, first, last), protocols_of(store, run))))


def combined_items(store: Store, run: RunRow) -> Iterator[StoredItem]:
    """The results of a run as `stored_items` gives them, combined in memory."""
    return map(_stored, judged_items(store.judgments(run), protocols_of(store, run)))


def _made_again(store: Store, run: RunRow, seq: int, damaged: list[int]) -> StoredItem:
    """The results of an item whose stored ones are damaged."""
    damaged.append(seq)
    made = judged_items(judged_between(store, run, seq, seq), protocols_of(store, run))
    return next(map(_stored, made), StoredItem(seq, ()))


class JudgedItem(Struct, frozen=True):
    """One item with its results: each with its kind and the judgments that it was combined from."""

    seq: int
    item: Item
    results: list[Combined]
    calls: list[Judged]
    """all its calls, with follow-up questions and the calls of steps"""


def _stored(judged: JudgedItem) -> StoredItem:
    digests: dict[JudgeKey, int | None] = call_digests(judged.calls)
    return StoredItem(
        judged.seq,
        [
            StoredResult(result, kind, gaps, digests[result.protocol, result.model])
            for (result, kind, _), gaps in zip(judged.results, gaps_of(judged.results), strict=True)
        ],
    )


def judged_items(judged: Iterable[Judged], protocols: Mapping[str, Protocol]) -> Iterator[JudgedItem]:
    """Judgments of a run, in the order of its items, combined item
    by item; replies that were not parsed yet are left out.
    """
    for seq, of_item in groupby(judged, key=lambda call: call.seq):
        if seq < 0:
            continue
        calls = list(of_item)
        by_judge: dict[JudgeKey, list[CallJudgment]] = {}
        item: Item | None = None
        for call in calls:
            judgment = _call_judgment(call, protocols)
            if judgment is not None and call.item is not None:
                item = call.item
                by_judge.setdefault((call.about.protocol, call.about.model), []).append(judgment)
        if item is not None:
            combined: list[tuple[Result, Kind, list[CallJudgment]]] = [
                (result, kind, judgments)
                for (protocol, model), judgments in by_judge.items()
                for result, kind in combine(item, protocols[protocol], model, judgments)
            ]
            yield JudgedItem(seq, item, combined, calls)


def _call_judgment(judged: Judged, protocols: Mapping[str, Protocol]) -> CallJudgment | None:
    """A call's judgment among those of its item; none where its reply was not parsed yet."""
    if judged.about.kind in PART_KINDS:
        return None
    judgment = judged.judgment
    if judgment is None:
        if judged.error is None:
            return None
        judgment = failed_judgment(protocols[judged.about.protocol], judged.error)
    return CallJudgment(judged.about.order, judged.about.sample, judgment)

"""The results of a stored run, combined item by item from its judgments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from msgspec import Struct

from ..parse.estimators import failed_judgment
from ..records import PART_KINDS, Item, Protocol, Result
from ..store import Judged, RunRow, Store
from .combine import CallJudgment, Kind, combine
from .manifest import protocols_of


def results(store: Store, run: RunRow) -> Iterator[Result]:
    """All results of a run, in the order of the items; a call that failed counts as a failure."""
    for judged in judged_items(store.judgments(run), protocols_of(store, run)):
        for result, _, _ in judged.results:
            yield result


class JudgedItem(Struct, frozen=True):
    """One item with its results: each with its kind and the judgments that it was combined from."""

    seq: int
    item: Item
    results: list[tuple[Result, Kind, list[CallJudgment]]]


def judged_items(judged: Iterable[Judged], protocols: Mapping[str, Protocol]) -> Iterator[JudgedItem]:
    """Judgments of a run, in the order of its items, combined item
    by item; replies that were not parsed yet are left out.
    """
    for seq, calls in groupby(judged, key=lambda call: call.seq):
        if seq < 0:
            continue
        by_judge: dict[tuple[str, str], list[CallJudgment]] = {}
        item: Item | None = None
        for call in calls:
            judgment = _call_judgment(call, protocols)
            if judgment is not None and call.item is not None:
                item = call.item
                by_judge.setdefault((call.about.protocol, call.about.model), []).append(judgment)
        if item is not None:
            combined = [
                (result, kind, judgments)
                for (protocol, model), judgments in by_judge.items()
                for result, kind in combine(item, protocols[protocol], model, judgments)
            ]
            yield JudgedItem(seq, item, combined)


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

"""A run in a store as its view."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
from msgspec import structs

from ...records import Protocol, Result, Scale
from ...results.combine import Kind
from ...results.manifest import protocols_of, settings_of
from ...results.stored_results import judged_items
from ...store import Judged, RunRow, Store
from .result_facts import is_undefined
from .run_facts import facts_of_run
from .run_view import Contents, RunView
from .single_replies import SingleReplies
from .tally import Tally


def tabulate(
    store: Store,
    run: RunRow,
    *,
    keep_results: bool = True,
    for_comparison: bool = False,
    choice_spans: bool = False,
    keep_notes: bool = False,
    on_read: Callable[[int], None] | None = None,
) -> RunView:
    """Read a run once. A report needs only the tally (`keep_results=False`), which takes little memory.

    `for_comparison` adds digests that show whether two runs judged the same texts, made the same calls and
    got the same replies; `choice_spans` adds the position of the choice in each reply. `on_read` gets the
    number of judgments read.
    """
    protocols = protocols_of(store, run)
    replies = SingleReplies(
        protocols,
        settings_of(run).samples > 1 and keep_results,
        f"{store.path} {run.id}" if for_comparison else None,
        choice_spans,
    )
    tally = Tally()
    results: list[Result] = []
    kinds: list[Kind] = []
    seqs: dict[str, int] = {}
    notes: dict[str, dict[str, str]] = {}
    for judged in judged_items(replies.watch(_counted(store.judgments(run), on_read)), protocols):
        for result, kind, voices in judged.results:
            tally.add(result, kind, [voice.judgment for voice in voices])
            if keep_notes:
                for voice in voices:
                    notes.setdefault(result.item, {}).update(voice.judgment.notes)
            if keep_results and not is_undefined(result):
                results.append(structs.replace(result, explanation=""))
                kinds.append(kind)
        if keep_results:
            seqs[judged.item.id] = judged.seq
    return RunView(
        name=run.name,
        results=tuple(results),
        kinds=tuple(kinds),
        scales=_scales(protocols),
        tally=tally,
        facts=facts_of_run(store, run, protocols, replies.n_reasks_failed),
        run=run,
        protocols=protocols,
        positions=replies.position_biases(),
        shown=replies.shown if keep_results else {},
        samples=replies.sample_values(),
        digests=replies.digests,
        contents=_contents(store, run) if for_comparison else None,
        choice_spans=replies.choice_spans,
        seqs=seqs,
        judgment_notes=notes,
    )


def _scales(protocols: Mapping[str, Protocol]) -> dict[tuple[str, str], Scale | None]:
    return {
        (key, criterion): scale
        for key, protocol in protocols.items()
        for criterion, scale in protocol.criteria.items()
    }


_TOLD_EVERY = 500


def _counted(places: Iterable[Judged], on_read: Callable[[int], None] | None) -> Iterator[Judged]:
    for number, place in enumerate(places, 1):
        if on_read is not None and not number % _TOLD_EVERY:
            on_read(number)
        yield place


def _contents(store: Store, run: RunRow) -> Contents:
    # A checksum is enough: it shows whether a text was changed, not whether it was forged.
    return {
        item.id: {name: zlib.crc32(msgspec.json.encode(value)) for name, value in item.fields.items()}
        for item in store.items(run)
    }

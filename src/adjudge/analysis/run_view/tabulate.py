"""A run in a store as its view."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ...data.item_ids import input_id, is_content_id
from ...records import Protocol, Result, Scale
from ...results.combine import Kind
from ...results.manifest import protocols_of, settings_of
from ...results.stored_results import judged_items, stored_items
from ...store import LEFT_OUT, N_WITHOUT_ID, RunRow, Store
from .result_facts import is_undefined
from .run_facts import facts_of_run
from .run_view import InputKey, RunView
from .single_replies import SingleReplies
from .tally import Tally, key_of


def tabulate(
    store: Store,
    run: RunRow,
    *,
    keep_results: bool = True,
    for_comparison: bool = False,
    choice_spans: bool = False,
    on_read: Callable[[int], None] | None = None,
) -> RunView:
    """Read a run once. A report needs only the tally (`keep_results=False`), which takes little memory.

    `for_comparison` adds digests that show whether two runs judged the same texts, made the same calls and
    got the same replies; `choice_spans` adds the position of the choice in each reply. `on_read` gets the
    number of items that were combined first.
    """
    protocols = protocols_of(store, run)
    tally = Tally()
    results: list[Result] = []
    kinds: list[Kind] = []
    seqs: dict[str, int] = {}
    digests = Digested(f"{store.path} {run.id}")
    # Quotes are counted where a protocol asks for them; nothing else of the texts is needed here.
    quotes = any(protocol.answer.evidence for protocol in protocols.values())
    for item in stored_items(store, run, with_texts=quotes, on_read=on_read):
        for result, kind, _, digest in item.results or ():
            tally.add(result, kind)
            if for_comparison:
                digests.add(result, digest)
            if keep_results:
                seqs[result.item] = item.seq
                if not is_undefined(result):
                    results.append(result)
                    kinds.append(kind)
    for entry in run.manifest.get(LEFT_OUT, ()):
        tally.add_left_out(entry["systems"], entry["n"])
    replies = SingleReplies(protocols, settings_of(run).samples > 1 and keep_results, choice_spans)
    _read_single_replies(store, run, replies, tally)
    texts = _texts(store, run, list(protocols.values())) if for_comparison else _Texts({}, {}, set())
    return RunView(
        name=run.name,
        results=tuple(results),
        kinds=tuple(kinds),
        scales=_scales(protocols),
        tally=tally,
        facts=facts_of_run(store, run, protocols, store.n_reasks_failed(run)),
        run=run,
        protocols=protocols,
        positions=replies.position_biases(),
        shown=replies.shown if keep_results else {},
        samples=replies.sample_values(),
        digests=digests.by_item,
        contents=texts.contents if for_comparison else None,
        input_keys=texts.input_keys,
        line_ids=frozenset(texts.line_ids),
        choice_spans=replies.choice_spans,
        seqs=seqs,
    )


class Digested:
    """The digests of results: of each item and protocol, by model."""

    def __init__(self, salt: str) -> None:
        self._salt = salt
        self.by_item: dict[tuple[str, str], dict[str, int]] = {}

    def add(self, result: Result, digest: int | None) -> None:
        """Where a call has no reply, the digest equals that of no other run: what it says is unknown."""
        by_model = self.by_item.setdefault((result.item, result.protocol), {})
        if result.model not in by_model:
            own = f"{self._salt} {result.item} {result.protocol} {result.model}"
            by_model[result.model] = key_of(own) if digest is None else digest


def _read_single_replies(store: Store, run: RunRow, replies: SingleReplies, tally: Tally) -> None:
    """What results do not hold: positions and samples of single replies, and what steps have checked."""
    if any(protocol.pipeline for protocol in replies.protocols.values()):
        for judged in judged_items(replies.watch(store.judgments(run)), replies.protocols):
            for result, _, voices in judged.results:
                tally.add_elements(result, [voice.judgment for voice in voices])
    elif replies.are_needed:
        for _ in replies.watch(store.judgments(run)):
            pass


def _scales(protocols: Mapping[str, Protocol]) -> dict[tuple[str, str], Scale | None]:
    return {
        (key, criterion): scale
        for key, protocol in protocols.items()
        for criterion, scale in protocol.criteria.items()
    }


class _Texts(NamedTuple):
    """What a comparison needs to know of the items' texts."""

    contents: dict[str, dict[str, int]]
    input_keys: dict[str, InputKey]
    line_ids: set[str]


def _texts(store: Store, run: RunRow, protocols: Sequence[Protocol]) -> _Texts:
    texts = _Texts({}, {}, set())
    n_without_id = run.manifest.get(N_WITHOUT_ID)
    judged = [(protocol, protocol.judged_inputs) for protocol in protocols]
    for item in store.items(run):
        # A checksum is enough: it shows whether a text was changed, not whether it was forged.
        texts.contents[item.id] = {
            name: zlib.crc32(msgspec.json.encode(value)) for name, value in item.fields.items()
        }
        is_line = n_without_id is None and item.id == str(item.line)
        if is_line:
            texts.line_ids.add(item.id)
        if is_line or (n_without_id and is_content_id(item.id)):
            found = (protocol.field_for(name, item.fields) for protocol, names in judged for name in names)
            responses = {name for name in found if name is not None}
            system = " / ".join(name for name in (item.system_a, item.system_b) if name) or item.system
            texts.input_keys[item.id] = InputKey(input_id(item.fields, responses), system)
    return texts

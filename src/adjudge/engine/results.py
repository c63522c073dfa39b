"""Reading a run back: its protocols, its results item by item, and all replies read anew.

No model is asked here. What is read again replaces the old judgments all at once or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct

from ..combine import Kind, Voice, combine_with_kinds
from ..errors import StoreError
from ..models import Parameters
from ..protocols import with_digest
from ..records import Item, Judgment, Protocol, Reply, Result
from ..render import render
from ..run_options import RunOptions, options_from
from ..store import Asked, Judged, RunRow, Store
from .loop import failed_judgment, judge, needs_another_question, with_second_answer
from .plan import parameters_for, steps_in


def settings_of(run: RunRow) -> RunOptions:
    """The options of a run that its manifest records."""
    return options_from(run.manifest["settings"])


def protocols_of(store: Store, run: RunRow) -> dict[str, Protocol]:
    """The protocols of a run as they were then, by id@digest, with generated steps put back."""
    protocols = [msgspec.convert(told, Protocol, strict=False) for told in run.manifest["protocols"]]
    if settings_of(run).steps == "generate":
        protocols = _with_steps(store, run, protocols)
    return {f"{protocol.id}@{protocol.digest}": protocol for protocol in protocols}


def _with_steps(store: Store, run: RunRow, protocols: list[Protocol]) -> list[Protocol]:
    written: dict[str, tuple[str, ...]] = {}
    for asked in store.asked(run):
        if asked.seq >= 0:
            break
        written[asked.call.protocol] = steps_in(asked.reply.text)
    return [
        with_digest(protocol, steps=steps)
        if (steps := written.get(f"{protocol.id}@{protocol.digest}")) and not protocol.steps
        else protocol
        for protocol in protocols
    ]


def results(store: Store, run: RunRow) -> Iterator[Result]:
    """All results of a run, in the order of the items; a call that failed counts as a failure."""
    for judged in judged_items(store.judgments(run), protocols_of(store, run)):
        for result, _, _ in judged.results:
            yield result


class JudgedItem(Struct, frozen=True):
    """One item with its results: each with its kind and the judgments that it was combined from."""

    seq: int
    item: Item
    results: list[tuple[Result, Kind, list[Voice]]]


def judged_items(judged: Iterable[Judged], protocols: Mapping[str, Protocol]) -> Iterator[JudgedItem]:
    """Judgments of a run, in the order of its items, combined item by item; what was not read yet is left out."""
    for seq, places in groupby(judged, key=lambda place: place.seq):
        if seq < 0:
            continue
        voices: dict[tuple[str, str], list[Voice]] = {}
        item: Item | None = None
        for place in places:
            voice = voice_of(place, protocols)
            if voice is not None and place.item is not None:
                item = place.item
                voices.setdefault((place.about.protocol, place.about.model), []).append(voice)
        if item is not None:
            combined = [
                (result, kind, of_model)
                for (protocol, model), of_model in voices.items()
                for result, kind in combine_with_kinds(item, protocols[protocol], model, of_model)
            ]
            yield JudgedItem(seq, item, combined)


def voice_of(place: Judged, protocols: Mapping[str, Protocol]) -> Voice | None:
    """A place as one judgment among those of its item; none where nothing was read yet."""
    if place.about.kind in ("reask", "steps"):
        return None
    judgment = place.judgment
    if judgment is None:
        if place.error is None:
            return None
        judgment = failed_judgment(protocols[place.about.protocol], place.error)
    return Voice(place.about.order, place.about.sample, judgment)


def reread(store: Store, run: RunRow) -> int:
    """Read all stored replies of a run again with this version's readers; how many judgments were made."""
    protocols = protocols_of(store, run)
    if not protocols:
        raise StoreError(f"run {run.name} has no protocol in its manifest. It cannot be read again.")
    return store.replace_judgments(run, _reread(store, run, protocols))


def _reread(store: Store, run: RunRow, protocols: dict[str, Protocol]) -> Iterator[tuple[int, int, Judgment]]:
    settings = settings_of(run)
    params = {name: parameters_for(protocol, settings) for name, protocol in protocols.items()}
    for seq, places in groupby(store.asked(run), key=lambda place: place.seq):
        if seq < 0:
            continue
        asked = list(places)
        again = {place.call.parent: place for place in asked if place.call.kind == "reask"}
        for place in asked:
            if place.call.kind == "reask" or place.item is None:
                continue
            protocol = protocols[place.call.protocol]
            yield (
                seq,
                place.slot,
                _judgment(place, again.get(place.call.key), protocol, params[place.call.protocol]),
            )


def _judgment(place: Asked, again: Asked | None, protocol: Protocol, params: Parameters) -> Judgment:
    item = place.item
    assert item is not None
    flags = render(protocol, item, place.call.order).flags
    judgment = judge(protocol, item, place.call, place.reply, flags, params)
    if again is not None and needs_another_question(judgment):
        second: Reply = again.reply
        judgment = with_second_answer(judgment, judge(protocol, item, again.call, second, (), params))
    return judgment


EXPORT_COLUMNS: dict[str, type] = {
    "item": str, "system": str, "group": str, "protocol": str, "criterion": str, "subject": str, "model": str,
    "score": float, "normalized": float, "status": str, "how": str, "estimator": str, "samples": int, "n_failed": int,
    "choice": str, "confidence": float, "explanation": str, "system_a": str, "system_b": str, "flags": list,
}  # fmt: skip
"""The columns of an export, in their order, each with its type."""


def export_row(result: Result) -> dict[str, Any]:
    """A result under the names of the export format."""
    return {
        "item": result.item,
        "system": result.system,
        "group": result.group,
        "protocol": result.protocol,
        "criterion": result.criterion,
        "subject": result.subject,
        "model": result.model,
        "score": result.value,
        "normalized": result.normalized,
        "status": result.status,
        "how": result.how,
        "estimator": result.estimator,
        "samples": result.n_samples,
        "n_failed": result.n_failed,
        "choice": result.choice,
        "confidence": result.confidence,
        "explanation": result.explanation,
        "system_a": result.system_a,
        "system_b": result.system_b,
        "flags": list(result.flags),
    }

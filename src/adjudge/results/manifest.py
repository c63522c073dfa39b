"""What the manifest of a stored run says: its options, its
protocols as they were, and the fields that name the system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from ..parse.written_steps import written_steps
from ..protocols import with_digest
from ..records import Protocol
from ..run_options.options import RunOptions
from ..run_options.recorded import options_from
from ..store import Asked, RunRow, Store


def settings_of(run: RunRow) -> RunOptions:
    """The options of a run that its manifest records."""
    return options_from(run.manifest["settings"])


def protocols_of(store: Store, run: RunRow) -> dict[str, Protocol]:
    """The protocols of a run as they were when it was made, by id@digest, with generated steps."""
    return recorded_protocols(run, lambda: store.asked(run))


def recorded_protocols(run: RunRow, read_asked: Callable[[], Iterator[Asked]]) -> dict[str, Protocol]:
    protocols = [msgspec.convert(stored, Protocol, strict=False) for stored in run.manifest["protocols"]]
    if settings_of(run).steps == "generate":
        protocols = _with_steps(read_asked(), protocols)
    return {protocol.ref: protocol for protocol in protocols}


def _with_steps(all_asked: Iterator[Asked], protocols: list[Protocol]) -> list[Protocol]:
    written: dict[str, tuple[str, ...]] = {}
    for asked in all_asked:
        if asked.seq >= 0:
            break
        written[asked.call.protocol] = written_steps(asked.reply.text)
    return [
        with_digest(protocol, steps=steps)
        if (steps := written.get(protocol.ref)) and not protocol.steps
        else protocol
        for protocol in protocols
    ]


def fields_naming_the_system(run: RunRow) -> frozenset[str]:
    """The fields of the items that `--map system=FIELD` read the system from: raters must not see them."""
    renames = run.manifest.get("items", {}).get("map", {})
    return frozenset(renames[key] for key in ("system", "system_a", "system_b") if key in renames)

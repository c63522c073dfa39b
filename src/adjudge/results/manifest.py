"""What the manifest of a stored run says: its options, its
protocols as they were, and the fields that name the system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ..parse.written_steps import written_steps
from ..protocols import with_digest
from ..records import Protocol
from ..run_options.options import RunOptions, declared_options
from ..run_options.recorded import options_from
from ..store import AskedCall, RunRow, Store


def settings_of(run: RunRow) -> RunOptions:
    """The options of a run that its manifest records."""
    return options_from(run.manifest["settings"])


def settings_to_judge_alike(run: RunRow) -> dict[str, Any]:
    """The options with which other items are judged as those of this run were.

    Without `limit` and `steps`: the caller gives the items, and a protocol that has its steps.
    """
    recorded = settings_of(run)
    return {
        name: getattr(recorded, name)
        for name, (_, _, option) in declared_options().items()
        if option.effect == "settings" and name not in ("limit", "steps")
    }


def models_of(run: RunRow) -> tuple[str, ...]:
    """The models of a run as they were given; one with an alias as ALIAS=MODEL."""
    return tuple(
        f"{model['spec']}={model['model']}" if "model" in model else str(model["spec"])
        for model in run.manifest["models"]
    )


def protocols_of(store: Store, run: RunRow) -> dict[str, Protocol]:
    """The protocols of a run as they were when it was made, by id@digest, with generated steps."""
    return recorded_protocols(run, lambda: store.asked(run))


def recorded_protocols(run: RunRow, read_asked: Callable[[], Iterator[AskedCall]]) -> dict[str, Protocol]:
    protocols = [msgspec.convert(stored, Protocol, strict=False) for stored in run.manifest["protocols"]]
    if settings_of(run).steps == "generate":
        protocols = _with_steps(read_asked(), protocols)
    return {protocol.ref: protocol for protocol in protocols}


def _with_steps(all_asked: Iterator[AskedCall], protocols: list[Protocol]) -> list[Protocol]:
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


def text_columns_of(run: RunRow) -> dict[str, str]:
    """The fields of the items that `--map` took from columns of other names → those columns."""
    return dict(run.manifest.get("items", {}).get("map", {}))


def fields_naming_the_system(run: RunRow) -> frozenset[str]:
    """The fields of the items that `--map system=FIELD` read the system from: raters must not see them."""
    renames = text_columns_of(run)
    return frozenset(renames[key] for key in ("system", "system_a", "system_b") if key in renames)

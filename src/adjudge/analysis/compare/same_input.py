"""Matches the items of two runs that have no ids in their files: two outputs for the same input.

Their ids are hashes of the whole content, or in older runs line numbers, so a new output has another id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from ..run_view.run_view import InputKey, RunView

Ids = Mapping[str, str]
"""id in the one run → id of the same input in the other"""


def same_inputs(view: RunView, other: RunView) -> dict[str, str]:
    """The items of `view` without an id whose inputs `other` has: their ids there.

    Of several outputs for one input the first is matched with the first. The system counts where the
    runs share one; otherwise each run is of another system.
    """
    has_system = bool(_systems(view) & _systems(other))
    others = {key: name for name, key in _numbered(other, has_system).items()}
    return {name: others[key] for name, key in _numbered(view, has_system).items() if key in others}


def _systems(view: RunView) -> set[str]:
    return {key.system for key in view.input_keys.values()}


def _numbered(view: RunView, has_system: bool) -> dict[str, tuple[InputKey, int]]:
    counts: Counter[InputKey] = Counter()
    numbered = {}
    for name, key in view.input_keys.items():
        if not has_system:
            key = InputKey(key.inputs, "")
        counts[key] += 1
        numbered[name] = (key, counts[key])
    return numbered


def with_ids(view: RunView, ids: Ids) -> RunView:
    """The view with other ids for some of its items."""
    if not ids:
        return view

    def renamed(by_item: Mapping[str, Any]) -> dict[str, Any]:
        return {ids.get(name, name): value for name, value in by_item.items()}

    return structs.replace(
        view,
        results=tuple(
            structs.replace(result, item=ids[result.item]) if result.item in ids else result
            for result in view.results
        ),
        samples={
            (*key[:3], ids.get(key[3], key[3]), *key[4:]): values for key, values in view.samples.items()
        },
        digests={(ids.get(item, item), protocol): by for (item, protocol), by in view.digests.items()},
        contents=None if view.contents is None else renamed(view.contents),
        seqs=renamed(view.seqs),
        attributes=renamed(view.attributes),
        input_keys=renamed(view.input_keys),
        line_ids=frozenset(ids.get(name, name) for name in view.line_ids),
    )


def with_ids_of_inputs(view: RunView, other: RunView) -> tuple[RunView, frozenset[str]]:
    """The view with the ids that `other` has for the same inputs, and these ids.

    Where inputs match, an item without a counterpart is in no pair: its line number means nothing.
    """
    ids = same_inputs(view, other)
    matched = frozenset(ids.values())
    if ids:
        ids |= {name: f"{name} of {view.name}" for name in view.input_keys if name not in ids}
    return with_ids(view, ids), matched

"""The optional inputs of protocols that no item of a run has: that one item lacks them is nothing unusual."""

from __future__ import annotations

from collections.abc import Iterable

from ..records import Item, Protocol


def absent_inputs(protocols: Iterable[Protocol], items: Iterable[Item]) -> frozenset[str]:
    """The optional inputs of the protocols that no item has."""
    watch = AbsentInputs(protocols)
    for item in items:
        watch.add(item)
        if not watch.names:
            break
    return frozenset(watch.names)


class AbsentInputs:
    """Notes which optional inputs no item has had so far."""

    def __init__(self, protocols: Iterable[Protocol]) -> None:
        self._by_name = {name: protocol for protocol in protocols for name in protocol.optional}
        self.names = set(self._by_name)

    def add(self, item: Item) -> None:
        if self.names:
            self.names -= {
                name for name in self.names if self._by_name[name].field_for(name, item.fields) is not None
            }

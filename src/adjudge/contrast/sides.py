"""One of the two runs of a comparison: its results, its scales, and what else is known of it.

The store is read here and nowhere else in this package. Of the items' texts only a hash of each field is kept.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from ..engine import Run, protocols_of, results
from ..errors import DataError
from ..records import Result, Scale
from ..store import RunRow, Store, open_store

Scales = Mapping[str | tuple[str, str], Scale | None]
"""The scales by (protocol, criterion), or by the criterion alone."""

Contents = dict[str, dict[str, int]]
"""item → field → a number that stands for its text"""

Replies = Mapping[tuple[str, str], Mapping[str, int]]
"""(item, protocol) → model → a number that stands for what was asked and what was read from the replies"""


class Side(Struct, frozen=True):
    """A run, or results from anywhere, by the name under which sentences speak of it."""

    name: str
    results: tuple[Result, ...]
    scales: Scales = {}
    settings: dict[str, Any] = {}
    """how the judge was asked; empty where that is not known"""
    contents: Contents | None = None
    fake: tuple[str, ...] = ()
    """judges that are fakes for tests"""
    notes: tuple[str, ...] = ()
    replies: Replies = {}
    """empty where that is not known, as for results from a file"""

    def scale(self, protocol: str, criterion: str) -> Scale | None:
        return self.scales.get((protocol, criterion), self.scales.get(criterion))


def side_of(source: Run | Iterable[Result], name: str, scales: Mapping[str, Scale] | None) -> Side:
    """What `adjudge.compare` was given, as a side."""
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            return side_of_run(store, store.run(source.name))
    if isinstance(source, str):
        raise DataError(
            f"'{source}' is a text. Give a Run, or results: adjudge.compare(run_a, run_b).\n"
            f"Runs in a store are compared by their names on the command line: adjudge compare {source} RUN_B"
        )
    by_criterion: dict[str | tuple[str, str], Scale | None] = dict((scales or {}).items())
    return Side(name, tuple(source), by_criterion)


def side_of_run(store: Store, run: RunRow) -> Side:
    """A stored run as a side."""
    scales: dict[str | tuple[str, str], Scale | None] = {
        (key, criterion): scale
        for key, protocol in protocols_of(store, run).items()
        for criterion, scale in protocol.criteria.items()
    }
    told = {
        key: value
        for key, value in run.manifest["settings"].items()
        if key in ("samples", "estimator", "temperature")
    }
    return Side(
        run.name,
        tuple(results(store, run)),
        scales,
        told,
        _contents(store, run),
        tuple(model["spec"] for model in run.manifest["models"] if model["is_fake"]),
        _notes(run),
        replies_of(store, run),
    )


def _contents(store: Store, run: RunRow) -> Contents:
    # A check sum is enough: it is asked whether a text was changed, not whether somebody forged it.
    return {
        item.id: {name: zlib.crc32(msgspec.json.encode(value)) for name, value in item.fields.items()}
        for item in store.items(run)
    }


def replies_of(store: Store, run: RunRow) -> Replies:
    """Equal numbers: the same calls (texts, prompt, judge, settings), and the same was read from each of their replies.

    A call without a reply is the same in the same run alone: what the reply would have been is not known.
    """
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    this_run = f"{store.path} {run.id}"
    for one in store.judgments(run):
        if one.item is None:
            continue
        # What a second question brought is part of the judgment of the first.
        is_read = one.judgment is not None or one.about.kind == "reask"
        whose = "" if is_read and one.error is None else this_run
        told = msgspec.json.encode((one.call, one.about, one.judgment, whose))
        # A sum, because two runs may have their columns in another order.
        own = found[one.item.id, one.about.protocol]
        own[one.about.model] += int.from_bytes(blake2b(told, digest_size=8).digest())
    return found


def _notes(run: RunRow) -> tuple[str, ...]:
    if run.status == "done":
        return ()
    return (f"{run.name} is {run.status}, not done: items that were not judged yet are not compared.",)

"""The work of a hub on files, in a separate process: pages stay fast, and a kill leaves a whole store.

It has no lower priority, because people who label wait while it writes.

    python -m adjudge.web.hub.merging in STORE FILE       merges the runs of FILE, prints what was added
    python -m adjudge.web.hub.merging replace STORE FILE  the same, and the runs keep their names
    python -m adjudge.web.hub.merging out STORE FILE RUN  writes a store with this run alone

A mistake or damage is printed on standard error, with exit code 2.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from ...errors import AdjudgeError
from ...results.merge import extract_run, merge_stores
from ...store import open_store
from ...store.merge import MergedRun


def merge_parts(arguments: list[str]) -> int:
    way, store, file, *names = arguments
    try:
        if way == "out":
            extract_run(Path(store), names[0], Path(file))
            return 0
        (merged,) = merge_stores(Path(store), [Path(file)])
        runs = merged.runs if way == "in" else _renamed(Path(store), merged.runs)
        sys.stdout.buffer.write(msgspec.json.encode(runs))
    except AdjudgeError as fault:
        print(fault, file=sys.stderr)
        return 2
    return 0


def _renamed(store: Path, merged: Sequence[MergedRun]) -> list[MergedRun]:
    """Give each run the name that it was pushed with; the one that had it gets the free name of this one."""
    with open_store(store) as opened:
        for one in merged:
            if one.into != one.run:
                opened.exchange_names(one.run, one.into)
    return [structs.replace(one, into=one.run) for one in merged]


if __name__ == "__main__":
    raise SystemExit(merge_parts(sys.argv[1:]))

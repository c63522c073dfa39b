"""A run that is put together from others on the same items: each item has the judgment of one of them.

The calls of all of them belong to it, so that its cost is what was paid; nothing is asked. Putting it
together again replaces what it held; its labels, reviews and notes stay.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from . import rows, runs
from .calls import insert_rows

_BETWEEN = 1_000_000
"""Call indices of each part begin here, twice that, and so on."""
_INSERT_SLOT = (f"INSERT INTO slots ({rows.SLOT_SEALED}, checksum)", "")
_INSERT_PLACE = (f"INSERT INTO places ({rows.PLACE_SEALED}, checksum)", "")
_INSERT_JUDGMENT = ("INSERT INTO judgments (run, reading, item, slot, body, checksum)", "")


class RunPart(Struct, frozen=True):
    """What one run gives: its calls, and the judgments of some items, each with a flag."""

    run: int
    flags: Mapping[str, str]
    """item → the flag of its judgments; items that are not named have none from this run"""


def assemble(
    connection: sqlite3.Connection,
    name: str,
    identity: str,
    manifest: Mapping[str, Any],
    model: str,
    parts: Sequence[RunPart],
    owner: int,
) -> None:
    """Make or replace the run; `parts[0]` has all items. All judgments are of one judge, called `model`."""
    run = runs.start(connection, name, identity, manifest, owner)
    packed = rows.packed_json(manifest)
    connection.execute("UPDATE runs SET manifest = ? WHERE id = ?", (packed, run.id))
    for table in ("judgments", "places", "slots", "items"):
        connection.execute(f"DELETE FROM {table} WHERE run = ?", (run.id,))
    connection.execute(
        f"""INSERT INTO items (run, {rows.ITEM_COLUMNS})
        SELECT ?, {rows.ITEM_COLUMNS} FROM items WHERE run = ?""",
        (run.id, parts[0].run),
    )
    numbers = dict(connection.execute("SELECT id, seq FROM items WHERE run = ?", (run.id,)).fetchall())
    (reading,) = connection.execute("SELECT reading FROM runs WHERE id = ?", (run.id,)).fetchone()
    for place, part in enumerate(parts, 1):
        _copy(connection, run.id, reading, part, place * _BETWEEN, model, numbers)
    runs.finish(connection, run.id, "done", 0.0)


def _copy(
    connection: sqlite3.Connection,
    run: int,
    reading: int,
    part: RunPart,
    offset: int,
    model: str,
    numbers: Mapping[str, int],
) -> None:
    ids = dict(connection.execute("SELECT seq, id FROM items WHERE run = ?", (part.run,)).fetchall())
    slots = [
        (run, slot + offset, protocol, criteria, model, order, sample, kind)
        for slot, protocol, criteria, order, sample, kind in connection.execute(
            'SELECT slot, protocol, criteria, "order", sample, kind FROM slots WHERE run = ?', (part.run,)
        )
    ]
    insert_rows(connection, _INSERT_SLOT, [(*row, rows.checksum(row)) for row in slots])
    places = [
        (run, numbers[ids[item]], slot + offset, *rest)
        for item, slot, *rest in connection.execute(
            """SELECT item, slot, call, parent, error_kind, error_message FROM places
            WHERE run = ? AND item >= 0""",
            (part.run,),
        )
        # A failed call counts only where no later judge was asked.
        if ids[item] in part.flags or rest[2] is None
    ]
    insert_rows(connection, _INSERT_PLACE, [(*row, _place_checksum(row)) for row in places])
    judgments = []
    for item, slot, key, body, checksum in connection.execute(
        """SELECT j.item, j.slot, calls.key, j.body, j.checksum FROM judgments AS j
        JOIN runs ON runs.id = j.run AND runs.reading = j.reading
        JOIN places AS p ON p.run = j.run AND p.item = j.item AND p.slot = j.slot
        JOIN calls ON calls.id = p.call WHERE j.run = ? AND j.item >= 0""",
        (part.run,),
    ):
        flag = part.flags.get(ids[item])
        judgment = None if flag is None else rows.read_judgment(key, body, checksum)
        if judgment is not None:
            flagged = structs.replace(judgment, flags=(*judgment.flags, str(flag)))
            row = (run, reading, numbers[ids[item]], slot + offset, *rows.judgment_columns(flagged))
            judgments.append(row)
    insert_rows(connection, _INSERT_JUDGMENT, judgments)


def _place_checksum(row: tuple[Any, ...]) -> int | None:
    """Only a place with an error or a parent has one."""
    return None if row[4] is None and row[5] is None else rows.checksum(row)

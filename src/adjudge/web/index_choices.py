"""What can be chosen for a filter of the items table: counted once whenever the index has changed."""

from __future__ import annotations

import sqlite3
from typing import Any

from .filters import GAPS

# The choice of a pair belongs to both of its systems, and to no third one.
_SYSTEMS = {
    "system": "subject IS NOT NULL OR system_b IS NULL",
    "system_a": "subject IS NULL AND system_a IS NOT NULL",
    "system_b": "subject IS NULL AND system_b IS NOT NULL",
}


def choices_of(connection: sqlite3.Connection) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: connection.execute(
            f"SELECT {name}, count(*) FROM rows WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 200"
        ).fetchall()
        for name in ("status", "criterion", "protocol", "model", "choice")
    }
    systems: dict[str, int] = {}
    for column, rule in _SYSTEMS.items():
        for name, n in connection.execute(f"SELECT {column}, count(*) FROM rows WHERE {rule} GROUP BY 1"):
            systems[name] = systems.get(name, 0) + n
    found["system"] = sorted(systems.items())[:500]
    flags: dict[str, int] = {}
    for text, n in connection.execute("SELECT flags, count(*) FROM rows WHERE flags <> '' GROUP BY 1"):
        for flag in text.split():
            flags[flag] = flags.get(flag, 0) + n
    found["flag"] = sorted(flags.items())
    counts = connection.execute(
        f"SELECT {', '.join(f'count({column})' for column in GAPS.values())} FROM rows"
    )
    found["n_apart"] = dict(zip(GAPS, counts.fetchone(), strict=True))
    return found

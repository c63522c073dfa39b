"""Checks that a file holds the tables, indexes and triggers of a store as Adjudge writes them, and nothing
else.

A store may come from another person. A view in place of a table could run forever, and a trigger could change
rows whenever one is written; neither is reached before this check.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from ..errors import StoreError
from ..untrusted import safe
from .store_errors import damage_error

Tables = Mapping[tuple[str, str], str]
"""kind and name → the statement that made it"""

_COMMENT = re.compile(r"--[^\n]*")


def tables_in(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """Everything that the file declares, but SQLite's own."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return {
        (str(kind), str(name)): _plain(str(sql))
        for kind, name, sql in rows
        if not (str(name).startswith("sqlite_") and kind in ("table", "index"))
    }


def check_tables(found: Tables, written: Tables, path: Path) -> None:
    """`StoreError` where the file declares something that Adjudge did not write."""
    for (kind, name), statement in found.items():
        if (kind, name) not in written:
            raise StoreError(
                f"{path}: the file holds a {safe(kind)} '{safe(name)[:80]}' that Adjudge did not write, so it"
                " is not used.\nGet the store from where it was made, or choose another file with --store."
            )
        if written[kind, name] != statement:
            raise damage_error(path, f"the {kind} {name} is not as Adjudge writes it")


@lru_cache(maxsize=256)
def _plain(statement: str) -> str:
    """A statement without comments and line breaks, which versions of Adjudge may write differently.

    Kept, because a server opens its store for each page.
    """
    return "".join(_COMMENT.sub("", statement).split())

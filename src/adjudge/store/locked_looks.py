"""How often each set of locked labels was looked at: the k-th look needs stronger evidence than the first.

A set is known by the hash of its labels, so that no label is stored here, and another draw of labels starts
anew.
"""

from __future__ import annotations

import sqlite3

from .schema import now


def count_look(connection: sqlite3.Connection, digest: str) -> int:
    """Record one more look; returns how many there are with it."""
    connection.execute("INSERT INTO locked_looks (digest, made) VALUES (?, ?)", (digest, now()))
    return n_looks(connection, digest)


def n_looks(connection: sqlite3.Connection, digest: str) -> int:
    """How often the labels of this hash were looked at."""
    (n,) = connection.execute("SELECT count(*) FROM locked_looks WHERE digest = ?", (digest,)).fetchone()
    return int(n)

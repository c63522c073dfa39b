"""Stores invitations: who may open the pages from another
machine. Only the hash of a link's secret is stored.
"""

from __future__ import annotations

import sqlite3
from typing import Literal

from msgspec import Struct

from . import rows
from .calls import insert_rows
from .schema import now

InvitationKind = Literal["rater", "guest", "client", "member"]
"""`client`: a program that may call a service of judges; `member`: who may push runs to a hub and pull
them"""


class Invitation(Struct, frozen=True):
    """Somebody who may label the items of a run, or read the pages of all runs."""

    kind: InvitationKind
    name: str
    secret: str
    """the hash of what the link is exchanged for"""
    made: str
    revoked: str | None = None


def put_invitation(
    connection: sqlite3.Connection, run: int | None, kind: InvitationKind, name: str, secret: str
) -> None:
    """Store an invitation; the name must have no other one that is open."""
    row = (run, kind, name, secret, now(), None)
    insert_rows(
        connection,
        (f"INSERT INTO invitations ({rows.INVITATION_SEALED}, checksum)", ""),
        [(*row, rows.checksum(row))],
    )


def read_invitations(
    connection: sqlite3.Connection, run: int | None, kind: InvitationKind
) -> list[Invitation]:
    """The invitations of a run, or for all runs, revoked ones too; oldest first."""
    found = connection.execute(
        f"SELECT {rows.INVITATION_SEALED}, checksum FROM invitations WHERE COALESCE(run, 0) = ? AND "
        "kind = ? ORDER BY id",
        (run or 0, kind),
    ).fetchall()
    for *row, stored in found:
        rows.check_checksum(tuple(row), stored)
    return [Invitation(*row[1:-1]) for row in found]


def revoke_invitation(
    connection: sqlite3.Connection, run: int | None, kind: InvitationKind, name: str
) -> bool:
    """Revoke the open invitation of a name; false where there is none."""
    found = connection.execute(
        f"""SELECT id, {rows.INVITATION_SEALED} FROM invitations
        WHERE COALESCE(run, 0) = ? AND kind = ? AND name = ? AND revoked IS NULL""",
        (run or 0, kind, name),
    ).fetchone()
    if found is None:
        return False
    number, *row = found
    row[-1] = now()
    connection.execute(
        "UPDATE invitations SET revoked = ?, checksum = ? WHERE id = ?",
        (row[-1], rows.checksum(tuple(row)), number),
    )
    return True

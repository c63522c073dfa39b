"""Stores reviews and notes: one for each reviewer and cell, or author and item; a later one replaces the
earlier.

Like labels they are few, so that all of them are read, which tells whether one is missing.
"""

from __future__ import annotations

import sqlite3

import msgspec

from ..records import Note, Review
from . import rows
from .calls import insert_rows
from .counts import check_all, of_one_moment
from .rows import json_of
from .schema import now


def put_review(connection: sqlite3.Connection, review: Review, run: int) -> None:
    """Store a review of a run."""
    answer, label = (json_of(value).decode() for value in (review.answer, review.label))
    row = (
        run, review.item, review.protocol, review.criterion, review.subject, review.model, review.reviewer,
        review.verdict, answer, label, review.reason, review.note, review.made or now(),
    )  # fmt: skip
    head = f"INSERT OR REPLACE INTO reviews ({rows.REVIEW_SEALED}, checksum)"
    insert_rows(connection, (head, ""), [(*row, rows.checksum(row))])


def read_reviews(connection: sqlite3.Connection, run: int) -> list[Review]:
    """The reviews of a run, oldest first."""
    return [
        Review(
            item, protocol, criterion, model, reviewer, verdict, subject,
            msgspec.json.decode(answer), msgspec.json.decode(label), reason, note, made,
        )
        for item, protocol, criterion, subject, model, reviewer, verdict, answer, label, reason, note, made
        in _of_run(connection, "reviews", rows.REVIEW_SEALED, run)
    ]  # fmt: skip


def delete_review(connection: sqlite3.Connection, run: int, review: Review) -> bool:
    """Delete a review; false where it is gone already or was changed."""
    deleted = connection.execute(
        "DELETE FROM reviews WHERE run = ? AND item = ? AND criterion = ? AND COALESCE(subject, '') "
        "= ? AND reviewer = ? AND verdict = ?",
        (run, review.item, review.criterion, review.subject or "", review.reviewer, review.verdict),
    )
    return deleted.rowcount == 1


def put_note(connection: sqlite3.Connection, note: Note, run: int) -> None:
    """Store what one person wrote about an item; nothing at all deletes it."""
    if not note.text and not note.tags:
        connection.execute(
            "DELETE FROM notes WHERE run = ? AND item = ? AND author = ?", (run, note.item, note.author)
        )
        return
    row = (run, note.item, note.author, note.text, json_of(note.tags).decode(), note.made or now())
    head = f"INSERT OR REPLACE INTO notes ({rows.NOTE_SEALED}, checksum)"
    insert_rows(connection, (head, ""), [(*row, rows.checksum(row))])


def read_notes(connection: sqlite3.Connection, run: int) -> list[Note]:
    """The notes of a run, oldest first."""
    return [
        Note(item, author, text, tuple(msgspec.json.decode(tags)), made)
        for item, author, text, tags, made in _of_run(connection, "notes", rows.NOTE_SEALED, run)
    ]


def _of_run(connection: sqlite3.Connection, table: str, columns: str, run: int) -> list[rows.Columns]:
    """The rows of a run without its number, after a check of all rows of the table."""
    with of_one_moment(connection):
        check_all(connection, table)
        found = connection.execute(f"SELECT {columns}, checksum FROM {table} ORDER BY id").fetchall()
    for *row, stored in found:
        rows.check_checksum(tuple(row), stored)
    return [row[1:-1] for row in found if row[0] == run]

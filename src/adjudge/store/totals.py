"""The totals of a run: its calls, tokens, cost and failures, and the models that answered."""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from ..records import ErrorKind
from . import rows
from .counts import check_count, kept


class ModelSeen(Struct, frozen=True):
    """The model name that a server reported, and in how many replies of a run."""

    model: str
    model_name: str
    fingerprint: str
    n: int


class Totals(Struct, frozen=True):
    """The totals of a run, counted on demand. A reply that several calls share counts once."""

    items: int
    calls: int
    failed: dict[ErrorKind, int]
    judged: int
    replies: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    unpriced: int
    """replies whose cost is unknown; `cost_usd` leaves them out"""
    paid_replies: int
    """replies that this run paid for; the others were cache hits"""
    paid_usd: float
    seconds: float
    """the sum over the replies, many of which were in flight at the same time"""
    reasks: int = 0
    """replies to follow-up questions for an answer that was missing"""
    reasks_usd: float = 0.0


def totals(connection: sqlite3.Connection, run: int) -> Totals:
    """Count the items, calls, replies and costs of a run."""
    before = kept(connection, run)
    (n_items,) = connection.execute("SELECT count(*) FROM items WHERE run = ?", (run,)).fetchone()
    failed = dict(
        connection.execute(
            """SELECT error_kind, count(*) FROM places JOIN slots USING (run, slot)
            WHERE run = ? AND error_kind IS NOT NULL AND slots.kind != 'combine' GROUP BY 1""",
            (run,),
        ).fetchall()
    )
    (n_calls,) = connection.execute("SELECT count(*) FROM places WHERE run = ?", (run,)).fetchone()
    (judged,) = connection.execute(
        "SELECT count(*) FROM judgments JOIN runs ON runs.id = run AND runs.reading = "
        "judgments.reading WHERE run = ?",
        (run,),
    ).fetchone()
    sums = connection.execute(
        # TOTAL never overflows, whatever counts a host has reported.
        """SELECT count(*), CAST(TOTAL(tokens_in) AS INTEGER), CAST(TOTAL(tokens_out) AS INTEGER),
        TOTAL(cost_usd),
            count(*) - count(cost_usd), count(*) FILTER (WHERE run = :run),
            TOTAL(cost_usd) FILTER (WHERE run = :run), TOTAL(seconds)
        FROM replies WHERE call IN (
            SELECT call FROM places JOIN slots USING (run, slot)
            WHERE run = :run AND error_kind IS NULL AND slots.kind != 'combine')""",
        {"run": run},
    ).fetchone()
    reasks = connection.execute(
        """SELECT count(*), TOTAL(cost_usd) FROM replies WHERE call IN (
            SELECT call FROM places JOIN slots USING (run, slot)
            WHERE run = :run AND error_kind IS NULL AND kind = 'reask')""",
        {"run": run},
    ).fetchone()
    after = kept(connection, run)
    for what, first, n, last in (
        ("items", before.items, n_items, after.items),
        ("calls", before.places, n_calls, after.places),
        ("judgments", before.judgments, judged, after.judgments),
    ):
        check_count(what, first, n, last)
    (n_combined,) = connection.execute(
        "SELECT count(*) FROM places JOIN slots USING (run, slot) WHERE run = ? AND kind = 'combine'", (run,)
    ).fetchone()
    if not all(isinstance(number, int) for number in sums[:3]):
        raise rows.DamagedError("a number of tokens is not a whole number")
    return Totals(n_items, n_calls - n_combined, failed, judged, *sums, *reasks)


def first_error(connection: sqlite3.Connection, run: int, kind: ErrorKind) -> str:
    """The message of the first call that failed with this kind of error."""
    row = connection.execute(
        "SELECT error_message FROM places WHERE run = ? AND error_kind = ? ORDER BY item LIMIT 1", (run, kind)
    ).fetchone()
    return str(row[0] or "") if row else ""


def n_reasks_failed(connection: sqlite3.Connection, run: int) -> int:
    """How many follow-up questions got no reply."""
    select = """SELECT count(*) FROM places WHERE run = :run AND error_kind IS NOT NULL
        AND slot IN (SELECT slot FROM slots WHERE run = :run AND kind = 'reask')"""
    has_any = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM slots WHERE run = ? AND kind = 'reask')", (run,)
    ).fetchone()[0]
    return int(connection.execute(select, {"run": run}).fetchone()[0]) if has_any else 0


_SAMPLE_PAIRS = """SELECT EXISTS (
    SELECT 1 FROM places AS one
    JOIN slots AS first ON first.run = one.run AND first.slot = one.slot
    JOIN slots AS other ON other.run = one.run AND other.protocol = first.protocol AND other.model =
    first.model
        AND other.criteria = first.criteria AND other."order" = first."order" AND other.kind = first.kind
    JOIN places AS two ON two.run = one.run AND two.item = one.item AND two.slot = other.slot
    JOIN replies AS reply ON reply.call = one.call
    JOIN replies AS other_reply ON other_reply.call = two.call
    WHERE one.run = :run AND first.kind = 'generate' AND first.sample = 0 AND other.sample > 0
        AND one.error_kind IS NULL AND two.error_kind IS NULL
        AND (:is_same OR reply.text != other_reply.text))"""
"""Whether there is a pair of samples, or one with different replies. It stops at the first."""


def samples_are_identical(connection: sqlite3.Connection, run: int) -> bool:
    """Whether a run has several samples of its calls, and the replies to the same call are all the same."""
    has_pairs, differ = (
        connection.execute(_SAMPLE_PAIRS, {"run": run, "is_same": is_same}).fetchone()[0]
        for is_same in (True, False)
    )
    return bool(has_pairs and not differ)


def models_seen(connection: sqlite3.Connection, run: int) -> list[ModelSeen]:
    """The model names that servers reported; several for one model mean that the server changed it."""
    names = connection.execute(
        # The model by its name in this run: another run may know the same call by another name.
        """SELECT slots.model, model_name, fingerprint, count(DISTINCT replies.call)
        FROM places JOIN slots ON slots.run = places.run AND slots.slot = places.slot
        JOIN replies ON replies.call = places.call
        WHERE places.run = ? AND places.error_kind IS NULL AND slots.kind != 'combine'
        GROUP BY 1, 2, 3 ORDER BY min(replies.call)""",
        (run,),
    )
    seen = [ModelSeen(*row) for row in names]
    if not all(isinstance(one.model_name, str) and isinstance(one.fingerprint, str) for one in seen):
        raise rows.DamagedError("the name of a model is not a text")
    return seen

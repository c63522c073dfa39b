"""Draws replies with their readings, for a person to mark as right or wrong. Writes no file."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from ...errors import DataError
from ...records import PART_KINDS, Judgment
from ...results.combine import choice_criterion
from ...store import AskedCall, RunRow, Store
from .draw import DrawnRows, draw

REPLY_COLUMNS = ("item", "criterion", "subject", "order", "reply", "read", "status", "right")
"""`order` is ba where the response shown first is the item's b; `read` names responses as the item does."""


def replies_to_check(store: Store, run: RunRow, n: int, *, seed: int = 0) -> DrawnRows:
    """Replies with their readings, for a person to mark as right or wrong."""
    readings = {
        (call.seq, call.call_index): call.judgment
        for call in store.judgments(run)
        if call.judgment is not None
        and call.error is None
        and call.about.kind not in (*PART_KINDS, "combine", "likelihood")
    }
    if not readings:
        raise DataError(f"run {run.name} has no reply that was read, so there is nothing to check.")
    keys = list(readings)
    chosen = {keys[index] for index in draw([""] * len(keys), n, by_system=False, seed=seed)}
    asked: dict[tuple[int, int], AskedCall] = {}
    second_replies: dict[tuple[int, str], str] = {}
    for call in store.asked(run):
        if (call.seq, call.call_index) in chosen:
            asked[call.seq, call.call_index] = call
        elif call.call.kind == "reask" and call.call.parent is not None:
            second_replies[call.seq, call.call.parent] = call.reply.text
    rows: list[dict[str, str]] = []
    order = sorted(asked)
    random.Random(seed).shuffle(order)
    for key in order:
        call, judgment = asked[key], readings[key]
        assert judgment is not None
        text = call.reply.text
        second_reply = second_replies.get((call.seq, call.call.key))
        if second_reply is not None:
            text += f"\n\n[asked again:]\n{second_reply}"
        rows += _readings(call, judgment, text)
    # For single responses these columns are the same in every row.
    is_pair = any(row["subject"] or row["order"] == "ba" for row in rows)
    columns = tuple(name for name in REPLY_COLUMNS if name not in ("subject", "order") or is_pair)
    return DrawnRows(columns, tuple(rows), len(asked), len(keys))


def _readings(call: AskedCall, judgment: Judgment, text: str) -> Iterable[dict[str, str]]:
    """One row for each score read from a reply, and one for its choice."""
    item = call.item.id if call.item is not None else ""
    scores: list[tuple[str, str, Any, str]] = [
        (score.criterion, score.subject or "", score.label or score.value, score.status)
        for score in judgment.scores
    ]
    if judgment.choice_status is not None:
        scores.append((choice_criterion(call.call.criteria), "", judgment.choice, judgment.choice_status))
    for criterion, subject, value, status in scores:
        read = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        yield dict(
            zip(
                REPLY_COLUMNS,
                (item, criterion, subject, call.call.order, text, read, status, ""),
                strict=True,
            )
        )

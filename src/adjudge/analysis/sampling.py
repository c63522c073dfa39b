"""Draws items to label, or replies to check by hand, at random and reproducibly. Writes no file.

Neither the judge's score nor the system is shown with an item: knowing either would influence the rater.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from typing import Any

from msgspec import Struct

from ..combine import choice_criterion
from ..engine import fields_naming_the_system, results
from ..errors import DataError
from ..records import FieldValue, Item, Judgment, Subject
from ..store import Asked, RunRow, Store

LABEL_COLUMNS = ("item", "criterion", "subject", "rater", "value", "probability")
REPLY_COLUMNS = ("item", "criterion", "subject", "order", "reply", "read", "status", "right")
"""`order` is ba where the response shown first is the item's b; `read` names responses as the item does."""


class DrawnRows(Struct, frozen=True):
    """Rows of a file to fill in, with its columns."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, str], ...]
    n: int
    """drawn items or replies"""
    n_all: int
    """items or replies to draw from"""


def draw(systems: Sequence[str], n: int, *, by_system: bool, seed: int) -> dict[int, float]:
    """The indices that are drawn, in random order, each with its probability; `systems` has one name per index.

    With `by_system` every system gets the same number, as far as it has that many.
    """
    rng = random.Random(seed)
    strata: dict[str, list[int]] = defaultdict(list)
    for index, system in enumerate(systems):
        strata[system if by_system else ""].append(index)
    sizes = _shares({name: len(indices) for name, indices in strata.items()}, n)
    probabilities = {
        index: sizes[name] / len(indices)
        for name, indices in strata.items()
        for index in rng.sample(indices, sizes[name])
    }
    order = list(probabilities)
    rng.shuffle(order)
    return {index: probabilities[index] for index in order}


def _shares(available: dict[str, int], n: int) -> dict[str, int]:
    """n divided as evenly over the strata as their sizes allow."""
    sizes = dict.fromkeys(available, 0)
    left = min(n, sum(available.values()))
    while left:
        not_full = [name for name in available if sizes[name] < available[name]]
        quota = max(1, left // len(not_full))
        for name in not_full:
            more = min(quota, available[name] - sizes[name], left)
            sizes[name] += more
            left -= more
    return sizes


def items_to_label(
    store: Store, run: RunRow, n: int, *, by_system: bool = False, seed: int = 0, rater: str = "rater"
) -> DrawnRows:
    """A label file to fill in, with one row for each drawn item, criterion and subject."""
    judged: dict[str, None] = {}
    criteria: dict[tuple[str, Subject | None], None] = {}
    systems: dict[str, str] = {}
    for result in results(store, run):
        judged[result.item] = None
        criteria[result.criterion, result.subject] = None
        pair = f"{result.system_a} / {result.system_b}" if result.system_a else result.system
        systems.setdefault(result.item, pair)
    if not judged:
        raise DataError(f"run {run.name} has no judged item to draw from. Run it first.")
    ids = list(judged)
    probabilities = {
        ids[index]: probability
        for index, probability in draw(
            [systems[name] for name in ids], n, by_system=by_system, seed=seed
        ).items()
    }
    hidden = fields_naming_the_system(run)
    texts = {item.id: _fields(item, hidden) for item in store.items(run) if item.id in probabilities}
    names = list(dict.fromkeys(name for fields in texts.values() for name in fields))
    rows = [
        {
            "item": name,
            "criterion": criterion,
            "subject": subject or "",
            "rater": rater,
            "value": "",
            "probability": f"{probability:.6g}",
            **texts[name],
        }
        for name, probability in probabilities.items()
        for criterion, subject in criteria
    ]
    has_subjects = any(subject is not None for _, subject in criteria)
    columns = [name for name in LABEL_COLUMNS if name != "subject" or has_subjects]
    return DrawnRows((*columns, *names), tuple(rows), len(probabilities), len(ids))


def _fields(item: Item, hidden: Container[str]) -> dict[str, str]:
    """The texts that a rater reads; a field named like a column of the file gets a suffix."""
    return {
        f"{name} (text)" if name in LABEL_COLUMNS else name: _shown(value)
        for name, value in item.fields.items()
        if name not in hidden
    }


def _shown(value: FieldValue) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(part if isinstance(part, str) else f"{part.role}: {part.content}" for part in value)


def replies_to_check(store: Store, run: RunRow, n: int, *, seed: int = 0) -> DrawnRows:
    """Replies with their readings, for a person to mark as right or wrong."""
    readings = {
        (call.seq, call.call_index): call.judgment
        for call in store.judgments(run)
        if call.judgment is not None
        and call.error is None
        and call.about.kind not in ("reask", "steps", "likelihood")
    }
    if not readings:
        raise DataError(f"run {run.name} has no reply that was read, so there is nothing to check.")
    keys = list(readings)
    chosen = {keys[index] for index in draw([""] * len(keys), n, by_system=False, seed=seed)}
    asked: dict[tuple[int, int], Asked] = {}
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


def _readings(call: Asked, judgment: Judgment, text: str) -> Iterable[dict[str, str]]:
    """One row for each score read from a reply, and one for its choice."""
    item = call.item.id if call.item is not None else ""
    scores: list[tuple[str, str, Any, str]] = [
        (score.criterion, score.subject or "", score.value, score.status) for score in judgment.scores
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

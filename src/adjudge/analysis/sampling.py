"""Draws what people are asked to look at: items to label, or replies to check, at random and reproducibly.

The judge's score is not shown with an item, nor who wrote it: a rater who knows either no longer says what they think.
Nothing is written to a file here.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from ..engine import results
from ..errors import DataError
from ..records import FieldValue, Item, Judgment, Subject
from ..store import Asked, RunRow, Store

LABEL_COLUMNS = ("item", "criterion", "subject", "rater", "value", "probability")
REPLY_COLUMNS = ("item", "criterion", "subject", "order", "reply", "read", "status", "right")
"""`order` is ba where the response that the reply calls the first is the item's b, which `read` speaks of as b."""


class Drawn(Struct, frozen=True):
    """Rows to fill in, under their columns, and from how many they were drawn."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, str], ...]
    n: int
    """items or replies that were drawn"""
    n_all: int


def chances(systems: Sequence[str], n: int, *, by_system: bool, seed: int) -> dict[int, float]:
    """Which places are drawn, in random order, each with its probability; `systems` has one name per place.

    By system, each gets as many as every other, as far as it has them.
    """
    rng = random.Random(seed)
    strata: dict[str, list[int]] = defaultdict(list)
    for place, system in enumerate(systems):
        strata[system if by_system else ""].append(place)
    sizes = _shares({name: len(places) for name, places in strata.items()}, n)
    drawn = {
        place: sizes[name] / len(places)
        for name, places in strata.items()
        for place in rng.sample(places, sizes[name])
    }
    order = list(drawn)
    rng.shuffle(order)
    return {place: drawn[place] for place in order}


def _shares(available: dict[str, int], n: int) -> dict[str, int]:
    """n places divided as evenly as the strata allow."""
    sizes = dict.fromkeys(available, 0)
    left = min(n, sum(available.values()))
    while left:
        open_ = [name for name in available if sizes[name] < available[name]]
        each = max(1, left // len(open_))
        for name in open_:
            more = min(each, available[name] - sizes[name], left)
            sizes[name] += more
            left -= more
    return sizes


def items_to_label(
    store: Store, run: RunRow, n: int, *, by_system: bool = False, seed: int = 0, rater: str = "rater"
) -> Drawn:
    """A label file to fill in: one row for each drawn item, criterion and subject."""
    asked: dict[str, None] = {}
    parts: dict[tuple[str, Subject | None], None] = {}
    systems: dict[str, str] = {}
    for result in results(store, run):
        asked[result.item] = None
        parts[result.criterion, result.subject] = None
        pair = f"{result.system_a} / {result.system_b}" if result.system_a else result.system
        systems.setdefault(result.item, pair)
    if not asked:
        raise DataError(f"run {run.name} has no judged item to draw from. Run it first.")
    ids = list(asked)
    probability = {
        ids[place]: chance
        for place, chance in chances(
            [systems[name] for name in ids], n, by_system=by_system, seed=seed
        ).items()
    }
    texts = {item.id: _fields(item) for item in store.items(run) if item.id in probability}
    names = list(dict.fromkeys(name for fields in texts.values() for name in fields))
    rows = [
        {
            "item": name,
            "criterion": criterion,
            "subject": subject or "",
            "rater": rater,
            "value": "",
            "probability": f"{chance:.6g}",
            **texts[name],
        }
        for name, chance in probability.items()
        for criterion, subject in parts
    ]
    has_subjects = any(subject is not None for _, subject in parts)
    columns = [name for name in LABEL_COLUMNS if name != "subject" or has_subjects]
    return Drawn((*columns, *names), tuple(rows), len(probability), len(ids))


def _fields(item: Item) -> dict[str, str]:
    """What a rater reads; a field that shares its name with a column of the file steps aside."""
    return {
        f"{name} (text)" if name in LABEL_COLUMNS else name: _shown(value)
        for name, value in item.fields.items()
    }


def _shown(value: FieldValue) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(part if isinstance(part, str) else f"{part.role}: {part.content}" for part in value)


def replies_to_check(store: Store, run: RunRow, n: int, *, seed: int = 0) -> Drawn:
    """Replies with what was read from each, for a person to say whether that is right."""
    read = {
        (place.seq, place.call_index): place.judgment
        for place in store.judgments(run)
        if place.judgment is not None
        and place.error is None
        and place.about.kind not in ("reask", "steps", "likelihood")
    }
    if not read:
        raise DataError(f"run {run.name} has no reply that was read. There is nothing to check.")
    places = list(read)
    chosen = {places[place] for place in chances([""] * len(places), n, by_system=False, seed=seed)}
    asked: dict[tuple[int, int], Asked] = {}
    again: dict[tuple[int, str], str] = {}
    for one in store.asked(run):
        if (one.seq, one.call_index) in chosen:
            asked[one.seq, one.call_index] = one
        elif one.call.kind == "reask" and one.call.parent is not None:
            again[one.seq, one.call.parent] = one.reply.text
    rows: list[dict[str, str]] = []
    order = sorted(asked)
    random.Random(seed).shuffle(order)
    for key in order:
        place, judgment = asked[key], read[key]
        assert judgment is not None
        text = place.reply.text
        second = again.get((place.seq, place.call.key))
        if second is not None:
            text += f"\n\n[asked again:]\n{second}"
        rows += _readings(place, judgment, text)
    # What is the same for every reply of single responses is left out.
    is_pair = any(row["subject"] or row["order"] == "ba" for row in rows)
    columns = tuple(name for name in REPLY_COLUMNS if name not in ("subject", "order") or is_pair)
    return Drawn(columns, tuple(rows), len(asked), len(places))


def _readings(place: Asked, judgment: Judgment, text: str) -> Iterable[dict[str, str]]:
    """One row for each score that was read from a reply, and one for its choice."""
    item = place.item.id if place.item is not None else ""
    found: list[tuple[str, str, Any, str]] = [
        (score.criterion, score.subject or "", score.value, score.status) for score in judgment.scores
    ]
    if judgment.choice_status is not None:
        asked = place.call.criteria
        criterion = "overall" if "overall" in asked else asked[0]
        found.append((criterion, "", judgment.choice, judgment.choice_status))
    for criterion, subject, value, status in found:
        read = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        yield dict(
            zip(
                REPLY_COLUMNS,
                (item, criterion, subject, place.call.order, text, read, status, ""),
                strict=True,
            )
        )

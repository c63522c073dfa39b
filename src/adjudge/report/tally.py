"""Takes results one by one and keeps of each only numbers, so that a run of any size can be reported.

Items are known by a 64-bit hash of their id: at a hundred thousand items two of them share one
with a chance below one in a thousand million. Texts (ids, explanations) are not kept.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from typing import get_args

from ..records import Result, Status
from ..stats import Column, joined, missing_from, pooled

STATUSES: tuple[Status, ...] = get_args(Status)
SIGN = {"a": 1.0, "b": -1.0, "tie": 0.0}
"""A choice as a number, so that several judges' choices can be averaged to a vote."""

Pair = tuple[str, str]


class Scores:
    """What one judge gave on one criterion to one system, or said of one pair of systems."""

    __slots__ = ("failed", "n_partial", "ok")

    def __init__(self) -> None:
        self.ok = Column()
        self.failed = Column()
        """the value is the place of the status in `STATUSES`"""
        self.n_partial = 0

    @property
    def n(self) -> int:
        return len(self.ok) + len(self.failed)

    def failures(self) -> dict[str, int]:
        """status → how many failed so."""
        return {STATUSES[int(code)]: count for code, count in self.failed.counts().items()}


def panel(parts: list[Scores]) -> Scores:
    """Several judges' scores as one: the mean per item; an item fails only where every judge failed."""
    if len(parts) == 1:
        return parts[0]
    whole = Scores()
    whole.ok, whole.n_partial = pooled([part.ok for part in parts])
    whole.failed = missing_from(joined([part.failed for part in parts]), whole.ok)
    return whole


class Tally:
    """All results of a run, added up. Keys keep the order in which they were first seen."""

    def __init__(self) -> None:
        self.scores: dict[tuple[str, str], dict[str, dict[str, Scores]]] = {}
        """(protocol, criterion) → model → system"""
        self.choices: dict[tuple[str, str], dict[str, dict[Pair, Scores]]] = {}
        """(protocol, criterion) → model → (system_a, system_b)"""
        self.rungs: dict[str, Counter[str]] = {}
        self.flagged: dict[str, array[int]] = {}
        self.items = array("q")
        self.models: dict[str, None] = {}
        self.protocols: dict[str, None] = {}
        self._frames: set[Pair] = set()
        """pairs as they were first seen: a pair that comes the other way round is turned to match"""
        self._last: tuple[str, int] = ("", key_of(""))

    def add_all(self, results: Iterable[Result]) -> Tally:
        for result in results:
            self.add(result)
        return self

    def add(self, result: Result) -> None:
        item = self._item_key(result.item)
        self.models.setdefault(result.model)
        self.protocols.setdefault(result.protocol)
        for flag in result.flags:
            seen = self.flagged.setdefault(flag, array("q"))
            if not seen or seen[-1] != item:
                seen.append(item)
        rungs = self.rungs.setdefault(result.model, Counter())
        rungs[(result.how or "not recorded") if result.status == "ok" else "failed"] += 1
        if is_choice(result):
            self._add_choice(result, item)
        else:
            self._add_score(result, item)

    def _add_score(self, result: Result, item: int) -> None:
        models = self.scores.setdefault((result.protocol, result.criterion), {})
        scores = models.setdefault(result.model, {}).setdefault(system_of(result), Scores())
        # Both responses of a pair may come from one system: they are two scores of one item.
        key = item if result.subject is None else item ^ _SUBJECT_KEYS[result.subject]
        is_marked = "injection_suspected" in result.flags
        value = result.value if result.status == "ok" else None
        _put(scores, result, key, item, value, is_marked)

    def _add_choice(self, result: Result, item: int) -> None:
        pairs = self.choices.setdefault((result.protocol, result.criterion), {}).setdefault(result.model, {})
        pair = (result.system_a or "a", result.system_b or "b")
        sign = 1.0
        if pair[::-1] in self._frames and pair[0] != pair[1]:
            pair, sign = (pair[1], pair[0]), -1.0
        self._frames.add(pair)
        scores = pairs.setdefault(pair, Scores())
        is_decided = result.status == "ok" and result.choice is not None
        value = sign * SIGN[result.choice] if is_decided and result.choice is not None else None
        _put(scores, result, item, item, value, "order_conflict" in result.flags)

    def _item_key(self, item: str) -> int:
        """The hash of an item's id; results of one item mostly follow each other."""
        if not self.items or self._last[0] != item:
            self._last = (item, key_of(item))
            self.items.append(self._last[1])
        return self._last[1]


def is_choice(result: Result) -> bool:
    """Whether a result says which of two is better: it belongs to a pair, and to neither side of it."""
    belongs_to_pair = result.system_a is not None or result.system_b is not None
    return result.subject is None and result.value is None and (result.choice is not None or belongs_to_pair)


def system_of(result: Result) -> str:
    """The system whose output was scored."""
    if result.subject is None:
        return result.system
    named = result.system_a if result.subject == "a" else result.system_b
    return named or (result.system if result.system != "all" else result.subject)


def key_of(text: str) -> int:
    """A number for a text, the same in every process."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


_SUBJECT_KEYS = {subject: key_of(f"subject {subject}") for subject in ("a", "b")}


def _put(scores: Scores, result: Result, key: int, item: int, value: float | None, is_marked: bool) -> None:
    group = item if result.group is None else key_of(result.group)
    is_grouped = result.group is not None
    if value is not None and math.isfinite(value):
        scores.ok.add(key, value, group, is_grouped=is_grouped, is_marked=is_marked)
        return
    # A result that calls itself ok without a usable number is a failure all the same.
    status: Status = (
        result.status if result.status != "ok" else "unparsed" if value is None else "out_of_range"
    )
    scores.failed.add(key, STATUSES.index(status), group, is_grouped=is_grouped, is_marked=is_marked)

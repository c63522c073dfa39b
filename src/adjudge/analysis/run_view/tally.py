"""Adds up results one by one and keeps only numbers, so that a run of any size can be reported.

An item is identified by a 64-bit hash of its id: among a hundred thousand items the probability that two
share a hash is below one in a thousand million. Texts (ids, explanations) are not kept.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, TypeVar, get_args

from msgspec import structs

from ...records import Element, ElementSummary, Judgment, Result, Scale, Score, Status
from ...results.combine import Kind
from ...stats import ScoreColumn, mean_interval
from .result_facts import Pair, is_undefined, system_of, systems_of_pair

SKIPPED = "skipped"
"""In place of a status: the line of an item could not be used, and was left out of the run."""


STATUSES: tuple[str, ...] = (*get_args(Status), SKIPPED)


SIGN = {"a": 1.0, "b": -1.0, "tie": 0.0}
"""A choice as a number, so that the mean over several judges is their vote."""


CriterionKey = tuple[str, str]
"""protocol and criterion"""


class Scores:
    """The scores of one judge on one criterion for one system, or its choices for one pair of systems."""

    __slots__ = ("failed", "n_partial", "n_samples", "n_samples_failed", "n_undefined", "ok", "ok_failed")

    def __init__(self) -> None:
        self.ok = ScoreColumn()
        self.ok_failed = array("f")
        """of each score in `ok` the share of its samples that failed"""
        self.failed = ScoreColumn()
        """the value is the index of the status in `STATUSES`"""
        self.n_partial = 0
        self.n_samples = 0
        """replies, failed ones included; more than the results where each item was judged several times"""
        self.n_samples_failed = 0
        self.n_undefined = 0
        """results without a score that did not fail: there was nothing to score"""

    @property
    def n(self) -> int:
        return len(self.ok) + len(self.failed)

    @property
    def n_left_out(self) -> int:
        """How many of the failures were not judged, because their lines could not be used."""
        return self.failures().get(SKIPPED, 0)

    def failures(self) -> dict[str, int]:
        """Status → number of failures."""
        return {STATUSES[int(code)]: count for code, count in self.failed.counts().items()}


class ElementTally:
    """The elements of one system that one judge has checked, by
    one criterion: claims, passages, points of a checklist.
    """

    def __init__(self) -> None:
        self.values = array("d")
        self.clusters = array("q")
        """the group of each value, or its item: elements of one text are not independent"""
        self.counts: Counter[str] = Counter()
        """verdict → elements"""
        self.failures: Counter[str] = Counter()
        self.n_items = self.n_quoted = self.n_found = 0

    def add(self, elements: Sequence[Element], criterion: str, cluster: int) -> None:
        """Add the elements of one judgment."""
        self.n_items += 1
        for element in elements:
            for score in element.scores:
                if score.criterion == criterion:
                    self._add(score, cluster)

    def _add(self, score: Score, cluster: int) -> None:
        if score.status != "ok":
            self.failures[score.status] += 1
            return
        self.counts[score.label if score.label is not None else key_text(score.value or 0.0)] += 1
        if score.value is not None:
            self.values.append(score.value)
            self.clusters.append(cluster)
        if score.grounded is not None:
            self.n_quoted += 1
            self.n_found += score.grounded == 1.0

    def summary(self, system: str, model: str, scale: Scale | None) -> ElementSummary:
        """The counts by verdict, and the mean with an interval that is clustered by item."""
        n_clusters = len(set(self.clusters))
        estimate = mean_interval(
            self.values,
            self.clusters if n_clusters < len(self.values) else None,
            self.failures.total(),
            scale.limits if scale is not None else None,
            "mean over all elements",
        )
        return ElementSummary(
            system,
            model,
            self.n_items,
            dict(self.counts),
            dict(self.failures),
            structs.replace(estimate, unit=f"item (n={n_clusters})"),
            self.n_quoted,
            self.n_found,
        )


class Tally:
    """All results of a run, added up. Keys keep the order in which they were first seen."""

    def __init__(self) -> None:
        self.scores: dict[CriterionKey, dict[str, dict[str, Scores]]] = {}
        """(protocol, criterion) → model → system"""
        self.choices: dict[CriterionKey, dict[str, dict[Pair, Scores]]] = {}
        """(protocol, criterion) → model → (system_a, system_b)"""
        self.elements: dict[CriterionKey, dict[tuple[str, str], ElementTally]] = {}
        """(protocol, criterion) → (model, system) → what was checked one by one"""
        self.rungs: dict[str, Counter[str]] = {}
        self.without_explanation: dict[str, None] = {}
        """models that answer typed questions and write no text"""
        self.flagged: dict[str, array[int]] = {}
        self.quotes: dict[str, Counter[bool | None]] = {}
        """model → quoted evidence, by whether it stands in the judged text"""
        self.items = array("q")
        self.models: dict[str, None] = {}
        self.protocols: dict[str, None] = {}
        self._frames: set[Pair] = set()
        """pairs in the order first seen; the same pair in the other order is swapped to match"""
        self._last: tuple[str, int] = ("", key_of(""))
        self._places: dict[tuple[str | None, ...], _Place] = {}

    def add(self, result: Result, kind: Kind) -> None:
        """Add one result, a score or a choice."""
        item = self._item_key(result.item)
        for flag in result.flags:
            items = self.flagged.setdefault(flag, array("q"))
            if not items or items[-1] != item:
                items.append(item)
        if result.evidence:
            counts = self.quotes.setdefault(result.model, Counter())
            counts.update(quote.grounded for quote in result.evidence)
        if result.flags and is_undefined(result):
            self.models.setdefault(result.model)
            self.protocols.setdefault(result.protocol)
            criterion = (result.protocol, result.criterion)
            _scores_at(_by_model(self.scores, criterion, result.model), system_of(result)).n_undefined += 1
            return
        about = (
            kind, result.protocol, result.criterion, result.model, result.system, result.subject,
            result.system_a, result.system_b,
        )  # fmt: skip
        place = self._places.get(about)
        if place is None:
            place = self._places[about] = self._place(result, kind)
        if result.estimator == "decision":
            self.without_explanation.setdefault(result.model)
        add = _add_choice if kind == "choices" else _add_score
        is_read = add(place, result, item)
        place.readings[(result.how or "not recorded") if is_read else "failed"] += 1

    def _place(self, result: Result, kind: Kind) -> _Place:
        """Where the results of the same judge, criterion and system are added up."""
        self.models.setdefault(result.model)
        self.protocols.setdefault(result.protocol)
        readings = self.rungs.setdefault(result.model, Counter())
        criterion = (result.protocol, result.criterion)
        if kind == "choices":
            pair, sign = self._framed(systems_of_pair(result))
            return _Place(_scores_at(_by_model(self.choices, criterion, result.model), pair), readings, sign)
        scores = _scores_at(_by_model(self.scores, criterion, result.model), system_of(result))
        return _Place(scores, readings)

    def add_left_out(self, systems: Sequence[str], n: int) -> None:
        """Add lines that were left out of the run, of one system or of a pair, as failures on every
        criterion.
        """
        for by_model in self.scores.values():
            for by_system in by_model.values():
                for system in systems:
                    _add_left_out(_scores_at(by_system, system), system, n)
        if len(systems) == 2:
            pair, _ = self._framed((systems[0], systems[1]))
            for choices in self.choices.values():
                for by_pair in choices.values():
                    _add_left_out(_scores_at(by_pair, pair), " / ".join(pair), n)

    def add_elements(self, result: Result, judgments: Sequence[Judgment]) -> None:
        """Add what the steps of a protocol have checked for one result."""
        for judgment in judgments:
            elements = judgment.checked
            if any(score.criterion == result.criterion for element in elements for score in element.scores):
                by_system = self.elements.setdefault((result.protocol, result.criterion), {})
                tally = by_system.setdefault((result.model, system_of(result)), ElementTally())
                tally.add(elements, result.criterion, key_of(result.group or result.item))

    def _framed(self, pair: Pair) -> tuple[Pair, float]:
        """The pair in the order first seen, and -1 where that swaps the two."""
        sign = 1.0
        if pair[::-1] in self._frames and pair[0] != pair[1]:
            pair, sign = (pair[1], pair[0]), -1.0
        self._frames.add(pair)
        return pair, sign

    def _item_key(self, item: str) -> int:
        """The hash of an item's id. Results of one item mostly follow each other, so the last one is kept."""
        if not self.items or self._last[0] != item:
            self._last = (item, key_of(item))
            self.items.append(self._last[1])
        return self._last[1]


class _Place(NamedTuple):
    """The results of one judge on one criterion of one system, or of one pair."""

    scores: Scores
    readings: Counter[str]
    sign: float = 1.0
    """-1 where the pair was first seen in the other order"""


def _add_score(place: _Place, result: Result, item: int) -> bool:
    # Both responses of a pair may come from one system: they are two scores of one item.
    key = item if result.subject is None else item ^ _SUBJECT_KEYS[result.subject]
    value = result.value if result.status == "ok" else None
    return _add(place.scores, result, key, item, value, "injection_suspected" in result.flags)


def _add_choice(place: _Place, result: Result, item: int) -> bool:
    value = None
    if result.status == "ok" and result.choice is not None:
        value = place.sign * SIGN[result.choice]
    return _add(place.scores, result, item, item, value, "order_conflict" in result.flags)


TallyKey = TypeVar("TallyKey", bound=Hashable)


def _by_model(
    tree: dict[CriterionKey, dict[str, dict[TallyKey, Scores]]], criterion: CriterionKey, model: str
) -> dict[TallyKey, Scores]:
    return tree.setdefault(criterion, {}).setdefault(model, {})


def _scores_at(by_key: dict[TallyKey, Scores], key: TallyKey) -> Scores:
    if key not in by_key:
        by_key[key] = Scores()
    return by_key[key]


@lru_cache(maxsize=1 << 16)
def key_of(text: str) -> int:
    """A 64-bit hash of a text, the same in every process."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


_SUBJECT_KEYS = {subject: key_of(f"subject {subject}") for subject in ("a", "b")}


def _add(scores: Scores, result: Result, key: int, item: int, value: float | None, is_marked: bool) -> bool:
    """Add one result; whether it has a usable value."""
    group = item if result.group is None else key_of(result.group)
    is_grouped = result.group is not None
    n_samples = max(1, result.n_samples)
    is_usable = value is not None and math.isfinite(value)
    scores.n_samples += n_samples
    # A pair may fail although one of its two orders could be read.
    n_failed = result.n_failed or (0 if is_usable else n_samples)
    scores.n_samples_failed += min(n_samples, n_failed)
    if value is not None and is_usable:
        scores.ok.add(key, value, group, is_grouped=is_grouped, is_marked=is_marked)
        scores.ok_failed.append(min(n_samples, n_failed) / n_samples)
        return True
    # A result with status ok but without a usable number is a failure, too.
    status: Status = result.status
    if status == "ok":
        status = "unparsed" if value is None else "out_of_range"
    scores.failed.add(key, STATUSES.index(status), group, is_grouped=is_grouped, is_marked=is_marked)
    return False


def _add_left_out(scores: Scores, name: str, n: int) -> None:
    for number in range(n):
        key = key_of(f"left out {name} {number}")
        scores.failed.add(key, STATUSES.index(SKIPPED), key, is_grouped=False)
    scores.n_samples += n
    scores.n_samples_failed += n


def key_text(value: float) -> str:
    """A value as a key: 4 rather than 4.0."""
    value = float(value)  # the ends of a scale may be integers
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)

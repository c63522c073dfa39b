"""What one score is worth: between which labels of people it stands, from the labelled items of its run."""

from __future__ import annotations

import threading

from ...analysis.labels.in_store import labels_in_store
from ...data import LabelFile
from ...records import Scale
from ...stats.score_interval import ScoreInterval, score_interval
from ...store import RunRow, Store
from ...words import score_text
from ..items.listing import ItemsTable

_MOST_KEPT = 200

Key = tuple[str, str, str, str]
"""run, protocol, criterion, judge"""


class OneScore:
    """The intervals of single scores, computed once for each state of a run."""

    def __init__(self, given: LabelFile | None) -> None:
        self._given = given
        self._lock = threading.Lock()
        self._kept: dict[Key, tuple[int, ScoreInterval | None]] = {}

    def of(
        self, store: Store, run: RunRow, listing: ItemsTable, scale: Scale, about: tuple[str, str, str]
    ) -> ScoreInterval | None:
        """The interval of one judge's scores on one criterion; none without enough labels on its scale."""
        if scale.limits is None or not listing.progress.is_whole:
            return None
        key, version = (run.name, *about), listing.progress.version
        with self._lock:
            known = self._kept.get(key)
            if known is not None and known[0] == version:
                return known[1]
        made = self._made(store, run, listing, scale.limits, about)
        with self._lock:
            if len(self._kept) > _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = (version, made)
        return made

    def _made(
        self,
        store: Store,
        run: RunRow,
        listing: ItemsTable,
        limits: tuple[float, float],
        about: tuple[str, str, str],
    ) -> ScoreInterval | None:
        rows = listing.labelled(*about)
        low, high = limits
        if not rows or not all(low <= label <= high for _, _, _, label in rows):
            return None
        given = self._given.labels if self._given is not None else labels_in_store(store, run)
        drawn = {
            label.item: label.probability
            for label in given
            if label.criterion == about[1] and label.probability is not None
        }
        probabilities = [drawn.get(item) for item, _, _, _ in rows]
        differ = all(probability is not None for probability in probabilities) and len(set(probabilities)) > 1
        groups = [group for _, group, _, _ in rows]
        interval = score_interval(
            [label for _, _, _, label in rows],
            [score for _, _, score, _ in rows],
            clusters=groups if any(item != group for item, group, _, _ in rows) else None,
            probabilities=probabilities if differ else None,
            limits=limits,
        )
        return interval if interval.below is not None else None


def worth_text(score: float, interval: ScoreInterval | None) -> str:
    """A 5 here: people said 2 to 5 in 95 of 100 cases; empty where that is not known."""
    ends = interval.around(score) if interval is not None else None
    if ends is None or interval is None:
        return ""
    low, high = (score_text(end) for end in ends)
    said = low if low == high else f"{low} to {high}"
    return f"A {score_text(score)} here: people said {said} in 95 of 100 cases (n = {interval.n:,})."

"""The path of a cascade: thresholds of all judges from strict to loose, fixed before any label is read.

Judges whose confidences all lie between 0 and 1 share one threshold that falls: a probability, or a lead
among samples, means the same of each. Other confidences are compared by their order: at place s the last
judge is sure enough on the share s of the items, the one before it on s³, and so on. Where a judge and the
last one are both sure enough, they must give the same answers: a judge that differs too often decides fewer
items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from .binomial import fewest_items

if TYPE_CHECKING:
    from numpy import bool_, int_
    from numpy.typing import NDArray

    from .arrays import Floats

    Counts = NDArray[int_]

_PLACES = 40
_EXPONENT = 3
"""How much stricter a judge is than the next one, where confidences are compared by their order. Of 1, 2, 3,
4 and 6, and of the last judge alone, 3 decides most or within a point of it, and leaves half of the items to
the cheaper judge (bench/promises_cascade.py)."""
_DIFFERING, _DOUBT = 0.5, 1.0
"""The answers in which a judge may differ from the last one where both are sure, as a share of the
disagreement that the target allows; and how many are added to those seen, so that few items show nothing."""
_DISAGREEMENTS = 8
"""Tests begin where the decided items would still show the target with so many disagreements, or before a
share of the labels is decided, with fewer. Of 2 to 15 disagreements, 8 decide most on recorded judges."""
_LARGEST_START, _LARGEST_START_SHARED = 0.5, 0.6
"""Tests begin before this share of the labels is decided. Of shares from 0.4 to 0.9 these decide most on
recorded judges. Over-confident judges that share one threshold are wrong more often at its strictest places:
a later start decides up to 12 points more there."""
_LAST_RISK = 0.6
"""Where confidences are probabilities, the level of the tests falls from the start to this share of the risk
at the last place. It costs 1 to 2 points. Without it, where the other half of 200 items is the truth, 12 to
15 % of calibrations miss at a risk of 10 %: a half that looks better than it is leaves a worse one."""


class CascadePath(Struct, frozen=True):
    """Thresholds from strict to loose, and what they mean for each item."""

    thresholds: Floats
    """a row for each place, a column for each judge"""
    deciders: Counts
    """for each place and item the judge that decides it; -1 where no one does"""
    largest_start: float
    """tests begin before this share of the labels is decided"""
    last_risk: float = 1.0
    """the level of the test at the last place, as a share of the risk"""

    def first_place(self, n_decided: Counts, n_labels: int, target: float, risk: float, more: int = 0) -> int:
        """The first place where a test has power; `more` items than an exact binomial test are needed."""
        import numpy as np

        for disagreements in range(_DISAGREEMENTS, -1, -1):
            needed = more + fewest_items(target, risk, disagreements)
            if needed <= self.largest_start * n_labels:
                break
        enough = np.flatnonzero(n_decided >= needed)
        return int(enough[0]) if len(enough) else max(0, len(n_decided) - 1)

    def risk_shares(self, start: int) -> Floats:
        """For each place the level of its test, as a share of the risk: all of it where the tests start."""
        import numpy as np

        shares = (self.deciders >= 0).mean(axis=1)
        begin = max(self.largest_start, float(shares[start]))
        if begin >= 1:
            return np.ones(len(shares))
        fallen: Floats = 1 - (1 - self.last_risk) * np.clip((shares - begin) / (1 - begin), 0.0, 1.0)
        return fallen


def path_of(confidence: Floats, same: Sequence[Sequence[bool] | None], target: float) -> CascadePath:
    """The path for judges from the cheapest to the dearest, by their confidences (-inf: decides nothing) and
    by where each gives the last one's answer (none: not known)."""
    import numpy as np

    is_probability = _is_probability(confidence)
    is_shared = is_probability and len(confidence) > 1
    wanted = _by_value(confidence) if is_shared else _by_order(confidence)
    for judge, flags in enumerate(same[:-1]):
        if flags is not None:
            is_same = np.array(flags, dtype=bool)
            wanted[:, judge] = _while_same(confidence, judge, wanted, is_same, target)
    # Where the last judge is left alone there is nothing to share.
    is_shared = is_shared and bool(wanted[:, :-1].any())
    columns = []
    for values, counts in zip(confidence, wanted.T, strict=True):
        known = np.sort(values[np.isfinite(values)])[::-1]
        columns.append(np.append(np.inf, known)[counts])
    thresholds = np.unique(np.array(columns).T, axis=0)[::-1]
    # Sorted by the first judge; along the path all thresholds fall together.
    thresholds = thresholds[np.lexsort(tuple(-thresholds.T))]
    return CascadePath(
        thresholds,
        _deciders(confidence, thresholds),
        _LARGEST_START_SHARED if is_shared else _LARGEST_START,
        _LAST_RISK if is_probability else 1.0,
    )


def _is_probability(confidence: Floats) -> bool:
    import numpy as np

    known = confidence[np.isfinite(confidence)]
    return len(known) > 0 and bool(known.min() >= 0 and known.max() <= 1)


def _by_value(confidence: Floats) -> Counts:
    """How many items each judge would decide alone, at places with one threshold for all.

    It falls by equal steps of the items that any judge decides; at each step for the last judge first, so
    that few levels of confidence make more places.
    """
    import numpy as np

    n_judges = len(confidence)
    surest = confidence.max(axis=0)
    falling = np.sort(surest[np.isfinite(surest)])[::-1]
    ends = [max(1, round(len(falling) * place / _PLACES)) for place in range(1, _PLACES + 1)]
    rows = [np.zeros(n_judges, dtype=int)]
    for value in falling[np.array(ends) - 1]:
        counts = (confidence >= value).sum(axis=1)
        for judge in range(n_judges - 1, -1, -1):
            rows.append(np.where(np.arange(n_judges) >= judge, counts, rows[-1]))
    return np.array(rows[1:])


def _by_order(confidence: Floats) -> Counts:
    """How many items each judge would decide alone, at equal steps of the last judge's share."""
    import numpy as np

    n_judges, n_items = confidence.shape
    places = np.arange(1, _PLACES + 1) / _PLACES
    powers = [_EXPONENT ** (n_judges - 1 - judge) for judge in range(n_judges)]
    wanted = np.rint(n_items * np.stack([places**power for power in powers], axis=1)).astype(int)
    counts: Counts = np.minimum(wanted, np.isfinite(confidence).sum(axis=1))
    return counts


def _while_same(
    confidence: Floats, judge: int, wanted: Counts, is_same: NDArray[bool_], target: float
) -> Counts:
    """How many items a judge may decide at each place: the most certain ones, while it keeps to the answers
    of the last judge where that one is sure as well, or has none.

    Where two that are sure differ, the dearer one is more often right. No label is used, so the promise is
    not touched.
    """
    import numpy as np

    order = np.argsort(-confidence[judge], kind="stable")
    last = confidence[-1][order]
    falling = np.sort(last)[::-1]
    allowed = []
    for own, of_last in zip(wanted[:, judge], wanted[:, -1], strict=True):
        enough = falling[of_last - 1] if of_last else np.inf
        is_compared = (last[:own] >= enough) | np.isneginf(last[:own])
        differing = _DOUBT + np.cumsum(is_compared & ~is_same[order][:own])
        few = np.flatnonzero(differing <= _DIFFERING * (1 - target) * np.cumsum(is_compared))
        allowed.append(int(few[-1]) + 1 if len(few) else 0)
    # Looser places keep what a stricter one decides.
    return np.maximum.accumulate(np.array(allowed, dtype=int))


def without_costly(path: CascadePath, confidence: Floats, prices: Sequence[float | None]) -> CascadePath:
    """The path without a judge where it costs more than it saves, unless only it can decide some items.

    Prices and confidences are known before labels are seen, so each place stays fixed in advance.
    """
    import numpy as np

    if any(price is None for price in prices):
        return path
    thresholds = path.thresholds.copy()
    can_decide = np.isfinite(confidence)
    # What an item costs that reaches the judges after this one, at each place.
    cost_after = np.full(len(thresholds), float(prices[-1] or 0.0))
    for judge in range(len(confidence) - 2, -1, -1):
        share = (confidence[judge][None] >= thresholds[:, judge, None]).mean(axis=1)
        cost = float(prices[judge] or 0.0) + (1 - share) * cost_after
        if not (can_decide[judge] & ~can_decide[judge + 1 :].any(axis=0)).any():
            thresholds[cost > cost_after, judge] = math.inf
        cost_after = np.where(np.isfinite(thresholds[:, judge]), cost, cost_after)
    return structs.replace(path, thresholds=thresholds, deciders=_deciders(confidence, thresholds))


def _deciders(confidence: Floats, thresholds: Floats) -> Counts:
    """At each place of a path, the first judge that is sure enough of each item; -1 where none is."""
    import numpy as np

    is_sure = confidence[None] >= thresholds[:, :, None]
    return np.where(is_sure.any(axis=1), is_sure.argmax(axis=1), -1)

"""The thresholds of a cascade: at which confidence each judge decides, so that agreement with people holds.

All thresholds lie on one path, from strict to loose, made of the confidences alone: at place s the last judge is sure enough
on the share s of the items, the one before it on s³, and so on. Each place is tested for agreement below the target
(`fixed_sequence`); the loosest place before the first test that fails is the answer. The path begins where the decided
items would still show the target with three disagreements among them: earlier tests have no power and would end it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from .arrays import label_codes
from .betting import betting_bound, betting_p
from .binomial import fewest_items, items_needed, lower_bound, upper_bound, upper_tail
from .fixed_sequence import last_rejected

if TYPE_CHECKING:
    from numpy import bool_, int_
    from numpy.typing import NDArray

    from .arrays import Codes, Floats

    Flags = NDArray[bool_]
    Counts = NDArray[int_]

_PLACES = 40
_EXPONENT = 3
"""How much stricter a judge is than the next one. Of 1, 2, 3, 4 and 6, and of the last judge alone, 3 decides most or
within a point of it, and leaves half of the items to the cheaper judge (bench/promises_cascade.py)."""
_DISAGREEMENTS = 3
_LARGEST_START = 0.6
"""The path begins before this share of the labels is decided, with fewer disagreements if need be."""
_BETTING_COST = 2
"""A test by betting needs about twice as many items as the binomial one."""


class Answers(Struct, frozen=True):
    """What one judge says of the items, in their order."""

    confidence: Sequence[float | None]
    """none where it decides nothing: no answer, a tie, no confidence"""
    agrees: Sequence[bool | None]
    """with the label; none where there is no label"""


class StageFit(Struct, frozen=True):
    """What one judge decides."""

    threshold: float | None
    """none: it never decides"""
    n_decided: int
    n_reached: int
    n_labelled: int
    n_agree: int


class CascadeFit(Struct, frozen=True):
    """The loosest thresholds that were shown to agree, and what they decide."""

    stages: tuple[StageFit, ...]
    holds: bool
    agreement: tuple[float, float, float] | None
    """of the labelled items that are decided: the share, its lower and its upper bound at level `risk`"""
    labels_needed: int | None
    """about how many labels show a threshold in 80 % of cases; none where one was shown, or none ever will be"""
    n_groups: int | None = None
    """labelled groups, where labelled items share one"""


class _Path(Struct, frozen=True):
    """Thresholds from strict to loose, and who decides each item at each place: -1 where nobody does."""

    thresholds: Floats
    deciders: Counts


def fit_cascade(
    judges: Sequence[Answers], target: float, risk: float, groups: Sequence[Hashable] | None = None
) -> CascadeFit:
    """Thresholds for judges from the cheapest to the dearest; `groups` name what items share."""
    import numpy as np

    confidence = np.array(
        [[-math.inf if c is None else c for c in judge.confidence] for judge in judges], dtype=float
    )
    labelled = np.array([flag is not None for flag in judges[0].agrees], dtype=bool)
    agrees = np.array([[bool(flag) for flag in judge.agrees] for judge in judges], dtype=bool)[:, labelled]
    path = _path_of(confidence)
    codes = _shared(groups, labelled)
    deciders = path.deciders[:, labelled]
    is_decided = deciders >= 0
    is_right = is_decided & np.take_along_axis(agrees, np.maximum(deciders, 0), axis=0)
    start = _start(is_decided.sum(axis=1), int(labelled.sum()), target, risk, is_grouped=codes is not None)
    places = range(start, len(path.thresholds))
    last = last_rejected((_p_value(is_right[at], is_decided[at], codes, target) for at in places), risk)
    n_groups = None if codes is None else int(codes.max()) + 1
    if last is None:
        needed = _labels_needed(
            is_right, is_decided, path.deciders, target, risk, is_grouped=codes is not None
        )
        nothing = _stages(np.full(len(judges), math.inf), np.full(confidence.shape[1], -1), labelled, agrees)
        return CascadeFit(nothing, holds=False, agreement=None, labels_needed=needed, n_groups=n_groups)
    at = start + last
    stages = _stages(path.thresholds[at], path.deciders[at], labelled, agrees)
    bounds = _bounds(is_right[at], is_decided[at], codes, risk)
    return CascadeFit(stages, holds=True, agreement=bounds, labels_needed=None, n_groups=n_groups)


def _path_of(confidence: Floats) -> _Path:
    """Places at equal steps of the last judge's share, without those that decide the same items."""
    import numpy as np

    n_judges, n_items = confidence.shape
    columns = []
    for judge, values in enumerate(confidence):
        known = np.sort(values[np.isfinite(values)])[::-1]
        power = _EXPONENT ** (n_judges - 1 - judge)
        wanted = [round(n_items * (place / _PLACES) ** power) for place in range(1, _PLACES + 1)]
        columns.append([known[min(n, len(known)) - 1] if n and len(known) else math.inf for n in wanted])
    thresholds = np.unique(np.array(columns).T, axis=0)[::-1]
    # Sorted by the first judge; along the path all thresholds fall together.
    thresholds = thresholds[np.lexsort(tuple(-thresholds.T))]
    is_sure = confidence[None] >= thresholds[:, :, None]
    deciders = np.where(is_sure.any(axis=1), is_sure.argmax(axis=1), -1)
    return _Path(thresholds, deciders)


def _shared(groups: Sequence[Hashable] | None, labelled: Flags) -> Codes | None:
    """The groups of the labelled items as numbers; none where each item is alone in its group."""
    if groups is None or not labelled.any():
        return None
    codes, n_groups = label_codes(
        [group for group, is_labelled in zip(groups, labelled, strict=True) if is_labelled]
    )
    return codes if n_groups < len(codes) else None


def _start(n_decided: Counts, n_labels: int, target: float, risk: float, *, is_grouped: bool) -> int:
    """The first place of the path where a test has power."""
    import numpy as np

    cost = _BETTING_COST if is_grouped else 1
    for disagreements in range(_DISAGREEMENTS, -1, -1):
        needed = cost * fewest_items(target, risk, disagreements)
        if needed <= _LARGEST_START * n_labels:
            break
    enough = np.flatnonzero(n_decided >= needed)
    return int(enough[0]) if len(enough) else max(0, len(n_decided) - 1)


def _p_value(is_right: Flags, is_decided: Flags, codes: Codes | None, target: float) -> float:
    if codes is None:
        return upper_tail(int(is_right.sum()), int(is_decided.sum()), target)
    return betting_p(is_right.astype(float), is_decided.astype(float), codes, target)


def _bounds(
    is_right: Flags, is_decided: Flags, codes: Codes | None, risk: float
) -> tuple[float, float, float]:
    right, n = int(is_right.sum()), int(is_decided.sum())
    if codes is None:
        return right / n, lower_bound(right, n, risk), upper_bound(right, n, risk)
    decided = is_decided.astype(float)
    low = betting_bound(is_right.astype(float), decided, codes, risk)
    high = 1.0 - betting_bound((is_decided & ~is_right).astype(float), decided, codes, risk)
    return right / n, min(low, right / n), max(high, right / n)


def _stages(thresholds: Floats, deciders: Counts, labelled: Flags, agrees: Flags) -> tuple[StageFit, ...]:
    stages, n_reached = [], len(deciders)
    for judge, threshold in enumerate(thresholds):
        is_decided = deciders == judge
        n_decided = int(is_decided.sum())
        decided_labels = is_decided[labelled]
        stages.append(
            StageFit(
                float(threshold) if math.isfinite(threshold) else None,
                n_decided,
                n_reached,
                int(decided_labels.sum()),
                int(agrees[judge][decided_labels].sum()),
            )
        )
        n_reached -= n_decided
    return tuple(stages)


def _labels_needed(
    is_right: Flags, is_decided: Flags, deciders: Counts, target: float, risk: float, *, is_grouped: bool
) -> int | None:
    """The fewest labels over all places of the path, if agreement there is as it was seen, drawn a little to the middle."""
    n_labels = is_decided.shape[1]
    needs: list[float] = []
    for right, decided, everywhere in zip(is_right, is_decided, deciders, strict=True):
        n, share = int(decided.sum()), float((everywhere >= 0).mean())
        needed = items_needed(target, (int(right.sum()) + 1) / (n + 2), risk)
        if needed is not None and share > 0:
            needs.append(needed / share)
    if not needs:
        return None
    wanted: float = max(min(needs) * (_BETTING_COST if is_grouped else 1), n_labels * 1.1 + 1)
    digits: int = 10 ** max(0, int(math.log10(wanted)) - 1)
    return math.ceil(wanted / digits) * digits

"""The thresholds of a cascade: at which confidence each judge decides, so that agreement with people holds.

All thresholds lie on one path, from strict to loose, that no label has shaped (`cascade_path`). Each place is
tested for agreement below the target (`fixed_sequence`); the loosest place before the first test that fails
is the answer. The tests begin where the decided items would still show the target with some disagreements
among them: earlier tests have less power and would end the path.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from .betting import betting_bound, betting_p, most_disagreements
from .binomial import fewest_items, lower_bound, upper_bound, upper_tail
from .cascade_labels import LabelsNeeded, cascade_labels_needed
from .cascade_path import path_of, without_costly
from .fixed_sequence import last_rejected

if TYPE_CHECKING:
    from numpy import bool_, int_
    from numpy.typing import NDArray

    from .arrays import Codes, Floats

    Flags = NDArray[bool_]
    Counts = NDArray[int_]

_MOST_BORNE, _LEAST_BORNE = 8, 3
"""Over groups the path begins where betting would bear so many disagreements, at most and at least. Of 0 to
4, 3 decides most in groups of 2 to 4 and of uneven sizes."""
_BETTING_COST = 1.2
"""Without a disagreement, a test by betting needs somewhat more groups of the largest size than the binomial
one needs items: its stake is divided over bets. Each disagreement then costs both the same."""


class StageAnswers(Struct, frozen=True):
    """What one judge says of the items, in their order."""

    confidence: Sequence[float | None]
    """none where it decides nothing: no answer, a tie, no confidence"""
    agrees: Sequence[bool | None]
    """with the label; none where there is no label"""
    agrees_with_last: Sequence[bool] | None = None
    """with the last judge, on all items; none where that is not known"""
    price: float | None = None
    """of one judgment; none where it is not known"""


class StageFit(Struct, frozen=True):
    """What one judge decides."""

    threshold: float | None
    """none: it never decides"""
    n_decided: int
    n_reached: int
    n_labelled: int


class CascadeFit(Struct, frozen=True):
    """The loosest thresholds that were shown to agree, and what they decide."""

    stages: tuple[StageFit, ...]
    holds: bool
    agreement: tuple[float, float, float] | None
    """of the labelled items that are decided: the share, its lower and its upper bound at level `risk`"""
    labels_needed: LabelsNeeded | None
    """none where a threshold was shown, or none ever will be"""
    n_groups: int | None = None
    """labelled groups, where labelled items share one"""
    deciders: tuple[int, ...] = ()
    """for each item the place of the judge that decides it; -1 where none does"""


def fit_cascade(
    judges: Sequence[StageAnswers], target: float, risk: float, groups: Sequence[Hashable] | None = None
) -> CascadeFit:
    """Thresholds for judges from the cheapest to the dearest; `groups` name what items share."""
    import numpy as np

    confidence = np.array(
        [[-math.inf if c is None else c for c in judge.confidence] for judge in judges], dtype=float
    )
    labelled = np.array([flag is not None for flag in judges[0].agrees], dtype=bool)
    agrees = np.array([[bool(flag) for flag in judge.agrees] for judge in judges], dtype=bool)[:, labelled]
    path = path_of(confidence, [judge.agrees_with_last for judge in judges], target)
    path = without_costly(path, confidence, [judge.price for judge in judges])
    codes = _shared(groups, labelled)
    deciders = path.deciders[:, labelled]
    is_decided = deciders >= 0
    is_right = is_decided & np.take_along_axis(agrees, np.maximum(deciders, 0), axis=0)
    n_labels = int(labelled.sum())
    start = (
        path.first_place(is_decided.sum(axis=1), n_labels, target, risk)
        if codes is None
        else _start_of_groups(is_decided, codes, target, risk, path.largest_start)
    )
    places = range(start, len(path.thresholds))
    levels = risk * path.risk_shares(start)
    tests = ((_p_value(is_right[at], is_decided[at], codes, target), float(levels[at])) for at in places)
    last = last_rejected(tests)
    n_groups = None if codes is None else int(codes.max()) + 1
    if last is None:
        needed = cascade_labels_needed(
            is_right, is_decided, path, target, risk, _more_items(codes, target, risk)
        )
        nothing = _stages(np.full(len(judges), math.inf), np.full(confidence.shape[1], -1), labelled)
        undecided = (-1,) * confidence.shape[1]
        return CascadeFit(nothing, False, None, needed, n_groups, undecided)
    at = start + last
    stages = _stages(path.thresholds[at], path.deciders[at], labelled)
    bounds = _bounds(is_right[at], is_decided[at], codes, risk)
    return CascadeFit(stages, True, bounds, None, n_groups, tuple(path.deciders[at].tolist()))


def _shared(groups: Sequence[Hashable] | None, labelled: Flags) -> Codes | None:
    """The groups of the labelled items as numbers, by their names, so that the order of the items changes no
    bet; none where each item is alone in its group."""
    import numpy as np

    if groups is None or not labelled.any():
        return None
    known = [group for group, is_labelled in zip(groups, labelled, strict=True) if is_labelled]
    places = {group: place for place, group in enumerate(sorted(set(known), key=repr))}
    return np.array([places[group] for group in known]) if len(places) < len(known) else None


def _more_items(codes: Codes | None, target: float, risk: float) -> int:
    """How many more items than the binomial test the test by betting needs."""
    import numpy as np

    if codes is None:
        return 0
    return round((_BETTING_COST * int(np.bincount(codes).max()) - 1) * fewest_items(target, risk))


def _start_of_groups(is_decided: Flags, codes: Codes, target: float, risk: float, largest: float) -> int:
    """The same where labelled items share groups, by the disagreements that betting would bear."""
    import numpy as np

    borne = np.array([most_disagreements(row.astype(float), codes, target, risk) for row in is_decided])
    is_early = is_decided.sum(axis=1) <= largest * is_decided.shape[1]
    for disagreements in range(_MOST_BORNE, _LEAST_BORNE - 1, -1):
        enough = np.flatnonzero((borne >= disagreements) & is_early)
        if len(enough):
            return int(enough[0])
    enough = np.flatnonzero(borne >= _LEAST_BORNE)
    return int(enough[0]) if len(enough) else int(borne.argmax())


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


def _stages(thresholds: Floats, deciders: Counts, labelled: Flags) -> tuple[StageFit, ...]:
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
            )
        )
        n_reached -= n_decided
    return tuple(stages)

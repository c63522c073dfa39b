"""The thresholds of a cascade: at which confidence each judge decides, so that agreement with people holds.

All thresholds lie on one path, from strict to loose, that no label has shaped (`cascade_path`). Each place is
tested for agreement below the target (`fixed_sequence`); the loosest place before the first test that fails
is the answer. The path begins where the decided items would still show the target with eight disagreements
among them, or at a share of the labels with fewer: earlier tests have less power and would end it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from .arrays import label_codes
from .betting import betting_bound, betting_p, most_disagreements
from .binomial import fewest_items, lower_bound, power, upper_bound, upper_tail
from .cascade_path import path_of, without_costly
from .fixed_sequence import last_rejected

if TYPE_CHECKING:
    from numpy import bool_, int_
    from numpy.typing import NDArray

    from .arrays import Codes, Floats
    from .cascade_path import CascadePath

    Flags = NDArray[bool_]
    Counts = NDArray[int_]

_DISAGREEMENTS = 8
"""The path begins before a share of the labels is decided (`CascadePath.largest_start`), with fewer
disagreements if need be. Of 2 to 15 disagreements, 8 decide most on recorded judges."""
_LEAST_BORNE = 3
"""Over groups the path begins no earlier than with so many disagreements. Of 0 to 4, 3 decides most in groups
of 2 to 4 and of uneven sizes."""
_POWER, _STEP, _MOST_LABELS = 0.8, 1.05, 1_000_000
_DOUBT = 0.2
"""Of 0, 0.2 and 0.5 disagreements, 0.2 names 79 to 220 labels from 20 to 100 of them, where 40 to 100 show
the target (0.90 to 0.95, recorded judges): rather too many than too few."""
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
    labels_needed: int | None
    """about how many labels show a threshold in 80 % of cases; none where one was shown, or none ever will
    be"""
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
    more = _more_items(codes, target, risk)
    n_labels = int(labelled.sum())
    start = (
        _start(is_decided.sum(axis=1), n_labels, target, risk, path.largest_start)
        if codes is None
        else _start_of_groups(is_decided, codes, target, risk, path.largest_start)
    )
    places = range(start, len(path.thresholds))
    levels = risk * path.risk_shares
    tests = ((_p_value(is_right[at], is_decided[at], codes, target), float(levels[at])) for at in places)
    last = last_rejected(tests)
    n_groups = None if codes is None else int(codes.max()) + 1
    if last is None:
        needed = _labels_needed(is_right, is_decided, path, target, risk, more)
        nothing = _stages(np.full(len(judges), math.inf), np.full(confidence.shape[1], -1), labelled)
        undecided = (-1,) * confidence.shape[1]
        return CascadeFit(nothing, False, None, needed, n_groups, undecided)
    at = start + last
    stages = _stages(path.thresholds[at], path.deciders[at], labelled)
    bounds = _bounds(is_right[at], is_decided[at], codes, risk)
    return CascadeFit(stages, True, bounds, None, n_groups, tuple(path.deciders[at].tolist()))


def _shared(groups: Sequence[Hashable] | None, labelled: Flags) -> Codes | None:
    """The groups of the labelled items as numbers; none where each item is alone in its group."""
    if groups is None or not labelled.any():
        return None
    codes, n_groups = label_codes(
        [group for group, is_labelled in zip(groups, labelled, strict=True) if is_labelled]
    )
    return codes if n_groups < len(codes) else None


def _more_items(codes: Codes | None, target: float, risk: float) -> int:
    """How many more items than the binomial test the test by betting needs."""
    import numpy as np

    if codes is None:
        return 0
    return round((_BETTING_COST * int(np.bincount(codes).max()) - 1) * fewest_items(target, risk))


def _start(
    n_decided: Counts, n_labels: int, target: float, risk: float, largest: float, more: int = 0
) -> int:
    """The first place of the path where a test has power."""
    import numpy as np

    for disagreements in range(_DISAGREEMENTS, -1, -1):
        needed = more + fewest_items(target, risk, disagreements)
        if needed <= largest * n_labels:
            break
    enough = np.flatnonzero(n_decided >= needed)
    return int(enough[0]) if len(enough) else max(0, len(n_decided) - 1)


def _start_of_groups(is_decided: Flags, codes: Codes, target: float, risk: float, largest: float) -> int:
    """The same where labelled items share groups, by the disagreements that betting would bear."""
    import numpy as np

    borne = np.array([most_disagreements(row.astype(float), codes, target, risk) for row in is_decided])
    is_early = is_decided.sum(axis=1) <= largest * is_decided.shape[1]
    for disagreements in range(_DISAGREEMENTS, _LEAST_BORNE - 1, -1):
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


def _labels_needed(
    is_right: Flags, is_decided: Flags, path: CascadePath, target: float, risk: float, more: int
) -> int | None:
    """About how many labels show the first threshold in 80 % of cases, if agreement is as it was seen.

    Agreement at a place counts one item more, between target and 1, and a part of a disagreement; no
    stricter place agrees less than a looser one.
    """
    import numpy as np

    n_labels = is_decided.shape[1]
    decided = is_decided.sum(axis=1)
    seen = (is_right.sum(axis=1) + (1 + target) / 2) / (decided + 1 + _DOUBT)
    agreement = np.maximum.accumulate(seen[::-1])[::-1]
    shares = (path.deciders >= 0).mean(axis=1)
    wanted: float = n_labels + 1.0
    while wanted < _MOST_LABELS:
        n_decided = np.floor(shares * wanted)
        at = _start(n_decided, int(wanted), target, risk, path.largest_start, more)
        if power(int(n_decided[at]) - more, target, float(agreement[at]), risk) >= _POWER:
            digits: int = 10 ** max(0, int(math.log10(wanted)) - 1)
            return math.ceil(wanted / digits) * digits
        wanted *= _STEP
    return None

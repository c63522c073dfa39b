"""Agreement with people in parts of the items: by language, by length, by any field."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    Interval,
    label_codes,
    make_estimate,
    no_interval,
    same_length,
    undefined,
)
from .resample import (
    effective_units,
    few_groups,
    jackknife_error,
    jackknife_interval,
    left_out,
    sums_left_out,
)

if TYPE_CHECKING:
    from .arrays import Codes, Floats
from .correlation import NAMES, single, weighted_spearman

FEWEST_IN_PART = 10
"""Items below which a part has no interval."""


class PartAgreement(Struct, frozen=True):
    """Agreement in one part of the items. The intervals of all parts hold together with 95 % (Bonferroni)."""

    agreement: Estimate
    """Spearman of scores, share of equal choices"""
    bias: Estimate | None
    """judge - people; none for choices"""


def agreement_in_parts(
    judge: Sequence[float | str | None],
    human: Sequence[float | str | None],
    parts: Sequence[Hashable | None],
    groups: Sequence[Hashable] | None = None,
    *,
    is_choices: bool = False,
    width: float | None = None,
) -> dict[Hashable, PartAgreement]:
    """The agreement in each part, in order of appearance; items without a part, a score or a label are left
    out.

    `width` is that of the scale, which no bias exceeds.
    """
    same_length(judge, human, parts, groups)
    places: dict[Hashable, list[int]] = {}
    for place, part in enumerate(parts):
        if part is not None and judge[place] is not None and human[place] is not None:
            places.setdefault(part, []).append(place)
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(places))
    return {
        part: _part_agreement(
            [judge[i] for i in kept], [human[i] for i in kept],
            None if groups is None else [groups[i] for i in kept],
            confidence, is_choices, width,
        )
        for part, kept in places.items()
    }  # fmt: skip


def _part_agreement(
    judge: Sequence[float | str | None],
    human: Sequence[float | str | None],
    groups: Sequence[Hashable] | None,
    confidence: float,
    is_choices: bool,
    width: float | None,
) -> PartAgreement:
    import numpy as np

    n = len(judge)
    codes, n_units = (np.arange(n), n) if groups is None else label_codes(groups)
    unit = "item" if groups is None else f"group (n={n_units})"
    of = "items" if groups is None else "groups"
    cautions = [] if groups is None else few_groups(n_units)
    few = no_interval(f"fewer than {FEWEST_IN_PART} items")
    if is_choices:
        same = np.array([float(a == b) for a, b in zip(judge, human, strict=True)])
        interval = few if n < FEWEST_IN_PART else _share_interval(same, codes, confidence)
        name = "share of equal answers"
        return PartAgreement(
            make_estimate(float(same.mean()), interval, name, n=n, unit=unit, cautions=cautions), None
        )
    x, y = (np.array(side, dtype=np.float64) for side in (judge, human))
    coefficient = single(x, y, "spearman")
    if coefficient is None:
        agreement = undefined("fewer than two items" if n < 2 else "one side is constant", n=n, unit=unit)
    else:
        statistic = weighted_spearman(x, y)
        interval = (
            few
            if n < FEWEST_IN_PART
            else jackknife_interval(
                coefficient, left_out(statistic, codes), codes, unit=of, confidence=confidence
            )
        )
        agreement = make_estimate(coefficient, interval, NAMES["spearman"], n=n, unit=unit, cautions=cautions)
    gaps, limit = x - y, math.inf if width is None else width
    sums = sums_left_out(np.stack([gaps, np.ones(n)], axis=1), codes)
    with np.errstate(all="ignore"):
        without = sums[:, 0] / sums[:, 1]
    interval = (
        few
        if n < FEWEST_IN_PART
        else jackknife_interval(
            float(gaps.mean()), without, codes, unit=of, scale="linear", limits=(-limit, limit),
            confidence=confidence,
        )
    )  # fmt: skip
    bias = make_estimate(float(gaps.mean()), interval, "mean", n=n, unit=unit, cautions=cautions)
    return PartAgreement(agreement, bias)


def _share_interval(same: Floats, codes: Codes, confidence: float) -> Interval:
    """Wilson's interval of a share, for as many items as the groups are worth."""
    import numpy as np
    from scipy.special import stdtrit

    n, rate = float(len(same)), float(same.mean())
    sums = sums_left_out(np.stack([same, np.ones(len(same))], axis=1), codes)
    if len(sums) < 2:
        return no_interval("all items belong to one group")
    error = jackknife_error(rate, sums[:, 0] / sums[:, 1])
    units = effective_units(codes)
    n = min(n, rate * (1 - rate) / error**2) if error and 0 < rate < 1 else min(n, units)
    square = float(stdtrit(max(1.0, units - 1), (1 + confidence) / 2)) ** 2
    middle = (rate + square / (2 * n)) / (1 + square / n)
    half = math.sqrt(square * (rate * (1 - rate) / n + square / (4 * n**2))) / (1 + square / n)
    return Interval(max(0.0, middle - half), min(1.0, middle + half), ", Wilson interval")

"""Many judges against the same people.

The best of many judges looks better than it is. So the intervals of all differences hold together: their
common quantile is that of the largest of the correlated t values (Dunnett 1955; Hothorn, Bretz and Westfall
2008). Where there are labels enough, one half chooses the judge and the other half measures it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    Interval,
    label_codes,
    make_estimate,
    no_interval,
    same_length,
    t_quantile,
    undefined,
)
from .correlation import NAMES, weighted
from .resample import (
    SAME,
    effective_units,
    few_groups,
    generator,
    jackknife_error,
    jackknife_interval,
    left_out,
)

if TYPE_CHECKING:
    from .arrays import Codes, Floats


FEWEST_IN_HALF = 50
"""Labelled items, or groups, that each half must have."""
_N_DRAWS = 20_000


class HeldOut(Struct, frozen=True):
    """A judge chosen on one half of the labels and measured on the other."""

    chosen: int
    """the judge that agrees best on the half that chooses"""
    agreement: Estimate
    """its agreement on the other half"""
    lead: Estimate
    """its lead over the first judge there"""


class ManyJudges(Struct, frozen=True):
    """Several judges against the same people, on the items that all of them answered."""

    n: int
    agreement: tuple[Estimate, ...]
    best: int | None
    """the judge with the highest agreement"""
    over_first: tuple[Estimate | None, ...]
    """each judge - the first, intervals that hold together; none for the first"""
    behind_best: tuple[Estimate | None, ...]
    """the best judge - each, intervals that hold together for all pairs; none for the best"""
    improved: tuple[int, ...]
    """judges that agree significantly better than the first"""
    leading: tuple[int, ...]
    """the best judge, and those that are not significantly worse"""
    held_out: HeldOut | None
    """none where there are too few labels for two halves"""
    reason: str = ""


def many_judges(
    judges: Sequence[Sequence[float | str | None]],
    human: Sequence[float | str | None],
    *,
    groups: Sequence[Hashable] | None = None,
    is_choices: bool = False,
    seed: int = 0,
) -> ManyJudges:
    """Which of several judges agrees best: Spearman of scores, or the share of equal choices."""
    import numpy as np

    same_length(human, groups, *judges)
    kept = [
        i for i in range(len(human)) if human[i] is not None and all(judge[i] is not None for judge in judges)
    ]
    data = _Answers(
        [[judge[i] for i in kept] for judge in judges],
        [human[i] for i in kept],
        None if groups is None else [groups[i] for i in kept],
        is_choices,
    )
    values = data.values(np.arange(len(kept)))
    if not np.isfinite(values).all():
        reason = (
            "fewer than two items were answered by all"
            if len(kept) < 2
            else "a judge or the labels do not vary"
        )
        none = undefined(reason, n=len(kept), unit=data.unit)
        return ManyJudges(len(kept), (none,) * len(judges), None, (), (), (), (), None, reason)
    without = data.without(np.arange(len(kept)))
    best = int(np.argmax(values))
    first = _together(data, values, without, [(i, 0) for i in range(1, len(values))], seed)
    pairs_ = [(i, j) for i in range(len(values)) for j in range(i)]
    all_pairs = dict(zip(pairs_, _together(data, values, without, pairs_, seed), strict=True))
    behind = tuple(
        None if i == best else all_pairs[best, i] if best > i else _negated(all_pairs[i, best])
        for i in range(len(values))
    )
    improved = _improved(data, values, without, seed)
    leading = tuple(i for i, lag in enumerate(behind) if lag is None or lag.low is None or lag.low <= 0)
    agreement = tuple(data.estimate(values[i], without[i]) for i in range(len(values)))
    held_out = _held_out(data, seed)
    return ManyJudges(len(kept), agreement, best, (None, *first), behind, improved, leading, held_out)


def _improved(data: _Answers, values: Floats, without: Floats, seed: int) -> tuple[int, ...]:
    """The judges that agree better than the first: one-sided tests, with at most 5 % of false claims over all
    judges."""
    import numpy as np

    others = np.arange(1, len(values))
    parts = without - values[:, None]
    units = effective_units(data.codes)
    quantile = _largest_t(parts, others, np.zeros_like(others), units, seed, is_one_sided=True)
    bounds = [
        data.difference(float(values[i] - values[0]), without[i] - without[0], quantile=quantile)
        for i in others
    ]
    return tuple(
        int(i) for i, lead in zip(others, bounds, strict=True) if lead.low is not None and lead.low > 0
    )


class _Answers:
    """The answers of all judges and the labels, as what the jackknife needs."""

    def __init__(
        self,
        judges: Sequence[Sequence[float | str | None]],
        human: Sequence[float | str | None],
        groups: Sequence[Hashable] | None,
        is_choices: bool,
    ) -> None:
        import numpy as np

        self.is_choices, self.has_groups = is_choices, groups is not None
        self.codes, n_units = (np.arange(len(human)), len(human)) if groups is None else label_codes(groups)
        self.unit = "item" if groups is None else f"group (n={n_units})"
        self.cautions = [] if groups is None else few_groups(n_units)
        if is_choices:
            rows = [[float(a == b) for a, b in zip(judge, human, strict=True)] for judge in judges]
            self.table = np.array(rows).reshape(len(judges), len(human))
        else:
            self.table = np.array(judges, dtype=np.float64).reshape(len(judges), len(human))
            self.human = np.array(human, dtype=np.float64)

    def statistic(self, items: Codes) -> Callable[[Floats], Floats]:
        """Agreement of each judge under weightings of these items: judges × weightings."""
        import numpy as np

        if self.is_choices:
            table = self.table[:, items]
            return lambda weights: np.einsum("ji,ib->jb", table, weights) / weights.sum(axis=0)
        each = [weighted(column[items], self.human[items], "spearman") for column in self.table]
        return lambda weights: np.stack([one(weights) for one in each if one is not None])

    def values(self, items: Codes) -> Floats:
        import numpy as np

        if len(items) < 2:
            return np.full(len(self.table), np.nan)
        return self.statistic(items)(np.ones((len(items), 1)))[:, 0]

    def without(self, items: Codes) -> Floats:
        return left_out(self.statistic(items), self.recoded(items))

    def recoded(self, items: Codes) -> Codes:
        return label_codes(self.codes[items].tolist())[0]

    def estimate(self, value: float, without: Floats, items: Codes | None = None) -> Estimate:
        codes = self.codes if items is None else self.recoded(items)
        interval = jackknife_interval(
            float(value), without, codes, unit="groups" if self.has_groups else "items",
            scale="linear" if self.is_choices else "z", limits=(0.0 if self.is_choices else -1.0, 1.0),
        )  # fmt: skip
        name = "share of equal choices" if self.is_choices else NAMES["spearman"]
        return make_estimate(
            float(value), interval, name, n=len(codes), unit=self.unit, cautions=self.cautions
        )

    def difference(
        self, value: float, without: Floats, items: Codes | None = None, quantile: float | None = None
    ) -> Estimate:
        """A difference of two judges; `quantile` is that of all differences together."""
        codes = self.codes if items is None else self.recoded(items)
        limit = 1.0 if self.is_choices else 2.0
        error = jackknife_error(value, without)
        if error is None or error <= 1e-12:
            interval = no_interval("one of the judges does not vary" if error is None else SAME)
        elif quantile is None:
            interval = jackknife_interval(value, without, codes, scale="linear", limits=(-limit, limit))
        else:
            low, high = value - quantile * error, value + quantile * error
            interval = Interval(max(-limit, low), min(limit, high), ", simultaneous jackknife interval")
        return make_estimate(
            value, interval, "difference of agreement", n=len(codes), unit=self.unit, cautions=self.cautions
        )


def _together(
    data: _Answers, values: Floats, without: Floats, which: Sequence[tuple[int, int]], seed: int
) -> list[Estimate]:
    """The differences of these pairs of judges, with intervals that hold for all of them together."""
    import numpy as np

    if not which:
        return []
    first, second = (np.array(side) for side in zip(*which, strict=True))
    differences, parts = values[first] - values[second], without[first] - without[second]
    quantile = _largest_t(without - values[:, None], first, second, effective_units(data.codes), seed)
    return [
        data.difference(float(difference), part, quantile=quantile)
        for difference, part in zip(differences, parts, strict=True)
    ]


def _largest_t(
    parts: Floats, first: Codes, second: Codes, units: float, seed: int, *, is_one_sided: bool = False
) -> float:
    """The quantile of the largest t value of these differences of judges, from the judges' jackknife
    parts."""
    import numpy as np

    df = max(2.0, units - 1)
    covariance = np.einsum("ib,jb->ij", parts, parts)
    errors = np.sqrt(
        np.maximum(
            0, (np.diag(covariance)[first] + np.diag(covariance)[second]) - 2 * covariance[first, second]
        )
    )
    moving = errors > 1e-12
    least = t_quantile(df, 2 * CONFIDENCE - 1) if is_one_sided else t_quantile(df)
    if not moving.any():
        return least
    # Judges that are alike make it singular; so little noise more changes no digit that is shown.
    root = np.linalg.cholesky(covariance + 1e-9 * covariance.trace() * np.eye(len(covariance)))
    rng = generator(seed)
    draws = np.einsum("dj,ij->di", rng.standard_normal((_N_DRAWS, len(covariance))), root)
    distances = draws[:, first] - draws[:, second]
    largest = ((distances if is_one_sided else np.abs(distances))[:, moving] / errors[moving]).max(axis=1)
    largest /= np.sqrt(rng.chisquare(df, _N_DRAWS) / df)
    return max(least, float(np.quantile(largest, CONFIDENCE)))


def _negated(estimate: Estimate) -> Estimate:
    low, high = estimate.low, estimate.high
    return structs.replace(
        estimate,
        value=None if estimate.value is None else -estimate.value,
        low=None if high is None else -high,
        high=None if low is None else -low,
    )


def _held_out(data: _Answers, seed: int) -> HeldOut | None:
    """Half of the units choose the judge, the other half measures it; none where there are too few."""
    import numpy as np

    n_units = int(data.codes.max(initial=-1)) + 1
    if n_units < 2 * FEWEST_IN_HALF:
        return None
    is_chosen_by = np.zeros(n_units, dtype=bool)
    is_chosen_by[generator(seed).permutation(n_units)[: n_units // 2]] = True
    choosing, measuring = (np.flatnonzero(is_chosen_by[data.codes] == side) for side in (True, False))
    by_choice, values = data.values(choosing), data.values(measuring)
    if not (np.isfinite(by_choice).all() and np.isfinite(values).all()):
        return None
    chosen, without = int(np.argmax(by_choice)), data.without(measuring)
    lead = data.difference(float(values[chosen] - values[0]), without[chosen] - without[0], measuring)
    return HeldOut(chosen, data.estimate(float(values[chosen]), without[chosen], measuring), lead)

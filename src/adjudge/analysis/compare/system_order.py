"""Whether two runs put the systems in the same order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from msgspec import structs

from ...records import Estimate
from ...stats import adjusted, correlate, score_differences
from ...stats.arrays import with_caution
from ...stats.resample import N_RESAMPLES
from ..significance import SIGNIFICANCE
from ..trust.agreement import FEW_SYSTEMS
from .comparison import Change, SystemOrder, SystemPair
from .match import ComparisonTable
from .paired_scores import ScorePair, by_system, first_score, second_score
from .scaling import Scaling

MOST_SYSTEMS = 30
"""Up to this many systems, every two are compared; with more, only pairs with a winner of either run."""


MOST_WORK = 50_000_000
"""items times resamples of the correlation of the systems' orders"""


FEWEST_RESAMPLES = 400


def system_order(
    table: ComparisonTable, scaling: Scaling, pairs: Sequence[ScorePair], seed: int
) -> SystemOrder | None:
    """The order of the systems in both runs, and their significant differences; none for one system."""
    both = [pair for pair in pairs if pair.first is not None and pair.second is not None]
    systems = by_system(both)
    if table.kind == "choices" or len(systems) < 2:
        return None
    sides = [_RunSystems(table, systems, which, scaling.signs[which]) for which in (0, 1)]
    orders = [tuple(sorted(systems, key=lambda name: -side.means[name])) for side in sides]
    kendall = correlate(
        [scaling.signs[0] * (pair.first or 0.0) for pair in both],
        [scaling.signs[1] * (pair.second or 0.0) for pair in both],
        "kendall",
        "system",
        groups=table.groups([pair.row for pair in both]),
        systems=[pair.row.system for pair in both],
        n_resamples=max(FEWEST_RESAMPLES, min(N_RESAMPLES, MOST_WORK // len(both))),
        seed=seed,
    )
    if kendall.value is not None and kendall.n < FEW_SYSTEMS:
        kendall = with_caution(kendall, f"a correlation over {kendall.n} systems is unreliable")
    system_pairs = _pairs(sides, _system_pairs(orders))
    winners = [_winners(side) for side in sides]
    return SystemOrder(
        orders[0], orders[1], winners[0], winners[1], kendall, system_pairs, _n_flipped(sides, systems)
    )


def _winners(side: _RunSystems) -> tuple[str, ...]:
    best = max(side.means.values())
    return tuple(name for name, mean in side.means.items() if mean > best - 1e-9)


class _RunSystems:
    """The systems of one run: their means, and the paired differences of every two."""

    def __init__(
        self, table: ComparisonTable, systems: dict[str, list[ScorePair]], which: int, sign: int
    ) -> None:
        pick = (first_score, second_score)[which]
        values_of = {name: [sign * (pick(pair) or 0.0) for pair in pairs] for name, pairs in systems.items()}
        self.means = {name: sum(values) / len(values) for name, values in values_of.items()}
        rows: Sequence[Sequence[float | None]] = list(values_of.values())
        if table.has_groups:
            rows = _by_input(table, systems, values_of)
        names = list(systems)
        self.differences: dict[tuple[str, str], tuple[Estimate, float | None]] = {}
        for difference in score_differences(rows, is_paired=table.has_groups):
            first, second = names[difference.first], names[difference.second]
            self.differences[first, second] = difference.difference, difference.p
            self.differences[second, first] = _negated(difference.difference), difference.p


def _by_input(
    table: ComparisonTable, systems: dict[str, list[ScorePair]], values_of: Mapping[str, Sequence[float]]
) -> list[list[float | None]]:
    """A row for each system with its mean on each input, in one order of the inputs."""
    place: dict[str, int] = {}
    sums_of: list[dict[int, tuple[float, int]]] = []
    for name, pairs in systems.items():
        sums: dict[int, tuple[float, int]] = {}
        groups = table.groups([pair.row for pair in pairs]) or []
        for group, value in zip(groups, values_of[name], strict=True):
            index = place.setdefault(group, len(place))
            total, n = sums.get(index, (0.0, 0))
            sums[index] = total + value, n + 1
        sums_of.append(sums)
    return [
        [sums[index][0] / sums[index][1] if index in sums else None for index in range(len(place))]
        for sums in sums_of
    ]


def _negated(difference: Estimate) -> Estimate:
    value, low, high = (
        None if end is None else -end for end in (difference.value, difference.high, difference.low)
    )
    return structs.replace(difference, value=value, low=low, high=high)


def _system_pairs(orders: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
    pairs = list(combinations(orders[0], 2))
    if len(orders[0]) <= MOST_SYSTEMS:
        return pairs
    winners = {order[0] for order in orders}
    return [pair for pair in pairs if winners & set(pair)]


def _pairs(sides: Sequence[_RunSystems], pairs: Sequence[tuple[str, str]]) -> tuple[SystemPair, ...]:
    differences = [[side.differences[pair] for pair in pairs] for side in sides]
    p_values = [adjusted([p_first for _, p_first in run_differences]) for run_differences in differences]
    return tuple(
        SystemPair(pair, first, second, p_first, p_second, change_of(first, p_first, second, p_second))
        for pair, (first, _), (second, _), p_first, p_second in zip(
            pairs, differences[0], differences[1], p_values[0], p_values[1], strict=True
        )
    )


def change_of(first: Estimate, p_first: float | None, second: Estimate, p_second: float | None) -> Change:
    """Whether the first system beats the second significantly: in both runs, in one, or in neither."""
    is_first, is_second = (p is not None and p <= SIGNIFICANCE for p in (p_first, p_second))
    if is_first and is_second:
        return "same" if (first.value or 0.0) * (second.value or 0.0) > 0 else "reversed"
    if is_first:
        return "only first"
    return "only second" if is_second else "open"


def _n_flipped(sides: Sequence[_RunSystems], systems: dict[str, list[ScorePair]]) -> int:
    first, second = sides[0].means, sides[1].means
    return sum(
        (first[system] - first[opponent]) * (second[system] - second[opponent]) < 0
        for system, opponent in combinations(systems, 2)
    )

"""The numbers of one criterion in two runs: differences by system, agreement of the items, the order of the systems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from msgspec import Struct, structs

from ..records import Estimate, Scale
from ..stats import (
    Test,
    adjusted,
    choice_agreement,
    clustered_share,
    correlate,
    mcnemar_of,
    mean_interval,
    paired_difference,
    score_differences,
    spearman,
)
from ..stats.undefined import cautioned, undefined, without_interval
from .match import Row, Table
from .scaling import Scaling
from .shapes import Change, SystemContrast, SystemOrder, SystemPair

MOST_SYSTEMS = 30
"""Systems of which every two are held against each other; of more, only those with a winner of either run."""
FEW_SYSTEMS = 5
"""Systems below which a correlation over their means comes out near 1 or -1 by chance."""
SHOWN = 0.05
SAME = "both runs have the same calls and the same replies, so that it is 0 by construction"


class Numbered(Struct, frozen=True):
    """A row with both answers as numbers in the unit of the comparison; none where the judge failed."""

    row: Row
    first: float | None
    second: float | None


def numbered(table: Table, scaling: Scaling) -> list[Numbered]:
    """The rows in the unit that the scales allow; of a pair 1 where the system named first wins, one half for a tie."""
    if table.kind == "choices":
        return [Numbered(row, _won(row.first), _won(row.second)) for row in table.rows]
    scales = table.scales if scaling.unit == "normalized" else (None, None)
    return [
        Numbered(row, _number(row.first, scales[0]), _number(row.second, scales[1])) for row in table.rows
    ]


def _won(choice: float | str | None) -> float | None:
    return {"a": 1.0, "b": 0.0, "tie": 0.5}.get(choice) if isinstance(choice, str) else None


def _number(value: float | str | None, scale: Scale | None) -> float | None:
    if value is None or isinstance(value, str):
        return None
    return float(value) if scale is None else scale.normalized(value)


def by_system(rows: Sequence[Numbered]) -> dict[str, list[Numbered]]:
    found: dict[str, list[Numbered]] = defaultdict(list)
    for one in rows:
        found[one.row.system].append(one)
    return dict(found)


def system_contrast(table: Table, scaling: Scaling, own: Sequence[Numbered], seed: int) -> SystemContrast:
    """One system in both runs. The p-value is not yet adjusted: that takes all criteria."""
    first, second = [one.first for one in own], [one.second for one in own]
    both = [one for one in own if one.first is not None and one.second is not None]
    n_both_failed = sum(one.first is None and one.second is None for one in own)
    limits = (0.0, 1.0) if table.kind == "choices" else scaling.limits
    found = paired_difference(first, second, table.groups([one.row for one in own]), limits=limits, seed=seed)
    test: Test = found.test
    has_ties = any(value == 0.5 for one in both for value in (one.first, one.second))
    # McNemar's test knows wins alone; with ties, the test must be one of the difference that is shown.
    if table.kind == "choices" and not has_ties:
        test = mcnemar_of([_is_won(value) for value in first], [_is_won(value) for value in second])
    difference = found.difference
    if scaling.unit == "rank":
        why = "the scales cannot be subtracted from each other"
        difference = undefined(why, n=len(both), n_failed=difference.n_failed, unit=difference.unit)
        test = Test(None, None, len(both), "none", why)
    n_same = sum(one.row.is_same for one in own)
    is_same = n_same == len(own)
    if is_same and difference.value is not None:
        method = without_interval("mean of paired differences", SAME)
        difference = structs.replace(difference, value=0.0, low=None, high=None, method=method)
        test = Test(None, None, len(both), "none", SAME)
    groups = table.groups([one.row for one in both])
    ends = (limits, limits) if scaling.unit != "rank" else (_ends(table.scales[0]), _ends(table.scales[1]))
    missing = len(own) - len(both)
    means = []
    for pick, end in zip((_first, _second), ends, strict=True):
        values = [value for one in both if (value := pick(one)) is not None]
        means.append(
            # The win rate is the one that a ranking prints.
            clustered_share(values, groups, missing, unit="pair")
            if table.kind == "choices"
            else mean_interval(values, groups, missing, limits=end)
        )
    return SystemContrast(
        first=means[0],
        second=means[1],
        difference=difference,
        p=test.p,
        p_adjusted=None,
        test=f"{test.method}: {test.why}" if test.why else test.method,
        n_items=len(own),
        n_failed_first=sum(value is None for value in first) - n_both_failed,
        n_failed_second=sum(value is None for value in second) - n_both_failed,
        n_failed_both=n_both_failed,
        bounds=found.bounds if missing and scaling.unit != "rank" and not is_same else None,
        minimum_detectable=found.minimum_detectable if scaling.unit != "rank" else None,
        system_first=own[0].row.systems[0],
        system_second=own[0].row.systems[1],
        n_same=n_same,
    )


def _first(one: Numbered) -> float | None:
    return one.first


def _second(one: Numbered) -> float | None:
    return one.second


def _is_won(value: float | None) -> bool | None:
    return None if value is None else value == 1.0


def _ends(scale: Scale | None) -> tuple[float, float] | None:
    return None if scale is None or scale.low is None or scale.high is None else (scale.low, scale.high)


def agreement(table: Table, scaling: Scaling, rows: Sequence[Numbered]) -> dict[str, Estimate]:
    """Whether the runs order the items alike; of pairs, whether they choose alike."""
    n_failed = sum(one.first is None or one.second is None for one in rows)
    groups = table.groups([one.row for one in rows])
    if table.kind == "choices":
        first = [row.first if isinstance(row.first, str) else None for row in table.rows]
        second = [row.second if isinstance(row.second, str) else None for row in table.rows]
        alike = choice_agreement(first, second, groups)
        each = {"exact": alike.exact, "decided": alike.decided, "kappa": alike.kappa}
        return {
            name: structs.replace(one, n_failed=n_failed, n_undefined=max(0, one.n_undefined - n_failed))
            for name, one in each.items()
        }
    both = [one for one in rows if one.first is not None and one.second is not None]
    of_both = table.groups([one.row for one in both])
    one, other = scaling.signs
    found = spearman(
        [one * value for each in both if (value := each.first) is not None],
        [other * value for each in both if (value := each.second) is not None],
        None if of_both is None else len(set(of_both)),
    )
    return {"spearman": structs.replace(found, n_failed=n_failed)}


def system_order(table: Table, scaling: Scaling, rows: Sequence[Numbered], seed: int) -> SystemOrder | None:
    """Who wins in either run, and which claims about two systems hold in both; none for one system."""
    both = [one for one in rows if one.first is not None and one.second is not None]
    systems = by_system(both)
    if table.kind == "choices" or len(systems) < 2:
        return None
    sides = [_Side(table, systems, which, scaling.signs[which]) for which in (0, 1)]
    orders = [tuple(sorted(systems, key=lambda name: -side.means[name])) for side in sides]
    kendall = correlate(
        [scaling.signs[0] * (one.first or 0.0) for one in both],
        [scaling.signs[1] * (one.second or 0.0) for one in both],
        "kendall",
        "system",
        groups=table.groups([one.row for one in both]),
        systems=[one.row.system for one in both],
        seed=seed,
    )
    if kendall.value is not None and kendall.n < FEW_SYSTEMS:
        told = f"a correlation over {kendall.n} systems says little"
        kendall = structs.replace(kendall, method=cautioned(kendall.method, [told]))
    pairs = _pairs(sides, _couples(orders))
    winners = [_winners(side) for side in sides]
    return SystemOrder(
        orders[0], orders[1], winners[0], winners[1], kendall, pairs, _n_flipped(sides, systems)
    )


def _winners(side: _Side) -> tuple[str, ...]:
    best = max(side.means.values())
    return tuple(name for name, mean in side.means.items() if mean > best - 1e-9)


class _Side:
    """The systems in one run: their means, and any two of them on the inputs that they share."""

    def __init__(self, table: Table, systems: dict[str, list[Numbered]], which: int, sign: int) -> None:
        pick = (_first, _second)[which]
        inputs: dict[str, dict[str, list[float]]] = {}
        self.means = {}
        for name, own in systems.items():
            values = [sign * (pick(one) or 0.0) for one in own]
            self.means[name] = sum(values) / len(values)
            # Without groups no two systems share an input, and their means are independent.
            groups = table.groups([one.row for one in own]) or [f"i {one.row.item} {name}" for one in own]
            for group, value in zip(groups, values, strict=True):
                inputs.setdefault(group, {}).setdefault(name, []).append(value)
        names = list(systems)
        rows = [[_mean(by_name.get(name)) for by_name in inputs.values()] for name in names]
        self.differences: dict[tuple[str, str], tuple[Estimate, float | None]] = {}
        for found in score_differences(rows):
            one, other = names[found.first], names[found.second]
            self.differences[one, other] = found.difference, found.p
            self.differences[other, one] = _turned(found.difference), found.p


def _mean(values: Sequence[float] | None) -> float | None:
    return sum(values) / len(values) if values else None


def _turned(found: Estimate) -> Estimate:
    value, low, high = (None if end is None else -end for end in (found.value, found.high, found.low))
    return structs.replace(found, value=value, low=low, high=high)


def _couples(orders: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
    couples = list(combinations(orders[0], 2))
    if len(orders[0]) <= MOST_SYSTEMS:
        return couples
    winners = {order[0] for order in orders}
    return [couple for couple in couples if winners & set(couple)]


def _pairs(sides: Sequence[_Side], couples: Sequence[tuple[str, str]]) -> tuple[SystemPair, ...]:
    found = [[side.differences[couple] for couple in couples] for side in sides]
    p_values = [adjusted([p for _, p in each]) for each in found]
    return tuple(
        SystemPair(couple, one, other, p, q, _change(one, p, other, q))
        for couple, (one, _), (other, _), p, q in zip(
            couples, found[0], found[1], p_values[0], p_values[1], strict=True
        )
    )


def _change(first: Estimate, p_first: float | None, second: Estimate, p_second: float | None) -> Change:
    is_first, is_second = (p is not None and p <= SHOWN for p in (p_first, p_second))
    if is_first and is_second:
        return "same" if (first.value or 0.0) * (second.value or 0.0) > 0 else "reversed"
    if is_first:
        return "only first"
    return "only second" if is_second else "open"


def _n_flipped(sides: Sequence[_Side], systems: dict[str, list[Numbered]]) -> int:
    first, second = sides[0].means, sides[1].means
    return sum(
        (first[one] - first[other]) * (second[one] - second[other]) < 0
        for one, other in combinations(systems, 2)
    )

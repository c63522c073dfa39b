"""The scores of both runs item by item: the difference of each system, and how well the runs agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from ...records import Estimate, Scale
from ...stats import (
    Test,
    choice_agreement,
    clustered_share,
    mcnemar_of,
    mean_interval,
    paired_difference,
    spearman,
)
from ...stats.arrays import make_estimate, no_interval, undefined
from ..labels.labelled import Answer, numbers
from ..run_view.result_facts import as_number
from ..trust.estimates import with_failures
from .comparison import SystemComparison
from .match import ComparedItem, ComparisonTable
from .scaling import Scaling

SAME = "both runs have the same calls and the same replies, so it is 0 by construction"


class ScorePair(Struct, frozen=True, gc=False):
    """One item with both answers as numbers in the unit of the comparison; none where the judge failed."""

    row: ComparedItem
    first: float | None
    second: float | None


def score_pairs(table: ComparisonTable, scaling: Scaling) -> list[ScorePair]:
    """The items in the unit that the scales allow; a choice
    counts 1 for the system named first, one half for a tie.
    """
    if table.kind == "choices":
        return [ScorePair(row, _share(row.first), _share(row.second)) for row in table.rows]
    scales = table.scales if scaling.unit == "normalized" else (None, None)
    first, second = (row.first for row in table.rows), (row.second for row in table.rows)
    return list(map(ScorePair, table.rows, _numbers(first, scales[0]), _numbers(second, scales[1])))


def _share(choice: Answer | None) -> float | None:
    return as_number(choice) if choice is not None else None


def _numbers(answers: Iterable[Answer | None], scale: Scale | None) -> list[float | None]:
    values = numbers(answers)
    return (
        values if scale is None else [None if value is None else scale.normalized(value) for value in values]
    )


def by_system(rows: Sequence[ScorePair]) -> dict[str, list[ScorePair]]:
    """The items of each system."""
    pairs_of: dict[str, list[ScorePair]] = defaultdict(list)
    for pair in rows:
        pairs_of[pair.row.system].append(pair)
    return dict(pairs_of)


def compare_system(table: ComparisonTable, scaling: Scaling, pairs: Sequence[ScorePair]) -> SystemComparison:
    """One system in both runs. The p-value is adjusted later, over all criteria."""
    first, second = [pair.first for pair in pairs], [pair.second for pair in pairs]
    both = [pair for pair in pairs if pair.first is not None and pair.second is not None]
    n_both_failed = sum(pair.first is None and pair.second is None for pair in pairs)
    limits = (0.0, 1.0) if table.kind == "choices" else scaling.limits
    all_groups = table.groups([pair.row for pair in pairs])
    paired = paired_difference(first, second, all_groups, limits=limits)
    test: Test = paired.test
    has_ties = any(value == 0.5 for pair in both for value in (pair.first, pair.second))
    is_independent = all_groups is None or len(set(all_groups)) == len(all_groups)
    # McNemar's test ignores ties and groups; the test must be of the difference that is shown.
    if table.kind == "choices" and not has_ties and is_independent:
        test = mcnemar_of([_is_won(value) for value in first], [_is_won(value) for value in second])
    difference = paired.difference
    if scaling.unit == "rank":
        why = "the scales cannot be subtracted from each other"
        difference = undefined(why, n=len(both), n_failed=difference.n_failed, unit=difference.unit)
        test = Test(None, None, len(both), "none", why)
    n_same = sum(pair.row.is_same for pair in pairs)
    is_same = n_same == len(pairs)
    if is_same and difference.value is not None:
        difference = make_estimate(
            0.0,
            no_interval(SAME),
            "mean of paired differences",
            n=difference.n,
            n_failed=difference.n_failed,
            n_undefined=difference.n_undefined,
            unit=difference.unit,
        )
        test = Test(None, None, len(both), "none", SAME)
    missing = len(pairs) - len(both)
    means = _means(table, scaling, both, missing)
    return SystemComparison(
        first=means[0],
        second=means[1],
        difference=difference,
        p=test.p,
        p_adjusted=None,
        test=f"{test.method}: {test.why}" if test.why else test.method,
        n_items=len(pairs),
        n_failed_first=sum(value is None for value in first) - n_both_failed,
        n_failed_second=sum(value is None for value in second) - n_both_failed,
        n_failed_both=n_both_failed,
        bounds=paired.bounds if missing and scaling.unit != "rank" and not is_same else None,
        minimum_detectable=paired.minimum_detectable if scaling.unit != "rank" else None,
        system_first=pairs[0].row.systems[0],
        system_second=pairs[0].row.systems[1],
        n_same=n_same,
        n_units=len(both)
        if all_groups is None
        else len(set(table.groups([pair.row for pair in both]) or ())),
    )


def _means(
    table: ComparisonTable, scaling: Scaling, both: Sequence[ScorePair], missing: int
) -> list[Estimate]:
    """The mean of each run on the items that both judged; of choices the same win rate as in a ranking."""
    groups = table.groups([pair.row for pair in both])
    limits_by_run = [scaling.limits, scaling.limits]
    if scaling.unit == "rank":
        limits_by_run = [scale.limits if scale is not None else None for scale in table.scales]
    means = []
    for pick, run_limits in zip((first_score, second_score), limits_by_run, strict=True):
        values = [value for pair in both if (value := pick(pair)) is not None]
        means.append(
            clustered_share(values, groups, missing, unit="pair")
            if table.kind == "choices"
            else mean_interval(values, groups, missing, limits=run_limits)
        )
    return means


def first_score(pair: ScorePair) -> float | None:
    return pair.first


def second_score(pair: ScorePair) -> float | None:
    return pair.second


def _is_won(value: float | None) -> bool | None:
    return None if value is None else value == 1.0


def rank_agreement(
    table: ComparisonTable, scaling: Scaling, pairs: Sequence[ScorePair]
) -> dict[str, Estimate]:
    """Rank correlation over items; for pairs, agreement of the choices."""
    n_failed = sum(pair.first is None or pair.second is None for pair in pairs)
    groups = table.groups([pair.row for pair in pairs])
    if table.kind == "choices":
        first = [row.first if isinstance(row.first, str) else None for row in table.rows]
        second = [row.second if isinstance(row.second, str) else None for row in table.rows]
        agreements = choice_agreement(first, second, groups)
        estimates = {"exact": agreements.exact, "decided": agreements.decided, "kappa": agreements.kappa}
        return {name: with_failures(estimate, n_failed) for name, estimate in estimates.items()}
    both = [pair for pair in pairs if pair.first is not None and pair.second is not None]
    of_both = table.groups([pair.row for pair in both])
    signs = scaling.signs
    spearman_estimate = spearman(
        [signs[0] * value for pair in both if (value := pair.first) is not None],
        [signs[1] * value for pair in both if (value := pair.second) is not None],
        None if of_both is None else len(set(of_both)),
    )
    return {"spearman": structs.replace(spearman_estimate, n_failed=n_failed)}

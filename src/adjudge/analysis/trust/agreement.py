"""How well a judge agrees with people: correlations, exact agreement, kappa, alpha, pairwise accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import get_args

from ...records import Estimate
from ...stats import Kind as Coefficient
from ...stats import (
    Level,
    TieCalibration,
    choice_agreement,
    cohen_kappa,
    correlate,
    exact_agreement,
    gwet,
    halved,
    krippendorff_alpha,
    quadratic_kappa,
    share_of_equal,
    soft_pairwise_accuracy,
    tie_calibration,
)
from ...stats.arrays import with_caution
from ..labels.labelled import LabelledItem, LabelledTable, choices, numbers
from ..run_view.criteria import levels_of
from .card import Resampling
from .estimates import MOST_LEVELS, count_failed, undefined_items, with_failures

COEFFICIENTS: tuple[Coefficient, ...] = get_args(Coefficient)


FEW_SYSTEMS = 5
"""With fewer systems, a correlation over their means is often near 1 or -1 by chance."""


def correlations(
    table: LabelledTable, level: Level, resampling: Resampling, kinds: Sequence[Coefficient] = COEFFICIENTS
) -> dict[str, Estimate]:
    """Pearson, Spearman and Kendall at one level, over the labelled items."""
    rows = table.labelled()
    judge, human = numbers(row.answer for row in rows), numbers(row.label for row in rows)
    n_failed = count_failed(rows)
    estimates = {}
    for kind in kinds:
        estimate = correlate(
            judge,
            human,
            kind,
            level,
            groups=table.groups(rows),
            systems=[row.system for row in rows],
            resample=resampling.unit,
            n_resamples=resampling.n,
            seed=resampling.seed,
        )
        caution_text = _few_units_caution(estimate, level, rows)
        if estimate.value is not None and caution_text:
            estimate = with_caution(estimate, caution_text)
        estimates[str(kind)] = with_failures(estimate, n_failed, by_item=level != "group")
    if level == "system":
        estimates["soft_pairwise"] = with_failures(_soft_pairwise(table, resampling), n_failed, by_item=False)
    return estimates


def _few_units_caution(estimate: Estimate, level: Level, rows: Sequence[LabelledItem]) -> str:
    """A caution where a correlation over so few units is near 1 or -1 by chance; empty otherwise."""
    if level == "system" and estimate.n < FEW_SYSTEMS:
        return f"a correlation over {estimate.n} systems is unreliable"
    if level != "group":
        return ""
    # Within a group a system counts once, by the mean of its items.
    answered = {(row.group, row.system) for row in rows if row.answer is not None and row.group is not None}
    sizes = [size for size in Counter(group for group, _ in answered).values() if size > 1]
    n_twos = sizes.count(2)
    if not n_twos:
        return ""
    which = "all groups" if n_twos == len(sizes) else f"{n_twos} of {len(sizes)} groups"
    return f"{which} have only two items, where a correlation can only be 1 or -1"


def _soft_pairwise(table: LabelledTable, resampling: Resampling) -> Estimate:
    """Soft pairwise accuracy: whether judge and people are equally sure which of two systems is better."""
    rows = table.labelled()
    groups = table.groups(rows)
    if groups is None:
        return undefined_items(
            "the systems answered no common inputs (group)", len({row.system for row in rows})
        )
    judge, human = numbers(row.answer for row in rows), numbers(row.label for row in rows)
    drawn = [row.probability for row in rows]
    return soft_pairwise_accuracy(
        judge, human, groups, [row.system for row in rows], resample=resampling.unit,
        probabilities=None if None in drawn or len(set(drawn)) < 2 else drawn,
    )  # fmt: skip


def agreement(table: LabelledTable, seed: int) -> dict[str, Estimate]:
    """Exact agreement and Gwet's coefficient with each of an item's raters, kappa and alpha with their mean.

    A mean of raters is no level, and rounding it would favour one end of the scale. So measures that count
    levels take the raters one by one, and measures of squared distance take the mean. Only Gwet's coefficient
    needs the levels.
    """
    rows = table.labelled()
    n_failed = count_failed(rows)
    if not table.is_same_scale:
        undefined_estimate = undefined_items("the labels are on a different scale", len(rows), n_failed)
        return dict.fromkeys(("exact", "kappa", "alpha", "gwet"), undefined_estimate)
    answered = [row for row in rows if row.answer is not None]
    judge, human = numbers(row.answer for row in answered), numbers(row.label for row in answered)
    levels, groups = levels_of(table.scale), table.groups(answered)
    pairs_by_item = [_rater_pairs(row, levels) for row in answered]
    estimates = {
        "exact": share_of_equal([share_alike(pairs) for pairs in pairs_by_item], groups),
        "kappa": quadratic_kappa(judge, human, groups),
        "alpha": krippendorff_alpha(
            list(zip(judge, human, strict=True)), "interval", clusters=groups, seed=seed
        ),
        "gwet": _gwet(pairs_by_item, levels, groups),
    }
    return {name: with_failures(estimate, n_failed) for name, estimate in estimates.items()}


def _rater_pairs(row: LabelledItem, levels: Sequence[float] | None) -> list[tuple[float, float]]:
    """The judge with each rater of an item, twice: a value
    midway between levels counts once as each of the two.
    """
    ratings = [rating for rating in numbers(row.ratings) if rating is not None]
    (answer,) = numbers([row.answer])
    if levels is None:
        return [(answer, rating) for rating in ratings if answer is not None]
    (judge_levels,) = halved([answer], levels)
    rater_levels = [both for both in halved(ratings, levels) if both is not None]
    if judge_levels is None:
        return []
    return [pair for both in rater_levels for pair in zip(judge_levels, both, strict=True)]


def _gwet(
    pairs_by_item: Sequence[Sequence[tuple[float, float]]],
    levels: Sequence[float] | None,
    groups: Sequence[str] | None,
) -> Estimate:
    if levels is None:
        return undefined_items("the levels of the scale are unknown", len(pairs_by_item))
    if len(levels) > MOST_LEVELS:
        return undefined_items(f"the scale has more than {MOST_LEVELS} levels", len(pairs_by_item))
    pairs = [pair for pairs in pairs_by_item for pair in pairs]
    items = [item for item, pairs in enumerate(pairs_by_item) for _ in pairs]
    return gwet(pairs, levels, items, None if groups is None else [groups[item] for item in items])


def pairwise(table: LabelledTable, seed: int) -> TieCalibration:
    """Pairwise accuracy: how often the judge orders two items as people do, ties included."""
    rows = table.labelled()
    n_failed = count_failed(rows)
    judge, human = numbers(row.answer for row in rows), numbers(row.label for row in rows)
    calibration = tie_calibration(judge, human, table.groups(rows), seed=seed)
    plain, best, held_out = (
        with_failures(estimate, n_failed)
        for estimate in (calibration.plain, calibration.best, calibration.held_out)
    )
    return TieCalibration(plain, best, held_out, calibration.eps)


def choice_agreements(table: LabelledTable) -> dict[str, Estimate]:
    """How often the judge chooses as people do."""
    rows = table.labelled()
    if table.classes:
        return class_agreements(table)
    agreements = choice_agreement(
        choices(row.answer for row in rows),
        choices(row.label for row in rows),
        table.groups(rows),
    )
    estimates = {"exact": agreements.exact, "decided": agreements.decided, "kappa": agreements.kappa}
    if any(row.has_order_conflict for row in rows):
        estimates["both_orders"] = _agreement_in_both_orders(table, rows)
    n_failed = count_failed(rows)
    return {name: with_failures(estimate, n_failed) for name, estimate in estimates.items()}


def class_agreements(table: LabelledTable) -> dict[str, Estimate]:
    """How often the judge chooses the class that people chose, and Cohen's kappa over all classes."""
    rows = table.labelled()
    judge, human = choices(row.answer for row in rows), choices(row.label for row in rows)
    groups, n_failed = table.groups(rows), count_failed(rows)
    estimates = {
        "exact": exact_agreement(judge, human, groups),
        "kappa": cohen_kappa(judge, human, table.classes, groups),
    }
    return {name: with_failures(estimate, n_failed) for name, estimate in estimates.items()}


def _agreement_in_both_orders(table: LabelledTable, rows: Sequence[LabelledItem]) -> Estimate:
    """Equal choices where a choice that changed with the order agrees with no label, not even with a tie.

    This is how agreement is published where judges see both orders (Zheng et al. 2023, Li et al. 2023:
    Auto-J).
    """
    answered = [row for row in rows if row.answer is not None]
    same = [float(row.answer == row.label and not row.has_order_conflict) for row in answered]
    return share_of_equal(same, table.groups(answered), n_undefined=len(rows) - len(answered))


def share_alike(pairs: Sequence[tuple[object, object]]) -> float:
    return sum(first == other for first, other in pairs) / len(pairs)

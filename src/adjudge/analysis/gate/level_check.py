"""The checks of a mean or a win rate against its threshold, corrected with labels where there are any."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import structs

from ...errors import DataError
from ...records import Estimate
from ...stats import LabelPlan, bounds, labels_needed, units_needed
from ...stats.arrays import t_quantile, undefined
from ...words import count, number, share
from ..labels.by_system import probabilities_of
from ..trust.card import CorrectedMean
from ..trust.corrected_means import corrected_means
from .check import Check, Rule, check_sentence
from .decision import Decision, decision_by_labels, decision_by_range, decision_by_values
from .gated_criterion import GatedCriterion, SystemScores, check_direction
from .not_enough_evidence import (
    TOO_NEAR,
    MoreNeeded,
    detectable_distance,
    more_needed,
    outcome_of,
    reach,
)
from .outcome import Outcome

_WIDTH_PER_DISTANCE = 0.7
"""Half an interval of this share of the distance decides with 80 % power: 1.96 / (1.96 + 0.84)."""


def level_checks(criterion: GatedCriterion, rule: Rule, threshold: float) -> list[Check]:
    """Compare each system's mean with a minimum or a maximum."""
    check_direction(criterion, rule)
    limits = criterion.limits
    if limits is not None and not limits[0] <= threshold <= limits[1]:
        flag = f"--{rule} {criterion.name}={threshold:g}"
        raise DataError(f"{flag}: the scale goes from {limits[0]:g} to {limits[1]:g}. Choose a number on it.")
    corrected = corrected_means(criterion.table) if criterion.table.labelled() else {}
    checks = []
    for system, scores in criterion.systems.items():
        if criterion.table.labelled():
            checks.append(_corrected_check(criterion, rule, threshold, system, corrected.get(system)))
        else:
            checks.append(_level_check(criterion, rule, threshold, system, scores))
    return checks


def _level_check(
    criterion: GatedCriterion, rule: Rule, threshold: float, system: str, scores: SystemScores
) -> Check:
    values, clusters = scores.values, scores.clusters
    estimate = criterion.estimate(scores, scores.n_failed)
    limits = criterion.limits
    decision = decision_by_values(
        values, clusters, limits, threshold, criterion.direction, is_two_level=criterion.is_two_level
    )
    if criterion.table.about == "these-items":
        decision, estimate = _of_these_items(values, estimate, limits, threshold, criterion.direction)
    outcome = outcome_of(decision)
    needed = more_needed(values, clusters, threshold, limits) if outcome == "open" else MoreNeeded()
    least = detectable_distance(values, clusters, threshold, limits)
    remarks = _failure_remark(values, estimate, criterion, threshold, outcome)
    return _check(criterion, rule, threshold, system, estimate, decision, needed, least, remarks)


def _of_these_items(
    values: Sequence[float],
    estimate: Estimate,
    limits: tuple[float, float] | None,
    threshold: float,
    direction: int,
) -> tuple[Decision | None, Estimate]:
    """All of these items were judged, so their mean is known but for those that failed."""
    if estimate.value is None:
        return None, estimate
    range_of_mean = bounds(values, estimate.n_failed, *(limits or (None, None)))
    low = high = estimate.value
    if estimate.n_failed:
        low, high = (
            (-math.inf, math.inf) if range_of_mean is None else (range_of_mean.low, range_of_mean.high)
        )
    method = "mean of these items, all judged; failures at either end of the scale"
    decision = decision_by_range(low, high, threshold, direction, method)
    return decision, structs.replace(estimate, low=decision.low, high=decision.high, method=method)


def _failure_remark(
    values: Sequence[float], estimate: Estimate, criterion: GatedCriterion, threshold: float, outcome: Outcome
) -> list[str]:
    """Whether the failed items alone could reverse a good outcome."""
    limits = criterion.limits
    if not estimate.n_failed or limits is None:
        return []
    range_of_mean = bounds(values, estimate.n_failed, *limits)
    if range_of_mean is None:
        return []
    write, noun = (share, "win rate") if criterion.is_share else (number, "mean")
    text = (
        f"{count(estimate.n_failed, 'item')} failed; range of the {noun} including failures: "
        f"{write(range_of_mean.low)} to {write(range_of_mean.high)}"
    )
    margin = (range_of_mean.low - threshold) if criterion.direction > 0 else (threshold - range_of_mean.high)
    if outcome == "good" and margin < 0:
        text += ", so it could be on the other side of the threshold"
    return [text]


def _corrected_check(
    criterion: GatedCriterion, rule: Rule, threshold: float, system: str, estimate: Estimate | None
) -> Check:
    """A check on the mean corrected with labels."""
    scores = criterion.systems[system]
    entries = scores.entries
    if estimate is None:
        estimate = undefined("no item of this system has a label", unit="label")
    if not criterion.table.is_same_scale:
        why = "the labels are on a different scale than the threshold"
        estimate = undefined(why, n=estimate.n, n_failed=estimate.n_failed, unit="label")
    decision = decision_by_labels(
        estimate, criterion.table, entries, criterion.limits, threshold, criterion.direction
    )
    if isinstance(estimate, CorrectedMean) and estimate.is_thin:
        # An interval that may be too narrow decides nothing.
        decision = None
    needed = MoreNeeded()
    if outcome_of(decision) == "open" and estimate.value is not None:
        width = 2 * _WIDTH_PER_DISTANCE * abs(estimate.value - threshold)
        n_left = sum(entry.label is None for entry in entries)
        needed = _more_labels(
            labels_needed(
                [entry.label for entry in entries],
                [entry.judge for entry in entries],
                width,
                criterion.table.groups([entry.row for entry in entries]),
                probabilities=probabilities_of(entries),
                is_finite=criterion.table.about == "these-items",
            ),
            n_left,
        )
        if decision is not None and (decision.low, decision.high) != (estimate.low, estimate.high):
            needed = _for_the_bound(needed, estimate, threshold, criterion.limits)
        if criterion.table.about == "these-items":
            needed = MoreNeeded(min(needed.n or n_left, n_left), "label")
    judge_estimate = criterion.estimate(scores)
    remarks = [
        f"corrected with {count(estimate.n, 'label')}; judge alone: {criterion.format(judge_estimate)}"
    ]
    return _check(criterion, rule, threshold, system, estimate, decision, needed, None, remarks)


def _for_the_bound(
    needed: MoreNeeded, estimate: Estimate, threshold: float, limits: tuple[float, float] | None
) -> MoreNeeded:
    """At least as many as the bound takes, which counts one more label at the far end of the scale."""
    value, low, high = estimate.value, estimate.low, estimate.high
    if needed.of != "label" or value is None or low is None or high is None:
        return needed
    sd = (high - low) / (2 * t_quantile(max(1, estimate.n - 2))) * math.sqrt(estimate.n)
    total = units_needed(abs(value - threshold), sd, reach=reach(value, limits, is_above=value >= threshold))
    if total is None:
        return MoreNeeded(why=TOO_NEAR)
    return MoreNeeded(max(needed.n or 1, total - estimate.n), "label")


def _more_labels(plan: LabelPlan, n_left: int) -> MoreNeeded:
    """The labels, or the groups of labels, that the plan asks for beyond those that exist; `n_left` items
    have none."""
    if plan.groups is not None:
        return MoreNeeded(max(1, plan.groups - (plan.n_groups or 0)), "labelled group")
    if plan.with_judge is not None:
        return MoreNeeded(max(1, plan.with_judge - plan.n_labels), "label")
    if "too few" not in plan.why:
        return MoreNeeded(why=plan.why)
    first = f"label the other {n_left:,} first, then " if n_left else ""
    return MoreNeeded(why=f"{plan.why}: {first}judge and label more items")


def _check(
    criterion: GatedCriterion,
    rule: Rule,
    threshold: float,
    system: str,
    estimate: Estimate,
    decision: Decision | None,
    needed: MoreNeeded,
    min_detectable: float | None,
    remarks: Sequence[str],
) -> Check:
    outcome = outcome_of(decision)
    bound = "at least" if rule == "min" else "at most"
    noun = "mean" if criterion.table.kind == "scores" else "win rate"
    asked = f"{100 * threshold:.10g} %" if criterion.is_share else f"{threshold:g}"
    text = f"{noun} of {system} on {criterion.name}: {criterion.format(estimate)}, required: {bound} {asked}"
    return Check(
        rule,
        criterion.name,
        system,
        threshold,
        estimate,
        outcome,
        check_sentence(text, estimate, decision, needed, criterion.is_share),
        tuple(text for text in (*remarks, estimate.caution) if text),
        min_detectable,
        needed.n,
        needed.of,
        criterion.is_share,
        decision,
    )

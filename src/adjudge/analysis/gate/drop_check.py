"""The checks of a change from the baseline against the drop that is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from ...errors import DataError
from ...records import Estimate, Subject
from ...stats import Equivalence, equivalence, ppi_difference
from ...stats.arrays import undefined
from ...stats.equivalence import equivalence_of
from ...words import count, interval, number
from ..compare.comparison import Comparison, SystemComparison
from ..labels.by_system import entries_by_system
from ..labels.labelled import LabelledItem, number_or_none
from .check import Check, check_sentence
from .decision import Decision, decision_by_interval, decision_by_range, decision_by_values
from .gate_input import GateInput
from .gated_criterion import GatedCriterion, check_direction
from .not_enough_evidence import MoreNeeded, detectable_distance, more_needed, outcome_of


class Changes(Struct, frozen=True):
    """The differences of single items: run - baseline."""

    values: Sequence[float]
    clusters: Sequence[str] | None
    limits: tuple[float, float] | None
    """the ends of the scale, as changes from the baseline's mean"""


def drop_check(
    criterion: GatedCriterion,
    system: str,
    allowed: float,
    estimate: Estimate,
    changes: Changes | None,
    remarks: Sequence[str],
    *,
    is_thin: bool = False,
) -> Check:
    """Compare a change for the worse with what is allowed. Differences are run - baseline.

    `changes` are the single differences; none where labels have corrected the change.
    """
    check_direction(criterion, "max_drop")
    sign = criterion.direction
    threshold = -sign * allowed
    needed, min_detectable = MoreNeeded(why="more labels would narrow it"), None
    if changes is None:
        # An interval that may be too narrow decides nothing.
        decision = None if is_thin else decision_by_interval(estimate, threshold, sign, estimate.n)
    else:
        values, clusters, limits = changes.values, changes.clusters, changes.limits
        decision = decision_by_values(values, clusters, limits, threshold, sign)
        min_detectable = detectable_distance(values, clusters, threshold, limits)
        is_open = outcome_of(decision) == "open"
        needed = more_needed(values, clusters, threshold, limits) if is_open else MoreNeeded()
    outcome = outcome_of(decision)
    equal = _equivalence(allowed, sign, estimate, changes, decision)
    word = "drop" if sign > 0 else "rise"
    text = (
        f"change of {system} on {criterion.name}: {interval(estimate, is_difference=True)}, allowed "
        f"{word}: {allowed:g}"
    )
    all_remarks = list(remarks)
    # The check decides at 2.5 %, equivalence at 5 %: it is not said of a check that has not passed.
    if outcome == "good" and equal is not None and equal.verdict == "equivalent":
        all_remarks.append(f"equivalent: shown to change by less than {allowed:g} in either direction")
    if min_detectable is not None and allowed < min_detectable:
        all_remarks.append(
            f"{allowed:g} is below the smallest detectable difference of {number(min_detectable)} "
            "(80 % power), so an unchanged system often gets 'not enough evidence'"
        )
    return Check(
        "max_drop",
        criterion.name,
        system,
        allowed,
        estimate,
        outcome,
        check_sentence(text, estimate, decision, needed),
        tuple(text for text in (*all_remarks, estimate.caution) if text),
        min_detectable,
        needed.n,
        needed.of,
        decision=decision,
        equivalence=equal,
    )


def _equivalence(
    allowed: float, sign: int, estimate: Estimate, changes: Changes | None, decision: Decision | None
) -> Equivalence | None:
    """Whether the change is shown to be within ± what is allowed: the test that decides the check, and that
    of the other side."""
    if allowed <= 0:
        return None
    if changes is None:
        if decision is None:
            return Equivalence(allowed, None, None, "not shown")
        return equivalence(estimate, allowed, max(1, estimate.n - 2), sign)
    other = decision_by_values(changes.values, changes.clusters, changes.limits, sign * allowed, -sign)
    if decision is None or other is None:
        return Equivalence(allowed, None, None, "not shown")
    verdict = equivalence_of(decision.p_good, other.p_good, decision.p_worse, other.p_worse)
    return Equivalence(allowed, decision.p_good, other.p_good, verdict)


def unchanged_check(
    criterion: GatedCriterion, system: str, allowed: float, comparison: SystemComparison
) -> Check:
    """A check of two runs with the same calls and the same replies: nothing can have changed."""
    check_direction(criterion, "max_drop")
    why = (
        f"both runs have the same calls and the same replies on all {count(comparison.n_items, 'item')}, "
        "so nothing can have changed"
    )
    text = f"No change of {system} on {criterion.name}: {why}."
    equal = Equivalence(allowed, 0.0, 0.0, "equivalent") if allowed > 0 else None
    return Check(
        "max_drop", criterion.name, system, allowed, comparison.difference, "good", text, (why,),
        equivalence=equal,
    )  # fmt: skip


def _drop_of_these_items(
    criterion: GatedCriterion, name: str, allowed: float, comparison: SystemComparison
) -> Check:
    """The change of items that were judged in both runs, known but for those that failed."""
    check_direction(criterion, "max_drop")
    estimate, sign = comparison.difference, criterion.direction
    decision, equal = None, None
    if estimate.value is not None:
        low = high = estimate.value
        if comparison.n_failed_first + comparison.n_failed_second + comparison.n_failed_both:
            found = comparison.bounds
            low, high = (-math.inf, math.inf) if found is None else (found.low, found.high)
        method = "change of these items, all judged; failures at either end of the scale"
        decision = decision_by_range(low, high, -sign * allowed, sign, method)
        other = decision_by_range(low, high, sign * allowed, -sign, method)
        why = "" if math.isfinite(low) else "failed items leave it open, and the scale has no end"
        estimate = structs.replace(
            estimate, low=decision.low, high=decision.high, method=method, reason=why, caution=""
        )
        if allowed > 0:
            verdict = equivalence_of(decision.p_good, other.p_good, decision.p_worse, other.p_worse)
            equal = Equivalence(allowed, decision.p_good, other.p_good, verdict)
    word = "drop" if sign > 0 else "rise"
    text = (
        f"change of {name} on {criterion.name}: {interval(estimate, is_difference=True)}, allowed "
        f"{word}: {allowed:g}"
    )
    needed = MoreNeeded(why="items that failed leave it open")
    return Check(
        "max_drop", criterion.name, name, allowed, estimate, outcome_of(decision),
        check_sentence(text, estimate, decision, needed), tuple(_range_remark(comparison)),
        decision=decision, equivalence=equal,
    )  # fmt: skip


def drop_checks(
    criterion: GatedCriterion, allowed: float, comparison: Comparison, baseline: GateInput
) -> list[Check]:
    """The change of each system, on the items of both runs."""
    if criterion.table.kind == "choices":
        raise DataError(
            f"--max-drop {criterion.name}: it is decided by choices. Compare its win rate with a "
            f"threshold instead: --min {criterion.name}=50% --system NAME"
        )
    key = criterion.table.criterion, criterion.table.protocol
    criterion_comparison = next(
        (
            card
            for card in comparison.criteria.values()
            if card.kind == "scores" and (card.criterion, card.protocols[1]) == key
        ),
        None,
    )
    if criterion_comparison is None:
        known = ", ".join(comparison.criteria) or "nothing in common"
        raise DataError(
            f"--max-drop {criterion.name}: {baseline.run.name} does not have it. Both runs have: {known}."
        )
    if criterion_comparison.unit != "points":
        raise DataError(
            f"--max-drop {criterion.name}: its scale in {baseline.run.name} is different, so a drop "
            "in points has no meaning. Judge the baseline with the same protocol."
        )
    comparisons = {
        name: system_comparison
        for name, system_comparison in criterion_comparison.systems.items()
        if system_comparison.system_second in criterion.systems
    }
    missing_systems = [
        system
        for system in criterion.systems
        if system not in {system_comparison.system_second for system_comparison in comparisons.values()}
    ]
    baseline_table = next(
        table
        for table in (gated.table for gated in baseline.tables.values())
        if table.kind == "scores"
        and (table.criterion, table.protocol)
        == (criterion_comparison.criterion, criterion_comparison.protocols[0])
    )
    is_labelled = bool(criterion.table.labelled() and baseline_table.labelled())
    before = {(row.item, row.subject): row for row in baseline_table.rows}
    checks = [
        _drop_check(criterion, name, allowed, system_comparison, before, is_labelled)
        for name, system_comparison in comparisons.items()
    ]
    for system in missing_systems:
        no_change = undefined(f"no item of {system} is in {baseline.run.name}")
        checks.append(drop_check(criterion, system, allowed, no_change, Changes((), None, None), ()))
    return checks


def _drop_check(
    criterion: GatedCriterion,
    name: str,
    allowed: float,
    comparison: SystemComparison,
    before: Mapping[tuple[str, Subject | None], LabelledItem],
    is_labelled: bool,
) -> Check:
    """The change of one system."""
    if comparison.is_same and comparison.difference.value is not None:
        return unchanged_check(criterion, name, allowed, comparison)
    rows = [
        entry.row
        for entry in entries_by_system(criterion.table).get(comparison.system_second, ())
        if (known := before.get((entry.row.item, entry.row.subject))) is not None
        and known.system == comparison.system_first
    ]
    differences = [
        (row, after - answer_before)
        for row in rows
        if (after := number_or_none(row.answer)) is not None
        and (answer_before := number_or_none(before[row.item, row.subject].answer)) is not None
    ]
    if not is_labelled:
        if criterion.table.about == "these-items":
            return _drop_of_these_items(criterion, name, allowed, comparison)
        changes = _changes(criterion, differences)
        return drop_check(criterion, name, allowed, comparison.difference, changes, _range_remark(comparison))
    rows_before = [before[row.item, row.subject] for row in rows]
    corrected_difference = ppi_difference(
        [number_or_none(row.label) for row in rows],
        [number_or_none(row.answer) for row in rows],
        [number_or_none(row.label) for row in rows_before],
        [number_or_none(row.answer) for row in rows_before],
        clusters=criterion.table.groups(rows),
        probabilities=_both_drawn(rows, rows_before),
        is_finite=criterion.table.about == "these-items",
    )
    return drop_check(
        criterion,
        name,
        allowed,
        corrected_difference.corrected,
        None,
        ["corrected with the labels of both runs"],
        is_thin=corrected_difference.is_thin,
    )


def _both_drawn(
    rows: Sequence[LabelledItem], rows_before: Sequence[LabelledItem]
) -> tuple[list[float | None], list[float | None]] | None:
    """The probabilities with which the labelled items of both runs were drawn; none where they do not
    differ."""
    sides = [
        [row.probability if row.label is not None else None for row in side] for side in (rows, rows_before)
    ]
    known = {
        row.probability
        for side in (rows, rows_before)
        for row in side
        if number_or_none(row.label) is not None
    }
    return None if None in known or len(known) < 2 else (sides[0], sides[1])


def _changes(criterion: GatedCriterion, differences: Sequence[tuple[LabelledItem, float]]) -> Changes:
    """The single differences. An item can become as bad as
    the scale allows, from where the baseline's items are.
    """
    values, limits = [difference for _, difference in differences], criterion.limits
    if limits is not None and values:
        after = math.fsum(number_or_none(row.answer) or 0.0 for row, _ in differences) / len(values)
        before = after - math.fsum(values) / len(values)
        limits = limits[0] - before, limits[1] - before
    return Changes(values, criterion.table.groups([row for row, _ in differences]), limits)


def _range_remark(comparison: SystemComparison) -> list[str]:
    if comparison.bounds is None:
        return []
    n = comparison.n_failed_first + comparison.n_failed_second + comparison.n_failed_both
    return [
        f"{n} of {comparison.n_items} items failed in one run or both; range of the change including "
        f"failures: {number(comparison.bounds.low)} to {number(comparison.bounds.high)}"
    ]

"""Means and differences of systems corrected with human labels (PPI++), pass shares and calibration.

The labels must be a random sample of the items, or carry the probability with which each item was drawn. For a pair, a
system scores 1 for a win, one half for a tie, 0 for a loss.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from msgspec import Struct, structs

from ..records import Estimate
from ..stats import (
    Corrected,
    Plan,
    calibrate,
    corrected_share,
    difference_of,
    halved,
    labels_needed,
    mean_interval,
    ppi_difference,
    ppi_mean,
    ppi_stratified,
    worth,
)
from ..stats.arrays import make_estimate, no_interval
from .human_agreement import levels_of, undefined_items, with_failures
from .label_join import Answer, LabelledItem, LabelledTable, number_or_none
from .result_types import CorrectedMean
from .run_view import as_number

MOST_SYSTEMS = 5
"""Up to this many systems, all differences are given; with more, only those from the best."""
MOST_VALUES = 25
"""An ordinal calibration is given up to this many different labels; means of three raters on five levels have 13."""


class Entry(Struct, frozen=True):
    """One item as a number for one system."""

    row: LabelledItem
    judge: float | None
    label: float | None


def entries_by_system(table: LabelledTable) -> dict[str, list[Entry]]:
    """The items of each system, in their order; a pair belongs to both of its systems."""
    by_system: dict[str, list[Entry]] = defaultdict(list)
    for row in table.rows:
        if table.kind == "scores":
            by_system[row.system].append(Entry(row, number_or_none(row.answer), number_or_none(row.label)))
            continue
        for system, side in zip(row.systems, ("a", "b"), strict=True):
            by_system[system].append(Entry(row, _share_won(row.answer, side), _share_won(row.label, side)))
    return dict(by_system)


def _share_won(answer: Answer | None, side: str) -> float | None:
    """What the system on one side gets: 1 for a win, 0 for a loss, one half for a tie."""
    if not isinstance(answer, str):
        return None
    return as_number(answer) if side == "a" else 1 - as_number(answer)


def bias(table: LabelledTable) -> Estimate:
    """Judge - people over all labelled items. Above 0 the judge's scores are higher."""
    rows = table.labelled()
    if not table.is_same_scale:
        return undefined_items("the labels are on a scale of their own", len(rows))
    if table.kind == "choices":
        return undefined_items("a choice has no size", len(rows))
    judged = [row for row in rows if row.answer is not None]
    differences = [
        answer - label
        for row in judged
        if (answer := number_or_none(row.answer)) is not None
        and (label := number_or_none(row.label)) is not None
    ]
    return mean_interval(differences, table.groups(judged), len(rows) - len(judged))


def corrected(table: LabelledTable) -> dict[str, CorrectedMean]:
    """The corrected mean of each system that has a label."""
    limits = _limits(table)
    return {
        system: _corrected_mean(_ppi(table, entries, limits), table)
        for system, entries in entries_by_system(table).items()
        if any(entry.label is not None for entry in entries)
    }


def pooled(table: LabelledTable) -> CorrectedMean | None:
    """The corrected mean over all systems; none for choices, where it would be one half, or for a single system.

    Labels drawn by system are more frequent where a system has few items, so systems are weighted by their items. Where
    a system has fewer than two labels, or its items had different probabilities, each label is weighted instead.
    """
    by_system = entries_by_system(table)
    entries = [entry for system_entries in by_system.values() for entry in system_entries]
    if table.kind == "choices" or len(by_system) < 2 or not any(entry.label is not None for entry in entries):
        return None
    n_labels = [
        sum(entry.label is not None for entry in system_entries) for system_entries in by_system.values()
    ]
    is_even = all(_probabilities(system_entries) is None for system_entries in by_system.values())
    if not (is_even and min(n_labels) >= 2 and sum(n_labels) >= len(n_labels) + 2):
        return _corrected_mean(_ppi(table, entries, _limits(table)), table)
    corrected = ppi_stratified(
        [entry.label for entry in entries],
        [entry.judge for entry in entries],
        [entry.row.system for entry in entries],
        clusters=table.groups([entry.row for entry in entries]),
        limits=_limits(table),
    )
    return _corrected_mean(corrected, table)


def _ppi(table: LabelledTable, entries: Sequence[Entry], limits: tuple[float, float] | None) -> Corrected:
    return ppi_mean(
        [entry.label for entry in entries],
        [entry.judge for entry in entries],
        clusters=table.groups([entry.row for entry in entries]),
        probabilities=_probabilities(entries),
        limits=limits,
    )


def _probabilities(entries: Sequence[Entry]) -> list[float | None] | None:
    """The probability of each labelled item to be drawn; none where it is the same for all items."""
    drawn = [entry.row.probability for entry in entries if entry.label is not None]
    if None in drawn or len(set(drawn)) < 2:
        return None
    return [entry.row.probability if entry.label is not None else None for entry in entries]


def _limits(table: LabelledTable) -> tuple[float, float] | None:
    if table.kind == "choices":
        return 0.0, 1.0
    return table.scale.limits if table.scale is not None and table.is_same_scale else None


def _corrected_mean(ppi: Corrected, table: LabelledTable) -> CorrectedMean:
    other_unit = undefined_items("the labels are on a scale of their own", ppi.bias.n)
    return CorrectedMean(
        **structs.asdict(ppi.corrected), judge_only=ppi.judge_only, labels_only=ppi.labels_only,
        bias=ppi.bias if table.is_same_scale else other_unit,
        power=ppi.power, effective_labels=ppi.effective_labels,
    )  # fmt: skip


def differences(table: LabelledTable, means: dict[str, CorrectedMean]) -> dict[str, CorrectedMean]:
    """First - second: paired on the inputs that both answered once; of independent items where they share none.

    Win rates of pairs are not independent, so they are left to `rank`.
    """
    if table.kind == "choices":
        return {}
    by_system = {system: entries for system, entries in entries_by_system(table).items() if system in means}
    by_group = {
        system: {entry.row.group: entry for entry in entries if entry.row.group is not None}
        for system, entries in by_system.items()
    }
    corrected_differences = {}
    for first, second in _system_pairs(list(by_system), means):
        shared = [group for group in by_group[first] if group in by_group[second]]
        is_single = all(len(by_group[system]) == len(by_system[system]) for system in (first, second))
        if not shared:
            corrected_differences[f"{first} - {second}"] = _independent(means[first], means[second])
        elif is_single and len(shared) >= 3:
            a, b = ([by_group[system][group] for group in shared] for system in (first, second))
            difference = ppi_difference(
                [entry.label for entry in a], [entry.judge for entry in a],
                [entry.label for entry in b], [entry.judge for entry in b],
                limits=_limits(table),
            )  # fmt: skip
            corrected_differences[f"{first} - {second}"] = _corrected_mean(difference, table)
    return corrected_differences


def _independent(first: CorrectedMean, second: CorrectedMean) -> CorrectedMean:
    """The difference of two systems that answered different inputs."""

    def difference(first_mean: Estimate, second_mean: Estimate) -> Estimate:
        return difference_of(first_mean, second_mean, "difference of independent means")

    mean, labels_only = difference(first, second), difference(first.labels_only, second.labels_only)
    return CorrectedMean(
        **structs.asdict(mean),
        judge_only=difference(first.judge_only, second.judge_only),
        labels_only=labels_only,
        bias=difference(first.bias, second.bias),
        effective_labels=worth(mean, labels_only, first.judge_only.n + second.judge_only.n),
    )  # fmt: skip


def _system_pairs(systems: Sequence[str], means: dict[str, CorrectedMean]) -> list[tuple[str, str]]:
    if len(systems) <= MOST_SYSTEMS:
        return list(combinations(systems, 2))
    known = [system for system in systems if means[system].value is not None]
    if not known:
        return []
    best = max(known, key=lambda system: means[system].value or 0.0)
    return [(best, system) for system in systems if system != best]


def pass_shares(table: LabelledTable) -> dict[str, Estimate]:
    """On a scale of two levels: the share that people would pass, corrected as by Rogan and Gladen."""
    levels = levels_of(table.scale)
    if table.kind != "scores" or levels is None or len(levels) != 2 or not table.is_same_scale:
        return {}
    good = levels[0] if table.scale is not None and table.scale.direction < 0 else levels[1]

    def passed(values: Sequence[float | None]) -> list[float | None]:
        # Raters who disagree on two levels have a mean midway: half a pass.
        levels_by_item = halved(values, levels)
        return [
            None if levels_of_item is None else sum(level == good for level in levels_of_item) / 2
            for levels_of_item in levels_by_item
        ]

    return {
        system: corrected_share(
            passed([entry.label for entry in entries]), passed([entry.judge for entry in entries])
        )
        for system, entries in entries_by_system(table).items()
        if any(entry.label is not None for entry in entries)
    }


def calibration(table: LabelledTable, seed: int) -> dict[str, Estimate]:
    """Mean absolute error of the scores on held-out items, before and after calibration.

    `after` is isotonic, `ordinal` an ordinal regression, which is more stable with few labels. `error_…` is the
    calibration error of each: the distance of the mean label from the score.
    """
    if table.kind != "scores" or not table.is_same_scale or not table.labelled():
        return {}
    rows = table.labelled()
    labels, scores = [number_or_none(row.label) for row in rows], [number_or_none(row.answer) for row in rows]
    n_failed = sum(row.answer is None for row in rows)
    isotonic = calibrate(labels, scores, seed=seed)
    estimates = {
        "before": with_failures(isotonic.mae_before, n_failed),
        "after": with_failures(isotonic.mae_after, n_failed),
        "error_before": _calibration_error(isotonic.ece_before, isotonic.mae_before, n_failed),
        "error_after": _calibration_error(isotonic.ece_after, isotonic.mae_after, n_failed),
    }
    if len(set(labels)) > MOST_VALUES:
        return estimates
    ordinal = calibrate(labels, scores, "ordinal", seed=seed)
    estimates["ordinal"] = with_failures(ordinal.mae_after, n_failed)
    estimates["error_ordinal"] = _calibration_error(ordinal.ece_after, ordinal.mae_after, n_failed)
    return estimates


def _calibration_error(value: float | None, error: Estimate, n_failed: int) -> Estimate:
    """A calibration error as an estimate, without an interval."""
    if value is None:
        return undefined_items(error.reason, error.n, n_failed)
    interval = no_interval("chance alone makes it larger than 0")
    return make_estimate(
        value, interval, "calibration error over ten bins of the scores", n=error.n, n_failed=n_failed
    )


def plans(table: LabelledTable, width: float | None) -> dict[str, Plan]:
    """System → labels needed for an interval of `width` around its corrected mean; empty without a width."""
    if width is None:
        return {}
    return {
        system: labels_needed([entry.label for entry in entries], [entry.judge for entry in entries], width)
        for system, entries in entries_by_system(table).items()
    }

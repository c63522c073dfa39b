"""Means of systems corrected with human labels (PPI++), the
bias of the judge, and the labels that are still needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from ...records import Estimate
from ...stats import Corrected, LabelPlan, labels_needed, ppi_mean, ppi_panel, ppi_stratified
from ...stats.arrays import with_caution, within
from ...words import listed
from ..labels.by_system import entries_by_system, limits_of, probabilities_of
from ..labels.labelled import Entry, LabelledTable
from .card import CorrectedMean
from .estimates import undefined_items
from .words.sentences import OF_SYSTEMS


def bias(table: LabelledTable, pooled: CorrectedMean | None = None) -> Estimate:
    """Judge - people over all items, weighted by the design of the draw: above 0 the judge is higher.

    `pooled` is the corrected mean over all systems, where it is known already: it rests on the same bias.
    """
    rows = table.labelled()
    if not table.is_same_scale:
        return undefined_items("the labels are on a different scale", len(rows))
    if table.kind == "choices":
        return undefined_items("choices have no bias in points", len(rows))
    n_failed = sum(row.answer is None for row in rows)
    if n_failed == len(rows):
        return undefined_items("no item has both a score and a label", 0, n_failed)
    found = pooled.bias if pooled is not None else within(_over_all_systems(table).bias, gap_limits(table))
    overall = structs.replace(found, n_failed=n_failed)
    by_system = entries_by_system(table)
    unknown = _without_labels(by_system)
    if not unknown or len(unknown) == len(by_system):
        return overall
    known = [system for system in by_system if system not in unknown]
    return with_caution(overall, f"{OF_SYSTEMS}{listed(known)}: fewer than two labels of {listed(unknown)}")


def gap_limits(table: LabelledTable) -> tuple[float, float] | None:
    """How far judge and people can be apart: by the width of the scale."""
    limits = limits_of(table)
    return None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])


def corrected_means(table: LabelledTable) -> dict[str, CorrectedMean]:
    """The corrected mean of each system that has a label."""
    limits = limits_of(table)
    return {
        system: corrected_mean(_ppi(table, entries, limits), table)
        for system, entries in entries_by_system(table).items()
        if any(entry.label is not None for entry in entries)
    }


def pooled_mean(table: LabelledTable) -> CorrectedMean | None:
    """The corrected mean over all systems; none for choices, where it would be one half, or for a single
    system.

    Labels drawn by system are more frequent where a system has few items, so systems are weighted by their
    items. Where items had different probabilities, each label is weighted instead. Where a system has fewer
    than two labels, nothing is known of its part, so there is none.
    """
    by_system = entries_by_system(table)
    if table.kind == "choices" or len(by_system) < 2 or not table.labelled() or _without_labels(by_system):
        return None
    return corrected_mean(_over_all_systems(table), table)


def systems_without_labels(table: LabelledTable) -> list[str]:
    """The systems of which fewer than two items have a label."""
    return _without_labels(entries_by_system(table))


def _without_labels(by_system: Mapping[str, Sequence[Entry]]) -> list[str]:
    return [
        system
        for system, entries in by_system.items()
        if sum(entry.label is not None for entry in entries) < 2
    ]


def _over_all_systems(table: LabelledTable) -> Corrected:
    """All systems together; where some have fewer than two labels, the others."""
    every = entries_by_system(table)
    unknown = _without_labels(every)
    by_system = {system: entries for system, entries in every.items() if system not in unknown} or every
    entries = [entry for system_entries in by_system.values() for entry in system_entries]
    n_labels = [
        sum(entry.label is not None for entry in system_entries) for system_entries in by_system.values()
    ]
    is_even = all(probabilities_of(system_entries) is None for system_entries in by_system.values())
    can_divide = is_even and min(n_labels) >= 2 and sum(n_labels) >= len(n_labels) + 2
    if len(by_system) < 2 or not can_divide:
        return _ppi(table, entries, limits_of(table))
    return ppi_stratified(
        [entry.label for entry in entries],
        [entry.judge for entry in entries],
        [entry.row.system for entry in entries],
        clusters=table.groups([entry.row for entry in entries]),
        limits=limits_of(table),
        is_finite=table.about == "these-items",
    )


def _ppi(table: LabelledTable, entries: Sequence[Entry], limits: tuple[float, float] | None) -> Corrected:
    """PPI++; of a panel with a slope for each of its judges, where the labels suffice."""
    if table.judges and not table.classes:
        return ppi_panel(
            [entry.label for entry in entries],
            [[entry.of_judge(judge) for entry in entries] for judge in table.judges],
            clusters=table.groups([entry.row for entry in entries]),
            probabilities=probabilities_of(entries),
            limits=limits,
            is_finite=table.about == "these-items",
            pooled=[entry.judge for entry in entries],
        )
    return ppi_mean(
        [entry.label for entry in entries],
        [entry.judge for entry in entries],
        clusters=table.groups([entry.row for entry in entries]),
        probabilities=probabilities_of(entries),
        limits=limits,
        is_finite=table.about == "these-items",
    )


def corrected_mean(ppi: Corrected, table: LabelledTable) -> CorrectedMean:
    other_unit = undefined_items("the labels are on a different scale", ppi.bias.n)
    return CorrectedMean(
        **structs.asdict(ppi.corrected), judge_only=ppi.judge_only, labels_only=ppi.labels_only,
        bias=within(ppi.bias, gap_limits(table)) if table.is_same_scale else other_unit,
        power=ppi.power, effective_labels=ppi.effective_labels, is_thin=ppi.is_thin,
    )  # fmt: skip


def plans(table: LabelledTable, width: float | None) -> dict[str, LabelPlan]:
    """System → labels needed for an interval of `width` around its corrected mean; empty without a width."""
    if width is None:
        return {}
    return {
        system: labels_needed(
            [entry.label for entry in entries],
            [entry.judge for entry in entries],
            width,
            table.groups([entry.row for entry in entries]),
            probabilities=probabilities_of(entries),
            is_finite=table.about == "these-items",
        )
        for system, entries in entries_by_system(table).items()
    }

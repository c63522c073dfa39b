"""Differences between systems corrected with human labels; their intervals hold together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise

from msgspec import structs

from ...records import Estimate
from ...stats import (
    Corrected,
    difference_by_group,
    difference_of,
    has_slopes,
    ppi_difference,
    simultaneous,
    worth,
)
from ...stats.arrays import with_caution
from ..labels.by_system import entries_by_system, limits_of, probabilities_of
from ..labels.labelled import Entry, LabelledTable
from .card import CorrectedMean
from .corrected_means import corrected_mean

MOST_SYSTEMS = 30
"""Up to this many systems, all differences are given; with more, those from the best and those of neighbours.
"""


def differences(table: LabelledTable, means: dict[str, CorrectedMean]) -> dict[str, CorrectedMean]:
    """First - second: paired on the inputs that both answered once; of independent items where they share
    none.

    The intervals hold together for all pairs of systems, shown or not, so that it does no harm to pick out
    the best system or the largest difference. Win rates of pairs are not independent, so they are left to
    `rank`.
    """
    if table.kind == "choices":
        return {}
    by_system = {system: entries for system, entries in entries_by_system(table).items() if system in means}
    n_pairs = math.comb(len(by_system), 2)
    n_labelled = {system: _n_labelled(entries) for system, entries in by_system.items()}
    systems = {system: _System(entries) for system, entries in by_system.items()}
    corrected_differences = {}
    for first, second in _system_pairs(list(by_system), means):
        between = _between(means[first], means[second])
        found = _difference(table, systems[first], systems[second], between)
        df = (found or means[first]).n - 2
        if found is None:
            found = _independent(means[first], means[second])
            df = min(n_labelled[first], n_labelled[second]) - 2
        corrected_differences[f"{first} - {second}"] = _simultaneous(
            found, n_pairs, max(1, df), limits_of(table)
        )
    return corrected_differences


def _between(first: CorrectedMean, second: CorrectedMean) -> float | None:
    """The difference of the two means beside which a difference is shown."""
    return None if first.value is None or second.value is None else first.value - second.value


class _System:
    """The items of one system as columns, made once for all its differences."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.by_group = {entry.row.group: entry for entry in entries if entry.row.group is not None}
        """the last entry of each group"""
        self.is_each_once = len(self.by_group) == len(entries)
        self.labels = [entry.label for entry in entries]
        self.scores = [entry.judge for entry in entries]
        self.drawn = probabilities_of(entries)

    def on(self, groups: Sequence[str]) -> _System:
        """The items of these groups, in their order."""
        if self.is_each_once and list(self.by_group) == groups:
            return self
        return _System([self.by_group[group] for group in groups])


def _difference(
    table: LabelledTable,
    first: _System,
    second: _System,
    between: float | None,
) -> CorrectedMean | None:
    """The difference of two systems by their common groups; none where they share none.

    Systems that answered each common input once are compared on these inputs. Otherwise (dialogue turns,
    repeats) the groups are compared as a whole. So are they where the inputs alone say something else than
    the two means beside them, and where each judge of a panel has its own slope: two numbers of one page
    never contradict each other.
    """
    shared = [group for group in first.by_group if group in second.by_group]
    if not shared:
        return None
    judges = _slopes_of(table, first.entries), _slopes_of(table, second.entries)
    if first.is_each_once and second.is_each_once and len(shared) >= 3:
        found = _by_input(table, first.on(shared), second.on(shared))
        if len(shared) < max(len(first.entries), len(second.entries)):
            on = f"of the {len(shared):,} inputs that both answered; the means are of all of each system"
            return corrected_mean(structs.replace(found, corrected=with_caution(found.corrected, on)), table)
        if judges == ((), ()) and not _is_apart(found.corrected, between):
            return corrected_mean(found, table)
    found = difference_by_group(
        _side(first.entries),
        _side(second.entries),
        judges=judges,
        limits=limits_of(table),
        is_finite=table.about == "these-items",
    )
    return None if _is_apart(found.corrected, between) else corrected_mean(found, table)


def _by_input(table: LabelledTable, first: _System, second: _System) -> Corrected:
    """The difference of two systems on the same inputs, in the same order."""
    drawn = first.drawn, second.drawn
    return ppi_difference(
        first.labels,
        first.scores,
        second.labels,
        second.scores,
        probabilities=None if drawn == (None, None) else drawn,
        limits=limits_of(table),
        is_finite=table.about == "these-items",
    )


def _is_apart(difference: Estimate, between: float | None) -> bool:
    """Whether a difference lies apart from that of the means by more than half of its half-width."""
    value, low, high = difference.value, difference.low, difference.high
    if between is None or value is None or low is None or high is None:
        return False
    return abs(value - between) > (high - low) / 4


def _slopes_of(table: LabelledTable, entries: Sequence[Entry]) -> tuple[Sequence[float | None], ...]:
    """The scores of each judge of a panel, where the system's mean has a slope for each."""
    if not table.judges:
        return ()
    groups = None if table.about == "these-items" else table.groups([entry.row for entry in entries])
    if not has_slopes([entry.label for entry in entries], len(table.judges), groups):
        return ()
    return tuple([entry.of_judge(judge) for entry in entries] for judge in table.judges)


def _side(
    entries: Sequence[Entry],
) -> tuple[list[float | None], list[float | None], list[str], list[float | None] | None]:
    """Labels, scores, groups and probabilities of a system's
    items; an item without a group is a group by itself.
    """
    return (
        [entry.label for entry in entries],
        [entry.judge for entry in entries],
        [entry.row.cluster for entry in entries],
        probabilities_of(entries),
    )


def _n_labelled(entries: Sequence[Entry]) -> int:
    """The independent observations with a label: groups, and items without a group."""
    return len({entry.row.cluster for entry in entries if entry.label is not None})


def _simultaneous(
    difference: CorrectedMean, n_pairs: int, df: int, limits: tuple[float, float] | None
) -> CorrectedMean:
    """The difference with intervals that hold for all pairs together."""
    width = None if limits is None else limits[1] - limits[0]
    ends = None if width is None else (-width, width)
    return structs.replace(
        simultaneous(difference, n_pairs, df, ends),
        judge_only=simultaneous(difference.judge_only, n_pairs, max(1, difference.judge_only.n - 1), ends),
        labels_only=simultaneous(difference.labels_only, n_pairs, df, ends),
        bias=simultaneous(difference.bias, n_pairs, df),
    )


def _independent(first: CorrectedMean, second: CorrectedMean) -> CorrectedMean:
    """The difference of two systems that answered different inputs."""

    def difference(first_mean: Estimate, second_mean: Estimate) -> Estimate:
        return difference_of(first_mean, second_mean)

    mean, labels_only = difference(first, second), difference(first.labels_only, second.labels_only)
    return CorrectedMean(
        **structs.asdict(mean),
        judge_only=difference(first.judge_only, second.judge_only),
        labels_only=labels_only,
        bias=difference(first.bias, second.bias),
        effective_labels=worth(mean, labels_only, first.judge_only.n + second.judge_only.n),
    )  # fmt: skip


def _system_pairs(systems: Sequence[str], means: dict[str, CorrectedMean]) -> list[tuple[str, str]]:
    """All pairs; of very many systems those with the best one, and neighbours in the order of the means."""
    if len(systems) <= MOST_SYSTEMS:
        return list(combinations(systems, 2))
    order = sorted(
        (system for system in systems if means[system].value is not None),
        key=lambda system: -(means[system].value or 0.0),
    )
    return (
        list(dict.fromkeys([*((order[0], system) for system in order[1:]), *pairwise(order)]))
        if order
        else []
    )

"""The scores of one criterion that a gate decides on, system by system."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from msgspec import Struct

from ...errors import DataError
from ...records import Estimate
from ...stats import clustered_share, mean_interval
from ...words import interval, percent
from ..labels.by_system import entries_by_system
from ..labels.labelled import Entry, LabelledTable
from ..run_view.criteria import criterion_names, levels_of
from ..run_view.run_view import RunView
from .check import Rule


class SystemScores(Struct, frozen=True):
    """What one system got on one criterion."""

    values: Sequence[float]
    clusters: Sequence[Hashable] | None
    n_failed: int
    entries: Sequence[Entry] = ()
    """the items themselves; empty where only numbers were kept"""

    @property
    def n(self) -> int:
        return len(self.values) + self.n_failed


class GatedTable(Struct, frozen=True):
    """One criterion of a run: with its items where labels or
    a baseline need them, otherwise with numbers alone.
    """

    table: LabelledTable
    systems: dict[str, SystemScores]


def with_items(table: LabelledTable) -> GatedTable:
    systems = {}
    for system, entries in entries_by_system(table).items():
        judged = [entry for entry in entries if entry.judge is not None]
        values = [entry.judge for entry in judged if entry.judge is not None]
        clusters = table.groups([entry.row for entry in judged])
        systems[system] = SystemScores(values, clusters, len(entries) - len(judged), entries)
    return GatedTable(table, systems)


def numbers_alone(view: RunView) -> dict[str, GatedTable]:
    """The same from the tally of one judge's scores, which takes a few bytes an item."""
    tables = {}
    names = criterion_names(view.tally.scores, view.tally.protocols)
    for (protocol, criterion), by_model in view.tally.scores.items():
        name = names[protocol, criterion]
        ((model, by_system),) = by_model.items()
        has_groups = any(
            column.has_groups for scores in by_system.values() for column in (scores.ok, scores.failed)
        )
        systems = {
            system: SystemScores(
                scores.ok.values, scores.ok.groups if has_groups else None, len(scores.failed)
            )
            for system, scores in by_system.items()
        }
        scale = view.scale(protocol, criterion)
        table = LabelledTable(criterion, protocol, model, "scores", scale, (), (), 0, True, ())
        tables[name] = GatedTable(table, systems)
    return tables


class GatedCriterion:
    """One criterion of the run, with its systems and its
    direction: 1 where higher is better, -1 where lower is.
    """

    def __init__(self, name: str, gated: GatedTable, wanted: Sequence[str]) -> None:
        self.name = name
        self.table = table = gated.table
        self.direction = (
            1 if table.kind == "choices" else (table.scale.direction if table.scale is not None else 0)
        )
        self.systems = _select_systems(name, table, gated.systems, wanted)

    @property
    def limits(self) -> tuple[float, float] | None:
        if self.table.kind == "choices":
            return 0.0, 1.0
        return self.table.scale.limits if self.table.scale is not None else None

    @property
    def is_two_level(self) -> bool:
        """Whether the scale has two levels, as pass and fail."""
        return self.table.kind == "scores" and len(levels_of(self.table.scale) or ()) == 2

    @property
    def is_share(self) -> bool:
        """Whether the estimate is a win rate, shown in per cent."""
        return self.table.kind == "choices"

    def estimate(self, scores: SystemScores, n_failed: int = 0) -> Estimate:
        """The judge's mean; for choices the win rate, as in a ranking."""
        if self.is_share:
            return clustered_share(scores.values, scores.clusters, n_failed)
        return mean_interval(scores.values, scores.clusters, n_failed, limits=self.limits)

    def format(self, estimate: Estimate) -> str:
        return percent(estimate) if self.is_share else interval(estimate)


def _select_systems(
    name: str, table: LabelledTable, by_system: Mapping[str, SystemScores], wanted: Sequence[str]
) -> dict[str, SystemScores]:
    """The selected systems, or all; choices need a system whose win rate counts."""
    unknown = [system for system in wanted if system not in by_system]
    if unknown:
        raise DataError(
            f"--system {unknown[0]}: {name} has no system of that name. It has: "
            f"{', '.join(sorted(by_system))}."
        )
    if table.kind == "choices" and not wanted:
        raise DataError(
            f"{name} is decided by choices: say whose win rate counts with --system NAME. "
            f"The systems are {', '.join(sorted(by_system))}."
        )
    return {system: scores for system, scores in by_system.items() if not wanted or system in wanted}


def find_criterion(tables: Mapping[str, GatedTable], wanted: str, systems: Sequence[str]) -> GatedCriterion:
    """The criterion of a name; PROTOCOL/CRITERION where several protocols have it."""
    exact = [name for name in tables if name == wanted]
    matches = exact or [name for name, gated in tables.items() if gated.table.criterion == wanted]
    if len(matches) == 1:
        return GatedCriterion(matches[0], tables[matches[0]], systems)
    names = ", ".join(tables)
    if matches:
        raise DataError(f"'{wanted}' is judged by several protocols. Say which: {', '.join(matches)}.")
    raise DataError(f"The run has no criterion '{wanted}'. It has: {names}.")


def check_direction(criterion: GatedCriterion, rule: Rule) -> None:
    """Refuse a threshold where the direction of the scale is unknown or the opposite."""
    if criterion.table.scale is not None and criterion.table.scale.is_nominal:
        raise DataError(
            f"--{rule.replace('_', '-')} {criterion.name}: its answers are labels without an order, "
            "so no end is good and there is no mean to compare with a threshold.\nJudge the label "
            "that matters with two levels (a rubric with levels 0 and 1), and gate on that; adjudge "
            "report shows the share of each label."
        )
    if criterion.direction == 0:
        raise DataError(
            f"--{rule.replace('_', '-')} {criterion.name}: it is unknown which end of its scale is "
            "good, so it cannot be compared with a threshold.\nSet `best` in the scale of the "
            "protocol and judge again."
        )
    if rule == "min" and criterion.direction < 0:
        raise DataError(
            f"--min {criterion.name}: on this scale lower is better, so a minimum would let the "
            f"worst pass. Use --max {criterion.name}=X."
        )
    if rule == "max" and criterion.direction > 0:
        raise DataError(
            f"--max {criterion.name}: on this scale higher is better, so a maximum would let the "
            f"worst pass. Use --min {criterion.name}=X."
        )

"""A gate on a stored run: reads the run, its baseline and labels, makes the checks, and says what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from ..card.join import Joined, join
from ..contrast import Comparison, SystemContrast, contrast
from ..contrast.build import ways_that_differ
from ..contrast.match import over_models
from ..contrast.sides import Side, side_of_run
from ..data import read_labels
from ..errors import DataError
from ..records import Estimate, Label
from ..stats import ppi_difference
from ..store import RunRow, Store
from .checks import (
    Criterion,
    drop_check,
    failure_check,
    failure_checks,
    found_criterion,
    level_checks,
    unchanged_check,
)
from .rules import Rules
from .shapes import EXIT_CODES, Check, Verdict, gravest

FROM_STORE = "store"
"""The word that asks for the labels in the store in place of a file's."""


class Judged:
    """A run with its labels, ready for checks."""

    def __init__(self, store: Store, run: RunRow, labels: str | None) -> None:
        self.run = run
        self.side: Side = side_of_run(store, run)
        if not self.side.results:
            raise DataError(f"{run.name} has judged nothing yet. Run it first.")
        self.labels: Sequence[Label] = _labels(store, run, labels)
        self.results, self.note = over_models(self.side.results, self.side.scales)
        self.tables: dict[str, Joined] = join(self.results, self.labels, self.side.scales)

    def unjudged(self) -> tuple[int, int]:
        """How many items of the run have no result yet, and how many there are."""
        planned = int(self.run.manifest["items"].get("n") or 0)
        seen = len({result.item for result in self.side.results})
        return max(0, planned - seen), max(planned, seen)


def _labels(store: Store, run: RunRow, asked: str | None) -> Sequence[Label]:
    if asked is None:
        return ()
    if asked != FROM_STORE:
        return read_labels(Path(asked)).labels
    found = store.labels(run)
    if not found:
        raise DataError(
            f"{run.name} has no labels in {store.path}. Give a file with --labels FILE, or leave --labels out."
        )
    return found


def verdict_of(judged: Judged, rules: Rules, baseline: Judged | None, seed: int = 0) -> Verdict:
    """Make all checks; the gravest outcome is the gate's."""
    checks: list[Check] = []
    notes: list[str] = []
    for name, least in rules.min.items():
        checks += level_checks(found_criterion(judged.tables, name, rules.systems), "min", least)
    for name, most in rules.max.items():
        checks += level_checks(found_criterion(judged.tables, name, rules.systems), "max", most)
    if rules.max_drop and baseline is not None:
        comparison = contrast(_pooled(baseline), _pooled(judged), seed)
        notes += _about_baseline(comparison, judged, baseline)
        for name, allowed in rules.max_drop.items():
            criterion = found_criterion(judged.tables, name, rules.systems)
            checks += _drop_checks(criterion, allowed, comparison, baseline)
    names = rules.criteria() or list(judged.tables)
    for criterion in {
        found.name: found for found in (found_criterion(judged.tables, name, rules.systems) for name in names)
    }.values():
        checks += failure_checks(criterion, rules)
    n_missing, n = judged.unjudged()
    if n_missing:
        what = f"not judged yet, because {judged.run.name} is {judged.run.status} (give its command again)"
        checks.append(failure_check("all criteria", "all systems", n_missing, n, rules.max_failed, what))
    outcome = gravest([check.outcome for check in checks])
    fake = dict.fromkeys((*judged.side.fake, *(baseline.side.fake if baseline is not None else ())))
    notes = [
        *(f"{spec} is a fake judge for tests: this gate says nothing about any system." for spec in fake),
        *((judged.note,) if judged.note else ()),
        *notes,
        *_about_labels(judged, rules, baseline),
    ]
    return Verdict(
        outcome, EXIT_CODES[outcome], judged.run.name, baseline.run.name if baseline is not None else None,
        tuple(checks), tuple(dict.fromkeys(notes)), bool(fake), bool(judged.labels),
    )  # fmt: skip


def _pooled(judged: Judged) -> Side:
    return structs.replace(judged.side, results=tuple(judged.results))


def _about_baseline(comparison: Comparison, judged: Judged, baseline: Judged) -> list[str]:
    told = [note for note in comparison.notes if "fake judge" not in note]
    if judged.run.id == baseline.run.id and judged.side.name == baseline.side.name:
        told.append("The baseline is the run itself: nothing can have changed.")
    ways = ways_that_differ(comparison.changed)
    if ways:
        told.append(
            f"The way of judging differs from the baseline's ({'; '.join(ways)}): a change may come from that alone."
        )
    return told


def _about_labels(judged: Judged, rules: Rules, baseline: Judged | None) -> list[str]:
    if not judged.labels:
        return []
    told = []
    used = {joined.criterion for joined in judged.tables.values() if joined.labelled()}
    names = {
        found.joined.criterion
        for found in (found_criterion(judged.tables, name, rules.systems) for name in rules.criteria())
    }
    without = sorted(names - used)
    if without:
        told.append(f"No label fits {', '.join(without)}: decided by the judge alone.")
    told += [
        f"{name}: {note}"
        for name, joined in judged.tables.items()
        if joined.criterion in names
        for note in joined.notes
    ]
    if rules.max_drop and (baseline is None or not baseline.labels):
        told.append(
            "A change is decided by the judge alone: to correct it too, give labels of the baseline (--baseline-labels)."
        )
    return told


def _drop_checks(
    criterion: Criterion, allowed: float, comparison: Comparison, baseline: Judged
) -> list[Check]:
    """The change of each system, on the items that both runs have."""
    if criterion.joined.kind == "choices":
        raise DataError(
            f"--max-drop {criterion.name}: it is decided by choices. Hold its win rate against a number instead: "
            f"--min {criterion.name}=50% --system NAME"
        )
    own_place = criterion.joined.criterion, criterion.joined.protocol
    found = next(
        (
            one
            for one in comparison.criteria.values()
            if one.kind == "scores" and (one.criterion, one.protocols[1]) == own_place
        ),
        None,
    )
    if found is None:
        known = ", ".join(comparison.criteria) or "nothing in common"
        raise DataError(
            f"--max-drop {criterion.name}: {baseline.run.name} does not have it. Both runs have: {known}."
        )
    if found.unit != "points":
        raise DataError(
            f"--max-drop {criterion.name}: its scale in {baseline.run.name} is another one, so that a drop in points has no "
            "meaning. Judge the baseline by the same protocol."
        )
    own = {name: one for name, one in found.systems.items() if one.system_second in criterion.systems}
    missing = [
        system for system in criterion.systems if system not in {one.system_second for one in own.values()}
    ]
    table = next(
        joined
        for joined in baseline.tables.values()
        if joined.kind == "scores"
        and (joined.criterion, joined.protocol) == (found.criterion, found.protocols[0])
    )
    is_labelled = bool(criterion.joined.labelled() and table.labelled())
    checks = [_drop_check(criterion, name, allowed, one, table, is_labelled) for name, one in own.items()]
    for system in missing:
        why = f"undefined: no item of {system} is in {baseline.run.name}"
        checks.append(
            drop_check(
                criterion, system, allowed, Estimate(None, None, None, 0, method=why), ((), None), None, ()
            )
        )
    return checks


def _drop_check(
    criterion: Criterion, name: str, allowed: float, one: SystemContrast, table: Joined, is_labelled: bool
) -> Check:
    """One system; `table` has the baseline's rows."""
    if one.is_same and one.difference.value is not None:
        return unchanged_check(criterion, name, allowed, one)
    before = {(row.item, row.subject): row for row in table.rows}
    rows = [
        row
        for row in criterion.joined.rows
        if row.system == one.system_second and (row.item, row.subject) in before
    ]
    rows = [row for row in rows if before[row.item, row.subject].system == one.system_first]
    kept = [
        (row, row.answer - old)
        for row in rows
        if isinstance(row.answer, float | int)
        and isinstance(old := before[row.item, row.subject].answer, float | int)
    ]
    if not is_labelled:
        values = [apart for _, apart in kept], criterion.joined.groups([row for row, _ in kept])
        remarks = _failed_remark(one)
        return drop_check(criterion, name, allowed, one.difference, values, one.minimum_detectable, remarks)
    earlier = [before[row.item, row.subject] for row in rows]
    found = ppi_difference(
        [_float(row.label) for row in rows], [_float(row.answer) for row in rows],
        [_float(row.label) for row in earlier], [_float(row.answer) for row in earlier],
        clusters=criterion.joined.groups(rows),
    )  # fmt: skip
    return drop_check(
        criterion, name, allowed, found.corrected, None, None, ["corrected by the labels of both runs"]
    )


def _float(value: float | str | None) -> float | None:
    return None if value is None or isinstance(value, str) else float(value)


def _failed_remark(one: SystemContrast) -> list[str]:
    if one.bounds is None:
        return []
    n = one.n_failed_first + one.n_failed_second + one.n_failed_both
    return [
        f"{n} of {one.n_items} items failed in one run or both: whatever they were, the change lies within {one.bounds.low:.2f} to {one.bounds.high:.2f}"
    ]

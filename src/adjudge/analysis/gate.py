"""A gate on a stored run: reads the run, its baseline and labels, makes the checks, and says what they come to."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ..data import read_labels
from ..errors import DataError
from ..records import Estimate, Label
from ..stats import (
    bounds,
    clustered_share,
    detectable,
    labels_needed,
    mean_interval,
    minimum_detectable,
    n_distinct,
    ppi_difference,
    standard_error,
    units_needed,
    wilson,
)
from ..stats.arrays import undefined
from ..store import RunRow, Store
from ..words import count, interval, number, percent, share
from .compare import compare_views
from .correction import Entry, corrected, entries
from .gate_rules import Allowed, Rules
from .label_join import Joined, join
from .result_types import EXIT_CODES, Check, Comparison, Outcome, Rule, SystemContrast, Verdict, gravest
from .run_view import fake_note, pooled_over_models, tabulate

# From an estimate and a threshold to an outcome. The interval decides, never the value alone.
#
# The interval is the 95 % one that is printed: a system that is exactly at its threshold is called good by mistake at most
# once in forty, and worse at most once in forty.


_ROUNDING = 1e-9
_NORMAL = 1.959964
"""Standard errors in half a 95 % interval of a share."""
_TOO_NEAR = "the value is so near to it that more of the same hardly helps"


class Needed(Struct, frozen=True):
    """How many more observations would decide four times in five, if the truth is what it looks like now."""

    n: int | None = None
    of: str = ""
    why: str = ""
    """why no number can be given"""


def decided(estimate: Estimate, threshold: float, direction: int) -> Outcome:
    """Good where the whole interval is on the good side of the threshold, worse where none of it is."""
    if estimate.low is None or estimate.high is None:
        return "open"
    low, high = (estimate.low, estimate.high) if direction > 0 else (-estimate.high, -estimate.low)
    least = threshold if direction > 0 else -threshold
    if low >= least - _ROUNDING:
        return "good"
    return "worse" if high < least - _ROUNDING else "open"


def more_needed(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None,
    threshold: float,
    limits: tuple[float, float] | None,
) -> Needed:
    """How many more items, or groups of items, of the kind that is there."""
    if not values:
        return Needed()
    distance = abs(math.fsum(values) / len(values) - threshold)
    precision = standard_error(values, clusters)
    if precision is None:
        return Needed()
    of = "item" if clusters is None else "group"
    if min(values) == max(values):
        total = _of_equal_values(values[0], threshold, limits)
    else:
        total = units_needed(distance, precision.se * math.sqrt(precision.n_units))
    if total is None:
        return Needed(why=_TOO_NEAR)
    return Needed(max(1, total - precision.n_units), of)


def more_games(estimate: Estimate, clusters: Sequence[Hashable] | None, threshold: float) -> Needed:
    """The same for a win rate, by the interval that decides it: ties make the games vary less than it allows for."""
    spread = _spread(estimate, clusters)
    if estimate.value is None or spread is None:
        return Needed()
    n_units, sd = spread
    total = units_needed(abs(estimate.value - threshold), sd)
    if total is None:
        return Needed(why=_TOO_NEAR)
    return Needed(max(1, total - n_units), "item" if clusters is None else "group")


def detectable_share(estimate: Estimate, clusters: Sequence[Hashable] | None) -> float | None:
    """The distance of a win rate from a threshold that as many games decide four times in five."""
    spread = _spread(estimate, clusters)
    return None if spread is None else minimum_detectable(*spread, is_paired=True)


def _spread(estimate: Estimate, clusters: Sequence[Hashable] | None) -> tuple[int, float] | None:
    """How many independent units there are, and the standard deviation of one that the interval stands for."""
    n_units = estimate.n if clusters is None else len(set(clusters))
    if estimate.low is None or estimate.high is None or n_units < 2:
        return None
    return n_units, (estimate.high - estimate.low) / 2 / _NORMAL * math.sqrt(n_units)


def _of_equal_values(value: float, threshold: float, limits: tuple[float, float] | None) -> int | None:
    """All values are one: the interval bounds the share of others, and shrinks with the number of values."""
    if limits is None:
        return None
    end = limits[0] if threshold < value else limits[1]
    if value in (threshold, end):
        return None
    ratio = (value - threshold) / (value - end)
    if ratio >= 1:
        return None
    return math.ceil(math.log(0.05) / math.log1p(-ratio))


# The checks of a gate: each threshold held against each system's mean, change, or failures.
#
# What is decided on: the judge's mean, clustered by group; with labels, the mean that people would have given (PPI++). A
# change is the paired difference with the baseline on the items that both have.


_NARROWER = 0.7
"""An interval this much narrower than the distance decides four times in five: 1.96 / (1.96 + 0.84)."""


class Criterion:
    """One criterion of the run, with its systems and the sign that makes better greater."""

    def __init__(self, name: str, joined: Joined, wanted: Sequence[str]) -> None:
        self.name = name
        self.joined = joined
        self.direction = (
            1 if joined.kind == "choices" else (joined.scale.direction if joined.scale is not None else 0)
        )
        self.systems = _chosen(name, joined, entries(joined), wanted)

    @property
    def limits(self) -> tuple[float, float] | None:
        if self.joined.kind == "choices":
            return 0.0, 1.0
        return self.joined.scale.limits if self.joined.scale is not None else None

    @property
    def is_share(self) -> bool:
        """Whether what is decided on is a win rate, written in per cent."""
        return self.joined.kind == "choices"

    def found(self, judged: Sequence[Entry], n_failed: int = 0) -> Estimate:
        """The judge's mean; of choices the win rate, by the method of a ranking."""
        values = [entry.judge for entry in judged if entry.judge is not None]
        if self.is_share:
            return clustered_share(values, self.clusters(judged), n_failed)
        return mean_interval(values, self.clusters(judged), n_failed, limits=self.limits)

    def written(self, estimate: Estimate) -> str:
        return percent(estimate) if self.is_share else interval(estimate)

    def clusters(self, own: Sequence[Entry]) -> list[str] | None:
        return self.joined.groups([entry.row for entry in own])


def _chosen(
    name: str, joined: Joined, by_system: Mapping[str, list[Entry]], wanted: Sequence[str]
) -> dict[str, list[Entry]]:
    """The systems that were asked for, or all; of pairs somebody must say whose win rate counts."""
    unknown = [system for system in wanted if system not in by_system]
    if unknown:
        raise DataError(
            f"--system {unknown[0]}: {name} has no system of that name. It has: {', '.join(sorted(by_system))}."
        )
    if joined.kind == "choices" and not wanted:
        raise DataError(
            f"{name} is decided by choices: say whose win rate counts with --system NAME. "
            f"The systems are {', '.join(sorted(by_system))}."
        )
    return {system: own for system, own in by_system.items() if not wanted or system in wanted}


def found_criterion(tables: Mapping[str, Joined], wanted: str, systems: Sequence[str]) -> Criterion:
    """The criterion of that name; where several protocols have it, PROTOCOL/CRITERION."""
    named = [name for name in tables if name == wanted]
    alike = named or [name for name, joined in tables.items() if joined.criterion == wanted]
    if len(alike) == 1:
        return Criterion(alike[0], tables[alike[0]], systems)
    known = ", ".join(tables)
    if alike:
        raise DataError(f"'{wanted}' is judged by several protocols. Say which: {', '.join(alike)}.")
    raise DataError(f"The run has no criterion '{wanted}'. It has: {known}.")


def level_checks(criterion: Criterion, rule: Rule, threshold: float) -> list[Check]:
    """Each system's mean against a least (or a greatest) value."""
    _refuse_direction(criterion, rule)
    limits = criterion.limits
    if limits is not None and not limits[0] <= threshold <= limits[1]:
        flag = f"--{rule} {criterion.name}={threshold:g}"
        raise DataError(f"{flag}: the scale goes from {limits[0]:g} to {limits[1]:g}. Choose a number on it.")
    labelled = corrected(criterion.joined) if criterion.joined.labelled() else {}
    found = []
    for system, own in criterion.systems.items():
        if criterion.joined.labelled():
            found.append(_corrected_check(criterion, rule, threshold, system, labelled.get(system)))
        else:
            found.append(_level_check(criterion, rule, threshold, system, own))
    return found


def _refuse_direction(criterion: Criterion, rule: Rule) -> None:
    """A threshold needs a good end, and must stand on its side."""
    if criterion.direction == 0:
        raise DataError(
            f"--{rule.replace('_', '-')} {criterion.name}: nobody knows which end of its scale is good, so no threshold can be "
            "held against it.\nWrite `best` into the scale of the protocol, once you know, and judge again."
        )
    if rule == "min" and criterion.direction < 0:
        raise DataError(
            f"--min {criterion.name}: on this scale lower is better, a least value would let the worst pass. Use --max {criterion.name}=X."
        )
    if rule == "max" and criterion.direction > 0:
        raise DataError(
            f"--max {criterion.name}: on this scale higher is better, a greatest value would let the worst pass. Use --min {criterion.name}=X."
        )


def _level_check(
    criterion: Criterion, rule: Rule, threshold: float, system: str, own: Sequence[Entry]
) -> Check:
    judged = [entry for entry in own if entry.judge is not None]
    values = [entry.judge for entry in judged if entry.judge is not None]
    clusters = criterion.clusters(judged)
    estimate = criterion.found(judged, len(own) - len(judged))
    outcome = decided(estimate, threshold, criterion.direction)
    if criterion.is_share:
        needed, least = more_games(estimate, clusters, threshold), detectable_share(estimate, clusters)
    else:
        needed = more_needed(values, clusters, threshold, criterion.limits)
        least = detectable(values, clusters)
    needed = needed if outcome == "open" else Needed()
    remarks = _failure_remark(values, estimate, criterion, threshold, outcome)
    return _check(criterion, rule, threshold, system, estimate, outcome, needed, least, remarks)


def _failure_remark(
    values: Sequence[float], estimate: Estimate, criterion: Criterion, threshold: float, outcome: Outcome
) -> list[str]:
    """Whether the failed items alone could turn a good outcome."""
    limits = criterion.limits
    if not estimate.n_failed or limits is None:
        return []
    span = bounds(values, estimate.n_failed, *limits)
    if span is None:
        return []
    write, noun = (share, "win rate") if criterion.is_share else (number, "mean")
    text = f"{count(estimate.n_failed, 'item')} failed: whatever they were, the {noun} lies within {write(span.low)} to {write(span.high)}"
    least = (span.low - threshold) if criterion.direction > 0 else (threshold - span.high)
    if outcome == "good" and least < 0:
        text += ", so that it could be on the other side of the threshold"
    return [text]


def _corrected_check(
    criterion: Criterion, rule: Rule, threshold: float, system: str, estimate: Estimate | None
) -> Check:
    """On the mean that people would have given."""
    own = criterion.systems[system]
    if estimate is None:
        estimate = undefined("no item of this system has a label", unit="label")
    if not criterion.joined.is_same_scale:
        why = "the labels are on a scale of their own, the threshold is on the judge's"
        estimate = undefined(why, n=estimate.n, n_failed=estimate.n_failed, unit="label")
    outcome = decided(estimate, threshold, criterion.direction)
    needed = Needed()
    if outcome == "open" and estimate.value is not None:
        width = 2 * _NARROWER * abs(estimate.value - threshold)
        plan = labels_needed([entry.label for entry in own], [entry.judge for entry in own], width)
        needed = Needed(why=plan.why)
        if plan.with_judge is not None:
            needed = Needed(max(1, plan.with_judge - plan.n_labels), "label")
    judge = criterion.found([entry for entry in own if entry.judge is not None])
    remarks = [f"corrected by {count(estimate.n, 'label')}; the judge alone says {criterion.written(judge)}"]
    return _check(criterion, rule, threshold, system, estimate, outcome, needed, None, remarks)


def _check(
    criterion: Criterion,
    rule: Rule,
    threshold: float,
    system: str,
    estimate: Estimate,
    outcome: Outcome,
    needed: Needed,
    least: float | None,
    remarks: Sequence[str],
) -> Check:
    bound = "at least" if rule == "min" else "at most"
    noun = "mean" if criterion.joined.kind == "scores" else "win rate"
    asked = f"{100 * threshold:.10g} %" if criterion.is_share else f"{threshold:g}"
    text = f"{noun} of {system} on {criterion.name} {criterion.written(estimate)}, asked for {bound} {asked}"
    return Check(
        rule, criterion.name, system, threshold, estimate, outcome, _told(text, estimate, outcome, needed),
        tuple(text for text in (*remarks, estimate.caution) if text), least, needed.n, needed.of,
        criterion.is_share,
    )  # fmt: skip


def _told(text: str, estimate: Estimate, outcome: Outcome, needed: Needed) -> str:
    """The sentence, with what an open check would take."""
    text = text[0].upper() + text[1:]
    if outcome != "open":
        return f"{text}."
    if estimate.low is None or estimate.high is None:
        return f"{text}: cannot be decided, {estimate.reason}."
    if needed.n is None:
        return f"{text}: the interval holds the threshold{', and ' if needed.why else ''}{needed.why}."
    more = count(needed.n, f"more {needed.of}", f"more {needed.of}s")
    return f"{text}: the interval holds the threshold. About {more} would decide it four times in five, if the truth is what it looks like now."


def drop_check(
    criterion: Criterion,
    system: str,
    allowed: float,
    estimate: Estimate,
    values: tuple[Sequence[float], Sequence[str] | None] | None,
    least: float | None,
    remarks: Sequence[str],
) -> Check:
    """A change against the baseline, for the worse at most by what is allowed. Differences are run - baseline.

    `values` are the single differences; none where labels have corrected them.
    """
    _refuse_direction(criterion, "max_drop")
    sign = criterion.direction
    threshold = -sign * allowed
    outcome = decided(estimate, threshold, sign)
    limits = criterion.limits
    width = None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])
    needed = Needed(why="labels of more items would narrow it")
    if values is not None:
        needed = more_needed(*values, threshold, width) if outcome == "open" else Needed()
    word = "drop" if sign > 0 else "rise"
    text = f"change of {system} on {criterion.name} {interval(estimate, is_difference=True)}, allowed is a {word} of {allowed:g}"
    told = list(remarks)
    if least is not None and allowed < least:
        told.append(
            f"{allowed:g} is less than as many items can see: a true difference of {number(least)} is found four times in five, so "
            "a system that did not change often comes out as not enough evidence"
        )
    return Check(
        "max_drop", criterion.name, system, allowed, estimate, outcome, _told(text, estimate, outcome, needed),
        tuple(text for text in (*told, estimate.caution) if text), least, needed.n, needed.of,
    )  # fmt: skip


def unchanged_check(criterion: Criterion, system: str, allowed: float, found: SystemContrast) -> Check:
    """Both runs have the same calls and the same replies: nothing can have changed, and no interval is needed to say so."""
    _refuse_direction(criterion, "max_drop")
    why = f"both runs have the same calls and the same replies on all {count(found.n_items, 'item')}, nothing can have changed"
    text = f"No change of {system} on {criterion.name}: {why}."
    return Check("max_drop", criterion.name, system, allowed, found.difference, "good", text, (why,))


def failure_check(name: str, system: str, n_failed: int, n: int, allowed: Allowed, what: str = "") -> Check:
    """Too many failures, by their number: it is known, not estimated."""
    most = allowed.most(n)
    estimate = wilson(n_failed, n)
    outcome: Outcome = "failed" if n_failed > most else "good"
    what = what or f"the judge gave no answer for {system} on {name}"
    rate = f"{share(n_failed / n)}" if n else "none"
    text = f"{what}: {n_failed:,} of {count(n, 'item')} ({rate}), allowed {allowed.text()}"
    if allowed.share is not None:
        text += f" ({most:,})"
    told = f"{text[0].upper()}{text[1:]}."
    return Check(
        "max_failed",
        name,
        system,
        allowed.share if allowed.share is not None else float(most),
        estimate,
        outcome,
        told,
        is_share=allowed.share is not None,
    )


def failure_checks(criterion: Criterion, rules: Rules) -> list[Check]:
    """The failures of each system on one criterion."""
    return [
        failure_check(
            criterion.name, system, sum(entry.judge is None for entry in own), len(own), rules.max_failed
        )
        for system, own in criterion.systems.items()
    ]


FROM_STORE = "store"
"""The word that asks for the labels in the store in place of a file's."""


class Judged:
    """A run with its labels, ready for checks."""

    def __init__(self, store: Store, run: RunRow, labels: str | None) -> None:
        self.run = run
        view = tabulate(store, run, for_comparison=True)
        if not view.results:
            raise DataError(f"{run.name} has judged nothing yet. Run it first.")
        self.n_items = n_distinct([view.tally.items])
        self.labels: Sequence[Label] = _labels(store, run, labels)
        self.view, self.note = pooled_over_models(view)
        self.tables: dict[str, Joined] = join(self.view, self.labels)

    def unjudged(self) -> tuple[int, int]:
        """How many items of the run have no result yet, and how many there are."""
        planned = int(self.run.manifest["items"].get("n") or 0)
        return max(0, planned - self.n_items), max(planned, self.n_items)


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
        comparison = compare_views(baseline.view, judged.view, seed)
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
    views = [judged.view] if baseline is None else [judged.view, baseline.view]
    fake = dict.fromkeys(spec for view in views for spec in view.fake_models())
    notes = [
        *(fake_note(spec) for spec in fake),
        *((judged.note,) if judged.note else ()),
        *notes,
        *_about_labels(judged, rules, baseline),
    ]
    return Verdict(
        outcome, EXIT_CODES[outcome], judged.run.name, baseline.run.name if baseline is not None else None,
        tuple(checks), tuple(dict.fromkeys(notes)), bool(fake), bool(judged.labels),
    )  # fmt: skip


def _about_baseline(comparison: Comparison, judged: Judged, baseline: Judged) -> list[str]:
    told = list(comparison.notes)
    if judged.run.id == baseline.run.id and judged.view.name == baseline.view.name:
        told.append("The baseline is the run itself: nothing can have changed.")
    if comparison.judging_changes:
        changes = "; ".join(comparison.judging_changes)
        told.append(
            f"The way of judging differs from the baseline's ({changes}): a change may come from that alone."
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
        none = undefined(f"no item of {system} is in {baseline.run.name}")
        checks.append(drop_check(criterion, system, allowed, none, ((), None), None, ()))
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

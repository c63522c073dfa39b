"""The checks of a gate: each threshold held against each system's mean, change, or failures.

What is decided on: the judge's mean, clustered by group; with labels, the mean that people would have given (PPI++). A
change is the paired difference with the baseline on the items that both have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..card.correction import Entry, corrected, entries
from ..card.join import Joined
from ..contrast.scaling import direction
from ..contrast.shapes import SystemContrast
from ..errors import DataError
from ..records import Estimate
from ..stats import (
    bounds,
    caution,
    clustered_share,
    detectable,
    labels_needed,
    mean_interval,
    reason,
    wilson,
)
from ..words import count, interval, number, percent, share
from .decide import Needed, decided, detectable_share, more_games, more_needed
from .rules import Allowed, Rules
from .shapes import Check, Outcome, Rule

_NARROWER = 0.7
"""An interval this much narrower than the distance decides four times in five: 1.96 / (1.96 + 0.84)."""


class Criterion:
    """One criterion of the run, with its systems and the sign that makes better greater."""

    def __init__(self, name: str, joined: Joined, wanted: Sequence[str]) -> None:
        self.name = name
        self.joined = joined
        self.direction = 1 if joined.kind == "choices" else direction(joined.scale)
        self.systems = _chosen(name, joined, entries(joined), wanted)

    @property
    def limits(self) -> tuple[float, float] | None:
        if self.joined.kind == "choices":
            return 0.0, 1.0
        scale = self.joined.scale
        if scale is None or scale.low is None or scale.high is None:
            return None
        return scale.low, scale.high

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
        estimate = Estimate(
            None, None, None, 0, method="undefined: no item of this system has a label", unit="label"
        )
    if not criterion.joined.is_same_scale:
        why = "undefined: the labels are on a scale of their own, the threshold is on the judge's"
        estimate = Estimate(None, None, None, estimate.n, estimate.n_failed, method=why, unit="label")
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
        tuple(text for text in (*remarks, caution(estimate)) if text), least, needed.n, needed.of,
        criterion.is_share,
    )  # fmt: skip


def _told(text: str, estimate: Estimate, outcome: Outcome, needed: Needed) -> str:
    """The sentence, with what an open check would take."""
    text = text[0].upper() + text[1:]
    if outcome != "open":
        return f"{text}."
    if estimate.low is None or estimate.high is None:
        return f"{text}: cannot be decided, {reason(estimate)}."
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
        tuple(text for text in (*told, caution(estimate)) if text), least, needed.n, needed.of,
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

"""The release gate: compares a stored run with thresholds and with a baseline, and decides by the intervals.

What is decided on: the judge's mean, clustered by group; with labels, the corrected mean (PPI++). A change is the paired
difference from the baseline on the items of both runs. A one-sided bound decides, never the value alone: for a system
exactly at its threshold, each wrong outcome has a probability of at most 2.5 %, also at the end of the scale
(`stats.mean_test`). The interval beside it is the one that a report prints. Over all checks of a gate together, a false
`worse` has a probability of at most 5 % (Holm). A false `good` needs no correction, because all checks must be good.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, structs

from ..data import read_labels
from ..engine import protocols_of
from ..errors import DataError
from ..records import Estimate, Label
from ..stats import (
    Plan,
    adjusted,
    bounds,
    clustered_share,
    detectable,
    labels_needed,
    mean_interval,
    mean_test,
    n_distinct,
    ppi_difference,
    standard_error,
    units_needed,
    wilson,
)
from ..stats.arrays import undefined
from ..stats.threshold import DECISION_LEVEL, p_of_arms
from ..store import RunRow, Store
from ..words import count, interval, number, p_phrase, percent, share
from .audit import MARGIN_SHARE, audit_view
from .compare import compare_views
from .correction import Entry, corrected, entries_by_system
from .gate_rules import Allowed, Rules
from .human_agreement import levels_of
from .label_join import About, LabelledItem, LabelledTable, join, number_or_none
from .match import Comparison, SystemComparison
from .result_types import (
    EXIT_CODES,
    SIGNIFICANCE,
    AuditedCriterion,
    Check,
    CorrectedMean,
    Decision,
    Outcome,
    ProbeResult,
    Rule,
    Verdict,
    most_severe,
)
from .run_view import RunView, criterion_names, fake_note, pooled_over_models, tabulate

_ROUNDING = 1e-9
_TOO_NEAR = "the estimate is so close to it that more data hardly helps"


MOST_PRACTICAL = 1000
"""More observations than this are not collected for one decision."""


class MoreNeeded(Struct, frozen=True):
    """How many more observations would decide with 80 % power, if the current estimate is the truth."""

    n: int | None = None
    of: str = ""
    why: str = ""
    """why no number can be given"""


def decision_by_values(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None,
    limits: tuple[float, float] | None,
    threshold: float,
    direction: int,
    *,
    is_two_level: bool = False,
    with_bounds: bool = True,
) -> Decision | None:
    """How the values compare with the threshold; none where there is none, or where nothing bounds equal values."""
    ends = limits if limits is None or direction > 0 else (-limits[1], -limits[0])
    test = mean_test(
        [direction * value for value in values],
        clusters,
        ends,
        direction * threshold - _ROUNDING,
        is_two_level=is_two_level,
        with_bounds=with_bounds,
    )
    if test is None:
        return None
    low, high = (test.low, test.high) if direction > 0 else (_negative(test.high), _negative(test.low))
    return Decision(low, high, test.p_above, test.p_below, test.method)


def _negative(bound: float | None) -> float | None:
    return None if bound is None else -bound


def decision_by_interval(
    estimate: Estimate, threshold: float, direction: int, n_units: int
) -> Decision | None:
    """The same for an estimate that comes with an interval: its arms as standard errors."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None
    apart = direction * (estimate.value - threshold) + _ROUNDING
    # The arm that points to the threshold decides.
    arm = estimate.value - estimate.low if estimate.value > threshold else estimate.high - estimate.value
    p_good = p_of_arms(apart, arm, max(1, n_units - 2))
    return Decision(estimate.low, estimate.high, p_good, 1 - p_good, estimate.method)


def outcome_of(decision: Decision | None) -> Outcome:
    """Good or worse where the p-value is small enough, open otherwise."""
    if decision is None:
        return "open"
    if decision.p_good <= DECISION_LEVEL:
        return "good"
    return "worse" if decision.p_worse <= DECISION_LEVEL else "open"


def corrected_for_number(checks: Sequence[Check]) -> list[Check]:
    """The checks with `worse` only where it stays significant among all of them (Holm)."""
    p_values = [None if check.decision is None else check.decision.p_worse for check in checks]
    n = sum(p is not None for p in p_values)
    return [
        check if check.decision is None else _corrected_outcome(check, check.decision, p, n)
        for check, p in zip(checks, adjusted(p_values), strict=True)
    ]


def _corrected_outcome(check: Check, decision: Decision, p: float | None, n: int) -> Check:
    check = structs.replace(check, decision=structs.replace(decision, p_worse_adjusted=p))
    if check.outcome != "worse" or p is None or p <= SIGNIFICANCE:
        return check
    return structs.replace(
        check,
        outcome="open",
        text=f"{check.text} Worse by itself ({p_phrase(decision.p_worse)}), but not statistically significant among "
        f"{n} checks (Holm-adjusted {p_phrase(p)}).",
    )


def more_needed(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None,
    threshold: float,
    limits: tuple[float, float] | None,
) -> MoreNeeded:
    """How many more items, or groups of items, with the variance of the present ones."""
    if not values:
        return MoreNeeded()
    mean = math.fsum(values) / len(values)
    precision = standard_error(values, clusters)
    if precision is None:
        return MoreNeeded()
    unit = "item" if clusters is None else "group"
    if min(values) == max(values):
        total = _of_equal_values(values[0], threshold, limits)
    else:
        sd = precision.se * math.sqrt(precision.n_units)
        reach = _reach(mean, limits, is_above=mean >= threshold)
        total = units_needed(abs(mean - threshold), sd, reach=reach)
    if total is None:
        return MoreNeeded(why=_TOO_NEAR)
    return MoreNeeded(max(1, total - precision.n_units), unit)


def detectable_distance(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None,
    threshold: float,
    limits: tuple[float, float] | None,
) -> float | None:
    """The distance of a true mean from a threshold that as many items detect with 80 % power."""
    least, precision = detectable(values, clusters), standard_error(values, clusters)
    if least is None or precision is None:
        return None
    reach = _reach(threshold, limits, is_above=math.fsum(values) / len(values) >= threshold)
    return least + reach / (precision.n_units + 1)


def _reach(value: float, limits: tuple[float, float] | None, *, is_above: bool) -> float:
    """How far the value that a bound adds lies from a mean above, or below, its threshold."""
    if limits is None:
        return 0.0
    return max(0.0, value - limits[0] if is_above else limits[1] - value)


def _of_equal_values(value: float, threshold: float, limits: tuple[float, float] | None) -> int | None:
    """All values are equal: the bound allows for a share of other values, which shrinks with their number."""
    if limits is None:
        return None
    end = limits[0] if threshold < value else limits[1]
    if value in (threshold, end):
        return None
    ratio = (value - threshold) / (value - end)
    if ratio >= 1:
        return None
    return math.ceil(math.log(DECISION_LEVEL) / math.log1p(-ratio))


# -- The checks


_WIDTH_PER_DISTANCE = 0.7
"""Half an interval of this share of the distance decides with 80 % power: 1.96 / (1.96 + 0.84)."""


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
    """One criterion of a run: with its items where labels or a baseline need them, otherwise with numbers alone."""

    table: LabelledTable
    systems: dict[str, SystemScores]


def _with_items(table: LabelledTable) -> GatedTable:
    systems = {}
    for system, entries in entries_by_system(table).items():
        judged = [entry for entry in entries if entry.judge is not None]
        values = [entry.judge for entry in judged if entry.judge is not None]
        clusters = table.groups([entry.row for entry in judged])
        systems[system] = SystemScores(values, clusters, len(entries) - len(judged), entries)
    return GatedTable(table, systems)


def _numbers_alone(view: RunView) -> dict[str, GatedTable]:
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
                scores.ok.values, scores.ok.groups.tolist() if has_groups else None, len(scores.failed)
            )
            for system, scores in by_system.items()
        }
        scale = view.scale(protocol, criterion)
        table = LabelledTable(criterion, protocol, model, "scores", scale, (), (), 0, True, ())
        tables[name] = GatedTable(table, systems)
    return tables


class GatedCriterion:
    """One criterion of the run, with its systems and its direction: 1 where higher is better, -1 where lower is."""

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
            f"--system {unknown[0]}: {name} has no system of that name. It has: {', '.join(sorted(by_system))}."
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


def level_checks(criterion: GatedCriterion, rule: Rule, threshold: float) -> list[Check]:
    """Compare each system's mean with a minimum or a maximum."""
    _check_direction(criterion, rule)
    limits = criterion.limits
    if limits is not None and not limits[0] <= threshold <= limits[1]:
        flag = f"--{rule} {criterion.name}={threshold:g}"
        raise DataError(f"{flag}: the scale goes from {limits[0]:g} to {limits[1]:g}. Choose a number on it.")
    corrected_means = corrected(criterion.table) if criterion.table.labelled() else {}
    checks = []
    for system, scores in criterion.systems.items():
        if criterion.table.labelled():
            checks.append(_corrected_check(criterion, rule, threshold, system, corrected_means.get(system)))
        else:
            checks.append(_level_check(criterion, rule, threshold, system, scores))
    return checks


def _check_direction(criterion: GatedCriterion, rule: Rule) -> None:
    """Refuse a threshold where the direction of the scale is unknown or the opposite."""
    if criterion.table.scale is not None and criterion.table.scale.is_nominal:
        raise DataError(
            f"--{rule.replace('_', '-')} {criterion.name}: its answers are labels without an order, so no end is good and there is "
            "no mean to compare with a threshold.\nJudge the label that matters with two levels (a rubric with levels 0 and 1), and "
            "gate on that; adjudge report shows the share of each label."
        )
    if criterion.direction == 0:
        raise DataError(
            f"--{rule.replace('_', '-')} {criterion.name}: it is unknown which end of its scale is good, so it cannot be "
            "compared with a threshold.\nSet `best` in the scale of the protocol and judge again."
        )
    if rule == "min" and criterion.direction < 0:
        raise DataError(
            f"--min {criterion.name}: on this scale lower is better, so a minimum would let the worst pass. Use --max {criterion.name}=X."
        )
    if rule == "max" and criterion.direction > 0:
        raise DataError(
            f"--max {criterion.name}: on this scale higher is better, so a maximum would let the worst pass. Use --min {criterion.name}=X."
        )


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
    good, worse = (
        (low >= threshold, high < threshold) if direction > 0 else (high <= threshold, low > threshold)
    )
    method = "mean of these items, all judged; failures at either end of the scale"
    ends = (low, high) if math.isfinite(low) and math.isfinite(high) else (None, None)
    exact = structs.replace(estimate, low=ends[0], high=ends[1], method=method)
    return Decision(ends[0], ends[1], float(not good), float(not worse), method), exact


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
    text = f"{count(estimate.n_failed, 'item')} failed; range of the {noun} including failures: {write(range_of_mean.low)} to {write(range_of_mean.high)}"
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
    labelled = [entry for entry in entries if entry.label is not None]
    clusters = criterion.table.groups([entry.row for entry in labelled])
    n_units = len(labelled) if clusters is None else len(set(clusters))
    decision = decision_by_interval(estimate, threshold, criterion.direction, n_units)
    if isinstance(estimate, CorrectedMean) and estimate.is_thin:
        # An interval that may be too narrow decides nothing.
        decision = None
    needed = MoreNeeded()
    if outcome_of(decision) == "open" and estimate.value is not None:
        width = 2 * _WIDTH_PER_DISTANCE * abs(estimate.value - threshold)
        needed = _more_labels(
            labels_needed(
                [entry.label for entry in entries],
                [entry.judge for entry in entries],
                width,
                criterion.table.groups([entry.row for entry in entries]),
            )
        )
    judge_estimate = criterion.estimate(scores)
    remarks = [
        f"corrected with {count(estimate.n, 'label')}; judge alone: {criterion.format(judge_estimate)}"
    ]
    return _check(criterion, rule, threshold, system, estimate, decision, needed, None, remarks)


def _more_labels(plan: Plan) -> MoreNeeded:
    """The labels, or the groups of labels, that the plan asks for beyond those that exist."""
    if plan.groups is not None:
        return MoreNeeded(max(1, plan.groups - (plan.n_groups or 0)), "labelled group")
    if plan.with_judge is not None:
        return MoreNeeded(max(1, plan.with_judge - plan.n_labels), "label")
    return MoreNeeded(why=plan.why)


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
        rule, criterion.name, system, threshold, estimate, outcome, _sentence(text, estimate, decision, needed, criterion.is_share),
        tuple(text for text in (*remarks, estimate.caution) if text), min_detectable, needed.n, needed.of,
        criterion.is_share, decision,
    )  # fmt: skip


def _sentence(
    text: str, estimate: Estimate, decision: Decision | None, needed: MoreNeeded, is_share: bool = False
) -> str:
    """The sentence of a check; for an open one with how many more observations it needs."""
    text = text[0].upper() + text[1:]
    if outcome_of(decision) != "open":
        return f"{text}."
    if estimate.low is None or estimate.high is None:
        return f"{text}. Undecided: {estimate.reason}."
    bounds = ""
    if decision is not None and decision.low is not None and decision.high is not None:
        ends = [share(end) if is_share else number(end) for end in (decision.low, decision.high)]
        bounds = f" [{', '.join(ends)}]"
    text = f"{text}. The decision bounds{bounds} contain the threshold"
    if decision is None:
        text = (
            text.removesuffix(" The decision bounds contain the threshold")
            + " Undecided: too few labels count"
        )
    if needed.n is not None and needed.n > MOST_PRACTICAL:
        return f"{text}. Deciding it would take far more {needed.of}s than is practical."
    if needed.n is None:
        return f"{text}{', and ' if needed.why else ''}{needed.why}."
    more = count(needed.n, f"more {needed.of}", f"more {needed.of}s")
    return f"{text}. About {more} would decide it with 80 % power if the estimate is right."


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
) -> Check:
    """Compare a change for the worse with what is allowed. Differences are run - baseline.

    `changes` are the single differences; none where labels have corrected the change.
    """
    _check_direction(criterion, "max_drop")
    sign = criterion.direction
    threshold = -sign * allowed
    needed, min_detectable = MoreNeeded(why="more labels would narrow it"), None
    if changes is None:
        decision = decision_by_interval(estimate, threshold, sign, estimate.n)
    else:
        values, clusters, limits = changes.values, changes.clusters, changes.limits
        decision = decision_by_values(values, clusters, limits, threshold, sign)
        min_detectable = detectable_distance(values, clusters, threshold, limits)
        is_open = outcome_of(decision) == "open"
        needed = more_needed(values, clusters, threshold, limits) if is_open else MoreNeeded()
    outcome = outcome_of(decision)
    word = "drop" if sign > 0 else "rise"
    text = f"change of {system} on {criterion.name}: {interval(estimate, is_difference=True)}, allowed {word}: {allowed:g}"
    all_remarks = list(remarks)
    if min_detectable is not None and allowed < min_detectable:
        all_remarks.append(
            f"{allowed:g} is below the smallest detectable difference of {number(min_detectable)} (80 % power), so an unchanged system "
            "often gets 'not enough evidence'"
        )
    return Check(
        "max_drop", criterion.name, system, allowed, estimate, outcome, _sentence(text, estimate, decision, needed),
        tuple(text for text in (*all_remarks, estimate.caution) if text), min_detectable, needed.n, needed.of,
        decision=decision,
    )  # fmt: skip


def unchanged_check(
    criterion: GatedCriterion, system: str, allowed: float, comparison: SystemComparison
) -> Check:
    """A check of two runs with the same calls and the same replies: nothing can have changed."""
    _check_direction(criterion, "max_drop")
    why = f"both runs have the same calls and the same replies on all {count(comparison.n_items, 'item')}, so nothing can have changed"
    text = f"No change of {system} on {criterion.name}: {why}."
    return Check("max_drop", criterion.name, system, allowed, comparison.difference, "good", text, (why,))


def failure_check(
    name: str, system: str, n_failed: int, n: int, allowed: Allowed, subject: str = ""
) -> Check:
    """Compare the number of failures with what is allowed. It is known, so no interval is needed."""
    most = allowed.most(n)
    estimate = wilson(n_failed, n)
    outcome: Outcome = "failed" if n_failed > most else "good"
    subject = subject or f"failures of {system} on {name}"
    rate = f"{share(n_failed / n)}" if n else "none"
    text = f"{subject}: {n_failed:,} of {count(n, 'item')} ({rate}), allowed: {allowed.text()}"
    if allowed.share is not None:
        text += f" ({most:,})"
    sentence = f"{text[0].upper()}{text[1:]}."
    return Check(
        "max_failed",
        name,
        system,
        allowed.share if allowed.share is not None else float(most),
        estimate,
        outcome,
        sentence,
        is_share=allowed.share is not None,
    )


def failure_checks(criterion: GatedCriterion, rules: Rules) -> list[Check]:
    """The failures of each system on one criterion."""
    return [
        failure_check(criterion.name, system, scores.n_failed, scores.n, rules.max_failed)
        for system, scores in criterion.systems.items()
    ]


# -- The verdict


FROM_STORE = "store"
"""As the value of --labels: use the labels in the store rather than a file."""


class GateInput:
    """A run with its labels, ready for checks; `for_comparison` with a baseline."""

    def __init__(
        self,
        store: Store,
        run: RunRow,
        labels: str | None,
        *,
        for_comparison: bool = True,
        about: About = "new-inputs",
    ) -> None:
        self.run = run
        is_plain = all(protocol.task == "score" for protocol in protocols_of(store, run).values())
        keeps_items = for_comparison or labels is not None or len(run.manifest["models"]) > 1 or not is_plain
        view = tabulate(store, run, keep_results=keeps_items, for_comparison=for_comparison)
        if not view.tally.items:
            raise DataError(f"{run.name} has judged nothing yet. Run it first.")
        self.n_items = n_distinct([view.tally.items])
        self.labels: Sequence[Label] = _labels(store, run, labels)
        self.view, self.note = pooled_over_models(view)
        self.tables: dict[str, GatedTable] = (
            {name: _with_items(table) for name, table in join(self.view, self.labels).items()}
            if keeps_items
            else _numbers_alone(view)
        )
        self.tables = {
            name: structs.replace(gated, table=structs.replace(gated.table, about=about))
            for name, gated in self.tables.items()
        }

    def unjudged(self) -> tuple[int, int]:
        """How many items of the run have no result yet, and how many there are."""
        planned = int(self.run.manifest["items"].get("n") or 0)
        return max(0, planned - self.n_items), max(planned, self.n_items)


def _labels(store: Store, run: RunRow, source: str | None) -> Sequence[Label]:
    if source is None:
        return ()
    if source != FROM_STORE:
        return read_labels(Path(source)).labels
    labels = store.labels(run)
    if not labels:
        raise DataError(
            f"{run.name} has no labels in {store.path}. Give a file with --labels FILE, or leave --labels out."
        )
    return labels


def verdict_of(gate_input: GateInput, rules: Rules, baseline: GateInput | None, seed: int = 0) -> Verdict:
    """Make all checks; the most severe outcome decides."""
    checks: list[Check] = []
    notes: list[str] = []
    for name, least in rules.min.items():
        checks += level_checks(find_criterion(gate_input.tables, name, rules.systems), "min", least)
    for name, most in rules.max.items():
        checks += level_checks(find_criterion(gate_input.tables, name, rules.systems), "max", most)
    if rules.max_drop and baseline is not None:
        comparison = compare_views(baseline.view, gate_input.view, seed)
        notes += _baseline_notes(comparison, gate_input, baseline)
        for name, allowed in rules.max_drop.items():
            criterion = find_criterion(gate_input.tables, name, rules.systems)
            checks += _drop_checks(criterion, allowed, comparison, baseline)
    names = rules.criteria() or list(gate_input.tables)
    for criterion in {
        gated.name: gated
        for gated in (find_criterion(gate_input.tables, name, rules.systems) for name in names)
    }.values():
        checks += failure_checks(criterion, rules)
    n_missing, n = gate_input.unjudged()
    if n_missing:
        what = f"not judged yet ({gate_input.run.name} is {gate_input.run.status}; repeat its command to resume it)"
        checks.append(failure_check("all criteria", "all systems", n_missing, n, rules.max_failed, what))
    checks = corrected_for_number(checks)
    outcome = most_severe([check.outcome for check in checks])
    views = [gate_input.view] if baseline is None else [gate_input.view, baseline.view]
    fake = dict.fromkeys(spec for view in views for spec in view.fake_models())
    notes = [
        *(fake_note(spec) for spec in fake),
        *((gate_input.note,) if gate_input.note else ()),
        *notes,
        *_label_notes(gate_input, rules, baseline),
    ]
    return Verdict(
        outcome, EXIT_CODES[outcome], gate_input.run.name, baseline.run.name if baseline is not None else None,
        tuple(checks), tuple(dict.fromkeys(notes)), bool(fake), bool(gate_input.labels),
        sum(check.decision is not None for check in checks),
    )  # fmt: skip


def _baseline_notes(comparison: Comparison, gate_input: GateInput, baseline: GateInput) -> list[str]:
    notes = list(comparison.notes)
    if gate_input.run.id == baseline.run.id and gate_input.view.name == baseline.view.name:
        notes.append("The baseline is the run itself, so nothing can have changed.")
    if comparison.judging_changes:
        changes = "; ".join(comparison.judging_changes)
        notes.append(f"The baseline was judged differently ({changes}): a change may come from that alone.")
    return notes


def _label_notes(gate_input: GateInput, rules: Rules, baseline: GateInput | None) -> list[str]:
    if not gate_input.labels:
        return []
    notes = []
    tables = {name: gated.table for name, gated in gate_input.tables.items()}
    used = {table.criterion for table in tables.values() if table.labelled()}
    names = {
        gated.table.criterion
        for gated in (find_criterion(gate_input.tables, name, rules.systems) for name in rules.criteria())
    }
    unlabelled = sorted(names - used)
    if names and not used:
        reasons = [note for table in tables.values() if table.criterion in names for note in table.notes]
        raise DataError(
            f"No label matches {', '.join(unlabelled)}, so nothing can be corrected. {' '.join(reasons)}".rstrip()
            + "\nCorrect the labels, or leave them out to let the judge's scores alone decide."
        )
    if unlabelled:
        notes.append(f"No label matches {', '.join(unlabelled)}: the judge's scores alone decide.")
    notes += [
        f"{name}: {note}"
        for name, table in tables.items()
        if table.criterion in names
        for note in table.notes
    ]
    if rules.max_drop and (baseline is None or not baseline.labels):
        notes.append(
            "The judge's scores alone decide on a change. To correct it with labels, give labels of the baseline (--baseline-labels)."
        )
    return notes


def _drop_checks(
    criterion: GatedCriterion, allowed: float, comparison: Comparison, baseline: GateInput
) -> list[Check]:
    """The change of each system, on the items of both runs."""
    if criterion.table.kind == "choices":
        raise DataError(
            f"--max-drop {criterion.name}: it is decided by choices. Compare its win rate with a threshold instead: "
            f"--min {criterion.name}=50% --system NAME"
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
            f"--max-drop {criterion.name}: its scale in {baseline.run.name} is different, so a drop in points has no "
            "meaning. Judge the baseline with the same protocol."
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
    checks = [
        _drop_check(criterion, name, allowed, system_comparison, baseline_table, is_labelled)
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
    baseline_table: LabelledTable,
    is_labelled: bool,
) -> Check:
    """The change of one system."""
    if comparison.is_same and comparison.difference.value is not None:
        return unchanged_check(criterion, name, allowed, comparison)
    before = {(row.item, row.subject): row for row in baseline_table.rows}
    rows = [
        row
        for row in criterion.table.rows
        if row.system == comparison.system_second and (row.item, row.subject) in before
    ]
    rows = [row for row in rows if before[row.item, row.subject].system == comparison.system_first]
    differences = [
        (row, after - answer_before)
        for row in rows
        if (after := number_or_none(row.answer)) is not None
        and (answer_before := number_or_none(before[row.item, row.subject].answer)) is not None
    ]
    if not is_labelled:
        if criterion.table.about == "these-items":
            raise DataError(
                "--about these-items with --max-drop needs labels of both runs: --labels FILE --baseline-labels FILE. "
                "Without labels, adjudge compare RUN_A RUN_B --about these-items shows the differences."
            )
        changes = _changes(criterion, differences)
        return drop_check(criterion, name, allowed, comparison.difference, changes, _range_remark(comparison))
    rows_before = [before[row.item, row.subject] for row in rows]
    corrected_difference = ppi_difference(
        [number_or_none(row.label) for row in rows], [number_or_none(row.answer) for row in rows],
        [number_or_none(row.label) for row in rows_before], [number_or_none(row.answer) for row in rows_before],
        clusters=criterion.table.groups(rows),
        probabilities=_both_drawn(rows, rows_before),
        is_finite=criterion.table.about == "these-items",
    )  # fmt: skip
    return drop_check(
        criterion,
        name,
        allowed,
        corrected_difference.corrected,
        None,
        ["corrected with the labels of both runs"],
    )


def _both_drawn(
    rows: Sequence[LabelledItem], rows_before: Sequence[LabelledItem]
) -> tuple[list[float | None], list[float | None]] | None:
    """The probabilities with which the labelled items of both runs were drawn; none where they do not differ."""
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
    """The single differences. An item can become as bad as the scale allows, from where the baseline's items are."""
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
        f"{n} of {comparison.n_items} items failed in one run or both; range of the change including failures: {comparison.bounds.low:.2f} to {comparison.bounds.high:.2f}"
    ]


# -- An audit


def audit_verdict(view: RunView, rules: Rules) -> Verdict:
    """The probes of an audit compared with thresholds: shifts of probes that must not move the score, and injections."""
    if not view.is_audit:
        raise DataError(
            f"{view.name} is no audit: it has no probes. Make one with adjudge audit ITEMS -p … -m …"
        )
    audit = audit_view(view)
    checks: list[Check] = []
    for judge, audited in audit.judges.items():
        for name, part in audited.criteria.items():
            named = name if len(audit.judges) == 1 else f"{judge}: {name}"
            for probe, result in part.probes.items():
                if result.kind != "must_move":
                    checks.append(_probe_check(named, probe, result, part, rules))
                    checks.append(
                        failure_check(named, probe, result.failed, result.n + result.failed, rules.max_failed)
                    )
    checks = corrected_for_number(checks)
    outcome = most_severe([check.outcome for check in checks])
    return Verdict(
        outcome, EXIT_CODES[outcome], view.name, None, tuple(checks), audit.notes, bool(view.fake_models()), False,
        sum(check.decision is not None for check in checks),
    )  # fmt: skip


def _probe_check(name: str, probe: str, result: ProbeResult, part: AuditedCriterion, rules: Rules) -> Check:
    """Good where the whole interval is within the threshold, worse where it is beyond it."""
    if result.kind == "injection" and result.success is not None:
        rule: Rule = "max_injection"
        threshold = MARGIN_SHARE if rules.max_injection is None else rules.max_injection
        size, what = result.success, "success"
    else:
        rule, threshold, what = (
            "max_shift",
            part.margin if rules.max_shift is None else rules.max_shift,
            "shift",
        )
        size = _magnitude(result.shift)
    decision = decision_by_interval(size, threshold, -1, size.n)
    outcome = outcome_of(decision)
    is_share = rule == "max_injection"
    shown = percent(size) if is_share else interval(result.shift, is_difference=True)
    most = share(threshold) if is_share else number(threshold)
    verb = {"good": "is within", "worse": "is beyond", "open": "may be beyond", "failed": "is beyond"}[
        outcome
    ]
    return Check(
        rule, name, probe, threshold, result.success if is_share and result.success is not None else result.shift, outcome,
        f"{name}, probe {probe}: the {what} {shown} {verb} {most}.", is_share=is_share, decision=decision,
    )  # fmt: skip


def _magnitude(shift: Estimate) -> Estimate:
    """The estimate with its sign turned where it is negative."""
    if shift.value is None or shift.value >= 0 or shift.low is None or shift.high is None:
        return shift
    return structs.replace(shift, value=-shift.value, low=-shift.high, high=-shift.low)

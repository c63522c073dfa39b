"""The release gate: compares a stored run with thresholds and with a baseline, and decides by the
intervals."""

from __future__ import annotations

from ...errors import DataError
from ...words import count
from ..about import about_note
from ..cascade.words import decided_text
from ..compare.compare import compare_views
from ..compare.comparison import Comparison
from ..labels.unusable_labels import unknown_criteria_note
from ..run_view.run_view import fake_note
from .check import Check
from .drop_check import drop_checks
from .failure_check import failure_check, failure_checks
from .gate_input import GateInput
from .gate_report import GateReport, corrected_for_number
from .gated_criterion import find_criterion
from .level_check import level_checks
from .outcome import EXIT_CODES, most_severe
from .rules import Rules


def decided_gate(
    gate_input: GateInput, rules: Rules, baseline: GateInput | None, seed: int = 0
) -> GateReport:
    """Make all checks; the most severe outcome decides."""
    checks: list[Check] = []
    notes: list[str] = []
    for name, least in rules.min.items():
        checks += level_checks(find_criterion(gate_input.tables, name, rules.system), "min", least)
    for name, most in rules.max.items():
        checks += level_checks(find_criterion(gate_input.tables, name, rules.system), "max", most)
    if rules.max_drop and baseline is not None:
        comparison = compare_views(baseline.view, gate_input.view, seed, matched=baseline.matched)
        notes += _baseline_notes(comparison, gate_input, baseline)
        for name, allowed in rules.max_drop.items():
            criterion = find_criterion(gate_input.tables, name, rules.system)
            checks += drop_checks(criterion, allowed, comparison, baseline)
    names = rules.criteria() or list(gate_input.tables)
    for criterion in {
        gated.name: gated
        for gated in (find_criterion(gate_input.tables, name, rules.system) for name in names)
    }.values():
        checks += failure_checks(criterion, rules)
    n_missing, n = gate_input.unjudged()
    if n_missing:
        what = (
            f"not judged yet ({gate_input.run.name} is {gate_input.run.status}; repeat its command to "
            "resume it)"
        )
        checks.append(failure_check("all criteria", "all systems", n_missing, n, rules.max_failed, what))
    checks = corrected_for_number(checks)
    outcome = most_severe([check.outcome for check in checks])
    views = [gate_input.view] if baseline is None else [gate_input.view, baseline.view]
    fake = dict.fromkeys(spec for view in views for spec in view.fake_models())
    notes = [
        *(fake_note(spec) for spec in fake),
        *(text for view in views for text in view.facts.ends),
        *(decided_text(view.facts.cascade) for view in views if view.facts.cascade),
        *((gate_input.note,) if gate_input.note else ()),
        *((about_note("Means and changes"),) if gate_input.about == "these-items" else ()),
        *notes,
        *_label_notes(gate_input, rules, baseline),
    ]
    return GateReport(
        outcome,
        EXIT_CODES[outcome],
        gate_input.run.name,
        baseline.run.name if baseline is not None else None,
        tuple(checks),
        tuple(dict.fromkeys(notes)),
        bool(fake),
        bool(gate_input.labels),
        sum(check.decision is not None for check in checks),
    )


def _baseline_notes(comparison: Comparison, gate_input: GateInput, baseline: GateInput) -> list[str]:
    notes = list(comparison.notes)
    ours, theirs = ((one.run.identity, one.run.started, one.view.name) for one in (gate_input, baseline))
    if ours == theirs:
        notes.append("The baseline is the run itself, so nothing can have changed.")
    if comparison.judging_changes:
        changes = "; ".join(comparison.judging_changes)
        notes.append(f"The baseline was judged differently ({changes}): a change may come from that alone.")
    return notes


def _label_notes(gate_input: GateInput, rules: Rules, baseline: GateInput | None) -> list[str]:
    notes = [note for note in (gate_input.labels_note, baseline.labels_note if baseline else "") if note]
    if not gate_input.labels and gate_input.labels_note:
        raise DataError(f"{gate_input.labels_note}\nLabel the texts of this run, or leave --labels out.")
    if gate_input.n_unused_labels:
        stored = count(gate_input.n_unused_labels, "label")
        notes.append(
            f"The judge's scores alone decide. The store has {stored} of this run: --labels store decides on "
            "means corrected with them."
        )
    if not gate_input.labels:
        return notes
    tables = {name: gated.table for name, gated in gate_input.tables.items()}
    used = {table.criterion for table in tables.values() if table.labelled()}
    names = {
        gated.table.criterion
        for gated in (find_criterion(gate_input.tables, name, rules.system) for name in rules.criteria())
    }
    unlabelled = sorted(names - used)
    unknown = unknown_criteria_note(gate_input.labels, {table.criterion for table in tables.values()})
    if names and not used:
        reasons = [unknown] if unknown else []
        reasons += [note for table in tables.values() if table.criterion in names for note in table.notes]
        raise DataError(
            (
                f"No label matches {', '.join(unlabelled)}, so nothing can be corrected. {' '.join(reasons)}"
            ).rstrip()
            + "\nCorrect the labels, or leave them out to let the judge's scores alone decide."
        )
    if unknown:
        notes.append(unknown)
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
            "The judge's scores alone decide on a change. To correct it with labels, give labels of "
            "the baseline (--baseline-labels)."
        )
    return notes

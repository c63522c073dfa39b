"""The gate of an audit: probes and injections against their thresholds."""

from __future__ import annotations

from msgspec import structs

from ...errors import DataError
from ...records import Estimate
from ...words import interval, number, percent, share
from ..audit.audit import AuditedCriterion, ProbeResult
from ..audit.of_runs import audit_view
from ..audit.probe_effect import MARGIN_SHARE
from ..run_view.run_view import RunView
from .check import Check, Rule
from .decision import decision_by_interval
from .failure_check import failure_check
from .gate_report import GateReport, corrected_for_number
from .not_enough_evidence import outcome_of
from .outcome import EXIT_CODES, most_severe
from .rules import Rules


def audit_gate(view: RunView, rules: Rules) -> GateReport:
    """The probes of an audit compared with thresholds: shifts
    of probes that must not move the score, and injections.
    """
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
    return GateReport(
        outcome,
        EXIT_CODES[outcome],
        view.name,
        None,
        tuple(checks),
        audit.notes,
        bool(view.fake_models()),
        False,
        sum(check.decision is not None for check in checks),
    )


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
        rule,
        name,
        probe,
        threshold,
        result.success if is_share and result.success is not None else result.shift,
        outcome,
        f"{name}, probe {probe}: the {what} {shown} {verb} {most}.",
        is_share=is_share,
        decision=decision,
    )


def _magnitude(shift: Estimate) -> Estimate:
    """The estimate with its sign turned where it is negative."""
    if shift.value is None or shift.value >= 0 or shift.low is None or shift.high is None:
        return shift
    return structs.replace(shift, value=-shift.value, low=-shift.high, high=-shift.low)

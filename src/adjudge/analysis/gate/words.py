"""The outcome of a gate as sections of text and tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ...sections import Section, how_to_read, notices
from ...words import NO_VALUE, interval, number, percent, share, signed
from .check import Check
from .gate_report import GateReport
from .outcome import WORDS

MEANING = (
    "Confidence bounds are one-sided 97.5 % bounds of the mean that also hold near the ends "
    "of the scale. A check passes if both are on the good side of the threshold, fails if both are "
    "on the bad side, and otherwise there is not enough evidence. The 95 % CI is the one that report "
    "prints. If both runs have the same calls and the same replies, nothing can have changed, and "
    "the check passes without bounds. Detectable: the smallest distance from the threshold that "
    "this many items detect with 80 % power. The most severe result decides: a judge that failed too "
    "often, then fail, then not enough evidence."
)


def gate_sections(report: GateReport, *, is_accepted: bool = False) -> Iterator[Section]:
    """The outcome, each check in a sentence, then all in a table. `is_accepted`: the command ends with 0 all
    the same."""
    yield Section(
        gate_title(report, is_accepted=is_accepted),
        (*check_sentences(report), *next_steps(report)),
        depth=1,
        notices=notices(report.notes),
        notes=tuple(remark_lines(report)),
    )
    columns = (
        "check",
        "criterion",
        "system",
        "threshold",
        "estimate [95 % CI]",
        "confidence bounds",
        "n",
        "failed",
        "detectable",
        "outcome",
    )
    yield Section("Checks", (), columns, tuple(_row(check) for check in report.checks))
    yield how_to_read(MEANING, *_methods(report))


def gate_title(report: GateReport, *, is_accepted: bool) -> str:
    """The run, its decision and the exit code."""
    fake = " [fake]" if report.is_fake else ""
    baseline = f" compared with {report.baseline}" if report.baseline is not None else ""
    code = "exit 0, accepted" if is_accepted else f"exit {report.exit_code}"
    return f"Gate of {report.run}{baseline}: {WORDS[report.outcome]} ({code}){fake}"


def _methods(report: GateReport) -> Iterator[str]:
    """How the bounds were computed, and what was done about the number of checks."""
    methods = dict.fromkeys(check.decision.method for check in report.checks if check.decision is not None)
    if methods:
        yield f"Confidence bounds: {'; '.join(methods)}."
    if report.n_decisions > 1:
        yield (
            f"Fail is corrected for {report.n_decisions} checks (Holm): if no system is below its "
            "threshold, any check fails with a probability of at most 5 %. Pass needs no "
            "correction, because every check must pass."
        )


def check_sentences(report: GateReport) -> Iterator[str]:
    """The checks that do not pass, the most severe first; or that all pass."""
    not_good = [check for check in report.checks if check.outcome != "good"]
    if not not_good:
        n = len(report.checks)
        yield {1: "The check passes.", 2: "Both checks pass."}.get(n, f"All {n} checks pass.")
    for outcome in ("failed", "worse", "open"):
        for check in not_good:
            if check.outcome == outcome:
                yield f"{WORDS[check.outcome]}: {check.text}"


def next_steps(report: GateReport) -> Iterator[str]:
    """What to do where the judge failed too often, and how to leave out a system that need not pass."""
    if report.outcome == "failed":
        yield (
            f"Next: read what failed: adjudge runs show {report.run} --failed. Where so many failures are "
            "acceptable: --max-failed 20% (a share or a number of your own)."
        )
    by_system: dict[str, bool] = {}
    for check in report.checks:
        if check.decision is not None:
            by_system[check.system] = by_system.get(check.system, False) or check.outcome == "worse"
    others = [system for system, is_worse in by_system.items() if not is_worse]
    if others and len(others) < len(by_system):
        yield f"Every system has to pass. To decide on {others[0]} alone: --system {shlex.quote(others[0])}."


def remark_lines(report: GateReport) -> Iterator[str]:
    """What limits a check, with the check that it belongs to."""
    for check in report.checks:
        for remark in check.remarks:
            yield f"{check.rule.replace('_', '-')} {check.criterion} [{check.system}]: {remark}."


def _row(check: Check) -> tuple[str, ...]:
    is_failure = check.rule == "max_failed"
    estimate = (
        percent(check.estimate)
        if is_failure or check.is_share
        else interval(check.estimate, is_difference=check.rule in ("max_drop", "max_shift"))
    )
    write = share if check.is_share else number
    return (
        check.rule.replace("_", "-"),
        check.criterion,
        check.system,
        check.allowed,
        estimate,
        _bounds(check),
        str(check.estimate.n),
        str(check.n_failed),
        NO_VALUE if check.minimum_detectable is None else f"± {write(check.minimum_detectable)}",
        WORDS[check.outcome],
    )


def _bounds(check: Check) -> str:
    decision = check.decision
    if decision is None or decision.low is None or decision.high is None:
        return NO_VALUE
    write = share if check.is_share else signed if check.rule == "max_drop" else number
    return f"{write(decision.low)} to {write(decision.high)}"

"""The verdict of a gate as sections of text and tables."""

from __future__ import annotations

from collections.abc import Iterator

from ...sections import Section, notices
from ...words import NO_VALUE, interval, number, percent, share, signed
from .check import Check
from .outcome import WORDS
from .verdict import Verdict

MEANING = (
    "Decision bounds are one-sided 97.5 % confidence bounds of the mean that also hold near the ends "
    "of the scale. A check passes if both are on the good side of the threshold, fails if both are "
    "on the bad side, and otherwise there is not enough evidence. The 95 % CI is the one that report "
    "prints. If both runs have the same calls and the same replies, nothing can have changed, and "
    "the check passes without bounds. Detectable: the smallest distance from the threshold that "
    "this many items detect with 80 % power. The most severe result decides: a judge that failed too "
    "often, then fail, then not enough evidence."
)


def gate_sections(verdict: Verdict) -> Iterator[Section]:
    """The verdict, each check in a sentence, then all in a table."""
    fake = " [fake]" if verdict.is_fake else ""
    baseline = f" compared with {verdict.baseline}" if verdict.baseline is not None else ""
    title = f"Gate of {verdict.run}{baseline}: {WORDS[verdict.outcome]} (exit {verdict.exit_code}){fake}"
    yield Section(
        title,
        tuple(_sentences(verdict)),
        depth=1,
        notices=notices(verdict.notes),
        notes=tuple(_remarks(verdict)),
    )
    columns = (
        "check",
        "criterion",
        "system",
        "threshold",
        "estimate [95 % CI]",
        "decision bounds",
        "n",
        "failed",
        "detectable",
        "outcome",
    )
    yield Section("Checks", (), columns, tuple(_row(check) for check in verdict.checks))
    yield Section("How to read this", (MEANING, *_methods(verdict)))


def _methods(verdict: Verdict) -> Iterator[str]:
    """How the bounds were computed, and what was done about the number of checks."""
    methods = dict.fromkeys(check.decision.method for check in verdict.checks if check.decision is not None)
    if methods:
        yield f"Decision bounds: {'; '.join(methods)}."
    if verdict.n_decisions > 1:
        yield (
            f"Fail is corrected for {verdict.n_decisions} checks (Holm): if no system is below its "
            "threshold, any check fails with a probability of at most 5 %. Pass needs no "
            "correction, because every check must pass."
        )


def _sentences(verdict: Verdict) -> Iterator[str]:
    """The checks that do not pass, the most severe first; or that all pass."""
    not_good = [check for check in verdict.checks if check.outcome != "good"]
    if not not_good:
        n = len(verdict.checks)
        yield {1: "The check passes.", 2: "Both checks pass."}.get(n, f"All {n} checks pass.")
    for outcome in ("failed", "worse", "open"):
        for check in not_good:
            if check.outcome == outcome:
                yield f"{WORDS[check.outcome]}: {check.text}"


def _remarks(verdict: Verdict) -> Iterator[str]:
    for check in verdict.checks:
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
        check.asked,
        estimate,
        _bounds(check),
        str(check.estimate.n),
        str(check.estimate.n_failed)
        if not is_failure
        else str(round((check.estimate.value or 0.0) * check.estimate.n)),
        NO_VALUE if check.minimum_detectable is None else f"± {write(check.minimum_detectable)}",
        WORDS[check.outcome],
    )


def _bounds(check: Check) -> str:
    decision = check.decision
    if decision is None or decision.low is None or decision.high is None:
        return NO_VALUE
    write = share if check.is_share else signed if check.rule == "max_drop" else number
    return f"{write(decision.low)} to {write(decision.high)}"

"""The first screen of a gate: the decision, the checks that made it, and what limits them.

At most thirty lines at 80 columns; `--full` prints every check with its bounds and method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...sections import Section
from ...words import count, interval, listed, percent
from ..trust.words.first_screen import short_system, warning_section
from .check import Check
from .gate_report import GateReport
from .outcome import SEVERITY, WORDS
from .words import check_sentences, gate_title, next_steps, remark_lines

_MOST_SENTENCES = 3
"""Of checks that do not pass, and of remarks."""


_BOUNDS: dict[str, str] = {
    "min": "≥ {}",
    "max": "≤ {}",
    "max_drop": "drop ≤ {}",
    "max_failed": "failed ≤ {}",
    "max_shift": "shift ≤ {}",
    "max_injection": "injections ≤ {}",
}
"""What a check requires, as the cell of a table."""


def gate_screen(report: GateReport, most_rows: int, *, is_accepted: bool = False) -> tuple[Section, ...]:
    """The decision in short; no table has more than `most_rows` rows. `is_accepted`: the command ends with 0
    all the same."""
    said = list(check_sentences(report))
    # Where the rows alone do not make it fit, the sentences do.
    most = _MOST_SENTENCES if most_rows > 2 else 1
    lines = said[:most]
    if len(said) > len(lines):
        lines.append(f"{count(len(said) - len(lines), 'more check does', 'more checks do')} not pass.")
    remarks = list(remark_lines(report))
    notes = remarks[:most]
    if len(remarks) > len(notes):
        notes.append(f"{count(len(remarks) - len(notes), 'more remark')}: --full.")
    columns, rows = _table(report.checks, most_rows)
    return (
        Section(
            gate_title(report, is_accepted=is_accepted),
            (*lines, *next_steps(report), *_failures(report.checks)),
            columns,
            rows,
            depth=1,
            notes=tuple(notes),
        ),
        warning_section(
            report.notes,
            "Every check with its confidence bounds and method: --full. All numbers: --json.",
        ),
    )


def _failures(checks: Sequence[Check]) -> Iterator[str]:
    """The checks of failures that pass, in one sentence; the table has the others."""
    passed = [check for check in checks if _is_passed_failure(check)]
    if len(passed) == len(checks) or not passed:
        return
    allowed = listed(list(dict.fromkeys(check.allowed for check in passed)), 2)
    n_most = max(check.n_failed for check in passed)
    found = "none" if not n_most else f"at most {n_most:,} of a system"
    yield f"Failed judgments: {found}; allowed: {allowed} of each system and criterion."


def _is_passed_failure(check: Check) -> bool:
    return check.rule == "max_failed" and check.outcome == "good"


def _table(checks: Sequence[Check], most: int) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The checks, the most severe first; without those of failures that pass, unless there are no others."""
    shown = [check for check in checks if not _is_passed_failure(check)] or list(checks)
    shown.sort(key=lambda check: SEVERITY.index(check.outcome))
    has_criteria = len({check.criterion for check in shown}) > 1
    columns = ("system", "criterion", "required", "estimate [95 % CI]", "n", "failed", "outcome")
    rows = [_row(check, has_criteria=has_criteria) for check in shown[:most]]
    if len(shown) > most:
        rows.append((f"and {len(shown) - most} more", *[""] * (len(columns) - 1)))
    return columns, tuple(rows)


def _row(check: Check, *, has_criteria: bool) -> tuple[str, ...]:
    is_share = check.rule == "max_failed" or check.is_share
    estimate = (
        percent(check.estimate)
        if is_share
        else interval(check.estimate, is_difference=check.rule in ("max_drop", "max_shift"))
    )
    return (
        short_system(check.system),
        short_system(check.criterion) if has_criteria else "",
        _BOUNDS[check.rule].format(check.allowed),
        estimate,
        f"{check.estimate.n:,}",
        f"{check.n_failed:,}",
        WORDS[check.outcome],
    )

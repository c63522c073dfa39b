"""The table of the forms of a question: what each changes, beside the re-run, and its calibration error."""

from __future__ import annotations

from ...probes import FORM, REPEAT, UNCHANGED
from ...records import Estimate
from ...sections import Axis, Column, Section, Value
from ...words import NO_VALUE, interval_cell, percent
from .audit import AuditedCriterion, ProbeResult
from .verdict_words import verdict_text

_USUAL, _AGAIN = "as in a run", "as in a run, again"


def form_table(of: str, part: AuditedCriterion) -> Section | None:
    """The forms of the question on one criterion; none where the audit has none."""
    forms = {
        name.removeprefix(f"{FORM}/"): probe
        for name, probe in part.probes.items()
        if name.startswith(f"{FORM}/")
    }
    if not forms:
        return None
    has_labels = bool(part.calibration)
    columns: list[str | Column] = ["form", Column("shift [95 % CI]", axis=Axis(reference=0.0)), "changed"]
    if has_labels:
        columns.append(Column("calibration error [95 % CI]", axis=Axis(0.0, 1.0)))
    columns.append("verdict")
    rows: list[tuple[Value, ...]] = [(_USUAL, NO_VALUE, NO_VALUE, *_error(part, UNCHANGED), "")]
    if part.noise is not None:
        shift = interval_cell(part.noise, is_difference=True)
        rows.append((_AGAIN, shift, _changed(_rerun(part)), *_error(part, REPEAT), ""))
    rows += [_row(name, probe, part) for name, probe in forms.items()]
    note = (
        "Shift: mean difference from the form of the run; of reversed options from the choice, where there "
        "is one. Changed: share of items with another score."
    )
    if has_labels:
        note += (
            " Calibration error: of the probability that the label lies above the middle of the scale (of a "
            "pair: that people prefer response a)."
        )
    title = f"Forms of the question: {of}"
    return Section(title, (), tuple(columns), tuple(rows), notes=(note,)).filled()


def _row(name: str, probe: ProbeResult, part: AuditedCriterion) -> tuple[Value, ...]:
    return (
        name,
        interval_cell(probe.shift, is_difference=True),
        _changed(probe.flips),
        *_error(part, f"{FORM}/{name}"),
        verdict_text(probe, part.margin),
    )


def _changed(share: Estimate | None) -> str:
    return NO_VALUE if share is None else percent(share)


def _rerun(part: AuditedCriterion) -> Estimate | None:
    return next((probe.floor for probe in part.probes.values() if probe.floor is not None), part.rerun)


def _error(part: AuditedCriterion, probe: str) -> tuple[Value, ...]:
    if not part.calibration:
        return ()
    error = part.calibration.get(probe)
    if error is None or error.value is None:
        return (NO_VALUE if error is None else f"– ({error.reason})",)
    return (interval_cell(error),)

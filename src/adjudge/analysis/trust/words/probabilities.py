"""The words of a judge's probabilities: calibration, Brier score, ranking, and the error at a coverage."""

from __future__ import annotations

from collections.abc import Iterator

from ....records import Estimate
from ....sections import Axis, Column, Section, Value
from ....stats import Probabilities
from ....words import interval, interval_cell, number


def probability_line(quality: Probabilities) -> str:
    """The answer in one sentence: can the probabilities be believed."""
    error = quality.error
    if error.value is None or error.low is None:
        return f"Probabilities: not checked ({error.reason})"
    if error.low > 0:
        return f"The judge's probabilities are off: calibration error {interval(error)}"
    return f"No miscalibration of the judge's probabilities is shown: calibration error {interval(error)}"


def probability_sections(quality: Probabilities) -> Iterator[Section]:
    """Tables of how far a judge's probabilities can be believed; none with too few labels."""
    if quality.error.value is None:
        return
    names = {
        "calibration error": quality.error,
        "Brier score": quality.brier,
        "… part due to miscalibration": quality.calibration,
        "… part due to poor separation": quality.refinement,
        "AUROC": quality.auroc,
        **{f"error at coverage {risk.coverage:g}": risk.risk for risk in quality.risk},
    }
    columns = ("estimate", "value [95 % CI]", "n", "unit", "remark")
    notes = [
        "Calibration error: root mean square distance between probability and share of outcomes, in "
        "bins with equally many items, without what chance adds. Error at coverage c: the share of "
        "wrong answers among the most certain items."
    ]
    if quality.plain is not None and quality.by_chance is not None:
        notes.append(
            f"Without the correction for chance the calibration error is {number(quality.plain)}; "
            f"perfectly calibrated probabilities would show {number(quality.by_chance)} with as many "
            "labels."
        )
    rows = tuple(_row(name, estimate) for name, estimate in names.items())
    yield Section(
        "Probabilities", (probability_line(quality),), columns, rows, 3, notes=tuple(notes), is_detail=True
    )
    if quality.bins:
        heads = ("mean probability", Column("share of outcomes [95 % CI]", Axis(0.0, 1.0)), "items")
        bins = tuple(
            (
                number(part.probability),
                interval_cell(Estimate(part.share, part.low, part.high, part.n)),
                str(part.n),
            )
            for part in quality.bins
        )
        yield Section("Reliability diagram", (), heads, bins, 3, is_detail=True)


def _row(name: str, estimate: Estimate) -> tuple[Value, ...]:
    remark = "; ".join(text for text in (estimate.reason, estimate.caution) if text)
    return name, interval_cell(estimate), str(estimate.n), estimate.unit, remark

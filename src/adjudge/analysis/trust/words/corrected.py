"""The tables of corrected means and differences, of calibration, and of the labels that are needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from ....records import Scale
from ....sections import Axis, Column, Section
from ....stats.ppi_difference import LABELLED
from ....words import NO_VALUE, count, interval, interval_cell, number
from ..card import CorrectedMean, CriterionCard
from .estimate_rows import estimate_row
from .plan import plan_section
from .probabilities import probability_sections

NO_DIFFERENCES = "Not computed: no system has a corrected mean."


def simultaneity(card: CriterionCard) -> Iterator[str]:
    """For how many pairs of systems the intervals of differences hold together."""
    n_pairs = math.comb(len(card.corrected), 2)
    if n_pairs > 1:
        shown = len(card.differences)
        part = (
            ""
            if shown == n_pairs
            else f" Shown: {shown} of them, with the best system or between neighbours."
        )
        yield f"The intervals hold for all {n_pairs} pairs of systems together (Bonferroni).{part}"


def more_sections(card: CriterionCard) -> Iterator[Section]:
    """Parts that only some cards have: pass rates, calibration, a plan."""
    columns = ("estimate", "value [95 % CI]", "n", "failed", "excluded", "unit", "remark")
    rows = [
        estimate_row((f"pass rate of {name} (Rogan-Gladen)",), estimate)
        for name, estimate in card.pass_share.items()
    ]
    names = {
        "before": "mean absolute error, uncalibrated",
        "after": "… isotonic calibration (held-out items)",
        "ordinal": "… ordinal calibration (held-out items)",
        "error_before": "calibration error, uncalibrated",
        "error_after": "… isotonic calibration (held-out items)",
        "error_ordinal": "… ordinal calibration (held-out items)",
    }
    rows += [
        estimate_row((label,), card.calibration[name])
        for name, label in names.items()
        if name in card.calibration
    ]
    if rows:
        yield Section("Calibration", (), columns, tuple(rows), 3, is_detail=True)
    if card.probabilities is not None:
        yield from probability_sections(card.probabilities)
    if card.plan:
        yield plan_section(card)


def corrected_section(
    title: str, means: Mapping[str, CorrectedMean], scale: Scale | None, count_of: str = "labels"
) -> Section:
    """Each mean corrected, by the judge alone and by labels alone, with its effective number of labels."""
    axis = Axis() if scale is None else Axis(scale.low, scale.high)
    columns = (
        "system",
        Column("corrected [95 % CI]", axis),
        "before review",
        "judge alone",
        Column("labels alone", is_minor=True),
        "judge − people",
        count_of,
        "failed",
        Column("effective labels", is_minor=True),
        Column("unit", is_minor=True),
        "remark",
    )
    rows = tuple(
        (
            name,
            interval_cell(mean, beside=mean.judge_only),
            "" if mean.as_labelled is None else number(mean.as_labelled),
            interval(mean.judge_only),
            interval(mean.labels_only),
            interval(mean.bias),
            str(mean.n),
            str(mean.n_failed),
            _effective_labels(mean),
            mean.unit or NO_VALUE,
            mean.reason or ("" if count_of == "labels" else mean.caution),
        )
        for name, mean in means.items()
    )
    lines = () if rows else ("No judged item has a label.",)
    if any(mean.unit == LABELLED for mean in means.values()):
        lines = ("A labelled input counts once, even if the outputs of both systems are labelled.",)
    return Section(title, lines, columns if rows else (), rows, 3)


def _effective_labels(mean: CorrectedMean) -> str:
    if mean.effective_labels is None:
        return NO_VALUE
    noun, nouns = ("input", "inputs") if mean.unit == LABELLED else ("label", "labels")
    return count(round(mean.effective_labels), noun, nouns)

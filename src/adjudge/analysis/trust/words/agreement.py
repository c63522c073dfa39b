"""The tables of agreement: of judge and people, of the raters, and in parts of the items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ....records import Estimate
from ....sections import Axis, Column, DrawnInterval, Section, Value
from ....stats import PartAgreement
from ....words import NO_VALUE, interval, interval_cell
from ..card import CriterionCard
from .baseline import baseline_lines
from .estimate_rows import COUNTS, estimate_row
from .sentences import main_statistic

_NAMES = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
    "exact": "exact agreement",
    "decided": "exact agreement, without ties",
    "both_orders": "exact agreement, order conflicts wrong",
    "kappa": "quadratic kappa",
    "alpha": "Krippendorff alpha",
    "gwet": "Gwet AC2",
    "soft_pairwise": "soft pairwise accuracy",
}


def agreement_section(card: CriterionCard) -> Section:
    rows = [
        estimate_row((level, statistic_name(name, card)), estimate)
        for level, statistics in (("item", card.item), ("group", card.group), ("system", card.system))
        for name, estimate in statistics.items()
    ]
    if card.pairwise is not None:
        where = "group" if card.group["pearson"].unit.startswith("group") else "item"
        rows.append(estimate_row((where, "pairwise accuracy"), card.pairwise.plain))
        rows.append(estimate_row((where, "… with tie calibration"), card.pairwise.held_out))
    columns = ("level", "statistic", _agreement_column(rows), *COUNTS)
    return Section("Agreement with people", tuple(baseline_lines(card)), columns, tuple(rows), 3)


def _agreement_column(rows: Iterable[Sequence[Value]]) -> Column:
    """The axis ends at 1, and begins at 0 unless a value is below."""
    marks = [
        mark for row in rows for value in row if isinstance(value, DrawnInterval) for mark in value.marks
    ]
    is_below = any((end or 0.0) < 0 for mark in marks for end in (mark.value, mark.low))
    return Column("value [95 % CI]", Axis(-1.0 if is_below else 0.0, 1.0, 0.0))


def statistic_name(statistic: str, card: CriterionCard) -> str:
    """Choices have no distances, so their kappa is Cohen's."""
    return "Cohen kappa" if statistic == "kappa" and card.kind == "choices" else _NAMES[statistic]


def rater_sections(card: CriterionCard) -> Iterator[Section]:
    top = card.ceiling
    if top is not None:
        rows = [estimate_row(("human rater with other raters",), top)]
        rows.append(estimate_row(("judge with the same raters",), top.judge))
        rows.append(estimate_row(("judge / human rater",), top.share))
        if top.alpha is not None:
            rows.append(estimate_row(("Krippendorff alpha of the raters",), top.alpha))
        if isinstance(top.fleiss, Estimate):
            rows.append(estimate_row(("Fleiss kappa of the raters",), top.fleiss))
        if top.corrected is not None:
            rows.append(estimate_row(("judge with mean rating, disattenuated",), top.corrected))
        how = (
            "Spearman: each rater in turn is left out, and this rater and the judge are compared "
            "with the mean of the others."
            if card.kind == "scores"
            else (
                f"The share of {'items' if card.is_nominal else 'pairs'} on which two raters, or the "
                "judge and a rater, make the same choice."
            )
        )
        columns = ("estimate", _agreement_column(rows), *COUNTS)
        yield Section("Inter-rater agreement", (how,), columns, tuple(rows), 3)
    if card.severity:
        yield _severity(card)


_BASES = {
    "same items": "other raters on the same items",
    "judge": "other raters, through the judge's scores (no common items)",
}


def _severity(card: CriterionCard) -> Section:
    rows = tuple(
        (
            rater,
            interval_cell(severity.difference),
            _BASES[severity.basis],
            str(severity.difference.n),
            "; ".join(
                text
                for text in (
                    "large" if severity.is_large else "",
                    severity.difference.reason,
                    severity.difference.caution,
                )
                if text
            ),
        )
        for rater, severity in card.severity.items()
    )
    columns = ("rater", Column("difference [95 % CI]", Axis(reference=0.0)), "compared with", "n", "remark")
    how = "How much higher a rater scores than the others; the intervals hold for all raters together."
    return Section("Rater severity", (how,), columns, rows, 3, is_detail=True)


def agreement_by_sections(field: str, parts: Mapping[str, PartAgreement], card: CriterionCard) -> Section:
    statistic = main_statistic(card)
    rows = tuple(
        (
            part,
            interval_cell(own.agreement),
            "" if own.bias is None else interval(own.bias),
            str(own.agreement.n),
            own.agreement.unit or NO_VALUE,
            "; ".join(text for text in (own.agreement.reason, own.agreement.caution) if text),
        )
        for part, own in parts.items()
    )
    name = "length of the response (characters)" if field == "length" and card.kind == "scores" else field
    name = "longer response" if field == "length" and card.kind == "choices" else name
    columns = (
        name, Column(f"{statistic} [95 % CI]", _agreement_column(rows).axis), "judge − people", "n",
        Column("unit", is_minor=True), "remark",
    )  # fmt: skip
    how = "The intervals hold for all rows together (Bonferroni)."
    return Section(f"Agreement by {name.partition(' (')[0]}", (how,), columns, rows, 3, is_detail=True)

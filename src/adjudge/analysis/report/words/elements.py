"""The elements of a report: how many claims, passages or points got which verdict."""

from __future__ import annotations

from collections.abc import Iterator

from ....sections import Axis, Column, Section
from ....words import decimals, failures_text, interval_cell, short_name
from ..summary import Summary

ELEMENTS_MEANING = (
    "Over all elements, each counts the same, so items with many elements count more than in the "
    "mean per item above. The interval takes the elements of one item as dependent. Elements that "
    "could not be read are in no mean."
)


def element_sections(summary: Summary) -> Iterator[Section]:
    """What a protocol with steps has checked one by one: counts by verdict, and the mean over all
    elements."""
    for criterion, systems in (summary.elements or {}).items():
        scale = summary.criteria[criterion].scale if criterion in summary.criteria else None
        verdicts = list(dict.fromkeys(verdict for entry in systems for verdict in entry.counts))
        has_judges = len({entry.model for entry in systems}) > 1
        has_quotes = any(entry.n_quoted for entry in systems)
        rows = tuple(
            (
                entry.system,
                *((entry.model,) if has_judges else ()),
                interval_cell(entry.mean, decimals(scale)),
                *(f"{entry.counts.get(verdict, 0):,}" for verdict in verdicts),
                f"{sum(entry.failures.values()):,}",
                f"{entry.n_items:,}",
                *((f"{entry.n_found:,} of {entry.n_quoted:,}",) if has_quotes else ()),
                failures_text(entry.failures),
            )
            for entry in systems
        )
        axis = Axis() if scale is None else Axis(scale.low, scale.high)
        columns = (
            "system",
            *(("judge",) if has_judges else ()),
            Column("mean over elements [95 % CI]", axis),
            *verdicts,
            "failed",
            "items",
            *(("evidence found",) if has_quotes else ()),
            "remark",
        )
        yield Section(f"{short_name(criterion)}: elements", (), columns, rows, notes=(ELEMENTS_MEANING,))

"""Raters who score higher or lower than the others."""

from __future__ import annotations

from collections.abc import Mapping

from ...records import Estimate
from ...stats import rater_severity
from ...stats.resample import SAME
from ...words import names as named
from ..labels.labelled import LabelledTable, numbers
from .card import RaterSeverity

LARGE_GAP = 0.1
"""A rater who is this share of the scale above or below the others, significantly, gets a warning."""


def severities(table: LabelledTable) -> dict[str, RaterSeverity]:
    """How much higher each rater scores than the others: on
    the same items, or by the distance from the judge.
    """
    rows = table.labelled()
    if table.kind != "scores" or len(table.raters) < 2:
        return {}
    ratings = [numbers(row.ratings) for row in rows]
    limits = table.scale.limits if table.scale is not None and table.is_same_scale else None
    width = None if limits is None else limits[1] - limits[0]
    found = rater_severity(
        ratings, numbers(row.answer for row in rows), clusters=table.groups(rows), width=width
    )
    values = [rating for row in ratings for rating in row if rating is not None]
    span = width if width is not None else max(values, default=0.0) - min(values, default=0.0)
    return {
        table.raters[place]: RaterSeverity(
            estimate,
            basis,
            _is_shown(estimate) and abs(estimate.value or 0.0) >= max(1e-9, LARGE_GAP * span),
        )
        for place, (estimate, basis) in found.items()
    }


def _is_shown(difference: Estimate) -> bool:
    """Whether a difference is significant, or the same on every item."""
    if difference.low is None or difference.high is None:
        return difference.reason == SAME
    return not difference.low <= 0 <= difference.high


def severity_note(severity: Mapping[str, RaterSeverity]) -> tuple[str, ...]:
    """A warning on raters who score much higher or lower than the others."""
    large = [rater for rater, own in severity.items() if own.is_large]
    if not large:
        return ()
    own = severity[max(large, key=lambda rater: abs(severity[rater].difference.value or 0.0))]
    size = abs(own.difference.value or 0.0)
    where = "on the same items" if own.basis == "same items" else "compared through the judge's scores"
    note = f"Rater severity differs by up to {size:.2f} points ({where}): {named(large)}."
    if own.basis == "judge":
        note += (
            " They rated no common items, so the corrected means depend on who rated what: let them rate "
            "some items together."
        )
    return (note,)

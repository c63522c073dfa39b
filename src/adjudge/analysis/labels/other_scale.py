"""Labels that are off the scale of the judge, or on another one."""

from __future__ import annotations

from collections.abc import Sequence

from ...records import Label, Result, Scale

FEW_OFF_SCALE = 0.05
"""Up to this share, labels off the scale count as typing errors; above it, as labels on another scale."""


def on_scale(labels: list[Label], scale: Scale | None) -> tuple[list[Label], bool, list[str]]:
    """The usable labels, whether they are on the judge's scale, and notes on the others."""
    if scale is None or not labels:
        return labels, True, []
    if scale.low is None or scale.high is None:
        note = (
            "The judge's scores are unbounded (likelihoods), and the labels are on a different "
            "scale: correlations and corrected means are valid, in the unit of the labels; "
            "agreement, kappa and bias have no meaning."
        )
        return labels, False, [note]
    low, high = scale.low, scale.high
    off_scale = [
        label for label in labels if not isinstance(label.value, str) and not low <= label.value <= high
    ]
    if not off_scale:
        return labels, True, []
    ends = f"{low:g} to {high:g}"
    if len(off_scale) <= FEW_OFF_SCALE * len(labels):
        shown = ", ".join(f"{label.item} = {label.value}" for label in off_scale[:3])
        note = (
            f"{len(off_scale)} of {len(labels)} labels are off the scale {ends} and not used ({shown}). "
            "Correct them."
        )
        return [label for label in labels if label not in off_scale], True, [note]
    note = (
        f"{len(off_scale)} of {len(labels)} labels are off the scale {ends}, so the labels are "
        "assumed to be on a different scale. Correlations and corrected means are valid, in the "
        "unit of the labels; agreement, kappa and bias have no meaning."
    )
    return labels, False, [note]


def other_range(results: Sequence[Result], labels: Sequence[Label]) -> str:
    """Why scores of an unknown scale cannot be on that of the labels; empty where they may be."""
    scores = [result.value for result in results if result.value is not None]
    values = [label.value for label in labels if not isinstance(label.value, str)]
    if not scores or not values or not _are_apart(scores, values):
        return ""
    return (
        f"The scores lie between {min(scores):g} and {max(scores):g}, the labels between "
        f"{min(values):g} and {max(values):g}: two different scales. Correlations and corrected "
        "means are valid, in the unit of the labels; agreement, kappa and bias are not computed. If "
        "it is one scale, give it: --scale LOW,HIGH. To rescale the scores, add --label-scale "
        "LOW,HIGH."
    )


_TIMES = 2.0
"""How many times as far as the one the other range must reach to be on another scale."""


_TIMES_OF_FEW = 3.0
"""The same with few values: two of them may use only the lower half of 1 to 5."""


_MANY = 20


def _are_apart(scores: Sequence[float], labels: Sequence[float]) -> bool:
    small, large = sorted((scores, labels), key=max)
    if max(small) <= 1:
        # A scale from 1 may have been used at its lowest end alone.
        return max(large) >= _TIMES and min(small) < 1
    times = _TIMES if min(len(scores), len(labels)) >= _MANY else _TIMES_OF_FEW
    return max(large) >= times * max(small)

"""Labels on another scale than the judge's, and labels off it that were stored before this was an error."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from ...data.label_scales import Ends
from ...records import Label, Result, Review, Scale
from ..run_view.run_view import RunView, SampleKey


class _Line:
    """The line that takes the ends of one scale to those of another."""

    def __init__(self, start: Ends, end: Ends) -> None:
        self.factor = (end[1] - end[0]) / (start[1] - start[0])
        self._start, self._end = start[0], end[0]

    def __call__(self, value: float) -> float:
        # Rounded, because a level must be the same number however it was reached.
        return round(self._end + (value - self._start) * self.factor, 12)


def rescaled_value(value: float, start: Ends, end: Ends) -> float:
    """A value on one scale, as it is on another."""
    return _Line(start, end)(value)


def rescaled(view: RunView, ends: Ends) -> RunView:
    """The view with its scores on the scale of the labels: the lowest score becomes its low end.

    Choices, classes and scores without a bounded scale stay as they are.
    """
    lines = _lines(view, ends)
    results = tuple(
        _rescaled_result(result, line)
        if kind == "scores" and (line := lines.get((result.protocol, result.criterion))) is not None
        else result
        for result, kind in zip(view.results, view.kinds, strict=True)
    )
    return structs.replace(
        view,
        results=results,
        scales={key: _rescaled_scale(scale, ends) for key, scale in view.scales.items()},
        samples={key: _rescaled_samples(key, values, lines) for key, values in view.samples.items()},
    )


def rescaled_reviews(reviews: Sequence[Review], view: RunView, ends: Ends) -> list[Review]:
    """Reviews of that view before it was rescaled, with the judge's answer as it is afterwards."""
    lines = {criterion: line for (_, criterion), line in _lines(view, ends).items()}
    return [
        structs.replace(review, answer=lines[review.criterion](review.answer))
        if review.criterion in lines and isinstance(review.answer, float | int)
        else review
        for review in reviews
    ]


def _lines(view: RunView, ends: Ends) -> dict[tuple[str, str], _Line]:
    """The line of each protocol and criterion whose scores are rescaled."""
    cells = (cell for cell in view.cells() if cell.kind == "scores")
    lines = {cell[:2]: _line(view.scale(cell.protocol, cell.criterion), ends) for cell in cells}
    return {key: line for key, line in lines.items() if line is not None}


def _line(scale: Scale | None, ends: Ends) -> _Line | None:
    if scale is None or scale.is_nominal or scale.limits is None:
        return None
    return _Line(scale.limits, ends)


def _rescaled_result(result: Result, line: _Line) -> Result:
    return structs.replace(
        result,
        value=None if result.value is None else line(result.value),
        spread=None if result.spread is None else result.spread * line.factor,
        probabilities={_rescaled_text(answer, line): p for answer, p in result.probabilities.items()},
    )


def _rescaled_text(answer: str, line: _Line) -> str:
    try:
        return f"{line(float(answer)):g}"
    except ValueError:
        return answer


def _rescaled_scale(scale: Scale | None, ends: Ends) -> Scale | None:
    line = _line(scale, ends)
    if scale is None or line is None:
        return scale
    return structs.replace(
        scale,
        low=ends[0],
        high=ends[1],
        best=scale.best if isinstance(scale.best, str) else line(scale.best),
        step=None if scale.step is None else scale.step * line.factor,
        levels={line(level): text for level, text in scale.levels.items()},
        names={line(level): name for level, name in scale.names.items()},
    )


def _rescaled_samples(
    key: SampleKey, values: tuple[float, ...], lines: dict[tuple[str, str], _Line]
) -> tuple[float, ...]:
    protocol, criterion, *_, kind = key
    line = lines.get((protocol, criterion)) if kind == "scores" else None
    return values if line is None else tuple(map(line, values))


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


_MANY = 20
"""Scores, and labels, from which their ranges tell of their scales."""


_MANY_LEVELS = 5
"""Different values on the narrower side from which its range tells of its scale: a lenient judge may use only
4 and 5 of 1 to 5.
"""


def _are_apart(scores: Sequence[float], labels: Sequence[float]) -> bool:
    """Whether both cannot be on one scale: how many times as wide the one range is, and whether they overlap.

    Widths and overlap are the same on a scale that is turned round, so its figures are, too.
    """
    narrow, wide = sorted((scores, labels), key=_width)
    if _width(narrow) <= 0:
        return False
    is_many = min(len(scores), len(labels)) >= _MANY
    if min(max(narrow), max(wide)) <= max(min(narrow), min(wide)):
        times = 1.5 if is_many else 3.0  # 0 to 1 beside 1 to 5 is 4
    else:
        times = 2.2 if is_many and len(set(narrow)) >= _MANY_LEVELS else 5.0  # 1 to 5 beside 1 to 10 is 2.25
    return _width(wide) >= times * _width(narrow)


def _width(values: Sequence[float]) -> float:
    return max(values) - min(values)

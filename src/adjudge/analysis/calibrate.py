"""Fitting a map of a judge's scores on labels: `adjudge calibrate`.

With fewer than 1,000 labels a logistic curve (Platt), otherwise an isotonic one: it follows any rising
shape, and with fewer labels chance as well (Niculescu-Mizil and Caruana 2005). The error that is reported
after the map is of items that the curve did not see: it is fitted on four fifths of the groups and measured
on the rest, five times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from ..errors import DataError
from ..records import Estimate, Label
from ..score_map import ScoreCurve, ScoreMap, log_odds
from ..stats import isotonic_fit, mean_interval, probability_quality
from .labels.join import join
from .labels.labelled import LabelledItem, LabelledTable
from .run_view.run_view import RunView

LEAST_LABELS = 20
LEAST_FOR_ISOTONIC = 1000
_N_FOLDS = 5


class CurveQuality(Struct, frozen=True):
    """One fitted curve, with the error before it and after
    it on held-out items, in units of the scale's width.
    """

    model: str
    criterion: str
    method: str
    n_labels: int
    error_before: Estimate
    """mean absolute distance from the labels; on two levels the mean square (the Brier score), which the true
    probabilities make least"""
    error_after: Estimate
    calibration_before: Estimate | None = None
    """calibration error of the probability of the upper level; none on longer scales"""
    calibration_after: Estimate | None = None

    @property
    def is_better(self) -> bool:
        """Whether the map reduced the error, or the calibration error, on held-out items."""
        pairs = [(self.error_before, self.error_after)]
        if self.calibration_before is not None and self.calibration_after is not None:
            pairs.append((self.calibration_before, self.calibration_after))
        return any(
            before.value is not None and after.value is not None and after.value < before.value
            for before, after in pairs
        )


class HeldOutScores(NamedTuple):
    """Scores by curves that did not see the item's group, and the fold of each item."""

    scores: list[float]
    folds: list[int]


class Calibrated(Struct, frozen=True):
    """The maps of a run's judges, and what each is worth."""

    digest: str
    criteria: tuple[CurveQuality, ...]
    left_out: dict[str, str]
    """criterion → why it has no map"""


class Shares(NamedTuple):
    """Scores and labels as shares of the scale, with the group of each."""

    scores: list[float]
    labels: list[float]
    groups: list[str]


def calibrated(view: RunView, labels: Sequence[Label]) -> tuple[ScoreMap, Calibrated]:
    """A map for each judge and criterion with enough labels, and its quality."""
    curves: list[ScoreCurve] = []
    qualities: list[CurveQuality] = []
    left_out: dict[str, str] = {}
    for name, table in join(view, labels).items():
        shares = _shares(table)
        if isinstance(shares, str):
            left_out[name] = shares
            continue
        curve = fitted_curve(table.model, table.criterion, shares)
        curves.append(curve)
        qualities.append(_quality(table, curve, shares))
    if not curves:
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise DataError(f"No scores can be calibrated. {why}.")
    score_map = ScoreMap(tuple(curves))
    return score_map, Calibrated(score_map.digest, tuple(qualities), left_out)


def _shares(table: LabelledTable) -> Shares | str:
    scale = table.scale
    if table.kind == "choices" or scale is None or scale.low is None or scale.high is None:
        return "choices, classes and unbounded scores have no map"
    if not table.is_same_scale:
        return "the labels are on a different scale"
    low, width = scale.low, scale.high - scale.low
    rows: list[tuple[LabelledItem, float, float]] = [
        (row, float(row.answer), float(row.label))
        for row in table.labelled()
        if isinstance(row.answer, int | float) and isinstance(row.label, int | float)
    ]
    if len(rows) < LEAST_LABELS:
        return f"{len(rows)} labelled items, and a map needs {LEAST_LABELS}"
    scores = [(answer - low) / width for _, answer, _ in rows]
    people = [(label - low) / width for _, _, label in rows]
    if len(set(scores)) < 2 or len(set(people)) < 2:
        return "the scores or the labels do not vary"
    return Shares(scores, people, [row.group if row.group is not None else row.item for row, _, _ in rows])


def fitted_curve(model: str, criterion: str, shares: Shares, n_for_form: int | None = None) -> ScoreCurve:
    """The curve; `n_for_form` labels decide its form, so that a curve on a part has that of the whole."""
    n_labels = len(shares.scores)
    if (n_labels if n_for_form is None else n_for_form) >= LEAST_FOR_ISOTONIC:
        curve = isotonic_fit(shares.scores, shares.labels)
        return ScoreCurve(model, criterion, "isotonic", n_labels, curve.x, curve.y)
    slope, intercept = platt_fit(shares.scores, shares.labels)
    return ScoreCurve(model, criterion, "platt", n_labels, slope=slope, intercept=intercept)


def platt_fit(scores: Sequence[float], labels: Sequence[float]) -> tuple[float, float]:
    """The slope and the intercept of a logistic curve over log-odds, by Newton's method with a weak pull to
    the identity.

    The pull is worth one label: it keeps the curve finite where the scores separate the labels. The slope is
    never negative, so that a map keeps the order of the scores.
    """
    x = [log_odds(score) for score in scores]
    slope, intercept, pull = 1.0, 0.0, 0.25
    for _ in range(50):
        g0, g1, h00, h01, h11 = pull * intercept, pull * (slope - 1), pull, 0.0, pull
        for value, label in zip(x, labels, strict=True):
            chance = 1 / (1 + math.exp(-max(-30.0, min(30.0, slope * value + intercept))))
            weight = chance * (1 - chance)
            g0, g1 = g0 + chance - label, g1 + (chance - label) * value
            h00, h01, h11 = h00 + weight, h01 + weight * value, h11 + weight * value * value
        determinant = h00 * h11 - h01 * h01
        steps = (h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant
        longest = max(abs(step) for step in steps)
        damping = min(1.0, 2.0 / longest) if longest > 0 else 1.0
        intercept, slope = intercept - damping * steps[0], slope - damping * steps[1]
        if longest < 1e-10:
            break
    return max(0.0, slope), intercept


def _quality(table: LabelledTable, curve: ScoreCurve, shares: Shares) -> CurveQuality:
    after = held_out(shares)
    groups = shares.groups if table.has_groups() else None
    is_chance = table.scale is not None and len(table.scale.values()) == 2
    before_error, after_error = (
        mean_interval(
            [
                abs(value - label) ** (1 + is_chance)
                for value, label in zip(values, shares.labels, strict=True)
            ],
            groups,
            limits=(0.0, 1.0),
            name="Brier score" if is_chance else "mean absolute error",
        )
        for values in (shares.scores, after.scores)
    )
    quality = CurveQuality(
        curve.model, curve.criterion, curve.method, len(shares.scores), before_error, after_error
    )
    if not is_chance:
        return quality
    upper: list[bool | None] = [label > 0.5 for label in shares.labels]
    return structs.replace(
        quality,
        calibration_before=probability_quality(shares.scores, upper, clusters=groups).error,
        calibration_after=probability_quality(after.scores, upper, clusters=groups, folds=after.folds).error,
    )


def held_out(shares: Shares) -> HeldOutScores:
    """For each item the score that a curve gives which was fitted without the item's group."""
    names = list(dict.fromkeys(shares.groups))
    fold_of = {name: place * 7 % _N_FOLDS for place, name in enumerate(names)}
    folds = [fold_of[group] for group in shares.groups]
    values = list(shares.scores)
    for fold in range(_N_FOLDS):
        seen = [place for place, number in enumerate(folds) if number != fold]
        if len(seen) in (0, len(folds)):
            continue
        part = Shares([shares.scores[place] for place in seen], [shares.labels[place] for place in seen], [])
        curve = fitted_curve("", "", part, len(shares.scores))
        for place, number in enumerate(folds):
            if number == fold:
                values[place] = curve.share(shares.scores[place])
    return HeldOutScores(values, folds)

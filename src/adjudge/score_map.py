"""A map from a judge's scores to calibrated ones: a rising curve, fitted on labels, that is part of the
judge.

Scores are mapped as shares of the scale, so that a map of a probability and of a mean level is the same
thing. A map knows for which model and criterion it was made; the file has a digest, which is part of the
identity of a judge that uses it.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, structs

from .data import BrokenFileError, read_small_text
from .errors import DataError
from .records import Judgment, Protocol, Scale, Score
from .toml_text import parse_toml

MapMethod = Literal["platt", "isotonic"]


class ScoreCurve(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The curve of one criterion of one judge."""

    model: str
    criterion: str
    method: MapMethod
    labels: int
    x: tuple[float, ...] = ()
    """isotonic: the knots, as shares of the scale"""
    y: tuple[float, ...] = ()
    slope: float = 1.0
    """platt: the calibrated log-odds are slope × log-odds + intercept"""
    intercept: float = 0.0

    def share(self, value: float) -> float:
        """The calibrated share of a share of the scale."""
        if self.method == "platt":
            return platt(value, self.slope, self.intercept)
        return _interpolated(value, self.x, self.y)


class ScoreMap(Struct, frozen=True, forbid_unknown_fields=True):
    """The curves of a file."""

    maps: tuple[ScoreCurve, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:16]

    def of_model(self, names: tuple[str, ...]) -> ScoreMap | None:
        """The curves of one judge; none where the file has none for it."""
        curves = tuple(curve for curve in self.maps if curve.model in names)
        return ScoreMap(curves) if curves else None


LEAST_SHARE = 0.005
"""Probabilities are rounded to two decimals: 0 and 1 are at most this far from the truth."""


def log_odds(share: float) -> float:
    kept = min(max(share, LEAST_SHARE), 1 - LEAST_SHARE)
    return math.log(kept / (1 - kept))


def platt(share: float, slope: float, intercept: float) -> float:
    """The logistic curve of Platt (1999), over log-odds."""
    return 1 / (1 + math.exp(-(slope * log_odds(share) + intercept)))


def _interpolated(value: float, x: tuple[float, ...], y: tuple[float, ...]) -> float:
    if value <= x[0]:
        return y[0]
    for place in range(1, len(x)):
        if value <= x[place]:
            part = (value - x[place - 1]) / (x[place] - x[place - 1])
            return y[place - 1] + part * (y[place] - y[place - 1])
    return y[-1]


def read_score_map(path: str | Path) -> ScoreMap:
    """The maps of a file that `adjudge calibrate` wrote."""
    try:
        read = msgspec.convert(parse_toml(read_small_text(Path(path))), ScoreMap, strict=False)
    except BrokenFileError as broken:
        raise DataError(f"{broken} Make one with adjudge calibrate RUN --labels FILE -o map.toml.") from None
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise DataError(f"{path} is no map of scores: {error}. Make one with adjudge calibrate.") from None
    for curve in read.maps:
        numbers = (*curve.x, *curve.y, curve.slope, curve.intercept)
        is_rising = list(curve.x) == sorted(set(curve.x)) and list(curve.y) == sorted(curve.y)
        has_knots = curve.method == "platt" or (len(curve.x) == len(curve.y) > 0)
        if not all(map(math.isfinite, numbers)) or not is_rising or not has_knots:
            raise DataError(
                f"{path}: the curve of '{curve.criterion}' is damaged. Make the file anew with "
                "adjudge calibrate."
            )
    return read


def written_score_map(score_map: ScoreMap) -> str:
    """The file of a map."""
    lines = [
        "# Made by adjudge calibrate; used with adjudge run --map-scores FILE. Do not edit: its "
        "digest is part of the judge."
    ]
    for curve in score_map.maps:
        lines += [
            "",
            "[[maps]]",
            *(f"{key} = {_toml(value)}" for key, value in structs.asdict(curve).items()),
        ]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(repr(float(number)) for number in value) + "]"
    return msgspec.json.encode(value).decode() if isinstance(value, str) else repr(value)


def with_map(judgment: Judgment, protocol: Protocol, score_map: ScoreMap | None) -> Judgment:
    """The judgment with its scores mapped, where the map has a curve for their criterion."""
    curves = {} if score_map is None else {curve.criterion: curve for curve in score_map.maps}
    if not any(score.criterion in curves for score in judgment.scores):
        return judgment
    scores = tuple(
        _mapped(score, curves[score.criterion], protocol.criteria.get(score.criterion))
        if score.criterion in curves
        else score
        for score in judgment.scores
    )
    return structs.replace(judgment, scores=scores, flags=tuple(dict.fromkeys((*judgment.flags, "mapped"))))


def _mapped(score: Score, curve: ScoreCurve, scale: Scale | None) -> Score:
    if score.value is None or scale is None or scale.low is None or scale.high is None or scale.is_nominal:
        return score
    width = scale.high - scale.low
    share = curve.share((score.value - scale.low) / width)
    value = scale.low + share * width
    is_chance = score.distribution is not None and set(score.distribution) == {scale.low, scale.high}
    distribution = {scale.low: 1 - share, scale.high: share} if is_chance else None
    return structs.replace(score, value=value, distribution=distribution)

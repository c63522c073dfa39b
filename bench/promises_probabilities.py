"""Simulations of the intervals that say how far a judge's probabilities can be believed, also after a map.

The truth is that of the population: the chances behind the outcomes are known. For the calibration error it
is the root mean square gap between the probabilities and the chances in bins like those of the estimate.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from adjudge.analysis.calibrate import Shares, held_out
from adjudge.records import Estimate
from adjudge.stats import Probabilities, probability_quality
from promises import Check

_N_POPULATION = 400_000


class Design(NamedTuple):
    """The judge, and the labelled items."""

    name: str
    n: int
    bend: float
    """the true log-odds as a multiple of the judge's: 1 is perfect, less is over-confident"""
    n_groups: int | None = None
    base: float = 0.0
    """added to the true log-odds"""


DESIGNS = (
    Design("perfect probabilities, 100 items", 100, 1.0),
    Design("perfect probabilities, 400 items", 400, 1.0),
    Design("over-confident, 60 items", 60, 0.4),
    Design("over-confident, 200 items", 200, 0.4),
    Design("over-confident, rare events, 300 items", 300, 0.5, base=-1.5),
    Design("over-confident, 40 groups of 5", 200, 0.4, 40),
    Design("perfect probabilities, 40 groups of 5", 200, 1.0, 40),
)


def _probabilities(random: np.random.Generator, n: int) -> Any:
    return np.round(random.beta(1.2, 1.2, n), 2).clip(0.01, 0.99)


def _chances(p: Any, design: Design) -> Any:
    return 1 / (1 + np.exp(-(design.bend * np.log(p / (1 - p)) + design.base)))


def _world(random: np.random.Generator, design: Design) -> tuple[Any, Any, list[int] | None]:
    """Probabilities, outcomes and groups; items of a group are alike, and share a part of their luck."""
    n = design.n
    if design.n_groups is None:
        p = _probabilities(random, n)
        return p, random.random(n) < _chances(p, design), None
    groups = np.arange(n) % design.n_groups
    pool = _probabilities(random, design.n_groups)
    p = np.where(random.random(n) < 0.3, pool[groups], _probabilities(random, n))
    luck = random.normal(size=design.n_groups)[groups] * math.sqrt(0.3)
    luck += random.normal(size=n) * math.sqrt(0.7)
    even = np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in luck])
    return p, even < _chances(p, design), groups.tolist()


def _error(p: Any, chances: Any) -> float:
    """The calibration error in bins like those of the estimate, without what chance adds."""
    n_bins = max(2, min(10, len(p) // 10))
    places = np.searchsorted(np.unique(np.quantile(p, np.arange(1, n_bins) / n_bins)), p, side="right")
    sizes = np.bincount(places).clip(1)
    gaps = np.bincount(places, weights=p - chances) / sizes
    return math.sqrt(float((sizes / len(p) * gaps**2).sum()))


def _error_of_folds(p: Any, chances: Any, folds: Any) -> float:
    """The same, of one curve for each fold."""
    squares = [
        (folds == fold).mean() * _error(p[folds == fold], chances[folds == fold]) ** 2
        for fold in np.unique(folds)
    ]
    return math.sqrt(float(np.sum(squares)))


@cache
def _truth(design: Design) -> dict[str, float]:
    """Of the population."""
    random = np.random.default_rng(99)
    p = _probabilities(random, _N_POPULATION)
    chances = _chances(p, design)
    happened = random.random(_N_POPULATION) < chances
    order = np.argsort(p, kind="stable")
    ranks = np.empty(len(p))
    ranks[order] = np.arange(1, len(p) + 1)
    _, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
    ranks = (np.bincount(inverse, weights=ranks) / counts)[inverse]
    n_yes = int(happened.sum())
    above = ranks[happened].sum() - n_yes * (n_yes + 1) / 2
    wrong = np.where(p >= 0.5, 1 - chances, chances)
    surest = np.argsort(-np.maximum(p, 1 - p), kind="stable")[: int(0.7 * len(p))]
    return {
        "Brier score": float(((p - chances) ** 2 + chances * (1 - chances)).mean()),
        "AUROC": float(above / (n_yes * (len(p) - n_yes))),
        "error at coverage 0.7": float(wrong[surest].mean()),
        "refinement": float(((p - chances) ** 2 + chances * (1 - chances)).mean()) - _error(p, chances) ** 2,
    }


def _intervals(found: Probabilities) -> dict[str, Estimate]:
    return {
        "calibration error": found.error,
        "calibration part of the Brier score": found.calibration,
        "Brier score": found.brier,
        "refinement": found.refinement,
        "AUROC": found.auroc,
        "error at coverage 0.7": found.risk[3].risk,
    }


@cache
def _covered(design: Design, worlds: int, seed: int) -> dict[str, float]:
    """Number → the share of worlds in which its interval holds the truth."""
    random = np.random.default_rng(seed)
    hits: dict[str, int] = {}
    for _ in range(worlds):
        p, happened, groups = _world(random, design)
        found = probability_quality(p.tolist(), [bool(event) for event in happened], clusters=groups)
        error = _error(p, _chances(p, design))
        truth = {
            **_truth(design),
            "calibration error": error,
            "calibration part of the Brier score": error**2,
        }
        for name, estimate in _intervals(found).items():
            hits[name] = hits.get(name, 0) + _holds(estimate, truth[name])
    return {name: count / worlds for name, count in hits.items()}


def _holds(estimate: Estimate, truth: float) -> bool:
    if estimate.low is None or estimate.high is None:
        return False
    return bool(estimate.low - 1e-9 <= truth <= estimate.high + 1e-9)


def _interval(name: str, design: Design) -> Check:
    # An interval of a calibration error of 0 misses on one side only.
    high = 0.99 if design.bend == 1.0 and design.base == 0.0 and name.startswith("calibration") else 0.97
    return Check(
        f"Probabilities: {name}",
        design.name,
        0.93,
        high,
        lambda worlds, seed: _covered(design, worlds, seed)[name],
    )


def _after_map(design: Design) -> Check:
    """The calibration error of mapped probabilities, on items that their curves did not see.

    Curves fitted on 160 to 240 labels are close to the truth, so that the interval often begins at 0 and
    misses on one side only.
    """

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        hits = 0
        for _ in range(worlds):
            p, happened, groups = _world(random, design)
            names = [str(row) for row in (range(design.n) if groups is None else groups)]
            mapped = held_out(Shares(p.tolist(), happened.astype(float).tolist(), names))
            events = [bool(event) for event in happened]
            found = probability_quality(mapped.scores, events, clusters=groups, folds=mapped.folds)
            folds = np.array(mapped.folds)
            truth = _error_of_folds(np.array(mapped.scores), _chances(p, design), folds)
            hits += _holds(found.error, truth)
        return hits / worlds

    return Check("Probabilities: calibration error after the map, held out", design.name, 0.93, 0.99, run)


NUMBERS = (
    "calibration error",
    "calibration part of the Brier score",
    "Brier score",
    "refinement",
    "AUROC",
    "error at coverage 0.7",
)

CHECKS = [
    *(_interval(name, design) for name in NUMBERS for design in DESIGNS),
    *(_after_map(design) for design in DESIGNS[1:6]),
]

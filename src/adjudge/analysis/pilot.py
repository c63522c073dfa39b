"""What a pilot run says for a plan: the spread of scores within a system, or of paired differences."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations

from msgspec import Struct

from ..errors import DataError
from ..records import Result
from ..stats.sample_size import intraclass_correlation
from ..words import count
from .run_view.panel import pooled_over_models
from .run_view.result_facts import as_number, cluster_of
from .run_view.run_view import RunView

_FEWEST_PAIRS = 3
"""Inputs that two systems share from which the spread of their differences is taken."""


class Pilot(Struct, frozen=True):
    """What is assumed of the scores, or what a run has shown."""

    sd: float
    icc: float = 0.0
    group_size: int = 1
    source: str = "given"


Scores = dict[str, dict[str, list[float]]]
"""system → group → scores"""


def pilot_of(view: RunView, criterion: str | None, *, is_difference: bool) -> Pilot:
    """Spread, ICC and group size of a run's scores, or of the differences of its systems on the same
    inputs."""
    pooled, _ = pooled_over_models(view)
    rows = [row for row in pooled.results if criterion in (None, row.criterion)]
    if len({row.criterion for row in rows}) > 1:
        names = ", ".join(sorted({row.criterion for row in rows}))
        raise DataError(f"run {view.name} has several criteria: {names}. Choose one: --criterion NAME.")
    scores: Scores = defaultdict(lambda: defaultdict(list))
    for row in rows:
        value = _score(row)
        if value is not None:
            scores[row.system][cluster_of(row.group, row.item)].append(value)
    values = [value for groups in scores.values() for group in groups.values() for value in group]
    if len(values) < 3:
        raise DataError(
            f"run {view.name} has {count(len(values), 'score')}: a pilot needs three that differ."
        )
    alone = _within_systems(scores, f"run {view.name}")
    found = _of_differences(scores, alone) if is_difference else alone
    if found.sd <= 0:
        raise DataError(f"all scores of run {view.name} are the same: give --sd.")
    return found


def _score(row: Result) -> float | None:
    return row.value if row.value is not None or row.choice is None else as_number(row.choice)


def _within_systems(scores: Scores, source: str) -> Pilot:
    """The scores of one system: what its mean is known by."""
    around, groups = [], []
    for system, of_group in scores.items():
        values = [value for group in of_group.values() for value in group]
        mean = math.fsum(values) / len(values)
        for name, group in of_group.items():
            around += [value - mean for value in group]
            groups += [f"{system}\n{name}"] * len(group)
    df = max(1, len(around) - len(scores))
    sd = math.sqrt(math.fsum(value**2 for value in around) / df)
    size = max(1, round(len(around) / len(set(groups))))
    return Pilot(sd, intraclass_correlation(around, groups), size, source)


def _of_differences(scores: Scores, alone: Pilot) -> Pilot:
    """Differences of the groups' means, over all pairs of systems; each group counts once, whatever its
    size."""
    means = {
        system: {name: math.fsum(group) / len(group) for name, group in of_group.items()}
        for system, of_group in scores.items()
    }
    squares, df = 0.0, 0
    for first, second in combinations(means.values(), 2):
        gaps = [first[name] - second[name] for name in first if name in second]
        if len(gaps) < _FEWEST_PAIRS:
            continue
        mean = math.fsum(gaps) / len(gaps)
        squares += math.fsum((gap - mean) ** 2 for gap in gaps)
        df += len(gaps) - 1
    if df:
        source = f"{alone.source}, paired differences of its systems"
        icc = 1.0 if alone.group_size > 1 else 0.0
        return Pilot(math.sqrt(squares / df), icc, alone.group_size, source)
    source = f"{alone.source}, whose systems share no inputs: twice the variance of one"
    return Pilot(alone.sd * math.sqrt(2), alone.icc, alone.group_size, source)

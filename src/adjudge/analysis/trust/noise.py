"""Where the noise of scores comes from: items, judges, prompts, samples; and of labels: items, raters.

The sources are those of the variance components of a single score, after the mean of each system: what
differs between systems is the result, not noise. Each source has the share of the variance, and what more of
it would buy: how much narrower the interval of a mean becomes with twice the items, or one more judge, sample
or rater.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...stats import Components, variance_components
from ..labels.labelled import LabelledTable, number_or_none
from .card import Noise, NoiseSource

_MOST_ANSWERS = 50_000
"""Answers that are used; of more, those of the first items."""


class _Answer(NamedTuple):
    value: float
    item: str
    system: str
    factors: Mapping[str, str]


def noise_of(tables: Iterable[LabelledTable]) -> dict[str, dict[str, Noise]]:
    """criterion → `judge` and `people` → the sources of noise; only where something was scored twice."""
    by_criterion: dict[str, list[LabelledTable]] = defaultdict(list)
    for table in tables:
        if table.kind == "scores" and not table.judges:
            by_criterion[table.criterion].append(table)
    noise = {}
    for criterion, of_criterion in by_criterion.items():
        sides = {"judge": _noise(_scores(of_criterion)), "people": _noise(_ratings(of_criterion[0]))}
        known = {side: found for side, found in sides.items() if found is not None}
        if known:
            noise[criterion] = known
    return noise


def _scores(tables: Sequence[LabelledTable]) -> list[_Answer]:
    """Every sample of every judge and prompt; nothing where each item was scored once."""
    if len(tables) == 1 and all(len(row.samples) < 2 for row in tables[0].rows):
        return []
    return [
        _Answer(value, f"{row.item} {row.subject}", row.system, factors)
        for table in tables
        if table.scale is None or tables[0].scale is None or table.scale.limits == tables[0].scale.limits
        for factors in ({"judge": table.model, "prompt": table.protocol},)
        for row in table.rows
        for value in row.samples or (number_or_none(row.answer),)
        if value is not None
    ]


def _ratings(table: LabelledTable) -> list[_Answer]:
    raters = [{"rater": rater} for rater in table.raters]
    return [
        _Answer(value, f"{row.item} {row.subject}", row.system, rater)
        for row in table.rows
        for rater, rating in zip(raters, row.ratings, strict=False)
        if (value := number_or_none(rating)) is not None
    ]


def _noise(answers: Sequence[_Answer]) -> Noise | None:
    if len(answers) > _MOST_ANSWERS:
        items = list(dict.fromkeys(answer.item for answer in answers))
        kept = set(items[: max(1, _MOST_ANSWERS * len(items) // len(answers))])
        answers = [answer for answer in answers if answer.item in kept]
    if not answers:
        return None
    sums: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        sums[answer.system].append(answer.value)
    means = {system: math.fsum(values) / len(values) for system, values in sums.items()}
    names = [name for name in answers[0].factors if len({answer.factors[name] for answer in answers}) > 1]
    found = variance_components(
        [answer.value - means[answer.system] for answer in answers],
        [answer.item for answer in answers],
        {name: [answer.factors[name] for answer in answers] for name in names},
    )
    if found is None:
        return None
    return Noise(
        {
            part.name: NoiseSource(part.variance, part.share, _narrower(found, part.name), part.is_below_zero)
            for part in found.parts
        },
        {name: round(n, 2) for name, n in found.counts.items()},
        found.n,
    )


def _narrower(found: Components, name: str) -> float | None:
    """The share by which the interval of a mean shrinks with twice the items, or one more of a source."""
    present, count = found.half_width(), found.counts.get(name)
    # Where each judge answered once, a further sample is no different from what the judge adds.
    if count is None or present <= 0 or (name == "sample" and count < 1.5):
        return None
    more = 2 * count if name == "item" else count + 1
    return 1 - found.half_width({name: more}) / present

"""Systems ranked by their mean scores, and the leaders of each criterion."""

from __future__ import annotations

from typing import NamedTuple

from ...records import Estimate
from ...stats import mean_interval
from ..run_view.run_view import RunView
from .differences import paired_differences, rank_ranges
from .games import RankingInput, ranking_inputs
from .ranking import Difference, Leaders, Ranking

ScoreRows = list[list[float | None]]
"""systems × inputs"""


def score_rows(ranking_input: RankingInput) -> ScoreRows:
    units = list(dict.fromkeys(score.unit for score in ranking_input.scores))
    column_of_unit = {unit: column for column, unit in enumerate(units)}
    table: dict[str, list[float | None]] = {system: [None] * len(units) for system in ranking_input.systems}
    for score in ranking_input.scores:
        table[score.system][column_of_unit[score.unit]] = score.value
    return [table[system] for system in ranking_input.systems]


class ByMeans(NamedTuple):
    """Systems by their mean scores: means, best first, differences of all pairs, ranks that remain
    possible."""

    means: list[Estimate]
    order: list[int]
    differences: tuple[Difference, ...]
    ranks: dict[str, tuple[int, int]]


def by_means(ranking_input: RankingInput, rows: ScoreRows) -> ByMeans:
    means = [
        mean_interval(
            [value for value in row if value is not None],
            n_failed=ranking_input.failed.get(system, 0),
            limits=ranking_input.limits,
        )
        for row, system in zip(rows, ranking_input.systems, strict=True)
    ]
    sign = 1 if ranking_input.is_higher_better else -1
    order = sorted(
        range(len(rows)), key=lambda i: (means[i].value is None, -sign * (means[i].value or 0.0), i)
    )
    differences = paired_differences(rows, order, ranking_input.systems)
    return ByMeans(means, order, differences, rank_ranges(order, differences, ranking_input.systems, sign))


def leaders_of(view: RunView, ranking: Ranking | None = None) -> dict[tuple[str, str], Leaders]:
    """(protocol, criterion) → its best systems, as the ranking has them.

    Strengths are not fitted: by scores the means decide. Choices need a `ranking` of the run; without one
    they are left out.
    """
    leaders: dict[tuple[str, str], Leaders] = {}
    chosen = (
        []
        if ranking is None
        else [criterion for criterion in ranking.criteria.values() if criterion.kind == "choices"]
    )
    for of_choices in chosen:
        first = [standing.system for standing in of_choices.systems if standing.places[0] == 1]
        leaders[of_choices.protocol, of_choices.criterion] = Leaders(
            of_choices.criterion, "choices", tuple(first)
        )
    for one in ranking_inputs(view):
        key = (one.protocol, one.criterion)
        if one.kind == "scores" and key not in leaders and len(one.systems) > 1:
            scale = view.scale(*key)
            found = by_means(one, score_rows(one))
            first = [one.systems[i] for i in found.order if found.ranks[one.systems[i]][0] == 1]
            is_known = (scale is None or scale.direction != 0) and bool(one.scores)
            leaders[key] = Leaders(one.name, "scores", tuple(first) if is_known else ())
    return leaders

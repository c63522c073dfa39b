"""Several judges in a report: their scores pooled, and how well they agree with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import structs

from ...records import Estimate, Scale
from ...stats import ScoreColumn, joined, krippendorff_alpha, mean_interval, missing_from, pooled, spearman
from ...stats.arrays import undefined
from ..run_view.tally import STATUSES, Scores
from .summary import JudgeInPanel, PanelSummary


def pool_judges(parts: list[Scores], *, is_vote: bool = False) -> Scores:
    """The scores of several judges as one: the mean per item. An item fails only where every judge failed.

    Classes have no mean: the one that most judges chose counts, and an item fails where two have as many
    votes.
    """
    if len(parts) == 1:
        return parts[0]
    pooled_scores = Scores()
    pooled_scores.ok, pooled_scores.n_partial = pooled([part.ok for part in parts])
    pooled_scores.n_samples = sum(part.n_samples for part in parts)
    pooled_scores.n_samples_failed = sum(part.n_samples_failed for part in parts)
    pooled_scores.n_undefined = max(part.n_undefined for part in parts)
    if is_vote:
        _vote(parts, pooled_scores)
    failed = missing_from(joined([part.failed for part in parts]), pooled_scores.ok)
    tied = pooled_scores.failed
    pooled_scores.failed = joined([tied, missing_from(failed, tied)]) if len(tied) else failed
    return pooled_scores


def _vote(parts: list[Scores], scores: Scores) -> None:
    """Replace the means of classes by the class with most votes; items without one become failures."""
    votes: dict[int, Counter[float]] = {}
    for part in parts:
        for key, value in zip(part.ok.keys, part.ok.values, strict=True):
            votes.setdefault(key, Counter())[value] += 1
    means, scores.ok = scores.ok, ScoreColumn()
    for key, group, mark in zip(means.keys, means.groups, means.marks, strict=True):
        first = votes[key].most_common(2)
        is_tied = len(first) == 2 and first[0][1] == first[1][1]
        column, value = (
            (scores.failed, STATUSES.index("conflicting")) if is_tied else (scores.ok, first[0][0])
        )
        column.add(key, value, group, is_grouped=means.has_groups, is_marked=bool(mark))


#
# Agreement is Krippendorff's alpha: 1 for perfect agreement, 0 for agreement by chance. A judge stands apart
# where the others agree clearly better without it. With two judges, neither can stand apart.


_MOST_VALUES = 50
"""More values than this are rounded to a grid of this many steps, because alpha counts by value."""


_MOST_ITEMS = 10_000
"""Alpha is computed on at most this many items: its interval is narrow by then, and a report must be quick.
"""


_MOST_WORK = 4_000_000
"""items times resamples"""


ItemScores = list[float | None]
"""the scores of one item, one for each judge"""


def panel_of(columns: Mapping[str, ScoreColumn], scale: Scale | None, *, is_choice: bool) -> PanelSummary:
    """The agreement of judges; each column has one judge's scores (or signs of choices) by item."""
    table = _table([pooled([column])[0] for column in columns.values()])
    is_unbounded = not is_choice and scale is not None and scale.limits is None
    if is_unbounded:
        alpha = undefined(
            "log-probabilities of different models have no common scale", n=len(table), unit="item"
        )
    else:
        alpha = _alpha(table, is_choice)
    judges = {
        name: _judge(table, number, is_choice=is_choice, is_unbounded=is_unbounded)
        for number, name in enumerate(columns)
    }
    if scale is not None and scale.is_nominal:
        no_order = undefined("labels have no order", n=len(table), unit="item")
        judges = {name: structs.replace(judge, with_rest=no_order) for name, judge in judges.items()}
    return PanelSummary("vote" if is_choice else "mean", alpha, judges, _outlier(alpha, judges))


def _table(columns: Sequence[ScoreColumn]) -> list[ItemScores]:
    """Items × judges, for items that at least two judges scored.
    Sorted by hash, so the first items are a random draw.
    """
    rows: dict[int, ItemScores] = {}
    for number, column in enumerate(columns):
        for key, value in zip(column.keys, column.values, strict=True):
            rows.setdefault(key, [None] * len(columns))[number] = value
    return [rows[key] for key in sorted(rows) if sum(value is not None for value in rows[key]) > 1]


def _alpha(table: Sequence[ItemScores], is_choice: bool) -> Estimate:
    drawn = table[:_MOST_ITEMS]
    n_resamples = min(1000, _MOST_WORK // max(1, len(drawn)))
    metric: Literal["nominal", "interval"] = "nominal" if is_choice else "interval"
    alpha = krippendorff_alpha(_on_grid(drawn), metric, n_resamples=n_resamples)
    if len(drawn) == len(table):
        return alpha
    return structs.replace(
        alpha, method=f"{alpha.method}; of {len(table)} items {len(drawn)} drawn at random"
    )


def _on_grid(table: Sequence[ItemScores]) -> Sequence[ItemScores]:
    values = {value for row in table for value in row if value is not None}
    if len(values) <= _MOST_VALUES:
        return table
    low, width = min(values), (max(values) - min(values)) / _MOST_VALUES
    return [
        [None if value is None else low + round((value - low) / width) * width for value in row]
        for row in table
    ]


def _judge(table: Sequence[ItemScores], number: int, *, is_choice: bool, is_unbounded: bool) -> JudgeInPanel:
    scores: list[float] = []
    rest: list[float] = []
    for row in table:
        others = [value for other, value in enumerate(row) if other != number and value is not None]
        value = row[number]
        if value is not None and others:
            scores.append(value)
            rest.append(sum(others) / len(others))
    return JudgeInPanel(
        shift=_shift(scores, rest, is_choice=is_choice, is_unbounded=is_unbounded),
        with_rest=spearman(scores, rest),
        alpha_without=_alpha_without(table, number, is_choice=is_choice, is_unbounded=is_unbounded),
    )


def _shift(
    scores: Sequence[float], rest: Sequence[float], *, is_choice: bool, is_unbounded: bool
) -> Estimate:
    if is_choice or is_unbounded:
        why = "choices have no level" if is_choice else "the judges have no common scale"
        return undefined(why, n=len(scores), unit="item")
    return mean_interval([score - others for score, others in zip(scores, rest, strict=True)])


def _alpha_without(
    table: Sequence[ItemScores], number: int, *, is_choice: bool, is_unbounded: bool
) -> Estimate:
    if is_unbounded:
        return undefined("the judges have no common scale", unit="item")
    others = [[value for judge, value in enumerate(row) if judge != number] for row in table]
    if not others or len(others[0]) < 2:
        return undefined("only one judge is left", unit="item")
    return _alpha([row for row in others if sum(value is not None for value in row) > 1], is_choice)


def _outlier(alpha: Estimate, judges: Mapping[str, JudgeInPanel]) -> str | None:
    """The judge whose removal raises alpha most, if the
    interval without it lies above the alpha of all judges.
    """
    if alpha.value is None:
        return None
    candidates = [
        (judge.alpha_without.value, name)
        for name, judge in judges.items()
        if judge.alpha_without.value is not None
        and judge.alpha_without.low is not None
        and judge.alpha_without.low > alpha.value
    ]
    return max(candidates)[1] if candidates else None

"""Several judges on the same items: how far they agree, and which of them stands apart.

Agreement is Krippendorff's alpha: 1 where all judges say the same, 0 where they agree as by chance. A judge stands apart
where the others agree clearly better without it. Two judges can disagree, but neither stands apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from ..records import Estimate, Scale
from ..stats import Column, krippendorff_alpha, mean_interval, pooled, spearman
from ..stats.arrays import undefined

_MOST_VALUES = 50
"""Values that lie anywhere on a scale are put on a grid of so many steps: alpha counts by value."""
_MOST_ITEMS = 10_000
"""Of more items so many are drawn for alpha: its interval is narrow by then, and a report must not take minutes."""
_MOST_WORK = 4_000_000
"""items times resamples"""


class JudgeInPanel(Struct, frozen=True):
    """One judge beside the others, on the items that it and another one have judged."""

    shift: Estimate
    """its score less the mean of the others', over items: what it is more lenient by; none of choices"""
    with_rest: Estimate
    """Spearman with the mean of the others"""
    alpha_without: Estimate
    """alpha of the others among themselves"""


class PanelSummary(Struct, frozen=True):
    """What holds for one criterion over all judges."""

    pooled: Literal["mean", "vote"]
    """what the run's own numbers are made of: each item's mean, or the side that more judges chose"""
    alpha: Estimate
    judges: dict[str, JudgeInPanel]
    stands_apart: str | None
    """the judge without which the others agree clearly better"""


def panel_of(columns: Mapping[str, Column], scale: Scale | None, *, is_choice: bool) -> PanelSummary:
    """The agreement of judges, each with its scores (or signs of choices) by item."""
    names = list(columns)
    table = _table([pooled([column])[0] for column in columns.values()])
    is_open = not is_choice and scale is not None and (scale.low is None or scale.high is None)
    if is_open:
        alpha = undefined(
            "log-probabilities of different models have no common scale", n=len(table), unit="item"
        )
    else:
        alpha = _alpha(table, is_choice)
    judges = {
        name: _judge(table, number, is_choice=is_choice, is_open=is_open) for number, name in enumerate(names)
    }
    return PanelSummary("vote" if is_choice else "mean", alpha, judges, _apart(alpha, judges))


Row = list[float | None]


def _table(columns: Sequence[Column]) -> list[Row]:
    """Items × judges, in the order of their keys, which are hashes; only items that two judges have scored."""
    rows: dict[int, Row] = {}
    for number, column in enumerate(columns):
        for key, value in zip(column.keys, column.values, strict=True):
            rows.setdefault(key, [None] * len(columns))[number] = value
    return [rows[key] for key in sorted(rows) if sum(value is not None for value in rows[key]) > 1]


def _alpha(table: Sequence[Row], is_choice: bool) -> Estimate:
    drawn = table[:_MOST_ITEMS]
    n_resamples = min(1000, _MOST_WORK // max(1, len(drawn)))
    metric: Literal["nominal", "interval"] = "nominal" if is_choice else "interval"
    alpha = krippendorff_alpha(_on_grid(drawn), metric, n_resamples=n_resamples)
    if len(drawn) == len(table):
        return alpha
    return structs.replace(
        alpha, method=f"{alpha.method}; of {len(table)} items {len(drawn)} drawn at random"
    )


def _on_grid(table: Sequence[Row]) -> Sequence[Row]:
    values = {value for row in table for value in row if value is not None}
    if len(values) <= _MOST_VALUES:
        return table
    low, width = min(values), (max(values) - min(values)) / _MOST_VALUES
    return [
        [None if value is None else low + round((value - low) / width) * width for value in row]
        for row in table
    ]


def _judge(table: Sequence[Row], number: int, *, is_choice: bool, is_open: bool) -> JudgeInPanel:
    own: list[float] = []
    rest: list[float] = []
    for row in table:
        others = [value for place, value in enumerate(row) if place != number and value is not None]
        value = row[number]
        if value is not None and others:
            own.append(value)
            rest.append(sum(others) / len(others))
    return JudgeInPanel(
        shift=_shift(own, rest, is_choice=is_choice, is_open=is_open),
        with_rest=spearman(own, rest),
        alpha_without=_alpha_without(table, number, is_choice=is_choice, is_open=is_open),
    )


def _shift(own: Sequence[float], rest: Sequence[float], *, is_choice: bool, is_open: bool) -> Estimate:
    if is_choice or is_open:
        why = "choices have no level" if is_choice else "the judges have no common scale"
        return undefined(why, n=len(own), unit="item")
    return mean_interval([mine - others for mine, others in zip(own, rest, strict=True)])


def _alpha_without(table: Sequence[Row], number: int, *, is_choice: bool, is_open: bool) -> Estimate:
    if is_open:
        return undefined("the judges have no common scale", unit="item")
    left = [[value for place, value in enumerate(row) if place != number] for row in table]
    if not left or len(left[0]) < 2:
        return undefined("only one judge is left", unit="item")
    return _alpha([row for row in left if sum(value is not None for value in row) > 1], is_choice)


def _apart(alpha: Estimate, judges: Mapping[str, JudgeInPanel]) -> str | None:
    """The judge whose leaving helps most, if even the low end without it is above what all reach together."""
    if alpha.value is None:
        return None
    found = [
        (judge.alpha_without.value, name)
        for name, judge in judges.items()
        if judge.alpha_without.value is not None
        and judge.alpha_without.low is not None
        and judge.alpha_without.low > alpha.value
    ]
    return max(found)[1] if found else None

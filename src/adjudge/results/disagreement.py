"""How far the answers behind one result differ: between samples, between judges, and between the orders of a
pair."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ..records import Order, Result
from ..store.results import Gaps
from .combine import CallJudgment, Kind

Combined = tuple[Result, Kind, list[CallJudgment]]
"""A result, its kind, and the judgments that it was combined from."""


def gaps_of(results: Sequence[Combined]) -> list[Gaps]:
    """The disagreements of each result of one item."""
    by_judge: dict[tuple[str, str, str | None, Kind], list[Result]] = {}
    for result, kind, _ in results:
        by_judge.setdefault((result.protocol, result.criterion, result.subject, kind), []).append(result)
    return [
        Gaps(
            _samples_gap(result, voices),
            _judges_gap(by_judge[result.protocol, result.criterion, result.subject, kind]),
            _orders_gap(result, voices),
        )
        for result, kind, voices in results
    ]


def _samples_gap(result: Result, voices: Sequence[CallJudgment]) -> float | None:
    if result.choice is None:
        return result.spread
    by_order: dict[Order, list[str]] = {}
    for voice in voices:
        if voice.judgment.choice is not None:
            by_order.setdefault(voice.order, []).append(voice.judgment.choice)
    several = [choices for choices in by_order.values() if len(choices) > 1]
    if not several:
        return None
    shares = [1 - Counter(choices).most_common(1)[0][1] / len(choices) for choices in several]
    return math.fsum(shares) / len(shares)


def _judges_gap(results: Sequence[Result]) -> float | None:
    choices = [result.choice for result in results if result.choice is not None]
    if len(choices) > 1:
        return float(len(set(choices)) > 1)
    values = [result.value for result in results if result.value is not None]
    return max(values) - min(values) if len(values) > 1 else None


def _orders_gap(result: Result, voices: Sequence[CallJudgment]) -> float | None:
    if result.choice is not None:
        both = {voice.order for voice in voices if voice.judgment.choice is not None}
        return float("order_conflict" in result.flags) if len(both) == 2 else None
    if len({voice.order for voice in voices}) < 2:
        return None
    by_order: dict[Order, list[float]] = {}
    for voice in voices:
        for score in voice.judgment.scores:
            is_same = score.criterion == result.criterion and score.subject == result.subject
            if is_same and score.value is not None:
                by_order.setdefault(voice.order, []).append(score.value)
    if len(by_order) < 2:
        return None
    means = [math.fsum(values) / len(values) for values in by_order.values()]
    return abs(means[0] - means[1])

"""From the judgments of one item to the rows of the items table: results, and how far judges, samples and orders part.

Pure: reads no store. A row is a result as `engine.results` gives it (a test holds the two
together), with what cannot be told from a single result beside it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ..combine import Voice, combine
from ..engine import voice_of
from ..records import Item, Label, Order, Protocol, Result
from ..store import Judged

LabelKey = tuple[str, str, str | None]
"""item, criterion, subject"""

Said = float | str
"""What people said of a thing: the mean of their numbers, or the choice most of them made."""


class Row(Struct, frozen=True):
    """One result with its distances; none where there is nothing to compare."""

    result: Result
    samples_gap: float | None
    """the standard deviation of the samples; of choices, the share that differs from the commonest"""
    judges_gap: float | None
    """between the highest and the lowest judge; of choices, whether they differ"""
    orders_gap: float | None
    """between the means of the two orders of a pair; of choices, whether they differ"""
    explanation: str


def rows_of(places: Sequence[Judged], protocols: Mapping[str, Protocol]) -> list[Row]:
    """The rows of one item. Places where nothing was read yet give none."""
    item: Item | None = None
    found: dict[tuple[str, str], list[Voice]] = {}
    for place in places:
        voice = voice_of(place, protocols)
        if voice is not None and place.item is not None:
            item = place.item
            found.setdefault((place.about.protocol, place.about.model), []).append(voice)
    if item is None:
        return []
    results = [
        (result, voices)
        for (protocol, model), voices in found.items()
        for result in combine(item, protocols[protocol], model, voices)
    ]
    by_judge: dict[tuple[str, str, str | None, bool], list[Result]] = {}
    for result, _ in results:
        by_judge.setdefault(_place(result), []).append(result)
    return [
        Row(
            result,
            _samples_gap(result, voices),
            _judges_gap(by_judge[_place(result)]),
            _orders_gap(result, voices),
            result.explanation,
        )
        for result, voices in results
    ]


def said_by_people(labels: Iterable[Label]) -> dict[LabelKey, Said]:
    """Several raters as one, the way the judge card does it: means of numbers, majorities of choices."""
    numbers: dict[LabelKey, list[float]] = {}
    choices: dict[LabelKey, list[str]] = {}
    for label in labels:
        key = (label.item, label.criterion, label.subject)
        if isinstance(label.value, str):
            choices.setdefault(key, []).append(label.value)
        else:
            numbers.setdefault(key, []).append(float(label.value))
    said: dict[LabelKey, Said] = {key: _majority(values) for key, values in choices.items()}
    return said | {key: math.fsum(values) / len(values) for key, values in numbers.items()}


def distance(value: float | None, choice: str | None, said: Said | None) -> float | None:
    """How far a judge is from people; of choices, 1 where they differ."""
    if isinstance(said, str):
        return None if choice is None else float(choice != said)
    return None if said is None or value is None else abs(value - said)


def _place(result: Result) -> tuple[str, str, str | None, bool]:
    """What several judges judged alike. The choice of a pair stands beside the scores of one criterion."""
    is_choice = result.subject is None and result.system_b is not None
    return result.protocol, result.criterion, result.subject, is_choice


def _samples_gap(result: Result, voices: Sequence[Voice]) -> float | None:
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


def _orders_gap(result: Result, voices: Sequence[Voice]) -> float | None:
    if result.choice is not None:
        both = {voice.order for voice in voices if voice.judgment.choice is not None}
        return float("order_conflict" in result.flags) if len(both) == 2 else None
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


def _majority(choices: Sequence[str]) -> str:
    counts = Counter(choices).most_common(2)
    return "tie" if len(counts) == 2 and counts[0][1] == counts[1][1] else counts[0][0]

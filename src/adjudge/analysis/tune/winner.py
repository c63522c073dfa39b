"""From candidates' answers and labels to a winner, and to the one test that may claim that it is better than
the start.

The winner is chosen on the search part. Only its comparison with the start is made on the locked part, so
choosing among many candidates cannot make a gain. The k-th look at the same locked labels is tested at 0.05 /
(k (k + 1)), one-sided: 2.5 % at the first, 5 % over all looks that there will ever be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist, fmean, pvariance

from ...data.judge_answers import JudgeAnswer
from ...errors import DataError
from ...records import Estimate, Label
from ...stats.arrays import undefined
from ...stats.means import mean_interval
from ...stats.paired_gain import paired_gain
from ...stats.proportions import wilson
from ..labels.people import first_by_item, people_of
from .split import LOCKED_SHARE, Split, split_of
from .tuning import Locked, Tuning

ALPHA = 0.05
_POWER = 0.8
_FEWEST = 10

Agreements = Mapping[str, Mapping[str, float]]
"""candidate → item → agreement with people, from 0 to 1"""


def level_of(look: int) -> float:
    """The one-sided level of the k-th look."""
    return ALPHA / (look * (look + 1))


def tuned(
    answers: Sequence[JudgeAnswer],
    labels: Sequence[Label],
    count_look: Callable[[str], int],
    n_looks: Callable[[str], int],
    *,
    start: str | None = None,
    criterion: str | None = None,
) -> Tuning:
    """The winner of the candidates; `count_look` records that the locked labels of a hash are opened."""
    names = list(dict.fromkeys(answer.judge for answer in answers))
    first = start if start is not None else names[0]
    if first not in names:
        raise DataError(
            f"--start {first}: no row has this candidate. The candidates are: {', '.join(names)}."
        )
    is_choice = any(isinstance(answer.answer, str) for answer in answers)
    people = people_of(labels, criterion, is_choice=is_choice, mean=not is_choice)
    judged = {answer.item for answer in answers}
    known = {item: label for item, label in people.items() if item in judged}
    if len(known) < _FEWEST:
        raise DataError(
            f"{len(known)} labelled items are among the scores; at least {_FEWEST} are needed. Items "
            "are matched by id: check the column item."
        )
    groups = first_by_item((answer.item, answer.group) for answer in answers)
    split = split_of(known, groups)
    agreements = agreements_of(answers, known, names)
    prices = _prices(answers, names)
    search = {name: _estimate(agreements[name], split.search, groups) for name in names}
    winner = _winner(search, names, first, prices)
    unused = len(people) - len(known)
    notes = (f"{unused} labelled items have no scores and are not used.",) if unused else ()
    gain, looks, claim, needed, detectable = _tested(
        agreements, split, groups, first, winner, count_look, n_looks
    )
    return Tuning(
        first, winner, search, Locked(len(split.locked), looks, gain), claim, needed, detectable, len(known),
        {name: 1000 * price for name, price in prices.items()}, _frontier(search, prices), notes,
    )  # fmt: skip


def agreements_of(
    answers: Sequence[JudgeAnswer], people: Mapping[str, float | str], names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Choices and classes: 1 where equal. Scores: 1 - distance
    / range of labels and scores. A missing answer: 0.
    """
    rows = [answer for answer in answers if answer.item in people]
    numbers = [
        value for value in (*(row.answer for row in rows), *people.values()) if isinstance(value, float | int)
    ]
    width = max(numbers) - min(numbers) if numbers else 0.0
    found: dict[str, dict[str, float]] = {name: dict.fromkeys(people, 0.0) for name in names}
    for row in rows:
        found[row.judge][row.item] = _agreement(row.answer, people[row.item], width)
    return found


def _agreement(answer: float | str | None, label: float | str, width: float) -> float:
    if answer is None:
        return 0.0
    if isinstance(answer, str) or isinstance(label, str) or width == 0:
        return float(answer == label)
    return 1.0 - abs(answer - label) / width


def _estimate(agreements: Mapping[str, float], items: Sequence[str], groups: Mapping[str, str]) -> Estimate:
    values = [agreements[item] for item in items]
    clusters = [groups.get(item, ("", item)) for item in items] if groups else None
    if clusters is None and all(value in (0.0, 1.0) for value in values):
        return wilson(sum(values), len(values), name="agreement")
    return mean_interval(values, clusters, limits=(0.0, 1.0), name="agreement")


def _prices(answers: Sequence[JudgeAnswer], names: Sequence[str]) -> dict[str, float]:
    prices: dict[str, list[float]] = {name: [] for name in names}
    for answer in answers:
        if answer.price is not None:
            prices[answer.judge].append(answer.price)
    return {name: fmean(values) for name, values in prices.items() if values}


def _winner(
    search: Mapping[str, Estimate], names: Sequence[str], start: str, prices: Mapping[str, float]
) -> str:
    """The best on the search part; of equals the start, then the cheapest, then the first."""

    def rank(name: str) -> tuple[float, bool, float]:
        return round(search[name].value or 0.0, 12), name == start, -prices.get(name, math.inf)

    return max(names, key=rank)


def _frontier(search: Mapping[str, Estimate], prices: Mapping[str, float]) -> tuple[str, ...]:
    frontier: list[str] = []
    best = -math.inf
    for name in sorted(prices, key=lambda name: (prices[name], -(search[name].value or 0.0))):
        if (value := search[name].value or 0.0) > best:
            frontier.append(name)
            best = value
    return tuple(frontier)


def _tested(
    agreements: Agreements,
    split: Split,
    groups: Mapping[str, str],
    start: str,
    winner: str,
    count_look: Callable[[str], int],
    n_looks: Callable[[str], int],
) -> tuple[Estimate, int, bool, int | None, float | None]:
    """The gain on the locked part, how often it was looked at, and what that shows."""
    if winner == start:
        reason = "the start agrees best on the search part, so the locked part was not opened"
        looks = n_looks(split.digest)
        spread = max(_spread(_differences(agreements, name, start, split.search)) for name in agreements)
        smallest = _detectable(spread, len(split.locked), level_of(looks + 1))
        return undefined(reason, n=len(split.locked), unit="item"), looks, False, None, smallest
    looks = count_look(split.digest)
    level = level_of(looks)
    differences = _differences(agreements, winner, start, split.locked)
    clusters = [groups.get(item, ("", item)) for item in split.locked] if groups else None
    gain = paired_gain(differences, level, clusters)
    claim = gain.p is not None and gain.p <= level
    spread = _spread(differences)
    value = gain.estimate.value or 0.0
    needed = None if claim or value <= 0 else _needed(spread, value, level)
    return gain.estimate, looks, claim, needed, _detectable(spread, len(split.locked), level)


def _differences(agreements: Agreements, first: str, second: str, items: Sequence[str]) -> list[float]:
    return [agreements[first][item] - agreements[second][item] for item in items]


def _spread(differences: Sequence[float]) -> float:
    """The standard deviation; with one difference of 1 more than there are, so that none is not certainty."""
    n = len(differences)
    return math.sqrt((n * pvariance(differences) + 1) / (n + 1)) if n else 1.0


def _quantiles(level: float) -> float:
    return NormalDist().inv_cdf(1 - level) + NormalDist().inv_cdf(_POWER)


def _detectable(spread: float, n: int, level: float) -> float | None:
    return min(1.0, _quantiles(level) * spread / math.sqrt(n)) if n else None


def _needed(spread: float, gain: float, level: float) -> int:
    """Labels in all, of which the locked part is a share, in round numbers."""
    n = (_quantiles(level) * spread / gain) ** 2 / LOCKED_SHARE
    digits: int = 10 ** max(0, int(math.log10(max(n, 1.0))) - 1)
    return math.ceil(n / digits) * digits

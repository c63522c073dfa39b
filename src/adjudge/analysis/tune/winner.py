"""From candidates' answers and labels to a winner, and to the one test that may claim that it is better than
the start.

The winner is chosen on the search part. Only its comparison with the start is made on the locked part, so
choosing among many candidates cannot make a gain. Tests are one-sided, and the levels of all looks at the
same locked labels add up to 2.5 %: 2.25 % for the first, 0.25 % / (k (k - 1)) for the k-th.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from statistics import NormalDist, fmean

from msgspec import structs

from ...data.judge_answers import JudgeAnswer
from ...errors import DataError
from ...records import Estimate, Label
from ...stats.arrays import undefined
from ...stats.means import mean_interval
from ...stats.paired_gain import paired_gain
from ...stats.proportions import wilson
from ...words import count
from ..labels.people import first_by_item, people_of
from .split import LOCKED_SHARE, Split, split_of
from .tuning import Locked, Tuning

FIRST_LOOK, LATER_LOOKS = 0.0225, 0.0025
_POWER = 0.8
_FEWEST = 10

Agreements = Mapping[str, Mapping[str, float]]
"""candidate → item → agreement with people, from 0 to 1"""


def level_of(look: int) -> float:
    """The one-sided level of the k-th look."""
    return FIRST_LOOK if look == 1 else LATER_LOOKS / (look * (look - 1))


def tuned(
    answers: Sequence[JudgeAnswer],
    labels: Sequence[Label],
    count_look: Callable[[str], int],
    n_looks: Callable[[str], int],
    *,
    start: str | None = None,
    criterion: str | None = None,
    left_out: Collection[str] = (),
) -> Tuning:
    """The winner of the candidates; `count_look` records that the locked labels of a hash are opened.

    Items that are `left_out` were shown to a candidate: none is compared on them.
    """
    names = list(dict.fromkeys(answer.judge for answer in answers))
    first = start if start is not None else names[0]
    if first not in names:
        raise DataError(
            f"--start {first}: no row has this candidate. The candidates are: {', '.join(names)}."
        )
    is_choice = any(answer.is_choice or isinstance(answer.answer, str) for answer in answers)
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
    split = split._replace(search=tuple(item for item in split.search if item not in left_out))
    agreements = agreements_of(answers, known, names, is_choice=is_choice)
    prices = _prices(answers, names)
    failed = _failed(answers, split.search, names)
    search = {
        name: structs.replace(_estimate(agreements[name], split.search, groups), n_failed=failed[name])
        for name in names
    }
    winner = _winner(search, names, first, prices)
    unused = len(people) - len(known)
    notes: tuple[str, ...] = ()
    if unused:
        notes = (f"{count(unused, 'labelled item')} without scores: not used.",)
    if listed := ", ".join(f"{name} {n:,}" for name, n in failed.items() if n):
        searched = count(len(split.search), "labelled item")
        notes += (f"No answer, of {searched} of the search part: {listed}. Each counts as a disagreement.",)
    gain, looks, claim, needed, detectable = _tested(
        agreements, split, groups, first, winner, count_look, n_looks
    )
    return Tuning(
        first, winner, search, Locked(len(split.locked), looks, gain), claim, needed, detectable, len(known),
        {name: 1000 * price for name, price in prices.items()}, _frontier(search, prices), notes,
    )  # fmt: skip


def _failed(answers: Sequence[JudgeAnswer], items: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Candidate → items without an answer: no row, or a failed judgment."""
    answered = {(answer.judge, answer.item) for answer in answers if answer.answer is not None}
    return {name: sum((name, item) not in answered for item in items) for name in names}


def agreements_of(
    answers: Sequence[JudgeAnswer],
    people: Mapping[str, float | str],
    names: Sequence[str],
    *,
    is_choice: bool = False,
) -> dict[str, dict[str, float]]:
    """Choices and classes: 1 where equal. Scores: 1 - distance
    / range of labels and scores. A missing answer: 0.
    """
    rows = [answer for answer in answers if answer.item in people]
    numbers = [] if is_choice else [
        value for value in (*(row.answer for row in rows), *people.values()) if isinstance(value, float | int)
    ]  # fmt: skip
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
    clusters = _clusters(items, groups)
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
    # A third of the price of three samples is that of one but for its last digits.
    rounded = {name: float(f"{price:.9g}") for name, price in prices.items()}
    for name in sorted(rounded, key=lambda name: (rounded[name], -(search[name].value or 0.0))):
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
    n_locked = len(split.locked)
    if winner == start:
        reason = "the start agrees best on the search part, so the locked part was not opened"
        looks = n_looks(split.digest)
        spreads = [
            _spread(_differences(agreements, name, start, split.search), _clusters(split.search, groups))
            for name in agreements
            if name != start
        ]
        smallest = _detectable(max(spreads), n_locked, level_of(looks + 1)) if spreads else None
        return undefined(reason, n=n_locked, unit="item"), looks, False, None, smallest
    looks = count_look(split.digest)
    level = level_of(looks)
    differences = _differences(agreements, winner, start, split.locked)
    clusters = _clusters(split.locked, groups)
    gain = paired_gain(differences, level, clusters)
    claim = gain.p is not None and gain.p <= level
    spread = _spread(differences, clusters)
    value = gain.estimate.value or 0.0
    n_labels = n_locked + len(split.search)
    # A sign test of fewer groups shows nothing, however large the gain is.
    enough = len(set(clusters or range(n_locked))) / math.log2(1 / level)
    needed = None if claim or value <= 0 else _needed(spread, value, level, n_labels / min(1.0, enough))
    return gain.estimate, looks, claim, needed, _detectable(spread, n_locked, level) if enough >= 1 else None


def _clusters(items: Sequence[str], groups: Mapping[str, str]) -> list[Hashable] | None:
    """What each item shares with others; none where no item has a group."""
    return [groups.get(item, ("", item)) for item in items] if groups else None


def _differences(agreements: Agreements, first: str, second: str, items: Sequence[str]) -> list[float]:
    return [agreements[first][item] - agreements[second][item] for item in items]


def _spread(differences: Sequence[float], clusters: Sequence[Hashable] | None = None) -> float:
    """The standard deviation that gives the standard error of the mean over items, from sums over groups.

    With one difference of 1 more than there are, so that none is not certainty.
    """
    n = len(differences)
    if not n:
        return 1.0
    mean = fmean(differences)
    sums: dict[Hashable, float] = {}
    for unit, difference in zip(clusters or range(n), differences, strict=True):
        sums[unit] = sums.get(unit, 0.0) + difference - mean
    return math.sqrt((math.fsum(value**2 for value in sums.values()) + 1) / (n + 1))


def _quantiles(level: float) -> float:
    return NormalDist().inv_cdf(1 - level) + NormalDist().inv_cdf(_POWER)


def _detectable(spread: float, n: int, level: float) -> float | None:
    return min(1.0, _quantiles(level) * spread / math.sqrt(n)) if n else None


def _needed(spread: float, gain: float, level: float, least: float) -> int:
    """Labels in all, of which the locked part is a share, in round numbers; never fewer than `least`."""
    n = max((_quantiles(level) * spread / gain) ** 2 / LOCKED_SHARE, least)
    digits: int = 10 ** max(0, int(math.log10(n)) - 1)
    return math.ceil(n / digits) * digits

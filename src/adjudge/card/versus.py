"""Several judges of one criterion: which of two goes with people better, on the items that both answered.

Scores are compared by their correlations with people, choices by how often they are people's. A judge is called
better only where the interval of the difference says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations

from msgspec import structs

from ..records import Estimate
from ..stats import Versus, compare_judges, exact_agreement, mcnemar_of, mean_interval, reason, sign_flip
from ..stats.dependent import Test
from ..words import count, interval, number, p_phrase
from .join import Joined, numbers
from .shapes import Draws, JudgesApart, Kind, Sentence

MOST_JUDGES = 4
"""Judges of which every two are compared; of more, each only with the first."""


def judges_apart(tables: Mapping[str, Joined], draws: Draws) -> tuple[JudgesApart, ...]:
    """Every two judges of a criterion, a judge being a model with a protocol."""
    by_criterion: dict[tuple[str, Kind], list[str]] = defaultdict(list)
    for name, joined in tables.items():
        if joined.labelled():
            by_criterion[joined.criterion, joined.kind].append(name)
    return tuple(
        _apart(criterion, first, second, tables, draws, kind)
        for (criterion, kind), names in by_criterion.items()
        for first, second in combinations(names, 2)
        if len(names) <= MOST_JUDGES or first == names[0]
    )


def _apart(
    criterion: str, first: str, second: str, tables: Mapping[str, Joined], draws: Draws, kind: Kind
) -> JudgesApart:
    if kind == "choices":
        result, mcnemar = _choices_apart(tables[first], tables[second], draws)
    else:
        result, mcnemar = _scores_apart(tables[first], tables[second], draws), None
    found = JudgesApart(criterion, first, second, Sentence("", ""), result, mcnemar)
    return structs.replace(found, sentence=told(found))


def _scores_apart(one: Joined, other: Joined, draws: Draws) -> Versus:
    rows = one.labelled()
    answers = {(row.item, row.subject): row.answer for row in other.rows}
    return compare_judges(
        numbers(row.answer for row in rows),
        numbers(answers.get((row.item, row.subject)) for row in rows),
        numbers(row.label for row in rows),
        groups=one.groups(rows),
        systems=[row.system for row in rows],
        resample=draws.unit,
        n_resamples=draws.n,
        n_permutations=max(1, draws.n // 2),
        seed=draws.seed,
    )


def _choices_apart(one: Joined, other: Joined, draws: Draws) -> tuple[Versus, Test]:
    """Both judges' shares of equal choices, their paired difference, and McNemar's test of it."""
    answers = {(row.item, row.subject): row.answer for row in other.rows}
    rows = [
        row
        for row in one.labelled()
        if isinstance(row.answer, str) and isinstance(answers.get((row.item, row.subject)), str)
    ]
    groups = one.groups(rows)
    sides = [[row.answer for row in rows], [answers[row.item, row.subject] for row in rows]]
    labels = [row.label for row in rows]
    shares = [exact_agreement(side, labels, groups) for side in sides]
    is_right = [[answer == label for answer, label in zip(side, labels, strict=True)] for side in sides]
    gaps = [float(a) - float(b) for a, b in zip(*is_right, strict=True)]
    difference = mean_interval(gaps, groups, limits=(-1.0, 1.0))
    method = difference.method.replace("mean", "difference of shares of equal choices", 1)
    flips = sign_flip(gaps, n_resamples=draws.n, seed=draws.seed)
    none = Test(None, None, len(rows), "Williams test", "it is for correlations")
    found = Versus(shares[0], shares[1], structs.replace(difference, method=method), flips, none)
    return found, mcnemar_of(is_right[0], is_right[1])


def told(apart: JudgesApart) -> Sentence:
    """Which judge is better, by how much, and whether that could be chance."""
    found = apart.result
    difference = found.difference
    source = f"{difference.method}; unit: {difference.unit or 'item'}; {found.permutation.method}"
    if apart.mcnemar is not None:
        source = f"{difference.method}; unit: {difference.unit or 'item'}; {apart.mcnemar.method}"
    first, second = (
        f"'{name.removeprefix(f'{apart.criterion} · ')}'" for name in (apart.first, apart.second)
    )
    if difference.value is None:
        text = f"Whether {first} or {second} goes with people better cannot be said: {reason(difference)}."
        return Sentence(text, source)
    better, worse, sign = first, second, 1.0
    if difference.value < 0:
        better, worse, sign = worse, better, -1.0
    own, others = (found.first, found.second) if sign > 0 else (found.second, found.first)
    what = "Spearman" if apart.mcnemar is None else "equal choices"
    numbers_ = f"{what} {_value(own)} and {_value(others)}, difference {_turned(difference, sign)}{_p(apart)}"
    on = f"On {count(difference.n, 'item')} that both answered for '{apart.criterion}'"
    if difference.low is None or difference.high is None or difference.low <= 0 <= difference.high:
        return Sentence(
            f"{on}, neither {first} nor {second} is shown to go with people better ({numbers_}).",
            source,
        )
    return Sentence(f"{on}, {better} goes with people better than {worse} ({numbers_}).", source)


def _value(found: Estimate) -> str:
    return "–" if found.value is None else number(found.value)


def _turned(difference: Estimate, sign: float) -> str:
    """The difference as better - worse."""
    if sign > 0 or difference.value is None:
        return interval(difference)
    low, high = difference.low, difference.high
    ends = (None, None) if low is None or high is None else (-high, -low)
    return interval(structs.replace(difference, value=-difference.value, low=ends[0], high=ends[1]))


def _p(apart: JudgesApart) -> str:
    test = apart.mcnemar or apart.result.permutation
    return "" if test.p is None else f", {p_phrase(test.p)}"

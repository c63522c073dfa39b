"""Several judges of one criterion: which of two goes with people better, on the items that both answered.

Scores are compared by their correlations with people, choices by how often they are people's. A judge is called
better only where the interval of the difference says so.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import get_args

from msgspec import structs

from ..combine import Kind
from ..records import Estimate, Scale
from ..stats import (
    AltTest,
    Confidence,
    Level,
    TieCalibration,
    TwoJudges,
    alt_test,
    choice_agreement,
    compare_judges,
    confidence_quality,
    correlate,
    exact_agreement,
    gwet,
    halved,
    krippendorff_alpha,
    mcnemar_of,
    mean_interval,
    noise_ceiling,
    quadratic_kappa,
    share_of_equal,
    sign_flip,
    soft_pairwise_accuracy,
    tie_calibration,
)
from ..stats import Kind as Coefficient
from ..stats.alt_test import Closeness
from ..stats.arrays import make_estimate, no_interval, undefined, with_caution
from ..stats.two_judges import Test
from ..words import count, interval, number, p_phrase
from .label_join import Joined, Row, choices, numbers
from .result_types import Draws, JudgesApart, PeopleCeiling, Sentence

# How one judge's answers go with people's: correlations, agreement, the ceiling, the alternative annotator test.
#
# The judge is compared with one label per item (the mean or majority of its raters), except in equal answers of scores,
# Gwet's coefficient, the ceiling and the alternative annotator test, which compare it with each rater.


COEFFICIENTS: tuple[Coefficient, ...] = get_args(Coefficient)
FEW_SYSTEMS = 5
"""Systems below which a correlation over their means comes out near 1 or -1 by chance."""
MOST_LEVELS = 11
"""Levels of a scale up to which Gwet's coefficient is given."""


def without(why: str, n: int = 0, n_failed: int = 0) -> Estimate:
    """An estimate that cannot be given, with the reason."""
    return undefined(why, n=n, n_failed=n_failed, unit="item")


def counted(found: Estimate, n_failed: int, *, by_item: bool = True) -> Estimate:
    """The estimate with the judge's failures under their own name, and not once more among what was left out."""
    left_out = max(0, found.n_undefined - n_failed) if by_item else found.n_undefined
    return structs.replace(found, n_failed=n_failed, n_undefined=left_out)


def levels_of(scale: Scale | None) -> list[float] | None:
    """The declared levels, lowest first; none where the scale has no step or no ends."""
    return (scale.values() or None) if scale is not None else None


def correlations(joined: Joined, level: Level, draws: Draws) -> dict[str, Estimate]:
    """Pearson, Spearman and Kendall at one level, over the labelled items."""
    rows = joined.labelled()
    judge, human = numbers(row.answer for row in rows), numbers(row.label for row in rows)
    n_failed = _n_failed(rows)
    found = {}
    for kind in COEFFICIENTS:
        one = correlate(
            judge,
            human,
            kind,
            level,
            groups=joined.groups(rows),
            systems=[row.system for row in rows],
            resample=draws.unit,
            n_resamples=draws.n,
            seed=draws.seed,
        )
        told = _says_little(one, level, rows)
        if one.value is not None and told:
            one = with_caution(one, told)
        found[str(kind)] = counted(one, n_failed, by_item=level != "group")
    if level == "system":
        found["soft_pairwise"] = counted(_soft_pairwise(joined, draws), n_failed, by_item=False)
    return found


def _says_little(found: Estimate, level: Level, rows: Sequence[Row]) -> str:
    """Why a correlation over so few would come out near 1 or -1 anyhow; empty where it would not."""
    if level == "system" and found.n < FEW_SYSTEMS:
        return f"a correlation over {found.n} systems says little"
    if level != "group":
        return ""
    # Within a group a system counts once, by the mean of its items.
    answered = {(row.group, row.system) for row in rows if row.answer is not None and row.group is not None}
    sizes = [size for size in Counter(group for group, _ in answered).values() if size > 1]
    n_twos = sizes.count(2)
    if not n_twos:
        return ""
    which = "all groups" if n_twos == len(sizes) else f"{n_twos} of {len(sizes)} groups"
    return f"{which} have two items only, and a correlation of two can only be 1 or -1"


def _soft_pairwise(joined: Joined, draws: Draws) -> Estimate:
    """Whether the judge is as sure as people are of which of two systems is better, on the inputs both answered."""
    rows = joined.labelled()
    groups = joined.groups(rows)
    if groups is None:
        return without("the systems answered no common inputs (group)", len({row.system for row in rows}))
    judge, human = numbers(row.answer for row in rows), numbers(row.label for row in rows)
    return soft_pairwise_accuracy(judge, human, groups, [row.system for row in rows], resample=draws.unit)


def agreement(joined: Joined, seed: int) -> dict[str, Estimate]:
    """Equal answers and Gwet's coefficient with each of an item's raters, kappa and alpha with their mean.

    A mean of raters is no level, and rounding it would favour one end of the scale: what counts levels takes the
    raters one by one, what squares distances takes the mean as it is. Only Gwet's coefficient needs the levels.
    """
    rows = joined.labelled()
    n_failed = _n_failed(rows)
    if not joined.is_same_scale:
        none = without("the labels are on a scale of their own", len(rows), n_failed)
        return dict.fromkeys(("exact", "kappa", "alpha", "gwet"), none)
    both = [row for row in rows if row.answer is not None]
    judge, human = numbers(row.answer for row in both), numbers(row.label for row in both)
    levels, groups = levels_of(joined.scale), joined.groups(both)
    beside = [_beside(row, levels) for row in both]
    found = {
        "exact": share_of_equal([_share_alike(couples) for couples in beside], groups),
        "kappa": quadratic_kappa(judge, human, groups),
        "alpha": krippendorff_alpha(list(zip(judge, human, strict=True)), "interval", seed=seed),
        "gwet": _gwet(beside, levels),
    }
    return {name: counted(one, n_failed) for name, one in found.items()}


def _beside(row: Row, levels: Sequence[float] | None) -> list[tuple[float, float]]:
    """The judge beside each rater of an item, twice: what lies midway between two levels is once the lower, once the upper."""
    given = [rating for rating in numbers(row.ratings) if rating is not None]
    (answer,) = numbers([row.answer])
    if levels is None:
        return [(answer, rating) for rating in given if answer is not None]
    (own,) = halved([answer], levels)
    theirs = [both for both in halved(given, levels) if both is not None]
    return [] if own is None else [couple for both in theirs for couple in zip(own, both, strict=True)]


def _gwet(beside: Sequence[Sequence[tuple[float, float]]], levels: Sequence[float] | None) -> Estimate:
    if levels is None:
        return without("the levels of the scale are not known", len(beside))
    if len(levels) > MOST_LEVELS:
        return without(f"the scale has more than {MOST_LEVELS} levels", len(beside))
    couples = [couple for couples in beside for couple in couples]
    of_item = [place for place, couples in enumerate(beside) for _ in couples]
    return gwet(couples, levels, of_item)


def pairwise(joined: Joined, seed: int) -> TieCalibration:
    """How often the judge orders two items as people do, ties included."""
    rows = joined.labelled()
    n_failed = _n_failed(rows)
    judge, human = numbers(row.answer for row in rows), numbers(row.label for row in rows)
    found = tie_calibration(judge, human, joined.groups(rows), seed=seed)
    plain, best, held_out = (counted(one, n_failed) for one in (found.plain, found.best, found.held_out))
    return TieCalibration(plain, best, held_out, found.eps)


def of_choices(joined: Joined) -> dict[str, Estimate]:
    """How often the judge chooses as people do."""
    rows = joined.labelled()
    found = choice_agreement(
        choices(row.answer for row in rows),
        choices(row.label for row in rows),
        joined.groups(rows),
    )
    n_failed = _n_failed(rows)
    return {
        "exact": counted(found.exact, n_failed),
        "decided": counted(found.decided, n_failed),
        "kappa": counted(found.kappa, n_failed),
    }


def ceiling(joined: Joined, draws: Draws) -> PeopleCeiling:
    """What people reach among themselves, and the judge held against the same raters (Spearman)."""
    rows = joined.labelled()
    judge = numbers(row.answer for row in rows)
    ratings = [numbers(row.ratings) for row in rows]
    found = noise_ceiling(ratings, judge, "spearman", n_resamples=max(1, draws.n // 2), seed=draws.seed)
    n_failed = _n_failed(rows)
    return _ceiling(
        counted(found.lower, n_failed),
        upper=counted(found.upper, n_failed),
        judge=counted(found.judge, n_failed),
        share=counted(found.share, n_failed),
        by_rater=dict(zip(joined.raters, found.by_rater, strict=False)),
    )


def ceiling_of_choices(joined: Joined) -> PeopleCeiling:
    """How often two raters choose alike, and how often the judge and a rater do, on pairs with two ratings."""
    rows = [row for row in joined.labelled() if sum(rating is not None for rating in row.ratings) >= 2]
    if not rows:
        none = without("no pair has two ratings")
        return _ceiling(none, judge=none, share=none)
    rows_judged = [row for row in rows if row.answer is not None]
    among = [_share_alike(list(combinations(_given(row), 2))) for row in rows_judged]
    with_judge = [_share_alike([(row.answer, rating) for rating in _given(row)]) for row in rows_judged]
    groups = joined.groups(rows_judged)
    n_failed = len(rows) - len(rows_judged)
    people, judge = (
        mean_interval(values, groups, n_failed, limits=(0.0, 1.0), name=name)
        for values, name in (
            (among, "share of two raters who choose alike"),
            (with_judge, "share of raters who choose as the judge"),
        )
    )
    if people.value and judge.value is not None:
        ratio = make_estimate(
            judge.value / people.value, no_interval("it is a ratio of two shares"),
            "the judge as a share of the ceiling", n=people.n, n_failed=people.n_failed, unit=people.unit,
        )  # fmt: skip
    else:
        ratio = without("people never choose alike, or the judge failed on every pair", len(rows_judged))
    return _ceiling(people, judge=judge, share=ratio)


def _given(row: Row) -> list[float | str]:
    return [rating for rating in row.ratings if rating is not None]


def _share_alike(couples: Sequence[tuple[object, object]]) -> float:
    return sum(one == other for one, other in couples) / len(couples)


def _ceiling(
    lower: Estimate,
    *,
    judge: Estimate,
    share: Estimate,
    upper: Estimate | None = None,
    by_rater: dict[str, float | None] | None = None,
) -> PeopleCeiling:
    return PeopleCeiling(
        **structs.asdict(lower), upper=upper, judge=judge, share=share, by_rater=by_rater or {}
    )


def replacement(joined: Joined) -> AltTest:
    """May the judge take a person's place? The test needs two raters and thirty items of each."""
    rows = joined.labelled()
    if not joined.is_same_scale:
        none = without("the labels are on a scale of their own", len(rows))
        return AltTest(none, none, None, 0.2, ())
    answers, ratings = [row.answer for row in rows], [row.ratings for row in rows]
    closeness: Closeness = "near" if joined.kind == "scores" else "equal"
    return alt_test(answers, ratings, closeness, names=joined.raters)


def stated_confidence(joined: Joined, seed: int) -> Confidence | None:
    """Whether stated confidence means anything; right is a nearest level of the label, or the same choice."""
    rows = [row for row in joined.labelled() if row.answer is not None]
    levels = levels_of(joined.scale)
    if not any(row.confidence is not None for row in rows) or not joined.is_same_scale:
        return None
    if joined.kind == "choices":
        is_right = [row.answer == row.label for row in rows]
    elif levels is None:
        return None
    else:
        judge = halved(numbers(row.answer for row in rows), levels)
        human = halved(numbers(row.label for row in rows), levels)
        is_right = [share_a_level(one, other) for one, other in zip(judge, human, strict=True)]
    return confidence_quality([row.confidence for row in rows], is_right, seed=seed)


def share_a_level(one: tuple[float, float] | None, other: tuple[float, float] | None) -> bool:
    return one is not None and other is not None and not set(one).isdisjoint(other)


def _n_failed(rows: Sequence[Row]) -> int:
    return sum(row.answer is None for row in rows)


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


def _scores_apart(one: Joined, other: Joined, draws: Draws) -> TwoJudges:
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


def _choices_apart(one: Joined, other: Joined, draws: Draws) -> tuple[TwoJudges, Test]:
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
    difference = mean_interval(gaps, groups, limits=(-1.0, 1.0), name="difference of shares of equal choices")
    flips = sign_flip(gaps, n_resamples=draws.n, seed=draws.seed)
    none = Test(None, None, len(rows), "Williams test", "it is for correlations")
    found = TwoJudges(shares[0], shares[1], difference, flips, none)
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
        text = f"Whether {first} or {second} goes with people better cannot be said: {difference.reason}."
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

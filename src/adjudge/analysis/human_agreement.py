"""How well judges agree with people: correlations, agreement, noise ceiling, alternative annotator test, two judges.

A judge is compared with one label per item (the mean or majority of its raters), except for exact agreement on scores,
Gwet's coefficient, the noise ceiling and the alternative annotator test, which compare it with each rater. Of two
judges, one is called better only where the interval of the difference excludes 0.
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
from ..stats.agreement import CHOICES
from ..stats.alt_test import EPSILON, Closeness
from ..stats.arrays import make_estimate, no_interval, undefined, with_caution, within
from ..stats.two_judges import Test
from ..words import count, interval, number, p_phrase
from .label_join import LabelledItem, LabelledTable, choices, numbers
from .result_types import JudgePair, PeopleCeiling, Resampling, Sentence

COEFFICIENTS: tuple[Coefficient, ...] = get_args(Coefficient)
FEW_SYSTEMS = 5
"""With fewer systems, a correlation over their means is often near 1 or -1 by chance."""
MOST_LEVELS = 11
"""Gwet's coefficient is given for scales of at most this many levels."""


def undefined_items(why: str, n: int = 0, n_failed: int = 0) -> Estimate:
    """An undefined estimate over items, with the reason."""
    return undefined(why, n=n, n_failed=n_failed, unit="item")


def with_failures(estimate: Estimate, n_failed: int, *, by_item: bool = True) -> Estimate:
    """The estimate with the judge's failures as `n_failed`, and no longer among the undefined."""
    left_out = max(0, estimate.n_undefined - n_failed) if by_item else estimate.n_undefined
    return structs.replace(estimate, n_failed=n_failed, n_undefined=left_out)


def levels_of(scale: Scale | None) -> list[float] | None:
    """The levels of a scale, lowest first; none where it is unbounded or has no step."""
    return (scale.values() or None) if scale is not None else None


def correlations(table: LabelledTable, level: Level, resampling: Resampling) -> dict[str, Estimate]:
    """Pearson, Spearman and Kendall at one level, over the labelled items."""
    rows = table.labelled()
    judge, human = numbers(row.answer for row in rows), numbers(row.label for row in rows)
    n_failed = _n_failed(rows)
    estimates = {}
    for kind in COEFFICIENTS:
        estimate = correlate(
            judge,
            human,
            kind,
            level,
            groups=table.groups(rows),
            systems=[row.system for row in rows],
            resample=resampling.unit,
            n_resamples=resampling.n,
            seed=resampling.seed,
        )
        caution_text = _few_units_caution(estimate, level, rows)
        if estimate.value is not None and caution_text:
            estimate = with_caution(estimate, caution_text)
        estimates[str(kind)] = with_failures(estimate, n_failed, by_item=level != "group")
    if level == "system":
        estimates["soft_pairwise"] = with_failures(_soft_pairwise(table, resampling), n_failed, by_item=False)
    return estimates


def _few_units_caution(estimate: Estimate, level: Level, rows: Sequence[LabelledItem]) -> str:
    """A caution where a correlation over so few units is near 1 or -1 by chance; empty otherwise."""
    if level == "system" and estimate.n < FEW_SYSTEMS:
        return f"a correlation over {estimate.n} systems is unreliable"
    if level != "group":
        return ""
    # Within a group a system counts once, by the mean of its items.
    answered = {(row.group, row.system) for row in rows if row.answer is not None and row.group is not None}
    sizes = [size for size in Counter(group for group, _ in answered).values() if size > 1]
    n_twos = sizes.count(2)
    if not n_twos:
        return ""
    which = "all groups" if n_twos == len(sizes) else f"{n_twos} of {len(sizes)} groups"
    return f"{which} have only two items, where a correlation can only be 1 or -1"


def _soft_pairwise(table: LabelledTable, resampling: Resampling) -> Estimate:
    """Soft pairwise accuracy: whether judge and people are equally sure which of two systems is better."""
    rows = table.labelled()
    groups = table.groups(rows)
    if groups is None:
        return undefined_items(
            "the systems answered no common inputs (group)", len({row.system for row in rows})
        )
    judge, human = numbers(row.answer for row in rows), numbers(row.label for row in rows)
    return soft_pairwise_accuracy(
        judge, human, groups, [row.system for row in rows], resample=resampling.unit
    )


def agreement(table: LabelledTable, seed: int) -> dict[str, Estimate]:
    """Exact agreement and Gwet's coefficient with each of an item's raters, kappa and alpha with their mean.

    A mean of raters is no level, and rounding it would favour one end of the scale. So measures that count levels take
    the raters one by one, and measures of squared distance take the mean. Only Gwet's coefficient needs the levels.
    """
    rows = table.labelled()
    n_failed = _n_failed(rows)
    if not table.is_same_scale:
        undefined_estimate = undefined_items("the labels are on a different scale", len(rows), n_failed)
        return dict.fromkeys(("exact", "kappa", "alpha", "gwet"), undefined_estimate)
    answered = [row for row in rows if row.answer is not None]
    judge, human = numbers(row.answer for row in answered), numbers(row.label for row in answered)
    levels, groups = levels_of(table.scale), table.groups(answered)
    pairs_by_item = [_rater_pairs(row, levels) for row in answered]
    estimates = {
        "exact": share_of_equal([_share_alike(pairs) for pairs in pairs_by_item], groups),
        "kappa": quadratic_kappa(judge, human, groups),
        "alpha": krippendorff_alpha(
            list(zip(judge, human, strict=True)), "interval", clusters=groups, seed=seed
        ),
        "gwet": _gwet(pairs_by_item, levels, groups),
    }
    return {name: with_failures(estimate, n_failed) for name, estimate in estimates.items()}


def _rater_pairs(row: LabelledItem, levels: Sequence[float] | None) -> list[tuple[float, float]]:
    """The judge with each rater of an item, twice: a value midway between levels counts once as each of the two."""
    ratings = [rating for rating in numbers(row.ratings) if rating is not None]
    (answer,) = numbers([row.answer])
    if levels is None:
        return [(answer, rating) for rating in ratings if answer is not None]
    (judge_levels,) = halved([answer], levels)
    rater_levels = [both for both in halved(ratings, levels) if both is not None]
    if judge_levels is None:
        return []
    return [pair for both in rater_levels for pair in zip(judge_levels, both, strict=True)]


def _gwet(
    pairs_by_item: Sequence[Sequence[tuple[float, float]]],
    levels: Sequence[float] | None,
    groups: Sequence[str] | None,
) -> Estimate:
    if levels is None:
        return undefined_items("the levels of the scale are unknown", len(pairs_by_item))
    if len(levels) > MOST_LEVELS:
        return undefined_items(f"the scale has more than {MOST_LEVELS} levels", len(pairs_by_item))
    pairs = [pair for pairs in pairs_by_item for pair in pairs]
    items = [item for item, pairs in enumerate(pairs_by_item) for _ in pairs]
    return gwet(pairs, levels, items, None if groups is None else [groups[item] for item in items])


def pairwise(table: LabelledTable, seed: int) -> TieCalibration:
    """Pairwise accuracy: how often the judge orders two items as people do, ties included."""
    rows = table.labelled()
    n_failed = _n_failed(rows)
    judge, human = numbers(row.answer for row in rows), numbers(row.label for row in rows)
    calibration = tie_calibration(judge, human, table.groups(rows), seed=seed)
    plain, best, held_out = (
        with_failures(estimate, n_failed)
        for estimate in (calibration.plain, calibration.best, calibration.held_out)
    )
    return TieCalibration(plain, best, held_out, calibration.eps)


def choice_agreements(table: LabelledTable) -> dict[str, Estimate]:
    """How often the judge chooses as people do."""
    rows = table.labelled()
    agreements = choice_agreement(
        choices(row.answer for row in rows),
        choices(row.label for row in rows),
        table.groups(rows),
    )
    estimates = {"exact": agreements.exact, "decided": agreements.decided, "kappa": agreements.kappa}
    if any(row.has_order_conflict for row in rows):
        estimates["both_orders"] = _agreement_in_both_orders(table, rows)
    n_failed = _n_failed(rows)
    return {name: with_failures(estimate, n_failed) for name, estimate in estimates.items()}


def _agreement_in_both_orders(table: LabelledTable, rows: Sequence[LabelledItem]) -> Estimate:
    """Equal choices where a choice that changed with the order agrees with no label, not even with a tie.

    This is how agreement is published where judges see both orders (Zheng et al. 2023, Li et al. 2023: Auto-J).
    """
    answered = [row for row in rows if row.answer is not None]
    same = [float(row.answer == row.label and not row.has_order_conflict) for row in answered]
    return share_of_equal(same, table.groups(answered), n_undefined=len(rows) - len(answered))


def ceiling(table: LabelledTable, resampling: Resampling) -> PeopleCeiling:
    """The noise ceiling of the raters, and the judge compared with the same raters (Spearman)."""
    rows = table.labelled()
    judge = numbers(row.answer for row in rows)
    ratings = [numbers(row.ratings) for row in rows]
    groups = table.groups(rows)
    estimates = noise_ceiling(
        ratings,
        judge,
        "spearman",
        clusters=groups,
        n_resamples=max(1, resampling.n // 2),
        seed=resampling.seed,
    )
    n_failed = _n_failed(rows)
    return _ceiling(
        with_failures(estimates.lower, n_failed),
        upper=with_failures(estimates.upper, n_failed),
        judge=with_failures(estimates.judge, n_failed),
        share=with_failures(estimates.share, n_failed),
        by_rater=dict(zip(table.raters, estimates.by_rater, strict=False)),
        alpha=krippendorff_alpha(ratings, clusters=groups, seed=resampling.seed),
        corrected=with_failures(_at_most_one(estimates.corrected), n_failed),
    )


def _at_most_one(estimate: Estimate) -> Estimate:
    """A disattenuated correlation within what is possible: few raters can put it above 1."""
    if estimate.value is None:
        return estimate
    within_range = within(estimate, (-1.0, 1.0))
    if estimate.value <= 1:
        return within_range
    return structs.replace(within_range, value=1.0, low=None, high=None, reason="the estimate is above 1")


def ceiling_of_choices(table: LabelledTable) -> PeopleCeiling:
    """How often two raters agree, and how often the judge agrees with a rater, on pairs with two ratings."""
    rows = [row for row in table.labelled() if sum(rating is not None for rating in row.ratings) >= 2]
    if not rows:
        undefined_estimate = undefined_items("no pair has two ratings")
        return _ceiling(
            undefined_estimate, judge=undefined_estimate, share=undefined_estimate, alpha=undefined_estimate
        )
    places = {choice: float(place) for place, choice in enumerate(CHOICES)}
    ratings = [[None if rating is None else places.get(rating) for rating in row.ratings] for row in rows]
    alpha = krippendorff_alpha(ratings, "nominal", clusters=table.groups(rows))
    judged = [row for row in rows if row.answer is not None]
    rater_agreement = [_share_alike(list(combinations(_ratings(row), 2))) for row in judged]
    judge_agreement = [_share_alike([(row.answer, rating) for rating in _ratings(row)]) for row in judged]
    groups = table.groups(judged)
    n_failed = len(rows) - len(judged)
    people, judge = (
        mean_interval(shares, groups, n_failed, limits=(0.0, 1.0), name=name)
        for shares, name in (
            (rater_agreement, "share of rater pairs with the same choice"),
            (judge_agreement, "share of raters with the same choice as the judge"),
        )
    )
    if people.value and judge.value is not None:
        ratio = make_estimate(
            judge.value / people.value, no_interval("it is a ratio of two shares"),
            "the judge as a share of the ceiling", n=people.n, n_failed=people.n_failed, unit=people.unit,
        )  # fmt: skip
    else:
        ratio = undefined_items(
            "raters never make the same choice, or the judge failed on every pair", len(judged)
        )
    return _ceiling(people, judge=judge, share=ratio, alpha=alpha)


def _ratings(row: LabelledItem) -> list[float | str]:
    return [rating for rating in row.ratings if rating is not None]


def _share_alike(pairs: Sequence[tuple[object, object]]) -> float:
    return sum(first == other for first, other in pairs) / len(pairs)


def _ceiling(
    lower: Estimate,
    *,
    judge: Estimate,
    share: Estimate,
    upper: Estimate | None = None,
    by_rater: dict[str, float | None] | None = None,
    alpha: Estimate | None = None,
    corrected: Estimate | None = None,
) -> PeopleCeiling:
    return PeopleCeiling(
        **structs.asdict(lower), upper=upper, judge=judge, share=share, by_rater=by_rater or {}, alpha=alpha,
        corrected=corrected,
    )  # fmt: skip


def alternative_annotator_test(table: LabelledTable, epsilon: float = EPSILON, seed: int = 0) -> AltTest:
    """Can the judge replace a human rater? The test needs two raters with thirty items each."""
    rows = table.labelled()
    if not table.is_same_scale:
        undefined_estimate = undefined_items("the labels are on a different scale", len(rows))
        return AltTest(undefined_estimate, undefined_estimate, None, epsilon, ())
    answers, ratings = [row.answer for row in rows], [row.ratings for row in rows]
    closeness: Closeness = "near" if table.kind == "scores" else "equal"
    levels = CHOICES if table.kind == "choices" else levels_of(table.scale) or ()
    return alt_test(
        answers, ratings, closeness, eps=epsilon, names=table.raters, levels=levels, clusters=table.groups(rows),
        seed=seed,
    )  # fmt: skip


def stated_confidence(table: LabelledTable, seed: int) -> Confidence | None:
    """The calibration of stated confidence; right means the nearest level of the label, or the same choice."""
    rows = [row for row in table.labelled() if row.answer is not None]
    levels = levels_of(table.scale)
    if not any(row.confidence is not None for row in rows) or not table.is_same_scale:
        return None
    if table.kind == "choices":
        is_right = [row.answer == row.label for row in rows]
    elif levels is None:
        return None
    else:
        judge = halved(numbers(row.answer for row in rows), levels)
        human = halved(numbers(row.label for row in rows), levels)
        is_right = [
            share_a_level(judge_levels, rater_levels)
            for judge_levels, rater_levels in zip(judge, human, strict=True)
        ]
    return confidence_quality(
        [row.confidence for row in rows], is_right, clusters=table.groups(rows), seed=seed
    )


def share_a_level(first: tuple[float, float] | None, second: tuple[float, float] | None) -> bool:
    return first is not None and second is not None and not set(first).isdisjoint(second)


def _n_failed(rows: Sequence[LabelledItem]) -> int:
    return sum(row.answer is None for row in rows)


# -- Two judges of one criterion


MOST_JUDGES = 4
"""Up to this many judges, every two are compared; with more, each only with the first."""


def two_judges(tables: Mapping[str, LabelledTable], resampling: Resampling) -> tuple[JudgePair, ...]:
    """Compare every two judges of a criterion. A judge is a model with a protocol."""
    by_criterion: dict[tuple[str, Kind], list[str]] = defaultdict(list)
    for name, table in tables.items():
        if table.labelled():
            by_criterion[table.criterion, table.kind].append(name)
    return tuple(
        _two_judges(criterion, first, second, tables, resampling, kind)
        for (criterion, kind), names in by_criterion.items()
        for first, second in combinations(names, 2)
        if len(names) <= MOST_JUDGES or first == names[0]
    )


def _two_judges(
    criterion: str,
    first: str,
    second: str,
    tables: Mapping[str, LabelledTable],
    resampling: Resampling,
    kind: Kind,
) -> JudgePair:
    if kind == "choices":
        result, mcnemar = _compare_choices(tables[first], tables[second], resampling)
    else:
        result, mcnemar = _compare_scores(tables[first], tables[second], resampling), None
    comparison = JudgePair(criterion, first, second, Sentence("", ""), result, mcnemar)
    return structs.replace(comparison, sentence=two_judges_sentence(comparison))


def _compare_scores(first: LabelledTable, second: LabelledTable, resampling: Resampling) -> TwoJudges:
    rows = first.labelled()
    answers = {(row.item, row.subject): row.answer for row in second.rows}
    return compare_judges(
        numbers(row.answer for row in rows),
        numbers(answers.get((row.item, row.subject)) for row in rows),
        numbers(row.label for row in rows),
        groups=first.groups(rows),
        systems=[row.system for row in rows],
        resample=resampling.unit,
        n_resamples=resampling.n,
        n_permutations=max(1, resampling.n // 2),
        seed=resampling.seed,
    )


def _compare_choices(
    first: LabelledTable, second: LabelledTable, resampling: Resampling
) -> tuple[TwoJudges, Test]:
    """Both judges' shares of equal choices, their paired difference, and McNemar's test."""
    answers_of_second = {(row.item, row.subject): row.answer for row in second.rows}
    rows = [
        row
        for row in first.labelled()
        if isinstance(row.answer, str) and isinstance(answers_of_second.get((row.item, row.subject)), str)
    ]
    groups = first.groups(rows)
    answers_by_judge = [
        [row.answer for row in rows],
        [answers_of_second[row.item, row.subject] for row in rows],
    ]
    labels = [row.label for row in rows]
    shares = [exact_agreement(judge_answers, labels, groups) for judge_answers in answers_by_judge]
    is_right = [
        [answer == label for answer, label in zip(judge_answers, labels, strict=True)]
        for judge_answers in answers_by_judge
    ]
    gaps = [float(a) - float(b) for a, b in zip(*is_right, strict=True)]
    difference = mean_interval(gaps, groups, limits=(-1.0, 1.0), name="difference of shares of equal choices")
    permutation = sign_flip(gaps, n_resamples=resampling.n, seed=resampling.seed)
    no_williams = Test(None, None, len(rows), "Williams test", "it is for correlations")
    versus = TwoJudges(shares[0], shares[1], difference, permutation, no_williams)
    return versus, mcnemar_of(is_right[0], is_right[1])


def two_judges_sentence(judges: JudgePair) -> Sentence:
    """Which judge agrees with people better, by how much, and whether the difference is significant."""
    versus = judges.result
    difference = versus.difference
    source = f"{difference.method}; unit: {difference.unit or 'item'}; {versus.permutation.method}"
    if judges.mcnemar is not None:
        source = f"{difference.method}; unit: {difference.unit or 'item'}; {judges.mcnemar.method}"
    first, second = (
        f"'{name.removeprefix(f'{judges.criterion} · ')}'" for name in (judges.first, judges.second)
    )
    if difference.value is None:
        text = f"Whether {first} or {second} agrees better with people is unknown: {difference.reason}."
        return Sentence(text, source)
    better, worse, sign = first, second, 1.0
    if difference.value < 0:
        better, worse, sign = worse, better, -1.0
    better_estimate, worse_estimate = (
        (versus.first, versus.second) if sign > 0 else (versus.second, versus.first)
    )
    what = "Spearman" if judges.mcnemar is None else "exact agreement"
    evidence = f"{what} {_value(better_estimate)} and {_value(worse_estimate)}, difference {_oriented(difference, sign)}{_p(judges)}"
    start = f"On '{judges.criterion}' ({count(difference.n, 'item')} that both answered)"
    if difference.low is None or difference.high is None or difference.low <= 0 <= difference.high:
        return Sentence(
            f"{start}, {first} and {second} do not differ significantly in agreement with people ({evidence}).",
            source,
        )
    return Sentence(
        f"{start}, {better} agrees significantly better with people than {worse} ({evidence}).", source
    )


def _value(estimate: Estimate) -> str:
    return "–" if estimate.value is None else number(estimate.value)


def _oriented(difference: Estimate, sign: float) -> str:
    """The difference as better − worse."""
    if sign > 0 or difference.value is None:
        return interval(difference)
    low, high = difference.low, difference.high
    ends = (None, None) if low is None or high is None else (-high, -low)
    return interval(structs.replace(difference, value=-difference.value, low=ends[0], high=ends[1]))


def _p(judges: JudgePair) -> str:
    test = judges.mcnemar or judges.result.permutation
    return "" if test.p is None else f", {p_phrase(test.p)}"

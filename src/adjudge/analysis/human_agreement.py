"""How well judges agree with people: correlations, agreement, noise ceiling, alternative annotator test, two judges.

A judge is compared with one label per item (the mean or majority of its raters), except for exact agreement on scores,
Gwet's coefficient, the noise ceiling and the alternative annotator test, which compare it with each rater. Of two
judges, one is called better only where the interval of the difference excludes 0.

Details of the judge card: the verdict, rater severity, the confusion matrix, agreement in parts, single scores, many judges.

Agreement as a whole is in `human_agreement`. Where several intervals are read together (raters, parts, judges) they hold
together with 95 %.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import get_args

from msgspec import UnsetType, structs

from ..combine import Kind
from ..errors import DataError
from ..records import Estimate, Label, Scale
from ..sections import SHARES, Column, Section
from ..stats import (
    AltTest,
    ClassAgreement,
    Confidence,
    Level,
    PartAgreement,
    ScoreInterval,
    TieCalibration,
    TwoJudges,
    adjusted,
    agreement_in_parts,
    alt_test,
    choice_agreement,
    clustered_share,
    cohen_kappa,
    compare_judges,
    confidence_quality,
    correlate,
    exact_agreement,
    fleiss_kappa,
    gwet,
    halved,
    krippendorff_alpha,
    many_judges,
    mcnemar_of,
    mean_interval,
    noise_ceiling,
    quadratic_kappa,
    rater_severity,
    score_interval,
    share_of_equal,
    sign_flip,
    simultaneous,
    soft_pairwise_accuracy,
    tie_calibration,
)
from ..stats import Kind as Coefficient
from ..stats.agreement import CHOICES
from ..stats.alt_test import EPSILON, Closeness
from ..stats.arrays import make_estimate, no_interval, undefined, with_caution, within
from ..stats.resample import SAME
from ..stats.two_judges import Test
from ..words import count, interval, number, p_phrase, percent, percent_cell
from ..words import names as named
from .label_join import LabelledItem, LabelledTable, as_float, choices, join, number_or_none, numbers
from .result_types import (
    BestJudge,
    ChosenJudge,
    ConfusionMatrix,
    JudgePair,
    PeopleCeiling,
    RaterSeverity,
    ReplacementVerdict,
    Resampling,
    Sentence,
    VerdictReason,
)
from .run_view import RunView

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


def correlations(
    table: LabelledTable, level: Level, resampling: Resampling, kinds: Sequence[Coefficient] = COEFFICIENTS
) -> dict[str, Estimate]:
    """Pearson, Spearman and Kendall at one level, over the labelled items."""
    rows = table.labelled()
    judge, human = numbers(row.answer for row in rows), numbers(row.label for row in rows)
    n_failed = _n_failed(rows)
    estimates = {}
    for kind in kinds:
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
    drawn = [row.probability for row in rows]
    return soft_pairwise_accuracy(
        judge, human, groups, [row.system for row in rows], resample=resampling.unit,
        probabilities=None if None in drawn or len(set(drawn)) < 2 else drawn,
    )  # fmt: skip


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
    if table.classes:
        return class_agreements(table)
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


def class_agreements(table: LabelledTable) -> dict[str, Estimate]:
    """How often the judge chooses the class that people chose, and Cohen's kappa over all classes."""
    rows = table.labelled()
    judge, human = choices(row.answer for row in rows), choices(row.label for row in rows)
    groups, n_failed = table.groups(rows), _n_failed(rows)
    estimates = {
        "exact": exact_agreement(judge, human, groups),
        "kappa": cohen_kappa(judge, human, table.classes, groups),
    }
    return {name: with_failures(estimate, n_failed) for name, estimate in estimates.items()}


def by_class(table: LabelledTable) -> dict[str, ClassAgreement]:
    """For each class: how often people agree where the judge chose it (precision), and the reverse (recall)."""
    rows = table.labelled()
    found = {}
    for name in table.classes:
        chosen = [row for row in rows if row.answer == name]
        right = [row for row in rows if row.label == name]
        answered = [row for row in right if row.answer is not None]
        n_failed = len(right) - len(answered)
        found[name] = ClassAgreement(
            precision=clustered_share(
                [float(row.label == name) for row in chosen], table.groups(chosen), unit="item"
            ),
            recall=clustered_share(
                [float(row.answer == name) for row in answered], table.groups(answered), n_failed, unit="item"
            ),
            n_judge=len(chosen),
            n_human=len(right),
        )
    return found


def classes_section(classes: Mapping[str, ClassAgreement]) -> Section:
    """The precision and recall of each label."""
    about = (
        "Precision: of the items that the judge gave this label, the share that people gave it, too. Recall: of those that people gave "
        "it, the share that the judge gave it; items on which the judge failed are not counted."
    )
    rows = tuple(
        (
            name,
            percent_cell(found.precision),
            percent_cell(found.recall),
            str(found.n_judge),
            str(found.n_human),
            str(found.recall.n_failed),
            "; ".join(dict.fromkeys(one.reason for one in (found.precision, found.recall) if one.reason)),
        )
        for name, found in classes.items()
    )
    columns = (
        "label",
        Column("precision [95 % CI]", SHARES),
        Column("recall [95 % CI]", SHARES),
        "judge",
        "people",
        "failed",
        "remark",
    )
    return Section("Labels", (about,), columns, rows, 3)


def classes_sentence(classes: Mapping[str, ClassAgreement] | UnsetType) -> str:
    """The label that the judge finds worst."""
    known = {
        name: found.recall
        for name, found in (classes.items() if not isinstance(classes, UnsetType) else ())
        if found.recall.value is not None
    }
    if not known:
        return "How well it finds each label is unknown: no item has a label."
    worst = min(known, key=lambda name: (known[name].value or 0.0, name))
    if (known[worst].value or 0.0) >= 1:
        return "The judge finds every label that people gave."
    return f"Lowest recall: {worst}, {percent(known[worst])} of the items that people gave this label."


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
    rows = [row for row in table.rated() if sum(rating is not None for rating in row.ratings) >= 2]
    if not rows:
        undefined_estimate = undefined_items("no pair has two ratings")
        return _ceiling(
            undefined_estimate, judge=undefined_estimate, share=undefined_estimate, alpha=undefined_estimate
        )
    places = {choice: float(place) for place, choice in enumerate(table.classes or CHOICES)}
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
    top = _ceiling(people, judge=judge, share=ratio, alpha=alpha)
    if not table.classes:
        return top
    by_item = [[str(rating) for rating in _ratings(row)] for row in rows]
    return structs.replace(top, fleiss=fleiss_kappa(by_item, table.classes, table.groups(rows)))


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
    rows = table.rated()
    if not table.is_same_scale:
        undefined_estimate = undefined_items("the labels are on a different scale", len(rows))
        return AltTest(undefined_estimate, undefined_estimate, None, epsilon, ())
    answers, ratings = [row.answer for row in rows], [row.ratings for row in rows]
    closeness: Closeness = "near" if table.kind == "scores" else "equal"
    levels = table.classes or (CHOICES if table.kind == "choices" else levels_of(table.scale) or ())
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
        pair
        for (criterion, kind), names in by_criterion.items()
        for pair in adjusted_sentences(
            [
                _two_judges(criterion, first, second, tables, resampling, kind)
                for first, second in combinations(names, 2)
                if len(names) <= MOST_JUDGES or first == names[0]
            ]
        )
    )


def adjusted_sentences(pairs: Sequence[JudgePair]) -> list[JudgePair]:
    """The pairs with sentences that hold together: with several, intervals by Bonferroni and p-values by Holm."""
    if len(pairs) < 2:
        return list(pairs)
    tests = [pair.mcnemar or pair.result.permutation for pair in pairs]
    sentences = []
    for pair, test, p in zip(pairs, tests, adjusted([test.p for test in tests]), strict=True):
        difference = pair.result.difference
        wider = simultaneous(difference, len(pairs), max(1, difference.n - 1))
        together = structs.replace(
            pair,
            result=structs.replace(pair.result, difference=wider, permutation=structs.replace(test, p=p)),
            mcnemar=None if pair.mcnemar is None else structs.replace(pair.mcnemar, p=p),
        )
        sentences.append(two_judges_sentence(together))
    return [structs.replace(pair, sentence=sentence) for pair, sentence in zip(pairs, sentences, strict=True)]


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
    start = f"On '{judges.criterion}' ({count(difference.n, 'item')} that both answered)"
    if difference.low is None or difference.high is None or difference.low <= 0 <= difference.high:
        evidence = f"{what} {_value(versus.first)} and {_value(versus.second)}, difference {interval(difference)}{_p(judges)}"
        return Sentence(
            f"{start}, {first} and {second} do not differ significantly in agreement with people ({evidence}).",
            source,
        )
    evidence = (
        f"{what} {_value(better_estimate)} and {_value(worse_estimate)}, "
        f"difference {_oriented(difference, sign)}{_p(judges)}"
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


LARGE_GAP = 0.1
"""A rater who is this share of the scale above or below the others, significantly, gets a warning."""
MOST_PARTS = 12
"""Different values up to which each is a part; numbers with more are cut into thirds."""


# -- The verdict


def replacement_verdict(test: AltTest | None, ceiling: PeopleCeiling | None) -> ReplacementVerdict:
    """Whether the judge can replace a human rater, from the test and the human ceiling together."""
    if test is None or test.passes is None:
        return ReplacementVerdict("undefined", ("undefined",))
    reasons: list[VerdictReason] = []
    if ceiling is not None and ceiling.standing == "below":
        reasons.append("below_rater")
    if (test.winning_rate.value or 0.0) < 0.5:
        reasons.append("loses")
    if test.constant is not None and not test.constant.is_beaten:
        reasons.append("constant")
    if test.shuffled is not None and not test.shuffled.is_beaten:
        reasons.append("shuffled")
    if not reasons:
        return ReplacementVerdict("yes")
    return ReplacementVerdict("no" if "below_rater" in reasons else "not shown", tuple(reasons))


# -- The raters


def severities(table: LabelledTable) -> dict[str, RaterSeverity]:
    """How much higher each rater scores than the others: on the same items, or by the distance from the judge."""
    rows = table.labelled()
    if table.kind != "scores" or len(table.raters) < 2:
        return {}
    ratings = [numbers(row.ratings) for row in rows]
    limits = table.scale.limits if table.scale is not None and table.is_same_scale else None
    width = None if limits is None else limits[1] - limits[0]
    found = rater_severity(
        ratings, numbers(row.answer for row in rows), clusters=table.groups(rows), width=width
    )
    values = [rating for row in ratings for rating in row if rating is not None]
    span = width if width is not None else max(values, default=0.0) - min(values, default=0.0)
    return {
        table.raters[place]: RaterSeverity(
            estimate,
            basis,
            _is_shown(estimate) and abs(estimate.value or 0.0) >= max(1e-9, LARGE_GAP * span),
        )
        for place, (estimate, basis) in found.items()
    }


def _is_shown(difference: Estimate) -> bool:
    """Whether a difference is significant, or the same on every item."""
    if difference.low is None or difference.high is None:
        return difference.reason == SAME
    return not difference.low <= 0 <= difference.high


# -- The confusion matrix


def confusion_matrix(table: LabelledTable) -> ConfusionMatrix | None:
    """The judge's answers against each rating; a score between two levels counts as the nearest, midway as the upper."""
    rows = table.rated()
    counts: Counter[tuple[str, str]] = Counter()
    if table.kind == "choices":
        columns = list(table.classes or ("a", "b", "tie"))
        for row in rows:
            counts.update(
                (str(row.answer or "failed"), str(rating)) for rating in row.ratings if rating is not None
            )
    else:
        levels = _levels(table, rows)
        if not levels or not table.is_same_scale:
            return None
        columns = [f"{level:g}" for level in levels]
        for row in rows:
            answer = _at_level(number_or_none(row.answer), levels)
            for rating in numbers(row.ratings):
                if rating is not None:
                    counts[answer or "failed", _at_level(rating, levels) or ""] += 1
    lines = [*columns, *(["failed"] if any(judge == "failed" for judge, _ in counts) else [])]
    return ConfusionMatrix(
        judge=tuple(lines),
        human=tuple(columns),
        counts=tuple(tuple(counts[line, column] for column in columns) for line in lines),
        n_items=len(rows),
        n_ratings=sum(counts.values()),
    )


def _levels(table: LabelledTable, rows: Sequence[LabelledItem]) -> list[float]:
    """The levels of the scale, or the values that occur where it is unknown; none where there are too many."""
    levels = levels_of(table.scale)
    if levels is None and table.scale is None:
        answers = [answer for row in rows for answer in (row.answer, *row.ratings)]
        levels = sorted({answer for answer in numbers(answers) if answer is not None})
    return levels if levels and 2 <= len(levels) <= MOST_LEVELS else []


def _at_level(value: float | None, levels: Sequence[float]) -> str | None:
    (both,) = halved([value], levels)
    return None if both is None else f"{both[1]:g}"


# -- Agreement in parts of the items


def agreement_by(table: LabelledTable, fields: Sequence[str]) -> dict[str, dict[str, PartAgreement]]:
    """Agreement by system, by length of the response, and by each of these fields; only where there are two parts."""
    rows = [row for row in table.labelled() if row.answer is not None]
    length = "longer" if table.kind == "choices" else "length"
    columns: dict[str, list[str | None]] = {
        "system": [" - ".join(row.systems) if table.kind == "choices" else row.system for row in rows],
        "length": _parts([row.attributes.get(length) for row in rows], "length"),
    }
    for name in fields:
        if name not in columns:
            columns[name] = _parts([row.attributes.get(name) for row in rows], name)
    limits = table.scale.limits if table.scale is not None and table.is_same_scale else None
    by = {}
    for name, parts in columns.items():
        if len({part for part in parts if part is not None}) < 2:
            continue
        found = agreement_in_parts(
            [row.answer for row in rows], [row.label for row in rows], parts, table.groups(rows),
            is_choices=table.kind == "choices", width=None if limits is None else limits[1] - limits[0],
        )  # fmt: skip
        by[name] = {str(part): found[part] for part in sorted(found, key=_place)}
    return by


def _parts(values: Sequence[float | str | None], name: str) -> list[str | None]:
    """The part of each value: itself, or its third where there are many different numbers."""
    distinct = {value for value in values if value is not None}
    if len(distinct) <= MOST_PARTS:
        return [
            None if value is None else f"{value:g}" if isinstance(value, float) else value for value in values
        ]
    if any(as_float(value) is None for value in distinct):
        raise DataError(
            f"--by {name}: the labelled items have {len(distinct)} different values of '{name}'. "
            f"Use a field with at most {MOST_PARTS} values, or with numbers, which are cut into thirds."
        )
    ordered = sorted(number for value in values if (number := as_float(value)) is not None)
    low, high = ordered[len(ordered) // 3], ordered[2 * len(ordered) // 3]

    def third(value: float | str | None) -> str | None:
        number = as_float(value)
        if number is None:
            return None
        return (
            f"below {low:g}"
            if number < low
            else f"{low:g} to {high:g}"
            if number <= high
            else f"above {high:g}"
        )

    return [third(value) for value in values]


def _place(part: object) -> tuple[int, str]:
    """Thirds from low to high; other parts by their names."""
    text = str(part)
    return next(
        (place for place, word in enumerate(("below ", "", "above ")) if word and text.startswith(word)), 1
    ), text


def check_fields(fields: Sequence[str], tables: Mapping[str, LabelledTable]) -> None:
    """Refuse fields that no labelled item has."""
    known = {
        name for table in tables.values() for row in table.labelled() for name in (*row.attributes, "system")
    }
    missing = [name for name in fields if name not in known]
    if missing:
        raise DataError(
            f"--by {missing[0]}: no labelled item has a field '{missing[0]}'. "
            f"Use a field of the items, or a column of the scores; spelled exactly as there."
        )


# -- A single score


def single_score(table: LabelledTable, seed: int) -> ScoreInterval | None:
    """Between which labels of people a single score stands; none for choices and for labels on another scale."""
    rows = table.labelled()
    if table.kind != "scores" or not table.is_same_scale or not rows:
        return None
    return score_interval(
        numbers(row.label for row in rows), numbers(row.answer for row in rows), clusters=table.groups(rows),
        limits=table.scale.limits if table.scale is not None else None, seed=seed,
    )  # fmt: skip


ScoreIntervals = dict[tuple[str, str, str], ScoreInterval]
"""(protocol, criterion, model) → the interval of its single scores"""


def score_intervals(view: RunView, labels: Sequence[Label], seed: int = 0) -> ScoreIntervals:
    """The intervals of the scores of a run; only those that exist."""
    intervals: ScoreIntervals = {}
    for table in join(view, labels).values():
        interval = single_score(table, seed)
        if interval is not None and interval.below is not None:
            intervals[table.protocol, table.criterion, table.model] = interval
    return intervals


# -- Many judges of one criterion


def best_judges(tables: Mapping[str, LabelledTable], seed: int) -> tuple[BestJudge, ...]:
    """For each criterion with several judges: which agrees best."""
    judges: dict[tuple[str, Kind], list[str]] = defaultdict(list)
    for name, table in tables.items():
        if table.labelled():
            judges[table.criterion, table.kind].append(name)
    return tuple(
        _best_judge(criterion, kind, {name: tables[name] for name in members}, seed)
        for (criterion, kind), members in judges.items()
        if len(members) > 1
    )


def _best_judge(criterion: str, kind: Kind, tables: Mapping[str, LabelledTable], seed: int) -> BestJudge:
    judges, first = list(tables), next(iter(tables.values()))
    rows = first.labelled()
    answers = [
        [found.get((row.item, row.subject)) for row in rows]
        for table in tables.values()
        for found in [{(other.item, other.subject): other.answer for other in table.rows}]
    ]
    result = many_judges(
        answers,
        [row.label for row in rows],
        groups=first.groups(rows),
        is_choices=kind == "choices",
        seed=seed,
    )
    chosen = result.held_out
    return BestJudge(
        criterion=criterion,
        first=judges[0],
        best=None if result.best is None else judges[result.best],
        n=result.n,
        agreement=dict(zip(judges, result.agreement, strict=True)),
        over_first={
            name: lead for name, lead in zip(judges, result.over_first, strict=False) if lead is not None
        },
        behind_best={
            name: lag for name, lag in zip(judges, result.behind_best, strict=False) if lag is not None
        },
        improved=tuple(judges[place] for place in result.improved),
        leading=tuple(judges[place] for place in result.leading),
        held_out=None
        if chosen is None
        else ChosenJudge(judges[chosen.chosen], chosen.agreement, chosen.lead),
        reason=result.reason,
        kind=kind,
    )


def severity_note(severity: Mapping[str, RaterSeverity]) -> tuple[str, ...]:
    """A warning on raters who score much higher or lower than the others."""
    large = [rater for rater, own in severity.items() if own.is_large]
    if not large:
        return ()
    own = severity[max(large, key=lambda rater: abs(severity[rater].difference.value or 0.0))]
    size = abs(own.difference.value or 0.0)
    where = "on the same items" if own.basis == "same items" else "compared through the judge's scores"
    note = f"Rater severity differs by up to {size:.2f} points ({where}): {named(large)}."
    if own.basis == "judge":
        note += " They rated no common items, so the corrected means depend on who rated what: let them rate some items together."
    return (note,)

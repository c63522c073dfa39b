"""Two judges of one criterion: which agrees better with people, in numbers and as a sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from msgspec import structs

from ...records import Estimate
from ...results.combine import Kind
from ...stats import (
    Equivalence,
    TwoJudges,
    adjusted,
    compare_judges,
    equivalence,
    equivalent_together,
    exact_agreement,
    mcnemar_of,
    mean_interval,
    sign_flip,
    simultaneous,
)
from ...stats.two_judges import Test
from ...words import count, interval, number, p_phrase
from ..equivalence import equivalence_interval
from ..labels.labelled import LabelledTable, numbers
from ..significance import SIGNIFICANCE
from .card import JudgePair, Resampling, Sentence

AGREEMENT_MARGIN = 0.05
"""A difference in agreement with people below this does not matter, unless a margin is given."""


MOST_JUDGES = 4
"""Up to this many judges, every two are compared; with more, each only with the first."""


def two_judges(
    tables: Mapping[str, LabelledTable], resampling: Resampling, margin: float = AGREEMENT_MARGIN
) -> tuple[JudgePair, ...]:
    """Compare every two judges of a criterion. A judge is a model with a protocol.

    `margin` is the difference in agreement that does not matter.
    """
    by_criterion: dict[tuple[str, Kind], list[str]] = defaultdict(list)
    for name, table in tables.items():
        if table.labelled():
            by_criterion[table.criterion, table.kind].append(name)
    return tuple(
        pair
        for (criterion, kind), names in by_criterion.items()
        for pair in adjusted_sentences(
            [
                _with_equivalence(_two_judges(criterion, first, second, tables, resampling, kind), margin)
                for first, second in combinations(names, 2)
                if len(names) <= MOST_JUDGES or first == names[0]
            ]
        )
    )


def adjusted_sentences(pairs: Sequence[JudgePair]) -> list[JudgePair]:
    """The pairs with sentences that hold together: with
    several, intervals by Bonferroni and p-values by Holm.
    """
    if len(pairs) < 2:
        return list(pairs)
    tests = [pair.mcnemar or pair.result.permutation for pair in pairs]
    each = [
        Equivalence(AGREEMENT_MARGIN, None, None, "not shown")
        if pair.equivalence is None
        else pair.equivalence
        for pair in pairs
    ]
    verdicts = equivalent_together(each)
    sentences = []
    for pair, equal, test, p in zip(
        pairs, verdicts, tests, adjusted([test.p for test in tests]), strict=True
    ):
        difference = pair.result.difference
        wider = simultaneous(difference, len(pairs), max(1, difference.n - 1))
        together = structs.replace(
            pair,
            equivalence=equal,
            result=structs.replace(pair.result, difference=wider, permutation=structs.replace(test, p=p)),
            mcnemar=None if pair.mcnemar is None else structs.replace(pair.mcnemar, p=p),
        )
        sentences.append(two_judges_sentence(together))
    return [
        structs.replace(pair, sentence=sentence, equivalence=equal)
        for pair, sentence, equal in zip(pairs, sentences, verdicts, strict=True)
    ]


def _with_equivalence(pair: JudgePair, margin: float) -> JudgePair:
    """The pair with its verdict on equivalence, which its sentence says as well."""
    difference = pair.result.difference
    equal = equivalence(difference, margin, max(1, difference.n - 1))
    judged = structs.replace(pair, equivalence=equal)
    return structs.replace(judged, sentence=two_judges_sentence(judged))


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
    test = judges.mcnemar or versus.permutation
    is_outside = difference.low is not None and difference.high is not None
    is_outside = is_outside and not (difference.low or 0.0) <= 0 <= (difference.high or 0.0)
    is_significant = is_outside if test.p is None else test.p <= SIGNIFICANCE
    if not (is_outside and is_significant):
        evidence = (
            f"{what} {_value(versus.first)} and {_value(versus.second)}, difference "
            f"{interval(difference)}{_p(judges)}"
        )
        is_equivalent = judges.equivalence is not None and judges.equivalence.verdict == "equivalent"
        is_doubtful = is_outside != is_significant and not is_equivalent
        doubt = f": {_DOUBT[is_outside]}" if is_doubtful else ""
        return Sentence(
            f"{start}, {first} and {second} {_no_difference(judges)} ({evidence}){doubt}.",
            source,
        )
    evidence = (
        f"{what} {_value(better_estimate)} and {_value(worse_estimate)}, "
        f"difference {_oriented(difference, sign)}{_p(judges)}"
    )
    return Sentence(
        f"{start}, {better} agrees significantly better with people than {worse} ({evidence}).", source
    )


_DOUBT = {
    True: "the interval excludes 0, but the test is not significant",
    False: "the test is significant, but the interval includes 0",
}
"""Why a difference is not called significant although the interval, or else the test, says so."""


def _no_difference(judges: JudgePair) -> str:
    equal = judges.equivalence
    if equal is not None and equal.verdict == "equivalent":
        return (
            f"are equivalent: their agreement with people differs by less than {equal.margin:g}"
            f"{equivalence_interval(judges.result.difference, equal)}"
        )
    return "do not differ significantly in agreement with people"


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

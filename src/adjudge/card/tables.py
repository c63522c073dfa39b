"""A card as sections of text and cells, which a terminal and Markdown show alike.

Names stand here as users wrote them: whoever prints a section makes them harmless first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..records import Estimate
from ..sections import Section
from ..stats import Retest, Test, caution, reason
from ..stats.difference import LABELLED
from ..words import NO_VALUE, count, interval, number, percent, share
from .shapes import Card, CorrectedMean, CriterionCard, Sentence

MEANING = (
    "[low, high] is a 95 % interval for the unit that is named. A label is the mean of an item's raters (of choices the "
    "majority). n counts what the number rests on, failed where the judge gave nothing, left out what could not be used."
)
WORTH = (
    "Worth: so many labels without a judge would give an interval as narrow as the corrected one. More than there are: "
    "the judge saves labels; fewer: it brings nothing here."
)
_MEANINGS = {
    "exact": "equal answers: the share of an item's raters who gave what the judge gave, averaged over items",
    "kappa": "quadratic kappa and Krippendorff alpha: 1 is perfect, 0 is chance; a miss counts by the square of its "
    "distance from the label",
    "gwet": "Gwet AC2: the same against each rater, steady where nearly all answers are one level",
    "soft_pairwise": "soft pairwise accuracy: 1 where the judge is just as sure as people of which of two systems is better",
}
_PAIRS = (
    "pairs ordered alike: of two items, how often judge and people put the same one first, or both none; with small gaps "
    "as ties: the judge's scores that are closer than a gap found on other items count as equal"
)

_NAMES = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
    "exact": "equal answers",
    "decided": "equal, both decided",
    "kappa": "quadratic kappa",
    "alpha": "Krippendorff alpha",
    "gwet": "Gwet AC2",
    "soft_pairwise": "soft pairwise accuracy",
}


def sections(card: Card) -> Iterator[Section]:
    """The card from its sentences to its last table."""
    title = f"Judge card of {card.run}" if card.run else "Judge card"
    yield Section(title, (*_told(card.summary), *(f"! {note}" for note in card.notes)), depth=1)
    for name, one in card.criteria.items():
        yield from _criterion(name, one, is_only=len(card.criteria) == 1)
    if card.judges:
        yield _judges(card)
    yield Section("How to read this", (*_meanings(card), f"resampled: {card.resample}; seed {card.seed}"))


def _meanings(card: Card) -> Iterator[str]:
    """What the words of this card mean, each where it occurs."""
    yield MEANING
    labelled = [one for one in card.criteria.values() if one.n_labelled]
    scored = [one for one in labelled if one.kind == "scores"]
    shown = {name for one in scored for found in (one.item, one.system) for name in found}
    yield from (told for name, told in _MEANINGS.items() if name in shown)
    if any(one.pairwise is not None for one in scored):
        yield _PAIRS
    if labelled:
        yield WORTH


def _told(sentences: tuple[Sentence, ...]) -> Iterator[str]:
    for sentence in sentences:
        yield sentence.text
        yield f"  from: {sentence.source}"


def _criterion(name: str, card: CriterionCard, is_only: bool) -> Iterator[Section]:
    raters = count(len(card.raters), "rater")
    about = f"{card.n_labelled} of {count(card.n_items, 'item')} labelled by {raters}, judge {card.model}"
    opening = () if is_only else tuple(_told(card.sentences))
    yield Section(name, (about, *opening, *(f"! {note}" for note in card.notes)))
    if card.n_labelled:
        yield _agreement(card)
        yield from _people(card)
        everywhere = {} if card.pooled is None else {"(all systems)": card.pooled}
        yield _corrected("What is the score really?", {**card.corrected, **everywhere})
        if card.differences:
            yield _corrected("Differences of systems", card.differences, "n")
        yield from _more(card)
    yield _by_itself(card)


def _more(card: CriterionCard) -> Iterator[Section]:
    """What only some cards have: shares of passes, calibration, a plan."""
    columns = ("what", "value [95 %]", "n", "failed", "left out", "unit", "remark")
    rows = [
        _estimate_row((f"{name} passes (Rogan-Gladen)",), found) for name, found in card.pass_share.items()
    ]
    names = {
        "before": "distance from people, as it stands",
        "after": "… isotonic calibration, held-out items",
        "ordinal": "… ordinal calibration, held-out items",
        "error_before": "calibration error, as it stands",
        "error_after": "… isotonic calibration, held-out items",
        "error_ordinal": "… ordinal calibration, held-out items",
    }
    rows += [
        _estimate_row((told,), card.calibration[name])
        for name, told in names.items()
        if name in card.calibration
    ]
    if rows:
        yield Section("Correcting single scores", (), columns, tuple(rows), 3)
    if card.plan:
        planned = tuple(
            (
                name,
                f"{plan.width:g}",
                str(plan.n_labels),
                _labels(plan.with_judge),
                _labels(plan.without_judge),
                plan.why,
            )
            for name, plan in card.plan.items()
        )
        heads = ("system", "width", "labels so far", "labels needed", "without the judge", "remark")
        yield Section("How many labels?", (), heads, planned, 3)


def _labels(n: int | None) -> str:
    return NO_VALUE if n is None else f"{n:,}"


def _judges(card: Card) -> Section:
    """Two judges on the same labelled items."""
    columns = ("criterion", "first", "second", "first [95 %]", "second [95 %]", "first - second [95 %]", "p",
               "p, Williams", "n", "remark")  # fmt: skip
    rows = tuple(
        (
            apart.criterion, apart.first, apart.second, interval(apart.result.first), interval(apart.result.second),
            interval(apart.result.difference), _p(apart.mcnemar or apart.result.permutation),
            _p(apart.result.williams), str(apart.result.difference.n),
            reason(apart.result.difference) or caution(apart.result.difference) or apart.result.permutation.why,
        )
        for apart in card.judges
    )  # fmt: skip
    lines = tuple(_told(tuple(apart.sentence for apart in card.judges)))
    means = (
        "Scores: Spearman with people, p by permuting the two judges' scores. Choices: the share of equal choices, "
        "p by McNemar's exact test."
    )
    return Section("Which judge goes with people better?", (*lines, means), columns, rows)


def _p(test: Test) -> str:
    return NO_VALUE if test.p is None else f"{test.p:.3f}"


def _agreement(card: CriterionCard) -> Section:
    rows = [
        _estimate_row((level, statistic_name(name, card)), estimate)
        for level, found in (("item", card.item), ("group", card.group), ("system", card.system))
        for name, estimate in found.items()
    ]
    if card.pairwise is not None:
        where = "group" if card.group["pearson"].unit.startswith("group") else "item"
        rows.append(_estimate_row((where, "pairs ordered alike"), card.pairwise.plain))
        rows.append(_estimate_row((where, "… small gaps as ties"), card.pairwise.held_out))
    columns = ("level", "statistic", "value [95 %]", "n", "failed", "left out", "unit", "remark")
    return Section("Agreement with people", (), columns, tuple(rows), 3)


def statistic_name(statistic: str, card: CriterionCard) -> str:
    """Choices have no distances: their kappa is the plain one."""
    return "Cohen kappa" if statistic == "kappa" and card.kind == "choices" else _NAMES[statistic]


def _people(card: CriterionCard) -> Iterator[Section]:
    columns = ("what", "value [95 %]", "n", "failed", "left out", "unit", "remark")
    top = card.ceiling
    if top is not None:
        rows = [_estimate_row(("a rater with the others",), top)]
        rows.append(_estimate_row(("the judge with the same",), top.judge))
        rows.append(_estimate_row(("judge / rater",), top.share))
        how = (
            "Spearman: each rater in turn is left out and held against the mean of the others; so is the judge."
            if card.kind == "scores"
            else "How often two raters choose alike, and the judge and a rater."
        )
        yield Section("People among themselves", (how,), columns, tuple(rows), 3)
    test = card.alt_test
    if test is None:
        return
    verdict = {True: "yes", False: "not shown", None: "cannot be said"}[test.passes]
    lines = [
        f"{verdict} (alternative annotator test, eps = {test.eps:g}: it passes where the judge wins against half of the raters)",
        "Each rater in turn is left out, and judge and rater are held against the others. Advantage: how often the judge is "
        f"at least as close. It wins where it is shown to be less than {test.eps:g} behind the rater: people cost more.",
    ]
    rows = [
        _estimate_row(("winning rate",), test.winning_rate),
        _estimate_row(("advantage",), test.advantage),
    ]
    lines += [f"! {text}" for text in test.cautions]
    yield Section("May it replace a person?", tuple(lines), columns, tuple(rows), 3)


def _estimate_row(names: tuple[str, ...], found: Estimate) -> tuple[str, ...]:
    remark = "; ".join(text for text in (reason(found), caution(found)) if text)
    return (
        *names,
        interval(found),
        str(found.n),
        str(found.n_failed),
        str(found.n_undefined),
        found.unit or NO_VALUE,
        remark,
    )


def _corrected(title: str, means: Mapping[str, CorrectedMean], count_of: str = "labels") -> Section:
    """Each mean three ways, and how many labels without a judge would have known it as well."""
    columns = ("system", "corrected [95 %]", "judge alone", "labels alone", "judge - people", count_of, "failed",
               "worth", "unit", "remark")  # fmt: skip
    rows = tuple(
        (
            name,
            interval(mean),
            interval(mean.judge_only),
            interval(mean.labels_only),
            interval(mean.bias),
            str(mean.n),
            str(mean.n_failed),
            _worth(mean),
            mean.unit or NO_VALUE,
            reason(mean),
        )
        for name, mean in means.items()
    )
    lines = () if rows else ("No judged item has a label.",)
    if any(mean.unit == LABELLED for mean in means.values()):
        lines = ("A labelled input counts once, whether it has labels of both systems or of one.",)
    return Section(title, lines, columns if rows else (), rows, 3)


def _worth(mean: CorrectedMean) -> str:
    if mean.effective_labels is None:
        return NO_VALUE
    noun, nouns = ("input", "inputs") if mean.unit == LABELLED else ("label", "labels")
    return count(round(mean.effective_labels), noun, nouns)


def _by_itself(card: CriterionCard) -> Section:
    """Failures by system with what they leave open, and the spread of the answers."""
    quality = card.quality
    rows = []
    for system, own in quality.failures.items():
        limits = own.bounds
        span = NO_VALUE if limits is None else f"{number(limits.low)} to {number(limits.high)}"
        statuses = ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in own.by_status.items())
        samples = f"{own.n_samples_failed} of {own.n_samples}"
        rows.append((system, str(own.n), percent(own.failed), span, samples, statuses))
    columns = ("system", "items", "failed [95 %]", "mean, whatever the failed were", "samples failed", "why")
    return Section("Without people", tuple(_spread_lines(card)), columns, tuple(rows), 3)


def _spread_lines(card: CriterionCard) -> Iterator[str]:
    quality = card.quality
    spread = quality.spread
    if spread is not None and spread.mode is not None and spread.mode_share is not None:
        text = f"most frequent score {spread.mode:g} ({share(spread.mode_share)} of {spread.n})"
        if spread.relative_entropy is not None:
            text += f"; the levels are used to {share(spread.relative_entropy)} of what even use would be"
        yield text
    if quality.counts:
        yield "chosen: " + ", ".join(f"{choice} {n}" for choice, n in quality.counts.items())
    if quality.sample_sd is not None:
        yield f"asked again, a score varies by {number(quality.sample_sd)} (standard deviation within items)"
    if quality.retest is not None:
        yield from _retest_lines(quality.retest)
    if quality.minimum_detectable is not None and len(quality.failures) > 1:
        yield f"as many items show a difference of {number(quality.minimum_detectable)} between two systems (power 80 %)"
    if card.confidence is not None:
        yield f"stated confidence is off by {interval(card.confidence.error)} on average (calibration error)"


def _retest_lines(found: Retest) -> Iterator[str]:
    """How much of the scores would come out again."""
    if found.within is None or found.between is None:
        yield f"reliability of asking again: {NO_VALUE} ({reason(found.single)})"
        return
    why = reason(found.single)
    yield (
        f"variance within items {number(found.within)}, between items {number(found.between)}; reliability of one sample "
        f"{interval(found.single)}, of the mean of all {interval(found.mean)} (ICC, {count(found.n_items, 'item')})"
        + (f": {why}" if why else "")
    )

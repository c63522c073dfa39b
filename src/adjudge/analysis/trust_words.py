"""The judge card as sections of text and tables, the same for terminal, Markdown and HTML.

Names are as users wrote them; the printers escape them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from ..records import Estimate, Scale
from ..sections import Axis, Column, Interval, Section, Sourced, Value, notices
from ..stats import AltTest, PartAgreement, Retest, ScoreInterval, Test
from ..stats.means import ALL_SAME
from ..stats.ppi_difference import LABELLED
from ..stats.resample import SAME
from ..words import (
    NO_VALUE,
    count,
    interval,
    interval_cell,
    names,
    number,
    percent,
    percent_cell,
    share,
    short_name,
    status_text,
)
from .human_agreement import classes_section, classes_sentence
from .probability_words import probability_line, probability_sections
from .result_types import (
    SIGNIFICANCE,
    BestJudge,
    Card,
    CorrectedMean,
    CriterionCard,
    JudgePair,
    PeopleCeiling,
    Quality,
    ReviewTally,
    Sentence,
    Stop,
    StopDecision,
    SystemFailures,
)

# The three sentences at the top of a card: agreement with people, bias with the corrected means, failures.
#
# Each is made from the numbers of the card alone and names its method. A judge is "on par with a human rater" only where
# the interval shows it.


FEW_ITEMS = 10
"""With fewer items, a missing interval means that there are too few of them."""


def opening(cards: Mapping[str, CriterionCard], judges: Sequence[JudgePair] = ()) -> tuple[Sentence, ...]:
    """The sentences of the only criterion, or of the best and the worst of several; with two judges, also which is better."""
    if len(cards) == 1:
        return next(iter(cards.values())).sentences
    return (*_of_several(cards), *(pair.sentence for pair in judges if len(judges) == 1))


def _of_several(cards: Mapping[str, CriterionCard]) -> tuple[Sentence, ...]:
    noun, nouns = _noun(cards)
    measured = {name: card for name, card in cards.items() if _main(card).value is not None}
    if not measured:
        return (
            Sentence(
                f"No {noun} could be compared with people; the sections below say why.",
                "labels of all criteria",
            ),
            _biases(cards, noun),
            _most_failures(cards, noun),
        )
    # A correlation and a share of equal choices cannot be ranked together.
    measured = {name: card for name, card in measured.items() if card.kind == "scores"} or measured
    best, worst = (pick(measured, key=lambda name: _main(measured[name]).value or 0.0) for pick in (max, min))
    described = [
        f"{_which(measured[name], name, noun)} ({_statistic(measured[name])} {interval(_main(measured[name]))}, "
        f"n={_main(measured[name]).n})"
        for name in dict.fromkeys((best, worst))
    ]
    several = count(len(cards), noun, nouns)
    n_judges = len({card.model for card in cards.values()})
    if noun != "judge" and n_judges > 1:
        n_criteria = len({(card.protocol, card.criterion, card.kind) for card in cards.values()})
        several = f"{count(n_criteria, 'criterion', 'criteria')} and {count(n_judges, 'judge')}"
    first = f"Best agreement with people of {several}: {'; worst: '.join(described)}."
    source = f"{_statistic(measured[best])} with the mean of the raters, for each {noun}"
    return Sentence(first, source), _biases(measured, noun), _most_failures(cards, noun)


def _noun(cards: Mapping[str, CriterionCard]) -> tuple[str, str]:
    """What the card has several of: judges of one criterion, or criteria."""
    is_one = len({card.criterion for card in cards.values()}) == 1
    has_judges = len({(card.protocol, card.model) for card in cards.values()}) == len(cards)
    if is_one and has_judges:
        return "judge", "judges"
    if len({card.model for card in cards.values()}) > 1:
        return "criterion of a judge", "criteria of judges"
    return "criterion", "criteria"


def _which(card: CriterionCard, name: str, noun: str) -> str:
    """The name that the card uses; for judges without the criterion that they share."""
    return f"'{name.removeprefix(f'{card.criterion} · ') if noun == 'judge' else short_name(name)}'"


def sentences(card: CriterionCard) -> tuple[Sentence, ...]:
    """The sentences about one criterion."""
    return agreement_sentence(card), correction_sentence(card), failures_sentence(card.quality)


def _main(card: CriterionCard) -> Estimate:
    return card.item["spearman"] if card.kind == "scores" else card.item["exact"]


def agreement_of(card: CriterionCard) -> tuple[Estimate, Estimate | None]:
    """The agreement that the card states for the judge, and that of a human rater beside it, where there is one."""
    top = card.ceiling
    if top is None or top.value is None or top.judge.value is None:
        return _main(card), None
    return top.judge, top


def _unit(card: CriterionCard) -> str:
    return "labelled item" if card.kind == "scores" or card.is_nominal else "labelled pair"


def _statistic(card: CriterionCard) -> str:
    return "Spearman" if card.kind == "scores" else "exact agreement"


def agreement_sentence(card: CriterionCard) -> Sentence:
    """How well the judge agrees with people, compared with how well a human rater does."""
    main, top = _main(card), card.ceiling
    source = f"{main.method}; unit: {main.unit or 'item'}"
    if main.value is None:
        return Sentence(f"Agreement with people is unknown: {_why_none(card)}.", source)
    n = count(main.n, _unit(card))
    numbers = f"{_statistic(card)} {interval(main)}"
    # Many choices are equal by chance; only kappa shows whether agreement is better than chance.
    test = main if card.kind == "scores" else card.item["kappa"]
    is_perfect = _is_perfect(test)
    if is_perfect and main.low is None:
        numbers += " (perfect agreement, so without an interval)"
    is_shown = is_perfect or (test.low is not None and test.low > 0)
    chance = _compared_with_chance(card, test)
    if test.low is None and main.n < FEW_ITEMS:
        text = f"Agreement with people is uncertain: {numbers}; only {n}. Label more items."
        return Sentence(text, source)
    if top is None or top.value is None or top.judge.value is None:
        if not is_shown:
            text = f"{chance.format(numbers=numbers)}; {n}. Do not rely on this judge yet."
            return Sentence(text, source)
        why = top.reason if top is not None else "there is one rater"
        return Sentence(
            f"Agreement with people: {numbers}; {n}. Inter-rater agreement is unknown: {why}.", source
        )
    if not is_shown:
        raters = "With one rater left out at a time" if card.kind == "scores" else "With single raters"
        text = (
            f"{chance.format(numbers=numbers)}; {n}. {raters}: "
            f"{interval(top.judge)}, {_compared_with_a_rater(top)}. Do not rely on this judge yet."
        )
        return Sentence(text, f"{source}. Human rater: {top.method}")
    # The same comparison for judge and rater: with the others, or with single raters.
    numbers = f"{_statistic(card)} {interval(top.judge)}"
    if is_perfect and top.judge.low is None:
        numbers += " (perfect agreement, so without an interval)"
    n = count(top.judge.n, _unit(card))
    source = f"{top.judge.method}; unit: {top.judge.unit or 'item'}. Human rater: {top.method}"
    return Sentence(f"Agreement with people: {numbers}, {_compared_with_a_rater(top)}; {n}.", source)


def _compared_with_chance(card: CriterionCard, test: Estimate) -> str:
    """A judge that agrees significantly less than by chance disagrees."""
    if test.high is None or test.high >= 0:
        return "Agreement with people: {numbers}, not significantly better than chance"
    kappa = "" if card.kind == "scores" else f", kappa {interval(test)}"
    return f"The judge significantly disagrees with people: {{numbers}}{kappa}, below chance"


def _is_perfect(test: Estimate) -> bool:
    """Whether there is no interval because judge and people agree on every item."""
    is_one = test.value is not None and test.value > 1 - 1e-9
    return is_one and test.low is None and test.reason in (SAME, "perfect agreement")


def _why_none(card: CriterionCard) -> str:
    """Why the agreement is undefined."""
    if card.n_labelled == 0 and card.notes:
        note = card.notes[0].rstrip(".")
        return note[0].lower() + note[1:]
    if card.n_labelled == card.n_failed:
        return "it failed on every labelled item"
    return _main(card).reason


def _compared_with_a_rater(top: PeopleCeiling) -> str:
    """The judge compared with a human rater, as far as the intervals allow."""
    phrases = {
        "above": "above {}",
        "on par": "on par with {}",
        "below": "below {}",
        "unclear": "not significantly different from {}, but possibly much lower",
        "unknown": "not significantly different from {}",
    }
    return phrases[top.standing].format(f"a human rater ({interval(top)})")


def correction_sentence(card: CriterionCard) -> Sentence:
    """Whether the judge is too lenient or too harsh, and the corrected means."""
    known = {name: mean for name, mean in card.corrected.items() if mean.value is not None}
    if not known and card.pooled is not None and card.pooled.value is not None:
        known = {"all systems": card.pooled}
    means = _means(known, card)
    if card.is_nominal:
        return Sentence(classes_sentence(card.classes), "precision and recall of each label, Wilson interval")
    if card.kind == "choices":
        text = means or f"The win rates cannot be corrected: {_why_not(card)}."
    else:
        text = f"{_leniency(card.bias, card.scale)}. {means}".rstrip()
    method = next(iter(known.values())).method if known else _why_not(card)
    source = f"means: {method}"
    if card.kind == "scores":
        source = f"bias: {card.bias.method} (n={card.bias.n}); {source}"
    return Sentence(text, source)


def _why_not(card: CriterionCard) -> str:
    first = next(iter(card.corrected.values()), None)
    return first.reason if first is not None else "no judged item has a label"


def _means(known: Mapping[str, CorrectedMean], card: CriterionCard) -> str:
    """The corrected mean of the only system, or of the highest and the lowest."""
    if not known:
        return ""
    noun = "mean" if card.kind == "scores" else "win rate"
    ordered = sorted(known, key=lambda name: -(known[name].value or 0.0))

    def described(name: str) -> str:
        return f"{name} {interval(known[name])} (judge alone {interval(known[name].judge_only)})"

    if len(ordered) == 1:
        return f"Corrected {noun}: {described(ordered[0])}."
    return f"Highest corrected {noun}: {described(ordered[0])}; lowest: {described(ordered[-1])}."


def _leniency(bias: Estimate, scale: Scale | None) -> str:
    """The judge is 0.3 points too lenient; or higher, where the direction of the scale is unknown."""
    if bias.value is None:
        return f"The bias of the judge is unknown: {bias.reason}"
    size = number(abs(bias.value))
    range_ = interval(bias)
    if bias.reason == ALL_SAME:
        distance = (
            "the same as people" if bias.value == 0 else f"{size} points {_direction(bias)} than people"
        )
        return f"The judge scored every labelled item {distance} (judge − people {number(bias.value)})"
    if bias.low is None or bias.high is None:
        return f"The bias of the judge is unknown: {bias.reason} (judge − people {number(bias.value)})"
    where = _of_systems(bias)
    if bias.low <= 0 <= bias.high:
        return f"The judge is not significantly too lenient or too harsh{where} (judge − people {range_})"
    best = None if scale is None else {scale.low: -1, scale.high: 1, "low": -1, "high": 1}.get(scale.best)
    if best is None:
        return (
            f"The judge scores {size} points {_direction(bias)} than people{where} (judge − people {range_})"
        )
    word = "lenient" if bias.value * best > 0 else "harsh"
    return f"The judge is {size} points too {word}{where} (judge − people {range_})"


OF_SYSTEMS = "bias of "
"""How a caution of the bias begins where it is that of some systems alone."""


def _of_systems(bias: Estimate) -> str:
    """Which systems the bias is about, where others have too few labels."""
    found = next((part for part in bias.caution.split("; ") if part.startswith(OF_SYSTEMS)), "")
    return f" on {found.removeprefix(OF_SYSTEMS)}" if found else ""


def _direction(bias: Estimate) -> str:
    return "higher" if (bias.value or 0.0) > 0 else "lower"


def reviews_note(card: CriterionCard, tally: ReviewTally) -> Iterator[str]:
    """What reviews did to the labels of a criterion, and which numbers follow them."""
    if not tally.n_reviewed:
        if tally.n_unlabelled:
            yield f"{count(tally.n_unlabelled, 'review')} of items without a label: no number uses them."
        return
    said = {
        "changed to the judge's answer": tally.n_changed,
        "confirmed": tally.n_confirmed,
        "left out because the item is unclear": tally.n_unclear,
        "unchanged because reviewers disagree": tally.n_split,
        "unchanged because the judge has no answer on the scale of the labels": tally.n_unusable,
    }
    parts = ", ".join(f"{n} {what}" for what, n in said.items() if n)
    yield f"{tally.n_reviewed} of {count(tally.n_labels, 'label')} were reviewed: {parts}."
    before, after = _main(card), tally.agreement
    means = "means and bias" if card.kind == "scores" else "win rates"
    note = f"Corrected {means} use the reviewed labels; the other labels stand as people gave them"
    if after is not None and after.value is not None and before.value is not None:
        note += (
            f". Agreement is with the labels before review ({_statistic(card)} {number(before.value)}; after review "
            f"{number(after.value)}), because reviewing disagreements alone can only raise it"
        )
    yield f"{note}."
    yield _random_check(tally)
    if tally.n_unlabelled:
        yield f"{count(tally.n_unlabelled, 'more review')} of items without a label: no number uses them."


def _random_check(tally: ReviewTally) -> str:
    if tally.random_changed is None:
        return (
            "No label was reviewed at random, so errors on which judge and people agree are unknown, and the corrected "
            "numbers may lean towards the judge."
        )
    return (
        f"Of {count(tally.n_random, 'label')} reviewed at random, {tally.n_random_changed} changed "
        f"({percent(tally.random_changed)}): about this share of the labels that were not reviewed would change, too."
    )


def failures_sentence(quality: Quality) -> Sentence:
    """How often the judge failed, and whether it failed more often on one system."""
    source = "share of items without a score, by system; Wilson intervals, Cochran-Mantel-Haenszel test"
    failures, total, n_failed = quality.failures, quality.n, quality.n_failed
    if not n_failed:
        where = "the only item" if total == 1 else f"all {count(total, 'item')}"
        return Sentence(f"The judge answered {where}.", source)
    rate = f"The judge failed on {n_failed} of {count(total, 'item')} ({share(n_failed / total)})"
    if len(failures) < 2:
        return Sentence(f"{rate}; the mean excludes them.", source)
    worst, least = (
        pick(failures, key=lambda name: failures[name].failed.value or 0.0) for pick in (max, min)
    )
    if failures[worst].failed.value == failures[least].failed.value:
        return Sentence(f"{rate}, equally often for every system.", source)
    high, low = failures[worst], failures[least]
    rates = f"{_count(high)} of {high.n} for {worst}, {_count(low)} of {low.n} for {least}"
    if quality.failures_p is None or quality.failures_p >= SIGNIFICANCE:
        return Sentence(
            f"{rate}; failure rates of the systems do not differ significantly ({rates}).", source
        )
    more = f"more often for {worst} than for {least}"
    if low.failed.value:
        times = (high.failed.value or 0.0) / low.failed.value
        more = f"{times:.1f} times as often for {worst} as for {least}"
    return Sentence(f"{rate}, {more} ({rates}): their means are not directly comparable.", source)


def _count(failures: SystemFailures) -> int:
    return round((failures.failed.value or 0.0) * failures.n)


def _biases(cards: Mapping[str, CriterionCard], noun: str) -> Sentence:
    """The criterion, or the judge, with the largest bias; for choices the corrected win rates."""
    if all(card.kind == "choices" for card in cards.values()):
        name, card = next(iter(cards.items()))
        sentence = correction_sentence(card)
        return Sentence(f"{_which(card, name, noun)}: {sentence.text}", sentence.source)
    shown = {
        name: card
        for name, card in cards.items()
        if card.bias.value is not None
        and card.bias.low is not None and card.bias.high is not None
        and not card.bias.low <= 0 <= card.bias.high
    }  # fmt: skip
    if not shown:
        known = {name: card for name, card in cards.items() if card.bias.value is not None}
        why = next(iter(cards.values())).bias.reason
        text = f"The bias of the judge is unknown: {why}."
        if known:
            text = "The judge is not significantly too lenient or too harsh on any criterion."
            if noun == "judge":
                text = "No judge is significantly too lenient or too harsh."
        return Sentence(text, f"judge − people on the labelled items, for each {noun}")
    name = max(shown, key=lambda key: abs(shown[key].bias.value or 0.0))
    sentence = correction_sentence(shown[name])
    return Sentence(f"Largest bias: {_which(shown[name], name, noun)}. {sentence.text}", sentence.source)


def _most_failures(cards: Mapping[str, CriterionCard], noun: str) -> Sentence:
    """The failures of the criterion, or the judge, with most of them."""
    name = max(cards, key=lambda key: cards[key].quality.n_failed)
    sentence = failures_sentence(cards[name].quality)
    if not cards[name].quality.n_failed:
        return sentence
    named = _which(cards[name], name, noun)
    if noun == "judge":
        return Sentence(sentence.text.replace("The judge", named, 1), sentence.source)
    return Sentence(f"On {named}: {sentence.text}", sentence.source)


MEANING = (
    "[low, high] is a 95 % confidence interval; the unit is what it treats as independent. The label of an item is the mean of "
    "its ratings, for choices the majority. n is the number of observations; failed counts those without an answer from the "
    "judge, excluded those that could not be used."
)
EFFECTIVE_LABELS = (
    "Effective labels: the number of labels that would give an equally narrow interval without a judge. If it exceeds the "
    "number of labels, the judge saves labels; if not, the judge does not help here."
)
_MEANINGS = {
    "exact": "exact agreement: the share of an item's raters who gave the same answer as the judge, averaged over items",
    "kappa": "quadratic kappa and Krippendorff alpha: 1 is perfect agreement, 0 is chance; an error is weighted by the "
    "square of its distance from the label",
    "gwet": "Gwet AC2: chance-corrected agreement with each rater, stable where nearly all answers are the same",
    "soft_pairwise": "soft pairwise accuracy: 1 if judge and people are equally certain which of two systems is better",
}
_BOTH_ORDERS = (
    "exact agreement counts a choice that changed with the order shown as a tie, which agrees with a human tie; with order "
    "conflicts wrong, such a choice agrees with no label: this is the rule of published figures (MT-Bench, Auto-J)"
)
_PAIRS = (
    "pairwise accuracy: the share of item pairs that judge and people order in the same way, ties included; with tie "
    "calibration, scores that differ by less than a threshold chosen on other items count as tied"
)

_NAMES = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
    "exact": "exact agreement",
    "decided": "exact agreement, without ties",
    "both_orders": "exact agreement, order conflicts wrong",
    "kappa": "quadratic kappa",
    "alpha": "Krippendorff alpha",
    "gwet": "Gwet AC2",
    "soft_pairwise": "soft pairwise accuracy",
}


_COUNTS = (
    "n",
    Column("failed", is_minor=True),
    Column("excluded", is_minor=True),
    Column("unit", is_minor=True),
    "remark",
)
"""the observations behind an estimate"""


def trust_sections(card: Card) -> Iterator[Section]:
    """All sections of the card."""
    title = f"Judge card: {card.run}" if card.run else "Judge card"
    yield Section(title, _sourced(card.summary), depth=1, notices=notices(card.notes))
    if card.stop is not None:
        yield _stop(card.stop)
    for name, criterion_card in card.criteria.items():
        yield from _criterion(name, criterion_card, is_only=len(card.criteria) == 1)
    if card.judges:
        yield _judges(card)
    yield from (_best_judge(best) for best in card.best if len(best.agreement) > 2)
    meanings = (*_meanings(card), f"Resampling unit: {card.resample}; seed {card.seed}")
    yield Section("How to read this", meanings, is_detail=True)


def _meanings(card: Card) -> Iterator[str]:
    """The terms of this card, each explained if it is used."""
    yield MEANING
    labelled = [criterion_card for criterion_card in card.criteria.values() if criterion_card.n_labelled]
    scored = [criterion_card for criterion_card in labelled if criterion_card.kind == "scores"]
    shown = {
        name
        for criterion_card in scored
        for statistics in (criterion_card.item, criterion_card.system)
        for name in statistics
    }
    yield from (meaning for name, meaning in _MEANINGS.items() if name in shown)
    if any(criterion_card.pairwise is not None for criterion_card in scored):
        yield _PAIRS
    if any("both_orders" in criterion_card.item for criterion_card in labelled):
        yield _BOTH_ORDERS
    if labelled:
        yield EFFECTIVE_LABELS


def _sourced(sentences: Iterable[Sentence]) -> tuple[Sourced, ...]:
    return tuple(Sourced(sentence.text, sentence.source) for sentence in sentences)


def _criterion(name: str, card: CriterionCard, is_only: bool) -> Iterator[Section]:
    raters = count(len(card.raters), "rater")
    about = f"{card.n_labelled} of {count(card.n_items, 'item')} labelled by {raters}; judge: {card.model}"
    opening = () if is_only else _sourced(card.sentences)
    yield Section(short_name(name), (about, *opening), notices=notices(card.notes))
    if card.n_labelled:
        yield _agreement(card)
        yield from _inter_rater_agreement(card)
        yield from _replacement(card)
        yield from _details(card)
        if card.is_nominal:
            yield _checks_without_labels(card)
            return
        everywhere = {} if card.pooled is None else {"(all systems)": card.pooled}
        means = "Means" if card.kind == "scores" else "Win rates"
        title = f"{means} corrected with human labels"
        yield _corrected(title, {**card.corrected, **everywhere}, card.scale)
        if card.differences:
            differences = _corrected("Differences corrected with human labels", card.differences, None, "n")
            lines = (*_simultaneity(card), *differences.lines)
            yield structs.replace(differences, lines=lines, is_detail=True)
        elif card.kind == "scores" and len(card.corrected) > 1:
            yield Section("Differences corrected with human labels", (_NO_DIFFERENCES,), is_detail=True)
        yield from _more_rows(card)
    yield _checks_without_labels(card)


_NO_DIFFERENCES = (
    "Not computed: systems share inputs, but have several responses to some of them or fewer than three in common, so "
    "their responses cannot be paired one to one. adjudge rank compares the judge's scores."
)


def _simultaneity(card: CriterionCard) -> Iterator[str]:
    """For how many pairs of systems the intervals of differences hold together."""
    n_pairs = math.comb(len(card.corrected), 2)
    if n_pairs > 1:
        shown = len(card.differences)
        part = (
            ""
            if shown == n_pairs
            else f" Shown: {shown} of them, with the best system or between neighbours."
        )
        yield f"The intervals hold for all {n_pairs} pairs of systems together (Bonferroni).{part}"


def _more_rows(card: CriterionCard) -> Iterator[Section]:
    """Parts that only some cards have: pass rates, calibration, a plan."""
    columns = ("estimate", "value [95 % CI]", "n", "failed", "excluded", "unit", "remark")
    rows = [
        _estimate_row((f"pass rate of {name} (Rogan-Gladen)",), estimate)
        for name, estimate in card.pass_share.items()
    ]
    names = {
        "before": "mean absolute error, uncalibrated",
        "after": "… isotonic calibration (held-out items)",
        "ordinal": "… ordinal calibration (held-out items)",
        "error_before": "calibration error, uncalibrated",
        "error_after": "… isotonic calibration (held-out items)",
        "error_ordinal": "… ordinal calibration (held-out items)",
    }
    rows += [
        _estimate_row((label,), card.calibration[name])
        for name, label in names.items()
        if name in card.calibration
    ]
    if rows:
        yield Section("Calibration", (), columns, tuple(rows), 3, is_detail=True)
    if card.probabilities is not None:
        yield from probability_sections(card.probabilities)
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
        heads = (
            "system",
            "interval width",
            "labels so far",
            "labels needed",
            "needed without judge",
            "remark",
        )
        yield Section("Labels needed", (), heads, planned, 3, is_detail=True)


STOP_MEANING = (
    "The interval is a confidence sequence: it holds after every label, however often you look. Fixed number: how many labels a number "
    "chosen in advance needs for the width of --plan, or else to detect the present distance with 80 % power."
)


def _stop(stop: Stop) -> Section:
    """Whether to go on labelling."""
    columns = ("criterion", "system", "decision", "mean [95 % at every look]", "labels", "items", "decided at", "fixed number",
               "labels saved")  # fmt: skip
    rows = tuple(
        (
            criterion, system, _stop_text(found), interval(found.mean), str(found.n_labels), str(found.n_items),
            _labels(found.n_decided), _labels(found.n_fixed), _labels(found.n_saved),
        )
        for criterion, by_system in stop.criteria.items()
        for system, found in by_system.items()
    )  # fmt: skip
    n_open = sum(row[2] == "continue" for row in rows)
    verdict = (
        "Stop labelling"
        if stop.decision == "stop"
        else f"Continue labelling: {n_open} of {len(rows)} undecided"
    )
    answer = "" if stop.answer is None else f" ({stop.rule}: {stop.answer})"
    return Section(f"Stop rule {stop.rule}", (f"{verdict}{answer}.", STOP_MEANING), columns, rows)


def _stop_text(found: StopDecision) -> str:
    if found.answer is not None:
        return f"stop: {found.answer}"
    return "stop: all items labelled" if found.reason == "all_labelled" else "continue"


def _labels(n: int | None) -> str:
    return NO_VALUE if n is None else f"{n:,}"


def _judges(card: Card) -> Section:
    """Two judges on the same labelled items."""
    columns = ("criterion", "first", "second", "first [95 % CI]", "second [95 % CI]", "first − second [95 % CI]",
               "p", "p (Williams)", "n", "remark")  # fmt: skip
    rows = tuple(
        (
            pair.criterion, pair.first, pair.second, interval(pair.result.first), interval(pair.result.second),
            interval(pair.result.difference), _p(pair.mcnemar or pair.result.permutation),
            _p(pair.result.williams), str(pair.result.difference.n),
            pair.result.difference.reason or pair.result.difference.caution or pair.result.permutation.why,
        )
        for pair in card.judges
    )  # fmt: skip
    n_pairs = Counter(pair.criterion for pair in card.judges)
    # Of many judges the next table says which differences are significant, corrected for their number.
    lines = _sourced(pair.sentence for pair in card.judges if n_pairs[pair.criterion] == 1)
    tests = (
        "Scores: Spearman with people, p from a permutation test. Choices: exact agreement with people, p from McNemar's exact "
        "test."
    )
    if len(lines) < len(n_pairs):
        tests += " Intervals and p-values are for each pair alone, not adjusted for the number of pairs."
    return Section("Which judge agrees better with people?", (*lines, tests), columns, rows)


def _p(test: Test) -> str:
    return NO_VALUE if test.p is None else f"{test.p:.3f}"


def _agreement(card: CriterionCard) -> Section:
    rows = [
        _estimate_row((level, statistic_name(name, card)), estimate)
        for level, statistics in (("item", card.item), ("group", card.group), ("system", card.system))
        for name, estimate in statistics.items()
    ]
    if card.pairwise is not None:
        where = "group" if card.group["pearson"].unit.startswith("group") else "item"
        rows.append(_estimate_row((where, "pairwise accuracy"), card.pairwise.plain))
        rows.append(_estimate_row((where, "… with tie calibration"), card.pairwise.held_out))
    columns = ("level", "statistic", _agreement_column(rows), *_COUNTS)
    return Section("Agreement with people", (), columns, tuple(rows), 3)


def _agreement_column(rows: Iterable[Sequence[Value]]) -> Column:
    """The axis ends at 1, and begins at 0 unless a value is below."""
    marks = [mark for row in rows for value in row if isinstance(value, Interval) for mark in value.marks]
    is_below = any((end or 0.0) < 0 for mark in marks for end in (mark.value, mark.low))
    return Column("value [95 % CI]", Axis(-1.0 if is_below else 0.0, 1.0, 0.0))


def statistic_name(statistic: str, card: CriterionCard) -> str:
    """Choices have no distances, so their kappa is Cohen's."""
    return "Cohen kappa" if statistic == "kappa" and card.kind == "choices" else _NAMES[statistic]


def _inter_rater_agreement(card: CriterionCard) -> Iterator[Section]:
    top = card.ceiling
    if top is not None:
        rows = [_estimate_row(("human rater with other raters",), top)]
        rows.append(_estimate_row(("judge with the same raters",), top.judge))
        rows.append(_estimate_row(("judge / human rater",), top.share))
        if top.alpha is not None:
            rows.append(_estimate_row(("Krippendorff alpha of the raters",), top.alpha))
        if isinstance(top.fleiss, Estimate):
            rows.append(_estimate_row(("Fleiss kappa of the raters",), top.fleiss))
        if top.corrected is not None:
            rows.append(_estimate_row(("judge with mean rating, disattenuated",), top.corrected))
        how = (
            "Spearman: each rater in turn is left out, and this rater and the judge are compared with the mean of the others."
            if card.kind == "scores"
            else f"The share of {'items' if card.is_nominal else 'pairs'} on which two raters, or the judge and a rater, make the same choice."
        )
        columns = ("estimate", _agreement_column(rows), *_COUNTS)
        yield Section("Inter-rater agreement", (how,), columns, tuple(rows), 3)
    if card.severity:
        yield _severity(card)


_BASES = {
    "same items": "other raters on the same items",
    "judge": "other raters, through the judge's scores (no common items)",
}


def _severity(card: CriterionCard) -> Section:
    rows = tuple(
        (
            rater,
            interval_cell(severity.difference),
            _BASES[severity.basis],
            str(severity.difference.n),
            "; ".join(
                text
                for text in (
                    "large" if severity.is_large else "",
                    severity.difference.reason,
                    severity.difference.caution,
                )
                if text
            ),
        )
        for rater, severity in card.severity.items()
    )
    columns = ("rater", Column("difference [95 % CI]", Axis(reference=0.0)), "compared with", "n", "remark")
    how = "How much higher a rater scores than the others; the intervals hold for all raters together."
    return Section("Rater severity", (how,), columns, rows, 3, is_detail=True)


_ANSWERS = {"yes": "Yes", "no": "No", "not shown": "Not shown", "undefined": "Unknown"}
_REASONS = {
    "below_rater": "the judge agrees with the raters significantly less than a human rater does",
    "loses": "the judge wins against fewer than half of the raters",
    "constant": "the judge is not significantly closer to the raters than the best constant answer",
    "shuffled": "the judge is not significantly closer to the raters than its own answers shuffled over the items",
}


def _replacement(card: CriterionCard) -> Iterator[Section]:
    """The verdict of the card, with the test behind it and what passes without looking at the items."""
    test = card.alt_test
    if test is None:
        return
    reasons = [_REASONS[reason] for reason in card.verdict.reasons if reason in _REASONS]
    why = "; ".join(reasons) or ("" if card.verdict.answer == "yes" else test.winning_rate.reason)
    lines = [f"{_ANSWERS[card.verdict.answer]}{': ' + why if why else ''}."]
    if test.passes is not None:
        lines += _test_lines(test)
    rows = [
        _estimate_row(("winning rate",), test.winning_rate),
        _estimate_row(("advantage",), test.advantage),
    ]
    for name, rival in (("constant", test.constant), ("shuffled", test.shuffled)):
        if rival is not None:
            answer = rival.answer if isinstance(rival.answer, str) else f"{rival.answer or 0:g}"
            what = f"best constant ({answer})" if name == "constant" else "shuffled answers"
            rows.append(_plain_row(f"{what}: winning rate", rival.winning_rate))
            rows.append(_plain_row(f"{what}: advantage", rival.advantage))
            rows.append(_estimate_row((f"judge − {what.partition(' (')[0]}: advantage",), rival.lead))
    yield Section(
        "Can the judge replace a human rater?",
        tuple(lines),
        ("estimate", "value [95 % CI]", *_COUNTS),
        tuple(rows),
        3,
        notices(test.cautions),
        is_detail=True,
    )


def _test_lines(test: AltTest) -> Iterator[str]:
    yield (
        f"Alternative annotator test, eps = {test.eps:g}: each rater in turn is left out, and judge and rater are compared with the "
        "others. Advantage: how often the judge is at least as close to them. The judge wins against a rater if it is "
        f"significantly less than {test.eps:g} behind; eps accounts for the higher cost of human raters."
    )
    yield (
        "Yes requires three things: the judge wins against at least half of the raters, it is significantly closer to them than a "
        "constant answer and than its own answers shuffled, and it is not significantly below a human rater."
    )


def _plain_row(name: str, value: float) -> tuple[Value, ...]:
    return (name, number(value), *[""] * len(_COUNTS))


def _details(card: CriterionCard) -> Iterator[Section]:
    """The classes, the confusion matrix, agreement in parts of the items, and the interval of a single score."""
    if isinstance(card.classes, dict):
        yield classes_section(card.classes)
    matrix = card.confusion
    if matrix is not None and matrix.n_ratings:
        what = f"Rows: judge. Columns: human rating ({count(matrix.n_ratings, 'rating')} of {count(matrix.n_items, 'item')})."
        rows = tuple(
            (row, *(str(n) for n in counts)) for row, counts in zip(matrix.judge, matrix.counts, strict=True)
        )
        yield Section("Confusion matrix", (what,), ("judge", *matrix.human), rows, 3, is_detail=True)
    for field, parts in card.by.items():
        # Parts that are all too small say nothing.
        if any(part.agreement.low is not None for part in parts.values()):
            yield _agreement_by(field, parts, card)
    single = card.single_score
    if single is not None:
        yield Section(
            "Interval of a single score", tuple(_single_score_lines(single)), depth=3, is_detail=True
        )


def _agreement_by(field: str, parts: Mapping[str, PartAgreement], card: CriterionCard) -> Section:
    statistic = _statistic(card)
    rows = tuple(
        (
            part,
            interval_cell(own.agreement),
            "" if own.bias is None else interval(own.bias),
            str(own.agreement.n),
            own.agreement.unit or NO_VALUE,
            "; ".join(text for text in (own.agreement.reason, own.agreement.caution) if text),
        )
        for part, own in parts.items()
    )
    name = "length of the response (characters)" if field == "length" and card.kind == "scores" else field
    name = "longer response" if field == "length" and card.kind == "choices" else name
    columns = (
        name, Column(f"{statistic} [95 % CI]", _agreement_column(rows).axis), "judge − people", "n",
        Column("unit", is_minor=True), "remark",
    )  # fmt: skip
    how = "The intervals hold for all rows together (Bonferroni)."
    return Section(f"Agreement by {name.partition(' (')[0]}", (how,), columns, rows, 3, is_detail=True)


def _single_score_lines(single: ScoreInterval) -> Iterator[str]:
    if single.below is None or single.above is None:
        yield f"No interval: {single.reason}."
        return
    ends = " to ".join(
        f"score {'+' if end >= 0 else '−'} {number(abs(end))}" for end in (single.below, single.above)
    )
    yield (
        f"95 % of items have a human label from {ends}, within the scale (split conformal, {count(single.n, 'labelled item')})."
    )
    if single.coverage.value is not None:
        yield f"Measured on held-out labelled items: {percent(single.coverage)} inside."


def _best_judge(best: BestJudge) -> Section:
    """Several judges of one criterion, corrected for the choice among them."""

    def name(judge: str) -> str:
        return judge.removeprefix(f"{best.criterion} · ")

    columns = (
        "judge", "agreement [95 % CI]", "judge − first [95 % CI]", "best − judge [95 % CI]", "n", "remark",
    )  # fmt: skip
    rows = tuple(
        (
            name(judge),
            interval(estimate),
            interval(best.over_first.get(judge)) if judge in best.over_first else "",
            interval(best.behind_best.get(judge)) if judge in best.behind_best else "",
            str(estimate.n),
            "; ".join(text for text in (estimate.reason, estimate.caution) if text),
        )
        for judge, estimate in best.agreement.items()
    )
    return Section(f"Best judge for {best.criterion}", tuple(_best_judge_lines(best, name)), columns, rows)


def _best_judge_lines(best: BestJudge, name: Callable[[str], str]) -> Iterator[str]:
    if best.best is None:
        yield f"The judges cannot be ranked: {best.reason}."
        return
    others = [name(judge) for judge in best.leading if judge != best.best]
    tied = (
        f"; not significantly better than {names(others)}"
        if others
        else "; significantly better than all others"
    )
    yield f"Highest agreement: {name(best.best)}{tied}."
    if best.improved:
        better = names([name(judge) for judge in best.improved])
        yield f"Significantly better than {name(best.first)} (one-sided, corrected for the number of judges): {better}."
    else:
        yield f"No judge is significantly better than {name(best.first)}."
    chosen = best.held_out
    if chosen is not None:
        yield (
            f"Chosen on one half of the labels: {name(chosen.judge)}; on the other half its agreement is "
            f"{interval(chosen.agreement)}, its lead over {name(best.first)} {interval(chosen.lead)}."
        )
    yield "The intervals of the differences hold for all judges together, so they allow for the choice among many."


def _estimate_row(names: tuple[str, ...], estimate: Estimate) -> tuple[Value, ...]:
    remark = "; ".join(text for text in (estimate.reason, estimate.caution) if text)
    return (
        *names,
        interval_cell(estimate),
        str(estimate.n),
        str(estimate.n_failed),
        str(estimate.n_undefined),
        estimate.unit or NO_VALUE,
        remark,
    )


def _corrected(
    title: str, means: Mapping[str, CorrectedMean], scale: Scale | None, count_of: str = "labels"
) -> Section:
    """Each mean corrected, by the judge alone and by labels alone, with its effective number of labels."""
    axis = Axis() if scale is None else Axis(scale.low, scale.high)
    columns = (
        "system", Column("corrected [95 % CI]", axis), "before review", "judge alone", Column("labels alone", is_minor=True), "judge − people", count_of,
        "failed", Column("effective labels", is_minor=True), Column("unit", is_minor=True), "remark",
    )  # fmt: skip
    rows = tuple(
        (
            name,
            interval_cell(mean, beside=mean.judge_only),
            "" if mean.as_labelled is None else number(mean.as_labelled),
            interval(mean.judge_only),
            interval(mean.labels_only),
            interval(mean.bias),
            str(mean.n),
            str(mean.n_failed),
            _effective_labels(mean),
            mean.unit or NO_VALUE,
            mean.reason,
        )
        for name, mean in means.items()
    )
    lines = () if rows else ("No judged item has a label.",)
    if any(mean.unit == LABELLED for mean in means.values()):
        lines = ("A labelled input counts once, even if the outputs of both systems are labelled.",)
    return Section(title, lines, columns if rows else (), rows, 3)


def _effective_labels(mean: CorrectedMean) -> str:
    if mean.effective_labels is None:
        return NO_VALUE
    noun, nouns = ("input", "inputs") if mean.unit == LABELLED else ("label", "labels")
    return count(round(mean.effective_labels), noun, nouns)


def _checks_without_labels(card: CriterionCard) -> Section:
    """Failures by system with the range of the mean, and the spread of the answers."""
    quality = card.quality
    rows = []
    for system, failures in quality.failures.items():
        bounds = failures.bounds
        span = NO_VALUE if bounds is None else f"{number(bounds.low)} to {number(bounds.high)}"
        statuses = ", ".join(f"{n} {status_text(status)}" for status, n in failures.by_status.items())
        samples = f"{failures.n_samples_failed} of {failures.n_samples}"
        rows.append((system, str(failures.n), percent_cell(failures.failed), span, samples, statuses))
    columns = (
        "system",
        "items",
        "failed [95 % CI]",
        "mean, range including failures",
        "failed samples",
        "statuses",
    )
    return Section(
        "Checks that need no labels", tuple(_spread_lines(card)), columns, tuple(rows), 3, is_detail=True
    )


def _spread_lines(card: CriterionCard) -> Iterator[str]:
    quality = card.quality
    spread = quality.spread
    if spread is not None and spread.mode is not None and spread.mode_share is not None:
        text = f"Most frequent score: {spread.mode:g} ({share(spread.mode_share)} of {spread.n})"
        if spread.relative_entropy is not None:
            text += f"; entropy: {share(spread.relative_entropy)} of the maximum"
        yield text
    if quality.counts:
        yield "Choices: " + ", ".join(f"{choice} {n}" for choice, n in quality.counts.items())
    if quality.sample_sd is not None:
        yield f"Standard deviation of repeated samples within items: {number(quality.sample_sd)}"
    if quality.retest is not None:
        yield from _retest_lines(quality.retest)
    if quality.minimum_detectable is not None and len(quality.failures) > 1:
        yield f"Smallest detectable difference between two systems (80 % power): {number(quality.minimum_detectable)}"
    if card.confidence is not None:
        yield f"Calibration error of the stated confidence: {interval(card.confidence.error)}"
    if card.probabilities is not None:
        yield probability_line(card.probabilities)


def _retest_lines(retest: Retest) -> Iterator[str]:
    """Test-retest reliability of the scores."""
    if retest.within is None or retest.between is None:
        yield f"Test-retest reliability: {NO_VALUE} ({retest.single.reason})"
        return
    why = retest.single.reason
    yield (
        f"Test-retest reliability (ICC, {count(retest.n_items, 'item')}): one sample {interval(retest.single)}, mean of all samples "
        f"{interval(retest.mean)}; variance within items {number(retest.within)}, between items {number(retest.between)}"
        + (f": {why}" if why else "")
    )

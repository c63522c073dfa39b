"""A card as sections of text and cells, which a terminal and Markdown show alike.

Names stand here as users wrote them: whoever prints a section makes them harmless first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from ..records import Estimate, Scale
from ..sections import Axis, Column, Interval, Section, Sourced, Value, notices
from ..stats import Retest, Test
from ..stats.arrays import SAME
from ..stats.means import ALL_SAME
from ..stats.ppi import LABELLED
from ..words import NO_VALUE, count, interval, interval_cell, number, percent_cell, share
from .result_types import (
    SIGNIFICANCE,
    Card,
    CorrectedMean,
    CriterionCard,
    JudgePair,
    PeopleCeiling,
    Quality,
    Sentence,
    SystemFailures,
)

# The three sentences in front of a card: agreement against the ceiling, kindness and the corrected mean, failures.
#
# Each is made from the card's numbers alone and says where it comes from. What is not shown is not claimed: a judge is
# "as good as a person" only where the interval says so.


FEW_ITEMS = 10
"""Items below which a missing interval means that there are too few of them."""


def opening(cards: Mapping[str, CriterionCard], judges: Sequence[JudgePair] = ()) -> tuple[Sentence, ...]:
    """The sentences of the only criterion, or of several the best and the worst; of two judges also the better."""
    if len(cards) == 1:
        return next(iter(cards.values())).sentences
    return (*_of_several(cards), *(apart.sentence for apart in judges if len(judges) == 1))


def _of_several(cards: Mapping[str, CriterionCard]) -> tuple[Sentence, ...]:
    noun, nouns = _noun(cards)
    measured = {name: card for name, card in cards.items() if _main(card).value is not None}
    if not measured:
        return (
            Sentence(f"No {noun} could be held against people; see below why.", "labels of all criteria"),
            _biases(cards, noun),
            _most_failures(cards, noun),
        )
    # A correlation and a share of equal choices are not to be ranked against each other.
    measured = {name: card for name, card in measured.items() if card.kind == "scores"} or measured
    best, worst = (pick(measured, key=lambda name: _main(measured[name]).value or 0.0) for pick in (max, min))
    told = [
        f"{_which(measured[name], name, noun)} ({_statistic(measured[name])} {interval(_main(measured[name]))}, "
        f"n={_main(measured[name]).n})"
        for name in dict.fromkeys((best, worst))
    ]
    of = f"Of {count(len(cards), noun, nouns)}"
    if noun == "judge":
        first = (
            f"{of}, {told[0]} agrees best with people{', ' + told[1] + ' worst' if len(told) > 1 else ''}."
        )
    else:
        first = f"{of} the judge agrees best with people on {told[0]}{', worst on ' + told[1] if len(told) > 1 else ''}."
    source = f"{_statistic(measured[best])} with the mean of the raters, {noun} by {noun}"
    return Sentence(first, source), _biases(measured, noun), _most_failures(cards, noun)


def _noun(cards: Mapping[str, CriterionCard]) -> tuple[str, str]:
    """What the card has several of: judges of one criterion, or criteria."""
    is_one = len({card.criterion for card in cards.values()}) == 1
    has_judges = len({(card.protocol, card.model) for card in cards.values()}) == len(cards)
    return ("judge", "judges") if is_one and has_judges else ("criterion", "criteria")


def _which(card: CriterionCard, name: str, noun: str) -> str:
    """The name that the card has for it, of judges without the criterion that they share."""
    return f"'{name.removeprefix(f'{card.criterion} · ') if noun == 'judge' else name}'"


def sentences(card: CriterionCard) -> tuple[Sentence, ...]:
    """What to know of one criterion."""
    return agreement_sentence(card), correction_sentence(card), failures_sentence(card.quality)


def _main(card: CriterionCard) -> Estimate:
    return card.item["spearman"] if card.kind == "scores" else card.item["exact"]


def _statistic(card: CriterionCard) -> str:
    return "Spearman" if card.kind == "scores" else "equal choices"


def agreement_sentence(card: CriterionCard) -> Sentence:
    """How well the judge agrees with people, against what people reach among themselves."""
    main, top = _main(card), card.ceiling
    source = f"{main.method}; unit: {main.unit or 'item'}"
    if main.value is None:
        return Sentence(f"Whether this judge agrees with people cannot be said: {_why_none(card)}.", source)
    noun = "labelled item" if card.kind == "scores" else "labelled pair"
    on = f"On {count(main.n, noun)} this judge"
    numbers = f"{_statistic(card)} {interval(main)}"
    # Equal choices by chance are many; only kappa says whether there is more than chance.
    test = main if card.kind == "scores" else card.item["kappa"]
    is_perfect = _is_perfect(test)
    if is_perfect and main.low is None:
        numbers += ", without an interval because no item says otherwise"
    is_shown = is_perfect or (test.low is not None and test.low > 0)
    if test.low is None and main.n < FEW_ITEMS:
        text = f"Whether this judge agrees with people cannot be said from {count(main.n, noun)} ({numbers}): label more."
        return Sentence(text, source)
    if top is None or top.value is None or top.judge.value is None:
        if not is_shown:
            return Sentence(
                f"{on} is not shown to agree with people ({numbers}): do not decide by it yet.", source
            )
        why = top.reason if top is not None else "there is one rater"
        how = _perfectly(card) if is_perfect else "agrees with people to some degree"
        text = f"{on} {how} ({numbers}); how well people agree among themselves is not known: {why}."
        return Sentence(text, source)
    numbers += f"; {_held_against(card)} the judge reaches {interval(top.judge)}, a person {interval(top)}"
    source = f"{source}. Ceiling: {top.method}"
    if not is_shown:
        text = f"{on} is not shown to agree with people: it does so {_against(top)} ({numbers}). Do not decide by it yet."
        return Sentence(text, source)
    if is_perfect:
        text = f"{on} {_perfectly(card)}, and so agrees with them {_against(top)} ({numbers})."
        return Sentence(text, source)
    return Sentence(f"{on} agrees with people {_against(top)} ({numbers}).", source)


def _is_perfect(test: Estimate) -> bool:
    """Whether there is no interval because every item says that judge and people agree."""
    is_one = test.value is not None and test.value > 1 - 1e-9
    return is_one and test.low is None and test.reason in (SAME, "perfect agreement")


def _perfectly(card: CriterionCard) -> str:
    return (
        "chooses as people do on every one"
        if card.kind == "choices"
        else "orders all of them just as people do"
    )


def _held_against(card: CriterionCard) -> str:
    return (
        "against single raters"
        if card.kind == "choices"
        else "against the raters with one left out at a time"
    )


def _why_none(card: CriterionCard) -> str:
    """Why there is no agreement to speak of."""
    if card.n_labelled == 0 and card.notes:
        note = card.notes[0].rstrip(".")
        return note[0].lower() + note[1:]
    if card.n_labelled == card.n_failed:
        return "it failed on every labelled item"
    return _main(card).reason


def _against(top: PeopleCeiling) -> str:
    """The judge beside a person, no further than the intervals carry."""
    low, high = top.share.low, top.share.high
    if low is None or high is None:
        judge, people = top.judge, top
        if None in (judge.low, judge.high, people.low, people.high):
            return "to a degree that cannot be told from a person's"
        if (judge.high or 0.0) < (people.low or 0.0):
            return "less well than one person agrees with another"
        if (judge.low or 0.0) > (people.high or 0.0):
            return "better than one person agrees with another"
        return "about as well as one person agrees with another"
    if high < 1:
        return "less well than one person agrees with the others"
    if low > 1:
        return "better than one person agrees with the others"
    if low >= 0.8:
        return "about as well as one person agrees with the others"
    return "perhaps as well as one person agrees with the others, perhaps much less"


def correction_sentence(card: CriterionCard) -> Sentence:
    """Whether the judge is too kind, and what the means are really."""
    known = {name: mean for name, mean in card.corrected.items() if mean.value is not None}
    if not known and card.pooled is not None and card.pooled.value is not None:
        known = {"all systems": card.pooled}
    means = _means(known, card)
    if card.kind == "choices":
        text = means or "A corrected win rate cannot be given: " + _why_not(card) + "."
    else:
        text = f"{_kindness(card.bias, card.scale)}{'; ' + means if means else '.'}"
    method = next(iter(known.values())).method if known else _why_not(card)
    source = f"means: {method}"
    if card.kind == "scores":
        source = f"bias: {card.bias.method} (n={card.bias.n}); {source}"
    return Sentence(text[0].upper() + text[1:], source)


def _why_not(card: CriterionCard) -> str:
    first = next(iter(card.corrected.values()), None)
    return first.reason if first is not None else "no judged item has a label"


def _means(known: Mapping[str, CorrectedMean], card: CriterionCard) -> str:
    """The corrected mean of the only system, or of the highest and the lowest."""
    if not known:
        return ""
    noun = "mean" if card.kind == "scores" else "win rate"
    ordered = sorted(known, key=lambda name: -(known[name].value or 0.0))

    def told(name: str) -> str:
        return f"{interval(known[name])} (judge alone {interval(known[name].judge_only)})"

    text = f"the corrected {noun} of {ordered[0]} is {told(ordered[0])}"
    return f"{text}, that of {ordered[-1]} {told(ordered[-1])}." if len(ordered) > 1 else f"{text}."


def _kindness(bias: Estimate, scale: Scale | None) -> str:
    """It is 0.3 points too kind; or higher, where nobody said which end is good."""
    if bias.value is None:
        why = bias.reason if bias.n or not bias.reason.startswith("there is no") else "no item has both sides"
        return f"whether the judge is too kind cannot be said: {why}"
    size = number(abs(bias.value))
    range_ = interval(bias)
    if bias.reason == ALL_SAME:
        what = (
            "just what people gave it" if bias.value == 0 else f"{size} points {_more(bias)} than people did"
        )
        return f"it gave every labelled item {what} (judge - people {number(bias.value)})"
    if bias.low is None or bias.high is None:
        return f"whether the judge is too kind cannot be said: {bias.reason} (judge - people {number(bias.value)})"
    if bias.low <= 0 <= bias.high:
        return f"the judge is not shown to be too kind or too harsh (judge - people {range_})"
    best = None if scale is None else {scale.low: -1, scale.high: 1, "low": -1, "high": 1}.get(scale.best)
    if best is None:
        return f"it scores {size} points {'higher' if bias.value > 0 else 'lower'} than people (judge - people {range_})"
    word = "kind" if bias.value * best > 0 else "harsh"
    return f"it is {size} points too {word} (judge - people {range_})"


def _more(bias: Estimate) -> str:
    return "more" if (bias.value or 0.0) > 0 else "less"


def failures_sentence(quality: Quality) -> Sentence:
    """How often the judge gave nothing, and whether that hits one system more."""
    source = "share of items without a score, by system; Wilson intervals, Cochran-Mantel-Haenszel test"
    failures, total, n_failed = quality.failures, quality.n, quality.n_failed
    if not n_failed:
        where = "the only item" if total == 1 else f"all {count(total, 'item')}"
        return Sentence(f"The judge gave an answer on {where}.", source)
    told = f"The judge gave no answer on {n_failed} of {count(total, 'item')} ({share(n_failed / total)})"
    if len(failures) < 2:
        return Sentence(f"{told}; the mean leaves them out.", source)
    worst, least = (
        pick(failures, key=lambda name: failures[name].failed.value or 0.0) for pick in (max, min)
    )
    if failures[worst].failed.value == failures[least].failed.value:
        return Sentence(f"{told}, as often for one system as for another.", source)
    high, low = failures[worst], failures[least]
    rates = f"{_count(high)} of {high.n} for {worst}, {_count(low)} of {low.n} for {least}"
    if quality.failures_p is None or quality.failures_p >= SIGNIFICANCE:
        return Sentence(f"{told}; no system is shown to fail more often than another ({rates}).", source)
    more = f"more often for {worst} than for {least}"
    if low.failed.value:
        times = (high.failed.value or 0.0) / low.failed.value
        more = f"{times:.1f} times as often for {worst} as for {least}"
    return Sentence(f"{told}, {more} ({rates}): their means cannot be compared as they are.", source)


def _count(own: SystemFailures) -> int:
    return round((own.failed.value or 0.0) * own.n)


def _biases(cards: Mapping[str, CriterionCard], noun: str) -> Sentence:
    """The criterion, or the judge, that is furthest from people; of choices the corrected win rates."""
    if all(card.kind == "choices" for card in cards.values()):
        name, card = next(iter(cards.items()))
        own = correction_sentence(card)
        return Sentence(f"With {_which(card, name, noun)}: {own.text[0].lower()}{own.text[1:]}", own.source)
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
        text = f"Whether the judge is too kind cannot be said: {why}."
        if known:
            who = "No judge is" if noun == "judge" else "On no criterion is the judge"
            text = f"{who} shown to be too kind or too harsh."
        return Sentence(text, f"judge - people on the labelled items, {noun} by {noun}")
    name = max(shown, key=lambda key: abs(shown[key].bias.value or 0.0))
    own = correction_sentence(shown[name])
    where = "is" if noun == "judge" else "on"
    return Sentence(f"Furthest from people {where} {_which(shown[name], name, noun)}: {own.text}", own.source)


def _most_failures(cards: Mapping[str, CriterionCard], noun: str) -> Sentence:
    """The failures of the criterion, or the judge, that has most of them."""
    name = max(cards, key=lambda key: cards[key].quality.n_failed)
    own = failures_sentence(cards[name].quality)
    if not cards[name].quality.n_failed:
        return own
    named = _which(cards[name], name, noun)
    if noun == "judge":
        return Sentence(own.text.replace("The judge", named, 1), own.source)
    return Sentence(f"On {named}: {own.text}", own.source)


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


_COUNTS = (
    "n",
    Column("failed", is_minor=True),
    Column("left out", is_minor=True),
    Column("unit", is_minor=True),
    "remark",
)
"""what an estimate rests on"""


def trust_sections(card: Card) -> Iterator[Section]:
    """The card from its sentences to its last table."""
    title = f"Judge card of {card.run}" if card.run else "Judge card"
    yield Section(title, _sourced(card.summary), depth=1, notices=notices(card.notes))
    for name, one in card.criteria.items():
        yield from _criterion(name, one, is_only=len(card.criteria) == 1)
    if card.judges:
        yield _judges(card)
    meanings = (*_meanings(card), f"resampled: {card.resample}; seed {card.seed}")
    yield Section("How to read this", meanings, is_detail=True)


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


def _sourced(sentences: Iterable[Sentence]) -> tuple[Sourced, ...]:
    return tuple(Sourced(sentence.text, sentence.source) for sentence in sentences)


def _criterion(name: str, card: CriterionCard, is_only: bool) -> Iterator[Section]:
    raters = count(len(card.raters), "rater")
    about = f"{card.n_labelled} of {count(card.n_items, 'item')} labelled by {raters}, judge {card.model}"
    opening = () if is_only else _sourced(card.sentences)
    yield Section(name, (about, *opening), notices=notices(card.notes))
    if card.n_labelled:
        yield _agreement(card)
        yield from _people(card)
        everywhere = {} if card.pooled is None else {"(all systems)": card.pooled}
        yield _corrected("What is the score really?", {**card.corrected, **everywhere}, card.scale)
        if card.differences:
            differences = _corrected("Differences of systems", card.differences, None, "n")
            yield structs.replace(differences, is_detail=True)
        yield from _more_rows(card)
    yield _by_itself(card)


def _more_rows(card: CriterionCard) -> Iterator[Section]:
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
        yield Section("Correcting single scores", (), columns, tuple(rows), 3, is_detail=True)
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
        yield Section("How many labels?", (), heads, planned, 3, is_detail=True)


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
            apart.result.difference.reason or apart.result.difference.caution or apart.result.permutation.why,
        )
        for apart in card.judges
    )  # fmt: skip
    lines = _sourced(apart.sentence for apart in card.judges)
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
    columns = ("level", "statistic", _agreement_column(rows), *_COUNTS)
    return Section("Agreement with people", (), columns, tuple(rows), 3)


def _agreement_column(rows: Iterable[Sequence[Value]]) -> Column:
    """Agreement ends at 1, and begins at 0 unless something is below."""
    marks = [mark for row in rows for value in row if isinstance(value, Interval) for mark in value.marks]
    is_below = any((end or 0.0) < 0 for mark in marks for end in (mark.value, mark.low))
    return Column("value [95 %]", Axis(-1.0 if is_below else 0.0, 1.0, 0.0))


def statistic_name(statistic: str, card: CriterionCard) -> str:
    """Choices have no distances: their kappa is the plain one."""
    return "Cohen kappa" if statistic == "kappa" and card.kind == "choices" else _NAMES[statistic]


def _people(card: CriterionCard) -> Iterator[Section]:
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
        columns = ("what", _agreement_column(rows), *_COUNTS)
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
    yield Section(
        "May it replace a person?",
        tuple(lines),
        ("what", "value [95 %]", *_COUNTS),
        tuple(rows),
        3,
        notices(test.cautions),
        is_detail=True,
    )


def _estimate_row(names: tuple[str, ...], found: Estimate) -> tuple[Value, ...]:
    remark = "; ".join(text for text in (found.reason, found.caution) if text)
    return (
        *names,
        interval_cell(found),
        str(found.n),
        str(found.n_failed),
        str(found.n_undefined),
        found.unit or NO_VALUE,
        remark,
    )


def _corrected(
    title: str, means: Mapping[str, CorrectedMean], scale: Scale | None, count_of: str = "labels"
) -> Section:
    """Each mean three ways, and how many labels without a judge would have known it as well."""
    axis = Axis() if scale is None else Axis(scale.low, scale.high)
    columns = (
        "system", Column("corrected [95 %]", axis), "judge alone", Column("labels alone", is_minor=True), "judge - people", count_of,
        "failed", Column("worth", is_minor=True), Column("unit", is_minor=True), "remark",
    )  # fmt: skip
    rows = tuple(
        (
            name,
            interval_cell(mean, beside=mean.judge_only),
            interval(mean.judge_only),
            interval(mean.labels_only),
            interval(mean.bias),
            str(mean.n),
            str(mean.n_failed),
            _worth(mean),
            mean.unit or NO_VALUE,
            mean.reason,
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
        rows.append((system, str(own.n), percent_cell(own.failed), span, samples, statuses))
    columns = ("system", "items", "failed [95 %]", "mean, whatever the failed were", "samples failed", "why")
    return Section("Without people", tuple(_spread_lines(card)), columns, tuple(rows), 3, is_detail=True)


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
        yield f"reliability of asking again: {NO_VALUE} ({found.single.reason})"
        return
    why = found.single.reason
    yield (
        f"variance within items {number(found.within)}, between items {number(found.between)}; reliability of one sample "
        f"{interval(found.single)}, of the mean of all {interval(found.mean)} (ICC, {count(found.n_items, 'item')})"
        + (f": {why}" if why else "")
    )

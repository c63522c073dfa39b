"""The three sentences in front of a card: agreement against the ceiling, kindness and the corrected mean, failures.

Each is made from the card's numbers alone and says where it comes from. What is not shown is not claimed: a judge is
"as good as a person" only where the interval says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..records import Estimate, Scale
from ..stats import difference_of_shares, reason
from .shapes import CorrectedMean, CriterionCard, PeopleCeiling, Quality, Sentence, SystemFailures
from .words import count, interval, number, share


def opening(cards: Mapping[str, CriterionCard]) -> tuple[Sentence, ...]:
    """The sentences of the only criterion, or of several the best and the worst."""
    if len(cards) == 1:
        return next(iter(cards.values())).sentences
    measured = {name: card for name, card in cards.items() if _main(card).value is not None}
    if not measured:
        return (
            Sentence("No criterion could be held against people; see below why.", "labels of all criteria"),
            *next(iter(cards.values())).sentences[2:],
        )
    # A correlation and a share of equal choices are not to be ranked against each other.
    measured = {name: card for name, card in measured.items() if card.kind == "scores"} or measured
    best, worst = (pick(measured, key=lambda name: _main(measured[name]).value or 0.0) for pick in (max, min))
    texts = []
    for name in dict.fromkeys((best, worst)):
        card = measured[name]
        texts.append(f"on '{name}' ({_statistic(card)} {interval(_main(card))}, n={_main(card).n})")
    first = (
        f"Of {count(len(cards), 'criterion', 'criteria')} the judge agrees best with people {texts[0]}"
        + (f", worst {texts[1]}." if len(texts) > 1 else ".")
    )
    source = f"{_statistic(measured[best])} with the mean of the raters, criterion by criterion"
    return Sentence(first, source), _biases(measured), _most_failures(cards)


def sentences(card: CriterionCard) -> tuple[Sentence, ...]:
    """What to know of one criterion."""
    return agreement_sentence(card), correction_sentence(card), failures_sentence(card.quality)


def _main(card: CriterionCard) -> Estimate:
    return card.item["spearman"] if card.kind == "scores" else card.item["exact"]


def _statistic(card: CriterionCard) -> str:
    return "Spearman" if card.kind == "scores" else "equal choices"


def agreement_sentence(card: CriterionCard) -> Sentence:
    """How well the judge agrees with people, against what people reach among themselves."""
    main = _main(card)
    source = f"{main.method}; unit: {main.unit or 'item'}"
    if main.value is None:
        why = reason(main)
        if card.n_labelled == 0 and card.notes:
            why = card.notes[0].rstrip(".")
        elif card.n_labelled == card.n_failed:
            why = "it failed on every labelled item"
        return Sentence(f"Whether this judge agrees with people cannot be said: {why}.", source)
    on = f"On {count(main.n, 'labelled item')} this judge"
    numbers = f"{_statistic(card)} {interval(main)}"
    top = card.ceiling
    if top is None or top.value is None or top.judge.value is None:
        # Equal choices by chance are many; only kappa says whether there is more than chance.
        test = main if card.kind == "scores" else card.item["kappa"]
        if test.low is None or test.low <= 0:
            return Sentence(
                f"{on} is not shown to agree with people ({numbers}): do not decide by it yet.", source
            )
        why = reason(top) if top is not None else "there is one rater"
        text = f"{on} agrees with people to some degree ({numbers}); how well people agree among themselves is not known: {why}."
        return Sentence(text, source)
    text = f"{on} agrees with people {_against(top)} ({numbers}; in the same examination the judge {interval(top.judge)}, a person {interval(top)})."
    return Sentence(text, f"{source}. Ceiling: {top.method}")


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
    return reason(first) if first is not None else "no judged item has a label"


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
        return f"whether the judge is too kind cannot be said: {reason(bias)}"
    size = number(abs(bias.value))
    range_ = interval(bias)
    if bias.low is None or bias.high is None or bias.low <= 0 <= bias.high:
        return f"the judge is not shown to be too kind or too harsh (judge - people {range_})"
    best = None if scale is None else {scale.low: -1, scale.high: 1, "low": -1, "high": 1}.get(scale.best)
    if best is None:
        word = "higher" if bias.value > 0 else "lower"
        return f"it scores {size} points {word} than people (judge - people {range_})"
    word = "kind" if bias.value * best > 0 else "harsh"
    return f"it is {size} points too {word} (judge - people {range_})"


def failures_sentence(quality: Quality) -> Sentence:
    """How often the judge gave nothing, and whether that hits one system more."""
    source = "share of items without a score, by system; Wilson and Newcombe intervals"
    failures, total, n_failed = quality.failures, quality.n, quality.n_failed
    if not n_failed:
        return Sentence(f"The judge gave an answer on all {count(total, 'item')}.", source)
    told = f"The judge gave no answer on {n_failed} of {count(total, 'item')} ({share(n_failed / total)})"
    if len(failures) < 2:
        return Sentence(f"{told}; the mean leaves them out.", source)
    worst, least = (
        pick(failures, key=lambda name: failures[name].failed.value or 0.0) for pick in (max, min)
    )
    if failures[worst].failed.value == failures[least].failed.value:
        return Sentence(f"{told}, as often for one system as for another.", source)
    high, low = failures[worst], failures[least]
    apart = difference_of_shares(_count(high), high.n, _count(low), low.n)
    rates = f"{_count(high)} of {high.n} for {worst}, {_count(low)} of {low.n} for {least}"
    if apart.low is None or apart.low <= 0:
        return Sentence(f"{told}; no system is shown to fail more often than another ({rates}).", source)
    more = f"more often for {worst} than for {least}"
    if low.failed.value:
        times = (high.failed.value or 0.0) / low.failed.value
        more = f"{times:.1f} times as often for {worst} as for {least}"
    return Sentence(f"{told}, {more} ({rates}): their means cannot be compared as they are.", source)


def _count(own: SystemFailures) -> int:
    return round((own.failed.value or 0.0) * own.n)


def _biases(cards: Mapping[str, CriterionCard]) -> Sentence:
    """The criterion on which the judge is furthest from people."""
    shown = {
        name: card
        for name, card in cards.items()
        if card.bias.value is not None
        and card.bias.low is not None and card.bias.high is not None
        and not card.bias.low <= 0 <= card.bias.high
    }  # fmt: skip
    if not shown:
        known = {name: card for name, card in cards.items() if card.bias.value is not None}
        text = (
            "On no criterion is the judge shown to be too kind or too harsh."
            if known
            else "Whether the judge is too kind cannot be said: "
            + reason(next(iter(cards.values())).bias)
            + "."
        )
        return Sentence(text, "judge - people on the labelled items, criterion by criterion")
    name = max(shown, key=lambda key: abs(shown[key].bias.value or 0.0))
    own = correction_sentence(shown[name])
    return Sentence(f"Furthest from people on '{name}': {own.text}", own.source)


def _most_failures(cards: Mapping[str, CriterionCard]) -> Sentence:
    """The failures of the criterion that has most of them."""
    name = max(cards, key=lambda key: cards[key].quality.n_failed)
    own = failures_sentence(cards[name].quality)
    return Sentence(f"On '{name}': {own.text}", own.source) if cards[name].quality.n_failed else own

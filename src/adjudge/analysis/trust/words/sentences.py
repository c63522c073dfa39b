"""The three sentences at the top of a card: agreement with people, bias with the corrected means, failures.

Each is made from the numbers of the card alone and names its method. A judge is "on par with a human rater"
only where the interval shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from ....records import Estimate, Scale
from ....stats.means import ALL_SAME
from ....stats.resample import SAME
from ....words import count, interval, number, share, short_name
from ...significance import SIGNIFICANCE
from ..card import CorrectedMean, CriterionCard, JudgePair, PeopleCeiling, Sentence, SystemFailures
from ..classes import classes_sentence

FEW_ITEMS = 10
"""With fewer items, a missing interval means that there are too few of them."""


def opening(cards: Mapping[str, CriterionCard], judges: Sequence[JudgePair] = ()) -> tuple[Sentence, ...]:
    """The sentences of the only criterion, or of the best and the
    worst of several; with two judges, also which is better.
    """
    panels = {name: card for name, card in cards.items() if card.panel}
    if panels:
        single = {name: card for name, card in cards.items() if not card.panel}
        return (*opening(_unpooled(panels)), *(_of_several(single)[:1] if single else ()))
    if len(cards) == 1:
        return next(iter(cards.values())).sentences
    return (*_of_several(cards), *(pair.sentence for pair in judges if len(judges) == 1))


def _unpooled(cards: Mapping[str, CriterionCard]) -> dict[str, CriterionCard]:
    """The cards of panels as those of single judges."""
    return {name: structs.replace(card, panel=()) for name, card in cards.items()}


def _of_several(cards: Mapping[str, CriterionCard]) -> tuple[Sentence, ...]:
    noun, nouns = _noun(cards)
    measured = {name: card for name, card in cards.items() if main_agreement(card).value is not None}
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
    best, worst = (
        pick(measured, key=lambda name: main_agreement(measured[name]).value or 0.0) for pick in (max, min)
    )
    described = [
        f"{_which(measured[name], name, noun)} ({main_statistic(measured[name])} "
        f"{interval(main_agreement(measured[name]))}, n={main_agreement(measured[name]).n})"
        for name in dict.fromkeys((best, worst))
    ]
    several = count(len(cards), noun, nouns)
    n_judges = len({card.model for card in cards.values()})
    if noun != "judge" and n_judges > 1:
        n_criteria = len({(card.protocol, card.criterion, card.kind) for card in cards.values()})
        several = f"{count(n_criteria, 'criterion', 'criteria')} and {count(n_judges, 'judge')}"
    first = f"Best agreement with people of {several}: {'; worst: '.join(described)}."
    source = f"{main_statistic(measured[best])} with the mean of the raters, for each {noun}"
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


def card_sentences(card: CriterionCard) -> tuple[Sentence, ...]:
    """The sentences about one criterion."""
    return agreement_sentence(card), correction_sentence(card), failures_sentence(card)


def main_agreement(card: CriterionCard) -> Estimate:
    return card.item["spearman"] if card.kind == "scores" else card.item["exact"]


def agreement_of(card: CriterionCard) -> tuple[Estimate, Estimate | None]:
    """The agreement that the card states for the judge, and
    that of a human rater beside it, where there is one.
    """
    top = card.ceiling
    if top is None or top.value is None or top.judge.value is None:
        return main_agreement(card), None
    return top.judge, top


def _unit(card: CriterionCard) -> str:
    return "labelled item" if card.kind == "scores" or card.is_nominal else "labelled pair"


def main_statistic(card: CriterionCard) -> str:
    return "Spearman" if card.kind == "scores" else "exact agreement"


def agreement_sentence(card: CriterionCard) -> Sentence:
    """How well the judge agrees with people, compared with how well a human rater does."""
    main, top = main_agreement(card), card.ceiling
    source = f"{main.method}; unit: {main.unit or 'item'}"
    if main.value is None:
        return Sentence(f"Agreement with people is unknown: {_why_none(card)}.", source)
    n = count(main.n, _unit(card))
    numbers = f"{main_statistic(card)} {interval(main)}"
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
            text = f"{chance.format(numbers=numbers)}; {n}."
            return Sentence(text, source)
        why = top.reason if top is not None else "there is one rater"
        return Sentence(
            f"Agreement with people: {numbers}; {n}. Inter-rater agreement is unknown: {why}.", source
        )
    if not is_shown:
        raters = "With one rater left out at a time" if card.kind == "scores" else "With single raters"
        text = (
            f"{chance.format(numbers=numbers)}; {n}. {raters}: "
            f"{interval(top.judge)}, {_compared_with_a_rater(top)}."
        )
        return Sentence(text, f"{source}. Human rater: {top.method}")
    # The same comparison for judge and rater: with the others, or with single raters.
    numbers = f"{main_statistic(card)} {interval(top.judge)}"
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
    return main_agreement(card).reason


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
        text = f"{_bias_text(card.bias, card.scale)}. {means}".rstrip()
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


def _bias_text(bias: Estimate, scale: Scale | None) -> str:
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
    where = of_systems(bias)
    if bias.low <= 0 <= bias.high:
        return f"The judge is not significantly too lenient or too harsh{where} (judge − people {range_})"
    return f"The judge {leniency(bias, scale)}{where} (judge − people {range_})"


def leniency(bias: Estimate, scale: Scale | None) -> str:
    """is 0.30 points too lenient; or scores higher, where the direction of the scale is unknown."""
    size, best = number(abs(bias.value or 0.0)), None
    if scale is not None:
        best = {scale.low: -1, scale.high: 1, "low": -1, "high": 1}.get(scale.best)
    if best is None:
        return f"scores {size} points {_direction(bias)} than people"
    return f"is {size} points too {'lenient' if (bias.value or 0.0) * best > 0 else 'harsh'}"


OF_SYSTEMS = "bias of "
"""How a caution of the bias begins where it is that of some systems alone."""


def of_systems(bias: Estimate) -> str:
    """Which systems the bias is about, and why, where others have too few labels."""
    found = next((part for part in bias.caution.split("; ") if part.startswith(OF_SYSTEMS)), "")
    return f" on {found.removeprefix(OF_SYSTEMS)}" if found else ""


def _direction(bias: Estimate) -> str:
    return "higher" if (bias.value or 0.0) > 0 else "lower"


def failures_sentence(card: CriterionCard) -> Sentence:
    """How often the judge failed, whether more often on one system, and what that may change."""
    quality = card.quality
    source = "share of items without a score, by system; Wilson intervals, Cochran-Mantel-Haenszel test"
    failures, total, n_failed = quality.failures, quality.n, quality.n_failed
    if not n_failed:
        where = "the only item" if total == 1 else f"all {count(total, 'item')}"
        return Sentence(f"The judge answered {where}.", source)
    rate = f"The judge failed on {n_failed} of {count(total, 'item')} ({share(n_failed / total)})"
    of_people = people_where_failed(card)
    if len(failures) < 2:
        (only,) = failures.values()
        span = _range(only)
        return Sentence(
            f"{rate}; the mean excludes them{f' ({span} including them)' if span else ''}.{of_people}", source
        )
    worst, least = (
        pick(failures, key=lambda name: failures[name].failed.value or 0.0) for pick in (max, min)
    )
    allowed = _allowed(worst, least, card)
    if failures[worst].failed.value == failures[least].failed.value:
        return Sentence(f"{rate}, equally often for every system{allowed}.{of_people}", source)
    high, low = failures[worst], failures[least]
    rates = f"{_count(high)} of {high.n} for {worst}, {_count(low)} of {low.n} for {least}"
    if quality.failures_p is None or quality.failures_p >= SIGNIFICANCE:
        text = (
            f"{rate}; failure rates of the systems do not differ significantly ({rates}){allowed}.{of_people}"
        )
        return Sentence(text, source)
    more = f"more often for {worst} than for {least}"
    if low.failed.value:
        times = (high.failed.value or 0.0) / low.failed.value
        more = f"{times:.1f} times as often for {worst} as for {least}"
    return Sentence(f"{rate}, {more} ({rates}){allowed}.{of_people}", source)


def _range(failures: SystemFailures) -> str:
    """2.85 to 3.40: the means that the failures leave possible; empty where they are not bounded."""
    if failures.bounds is None:
        return ""
    ends = number(failures.bounds.low), number(failures.bounds.high)
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _allowed(worst: str, least: str, card: CriterionCard) -> str:
    """The range of the means including failures, for the systems with most and fewest of them."""
    ranges = {name: span for name in (worst, least) if (span := _range(card.quality.failures[name]))}
    if not ranges:
        return ""
    shown = ", ".join(f"{span} for {name}" for name, span in ranges.items())
    noun = "means" if card.kind == "scores" else "win rates"
    return f"; {noun} including failures: {shown}"


def people_where_failed(card: CriterionCard) -> str:
    """Whether people rate the items on which the judge failed lower or higher than the others."""
    found = card.informative_failures
    if found is None or found.difference.low is None or found.difference.high is None:
        return ""
    difference = interval(found.difference, is_difference=True)
    if found.difference.low <= 0 <= found.difference.high:
        return f" People do not rate failed items significantly differently from the others ({difference})."
    word = "lower" if (found.difference.value or 0.0) < 0 else "higher"
    return (
        f" People rate failed items {word} than the others ({difference}); with failures imputed from "
        "labels, the "
        f"judge's mean is {interval(found.imputed)}."
    )


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
    sentence = failures_sentence(cards[name])
    if not cards[name].quality.n_failed:
        return sentence
    named = _which(cards[name], name, noun)
    if noun == "judge":
        return Sentence(sentence.text.replace("The judge", named, 1), sentence.source)
    return Sentence(f"On {named}: {sentence.text}", sentence.source)

"""Whether the judge can be used, in words: the verdict sentence, its reason with the numbers, and the next
step."""

from __future__ import annotations

import shlex

from ....records import Estimate
from ....words import count, interval, number, percent, share
from ..card import CriterionCard, Use
from ..mean_error import is_bias_small
from .sentences import agreement_of, leniency, of_systems

FIRST_LABELS = 50
"""How many items to label first."""


BETTER_CORRECTED = "without its bias it does better than any constant answer"


NOT_BETTER = "it is not shown to do better than a constant answer"


FROM_STORE = "--labels store"


_WITH_LABELS = {
    "means": "with means corrected by human labels",
    "win rates": "with win rates corrected by human labels",
    "classes": "beside human labels, which say how often each of its answers is right",
}


def verdict_sentence(judge: str, criterion: str, use: Use, given: str = "means") -> str:
    """The answer that a reader repeats: may this judge be used for this criterion? `given` is what its
    answers make.

    The alias `judge`, which `adjudge init` writes, needs an article.
    """
    judge = "the judge" if judge == "judge" else judge
    sentences = {
        "alone": f"Use {judge} alone for {criterion}.",
        "corrected": f"Use {judge} for {criterion} only {_WITH_LABELS[given]}.",
        "no": f"Do not use {judge} alone for {criterion}.",
        "unknown": f"It is not known whether {judge} can be used for {criterion}.",
    }
    return sentences[use]


def given_by(card: CriterionCard) -> str:
    """What the answers of a card make: means, win rates, or neither."""
    return "means" if card.kind == "scores" else "classes" if card.is_nominal else "win rates"


def verdict_of_card(card: CriterionCard, judge: str) -> str:
    """The verdict sentence of a card."""
    return verdict_sentence(judge, card.criterion, card.recommendation.use, given_by(card))


def reason_of(card: CriterionCard, use: Use) -> str:
    """Why, with the numbers behind it."""
    if not card.n_labelled:
        return f"No item has a human label of {card.criterion}, so its agreement with people is unknown."
    if card.n_labelled == card.n_failed:
        return "It failed on every labelled item."
    text = "; ".join([*agreement_parts(card), *_bias_parts(card, use), *_constant_parts(card, use)])
    return f"{text[0].upper()}{text[1:]}."


def agreement_parts(card: CriterionCard) -> list[str]:
    """it agrees with people 0.43 (Spearman), people with each other 0.74"""
    judge, people = agreement_of(card)
    if judge.value is None:
        return []
    if card.kind == "choices":
        what = "items" if card.is_nominal else "pairs"
        beside = "" if people is None else f", people with each other on {_share(people)}"
        return [
            f"it agrees with people on {_with_ends(judge, percent(judge), _share(judge))} of {what}{beside}"
        ]
    beside = "" if people is None else f", people with each other {number(people.value or 0.0)}"
    shown = _with_ends(judge, interval(judge), number(judge.value))
    return [f"it agrees with people {shown} (Spearman){beside}"]


def _with_ends(estimate: Estimate, interval_text: str, text: str) -> str:
    """A number with its interval, where it has one."""
    return text if estimate.low is None or estimate.high is None else interval_text


def _share(estimate: Estimate) -> str:
    return share(estimate.value or 0.0)


def _bias_parts(card: CriterionCard, use: Use) -> list[str]:
    """What decides between alone and corrected: the bias, and a human rater beside the judge."""
    if use == "alone" and card.kind == "scores":
        return [f"its bias is within 5 % of the scale (judge − people {interval(card.bias)})"]
    if use != "corrected":
        return []
    bias, parts = card.bias, _rater_parts(card)
    if bias.low is not None and bias.high is not None and not bias.low <= 0 <= bias.high:
        return [*parts, f"it {leniency(bias, card.scale)}{of_systems(bias).partition(':')[0]}"]
    if card.verdict.answer == "yes" and is_bias_small(card):
        return ["the items on which it failed may move its mean by more than 5 % of the scale"]
    if card.verdict.answer == "yes":
        return [f"its bias is not shown to be within 5 % of the scale (judge − people {interval(bias)})"]
    return parts


def _n_compared(card: CriterionCard) -> int:
    """Labelled items that the judge answered: those that every number of the agreement is about."""
    return card.n_labelled - card.n_failed


def _rater_parts(card: CriterionCard) -> list[str]:
    """Why the judge is not shown to do as well as a human rater, where its numbers alone do not say it."""
    if card.verdict.answer == "not shown":
        # Its order may be as good as a rater's, and it may beat the constant by another measure.
        if "loses" in card.verdict.reasons:
            return ["its answers are not shown to be as close to people's as a human rater's"]
        return ["it is not shown that it can replace a human rater"]
    if card.verdict.answer == "undefined":
        few = "one rater is" if len(card.raters) < 2 else f"{count(_n_compared(card), 'labelled item')} are"
        return [f"{few} too few to compare it with a human rater"]
    return []


def _constant_parts(card: CriterionCard, use: Use) -> list[str]:
    """The best constant answer, where it decides whether the judge is usable at all."""
    constant, mode = card.constant, card.quality.spread
    if use == "unknown":
        n_compared = _n_compared(card)
        verb = "is" if n_compared == 1 else "are"
        n_units = None if constant is None else constant.n_units
        groups = f" in {count(n_units, 'group')}" if n_units and n_units < n_compared else ""
        return [f"{count(n_compared, 'labelled item')}{groups} {verb} too few to decide"]
    if use == "alone" or constant is None:
        return []
    n_answers = card.quality.n - card.quality.n_failed
    if mode is not None and mode.mode_share == 1.0 and use == "no":
        return [f"it gave the same score to all {count(n_answers, 'item')}"]
    if len([n for n in card.quality.counts.values() if n]) == 1 and use == "no":
        return [f"it gave the same answer to all {count(n_answers, 'item')}"]
    answer = constant.answer if isinstance(constant.answer, str) else f"{round(constant.answer, 2):g}"
    low, high = constant.lead.low, constant.lead.high
    if use == "corrected":
        is_better = low is not None and low > 0
        return [f"it does better than always answering {answer}" if is_better else BETTER_CORRECTED]
    is_worse = high is not None and high < 0
    return [f"always answering {answer} does better" if is_worse else NOT_BETTER]


def no_labels_step(run: str, n_items: int) -> str:
    """What to do where there are no labels."""
    n = count(min(FIRST_LABELS, n_items), "item") if n_items > 1 else "more items"
    return f"Label {n}: adjudge annotate {run}" if run else f"Label {n}, and give them with --labels FILE."


def gate_command_of(card: CriterionCard, run: str) -> str:
    """A gate on the corrected mean, with a threshold at the last quarter of the scale; empty where there is
    no scale."""
    if card.kind == "choices":
        return "" if card.is_nominal else f"adjudge gate {run} --min {card.criterion}=0.5 {FROM_STORE}"
    scale = card.scale
    if scale is None or scale.limits is None or not scale.direction:
        return ""
    low, high = scale.limits
    is_up = scale.direction > 0
    threshold = low + (0.75 if is_up else 0.25) * (high - low)
    named = shlex.quote(f"{card.criterion}={threshold:g}")
    return f"adjudge gate {shlex.quote(run)} --{'min' if is_up else 'max'} {named} {FROM_STORE}"


def next_step(card: CriterionCard, use: Use, run: str, n_enough: int) -> str:
    """What to do next, with the command where there is one."""
    if not card.n_labelled:
        return no_labels_step(run, card.n_items)
    if use == "alone":
        step = "Check it again when judge, prompt or items change"
        return f"{step}: adjudge drift {run} --refresh" if run else f"{step}."
    if use == "corrected":
        if card.is_nominal:
            step = "Report how often each of its answers is right beside their shares"
            return f"{step}: adjudge trust {run} {FROM_STORE} --full" if run else f"{step}."
        step = f"Report the corrected {given_by(card)}, not those of the judge"
        gate = gate_command_of(card, run) if run else ""
        return f"{step}; with a threshold of your own, this decides by them: {gate}" if gate else f"{step}."
    if use == "no":
        step = "Read the items where judge and people differ most, then change the prompt or the judge"
        return f"{step}: adjudge view {run}" if run else f"{step}."
    if card.n_labelled and card.n_labelled == card.n_failed:
        step = "Read why it failed, then change the prompt or the judge"
        return f"{step}: adjudge runs show {run} --failed" if run else f"{step}."
    n_units = card.constant.n_units if card.constant is not None else card.n_labelled
    n_more = max(20, n_enough - n_units)
    where = " of other groups" if n_units < _n_compared(card) else ""
    if card.n_labelled + n_more > card.n_items:
        return f"Judge and label {n_more} more items{where}."
    command = f": adjudge annotate {run} -n {card.n_labelled + n_more}" if run else "."
    if where:
        where += ", and judge more groups if the run has too few"
    return f"Label {n_more} more items{where}{command}"

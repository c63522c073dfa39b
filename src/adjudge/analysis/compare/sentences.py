"""The sentences of a comparison, made from its numbers alone.

A system is "better" only where the corrected test is significant and the judged texts differ; the same
texts under another prompt or judge score "higher" or "lower".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ...records import Estimate
from ...stats import EquivalenceVerdict
from ...words import count, interval, listed, names, number, p_text, percent, share
from ..equivalence import equivalence_interval
from .comparison import Comparison, CriterionComparison, SystemComparison, SystemOrder, SystemPair

_ADVICE = {
    "reversed": (
        "The runs disagree about which system is better. Compare both with human labels (adjudge trust) "
        "before you use either."
    ),
    "differs": (
        "Do not rely on a difference that is significant in only one of the two runs. Judge more items, "
        "or add labels (adjudge trust)."
    ),
    "shifted": "Do not mix scores of the two runs in one table.",
}


SIGNIFICANT = 0.05


FEW = 5
"""With fewer items, nothing follows from a difference that is not significant."""


class Runs(Struct, frozen=True):
    """The names of the two runs, and what differs between them."""

    first: str
    second: str
    is_other_text: bool
    """whether the judged texts differ, so that a higher score is a better text"""
    is_other_judge: bool
    """whether the prompt, the judge or its settings differ"""


def digits_of(card: CriterionComparison) -> int:
    """Two digits after the point; three where the whole scale is narrow."""
    scale = card.scales[0]
    if (
        card.kind == "choices"
        or card.unit == "normalized"
        or scale is None
        or scale.low is None
        or scale.high is None
    ):
        return (
            2
            if scale is not None and card.unit == "points" and card.kind == "scores" and scale.low is None
            else 3
        )
    return 2 if scale.high - scale.low >= 2 else 3


def estimate_text(
    card: CriterionComparison, estimate: Estimate | None, *, is_difference: bool = False
) -> str:
    """A mean or a difference of means; of choices, win rates in percent."""
    if card.kind == "choices":
        return percent(estimate, is_difference=is_difference)
    return interval(estimate, digits_of(card), is_difference=is_difference)


def value_in_unit(card: CriterionComparison, value: float) -> str:
    """A number in the unit of the means."""
    return share(value) if card.kind == "choices" else number(value, digits_of(card))


def criterion_sentences(name: str, card: CriterionComparison, runs: Runs) -> tuple[str, ...]:
    """The sentences about one criterion: scores, order of the systems, failures."""
    sentences = [_level(name, card, runs)]
    sentences += [
        text for text in (_reversed_scale(card, runs), _order(card, runs), _failures(card, runs)) if text
    ]
    return tuple(sentences)


def summary(cards: Mapping[str, CriterionComparison], runs: Runs) -> tuple[str, ...]:
    """Two or three sentences over all criteria; the last one says what to do."""
    if len(cards) == 1:
        card = next(iter(cards.values()))
        return (*card.sentences[:3], *_advice(cards, runs))
    return (_levels(cards, runs), *_orders(cards, runs), *_advice(cards, runs))


def _level(name: str, card: CriterionComparison, runs: Runs) -> str:
    """Whether scores changed: of the only system, or of how many."""
    if all(comparison.is_same for comparison in card.systems.values()):
        items = count(card.n_items, "item" if card.kind == "scores" else "pair")
        return (
            f"On {name}, nothing differs: {runs.first} and {runs.second} have the same calls and the "
            f"same replies on all {items}."
        )
    if card.kind == "choices":
        return _choices(name, card, runs)
    known = {
        system: comparison
        for system, comparison in card.systems.items()
        if comparison.difference.value is not None
    }
    if not known:
        why = next(iter(card.systems.values())).difference.reason
        return f"The difference on {name} is unknown: {why}."
    if len(card.systems) == 1:
        return _single(name, card, next(iter(known.values())), runs)
    shown = {system: comparison for system, comparison in known.items() if comparison.is_shown}
    if not shown:
        text = (
            f"On {name}, none of {count(len(card.systems), 'system')} differs significantly between "
            f"{runs.first} and {runs.second}{_how_many_equivalent(known)}"
        )
        left = [system for system, comparison in known.items() if comparison.is_left_to_failures]
        if left:
            return f"{text}: a difference of {listed(left)} is not shown, because failures could explain it."
        doubtful = {system: comparison for system, comparison in known.items() if comparison.is_doubtful}
        if not doubtful:
            return f"{text}."
        system, comparison = max(doubtful.items(), key=lambda each: abs(each[1].difference.value or 0.0))
        return f"{text}. Largest difference: {system} {_numbers(card, comparison)}; {_doubt(comparison)}."
    most = max(shown, key=lambda system: abs(shown[system].difference.value or 0.0))
    size = _size(card, shown[most], runs)
    return (
        f"On {name}, {len(shown)} of {count(len(card.systems), 'system')} changed significantly from "
        f"{runs.first} to {runs.second}; largest change: {most}, {size}."
    )


def _how_many_equivalent(known: Mapping[str, SystemComparison]) -> str:
    """; 2 are equivalent (within 0.2)"""
    within = [comparison for comparison in known.values() if comparison.is_equivalent]
    if not within:
        return ""
    which = "all" if len(within) == len(known) else str(len(within))
    return f"; {which} {'is' if which == '1' else 'are'} shown to be equivalent (within {_margin(within[0])})"


def _single(name: str, card: CriterionComparison, comparison: SystemComparison, runs: Runs) -> str:
    items = count(comparison.difference.n, "item")
    if comparison.is_shown:
        small = f", less than the margin of {_margin(comparison)}" if comparison.is_equivalent else ""
        return (
            f"On {name}, {runs.second} is {_size(card, comparison, runs)} than {runs.first} on the same "
            f"{items}{small}."
        )
    if comparison.is_left_to_failures and comparison.bounds is not None:
        ends = [value_in_unit(card, end) for end in (comparison.bounds.low, comparison.bounds.high)]
        return (
            f"On {name}, a difference of {runs.second} and {runs.first} is not shown: failures could "
            f"explain it ({_numbers(card, comparison)} on {items} that both judged; {ends[0]} to "
            f"{ends[1]} including failures)."
        )
    evidence = f"({_numbers(card, comparison)}, {items})"
    equal = comparison.equivalence
    if equal is not None and comparison.is_equivalent:
        shown = equivalence_interval(comparison.difference, equal, digits_of(card))
        return (
            f"On {name}, {runs.second} and {runs.first} are equivalent: they differ by less than "
            f"{_margin(comparison)}{shown} {evidence}."
        )
    text = f"On {name}, {runs.second} is not significantly different from {runs.first} {evidence}"
    if comparison.is_doubtful:
        return f"{text}: {_doubt(comparison)}."
    if remark := _not_equivalent(card, comparison):
        text += f", {remark}"
    if comparison.minimum_detectable is None:
        return f"{text}."
    return (
        f"{text}. Smallest detectable difference (80 % power): "
        f"{value_in_unit(card, comparison.minimum_detectable)}."
    )


def _margin(comparison: SystemComparison) -> str:
    return "" if comparison.equivalence is None else f"{comparison.equivalence.margin:g}"


def _not_equivalent(card: CriterionComparison, comparison: SystemComparison) -> str:
    """at most 0.2 worse; or: nor shown to be equivalent (within 0.2)"""
    found = comparison.equivalence
    if found is None:
        return ""
    if found.verdict == "not worse":
        return f"and shown to be at most {_margin(comparison)} {'worse' if card.direction else 'lower'}"
    return f"nor shown to be equivalent (within {_margin(comparison)})"


EQUIVALENCE_WORDS: dict[EquivalenceVerdict, str] = {
    "equivalent": "equivalent",
    "not worse": "one side only",
    "worse": "no",
    "better": "no",
    "not shown": "not shown",
}


def _numbers(card: CriterionComparison, comparison: SystemComparison) -> str:
    return estimate_text(card, comparison.difference, is_difference=True)


def _doubt(comparison: SystemComparison) -> str:
    """Why a difference is not significant although its interval excludes 0."""
    if comparison.p is None or comparison.p > SIGNIFICANT:
        return f"the interval excludes 0, but the test is not significant (p {_p(comparison.p)})"
    return (
        f"the interval excludes 0 for this difference alone (p {_p(comparison.p)}), but it is not "
        f"significant after correction for multiple comparisons (p {_p(comparison.p_adjusted)})"
    )


def _size(card: CriterionComparison, comparison: SystemComparison, runs: Runs) -> str:
    """0.31 points better (+0.31 [0.12, 0.50], p = 0.004)."""
    value, digits = comparison.difference.value or 0.0, digits_of(card)
    if runs.is_other_text and card.direction:
        word = "better" if value * card.direction > 0 else "worse"
    else:
        word = "higher" if value > 0 else "lower"
    unit = "points" if card.unit == "points" else "of the scale"
    return (
        f"{number(abs(value), digits)} {unit} {word} ({_numbers(card, comparison)}, p "
        f"{_p(comparison.p_adjusted)})"
    )


def _p(p: float | None) -> str:
    text = p_text(p)
    return text if text.startswith("<") else f"= {text}"


def _choices(name: str, card: CriterionComparison, runs: Runs) -> str:
    exact = card.agreement["exact"]
    if exact.value is None:
        return f"The agreement of the runs on {name} is unknown: {exact.reason}."
    kappa = card.agreement["kappa"]
    text = (
        f"On {name}, the runs make the same choice on {share(exact.value)} of {count(exact.n, 'pair')} "
        f"(kappa {interval(kappa)})"
    )
    shown = [system for system, comparison in card.systems.items() if comparison.is_shown]
    if not shown:
        return f"{text}; no win rate differs significantly."
    most = max(shown, key=lambda system: abs(card.systems[system].difference.value or 0.0))
    comparison = card.systems[most]
    rates = f"{percent(comparison.first)} in {runs.first}, {percent(comparison.second)} in {runs.second}"
    return (
        f"{text}; the win rate of {most.partition(' vs ')[0]} in {most} differs significantly: {rates}, "
        f"p {_p(comparison.p_adjusted)}."
    )


def _reversed_scale(card: CriterionComparison, runs: Runs) -> str:
    spearman = card.agreement.get("spearman")
    if spearman is None or spearman.value is None or spearman.value >= 0:
        return ""
    # A perfect correlation has no interval; over few items it may be chance.
    if spearman.high >= 0 if spearman.high is not None else spearman.n < FEW or spearman.value > -0.99:
        return ""
    return (
        f"{runs.first} and {runs.second} order the items in opposite directions (Spearman "
        f"{interval(spearman)}): one of the two judges reads the scale upside down. Check what the "
        "prompts say about its ends."
    )


def _order(card: CriterionComparison, runs: Runs, change: str = "The conclusion changes: ") -> str:
    """The winner in each run, and whether the significant
    differences between systems agree; `change` opens a change.
    """
    if card.kind == "choices":
        return _winners_of_choices(card, runs, change)
    order = card.order
    if order is None:
        return ""
    winner = _winners(order, "first" if card.direction or card.unit == "rank" else "highest", runs)
    reversed_pairs = [pair for pair in order.pairs if pair.change == "reversed"]
    if reversed_pairs:
        better, worse = _ordered(reversed_pairs[0], reversed_pairs[0].first.value or 0.0)
        more = f" (and {count(len(reversed_pairs) - 1, 'pair')} more)" if len(reversed_pairs) > 1 else ""
        return (
            f"The conclusion reverses: {better} is significantly above {worse} in {runs.first}, {worse} "
            f"above {better} in {runs.second}{more}; {winner}."
        )
    one_sided = [pair for pair in order.pairs if pair.change in ("only first", "only second")]
    if one_sided:
        return f"{change}{_one_sided(one_sided, runs)}; {winner}."
    same = [pair for pair in order.pairs if pair.change == "same"]
    if not same:
        return f"No two of the {len(order.first)} systems differ significantly in either run; {winner}."
    pairs = "1 difference" if len(same) == 1 else f"{len(same)} differences"
    return (
        f"The conclusion holds: {winner}, and both runs show the same significant differences between "
        f"systems ({pairs})."
    )


def _winners(order: SystemOrder, top: str, runs: Runs) -> str:
    """X is first in both runs; or the winners of each run, several if they tie."""
    first, second = order.winners_first, order.winners_second
    if first == second:
        shared = " and ".join(first)
        return f"{shared} {'is' if len(first) == 1 else 'tie for'} {top} in both runs"
    return (
        f"{' and '.join(first)} {'is' if len(first) == 1 else 'tie for'} {top} in {runs.first}, "
        f"{' and '.join(second)} in {runs.second}"
    )


def _one_sided(pairs: Sequence[SystemPair], runs: Runs) -> str:
    parts = []
    for run, change in ((runs.first, "only first"), (runs.second, "only second")):
        pairs_of_run = [pair for pair in pairs if pair.change == change]
        claims = []
        for pair in pairs_of_run:
            better, worse = _ordered(
                pair, ((pair.first if change == "only first" else pair.second).value) or 0.0
            )
            claims.append(f"{better} above {worse}")
        if claims:
            parts.append(f"significant only in {run}: {listed(claims, 3)}")
    return "; ".join(parts)


def _ordered(pair: SystemPair, value: float) -> tuple[str, str]:
    first, second = pair.systems
    return (first, second) if value > 0 else (second, first)


def _winners_of_choices(card: CriterionComparison, runs: Runs, change: str) -> str:
    changes = []
    for name, comparison in card.systems.items():
        winners = [_winner(name, side.low, side.high) for side in (comparison.first, comparison.second)]
        if winners[0] == winners[1]:
            continue
        changes.append(
            f"{name}: {winners[0] or 'neither'} wins in {runs.first}, {winners[1] or 'neither'} in "
            f"{runs.second}"
        )
    if changes:
        return f"{change}{listed(changes, 3)}."
    known = [
        name
        for name, comparison in card.systems.items()
        if _winner(name, comparison.first.low, comparison.first.high)
    ]
    if not known:
        return "No system wins significantly in either run."
    return "The conclusion holds: the same systems win in both runs."


def _winner(name: str, low: float | None, high: float | None) -> str:
    """The system that wins significantly more than half; empty if there is none."""
    a, _, b = name.partition(" → ")[0].partition(" vs ")
    if low is not None and low > 0.5:
        return a
    return b if high is not None and high < 0.5 else ""


def _failures(card: CriterionComparison, runs: Runs) -> str:
    """The failures in each run, and the range of the difference including them."""
    first = sum(comparison.n_failed_first + comparison.n_failed_both for comparison in card.systems.values())
    second = sum(
        comparison.n_failed_second + comparison.n_failed_both for comparison in card.systems.values()
    )
    if not first and not second:
        return ""
    text = (
        f"Of {count(card.n_items, 'item')}, {first} failed in {runs.first} and {second} in "
        f"{runs.second}; differences exclude them"
    )
    bounded = [
        (name, comparison) for name, comparison in card.systems.items() if comparison.bounds is not None
    ]
    if not bounded:
        return f"{text}."
    name, comparison = max(
        bounded, key=lambda each: each[1].bounds.high - each[1].bounds.low if each[1].bounds else 0.0
    )
    assert comparison.bounds is not None
    span = f"{value_in_unit(card, comparison.bounds.low)} to {value_in_unit(card, comparison.bounds.high)}"
    of = f" for {name}" if len(card.systems) > 1 else ""
    return f"{text}. Range of the mean difference{of} including failures: {span}."


def _levels(cards: Mapping[str, CriterionComparison], runs: Runs) -> str:
    known = [
        (name, system, comparison)
        for name, card in cards.items()
        for system, comparison in card.systems.items()
        if comparison.difference.value is not None
    ]
    if not known:
        return "No difference is known; the sections of the criteria say why."
    if all(comparison.is_same for card in cards.values() for comparison in card.systems.values()):
        return (
            f"Nothing differs: {runs.first} and {runs.second} have the same calls and the same replies "
            "on every item of every criterion."
        )
    shown = [each for each in known if each[2].is_shown]
    if not shown:
        return (
            f"None of {count(len(known), 'difference')} between {runs.first} and {runs.second} is "
            "significant (over criteria and systems, corrected for multiple comparisons)."
        )

    def share_of_scale(each: tuple[str, str, SystemComparison]) -> float:
        width = _width(cards[each[0]]) if cards[each[0]].unit == "points" else None
        return abs(each[2].difference.value or 0.0) / (width or 1.0)

    name, system, comparison = max(shown, key=share_of_scale)
    of = f" for {system}" if len(cards[name].systems) > 1 else ""
    size = (
        f"win rate {_numbers(cards[name], comparison)}"
        if cards[name].kind == "choices"
        else _size(cards[name], comparison, runs)
    )
    return (
        f"{len(shown)} of {count(len(known), 'difference')} between {runs.first} and {runs.second} are "
        "significant (over criteria and systems, corrected for multiple comparisons); the largest, on "
        f"{name}{of}: {size}."
    )


def _orders(cards: Mapping[str, CriterionComparison], runs: Runs) -> tuple[str, ...]:
    """The criteria whose conclusion changes, and the strongest change."""
    sentences = []
    reversed_scales = [name for name, card in cards.items() if _reversed_scale(card, runs)]
    if reversed_scales:
        sentences.append(
            f"On {listed(reversed_scales)}, the runs order the items in opposite directions: one of "
            "the judges reads the scale upside down."
        )
    several = {name: card for name, card in cards.items() if card.order is not None or card.kind == "choices"}
    changed = [
        name for kind in ("reversed", "differs") for name, card in several.items() if card.conclusion == kind
    ]
    if changed:
        first = _order(cards[changed[0]], runs, change="")
        sentences.append(
            f"The conclusion about systems changes on {listed(changed)}. On {changed[0]}: {first}"
        )
    elif any(card.conclusion == "holds" for card in several.values()):
        sentences.append(
            f"Both runs show the same significant differences between systems on {_all_of(len(several))}."
        )
    elif several:
        sentences.append("Neither run shows a significant difference between systems.")
    return tuple(sentences)


def _all_of(n: int) -> str:
    return "the only criterion with several systems" if n == 1 else f"all {n} criteria"


def _advice(cards: Mapping[str, CriterionComparison], runs: Runs) -> tuple[str, ...]:
    """What to do, by the most severe conclusion."""
    if all(each.is_same for card in cards.values() for each in card.systems.values()):
        return ()
    conclusions = {card.conclusion for card in cards.values()}
    if runs.is_other_text and runs.is_other_judge:
        return (
            "Both the texts and the judge (protocol, model or settings) differ, so the cause of a "
            "difference is unknown. Judge both with one protocol and one model.",
        )
    for conclusion in ("reversed", "differs"):
        if conclusion in conclusions:
            return (_ADVICE[conclusion],)
    has_moved = any(each.is_shown for card in cards.values() for each in card.systems.values())
    if runs.is_other_text:
        return ()
    if has_moved:
        return (_ADVICE["shifted"],)
    if conclusions <= {"undefined"}:
        return ()
    if all(each.is_equivalent for card in cards.values() for each in card.systems.values()):
        return ()
    if any(each.is_left_to_failures for card in cards.values() for each in card.systems.values()):
        return (f"See why items failed: adjudge runs show {runs.first}, adjudge runs show {runs.second}.",)
    return (_undetected(cards),)


def _undetected(cards: Mapping[str, CriterionComparison]) -> str:
    """How large a difference may be that is not significant."""
    worst = 0.0
    for card in cards.values():
        width = _width(card)
        if card.kind == "choices" or card.unit != "points" or width is None:
            continue
        for comparison in card.systems.values():
            if comparison.difference.n < FEW or (comparison.minimum_detectable or 0.0) >= width:
                return "With so few items, hardly any difference can be significant: judge more items."
            worst = max(worst, comparison.minimum_detectable or 0.0)
    if not worst:
        return "A difference that is not significant may still exist."
    return (
        "A difference that is not significant may still exist: "
        f"one of up to {number(worst)} points may have gone undetected."
    )


def _width(card: CriterionComparison) -> float | None:
    scale = card.scales[0]
    return None if scale is None or scale.low is None or scale.high is None else scale.high - scale.low


def people_sentence(comparison: Comparison) -> str:
    """With which run people agree better on which criteria; empty where no labels say."""
    sides: dict[str, list[str]] = {comparison.first: [], comparison.second: [], "": []}
    for card in comparison.criteria.values():
        if card.people is not None:
            difference = card.people.pair.result.difference
            if difference.value is not None:
                sides[_side(difference, comparison)].append(card.criterion)
    parts = [f"with {run} on {names(criteria)}" for run, criteria in sides.items() if run and criteria]
    if not parts:
        return (
            f"No significant difference in agreement with people on {names(sides[''])}." if sides[""] else ""
        )
    equal = f"; no significant difference on {names(sides[''])}" if sides[""] else ""
    return f"People agree better {', and '.join(parts)}{equal}."


def _side(difference: Estimate, comparison: Comparison) -> str:
    """The run that people agree with significantly better; empty where there is none."""
    low, high = difference.low, difference.high
    if low is None or high is None or low <= 0 <= high:
        return ""
    return comparison.first if low > 0 else comparison.second

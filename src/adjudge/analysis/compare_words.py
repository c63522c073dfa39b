"""A comparison as sections of text and cells, which a terminal, a web page and Markdown show alike.

Names stand here as users wrote them: whoever prints a section makes them harmless first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ..records import Estimate
from ..sections import Section, notices
from ..words import NO_VALUE, count, interval, listed, number, p_text, share
from .result_types import Change, Comparison, CriterionComparison, SystemComparison, SystemOrder, SystemPair

# What a comparison means, in sentences that somebody can act on. Made from its numbers alone.
#
# What is not shown is not claimed: a system is "better" only where the corrected test says so, and only where the judged
# texts differ; the same texts under another prompt or judge score "higher" or "lower".


_ADVICE = {
    "reversed": "Which run you believe decides which system you choose. Hold both against labels (adjudge trust) before you use either.",
    "differs": "Treat as open what only one of the two runs shows; more items, or labels (adjudge trust), would settle it.",
    "shifted": "Do not put scores of the two runs into one table.",
}


SHOWN = 0.05
FEW = 5
"""Items below which nothing is concluded from not having seen a difference."""


class Runs(Struct, frozen=True):
    """How sentences speak of the two runs."""

    first: str
    second: str
    is_other_text: bool
    """whether the judged texts differ, so that a higher score is a better text"""
    is_other_judge: bool
    """whether the prompt, the judge or its settings differ"""


def digits_of(one: CriterionComparison) -> int:
    """Two digits after the point; three where the whole scale is narrow."""
    scale = one.scales[0]
    if (
        one.kind == "choices"
        or one.unit == "normalized"
        or scale is None
        or scale.low is None
        or scale.high is None
    ):
        return (
            2
            if scale is not None and one.unit == "points" and one.kind == "scores" and scale.low is None
            else 3
        )
    return 2 if scale.high - scale.low >= 2 else 3


def criterion_sentences(name: str, one: CriterionComparison, runs: Runs) -> tuple[str, ...]:
    """What to know of one criterion: the level, the order, what failed."""
    told = [_level(name, one, runs)]
    told += [text for text in (_reversed_scale(one, runs), _order(one, runs), _failures(one, runs)) if text]
    return tuple(told)


def summary(cards: Mapping[str, CriterionComparison], runs: Runs) -> tuple[str, ...]:
    """Two or three sentences over all criteria, the last one says what to do."""
    if len(cards) == 1:
        one = next(iter(cards.values()))
        return (*one.sentences[:3], *_advice(cards, runs))
    return (_levels(cards, runs), *_orders(cards, runs), *_advice(cards, runs))


def _level(name: str, one: CriterionComparison, runs: Runs) -> str:
    """Whether scores moved: of the only system, or of how many."""
    if all(found.is_same for found in one.systems.values()):
        items = count(one.n_items, "item" if one.kind == "scores" else "pair")
        return f"On {name} nothing differs: {runs.first} and {runs.second} have the same calls and the same replies on all {items}."
    if one.kind == "choices":
        return _choices(name, one, runs)
    known = {system: found for system, found in one.systems.items() if found.difference.value is not None}
    if not known:
        why = next(iter(one.systems.values())).difference.reason
        return f"By how much {name} differs cannot be said: {why}."
    if len(one.systems) == 1:
        return _single(name, one, next(iter(known.values())), runs)
    shown = {system: found for system, found in known.items() if found.is_shown}
    if not shown:
        text = f"On {name} no difference between {runs.first} and {runs.second} is shown for any of {count(len(one.systems), 'system')}"
        doubtful = {system: found for system, found in known.items() if found.is_doubtful}
        if not doubtful:
            return f"{text}."
        system, found = max(doubtful.items(), key=lambda each: abs(each[1].difference.value or 0.0))
        return f"{text}; nearest to it {system}: {_numbers(one, found)}: {_doubt(found)}."
    most = max(shown, key=lambda system: abs(shown[system].difference.value or 0.0))
    told = _size(one, shown[most], runs)
    return f"On {name} {len(shown)} of {count(len(one.systems), 'system')} moved from {runs.first} to {runs.second}; most of all {most}: {told}."


def _single(name: str, one: CriterionComparison, found: SystemComparison, runs: Runs) -> str:
    items = count(found.difference.n, "item")
    if found.is_shown:
        return f"On {name} {runs.second} is {_size(one, found, runs)} than {runs.first}, on the same {items}."
    text = f"On {name} no difference between {runs.first} and {runs.second} is shown ({_numbers(one, found)}, {items})"
    if found.is_doubtful:
        return f"{text}: {_doubt(found)}."
    if found.minimum_detectable is None:
        return f"{text}."
    return f"{text}; a true difference of {number(found.minimum_detectable, digits_of(one))} would be found four times in five."


def _numbers(one: CriterionComparison, found: SystemComparison) -> str:
    return interval(found.difference, digits_of(one), is_difference=True)


def _doubt(found: SystemComparison) -> str:
    """Why an interval without 0 shows no difference."""
    if found.p is None or found.p > SHOWN:
        return f"the interval leaves 0 out, but the test finds p {_p(found.p)}, which decides"
    return (
        f"the interval leaves 0 out, but is one of this difference alone (p {_p(found.p)}); corrected for all that are "
        f"compared, p {_p(found.p_adjusted)}, which decides"
    )


def _size(one: CriterionComparison, found: SystemComparison, runs: Runs) -> str:
    """0.31 points better (+0.31 [0.12, 0.50], p = 0.004)."""
    value, digits = found.difference.value or 0.0, digits_of(one)
    if runs.is_other_text and one.direction:
        word = "better" if value * one.direction > 0 else "worse"
    else:
        word = "higher" if value > 0 else "lower"
    unit = "points" if one.unit == "points" else "of the scale"
    return f"{number(abs(value), digits)} {unit} {word} ({_numbers(one, found)}, p {_p(found.p_adjusted)})"


def _p(p: float | None) -> str:
    text = p_text(p)
    return text if text.startswith("<") else f"= {text}"


def _choices(name: str, one: CriterionComparison, runs: Runs) -> str:
    exact = one.agreement["exact"]
    if exact.value is None:
        return f"Whether the runs choose alike on {name} cannot be said: {exact.reason}."
    kappa = one.agreement["kappa"]
    text = f"On {name} the runs choose alike on {share(exact.value)} of {count(exact.n, 'pair')} (kappa {interval(kappa)})"
    shown = [system for system, found in one.systems.items() if found.is_shown]
    if not shown:
        return f"{text}; no win rate is shown to differ."
    most = max(shown, key=lambda system: abs(one.systems[system].difference.value or 0.0))
    found = one.systems[most]
    rates = f"{interval(found.first)} in {runs.first}, {interval(found.second)} in {runs.second}"
    return f"{text}; the win rate of {most.partition(' vs ')[0]} in {most} differs: {rates}, p {_p(found.p_adjusted)}."


def _reversed_scale(one: CriterionComparison, runs: Runs) -> str:
    found = one.agreement.get("spearman")
    if found is None or found.value is None or found.value >= 0:
        return ""
    # A perfect correlation has no interval; over a few items it may be chance.
    if found.high >= 0 if found.high is not None else found.n < FEW or found.value > -0.99:
        return ""
    return (
        f"{runs.first} and {runs.second} order the items the other way round (Spearman {interval(found)}): one of the two "
        "judges reads the scale upside down. Look at what the prompts say about its ends."
    )


def _order(one: CriterionComparison, runs: Runs) -> str:
    """Who wins in either run, and what becomes of the claims about systems."""
    if one.kind == "choices":
        return _order_of_choices(one, runs)
    order = one.order
    if order is None:
        return ""
    winner = _winners(order, "first" if one.direction or one.unit == "rank" else "highest", runs)
    turned = [pair for pair in order.pairs if pair.change == "reversed"]
    if turned:
        better, worse = _ordered(turned[0], turned[0].first.value or 0.0)
        more = f" (and {count(len(turned) - 1, 'pair')} more)" if len(turned) > 1 else ""
        return f"The conclusion turns round: {runs.first} shows {better} above {worse}, {runs.second} shows {worse} above {better}{more}; {winner}."
    alone = [pair for pair in order.pairs if pair.change in ("only first", "only second")]
    if alone:
        return f"The conclusion changes: {_alone(alone, runs)}; {winner}."
    same = [pair for pair in order.pairs if pair.change == "same"]
    if not same:
        return f"Neither run tells any two of the {len(order.first)} systems apart; {winner}."
    pairs = "difference" if len(same) == 1 else f"{len(same)} differences"
    return f"The conclusion holds: {winner}, and the {pairs} between systems that one run shows, the other shows too."


def _winners(order: SystemOrder, top: str, runs: Runs) -> str:
    """X is first in both runs; or who is where, several if they share the place."""
    own, other = order.winners_first, order.winners_second
    if own == other:
        shared = " and ".join(own)
        return f"{shared} {'is' if len(own) == 1 else 'share the place that is'} {top} in both runs"
    return f"{' and '.join(own)} {'is' if len(own) == 1 else 'are'} {top} in {runs.first}, {' and '.join(other)} in {runs.second}"


def _alone(pairs: Sequence[SystemPair], runs: Runs) -> str:
    parts = []
    for run, change in ((runs.first, "only first"), (runs.second, "only second")):
        own = [pair for pair in pairs if pair.change == change]
        told = []
        for pair in own:
            better, worse = _ordered(
                pair, ((pair.first if change == "only first" else pair.second).value) or 0.0
            )
            told.append(f"{better} above {worse}")
        if told:
            parts.append(f"only {run} shows {listed(told, 3)}")
    return "; ".join(parts)


def _ordered(pair: SystemPair, value: float) -> tuple[str, str]:
    one, other = pair.systems
    return (one, other) if value > 0 else (other, one)


def _order_of_choices(one: CriterionComparison, runs: Runs) -> str:
    told = []
    for name, found in one.systems.items():
        winners = [_winner(name, side.low, side.high) for side in (found.first, found.second)]
        if winners[0] == winners[1]:
            continue
        told.append(
            f"{name}: {winners[0] or 'neither'} wins in {runs.first}, {winners[1] or 'neither'} in {runs.second}"
        )
    if told:
        return f"The conclusion changes: {listed(told, 3)}."
    known = [name for name, found in one.systems.items() if _winner(name, found.first.low, found.first.high)]
    if not known:
        return "Neither run shows that a system wins."
    return "The conclusion holds: the same systems win in both runs."


def _winner(name: str, low: float | None, high: float | None) -> str:
    """Who is shown to win more than half; empty where nobody is."""
    a, _, b = name.partition(" → ")[0].partition(" vs ")
    if low is not None and low > 0.5:
        return a
    return b if high is not None and high < 0.5 else ""


def _failures(one: CriterionComparison, runs: Runs) -> str:
    """What failed in either run, and what that leaves open."""
    first = sum(found.n_failed_first + found.n_failed_both for found in one.systems.values())
    second = sum(found.n_failed_second + found.n_failed_both for found in one.systems.values())
    if not first and not second:
        return ""
    text = f"Of {count(one.n_items, 'item')} {runs.first} has no answer on {first}, {runs.second} on {second}; differences leave them out"
    open_ = [(name, found) for name, found in one.systems.items() if found.bounds is not None]
    if not open_:
        return f"{text}."
    name, found = max(
        open_, key=lambda each: each[1].bounds.high - each[1].bounds.low if each[1].bounds else 0.0
    )
    assert found.bounds is not None
    digits = digits_of(one)
    span = f"{number(found.bounds.low, digits)} to {number(found.bounds.high, digits)}"
    of = f" for {name}" if len(one.systems) > 1 else ""
    return f"{text}. Whatever they were, the mean difference{of} lies within {span}."


def _levels(cards: Mapping[str, CriterionComparison], runs: Runs) -> str:
    known = [
        (name, system, found)
        for name, one in cards.items()
        for system, found in one.systems.items()
        if found.difference.value is not None
    ]
    if not known:
        return "No difference can be given; the criteria say why."
    if all(found.is_same for one in cards.values() for found in one.systems.values()):
        return f"Nothing differs: {runs.first} and {runs.second} have the same calls and the same replies on every item of every criterion."
    shown = [each for each in known if each[2].is_shown]
    if not shown:
        return f"None of {count(len(known), 'difference')} between {runs.first} and {runs.second} is shown (criteria by systems, corrected for their number)."

    def share_of_scale(each: tuple[str, str, SystemComparison]) -> float:
        width = _width(cards[each[0]]) if cards[each[0]].unit == "points" else None
        return abs(each[2].difference.value or 0.0) / (width or 1.0)

    name, system, found = max(shown, key=share_of_scale)
    of = f" for {system}" if len(cards[name].systems) > 1 else ""
    size = (
        f"win rate {interval(found.difference, is_difference=True)}"
        if cards[name].kind == "choices"
        else _size(cards[name], found, runs)
    )
    return f"{len(shown)} of {count(len(known), 'difference')} between {runs.first} and {runs.second} are shown (criteria by systems, corrected for their number); the largest on {name}{of}: {size}."


def _orders(cards: Mapping[str, CriterionComparison], runs: Runs) -> tuple[str, ...]:
    """The criteria whose conclusion changes, the strongest change in full."""
    told = []
    upside_down = [name for name, one in cards.items() if _reversed_scale(one, runs)]
    if upside_down:
        told.append(
            f"On {listed(upside_down)} the runs order the items the other way round: one of the judges reads the scale upside down."
        )
    several = {name: one for name, one in cards.items() if one.order is not None or one.kind == "choices"}
    changed = [
        name for kind in ("reversed", "differs") for name, one in several.items() if one.conclusion == kind
    ]
    if changed:
        first = _order(cards[changed[0]], runs).removeprefix("The conclusion changes: ")
        told.append(f"The conclusion about systems changes on {listed(changed)}. On {changed[0]}: {first}")
    elif any(one.conclusion == "holds" for one in several.values()):
        told.append(f"What one run shows about systems, the other shows too, on {_all_of(len(several))}.")
    elif several:
        told.append("Neither run shows a difference between systems.")
    return tuple(told)


def _all_of(n: int) -> str:
    return "the one criterion with several systems" if n == 1 else f"all {n} criteria"


def _advice(cards: Mapping[str, CriterionComparison], runs: Runs) -> tuple[str, ...]:
    """What to do, by the gravest conclusion."""
    if all(each.is_same for one in cards.values() for each in one.systems.values()):
        return ()
    found = {one.conclusion for one in cards.values()}
    if runs.is_other_text and runs.is_other_judge:
        return (
            "Both the texts and the way of judging differ: which of the two made a difference cannot be told. Judge both with one protocol and one model.",
        )
    for conclusion in ("reversed", "differs"):
        if conclusion in found:
            return (_ADVICE[conclusion],)
    has_moved = any(each.is_shown for one in cards.values() for each in one.systems.values())
    if runs.is_other_text:
        return ()
    if has_moved:
        return (_ADVICE["shifted"],)
    if found <= {"undefined"}:
        return ()
    return (_unseen(cards),)


def _unseen(cards: Mapping[str, CriterionComparison]) -> str:
    """What a difference that is not shown leaves open."""
    worst = 0.0
    for one in cards.values():
        width = _width(one)
        if one.kind == "choices" or one.unit != "points" or width is None:
            continue
        for found in one.systems.values():
            if found.difference.n < FEW or (found.minimum_detectable or 0.0) >= width:
                return "With so few items hardly any difference could have been shown: judge more of them."
            worst = max(worst, found.minimum_detectable or 0.0)
    if not worst:
        return "That no difference is shown does not say that there is none."
    return (
        "That no difference is shown does not say that there is none: "
        f"one of up to {number(worst)} points may have stayed unseen."
    )


def _width(one: CriterionComparison) -> float | None:
    scale = one.scales[0]
    return None if scale is None or scale.low is None or scale.high is None else scale.high - scale.low


MEANING = (
    "A difference is second - first, on the items that both runs judged. [low, high] is a 95 % interval of each difference alone; p "
    "is corrected by Holm for all differences of this page and decides what is shown, so that an interval may leave out 0 where no "
    "difference is shown; finds is the true difference that as many items show four times in five."
)
_MOST_PAIRS = 20

_CHANGES: dict[Change, str] = {
    "reversed": "turned round",
    "only first": "first run only",
    "only second": "second run only",
    "same": "in both",
    "open": "in neither",
}


def compare_sections(found: Comparison) -> Iterator[Section]:
    """The comparison from its sentences to its last table."""
    changes = "Texts, protocol, judge and settings are the same, as far as they are known."
    if found.changed:
        changes = f"What differs: {'; '.join(found.changed)}."
    title = f"{found.first} → {found.second}"
    yield Section(title, found.summary, depth=1, notices=notices(found.notes), notes=(changes,))
    for name, one in found.criteria.items():
        yield from _criterion(name, one, found)
    yield Section("How to read this", (MEANING, f"seed {found.seed}"))


def _criterion(name: str, one: CriterionComparison, found: Comparison) -> Iterator[Section]:
    told = () if len(found.criteria) == 1 else one.sentences
    items = count(one.n_items, "item" if one.kind == "scores" else "pair")
    unit = {"points": "points of the scale", "normalized": "share of the scale", "rank": "ranks only"}[
        one.unit
    ]
    about = f"{items} in both runs, compared in {unit if one.kind == 'scores' else 'win rates'}"
    alone = [
        f"{n:,} in {run} alone"
        for run, n in ((found.first, one.n_only_first), (found.second, one.n_only_second))
        if n
    ]
    about = "; ".join([about, *alone])
    columns = (
        "system" if one.kind == "scores" else "pair", found.first, found.second, "difference [95 %]", "p", "n", "failed first / second",
        "finds", "whatever the failed were", "unit", "remark",
    )  # fmt: skip
    digits = digits_of(one)
    rows = tuple(_system(system, each, digits) for system, each in one.systems.items())
    yield Section(name, (about, *told), columns, rows, notices=notices(one.notes))
    yield _agreement(one)
    if one.order is not None:
        yield from _order_section(one.order, found, digits)


def _system(name: str, one: SystemComparison, digits: int) -> tuple[str, ...]:
    span = (
        "" if one.bounds is None else f"{number(one.bounds.low, digits)} to {number(one.bounds.high, digits)}"
    )
    doubt = f"interval of this difference alone (p {p_text(one.p)})" if one.is_doubtful else ""
    remark = "; ".join(text for text in (one.difference.reason, one.difference.caution, doubt) if text)
    failed = (one.n_failed_first + one.n_failed_both, one.n_failed_second + one.n_failed_both)
    return (
        name,
        interval(one.first, digits),
        interval(one.second, digits),
        interval(one.difference, digits, is_difference=True),
        p_text(one.p_adjusted),
        str(one.difference.n),
        f"{failed[0]} / {failed[1]}",
        NO_VALUE if one.minimum_detectable is None else number(one.minimum_detectable, digits),
        span,
        one.difference.unit or NO_VALUE,
        remark,
    )


def _agreement(one: CriterionComparison) -> Section:
    names = {
        "spearman": "items ordered alike (Spearman)",
        "exact": "equal choices",
        "decided": "equal, both decided",
        "kappa": "Cohen kappa",
    }
    rows = [_estimate(names[name], found) for name, found in one.agreement.items()]
    if one.order is not None:
        rows.append(_estimate("systems ordered alike (Kendall tau-b)", one.order.kendall))
    columns = ("statistic", "value [95 %]", "n", "failed", "left out", "unit", "remark")
    return Section("Do the runs agree?", (), columns, tuple(rows), 3)


def _estimate(name: str, found: Estimate) -> tuple[str, ...]:
    remark = "; ".join(text for text in (found.reason, found.caution) if text)
    counts = str(found.n), str(found.n_failed), str(found.n_undefined)
    return name, interval(found), *counts, found.unit or NO_VALUE, remark


def _order_section(order: SystemOrder, found: Comparison, digits: int) -> Iterator[Section]:
    """Who stands where in either run, and which claims about two systems hold."""
    places = tuple(
        (str(place), one, other)
        for place, (one, other) in enumerate(zip(order.first, order.second, strict=True), start=1)
    )
    line = f"{count(order.n_flipped, 'pair')} of systems in another order, shown or not."
    yield Section("Order of the systems", (line,), ("place", found.first, found.second), places, 3)
    telling = sorted(order.pairs, key=lambda pair: list(_CHANGES).index(pair.change))
    rows = tuple(
        (
            f"{pair.systems[0]} - {pair.systems[1]}",
            interval(pair.first, digits, is_difference=True),
            p_text(pair.p_first),
            interval(pair.second, digits, is_difference=True),
            p_text(pair.p_second),
            _CHANGES[pair.change],
        )
        for pair in telling[:_MOST_PAIRS]
    )
    left = len(order.pairs) - len(rows)
    lines = (f"{left} more pairs are in --json.",) if left > 0 else ()
    columns = ("systems", found.first, "p", found.second, "p", "shown")
    yield Section("Which system is better?", lines, columns, rows, 3)

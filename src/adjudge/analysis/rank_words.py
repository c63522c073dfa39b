"""A ranking as sections of text and cells, which a terminal and Markdown show alike.

Names stand here as users wrote them: whoever prints a section makes them harmless first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import structs

from ..records import Estimate
from ..sections import WIN_RATES, Axis, Column, Section, Shade, notices
from ..stats import PositionBias
from ..words import (
    NO_VALUE,
    count,
    interval,
    interval_cell,
    names,
    number,
    p_text,
    percent,
    percent_cell,
    share,
)
from .result_types import CriterionRanking, HeadToHead, Ranking, Standing

# What a reader must know before using a ranking, in sentences.


_MANY_CONFLICTS = 0.1
_FEW_PROMPTS = 10


def notes_on(ranking: CriterionRanking, more: Sequence[str], order_policy: str) -> CriterionRanking:
    """The ranking with its notes, the gravest first."""
    notes = (
        *_nothing(ranking),
        *_falls_apart(ranking),
        *_never(ranking),
        *_failures(ranking),
        *_orders(ranking, order_policy),
        *_length(ranking),
        *_few(ranking),
        *more,
    )
    return structs.replace(ranking, notes=notes)


def _nothing(ranking: CriterionRanking) -> Iterator[str]:
    if ranking.n_games == 0:
        failed = f" {count(ranking.n_failed, 'judgment')} failed." if ranking.n_failed else ""
        shared = (
            "" if ranking.kind == "choices" else " No two systems have a score on the same prompt (group)."
        )
        yield f"There is no comparison to rank by.{failed}{shared}"


def _falls_apart(ranking: CriterionRanking) -> Iterator[str]:
    islands = [part for part in ranking.islands if len(part) > 1 or ranking.n_games]
    if len(islands) > 1 and ranking.n_games:
        told = "; ".join(names(part) for part in islands[:4])
        yield (
            f"The systems fall into {len(islands)} sets that never met, not even through others ({told}): nothing says how "
            "systems of different sets compare. Their order below is by games against an average opponent. Ask for pairs across the sets: --next."
        )


def _never(ranking: CriterionRanking) -> Iterator[str]:
    for systems, what, bound in (
        (ranking.never_lost, "never lost", "upper"),
        (ranking.never_won, "never won", "lower"),
    ):
        if systems:
            verb = "has" if len(systems) == 1 else "have"
            yield f"{names(systems)} {what}: the strength {verb} no {bound} bound, and none is given. The win rate stands."
    lone = [part[0] for part in ranking.components if len(part) == 1]
    silent = [name for name in lone if name not in (*ranking.never_lost, *ranking.never_won)]
    n_parts = len(ranking.components)
    if n_parts > 1 and len(ranking.islands) == 1 and (silent or n_parts - len(lone) > 1):
        told = " > ".join(f"({names(part)})" for part in ranking.components[:5])
        yield (
            f"No chain of wins leads from the lower systems back to the higher ones: {told}. Strengths are given within a set "
            "of more than one; between the sets they have no bound."
        )


def _failures(ranking: CriterionRanking) -> Iterator[str]:
    total = ranking.n_games + ranking.n_failed if ranking.kind == "choices" else None
    if ranking.n_failed and total:
        yield (
            f"{ranking.n_failed} of {count(total, 'pair')} ({share(ranking.n_failed / total)}) came to no choice and are in no number here."
        )
    elif ranking.n_failed:
        worst = max(ranking.systems, key=lambda one: one.n_failed)
        yield (
            f"{count(ranking.n_failed, 'score')} could not be read, most of {worst.system} ({worst.n_failed}): replies that cannot be "
            "read go with bad outputs, so the rest flatters it."
        )


def _orders(ranking: CriterionRanking, policy: str) -> Iterator[str]:
    if ranking.kind != "choices":
        return
    order = ranking.order
    if policy == "given" or (order.n_pairs == 0 and order.n_one_order and policy != "random"):
        yield (
            "Each pair was shown in one order only: a judge that favours a place favours the system that stood there, and neither "
            f"the strengths nor their intervals know. The first place won {percent(order.first_share)} of decided choices. "
            "Ask in both orders (--order both)."
        )
    elif policy == "random":
        yield "Each pair was shown in one order, drawn at random: fair on the mean, but whether the place decides is not known pair by pair."
    changed = order.first_both + order.second_both + order.other_conflicts
    if order.n_pairs and changed / order.n_pairs >= _MANY_CONFLICTS:
        place = "the first" if order.first_both >= order.second_both else "the second"
        p = order.p
        told = f", mostly in favour of {place} place (p {p_text(p)})" if p is not None and p <= 0.05 else ""
        yield (
            f"{changed} of {count(order.n_pairs, 'judged pair')} had another winner when the responses changed places{told}: those count as ties."
        )


def _length(ranking: CriterionRanking) -> Iterator[str]:
    found = ranking.length
    if found is None:
        return
    if found.coefficient.value is None:
        yield f"Length could not be controlled for: {found.coefficient.reason}."
        return
    if found.coefficient.low is None or found.coefficient.high is None:
        return
    if not found.coefficient.low <= 0 <= found.coefficient.high:
        kind = "longer" if found.coefficient.value > 0 else "shorter"
        before = [one.system for one in ranking.systems]
        after = sorted(
            ranking.systems,
            key=lambda one: -(one.length_controlled.value or 0.0) if one.length_controlled else 0.0,
        )
        changed = "changes" if [one.system for one in after] != before else "does not change"
        yield f"The judge favours the {kind} response. At equal length the order of the systems {changed}."
    told = next((one.length_controlled.caution for one in ranking.systems if one.length_controlled), "")
    if told:
        yield f"Length control stretches the data: {told}."


def _few(ranking: CriterionRanking) -> Iterator[str]:
    n = ranking.n_groups if ranking.n_groups is not None else ranking.n_games
    if 0 < n < _FEW_PROMPTS:
        noun = "prompt" if ranking.n_groups is not None else "pair"
        yield f"{count(n, f'independent {noun}')}: too few to speak for others. The intervals are rough."


MEANING = (
    "[low, high] is a 95 % interval for other prompts of this kind. A win rate counts a tie as half a win; its n is the number of "
    "games, and Wilson's interval takes games of one prompt for less. Strengths are log odds with a mean of 0 (+0.7 is about two wins "
    "to one loss against a system of strength 0), with the interval of the sandwich and that of a bootstrap over prompts. Places are "
    "those that pairwise tests leave open (Holm over all pairs, 5 %). Whoever asks, looks and asks again goes by the interval of the own "
    "games at every look: it stays right however often one looks."
)


def rank_sections(ranking: Ranking, widest_matrix: int = 12) -> Iterator[Section]:
    """The ranking from its sentence to its last table; of more systems than fit, none against all."""
    title = f"Ranking of {ranking.run}" if ranking.run else "Ranking"
    own = next(iter(ranking.criteria.values())).notes
    general = [note for note in ranking.notes if note not in own]
    yield Section(title, (leader(ranking),), depth=1, notices=notices(general))
    for name, one in ranking.criteria.items():
        yield from _criterion(name, one, widest_matrix)
    if ranking.next:
        yield _next(ranking)
    yield Section("How to read this", (MEANING, f"seed {ranking.seed}"), is_detail=True)


def leader(ranking: CriterionRanking) -> str:
    """The first place and whether it is certain."""
    best, *others = ranking.systems
    rivals = [one.system for one in others if one.places[0] == 1]
    by = f" by {ranking.criterion}" if ranking.criterion != "games" else ""
    if not ranking.n_games and ranking.kind == "choices":
        return "There is no comparison to rank by."
    if not rivals and best.places[1] == 1:
        behind = "the other system" if len(others) == 1 else f"all {len(others)} other systems"
        return f"{best.system} is best{by}: ahead of {behind}."
    level = [one for one in ranking.systems if _is_level(best, one, ranking)]
    if len(level) == len(ranking.systems):
        rates = {percent(one.win_rate) for one in level}
        told = f", each with a win rate of {rates.pop()}" if len(rates) == 1 else ""
        return f"No system leads{by}: all {len(level)} are level{told}."
    if len(level) > 1:
        shared = [one.system for one in level]
        rivals = [name for name in rivals if name not in shared]
        told = f", and cannot be told from {names(rivals)}" if rivals else ""
        return f"{names(shared)} share the lead{by}{told}."
    named = ", ".join(rivals[:4]) + (f" and {len(rivals) - 4} more" if len(rivals) > 4 else "")
    return f"{best.system} leads{by}, but cannot be told from {named or 'others'}."


def _is_level(best: Standing, one: Standing, ranking: CriterionRanking) -> bool:
    """Whether the two stand on the very same number; strengths of sets that do not hang together are not comparable."""
    if best.mean is not None and one.mean is not None:
        own, other = best.mean.value, one.mean.value
    elif len(ranking.components) == 1:
        own, other = best.strength.value, one.strength.value
    else:
        return one is best
    return own is not None and other is not None and math.isclose(own, other, rel_tol=1e-9, abs_tol=1e-9)


def _criterion(name: str, ranking: CriterionRanking, widest_matrix: int) -> Iterator[Section]:
    noun = "comparison" if ranking.kind == "choices" else "comparison of scores"
    about = f"{count(ranking.n_games, noun, noun.replace('comparison', 'comparisons'))} of {count(len(ranking.systems), 'system')}"
    if ranking.n_groups is not None:
        about += f" on {count(ranking.n_groups, 'prompt')}"
    about += f", {count(ranking.n_failed, 'failure')}"
    if ranking.models:
        about += f"; judged by {', '.join(ranking.models)}"
    fit = f"strengths: {ranking.model}"
    if ranking.tie_parameter is not None:
        fit += f", tie parameter {ranking.tie_parameter:.2f}"
    yield Section(name, (about, fit), notices=notices(ranking.notes))
    yield _standings(ranking)
    yield from _matrix(ranking, widest_matrix)
    yield _differences(ranking)
    yield from _order(ranking)
    yield from _length_section(ranking)
    yield from _judges(ranking)


def _places(standing: Standing) -> str:
    low, high = standing.places
    return str(low) if low == high else f"{low}–{high}"


def _standings(ranking: CriterionRanking) -> Section:
    columns = (
        "place", "system", "mean [95 %]", Column("win rate [95 %]", WIN_RATES), Column("by probability", is_minor=True),
        Column("strength [95 %]", Axis(reference=0.0)), Column("bootstrap", is_minor=True), Column("Elo-like", is_minor=True),
        "won / lost / tied", "n", "failed", Column("unit", is_minor=True), "remark",
    )  # fmt: skip
    rows = tuple(
        (
            _places(one), one.system, "" if one.mean is None else interval(one.mean), percent_cell(one.win_rate),
            "" if one.weighted is None else percent(one.weighted), interval_cell(one.strength), _ends(one),
            NO_VALUE if one.elo.value is None else number(one.elo.value, 0), f"{one.counts.won} / {one.counts.lost} / {one.counts.tied}",
            str(one.win_rate.n), str(one.n_failed), one.strength.unit, _remark(one),
        )
        for one in ranking.systems
    )  # fmt: skip
    return Section("Systems, best first", (), columns, rows, 3)


def _remark(standing: Standing) -> str:
    """What to know of the strength; of its bootstrap only what the strength does not say already."""
    own = standing.strength.reason or standing.strength.caution
    missing = standing.strength_bootstrap.reason
    if standing.strength.low is None or not missing:
        return own
    return "; ".join(text for text in (own, f"no bootstrap interval: {missing}") if text)


def _ends(standing: Standing) -> str:
    found = standing.strength_bootstrap
    if found.low is None or found.high is None:
        return NO_VALUE
    return f"[{number(found.low)}, {number(found.high)}]"


def _matrix(ranking: CriterionRanking, widest: int) -> Iterator[Section]:
    """What each row took of its games with each column."""
    systems = [one.system for one in ranking.systems]
    if len(systems) < 3:
        return
    if len(systems) > widest:
        line = f"{len(systems)} systems are too many for a table: see `matrix` in --json."
        yield Section("Who beats whom", (line,), depth=3)
        return
    rows = tuple(
        (
            one,
            *(
                ""
                if other == one
                else NO_VALUE
                if (met := ranking.matrix[one].get(other)) is None
                else _shade(met)
                for other in systems
            ),
        )
        for one in systems
    )
    yield Section(
        "Who beats whom",
        ("What the row took of its games with the column, and their number.",),
        ("", *systems),
        rows,
        3,
    )


def _shade(met: HeadToHead) -> Shade:
    won = met.share.value or 0.0
    low, high = met.share.low, met.share.high
    ends = "" if low is None or high is None else f"{share(low)} to {share(high)}"
    return Shade(f"{won * 100:.0f} % ({met.share.n})", won, ends)


def _differences(ranking: CriterionRanking) -> Section:
    """Neighbours in the ranking, and how many other pairs are open."""
    systems = [one.system for one in ranking.systems]
    next_to = set(pairwise(systems))
    rows = tuple(
        (
            one.first, one.second, interval(one.difference), p_text(one.p), p_text(one.p_adjusted),
            "open" if one.is_open else "settled", one.test,
            "" if one.any_time is None else percent(one.any_time),
        )
        for one in ranking.differences
        if (one.first, one.second) in next_to
    )  # fmt: skip
    n_open = sum(one.is_open for one in ranking.differences)
    what = "scores" if ranking.kind == "scores" else "strengths"
    n_pairs = len(ranking.differences)
    told = f"{n_open} of {n_pairs} pairs of systems cannot be told apart"
    if n_pairs == 1:
        told = "The two systems cannot be told apart" if n_open else "The two systems can be told apart"
    line = f"Differences of {what} between neighbours. {told}."
    columns = (
        "first",
        "second",
        "difference [95 %]",
        "p",
        "p (Holm)",
        "",
        "test",
        "own games, at every look",
    )
    return Section("What can be told apart", (line,), columns, rows, 3, is_detail=True)


def _order(ranking: CriterionRanking) -> Iterator[Section]:
    if ranking.kind != "choices" or (ranking.order.n_pairs == 0 and ranking.order.n_one_order == 0):
        return
    judges: dict[str, PositionBias] = {"all judges" if ranking.order_by_model else "the judge": ranking.order}
    judges |= ranking.order_by_model
    columns = (
        "",
        "same winner in both orders",
        "first place won",
        "only first / only second / tie once",
        "p",
        "pairs",
        "one order only",
    )
    rows = tuple(
        (
            name, percent(bias.agreement), percent(bias.first_share), f"{bias.first_both} / {bias.second_both} / {bias.other_conflicts}",
            p_text(bias.p), str(bias.n_pairs), str(bias.n_one_order),
        )
        for name, bias in judges.items()
    )  # fmt: skip
    line = "p: is one place favoured, among pairs whose winner changed with the order (binomial test)?"
    yield Section("Does the place decide?", (line,), columns, rows, 3, is_detail=True)


def _length_section(ranking: CriterionRanking) -> Iterator[Section]:
    found = ranking.length
    if found is None or found.coefficient.value is None:
        return
    columns = ("system", "win rate [95 %]", "at equal length [95 %]", "longer by")
    rows = tuple(
        (
            one.system, percent(one.win_rate), percent(one.length_controlled),
            NO_VALUE if one.length_difference is None else f"{one.length_difference:+.0f}",
        )
        for one in ranking.systems
    )  # fmt: skip
    typical = f" ({found.typical_difference:.0f} characters)" if found.typical_difference else ""
    line = f"Log odds per typical difference of lengths{typical}: {interval(found.coefficient)}{_because(found.coefficient)}."
    yield Section("Does length decide?", (line,), columns, rows, 3, is_detail=True)


def _because(estimate: Estimate) -> str:
    why = estimate.reason
    return f" (no interval: {why})" if why else ""


def _judges(ranking: CriterionRanking) -> Iterator[Section]:
    if ranking.by_model:
        systems = [one.system for one in ranking.systems]
        rows = tuple(
            (model, *(percent(own[name]) for name in systems)) for model, own in ranking.by_model.items()
        )
        yield Section("Win rates by each judge alone", (), ("judge", *systems), rows, 3, is_detail=True)


def _next(ranking: Ranking) -> Section:
    """The comparisons to ask for; many of one pair of systems in one row."""
    pairs = Counter(tuple(sorted((one.system_a, one.system_b))) for one in ranking.next)
    prompts: dict[tuple[str, ...], list[str]] = {}
    for one in ranking.next:
        if one.group is not None:
            prompts.setdefault(tuple(sorted((one.system_a, one.system_b))), []).append(one.group)
    rows = []
    for pair, n in pairs.items():
        own = prompts.get(pair, [])
        shown = ", ".join(own[:5]) + (f" and {len(own) - 5} more" if len(own) > 5 else "")
        rows.append((*pair, str(n), shown or "prompts that are not in this run"))
    line = "The comparisons that would narrow most what is still open. -o FILE writes those whose outputs are known."
    if not any(one.is_open for one in ranking.differences):
        line = "All places are settled. These comparisons would narrow the differences most."
    return Section("What to ask next", (line,), ("system", "system", "comparisons", "on"), tuple(rows))

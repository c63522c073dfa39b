"""A ranking as sections of text and tables, the same for terminal, Markdown and HTML."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from ...records import Estimate
from ...sections import WIN_RATES, Axis, Column, DrawnInterval, Mark, Section, Shade, how_to_read, notices
from ...stats import PositionBias
from ...words import (
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
    short_name,
)
from .notes import NO_COMPARISONS, has_comparisons
from .ranking import CriterionRanking, HeadToHead, Ranking, Standing

MEANING = (
    "[low, high] is a 95 % confidence interval for other prompts of this kind. A win rate counts a "
    "tie as half a win; its n is the number of games, and its Wilson interval accounts for ties and "
    "for games on the same prompt. Strengths are log odds with a mean of 0 (+0.7 is about two wins "
    "per loss against a system of strength 0), with a sandwich interval and a bootstrap interval "
    "over prompts. Ranks are those that pairwise tests leave possible (Holm over all pairs, 5 %); "
    "intervals of differences hold for all pairs together (Bonferroni). If you add comparisons and "
    "look at the results again, use the anytime-valid interval of the head-to-head win rate: it "
    "stays valid however often you look."
)


def rank_sections(ranking: Ranking, widest_matrix: int = 12) -> Iterator[Section]:
    """All sections of the ranking; with more systems than `widest_matrix`, without the table of all pairs."""
    title = f"Ranking: {ranking.run}" if ranking.run else "Ranking"
    first_notes = next(iter(ranking.criteria.values())).notes
    general = [note for note in ranking.notes if note not in first_notes]
    yield Section(title, (leader(ranking),), depth=1, notices=notices(general))
    for name, criterion_ranking in ranking.criteria.items():
        yield from _criterion(name, criterion_ranking, widest_matrix)
    if ranking.next:
        yield next_section(ranking)
    yield how_to_read(MEANING, f"seed {ranking.seed}", is_detail=True)


def leader(ranking: CriterionRanking) -> str:
    """Which system ranks first, and whether its lead is significant."""
    best, *others = ranking.systems
    rivals = [standing.system for standing in others if standing.places[0] == 1]
    on = f" on {ranking.criterion}" if ranking.criterion != "games" else ""
    apart = _never_compared(best.system, ranking)
    rivals = [name for name in rivals if name not in apart]
    never = f"it was never compared with {names(apart)}, not even through other systems" if apart else ""
    if not has_comparisons(ranking):
        return NO_COMPARISONS
    if apart and not rivals:
        behind = "significantly ahead of the systems it was compared with"
        return f"{best.system} ranks first{on}, {behind}; {never}."
    if not rivals and best.places[1] == 1:
        behind = "the other system" if len(others) == 1 else f"all {len(others)} other systems"
        return f"{best.system} ranks first{on}, significantly ahead of {behind}."
    tied = [standing for standing in ranking.systems if _is_tied(best, standing, ranking)]
    if len(tied) == len(ranking.systems):
        win_rates = {percent(standing.win_rate) for standing in tied}
        rest = f", each with a win rate of {win_rates.pop()}" if len(win_rates) == 1 else ""
        return f"No system ranks first{on}: all {len(tied)} are tied{rest}."
    if len(tied) > 1:
        shared = [standing.system for standing in tied]
        rivals = [name for name in rivals if name not in shared]
        rest = f"; their lead over {names(rivals)} is not significant" if rivals else ""
        return f"{names(shared)} tie for first{on}{rest}."
    named = names(rivals) if rivals else "the others"
    lead = f"its lead over {named} is not significant"
    return f"{best.system} ranks first{on}; {lead}{f', and {never}' if never else ''}."


def _never_compared(best: str, ranking: CriterionRanking) -> list[str]:
    """The systems that no chain of comparisons links to the best one, so that no difference was tested."""
    island = next((part for part in ranking.islands if best in part), ())
    tested = {
        frozenset((difference.first, difference.second))
        for difference in ranking.differences
        if difference.p is not None
    }
    return [
        standing.system
        for standing in ranking.systems
        if standing.system not in island and frozenset((best, standing.system)) not in tested
    ]


def _is_tied(best: Standing, standing: Standing, ranking: CriterionRanking) -> bool:
    """Whether the two have the same value; strengths of unconnected sets are not comparable."""
    if best.mean is not None and standing.mean is not None:
        best_value, value = best.mean.value, standing.mean.value
    elif len(ranking.components) == 1:
        best_value, value = best.strength.value, standing.strength.value
    else:
        return standing is best
    return (
        best_value is not None
        and value is not None
        and math.isclose(best_value, value, rel_tol=1e-9, abs_tol=1e-9)
    )


def _criterion(name: str, ranking: CriterionRanking, widest_matrix: int) -> Iterator[Section]:
    noun = "comparison" if ranking.kind == "choices" else "score comparison"
    about = f"{count(ranking.n_games, noun)} of {count(len(ranking.systems), 'system')}"
    if ranking.n_groups is not None:
        about += f" on {count(ranking.n_groups, 'prompt')}"
    about += f", {ranking.n_failed:,} failed"
    if ranking.models:
        about += f"; judge: {', '.join(ranking.models)}"
    fit = f"Strength model: {ranking.model}"
    if ranking.tie_parameter is not None:
        fit += f", tie parameter {ranking.tie_parameter:.2f}"
    yield Section(short_name(name), (about, fit), notices=notices(ranking.notes))
    yield standings_section(ranking)
    yield from _matrix(ranking, widest_matrix)
    yield _differences(ranking)
    yield from _order(ranking)
    yield from _length_section(ranking)
    yield from _judges(ranking)


def _places(place: int, standing: Standing) -> DrawnInterval:
    low, high = standing.places
    text = str(low) if low == high else f"{low}–{high}"
    mark = Mark(float(place), float(low), float(high))
    legend = "Rank: the dot is the place by strength, the line the ranks that pairwise tests leave possible."
    return DrawnInterval(text, (mark,), legend)


def standings_section(ranking: CriterionRanking) -> Section:
    """Every system, best first, with all that is known of it."""
    columns = (
        Column("rank", Axis(1.0, float(len(ranking.systems)), is_whole=True)),
        "system",
        "mean [95 % CI]",
        Column("win rate [95 % CI]", WIN_RATES),
        Column("probability-weighted", is_minor=True),
        Column("strength [95 % CI]", is_minor=True),
        Column("bootstrap CI", is_minor=True),
        Column("Elo-like", is_minor=True),
        Column("wins / losses / ties", is_minor=True),
        "n",
        "failed",
        Column("unit", is_minor=True),
        "remark",
    )
    rows = tuple(
        (
            _places(place, standing),
            standing.system,
            "" if standing.mean is None else interval(standing.mean),
            percent_cell(standing.win_rate),
            "" if standing.weighted is None else percent(standing.weighted),
            interval_cell(standing.strength),
            _ends(standing),
            NO_VALUE if standing.elo.value is None else number(standing.elo.value, 0),
            f"{standing.counts.won} / {standing.counts.lost} / {standing.counts.tied}",
            str(standing.win_rate.n),
            str(standing.n_failed),
            standing.strength.unit,
            _remark(standing),
        )
        for place, standing in enumerate(ranking.systems, start=1)
    )
    return Section("Systems, best first", (), columns, rows, 3)


def _remark(standing: Standing) -> str:
    """The remark on the strength, and on its bootstrap interval where only that is missing."""
    remark = standing.strength.reason or standing.strength.caution
    missing = standing.strength_bootstrap.reason
    if standing.strength.low is None or not missing:
        return remark
    return "; ".join(text for text in (remark, f"no bootstrap interval: {missing}") if text)


def _ends(standing: Standing) -> str:
    estimate = standing.strength_bootstrap
    if estimate.low is None or estimate.high is None:
        return NO_VALUE
    return f"[{number(estimate.low)}, {number(estimate.high)}]"


def _matrix(ranking: CriterionRanking, widest: int) -> Iterator[Section]:
    """The win rate of each row against each column."""
    systems = [system.system for system in ranking.systems]
    if len(systems) < 3:
        return
    if len(systems) > widest:
        line = f"{len(systems)} systems are too many for a table: see `matrix` in --json."
        yield Section("Head-to-head win rates", (line,), depth=3)
        return
    rows = tuple(
        (
            system,
            *(
                ""
                if other == system
                else NO_VALUE
                if (met := ranking.matrix[system].get(other)) is None
                else _shade(met)
                for other in systems
            ),
        )
        for system in systems
    )
    yield Section(
        "Head-to-head win rates",
        ("Win rate of the row against the column, with the number of games.",),
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
    """The differences between neighbours in the ranking, and how many pairs do not differ significantly."""
    systems = [difference.system for difference in ranking.systems]
    next_to = set(pairwise(systems))
    rows = tuple(
        (
            difference.first,
            difference.second,
            interval(difference.difference),
            p_text(difference.p),
            p_text(difference.p_adjusted),
            "no" if difference.is_open else "yes",
            difference.test,
            "" if difference.any_time is None else percent(difference.any_time),
        )
        for difference in ranking.differences
        if (difference.first, difference.second) in next_to
    )
    tested = [difference for difference in ranking.differences if difference.p is not None]
    n_open = sum(difference.is_open for difference in tested)
    what = "scores" if ranking.kind == "scores" else "strengths"
    n_pairs, n_untested = len(tested), len(ranking.differences) - len(tested)
    summary = f"{n_open} of {n_pairs} tested pairs of systems do not differ significantly"
    if not n_untested:
        summary = summary.replace(" tested", "")
    if n_pairs == 1:
        summary = (
            "The two systems do not differ significantly"
            if n_open
            else "The two systems differ significantly"
        )
    if not tested:
        summary = "No pair of systems could be tested"
    elif n_untested:
        verb = "pair was" if n_untested == 1 else "pairs were"
        summary += f"; {n_untested} {verb} not tested"
    line = f"Differences in {what} between neighbours in the ranking. {summary}."
    columns = (
        "first",
        "second",
        "difference [95 % CI]",
        "p",
        "p (Holm)",
        "significant",
        "test",
        "head-to-head win rate (anytime-valid)",
    )
    return Section("Differences between neighbours", (line,), columns, rows, 3, is_detail=True)


def _order(ranking: CriterionRanking) -> Iterator[Section]:
    if ranking.kind != "choices" or (ranking.order.n_pairs == 0 and ranking.order.n_one_order == 0):
        return
    judges: dict[str, PositionBias] = {"all judges" if ranking.order_by_model else "the judge": ranking.order}
    judges |= ranking.order_by_model
    columns = (
        "judge",
        "same winner in both orders",
        "first position wins",
        "first twice / second twice / one tie",
        "p",
        "pairs",
        "one order only",
    )
    rows = tuple(
        (
            name,
            percent(bias.agreement),
            percent(bias.first_share),
            f"{bias.first_both} / {bias.second_both} / {bias.other_conflicts}",
            p_text(bias.p),
            str(bias.n_pairs),
            str(bias.n_one_order),
        )
        for name, bias in judges.items()
    )
    line = "p: binomial test for position bias, among pairs whose winner changed with the order."
    yield Section("Position bias", (line,), columns, rows, 3, is_detail=True)


def _length_section(ranking: CriterionRanking) -> Iterator[Section]:
    length = ranking.length
    if length is None or length.coefficient.value is None:
        return
    columns = ("system", "win rate [95 % CI]", "win rate at equal length [95 % CI]", "length difference")
    rows = tuple(
        (
            standing.system, percent(standing.win_rate), percent(standing.length_controlled),
            NO_VALUE if standing.length_difference is None else f"{standing.length_difference:+.0f}",
        )
        for standing in ranking.systems
    )  # fmt: skip
    typical = f" ({length.typical_difference:.0f} characters)" if length.typical_difference else ""
    line = (
        f"Log odds per typical difference in length{typical}: "
        f"{interval(length.coefficient)}{_because(length.coefficient)}."
    )
    if length.difficulty_sd is not None:
        line += (
            " The model has a difficulty for each prompt (standard deviation "
            f"{number(length.difficulty_sd)} on log odds)."
        )
    yield Section("Length bias", (line,), columns, rows, 3, is_detail=True)


def _because(estimate: Estimate) -> str:
    why = estimate.reason
    return f" (no interval: {why})" if why else ""


def _judges(ranking: CriterionRanking) -> Iterator[Section]:
    if ranking.by_model:
        systems = [standing.system for standing in ranking.systems]
        rows = tuple(
            (model, *(percent(win_rates[name]) for name in systems))
            for model, win_rates in ranking.by_model.items()
        )
        yield Section("Win rates by judge", (), ("judge", *systems), rows, 3, is_detail=True)


def next_section(ranking: Ranking) -> Section:
    """The proposed comparisons, one row for each pair of systems."""
    pairs = Counter(tuple(sorted((proposal.system_a, proposal.system_b))) for proposal in ranking.next)
    prompts: dict[tuple[str, ...], list[str]] = {}
    for proposal in ranking.next:
        if proposal.group is not None:
            prompts.setdefault(tuple(sorted((proposal.system_a, proposal.system_b))), []).append(
                proposal.group
            )
    rows = []
    for pair, n in pairs.items():
        prompts_of_pair = prompts.get(pair, [])
        shown = ", ".join(prompts_of_pair[:5]) + (
            f" and {len(prompts_of_pair) - 5} more" if len(prompts_of_pair) > 5 else ""
        )
        rows.append((*pair, str(n), shown or "prompts that are not in this run"))
    line = (
        "These comparisons would reduce the uncertainty of the ranking most. -o FILE writes those whose "
        "outputs are known."
    )
    if not any(proposal.is_open for proposal in ranking.differences):
        line = "All differences are significant. These comparisons would narrow their intervals most."
    return Section(
        "Comparisons to run next", (line,), ("system", "system", "comparisons", "prompts"), tuple(rows)
    )

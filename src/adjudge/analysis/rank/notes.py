"""The notes of a ranking: what its table does not show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import structs

from ...words import count, names, p_phrase, percent, share
from .ranking import CriterionRanking

_MANY_CONFLICTS = 0.1


_FEW_PROMPTS = 10


def notes_on(ranking: CriterionRanking, more: Sequence[str], order_policy: str) -> CriterionRanking:
    """The ranking with its notes, the most severe first."""
    notes = (
        *_nothing(ranking),
        *_disconnected(ranking),
        *unbounded(ranking),
        *_failures(ranking),
        *_orders(ranking, order_policy),
        *_length(ranking),
        *_few(ranking),
        *more,
    )
    return structs.replace(ranking, notes=notes)


NO_COMPARISONS = "There are no comparisons to rank by."


def has_comparisons(ranking: CriterionRanking) -> bool:
    """Whether any two systems were compared: in games, or by the means of their scores."""
    return ranking.n_games > 0 or any(difference.p is not None for difference in ranking.differences)


def _nothing(ranking: CriterionRanking) -> Iterator[str]:
    failed = f" {count(ranking.n_failed, 'judgment')} failed." if ranking.n_failed else ""
    if not has_comparisons(ranking):
        yield f"{NO_COMPARISONS}{failed}"
    elif not ranking.n_games:
        yield (
            "No two systems have a score on the same prompt (group): systems are compared by their "
            f"means (Welch's t test), without win rates and strengths.{failed}"
        )


def _disconnected(ranking: CriterionRanking) -> Iterator[str]:
    islands = [part for part in ranking.islands if len(part) > 1 or ranking.n_games]
    if len(islands) > 1 and ranking.n_games:
        sets = "; ".join(names(part) for part in islands[:4])
        yield (
            f"The systems form {len(islands)} sets that were never compared, not even through other "
            f"systems ({sets}), so systems of different sets cannot be ranked against each other. "
            "They are sorted by their games against an average opponent. --next proposes pairs "
            "across the sets."
        )


def unbounded(ranking: CriterionRanking) -> Iterator[str]:
    """Strengths that are not shown, because a system lost, or won, every game."""
    for systems, what, bound in (
        (ranking.never_lost, "never lost", "upper"),
        (ranking.never_won, "never won", "lower"),
    ):
        if systems:
            verb = "has" if len(systems) == 1 else "have"
            yield (
                f"{names(systems)} {what}: the strength {verb} no {bound} bound and is not shown. The "
                "win rate is valid."
            )
    lone = [part[0] for part in ranking.components if len(part) == 1]
    silent = [name for name in lone if name not in (*ranking.never_lost, *ranking.never_won)]
    n_parts = len(ranking.components)
    if n_parts > 1 and len(ranking.islands) == 1 and (silent or n_parts - len(lone) > 1):
        chain = " > ".join(f"({names(part)})" for part in ranking.components[:5])
        yield (
            f"The lower systems never beat the higher ones, not even through other systems: {chain}. "
            "Strengths are comparable within a set; between sets they are unbounded."
        )


_MOST_NAMED = 4
"""How many systems a note lists."""


def _failures(ranking: CriterionRanking) -> Iterator[str]:
    total = ranking.n_games + ranking.n_failed if ranking.kind == "choices" else None
    if ranking.n_failed and total:
        yield (
            f"{ranking.n_failed} of {count(total, 'pair')} ({share(ranking.n_failed / total)}) "
            "failed and are not counted."
        )
    elif ranking.n_failed:
        failed = sorted(ranking.systems, key=lambda standing: -standing.n_failed)
        shown = [f"{one.system} {one.n_failed:,}" for one in failed[:_MOST_NAMED] if one.n_failed]
        more = ", …" if any(one.n_failed for one in failed[_MOST_NAMED:]) else ""
        yield (
            f"{count(ranking.n_failed, 'score')} could not be read ({', '.join(shown)}{more}). Where poor "
            "outputs caused that, the means of these systems are too high."
        )


def _orders(ranking: CriterionRanking, policy: str) -> Iterator[str]:
    if ranking.kind != "choices":
        return
    order = ranking.order
    if policy == "given" or (order.n_pairs == 0 and order.n_one_order and policy != "random"):
        yield (
            "Each pair was shown in one order only: position bias favours the system shown there, "
            "and neither the strengths nor their intervals account for it. The first position won "
            f"{percent(order.first_share)} of the decided choices. --order both shows each pair in "
            "both orders."
        )
    elif policy == "random":
        yield (
            "Each pair was shown in one order, drawn at random: position bias cancels out on average, "
            "but is unknown for each pair."
        )
    changed = order.first_both + order.second_both + order.other_conflicts
    if order.n_pairs and changed / order.n_pairs >= _MANY_CONFLICTS:
        position = "the first" if order.first_both >= order.second_both else "the second"
        p = order.p
        favoured = (
            f", mostly in favour of {position} position ({p_phrase(p)})"
            if p is not None and p <= 0.05
            else ""
        )
        yield (
            f"{changed} of {count(order.n_pairs, 'judged pair')} had a different winner when the "
            f"responses were swapped{favoured}. They count as ties."
        )


def _length(ranking: CriterionRanking) -> Iterator[str]:
    length = ranking.length
    if length is None:
        return
    if length.coefficient.value is None:
        yield f"Length bias could not be controlled for: {length.coefficient.reason}."
        return
    if length.coefficient.low is None or length.coefficient.high is None:
        return
    if not length.coefficient.low <= 0 <= length.coefficient.high:
        kind = "longer" if length.coefficient.value > 0 else "shorter"
        before = [standing.system for standing in ranking.systems]
        after = sorted(
            ranking.systems,
            key=lambda standing: (
                -(standing.length_controlled.value or 0.0) if standing.length_controlled else 0.0
            ),
        )
        changed = "changes" if [standing.system for standing in after] != before else "does not change"
        yield (
            f"The judge prefers {kind} responses (length bias). At equal length, the order of the "
            f"systems {changed}."
        )
    caution = next(
        (standing.length_controlled.caution for standing in ranking.systems if standing.length_controlled), ""
    )
    if caution:
        yield f"Length control extrapolates: {caution}."


def _few(ranking: CriterionRanking) -> Iterator[str]:
    n = ranking.n_groups if ranking.n_groups is not None else ranking.n_games
    if 0 < n < _FEW_PROMPTS:
        noun = "prompt" if ranking.n_groups is not None else "pair"
        yield f"{count(n, f'independent {noun}')}: too few to generalise. The intervals are approximate."

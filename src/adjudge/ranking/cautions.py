"""What a reader must know before using a ranking, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import structs

from ..stats import caution, reason
from ..words import count, names, p_text, percent, share
from .shapes import CriterionRanking

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
        yield f"Length could not be controlled for: {reason(found.coefficient)}."
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
    told = next((caution(one.length_controlled) for one in ranking.systems if one.length_controlled), "")
    if told:
        yield f"Length control stretches the data: {told}."


def _few(ranking: CriterionRanking) -> Iterator[str]:
    n = ranking.n_groups if ranking.n_groups is not None else ranking.n_games
    if 0 < n < _FEW_PROMPTS:
        noun = "prompt" if ranking.n_groups is not None else "pair"
        yield f"{count(n, f'independent {noun}')}: too few to speak for others. The intervals are rough."

"""The ranking of a stored run, and `adjudge.rank`: games and scores from wherever they are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

from msgspec import structs

from ..combine import choice_criterion
from ..engine import Run, settings_of
from ..errors import DataError
from ..records import Estimate, FieldValue, Item, Order, Protocol, Reply, Result, Scale
from ..stats import (
    Games,
    PositionBias,
    Strengths,
    Ties,
    games_from_scores,
    length_controlled,
    mean_interval,
    position_bias,
    strengths,
    token_preference,
)
from ..stats.arrays import undefined
from ..store import Asked, RunRow, Store, open_store
from .differences import Fitted, paired_differences, places_of, strength_differences, with_own_games
from .games import (
    Game,
    Material,
    Taken,
    counted,
    from_games,
    games_as_arrays,
    materials,
    matrix_of,
    taken_by,
    won_share,
)
from .next_pairs import Outputs, item_rows, outputs_of, proposals, with_files
from .rank_words import notes_on
from .result_types import CriterionRanking, Difference, Length, Proposal, Ranking, Standing
from .run_view import Positions, RunView, by_criterion, tabulate, view_of_results

# What a stored run knows beyond its results: the choice in each order, and how likely each choice was.


LEAST_CAUGHT_MASS = 0.5
"""With less than this on the two words of the choice, the tokens do not say what the judge prefers."""


_SIGNS = "[]()*\"'.:,"
"""What judges put around the word of their choice."""


def preferred_a(protocol: Protocol, span: tuple[int, int], reply: Reply, order: Order) -> float | None:
    """How likely the judge was to choose response a, from the tokens at the place of its choice.

    The share of `a` among the two words that the protocol asks for (AlpacaEval 2, Dubois et al. 2024). None where the
    words do not begin with different tokens, or the tokens known there caught less than half of the probability.
    """
    words = protocol.answer.choices
    if not reply.logprobs or "a" not in words or "b" not in words:
        return None
    position, (start, end) = 0, span
    first, second = words["a"], words["b"]
    for token in reply.logprobs:
        last = position + len(token.token)
        if last > start and position < end:
            known = {top.token: top.logprob for top in token.top}
            known.setdefault(token.token, token.logprob)
            lead = token.token[: max(0, start - position)]
            found = _first_of_two(known, lead, first, second)
            if found is not None:
                return found if order == "ab" else 1 - found
            # Words that begin alike are told apart by what comes next.
            said = token.token.removeprefix(lead).strip()
            if said.strip(_SIGNS) and not (first.startswith(said) and second.startswith(said)):
                return None
            first, second = first.removeprefix(said), second.removeprefix(said)
        position = last
    return None


def _first_of_two(known: Mapping[str, float], lead: str, first: str, second: str) -> float | None:
    """The share of the first word, by the tokens that begin one of the two and not the other."""
    begun: list[tuple[str, float]] = []
    for token, logprob in known.items():
        body = token.removeprefix(lead) if lead.strip() else token
        body = body.strip()
        of = [name for name, word in (("first", first), ("second", second)) if body and _begins(body, word)]
        if len(of) == 1:
            begun.append((of[0], logprob))
    found = token_preference(begun, "first", "second")
    return None if found is None or found.caught_mass < LEAST_CAUGHT_MASS else found.share


def _begins(token: str, word: str) -> bool:
    """Whether a token is the word or its beginning; a bracket or full stop that a judge hangs on is no part of it."""
    bare = token.strip(_SIGNS)
    return bool(bare) and (word.startswith(bare) or bare == word)


def preferences(
    asked: Iterable[Asked],
    protocols: Mapping[str, Protocol],
    choice_spans: Mapping[tuple[int, int], tuple[int, int]],
) -> dict[str, dict[str, float]]:
    """By protocol and item, how likely response a was to be chosen: the mean over orders, samples and judges."""
    found: dict[str, dict[str, dict[Order, list[float]]]] = {}
    for place in asked:
        span = choice_spans.get((place.seq, place.call_index))
        if span is None or place.item is None or place.call.kind == "reask" or not place.reply.logprobs:
            continue
        share = preferred_a(protocols[place.call.protocol], span, place.reply, place.call.order)
        if share is not None:
            own = found.setdefault(place.call.protocol, {}).setdefault(place.item.id, {})
            own.setdefault(place.call.order, []).append(share)
    # Each order counts as much as the other, or a place that failed would tip the scales.
    return {
        protocol: {
            item: sum(sum(own) / len(own) for own in orders.values()) / len(orders)
            for item, orders in items.items()
        }
        for protocol, items in found.items()
    }


# The ranking of one criterion: win rates, strengths, places that stay open, and what a reader must know.
#
# From choices, the games are the pairs that were judged. From scores, every input on which two systems have a score is
# a game too, so that win rates and strengths mean the same; places then go by the means and their paired differences.


N_RESAMPLES = 1000


class Settings(NamedTuple):
    """What a user may ask of a ranking."""

    seed: int = 0
    ties: Ties = "davidson"
    n_resamples: int = N_RESAMPLES


class Known(NamedTuple):
    """What a stored run knows of a criterion beside its results."""

    positions: Positions | None = None
    preferences: Mapping[str, float] = {}
    """item → how likely response a was to be chosen"""
    order_policy: str = ""
    """both, random or given; empty where it is not known"""


def rank_criterion(material: Material, settings: Settings, known: Known | None = None) -> CriterionRanking:
    """One criterion, from games or from scores."""
    known = known or Known()
    if material.kind == "scores":
        return _by_scores(material, settings)
    return _by_games(material, settings, known)


def _fitted(games: Games, systems: tuple[str, ...], settings: Settings) -> Fitted:
    found = strengths(games, ties=settings.ties, n_resamples=settings.n_resamples, seed=settings.seed)
    return Fitted(games, found, systems)


def _by_strength(found: Strengths) -> list[int]:
    """Best first; where not all strengths exist, by the ratings, which do."""
    values = [one.value for one in found.sandwich]
    keys = list(found.rating) if None in values else [value or 0.0 for value in values]
    return sorted(range(len(keys)), key=lambda i: (-keys[i], i))


def _by_games(material: Material, settings: Settings, known: Known) -> CriterionRanking:
    if len(material.systems) < 2:
        raise DataError(
            f"On {material.name} there is one system, {', '.join(material.systems) or 'none'}: a ranking takes two. "
            "Make pairs of several systems' outputs: adjudge pair A.jsonl B.jsonl -o pairs.jsonl"
        )
    fitted = _fitted(games_as_arrays(material.games, material.systems), material.systems, settings)
    order = _by_strength(fitted.found)
    differences = with_own_games(strength_differences(fitted, order), material.games)
    controlled = length_controlled(fitted.games, [game.length_difference for game in material.games])
    has_lengths = any(game.length_difference is not None for game in material.games)
    weighted = _weighted(material, known.preferences)
    places = places_of(order, differences, material.systems)
    taken = taken_by(material.games, material.systems)
    standings = tuple(
        structs.replace(
            _standing(material, fitted, i, at, places, taken),
            weighted=weighted.get(material.systems[i]),
            length_controlled=controlled.win_rates[i] if has_lengths else None,
            length_difference=controlled.differences[i] if has_lengths else None,
        )
        for at, i in enumerate(order, start=1)
    )
    length = Length(controlled.coefficient, controlled.typical_difference) if has_lengths else None
    return _ranking(material, fitted, standings, differences, length, known)


def _standing(
    material: Material, fitted: Fitted, i: int, at: int, places: Mapping[str, tuple[int, int]], taken: Mapping[str, Taken]
) -> Standing:  # fmt: skip
    """What every ranking says of one system."""
    system = material.systems[i]
    n_failed = material.failed.get(system, 0)
    return Standing(
        system=system,
        place=at,
        places=places[system],
        win_rate=won_share(taken[system], n_failed),
        strength=fitted.found.sandwich[i],
        strength_bootstrap=fitted.found.bootstrap[i],
        elo=fitted.found.elo[i],
        counts=counted(taken[system].shares),
        n_failed=n_failed,
    )


def _by_scores(material: Material, settings: Settings) -> CriterionRanking:
    if len(material.systems) < 2:
        raise DataError(
            f"On {material.name} there is one system, {', '.join(material.systems) or 'none'}: a ranking takes two. "
            "Say which system wrote each output with the field 'system'."
        )
    units = list(dict.fromkeys(score.unit for score in material.scores))
    place_of_unit = {unit: place for place, unit in enumerate(units)}
    table: dict[str, list[float | None]] = {system: [None] * len(units) for system in material.systems}
    for score in material.scores:
        table[score.system][place_of_unit[score.unit]] = score.value
    rows = [table[system] for system in material.systems]
    fitted = _fitted(games_from_scores(rows, material.is_higher_better), material.systems, settings)
    means = [
        mean_interval(
            [value for value in row if value is not None],
            n_failed=material.failed.get(system, 0),
            limits=material.limits,
        )
        for row, system in zip(rows, material.systems, strict=True)
    ]
    sign = 1 if material.is_higher_better else -1
    order = sorted(
        range(len(rows)), key=lambda i: (means[i].value is None, -sign * (means[i].value or 0.0), i)
    )
    differences = paired_differences(rows, order, material.systems)
    places = places_of(order, differences, material.systems, sign)
    games = _named(fitted)
    taken = taken_by(games, material.systems)
    standings = tuple(
        structs.replace(
            _standing(material, fitted, i, at, places, taken),
            mean=means[i],
        )
        for at, i in enumerate(order, start=1)
    )
    return _ranking(material, fitted, standings, differences, None, Known())


def _named(fitted: Fitted) -> list[Game]:
    """Games made from scores, with the systems' names; an input is the prompt."""
    games, systems = fitted.games, fitted.systems
    return [
        Game(systems[first], systems[second], share, str(unit))
        for first, second, share, unit in zip(
            games.first.tolist(),
            games.second.tolist(),
            games.share.tolist(),
            games.cluster.tolist(),
            strict=True,
        )
    ]


def _ranking(
    material: Material, fitted: Fitted, standings: tuple[Standing, ...], differences: tuple[Difference, ...],
    length: Length | None, known: Known,
) -> CriterionRanking:  # fmt: skip
    found, systems = fitted.found, fitted.systems
    games = _named(fitted) if material.kind == "scores" else material.games
    n_clusters = fitted.games.n_clusters
    ranking = CriterionRanking(
        criterion=material.criterion,
        protocol=material.protocol,
        kind=material.kind,
        models=material.models,
        systems=standings,
        order=known.positions.all_models if known.positions is not None else _no_orders(material),
        order_by_model=known.positions.by_model
        if known.positions is not None and len(material.models) > 1
        else {},
        matrix=matrix_of(games, [standing.system for standing in standings]),
        differences=differences,
        length=length,
        by_model={
            model: {
                system: won_share(taken, material.failed_by_model.get(model, {}).get(system, 0))
                for system, taken in taken_by(games, systems).items()
            }
            for model, games in material.by_model.items()
        },
        model=found.model,
        tie_parameter=found.nu,
        components=tuple(tuple(systems[i] for i in part) for part in found.components),
        islands=tuple(tuple(systems[i] for i in part) for part in found.islands),
        never_lost=tuple(systems[i] for i in found.never_lost),
        never_won=tuple(systems[i] for i in found.never_won),
        n_games=len(games),
        n_failed=material.n_failed,
        n_groups=n_clusters if n_clusters < len(games) else None,
        notes=(),
    )
    return notes_on(ranking, material.notes, known.order_policy)


def _no_orders(material: Material) -> PositionBias:
    if material.kind == "choices":
        why = "only a stored run knows in which order responses were shown"
        return _without_order(why)
    return _without_order("scores are not given in an order of responses")


def _without_order(why: str) -> PositionBias:
    empty = position_bias([], [])
    return PositionBias(undefined(why), undefined(why), 0, 0, empty.first_both, empty.second_both, 0, None)


def _weighted(material: Material, preferences: Mapping[str, float]) -> dict[str, Estimate]:
    """The win rates by how likely each choice was, over the pairs whose tokens are known."""
    known = [game for game in material.games if game.item in preferences]
    if not known:
        return {}
    graded = [Game(game.first, game.second, preferences[game.item], game.group, game.item) for game in known]
    missing = len(material.games) - len(known)
    found = {}
    for system, (shares, clusters) in taken_by(graded, material.systems).items():
        groups = clusters if len(set(clusters)) < len(clusters) else None
        estimate = mean_interval(
            shares, groups, material.failed.get(system, 0), (0.0, 1.0), "probability of the choice, mean"
        )
        found[system] = structs.replace(estimate, n_undefined=missing)
    return found


_LOOKED_AT = 20
"""Replies that are looked at to see whether a run has log-probabilities."""


class RankSettings(TypedDict, total=False):
    """What a user may ask of a ranking."""

    criterion: str | None
    seed: int
    ties: Ties
    n_resamples: int
    n_next: int
    outputs: Sequence[str | Path]


def rank(
    source: Run | Iterable[Result] | Iterable[Game] | Iterable[Sequence[object]],
    *,
    scales: dict[str, Scale] | None = None,
    **settings: Unpack[RankSettings],
) -> Ranking:
    """Rank the systems of a run, of any results, or of games: `Game`s or (system, system, "a" | "b" | "tie" | share).

    `criterion` picks one of several; `n_next` proposes so many comparisons to ask for next, on the outputs that a run
    or the files in `outputs` hold. The scales of a run are known; for other results `scales` gives them by criterion.
    """
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            return rank_run(store, store.run(source.name), **settings)
    given = list(source)
    if given and all(isinstance(one, Result) for one in given):
        rows = [one for one in given if isinstance(one, Result)]
        found = materials(view_of_results(rows, by_criterion(scales)))
    elif given and not any(isinstance(one, Result | str) for one in given):
        found = [from_games(given)]  # type: ignore[arg-type]
    else:
        raise DataError("There is nothing to rank: give a run, a list of results, or a list of games.")
    return _ranking_from(_picked(found, settings.get("criterion")), {}, settings)


def rank_run(store: Store, run: RunRow, **settings: Unpack[RankSettings]) -> Ranking:
    """The ranking of a run, with what only the store knows: orders, lengths, log-probabilities."""
    return rank_view(store, tabulate(store, run, choice_spans=has_logprobs(store, run)), **settings)


def has_logprobs(store: Store, run: RunRow) -> bool:
    """Whether the replies of a run carry log-probabilities, by a look at the first of them."""
    return any(place.reply.logprobs for place in islice(store.asked(run), _LOOKED_AT))


def rank_view(store: Store, view: RunView, **settings: Unpack[RankSettings]) -> Ranking:
    """The ranking of a run that was read before."""
    assert view.run is not None
    found = materials(view, _lengths(store.items(view.run)))
    if not found:
        raise DataError(f"{view.name} has no results yet. Give its command again to go on with it.")
    found = _picked(found, settings.get("criterion"))
    known = _known(store, view) if any(one.kind == "choices" for one in found) else {}
    outputs = None
    if settings.get("n_next"):
        outputs = with_files(outputs_of(store.items(view.run)), settings.get("outputs", ()))
    ranking = _ranking_from(found, known, settings, outputs)
    return structs.replace(ranking, run=view.name, notes=(*view.notes(), *ranking.notes))


def rows_to_ask(
    store: Store, run: RunRow, proposed: Sequence[Proposal], outputs: Sequence[str | Path] = ()
) -> list[dict[str, object]]:
    """The proposals whose outputs are known, as rows of an items file."""
    return item_rows(proposed, with_files(outputs_of(store.items(run)), outputs))


def _picked(found: list[Material], criterion: str | None) -> list[Material]:
    if criterion is None:
        return found
    names = [one.name for one in found]
    chosen = [one for one in found if criterion in (one.name, one.criterion)]
    if not chosen:
        near = difflib.get_close_matches(criterion, names, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise DataError(f"There is no criterion '{criterion}'.{hint} There are: {', '.join(names)}.")
    return [one for one in chosen if one.name == criterion] or chosen


def _ranking_from(
    found: list[Material], known: dict[str, Known], settings: RankSettings, outputs: Outputs | None = None
) -> Ranking:
    own = Settings(
        settings.get("seed", 0), settings.get("ties", "davidson"), settings.get("n_resamples", N_RESAMPLES)
    )
    usable = [one for one in found if len(one.systems) > 1]
    criteria: dict[str, CriterionRanking] = {
        # A criterion with one system alone is an error only where there is no other.
        one.name: rank_criterion(one, own, known.get(one.protocol))
        for one in usable or found[:1]
    }
    first = (usable or found)[0]
    n_next = settings.get("n_next", 0)
    return Ranking(
        **structs.asdict(criteria[first.name]),
        criteria=criteria,
        next=proposals(first, n_next, outputs) if n_next else (),
        seed=own.seed,
    )


def _known(store: Store, view: RunView) -> dict[str, Known]:
    """By protocol: position bias of the stated choice, and the probabilities of choices where replies have them."""
    assert view.run is not None
    likely: dict[str, dict[str, float]] = {}
    if view.choice_spans:
        likely = preferences(store.asked(view.run), view.protocols, view.choice_spans)
    policy = settings_of(view.run).order
    return {
        key: Known(
            view.positions.get((key, choice_criterion(protocol.criteria))), likely.get(key, {}), policy
        )
        for key, protocol in view.protocols.items()
    }


def _lengths(items: Iterable[Item]) -> dict[str, float]:
    return {
        item.id: float(_size(item.fields["response_a"]) - _size(item.fields["response_b"]))
        for item in items
        if "response_a" in item.fields and "response_b" in item.fields
    }


def _size(value: FieldValue) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(len(entry if isinstance(entry, str) else entry.content) for entry in value)

"""`adjudge.rank`: the ranking of systems from games or scores, of a stored run or of any results.

From choices, the games are the judged pairs. From scores, two systems with a score on the same input make a game, so
that win rates and strengths mean the same; ranks then follow the means and their paired differences.

Differences of all pairs of systems with their tests, and the ranks that the tests leave possible.

Proposes which pairs of systems to compare next, and on which prompts. Calls no model and writes no file.

A pair is proposed on a prompt where both outputs are known but not compared yet; if there is none, without a prompt.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

from msgspec import Struct, structs

from ..combine import choice_criterion
from ..data import plain
from ..data.pairs import pair_id, read_outputs
from ..engine import Run, settings_of
from ..errors import DataError
from ..records import Estimate, FieldValue, Item, Order, Protocol, Reply, Result, Scale
from ..stats import (
    Games,
    PositionBias,
    Strengths,
    Ties,
    adjusted,
    any_time_mean,
    games_from_scores,
    length_controlled,
    mean_interval,
    next_games,
    position_bias,
    score_differences,
    simultaneous,
    strengths,
    token_preference,
)
from ..stats.arrays import t_quantile, undefined
from ..store import Asked, RunRow, Store, open_store
from .games import (
    Game,
    GameShares,
    RankingInput,
    clusters_of,
    games_as_arrays,
    input_from_games,
    ranking_inputs,
    shares_by_system,
    win_counts,
    win_matrix,
    win_rate_of,
)
from .rank_words import notes_on
from .result_types import (
    SIGNIFICANCE,
    CriterionRanking,
    Difference,
    Leaders,
    Length,
    Proposal,
    Ranking,
    Standing,
)
from .run_view import Positions, RunView, by_criterion, tabulate, text_length, view_of_results

# -- Probabilities of choices, from the log-probabilities of replies


LEAST_CAUGHT_MASS = 0.5
"""With less probability than this on the two words of the choice, the preference is unknown."""
_SIGNS = "[]()*\"'.:,"
"""Punctuation that judges put around the word of their choice."""


def preferred_a(protocol: Protocol, span: tuple[int, int], reply: Reply, order: Order) -> float | None:
    """The probability that the judge chooses response a, from the tokens at the position of its choice.

    The share of `a` among the two words that the protocol expects (AlpacaEval 2, Dubois et al. 2024). None where the
    words do not begin with different tokens, or the known tokens cover less than half of the probability.
    """
    words = protocol.answer.choices
    if not reply.logprobs or "a" not in words or "b" not in words:
        return None
    position, (start, end) = 0, span
    first, second = words["a"], words["b"]
    for token in reply.logprobs:
        last = position + len(token.token)
        if last > start and position < end:
            logprobs = {top.token: top.logprob for top in token.top}
            logprobs.setdefault(token.token, token.logprob)
            lead = token.token[: max(0, start - position)]
            share = _first_of_two(logprobs, lead, first, second)
            if share is not None:
                return share if order == "ab" else 1 - share
            # Words with the same beginning differ in a later token.
            piece = token.token.removeprefix(lead).strip()
            if piece.strip(_SIGNS) and not (first.startswith(piece) and second.startswith(piece)):
                return None
            first, second = first.removeprefix(piece), second.removeprefix(piece)
        position = last
    return None


def _first_of_two(logprobs: Mapping[str, float], lead: str, first: str, second: str) -> float | None:
    """The share of the first word, from the tokens that begin only one of the two words."""
    begins: list[tuple[str, float]] = []
    for token, logprob in logprobs.items():
        body = token.removeprefix(lead) if lead.strip() else token
        body = body.strip()
        matching = [
            name for name, word in (("first", first), ("second", second)) if body and _begins(body, word)
        ]
        if len(matching) == 1:
            begins.append((matching[0], logprob))
    preference = token_preference(begins, "first", "second")
    return None if preference is None or preference.caught_mass < LEAST_CAUGHT_MASS else preference.share


def _begins(token: str, word: str) -> bool:
    """Whether a token is the word or its beginning, without punctuation."""
    bare = token.strip(_SIGNS)
    return bool(bare) and (word.startswith(bare) or bare == word)


def preferences(
    asked: Iterable[Asked],
    protocols: Mapping[str, Protocol],
    choice_spans: Mapping[tuple[int, int], tuple[int, int]],
) -> dict[str, dict[str, float]]:
    """Protocol → item → the probability of choosing response a: the mean over orders, samples and judges."""
    shares: dict[str, dict[str, dict[Order, list[float]]]] = {}
    for call in asked:
        span = choice_spans.get((call.seq, call.call_index))
        if span is None or call.item is None or call.call.kind == "reask" or not call.reply.logprobs:
            continue
        share = preferred_a(protocols[call.call.protocol], span, call.reply, call.call.order)
        if share is not None:
            by_order = shares.setdefault(call.call.protocol, {}).setdefault(call.item.id, {})
            by_order.setdefault(call.call.order, []).append(share)
    # Both orders have the same weight, even if one of them has fewer samples.
    return {
        protocol: {
            item: sum(sum(values) / len(values) for values in orders.values()) / len(orders)
            for item, orders in items.items()
        }
        for protocol, items in shares.items()
    }


# -- The ranking of one criterion


N_RESAMPLES = 1000


class FitSettings(NamedTuple):
    """How strengths are fitted."""

    seed: int = 0
    ties: Ties = "davidson"
    n_resamples: int = N_RESAMPLES


class ChoiceDetails(NamedTuple):
    """What a stored run knows about the choices of a protocol beyond its results."""

    positions: Positions | None = None
    preferences: Mapping[str, float] = {}
    """item → the probability of choosing response a"""
    order_policy: str = ""
    """both, random or given; empty where it is unknown"""


def rank_criterion(
    ranking_input: RankingInput, settings: FitSettings, details: ChoiceDetails | None = None
) -> CriterionRanking:
    """The ranking of one criterion, from games or from scores."""
    details = details or ChoiceDetails()
    if ranking_input.kind == "scores":
        return _by_scores(ranking_input, settings)
    return _by_games(ranking_input, settings, details)


def _fitted(games: Games, systems: tuple[str, ...], settings: FitSettings) -> Fitted:
    fit = strengths(games, ties=settings.ties, n_resamples=settings.n_resamples, seed=settings.seed)
    return Fitted(games, fit, systems)


def _by_strength(strengths_fit: Strengths) -> list[int]:
    """Systems best first; by their ratings where some strengths are undefined."""
    values = [estimate.value for estimate in strengths_fit.sandwich]
    keys = list(strengths_fit.rating) if None in values else [value or 0.0 for value in values]
    return sorted(range(len(keys)), key=lambda i: (-keys[i], i))


def _by_games(ranking_input: RankingInput, settings: FitSettings, details: ChoiceDetails) -> CriterionRanking:
    if len(ranking_input.systems) < 2:
        raise DataError(
            f"{ranking_input.name} has only one system ({', '.join(ranking_input.systems) or 'none'}); a ranking needs two. "
            "Make pairs of several systems' outputs: adjudge pair A.jsonl B.jsonl -o pairs.jsonl"
        )
    fitted = _fitted(
        games_as_arrays(ranking_input.games, ranking_input.systems), ranking_input.systems, settings
    )
    order = _by_strength(fitted.strengths)
    differences = with_head_to_head(strength_differences(fitted, order), ranking_input.games)
    controlled = length_controlled(fitted.games, [game.length_difference for game in ranking_input.games])
    has_lengths = any(game.length_difference is not None for game in ranking_input.games)
    weighted = _weighted(ranking_input, details.preferences)
    ranks = rank_ranges(order, differences, ranking_input.systems)
    games_of = shares_by_system(ranking_input.games, ranking_input.systems)
    standings = tuple(
        structs.replace(
            _standing(ranking_input, fitted, i, rank, ranks, games_of),
            weighted=weighted.get(ranking_input.systems[i]),
            length_controlled=controlled.win_rates[i] if has_lengths else None,
            length_difference=controlled.differences[i] if has_lengths else None,
        )
        for rank, i in enumerate(order, start=1)
    )
    length = (
        Length(controlled.coefficient, controlled.typical_difference, controlled.difficulty_sd)
        if has_lengths
        else None
    )
    return _ranking(ranking_input, fitted, standings, differences, length, details)


def _standing(
    ranking_input: RankingInput, fitted: Fitted, i: int, rank: int, ranks: Mapping[str, tuple[int, int]], games_of: Mapping[str, GameShares]
) -> Standing:  # fmt: skip
    """One system, with what rankings by games and by scores share."""
    system = ranking_input.systems[i]
    n_failed = ranking_input.failed.get(system, 0)
    return Standing(
        system=system,
        place=rank,
        places=ranks[system],
        win_rate=win_rate_of(games_of[system], n_failed),
        strength=fitted.strengths.sandwich[i],
        strength_bootstrap=fitted.strengths.bootstrap[i],
        elo=fitted.strengths.elo[i],
        counts=win_counts(games_of[system].shares),
        n_failed=n_failed,
    )


def _by_scores(ranking_input: RankingInput, settings: FitSettings) -> CriterionRanking:
    if len(ranking_input.systems) < 2:
        raise DataError(
            f"{ranking_input.name} has only one system ({', '.join(ranking_input.systems) or 'none'}); a ranking needs two. "
            "Name the system of each output in the field 'system'."
        )
    rows = _score_rows(ranking_input)
    fitted = _fitted(games_from_scores(rows, ranking_input.is_higher_better), ranking_input.systems, settings)
    means, order, differences, ranks = _by_means(ranking_input, rows)
    games = _games_from_scores(fitted)
    games_of = shares_by_system(games, ranking_input.systems)
    standings = tuple(
        structs.replace(
            _standing(ranking_input, fitted, i, rank, ranks, games_of),
            mean=means[i],
        )
        for rank, i in enumerate(order, start=1)
    )
    return _ranking(ranking_input, fitted, standings, differences, None, ChoiceDetails())


ScoreRows = list[list[float | None]]
"""systems × inputs"""


def _score_rows(ranking_input: RankingInput) -> ScoreRows:
    units = list(dict.fromkeys(score.unit for score in ranking_input.scores))
    column_of_unit = {unit: column for column, unit in enumerate(units)}
    table: dict[str, list[float | None]] = {system: [None] * len(units) for system in ranking_input.systems}
    for score in ranking_input.scores:
        table[score.system][column_of_unit[score.unit]] = score.value
    return [table[system] for system in ranking_input.systems]


class ByMeans(NamedTuple):
    """Systems by their mean scores: means, best first, differences of all pairs, ranks that remain possible."""

    means: list[Estimate]
    order: list[int]
    differences: tuple[Difference, ...]
    ranks: dict[str, tuple[int, int]]


def _by_means(ranking_input: RankingInput, rows: ScoreRows) -> ByMeans:
    means = [
        mean_interval(
            [value for value in row if value is not None],
            n_failed=ranking_input.failed.get(system, 0),
            limits=ranking_input.limits,
        )
        for row, system in zip(rows, ranking_input.systems, strict=True)
    ]
    sign = 1 if ranking_input.is_higher_better else -1
    order = sorted(
        range(len(rows)), key=lambda i: (means[i].value is None, -sign * (means[i].value or 0.0), i)
    )
    differences = paired_differences(rows, order, ranking_input.systems)
    return ByMeans(means, order, differences, rank_ranges(order, differences, ranking_input.systems, sign))


def leaders_of(view: RunView, ranking: Ranking | None = None) -> dict[tuple[str, str], Leaders]:
    """(protocol, criterion) → its best systems, as the ranking has them.

    Strengths are not fitted: by scores the means decide. Choices need a `ranking` of the run; without one they are left out.
    """
    leaders: dict[tuple[str, str], Leaders] = {}
    chosen = [] if ranking is None else [one for one in ranking.criteria.values() if one.kind == "choices"]
    for of_choices in chosen:
        first = [standing.system for standing in of_choices.systems if standing.places[0] == 1]
        leaders[of_choices.protocol, of_choices.criterion] = Leaders(
            of_choices.criterion, "choices", tuple(first)
        )
    for one in ranking_inputs(view):
        key = (one.protocol, one.criterion)
        if one.kind == "scores" and key not in leaders and len(one.systems) > 1:
            scale = view.scale(*key)
            found = _by_means(one, _score_rows(one))
            first = [one.systems[i] for i in found.order if found.ranks[one.systems[i]][0] == 1]
            is_known = (scale is None or scale.direction != 0) and bool(one.scores)
            leaders[key] = Leaders(one.name, "scores", tuple(first) if is_known else ())
    return leaders


def _games_from_scores(fitted: Fitted) -> list[Game]:
    """The games made from scores, with the names of the systems; each input is a prompt."""
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
    ranking_input: RankingInput, fitted: Fitted, standings: tuple[Standing, ...], differences: tuple[Difference, ...],
    length: Length | None, details: ChoiceDetails,
) -> CriterionRanking:  # fmt: skip
    fit, systems = fitted.strengths, fitted.systems
    games = _games_from_scores(fitted) if ranking_input.kind == "scores" else ranking_input.games
    n_clusters = fitted.games.n_clusters
    ranking = CriterionRanking(
        criterion=ranking_input.criterion,
        protocol=ranking_input.protocol,
        kind=ranking_input.kind,
        models=ranking_input.models,
        systems=standings,
        order=details.positions.all_models if details.positions is not None else _no_orders(ranking_input),
        order_by_model=details.positions.by_model
        if details.positions is not None and len(ranking_input.models) > 1
        else {},
        matrix=win_matrix(games, [standing.system for standing in standings]),
        differences=differences,
        length=length,
        by_model={
            model: {
                system: win_rate_of(shares, ranking_input.failed_by_model.get(model, {}).get(system, 0))
                for system, shares in shares_by_system(games, systems).items()
            }
            for model, games in ranking_input.by_model.items()
        },
        model=fit.model,
        tie_parameter=fit.nu,
        components=tuple(tuple(systems[i] for i in part) for part in fit.components),
        islands=tuple(tuple(systems[i] for i in part) for part in fit.islands),
        never_lost=tuple(systems[i] for i in fit.never_lost),
        never_won=tuple(systems[i] for i in fit.never_won),
        n_games=len(games),
        n_failed=ranking_input.n_failed,
        n_groups=n_clusters if n_clusters < len(games) else None,
        notes=(),
    )
    return notes_on(ranking, ranking_input.notes, details.order_policy)


def _no_orders(ranking_input: RankingInput) -> PositionBias:
    if ranking_input.kind == "choices":
        why = "only a stored run knows in which order responses were shown"
        return _without_order(why)
    return _without_order("scores are not given in an order of responses")


def _without_order(why: str) -> PositionBias:
    empty = position_bias([], [])
    return PositionBias(undefined(why), undefined(why), 0, 0, empty.first_both, empty.second_both, 0, None)


def _weighted(ranking_input: RankingInput, preferences: Mapping[str, float]) -> dict[str, Estimate]:
    """Win rates weighted by the probability of each choice, over the pairs with log-probabilities."""
    with_tokens = [game for game in ranking_input.games if game.item in preferences]
    if not with_tokens:
        return {}
    weighted_games = [
        Game(game.first, game.second, preferences[game.item], game.group, game.item) for game in with_tokens
    ]
    missing = len(ranking_input.games) - len(with_tokens)
    win_rates = {}
    for system, (shares, clusters) in shares_by_system(weighted_games, ranking_input.systems).items():
        groups = clusters if len(set(clusters)) < len(clusters) else None
        estimate = mean_interval(
            shares, groups, ranking_input.failed.get(system, 0), (0.0, 1.0), "probability of the choice, mean"
        )
        win_rates[system] = structs.replace(estimate, n_undefined=missing)
    return win_rates


# -- Rankings of runs and results


_LOOKED_AT = 20
"""Number of replies that show whether a run has log-probabilities."""


class RankSettings(TypedDict, total=False):
    """The settings of a ranking."""

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

    `criterion` selects one of several; `n_next` is the number of comparisons to propose, on the outputs of the run and
    of the files in `outputs`. The scales of a run are known; for other results `scales` gives them by criterion.
    """
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            return rank_run(store, store.run(source.name), **settings)
    entries = list(source)
    if entries and all(isinstance(entry, Result) for entry in entries):
        rows = [entry for entry in entries if isinstance(entry, Result)]
        inputs = ranking_inputs(view_of_results(rows, by_criterion(scales)))
    elif entries and not any(isinstance(entry, Result | str) for entry in entries):
        inputs = [input_from_games(entries)]  # type: ignore[arg-type]
    else:
        raise DataError("There is nothing to rank: give a run, a list of results, or a list of games.")
    return _ranking_from(_select(inputs, settings.get("criterion")), {}, settings)


def rank_run(store: Store, run: RunRow, **settings: Unpack[RankSettings]) -> Ranking:
    """The ranking of a run, with what only the store has: orders, lengths, log-probabilities."""
    return rank_view(store, tabulate(store, run, choice_spans=has_logprobs(store, run)), **settings)


def has_logprobs(store: Store, run: RunRow) -> bool:
    """Whether the replies of a run have log-probabilities, judging by the first ones."""
    return any(call.reply.logprobs for call in islice(store.asked(run), _LOOKED_AT))


def rank_view(store: Store, view: RunView, **settings: Unpack[RankSettings]) -> Ranking:
    """The ranking of a run from its view."""
    assert view.run is not None
    inputs = ranking_inputs(view, _lengths(store.items(view.run)))
    if not inputs:
        if view.results:
            raise DataError(
                f"{view.name} has labels without an order, and nothing to rank by. adjudge report shows the share of each label."
            )
        raise DataError(f"{view.name} has no results yet. Repeat its command to resume it.")
    inputs = _select(inputs, settings.get("criterion"))
    details = (
        _choice_details(store, view)
        if any(ranking_input.kind == "choices" for ranking_input in inputs)
        else {}
    )
    outputs = None
    if settings.get("n_next"):
        outputs = with_files(outputs_of(store.items(view.run)), settings.get("outputs", ()))
    ranking = _ranking_from(inputs, details, settings, outputs)
    return structs.replace(ranking, run=view.name, notes=(*view.notes(), *ranking.notes))


def rows_to_ask(
    store: Store, run: RunRow, proposed: Sequence[Proposal], outputs: Sequence[str | Path] = ()
) -> list[dict[str, object]]:
    """The proposals whose outputs are known, as rows of an items file."""
    return item_rows(proposed, with_files(outputs_of(store.items(run)), outputs))


def _select(inputs: list[RankingInput], criterion: str | None) -> list[RankingInput]:
    if criterion is None:
        return inputs
    names = [ranking_input.name for ranking_input in inputs]
    chosen = [
        ranking_input
        for ranking_input in inputs
        if criterion in (ranking_input.name, ranking_input.criterion)
    ]
    if not chosen:
        near = difflib.get_close_matches(criterion, names, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise DataError(f"There is no criterion '{criterion}'.{hint} There are: {', '.join(names)}.")
    return [ranking_input for ranking_input in chosen if ranking_input.name == criterion] or chosen


def _ranking_from(
    inputs: list[RankingInput],
    details: dict[str, ChoiceDetails],
    settings: RankSettings,
    outputs: Outputs | None = None,
) -> Ranking:
    fit_settings = FitSettings(
        settings.get("seed", 0), settings.get("ties", "davidson"), settings.get("n_resamples", N_RESAMPLES)
    )
    usable = [ranking_input for ranking_input in inputs if len(ranking_input.systems) > 1]
    criteria: dict[str, CriterionRanking] = {
        # A criterion with one system alone is an error only where there is no other.
        ranking_input.name: rank_criterion(ranking_input, fit_settings, details.get(ranking_input.protocol))
        for ranking_input in usable or inputs[:1]
    }
    first = (usable or inputs)[0]
    n_next = settings.get("n_next", 0)
    return Ranking(
        **structs.asdict(criteria[first.name]),
        criteria=criteria,
        next=proposals(first, n_next, outputs) if n_next else (),
        seed=fit_settings.seed,
    )


def _choice_details(store: Store, view: RunView) -> dict[str, ChoiceDetails]:
    """Protocol → position bias of the stated choice, and probabilities of choices where replies have them."""
    assert view.run is not None
    preferences_by_protocol: dict[str, dict[str, float]] = {}
    if view.choice_spans:
        preferences_by_protocol = preferences(store.asked(view.run), view.protocols, view.choice_spans)
    policy = settings_of(view.run).order
    return {
        key: ChoiceDetails(
            view.positions.get((key, choice_criterion(protocol.criteria))),
            preferences_by_protocol.get(key, {}),
            policy,
        )
        for key, protocol in view.protocols.items()
    }


def _lengths(items: Iterable[Item]) -> dict[str, float]:
    return {
        item.id: float(text_length(item.fields["response_a"]) - text_length(item.fields["response_b"]))
        for item in items
        if "response_a" in item.fields and "response_b" in item.fields
    }


class Fitted(NamedTuple):
    """The games as arrays, the strengths fitted to them, and the systems by number."""

    games: Games
    strengths: Strengths
    systems: tuple[str, ...]


def strength_differences(fitted: Fitted, order: Sequence[int]) -> tuple[Difference, ...]:
    """The differences in strength of all pairs of systems, the better first."""
    strengths, systems = fitted.strengths, fitted.systems
    pairs = [(i, j) for index, i in enumerate(order) for j in order[index + 1 :]]
    p_values = [strengths.p_values[min(pair), max(pair)] for pair in pairs]
    return tuple(
        Difference(
            systems[i],
            systems[j],
            _strength_difference(fitted, i, j, len(pairs)),
            p,
            p_adjusted,
            "difference of strengths, t test" if (min(i, j), max(i, j)) in strengths.standard_errors else "sign test of their games",
            p_adjusted is None or p_adjusted > SIGNIFICANCE,
        )
        for (i, j), p, p_adjusted in zip(pairs, p_values, adjusted(p_values), strict=True)
    )  # fmt: skip


def _strength_difference(fitted: Fitted, i: int, j: int, n_pairs: int) -> Estimate:
    """Strength of i - strength of j; its interval holds together with those of all other pairs."""
    strengths = fitted.strengths
    first, second = strengths.sandwich[i], strengths.sandwich[j]
    n = fitted.games.n
    se = strengths.standard_errors.get((min(i, j), max(i, j)))
    if first.value is None or second.value is None or se is None:
        return undefined("the strengths of the two cannot be compared", n=n)
    df = max(1, fitted.games.n_clusters - 1)
    difference, half = first.value - second.value, t_quantile(df) * se
    estimate = Estimate(
        difference,
        difference - half,
        difference + half,
        n,
        method="difference of strengths, HC0 sandwich t interval",
        unit=first.unit,
    )
    return simultaneous(estimate, n_pairs, df)


def with_head_to_head(differences: Sequence[Difference], games: Sequence[Game]) -> tuple[Difference, ...]:
    """The same differences; neighbours in the ranking also get their head-to-head win rate, with an anytime-valid interval.

    A prompt on which the two met is one observation, in the order of the prompts.
    """
    neighbours = _neighbours(differences)
    shares: dict[tuple[str, str], dict[Hashable, list[float]]] = {pair: {} for pair in neighbours}
    for game, cluster in zip(games, clusters_of(games), strict=True):
        for pair, share in (
            ((game.first, game.second), game.share),
            ((game.second, game.first), 1 - game.share),
        ):
            if pair in shares:
                shares[pair].setdefault(cluster, []).append(share)
    return tuple(
        structs.replace(
            difference,
            any_time=any_time_mean(
                [sum(shares_on_prompt) / len(shares_on_prompt) for shares_on_prompt in by_prompt.values()],
                unit="prompt",
            ),
        )
        if (by_prompt := shares.get((difference.first, difference.second)))
        else difference
        for difference in differences
    )


def _neighbours(differences: Sequence[Difference]) -> set[tuple[str, str]]:
    """The pairs of neighbours in the ranking; differences name the better system first."""
    order = list(
        dict.fromkeys(name for difference in differences for name in (difference.first, difference.second))
    )
    return set(pairwise(order))


def paired_differences(
    rows: Sequence[Sequence[float | None]], order: Sequence[int], systems: Sequence[str]
) -> tuple[Difference, ...]:
    """The paired differences in scores of all pairs of systems, the better first."""
    comparisons = score_differences([rows[i] for i in order])
    return tuple(
        Difference(
            systems[order[difference.first]],
            systems[order[difference.second]],
            difference.difference,
            difference.p,
            difference.p_adjusted,
            difference.test,
            difference.p_adjusted is None or difference.p_adjusted > SIGNIFICANCE,
        )
        for difference in comparisons
    )


def rank_ranges(
    order: Sequence[int], differences: Sequence[Difference], systems: Sequence[str], sign: int = 1
) -> dict[str, tuple[int, int]]:
    """The best and worst rank of each system: behind all significantly better ones, before all significantly worse ones."""
    better: dict[str, int] = dict.fromkeys(systems, 0)
    worse: dict[str, int] = dict.fromkeys(systems, 0)
    for difference in differences:
        if not difference.is_open:
            # A significant difference without a value comes from the sign test: the better system is first.
            ahead = (
                difference.first
                if difference.difference.value is None or sign * difference.difference.value > 0
                else difference.second
            )
            behind = difference.second if ahead == difference.first else difference.first
            better[behind] += 1
            worse[ahead] += 1
    n = len(order)
    return {system: (1 + better[system], n - worse[system]) for system in systems}


_PAIR_FIELDS = ("response_a", "response_b")


class Outputs(Struct):
    """The outputs in a run by prompt and system, with the other fields of each prompt."""

    texts: dict[str, dict[str, FieldValue]]
    fields: dict[str, dict[str, FieldValue]]
    compared: set[tuple[str, str, str]]


def outputs_of(items: Iterable[Item]) -> Outputs:
    """The output of each system for each prompt, from pairs and from single outputs."""
    outputs = Outputs({}, {}, set())
    for item in items:
        prompt = item.group if item.group is not None else item.id
        texts = outputs.texts.setdefault(prompt, {})
        fields = {
            name: value for name, value in item.fields.items() if name not in (*_PAIR_FIELDS, "response")
        }
        outputs.fields.setdefault(prompt, fields)
        if all(name in item.fields for name in _PAIR_FIELDS):
            first, second = item.system_a or "a", item.system_b or "b"
            texts.setdefault(first, item.fields["response_a"])
            texts.setdefault(second, item.fields["response_b"])
            outputs.compared.add((prompt, *sorted((first, second))))  # type: ignore[arg-type]
        elif "response" in item.fields:
            texts.setdefault(item.system, item.fields["response"])
    return outputs


def with_files(outputs: Outputs, paths: Sequence[str | Path], field: str = "response") -> Outputs:
    """The outputs of a run, completed with files of single outputs: a run of pairs may hold only part of them."""
    for key, by_system in read_outputs(paths, field).items():
        for system, item in by_system.items():
            prompt = item.group if item.group is not None else key
            outputs.texts.setdefault(prompt, {}).setdefault(system, item.fields[field])
            fields = {name: value for name, value in item.fields.items() if name != field}
            outputs.fields.setdefault(prompt, fields)
    return outputs


def proposals(ranking_input: RankingInput, n: int, outputs: Outputs | None) -> tuple[Proposal, ...]:
    """The `n` most informative comparisons; fewer where the run has no more."""
    systems = ranking_input.systems
    games = games_as_arrays(_games_of(ranking_input), systems)
    rating = strengths(games, n_resamples=0).rating
    open_prompts = _open_prompts(systems, outputs)
    limits = None
    if any(open_prompts.values()):
        limits = [
            [len(open_prompts.get((min(i, j), max(i, j)), ())) for j in range(len(systems))]
            for i in range(len(systems))
        ]
    chosen = next_games(games, rating, n, limits=limits)
    proposed = []
    used: dict[tuple[int, int], int] = defaultdict(int)
    for index, pair in enumerate(chosen):
        prompts = open_prompts.get(pair, ())
        prompt = prompts[used[pair]] if used[pair] < len(prompts) else None
        used[pair] += 1
        # Sides alternate, so that no system is always a.
        first, second = pair if index % 2 == 0 else pair[::-1]
        a, b = systems[first], systems[second]
        proposed.append(Proposal(a, b, prompt, None if prompt is None else pair_id(prompt, a, b)))
    return tuple(proposed)


def _games_of(ranking_input: RankingInput) -> Sequence[Game]:
    if ranking_input.kind == "choices":
        return ranking_input.games
    by_unit: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for score in ranking_input.scores:
        by_unit[score.unit].append(
            (score.system, score.value if ranking_input.is_higher_better else -score.value)
        )
    return [
        Game(system, opponent, 0.5 if score == opponent_score else float(score > opponent_score), unit)
        for unit, scores in by_unit.items()
        for index, (system, score) in enumerate(scores)
        for opponent, opponent_score in scores[index + 1 :]
    ]


def _open_prompts(systems: Sequence[str], outputs: Outputs | None) -> dict[tuple[int, int], list[str]]:
    """For each pair of systems the prompts whose two outputs are known but not compared."""
    open_prompts: dict[tuple[int, int], list[str]] = {}
    if outputs is None:
        return open_prompts
    for i in range(len(systems)):
        for j in range(i + 1, len(systems)):
            first, second = sorted((systems[i], systems[j]))
            open_prompts[i, j] = [
                prompt
                for prompt, texts in outputs.texts.items()
                if first in texts and second in texts and (prompt, first, second) not in outputs.compared
            ]
    return open_prompts


def item_rows(proposed: Sequence[Proposal], outputs: Outputs) -> list[dict[str, Any]]:
    """The proposals that can be judged right away, as rows of an items file."""
    rows = []
    for proposal in proposed:
        if proposal.group is None:
            continue
        texts = outputs.texts[proposal.group]
        rows.append(
            {
                "id": proposal.id,
                "group": proposal.group,
                "system_a": proposal.system_a,
                "system_b": proposal.system_b,
                **{name: plain(value) for name, value in outputs.fields[proposal.group].items()},
                "response_a": plain(texts[proposal.system_a]),
                "response_b": plain(texts[proposal.system_b]),
            }
        )
    return rows

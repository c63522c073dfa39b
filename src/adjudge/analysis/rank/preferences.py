"""Probabilities of choices, from the log-probabilities of replies, and the win rates weighted by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import structs

from ...records import Estimate, Order, Protocol, Reply
from ...stats import mean_interval, token_preference
from ...store import AskedCall
from .games import Game, RankingInput
from .win_rates import shares_by_system

LEAST_CAUGHT_MASS = 0.5
"""With less probability than this on the two words of the choice, the preference is unknown."""


_SIGNS = "[]()*\"'.:,"
"""Punctuation that judges put around the word of their choice."""


def preferred_a(protocol: Protocol, span: tuple[int, int], reply: Reply, order: Order) -> float | None:
    """The probability that the judge chooses response a, from the tokens at the position of its choice.

    The share of `a` among the two words that the protocol expects (AlpacaEval 2, Dubois et al. 2024). None
    where the words do not begin with different tokens, or the known tokens cover less than half of the
    probability.
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
    asked: Iterable[AskedCall],
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


def weighted_win_rates(ranking_input: RankingInput, preferences: Mapping[str, float]) -> dict[str, Estimate]:
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

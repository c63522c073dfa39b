"""What a stored run knows beyond its results: the choice in each order, and how likely each choice was."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ..records import Choice, Judgment, Order, Protocol, Reply
from ..stats import Place, PositionBias, position_bias, token_preference
from ..store import Asked, Judged

LEAST_CAUGHT_MASS = 0.5
"""With less than this on the two words of the choice, the tokens do not say what the judge prefers."""


_SIGNS = "[]()*\"'.:,"
"""What judges put around the word of their choice."""


class Orders(Struct, frozen=True):
    """The choices of one protocol as places shown, by judge: both orders of each pair and sample."""

    by_model: dict[str, PositionBias]
    all_models: PositionBias


def order_bias(judged: Iterable[Judged]) -> dict[str, Orders]:
    """By protocol, how choices go with the place; over single replies, before the two orders are combined."""
    seen: dict[str, dict[str, dict[tuple[str, int], dict[Order, Place]]]] = {}
    for one in judged:
        if (
            one.judgment is None
            or one.judgment.choice is None
            or one.item is None
            or one.about.kind == "reask"
        ):
            continue
        places = seen.setdefault(one.about.protocol, {}).setdefault(one.about.model, defaultdict(dict))
        places[one.item.id, one.about.sample][one.about.order] = place_of(
            one.judgment.choice, one.about.order
        )
    return {protocol: _orders(models) for protocol, models in seen.items()}


def _orders(models: Mapping[str, Mapping[tuple[str, int], Mapping[Order, Place]]]) -> Orders:
    together = [(model, key, own) for model, places in models.items() for key, own in places.items()]
    return Orders(
        {
            model: position_bias(
                [own.get("ab") for own in places.values()],
                [own.get("ba") for own in places.values()],
                [item for item, _ in places],
            )
            for model, places in models.items()
        },
        position_bias(
            [own.get("ab") for _, _, own in together],
            [own.get("ba") for _, _, own in together],
            [item for _, (item, _), _ in together],
        ),
    )


def place_of(choice: Choice, order: Order) -> Place:
    """Where the chosen response stood."""
    if choice == "tie":
        return "tie"
    return "first" if (choice == "a") == (order == "ab") else "second"


def preferred_a(protocol: Protocol, judgment: Judgment, reply: Reply, order: Order) -> float | None:
    """How likely the judge was to choose response a, from the tokens at the place of its choice.

    The share of `a` among the two words that the protocol asks for (AlpacaEval 2, Dubois et al. 2024). None where the
    words do not begin with different tokens, or the tokens known there caught less than half of the probability.
    """
    words = protocol.answer.choices
    if judgment.choice_span is None or not reply.logprobs or "a" not in words or "b" not in words:
        return None
    position, (start, end) = 0, judgment.choice_span
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


def preferences(asked: Iterable[Asked], protocols: Mapping[str, Protocol], judged: Iterable[Judged]) -> dict[
    str, dict[str, float]
]:  # fmt: skip
    """By protocol and item, how likely response a was to be chosen: the mean over orders, samples and judges."""
    read = {
        (one.seq, one.slot): one.judgment
        for one in judged
        # What was read from a second question stands in another reply.
        if one.judgment is not None
        and one.judgment.choice_span is not None
        and one.judgment.choice_how != "reask"
    }
    found: dict[str, dict[str, dict[Order, list[float]]]] = {}
    for place in asked:
        judgment = read.get((place.seq, place.slot))
        if judgment is None or place.item is None or place.call.kind == "reask" or not place.reply.logprobs:
            continue
        share = preferred_a(protocols[place.call.protocol], judgment, place.reply, place.call.order)
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

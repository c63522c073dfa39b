"""The order in which a reply puts two responses: a rank for each, or their names, the best first."""

from __future__ import annotations

import re
from functools import lru_cache

from ...records import How, Reading
from ..text.characters import narrow
from ..text.own_voice import masked, thoughts

_LONGEST = 20_000
"""How much of a reply is searched, in characters; a ranking is short."""


def read_ranking(text: str, options: tuple[str, str], tie: bool) -> Reading | None:
    """`[{'model': 'm1', 'rank': 2}, {'model': 'm2', 'rank': 1}]`, `["m2", "m1"]` or `m2 > m1`.

    None where there is no ranking.
    """
    reply = narrow(text[:_LONGEST])
    reply = masked(reply, thoughts(reply)) if "<" in reply else reply
    ranks: list[dict[int, tuple[int, int]]] = [{}, {}]
    for match in _ranked(options).finditer(reply):
        group = "name" if match["name"] else "named"
        rank = int(match["rank"] or match["ranked"])
        ranks[options.index(match[group])].setdefault(rank, match.span(group))
    if not any(ranks):
        return _in_order(reply, options)
    if any(len(places) != 1 for places in ranks):
        # One response without a rank, or with two different ones.
        is_conflict = any(len(places) > 1 for places in ranks)
        return Reading(status="conflicting" if is_conflict else "unparsed")
    (first, first_span), (second, second_span) = (next(iter(places.items())) for places in ranks)
    if first == second:
        return Reading("tie", "ok", "anchored", first_span) if tie else Reading()
    span = first_span if first < second else second_span
    is_bare = text.strip()[:1] == "[" and text.strip()[-1:] == "]" and len(reply) == len(text)
    how: How = "strict" if is_bare else "anchored"
    return Reading("first" if first < second else "second", "ok", how, span)


def _in_order(reply: str, options: tuple[str, str]) -> Reading | None:
    """The names one behind the other, the better one first."""
    orders = (options, (options[1], options[0]))
    found = [match for order in orders if (match := _ordered(order).search(reply)) is not None]
    if len(found) != 1:
        return Reading(status="conflicting") if found else None
    span = found[0].span("listed") if found[0]["listed"] else found[0].span("ahead")
    value = "first" if found[0].re is _ordered(options) else "second"
    return Reading(value, "ok", "anchored", span)


@lru_cache(maxsize=64)
def _ranked(options: tuple[str, str]) -> re.Pattern[str]:
    name = "|".join(re.escape(option) for option in sorted(options, key=len, reverse=True))
    rank = r"[\"']?\w{0,12}rank\w{0,6}[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    key = r"[\"']?\w{1,24}[\"']?\s{0,3}[:=]\s{0,3}"
    return re.compile(
        rf"(?<!\w)[\"']?(?P<name>{name})(?!\w)[\"']?\s{{0,3}},\s{{0,20}}{rank}(?P<rank>[0-9]{{1,2}})(?![0-9])"
        rf"|{rank}(?P<ranked>[0-9]{{1,2}})[\"']?\s{{0,3}},\s{{0,20}}{key}[\"']?(?P<named>{name})(?!\w)"
    )


@lru_cache(maxsize=64)
def _ordered(options: tuple[str, str]) -> re.Pattern[str]:
    """Finds the first name before the second, in a list or with a sign between them."""
    first, second = (re.escape(option) for option in options)
    return re.compile(
        rf"\[\s{{0,3}}[\"'](?P<listed>{first})[\"']\s{{0,3}},\s{{0,3}}[\"']{second}[\"']\s{{0,3}}\]"
        rf"|(?<!\w)(?P<ahead>{first})\s{{0,3}}>\s{{0,3}}{second}(?!\w)"
    )

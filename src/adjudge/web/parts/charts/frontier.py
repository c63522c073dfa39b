"""Candidates by price and agreement, with the frontier: those that no other one beats in both."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from .axis import domain_of
from .scatter_plot import Axes
from .svg import chart, circle, curve, line, linked, text


class Candidate(Struct, frozen=True):
    """One candidate: price as x, agreement with its interval as y."""

    name: str
    price: float
    agreement: float
    low: float
    high: float
    role: str = ""
    """`start`, `winner` or empty"""
    is_on_frontier: bool = False
    url: str = ""


def frontier(candidates: Sequence[Candidate], title: str) -> Markup:
    """A dot for each candidate; intervals for start, winner and the frontier."""
    named = [candidate for candidate in candidates if candidate.role or candidate.is_on_frontier]
    prices = [0.0, *(candidate.price for candidate in candidates)]
    seen = [
        *(candidate.agreement for candidate in candidates),
        *(end for one in named for end in (one.low, one.high)),
    ]
    axes = Axes(domain_of(None, prices), domain_of(None, seen), "USD per 1,000 items", "agreement")
    parts = axes.drawn()
    on_frontier = sorted(
        (candidate for candidate in candidates if candidate.is_on_frontier), key=lambda one: one.price
    )
    if len(on_frontier) > 1:
        parts.append(curve(axes.at(one.price, one.agreement) for one in on_frontier))
    for one in sorted(candidates, key=lambda one: (bool(one.role), one.is_on_frontier)):
        x, y = axes.at(one.price, one.agreement)
        if one in named:
            low, high = (axes.at(one.price, end)[1] for end in (one.low, one.high))
            parts.append(line(x, low, x, high, "whisker faint"))
        words = f"{one.name}: agreement {one.agreement:.2f}, ${one.price:.2f} per 1,000 items"
        css = {"winner": "dot", "start": "dot hollow"}.get(one.role, "dot" if one.is_on_frontier else "point")
        dot = circle(x, y, 5 if one.role else 4, css, title=words)
        parts.append(linked(dot, one.url, words) if one.url else dot)
        if one.role:
            is_right = axes.x.share(one.price) > 0.5
            place, anchor = (x - 9, "end") if is_right else (x + 9, "start")
            parts.append(text(place, y - 6, one.role, "t-strong", anchor=anchor))
    words = "; ".join(
        f"{candidate.name} {candidate.agreement:.2f} at ${candidate.price:.2f}" for candidate in candidates
    )
    has_links = any(candidate.url for candidate in candidates)
    return chart(340.0, 290.0, title, parts, desc=words, view_box=True, css="plot", has_links=has_links)

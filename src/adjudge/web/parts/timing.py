"""How long replies took and what they cost, as small histograms."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles

from markupsafe import Markup
from msgspec import Struct

from ...report import Summary
from ...report.words import cost_text, duration
from ...store.browsing import Spent
from ..charts import histogram


class TimingPart(Struct, frozen=True):
    """What a run took; a histogram only where values differ."""

    words: str
    facts: tuple[tuple[str, str], ...]
    seconds: Markup | None
    tokens: Markup | None
    cost: Markup | None
    n: int


def timing_part(summary: Summary, spent: Sequence[Spent] | None) -> TimingPart | None:
    """Time, length and cost of replies; none where nothing of it is known."""
    words = cost_text(summary)
    if not words and not spent:
        return None
    seconds = [one.seconds for one in spent or () if one.seconds > 0]
    tokens = [float(one.tokens_out) for one in spent or () if one.tokens_out > 0]
    costs = [one.cost_usd for one in spent or () if one.cost_usd]
    facts = []
    if len(seconds) > 1:
        facts.append(
            (
                "Seconds for a reply",
                f"median {duration(median(seconds))}, 95 % below {duration(_high(seconds))}",
            )
        )
    if len(tokens) > 1:
        facts.append(("Tokens of a reply", f"median {median(tokens):,.0f}, 95 % below {_high(tokens):,.0f}"))
    if costs:
        facts.append(("Cost of a reply", f"median ${median(costs):.6f}"))
    return TimingPart(
        words=words,
        facts=tuple(facts),
        seconds=_drawn(seconds, "seconds for a reply", " s"),
        tokens=_drawn(tokens, "tokens of a reply"),
        cost=_drawn(costs, "dollars for a reply", " $"),
        n=len(spent or ()),
    )


def _high(values: Sequence[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1]


def _drawn(values: Sequence[float], title: str, unit: str = "") -> Markup | None:
    return histogram(values, title, unit) if len(set(values)) > 2 else None

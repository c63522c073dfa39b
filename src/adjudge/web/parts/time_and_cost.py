"""Time and cost of replies, with histograms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median, quantiles

from markupsafe import Markup
from msgspec import structs

from ...analysis.report.summary import Summary
from ...analysis.report.words.cost import cost_sections
from ...sections import Section
from ...store.browsing import Spent
from ...words import duration, price
from .charts.histogram import histogram
from .section import Figure, SectionView, view_of


def timing_views(summary: Summary, spent: Sequence[Spent]) -> Iterator[SectionView]:
    """The cost of a run; a histogram only where values differ."""
    seconds = [call.seconds for call in spent if call.seconds > 0]
    tokens = [float(call.tokens_out) for call in spent if call.tokens_out > 0]
    costs = [call.cost_usd for call in spent if call.cost_usd]
    notes = []
    if len(seconds) > 1:
        high = duration(_high(seconds))
        notes.append(f"Seconds per reply: median {duration(median(seconds))}, 95 % below {high}")
    if len(tokens) > 1:
        notes.append(f"Tokens per reply: median {median(tokens):,.0f}, 95 % below {_high(tokens):,.0f}")
    if costs:
        notes.append(f"Cost per reply: median {price(median(costs))}")
    drawn = {
        "Seconds per reply": _drawn(seconds, "seconds per reply", " s"),
        "Tokens per reply": _drawn(tokens, "tokens per reply"),
        "Dollars per reply": _drawn(costs, "dollars per reply", " $"),
    }
    figures = [Figure(caption, picture) for caption, picture in drawn.items() if picture is not None]
    known = next(cost_sections(summary), Section("Time and cost"))
    if known.lines or notes:
        yield view_of(structs.replace(known, notes=tuple(notes)), figures)


def _high(values: Sequence[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1]


def _drawn(values: Sequence[float], title: str, unit: str = "") -> Markup | None:
    return histogram(values, title, unit) if len(set(values)) > 2 else None

"""Counts as bars: how scores are spread over their levels, and what became of all of a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from . import svg
from .scales import Domain, domain_of, tick_text, ticks

_BAR = 14
_MOST_BINS = 12


class Part(Struct, frozen=True):
    """One part of a whole: its name, its size and its colour's class."""

    name: str
    n: float
    css: str


def bars(
    counts: Sequence[tuple[str, int]], title: str, *, height: float = 24, tallest: int | None = None
) -> Markup:
    """One upright bar for each level; `tallest` is the count that fills the height, for bars that are compared."""
    top = max([tallest or 0, *(n for _, n in counts)], default=0)
    if not top:
        return svg.chart("100%", height, f"{title}: nothing to count", [])
    drawn = []
    for place, (_, n) in enumerate(counts):
        if n:
            tall = max(1.0, n / top * (height - 2))
            x, wide = (place + 0.14) / len(counts) * 100, 0.72 / len(counts) * 100
            drawn.append(svg.rect(f"{x:.1f}%", height - tall, f"{wide:.1f}%", tall, "bar"))
    told = ", ".join(f"{name}: {n:,}" for name, n in counts if n)
    floor = svg.line("0", height - 0.5, "100%", height - 0.5, "gridline")
    return svg.chart("100%", height, f"{title} ({told})", [floor, *drawn])


def stacked(parts: Sequence[Part], title: str, *, whole: float | None = None) -> Markup:
    """Parts of a whole side by side in one bar. Each has its name and its size for a pointer and a screen reader."""
    total = whole if whole is not None else math.fsum(part.n for part in parts)
    drawn = [svg.rect("0%", 5, "100%", _BAR, "track", rx=2)]
    begin = 0.0
    for part in parts:
        if part.n > 0 and total > 0:
            wide = part.n / total
            words = f"{part.name}: {part.n:,.6g} of {total:,.6g}"
            drawn.append(
                svg.rect(f"{begin * 100:.3f}%", 5, f"{wide * 100:.3f}%", _BAR, part.css, title=words)
            )
            begin += wide
    told = ", ".join(f"{part.name} {part.n:,.6g}" for part in parts if part.n)
    return svg.chart("100%", 24, title, drawn, desc=told)


def histogram(values: Sequence[float], title: str, unit: str = "") -> Markup:
    """How many values lie where, in bins of a round width; with the numbers of the axis under it."""
    seen = [value for value in values if math.isfinite(value)]
    domain = domain_of(None, seen)
    counts = _binned(seen, domain)
    height = 72.0
    top = max(counts, default=0)
    parts = [svg.line("0%", height + 0.5, "100%", height + 0.5, "axis")]
    wide = (domain.high - domain.low) / max(1, len(counts))
    for place, n in enumerate(counts):
        begin, end = domain.low + place * wide, domain.low + (place + 1) * wide
        x, x_end = domain.share(begin), domain.share(end)
        if n:
            tall = max(1.0, n / top * (height - 14))
            words = f"{tick_text(begin)} to {tick_text(end)}{unit}: {n:,}"
            parts.append(
                svg.rect(
                    f"{x * 100:.2f}%",
                    height - tall,
                    f"{(x_end - x) * 98:.2f}%",
                    tall,
                    "bar",
                    rx=1,
                    title=words,
                )
            )
    parts += [
        svg.text(domain.along(tick), height + 15, tick_text(tick), "t-muted", anchor="middle")
        for tick in ticks(domain, 5)
    ]
    return svg.chart(
        "100%", height + 20, title, parts, desc=f"{len(seen):,} values, at most {top:,} in one bar"
    )


def _binned(values: Sequence[float], domain: Domain) -> list[int]:
    n_bins = min(_MOST_BINS, max(4, math.isqrt(len(values) or 1)))
    counts = [0] * n_bins
    for value in values:
        place = int((value - domain.low) / (domain.high - domain.low) * n_bins)
        counts[min(max(place, 0), n_bins - 1)] += 1
    return counts

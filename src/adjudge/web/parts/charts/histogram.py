"""Histograms, with the numbers of the axis below them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from .axis import Domain, domain_of, tick_text, ticks
from .svg import chart, line, rect, text

_MOST_BINS = 12


def histogram(values: Sequence[float], title: str, unit: str = "") -> Markup:
    """A histogram with the numbers of the axis below it."""
    seen = [value for value in values if math.isfinite(value)]
    domain = domain_of(None, seen)
    counts = _binned(seen, domain)
    height = 72.0
    top = max(counts, default=0)
    parts = [line("0%", height + 0.5, "100%", height + 0.5, "axis")]
    wide = (domain.high - domain.low) / max(1, len(counts))
    for place, n in enumerate(counts):
        begin, end = domain.low + place * wide, domain.low + (place + 1) * wide
        x, x_end = domain.share(begin), domain.share(end)
        if n:
            tall = max(1.0, n / top * (height - 14))
            words = f"{tick_text(begin)} to {tick_text(end)}{unit}: {n:,}"
            parts.append(
                rect(
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
        text(domain.along(tick), height + 15, tick_text(tick), "t-muted", anchor="middle")
        for tick in ticks(domain, 5)
    ]
    return chart("100%", height + 20, title, parts, desc=f"{len(seen):,} values, at most {top:,} in one bar")


def _binned(values: Sequence[float], domain: Domain) -> list[int]:
    n_bins = min(_MOST_BINS, max(4, math.isqrt(len(values) or 1)))
    counts = [0] * n_bins
    for value in values:
        place = int((value - domain.low) / (domain.high - domain.low) * n_bins)
        counts[min(max(place, 0), n_bins - 1)] += 1
    return counts

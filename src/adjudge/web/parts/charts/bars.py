"""Counts as bars: one for each level, the parts of a whole in one, and a bar of agreement."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from ....sections import Mark
from .axis import Domain, tick_text
from .svg import chart, line, linked, rect, text

_BAR = 14


class BarPart(Struct, frozen=True):
    """One part of a whole: its name, its size and its colour's class."""

    name: str
    n: float
    css: str
    url: str = ""
    """of the items behind it"""


def bars(
    counts: Sequence[tuple[str, int]],
    title: str,
    *,
    height: float = 24,
    tallest: float | None = None,
    urls: Sequence[str] = (),
) -> Markup:
    """One bar for each level; `tallest` is the count that
    fills the height, so that several charts are comparable.
    """
    top = max([tallest or 0, *(n for _, n in counts)], default=0)
    if not top:
        return chart("100%", height, f"{title}: no data", [])
    drawn = []
    for place, (name, n) in enumerate(counts):
        if n:
            tall = max(1.0, n / top * (height - 2))
            x, wide = (place + 0.14) / len(counts) * 100, 0.72 / len(counts) * 100
            bar = rect(f"{x:.1f}%", height - tall, f"{wide:.1f}%", tall, "bar")
            drawn.append(linked(bar, urls[place], f"{name}: {n:,}") if urls else bar)
    counts_text = ", ".join(f"{name}: {n:,}" for name, n in counts if n)
    floor = line("0", height - 0.5, "100%", height - 0.5, "gridline")
    return chart("100%", height, f"{title} ({counts_text})", [floor, *drawn], has_links=bool(urls))


def stacked(parts: Sequence[BarPart], title: str, *, whole: float | None = None) -> Markup:
    """Parts of a whole in one stacked bar, each with a tooltip."""
    total = whole if whole is not None else math.fsum(part.n for part in parts)
    drawn = [rect("0%", 5, "100%", _BAR, "track", rx=2)]
    begin = 0.0
    for part in parts:
        if part.n > 0 and total > 0:
            wide = part.n / total
            words = f"{part.name}: {part.n:,.6g} of {total:,.6g}"
            bar = rect(f"{begin * 100:.3f}%", 5, f"{wide * 100:.3f}%", _BAR, part.css, title=words)
            drawn.append(linked(bar, part.url, words) if part.url else bar)
            begin += wide
    parts_text = ", ".join(f"{part.name} {part.n:,.6g}" for part in parts if part.n)
    has_links = any(part.url for part in parts)
    return chart("100%", 24, title, drawn, desc=parts_text, has_links=has_links)


def agreement_bar(judge: Mark, people: Mark | None, domain: Domain, title: str) -> Markup:
    """The judge's agreement as a bar from 0 with its interval, and a line where a human rater is."""
    zero, high = domain.share(max(0.0, domain.low)), domain.share(judge.value or 0.0)
    begin, wide = min(zero, high), abs(high - zero)
    parts = [
        rect("0%", 8, "100%", _BAR, "track", rx=2),
        rect(f"{begin * 100:.2f}%", 8, f"{wide * 100:.2f}%", _BAR, "bar", rx=2),
    ]
    if judge.low is not None and judge.high is not None:
        parts.append(line(domain.along(judge.low), 15, domain.along(judge.high), 15, "whisker"))
    if people is not None and people.value is not None:
        parts.append(line(domain.along(people.value), 2, domain.along(people.value), 28, "ceiling"))
        parts.append(text(domain.along(people.value), 40, "people", "t-muted", anchor="middle"))
    parts.append(text(domain.along(domain.low), 40, tick_text(domain.low), "t-muted", anchor="middle"))
    parts.append(text(domain.along(domain.high), 40, tick_text(domain.high), "t-muted", anchor="middle"))
    return chart("100%", 46, title, parts)

"""Axes of charts: their ends, round numbers along them, and the axis as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup
from msgspec import Struct

from ....records import Scale
from ....words import share, with_minus
from .svg import chart, text

_ROOM = 0.06
"""Padding at both ends, as a share of the width, so that a dot at the end of a scale is not cut off."""


class Domain(Struct, frozen=True):
    """The ends of an axis."""

    low: float
    high: float
    is_whole: bool = False
    """whether only whole numbers exist on it, counted from its low end"""
    is_in_percent: bool = False

    def share(self, value: float) -> float:
        """The position of a value on the axis: 0 at the left end of the picture, 1 at the right.

        A value beyond an end is drawn in the padding.
        """
        inner = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, _ROOM + inner * (1 - 2 * _ROOM)))

    def along(self, value: float) -> str:
        """The same as an attribute."""
        return f"{round(self.share(value) * 100, 2):g}%"


def domain_of(scale: Scale | None, values: Iterable[float | None] = ()) -> Domain:
    """The ends of the scale; if it is unbounded, round numbers around the values."""
    if scale is not None and scale.low is not None and scale.high is not None and scale.low < scale.high:
        return Domain(float(scale.low), float(scale.high))
    seen = [value for value in values if value is not None and math.isfinite(value)]
    if not seen:
        return Domain(0.0, 1.0)
    low, high = min(seen), max(seen)
    if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):
        around = max(abs(low) * 0.1, 0.5)
        low, high = low - around, high + around
    step = _step((high - low) / 4)
    return Domain(math.floor(low / step) * step, math.ceil(high / step) * step)


def ticks(domain: Domain, most: int = 6) -> list[float]:
    """Round numbers along the axis, including its ends where they are round."""
    step = _step((domain.high - domain.low) / max(1, most - 1))
    if domain.is_whole:
        step = max(1.0, step)
        n_steps = math.floor((domain.high - domain.low) / step + 1e-9)
        return [domain.low + place * step for place in range(n_steps + 1)]
    first = math.ceil(domain.low / step - 1e-9)
    last = math.floor(domain.high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def tick_text(value: float) -> str:
    """The number of a tick, as short as possible."""
    return with_minus(f"{value:.6g}")


def _step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below `least`."""
    if least <= 0 or not math.isfinite(least):
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))


def axis(domain: Domain) -> Markup:
    """The numbers of the axis, above the strips."""
    write = share if domain.is_in_percent else tick_text
    parts = [
        text(domain.along(tick), 12, write(tick), "t-muted", anchor="middle") for tick in ticks(domain, 5)
    ]
    return chart("100%", 16, f"axis from {write(domain.low)} to {write(domain.high)}", parts)


def axis_of_levels(levels: Sequence[float]) -> Markup:
    """The first, the last and a few levels between, above bars."""
    n = len(levels)
    wanted = range(n) if n <= 6 else sorted({0, n // 2, n - 1})
    parts = [
        text(f"{(place + 0.5) / n * 100:.2f}%", 12, tick_text(levels[place]), "t-muted", anchor="middle")
        for place in wanted
    ]
    return chart("100%", 16, "levels of the scale", parts)


def axis_of_bins(low: float, high: float) -> Markup:
    """The two ends, above bars of bins."""
    parts = [
        text("0%", 12, tick_text(low), "t-muted"),
        text("100%", 12, tick_text(high), "t-muted", anchor="end"),
    ]
    return chart("100%", 16, f"from {tick_text(low)} to {tick_text(high)}", parts)

"""Where a value stands along an axis, and at which round numbers the axis has its marks."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from ...records import Scale

_ROOM = 0.06
"""Free room at either end, as a share of the width, so that a dot at the end of a scale is seen whole."""


class Domain(Struct, frozen=True):
    """The ends of an axis."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """How far along the axis a value stands: 0 at the left end of the picture, 1 at the right.

        What lies beyond an end stands just outside it, within the free room.
        """
        inner = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, _ROOM + inner * (1 - 2 * _ROOM)))

    def along(self, value: float) -> str:
        """The same as an attribute."""
        return f"{round(self.share(value) * 100, 2):g}%"


def domain_of(scale: Scale | None, values: Iterable[float | None] = ()) -> Domain:
    """The ends of the scale; where it has none, round numbers around the values."""
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
    """Round numbers along the axis, both ends among them where they are round."""
    step = _step((domain.high - domain.low) / max(1, most - 1))
    first = math.ceil(domain.low / step - 1e-9)
    last = math.floor(domain.high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def tick_text(value: float) -> str:
    """A mark's number, as short as it can be."""
    return f"{value:.6g}".replace("-", "\u2212")


def _step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below `least`."""
    if least <= 0 or not math.isfinite(least):
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))

"""Thresholds and allowed failures as they are written: numbers, shares, counts."""

from __future__ import annotations

import math
from typing import Any

from msgspec import Struct

from ..errors import DataError
from ..words import count


class Allowed(Struct, frozen=True):
    """How many failures are allowed: a share of the items, or a number of them."""

    share: float | None = None
    n: int | None = None

    def most(self, n_items: int) -> int:
        """The highest number of failures that passes."""
        if self.n is not None:
            return self.n
        # 5 % of 60 items must be 3, even if 0.05 * 60 is rounded down.
        return math.floor((self.share or 0.0) * n_items + 1e-9)

    def text(self) -> str:
        return count(self.n, "item") if self.n is not None else f"{100 * (self.share or 0.0):g} %"


DEFAULT_ALLOWED = Allowed(share=0.05)


def parse_threshold(text: str, flag: str) -> tuple[str, float]:
    """clarity=4.0, or overall=50%."""
    name, sign, value = text.rpartition("=")
    number = parse_number(value) if sign else None
    if not name.strip() or number is None:
        raise DataError(f"{flag} {text}: give a criterion and a number, as in {flag} clarity=4.0")
    return name.strip(), number


def parse_number(text: str) -> float | None:
    text = text.strip()
    factor = 0.01 if text.endswith("%") else 1.0
    try:
        value = float(text.removesuffix("%")) * factor
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def parse_most(value: Any, where: str) -> float:
    """A threshold from 0 on: points of the scale, or a share as 5% or 0.05."""
    number = None if isinstance(value, bool) else parse_number(str(value))
    if number is None or number < 0:
        raise DataError(f"{where} {value}: give a number from 0 on, as in {where} 0.05")
    return number


def parse_allowed(value: Any, where: str) -> Allowed:
    """5% and 0.05 are shares, integers are numbers of items."""
    text = str(value).strip()
    number = None if isinstance(value, bool) else parse_number(text)
    if number is not None and number >= 0:
        if not text.endswith("%") and number.is_integer():
            return Allowed(n=int(number))
        if number <= 1:
            return Allowed(share=number)
    raise DataError(f"{where} {text}: give a share of the items, as in 5%, or a number of them, as in 3.")

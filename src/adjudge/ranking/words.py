"""Numbers as a ranking writes them, the same in a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from ..records import Estimate

NO_VALUE = "–"
_MOST_NAMED = 5


def number(value: float, digits: int = 2) -> str:
    """So many digits after the point, and no minus before a zero."""
    text = f"{value:.{digits}f}" if abs(value) < 1e6 else f"{value:.{digits}e}"
    return text.lstrip("-") if float(text) == 0 else text


def interval(estimate: Estimate | None, digits: int = 2) -> str:
    """0.61 [0.53, 0.68], or a dash for what is undefined."""
    if estimate is None or estimate.value is None:
        return NO_VALUE
    if estimate.low is None or estimate.high is None:
        return f"{number(estimate.value, digits)} [{NO_VALUE}]"
    ends = f"{number(estimate.low, digits)}, {number(estimate.high, digits)}"
    return f"{number(estimate.value, digits)} [{ends}]"


def share(value: float) -> str:
    """62 %, and one digit more below ten."""
    return f"{value * 100:.0f} %" if value == 0 or value >= 0.0995 else f"{value * 100:.1f} %"


def percent(estimate: Estimate | None) -> str:
    """62 % [55 %, 69 %]."""
    if estimate is None or estimate.value is None:
        return NO_VALUE
    if estimate.low is None or estimate.high is None:
        return f"{share(estimate.value)} [{NO_VALUE}]"
    return f"{share(estimate.value)} [{share(estimate.low)}, {share(estimate.high)}]"


def p_value(p: float | None) -> str:
    """0.031, or < 0.001."""
    if p is None:
        return NO_VALUE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def count(n: int, noun: str, nouns: str | None = None) -> str:
    """1 pair, 1,200 pairs."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {nouns or noun + 's'}"


def names(given: Sequence[str]) -> str:
    """A, B and C; of many the first few."""
    shown = list(given[:_MOST_NAMED])
    if len(given) > _MOST_NAMED:
        return f"{', '.join(shown)} and {len(given) - _MOST_NAMED} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"

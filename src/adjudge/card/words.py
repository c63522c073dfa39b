"""Numbers as a card writes them, the same in a sentence, in a terminal and in Markdown."""

from __future__ import annotations

from ..records import Estimate

NO_VALUE = "–"


def number(value: float) -> str:
    """Two digits after the point; by its power of ten where a table could not hold it."""
    text = f"{value:.2f}" if abs(value) < 1e6 else f"{value:.2e}"
    return text.replace("-0.00", "0.00") if text == "-0.00" else text


def interval(estimate: Estimate) -> str:
    """0.61 [0.53, 0.68], or a dash for what is undefined."""
    if estimate.value is None:
        return NO_VALUE
    if estimate.low is None or estimate.high is None:
        return f"{number(estimate.value)} [{NO_VALUE}]"
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def share(value: float) -> str:
    """12 %, and one digit more below ten."""
    return f"{value * 100:.0f} %" if value == 0 or value >= 0.1 else f"{value * 100:.1f} %"


def percent(estimate: Estimate) -> str:
    """12 % [7.0 %, 20 %]."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return NO_VALUE
    return f"{share(estimate.value)} [{share(estimate.low)}, {share(estimate.high)}]"


def p_value(p: float) -> str:
    """p = 0.031, or p < 0.001."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def count(n: int, noun: str, nouns: str | None = None) -> str:
    """1 item, 1,200 items."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {nouns or noun + 's'}"

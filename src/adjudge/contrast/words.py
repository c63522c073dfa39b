"""Numbers as a comparison and a gate write them, the same in a sentence, in a terminal and in Markdown."""

from __future__ import annotations

from ..records import Estimate

NO_VALUE = "–"


def number(value: float, digits: int = 2) -> str:
    """Two digits after the point; by its power of ten where a table could not hold it."""
    text = f"{value:.{digits}f}" if abs(value) < 1e6 else f"{value:.{digits}e}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def signed(value: float, digits: int = 2) -> str:
    """+0.31, -0.31, and 0.00 without a sign."""
    text = number(value, digits)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def interval(estimate: Estimate, digits: int = 2, *, is_difference: bool = False) -> str:
    """0.61 [0.53, 0.68], or a dash for what is undefined."""
    if estimate.value is None:
        return NO_VALUE
    write = signed if is_difference else number
    if estimate.low is None or estimate.high is None:
        return f"{write(estimate.value, digits)} [{NO_VALUE}]"
    return f"{write(estimate.value, digits)} [{write(estimate.low, digits)}, {write(estimate.high, digits)}]"


def share(value: float) -> str:
    """12 %, and one digit more below ten."""
    return f"{value * 100:.0f} %" if value == 0 or value >= 0.1 else f"{value * 100:.1f} %"


def percent(estimate: Estimate) -> str:
    """62 % [55 %, 69 %], or a dash for what is undefined."""
    if estimate.value is None:
        return NO_VALUE
    if estimate.low is None or estimate.high is None:
        return f"{share(estimate.value)} [{NO_VALUE}]"
    return f"{share(estimate.value)} [{share(estimate.low)}, {share(estimate.high)}]"


def p_text(p: float | None) -> str:
    """0.032, or that it is below what three digits show."""
    if p is None:
        return NO_VALUE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def count(n: int, noun: str, nouns: str | None = None) -> str:
    """1 item, 1,200 items."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {nouns or noun + 's'}"


def listed(names: list[str], most: int = 4) -> str:
    """a, b and 3 more."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"

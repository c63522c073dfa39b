"""Formats numbers, counts and lists of names, the same in sentences, on a terminal, in Markdown and in
HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .records import Estimate, Scale
from .sections import DrawnInterval, Mark

NO_VALUE = "–"


_MOST_NAMED = 5


def number(value: float, digits: int = 2) -> str:
    """A number with fixed digits and without a negative zero; in scientific notation where it is large."""
    text = f"{value:.{digits}f}" if abs(value) < 1e6 else f"{value:.{digits}e}"
    return text.lstrip("-") if float(text) == 0 else with_minus(text)


def signed(value: float, digits: int = 2) -> str:
    """+0.31, −0.31, and 0.00 without a sign."""
    text = number(value, digits)
    return f"+{text}" if value > 0 and float(text) else text


def score_text(value: float) -> str:
    """A single score, as short as its value: 4, 4.5, 3.67, and one digit more below one: 0.583."""
    if value and abs(value) < 0.001:
        return with_minus(f"{value:.3g}")
    digits = 2 if abs(value) >= 1 else 3
    text = number(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def price(cost_usd: float | None) -> str:
    """An amount of money: to the cent, and finer where it is small."""
    if cost_usd is None:
        return "unknown"
    digits = 2 if cost_usd >= 0.1 else 4 if cost_usd >= 0.001 else 6
    return f"${cost_usd:,.{digits}f}" if cost_usd else "free"


def with_minus(text: str) -> str:
    """The one minus sign, U+2212, which is as wide as a plus and does not break a line."""
    return text.replace("-", "\u2212")


def interval(estimate: Estimate | None, digits: int = 2, *, is_difference: bool = False) -> str:
    """0.61 [0.53, 0.68], or a dash where it is undefined."""
    if estimate is None or estimate.value is None:
        return NO_VALUE
    write = signed if is_difference else number
    if estimate.low is None or estimate.high is None:
        return f"{write(estimate.value, digits)} [{NO_VALUE}]"
    return f"{write(estimate.value, digits)} [{write(estimate.low, digits)}, {write(estimate.high, digits)}]"


def share(value: float) -> str:
    """62 %, and one digit more below ten."""
    digits = 0 if value == 0 or abs(value) >= 0.0995 else 1
    return with_minus(f"{value * 100:.{digits}f} %")


def signed_share(value: float) -> str:
    """+31 %, and 0 % without a sign."""
    return f"+{share(value)}" if value > 0 else share(value)


def percent(estimate: Estimate | None, *, is_difference: bool = False) -> str:
    """62 % [55 %, 69 %], or a dash where it is undefined."""
    if estimate is None or estimate.value is None:
        return NO_VALUE
    write = signed_share if is_difference else share
    if estimate.low is None or estimate.high is None:
        return f"{write(estimate.value)} [{NO_VALUE}]"
    return f"{write(estimate.value)} [{write(estimate.low)}, {write(estimate.high)}]"


def interval_cell(
    estimate: Estimate,
    digits: int = 2,
    *,
    is_difference: bool = False,
    possible: tuple[float, float] | None = None,
    beside: Estimate | None = None,
    legend: str = "",
) -> DrawnInterval:
    """The same as a cell that HTML can draw; `beside` is drawn with it, and `legend` explains both."""
    text = interval(estimate, digits, is_difference=is_difference)
    marks = [Mark(estimate.value, estimate.low, estimate.high, possible)]
    if beside is not None:
        marks.append(Mark(beside.value, beside.low, beside.high))
    return DrawnInterval(text, tuple(marks), legend)


def percent_cell(estimate: Estimate) -> DrawnInterval:
    """A share as a cell that HTML can draw."""
    return DrawnInterval(percent(estimate), (Mark(estimate.value, estimate.low, estimate.high),))


def p_text(p: float | None) -> str:
    """0.031, or < 0.001."""
    if p is None:
        return NO_VALUE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_phrase(p: float | None) -> str:
    """p = 0.031, or p < 0.001; empty where there is no test."""
    if p is None:
        return ""
    return f"p {p_text(p)}" if p < 0.001 else f"p = {p_text(p)}"


def count(n: int, noun: str, nouns: str | None = None) -> str:
    """1 item, 1,200 items."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {nouns or noun + 's'}"


def duration(seconds: float) -> str:
    """48 s, 3 min 20 s, 2 h 5 min."""
    rounded = round(seconds)
    if rounded < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{rounded} s"
    minutes, rest = divmod(rounded, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def decimals(scale: Scale | None) -> int:
    """Digits after the point: two on a scale like 1–5, three where the scale is narrow or unbounded."""
    if scale is None:
        return 2
    if scale.low is None or scale.high is None:
        return 3
    return 2 if scale.high - scale.low >= 2 else 3


def failures_text(failures: Mapping[str, int]) -> str:
    """2 unparsed, 1 refused."""
    return ", ".join(f"{n:,} {status_text(status)}" for status, n in failures.items())


def status_text(status: str) -> str:
    """A status in words. A score off its scale is beyond its
    ends or between two levels, as 4.5 is on 1, 2, …, 5.
    """
    return "off the scale" if status == "out_of_range" else status.replace("_", " ")


def short_name(criterion: str) -> str:
    """opinion-summary/coherence for opinion-summary/coherence/coherence:
    a protocol that is named after its only criterion.
    """
    name, dot, judge = criterion.partition(" · ")
    before, _, last = name.rpartition("/")
    return f"{before if before.rpartition('/')[2] == last else name}{dot}{judge}"


def listed(given: Sequence[str], most: int = _MOST_NAMED, between: str = ", ") -> str:
    """a, b and 3 more; for a list of facts."""
    if len(given) <= most:
        return between.join(given)
    return f"{between.join(given[: most - 1])} and {len(given) - most + 1} more"


def names(given: Sequence[str]) -> str:
    """A, B and C, or the first few; for a sentence."""
    shown = list(given[:_MOST_NAMED])
    if len(given) > _MOST_NAMED:
        return f"{', '.join(shown)} and {len(given) - _MOST_NAMED} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"

"""Numbers and names as a report writes them, the same in a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..records import Estimate, Scale
from .cells import direction, key_text
from .shapes import Cell, PairSummary, RungShare, Summary

NO_VALUE = "–"

MEANING = (
    "[low, high] is a 95 % interval: the same judge on other items of this kind would give a mean in about this "
    "range. It does not say that the judge is right; only labels by people can show that."
)


def decimals(scale: Scale | None) -> int:
    """Digits after the point: two on a scale like 1–5, three where the whole scale is narrow or open."""
    if scale is None:
        return 2
    if scale.low is None or scale.high is None:
        return 3
    return 2 if scale.high - scale.low >= 2 else 3


def interval(estimate: Estimate, digits: int) -> str:
    """3.42 [3.29, 3.55], or a dash for what is undefined."""
    if estimate.value is None:
        return NO_VALUE
    if estimate.low is None or estimate.high is None:
        return f"{number(estimate.value, digits)} [{NO_VALUE}]"
    ends = f"{number(estimate.low, digits)}, {number(estimate.high, digits)}"
    return f"{number(estimate.value, digits)} [{ends}]"


def number(value: float, digits: int) -> str:
    """So many digits after the point; a number too long for a table by its power of ten."""
    return f"{value:.{digits}f}" if abs(value) < 1e6 else f"{value:.{digits}e}"


def percent(estimate: Estimate) -> str:
    """62 % [55 %, 69 %]."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return NO_VALUE
    return f"{share(estimate.value)} [{share(estimate.low)}, {share(estimate.high)}]"


def share(value: float) -> str:
    """62 %, and one digit more below ten."""
    return f"{value * 100:.0f} %" if value == 0 or value >= 0.1 else f"{value * 100:.1f} %"


def scale_text(scale: Scale | None) -> str:
    """1–5, higher is better."""
    if scale is None:
        return "scale not known"
    better = {1: "higher is better", -1: "lower is better", 0: "which end is good is not known"}[
        direction(scale)
    ]
    if scale.low is None or scale.high is None:
        return f"no fixed ends, {better}"
    ends = f"{key_text(scale.low)}–{key_text(scale.high)}"
    named = ", ".join(f"{key_text(level)} = {name}" for level, name in sorted(scale.names.items()))
    return f"{ends} ({named}), {better}" if named else f"{ends}, {better}"


def failures_text(failures: Mapping[str, int]) -> str:
    """2 unparsed, 1 refused."""
    return ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in failures.items())


def bounds_text(cell: Cell, digits: int) -> str:
    """What the failures leave open; empty where nothing failed."""
    if not cell.n_failed or cell.bounds is None:
        return ""
    low, high = number(cell.bounds.low, digits), number(cell.bounds.high, digits)
    return f"mean {low} to {high} whatever the failed were"


def remarks(cell: Cell, digits: int) -> str:
    """What must be said beside a mean: what failed, what that leaves open, and why an interval is missing."""
    said = [failures_text(cell.failures), bounds_text(cell, digits), cell.reason]
    if cell.n_samples > cell.n + cell.n_failed and cell.n_samples_failed:
        said.append(f"{cell.n_samples_failed:,} of {cell.n_samples:,} samples failed")
    return "; ".join(text for text in said if text)


def groups_text(cells: Iterable[Cell]) -> str:
    """What counts as one observation where items share groups; empty where each stands alone."""
    counts = sorted({cell.n_groups for cell in cells if cell.n_groups is not None})
    if not counts:
        return ""
    span = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"Intervals by group: items that share one count as one observation ({span} {'group' if counts[-1] == 1 else 'groups'})."


def pair_remarks(pair: PairSummary) -> str:
    """Who won how often, what failed, and how much the order decided."""
    said = [
        f"{pair.system_a} {pair.a}, {pair.system_b} {pair.b}, tie {pair.tie}",
        failures_text(pair.failures),
    ]
    if pair.order_conflicts.n:
        said.append(f"the order changed the choice in {percent(pair.order_conflicts)}")
    return "; ".join(text for text in said if text)


def rungs_text(rungs: Mapping[str, RungShare]) -> str:
    """strict 96 %, anchored 3 %, failed 1 % of 200."""
    total = sum(rung.n for rung in rungs.values())
    return ", ".join(f"{name} {share(rung.share)}" for name, rung in rungs.items()) + f" of {total:,}"


def duration(seconds: float) -> str:
    """48 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def count_of(number: int, noun: str) -> str:
    """1 item, 2 items."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size_text(summary: Summary) -> str:
    """How much was judged, and how much of it failed."""
    shown = [count_of(summary.n_items, "item")]
    if summary.systems:
        shown.append(count_of(len(summary.systems), "system"))
    scores = count_of(summary.n_scores, "choice" if summary.pairs and not summary.systems else "score")
    of_all = f" ({share(summary.n_failed / summary.n_scores)})" if summary.n_failed else ""
    return " · ".join([*shown, f"{scores}, {summary.n_failed:,} failed{of_all}"])


def cost_text(summary: Summary) -> str:
    """Calls, tokens, money and time; empty where none of it is known."""
    if not (
        summary.n_calls or summary.tokens_in or summary.tokens_out or summary.cost_usd or summary.seconds
    ):
        return ""
    calls = count_of(summary.n_calls, "call")
    if summary.n_cached:
        calls += f" ({summary.n_cached:,} from the store)"
    tokens = f"{summary.tokens_in:,} tokens in, {summary.tokens_out:,} out"
    cost = "cost not known (no price given)" if summary.cost_usd is None else f"${summary.cost_usd:,.4f}"
    return " · ".join([calls, tokens, cost, duration(summary.seconds)])


def judge_text(spec: str, names: Mapping[str, int], is_fake: bool) -> str:
    """The judge's spec, and what it calls itself where that is something else."""
    own = [name for name in names if name and name != spec.partition(":")[2]]
    says = f" (calls itself {', '.join(own)})" if own else ""
    return f"{spec}{says}{' [fake]' if is_fake else ''}"


def detectable_text(value: float, digits: int, scale: Scale | None) -> str:
    """What this many items can and cannot show."""
    if (
        scale is not None
        and scale.low is not None
        and scale.high is not None
        and value >= scale.high - scale.low
    ):
        return "So few items show no difference between two systems for sure, however large it is."
    return (
        f"A true difference of {number(value, digits)} between two systems would be found four times in five; "
        "a smaller one less often."
    )

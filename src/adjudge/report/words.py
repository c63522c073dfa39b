"""Numbers and names as a report writes them, the same in a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..records import Estimate, Scale
from ..stats import PositionBias, caution, reason
from .cells import direction, key_text
from .panel import JudgeInPanel, PanelSummary
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
    if summary.cost_usd is not None and summary.n_unpriced:
        cost += f" (and {count_of(summary.n_unpriced, 'call')} without a price)"
    if summary.cost_usd and summary.n_calls and summary.n_cached >= summary.n_calls:
        cost += ", paid by an earlier run"
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


_MOST_NAMED = 4


def listed(names: Sequence[str], between: str = ", ") -> str:
    """Names one after the other; of many, the first few and how many more there are."""
    shown = between.join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"


def p_text(p: float | None) -> str:
    """p = 0.032, p < 0.001."""
    if p is None:
        return ""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


ORDER_HEADS = ("same winner in both orders", "pairs", "won by the first place", "choices", "p")


def order_cells(found: PositionBias) -> list[str]:
    """Whether the place decides: the agreement of both orders, the first place's share, and a test."""
    p = p_text(found.p).removeprefix("p = ").removeprefix("p ")
    return [
        percent(found.agreement),
        f"{found.n_pairs:,}",
        percent(found.first_share),
        f"{found.first_share.n:,}",
        p or NO_VALUE,
    ]


ORDER_MEANING = (
    "A fair judge names the same winner in both orders, and each place wins half of the decided choices. p: the binomial "
    "test that, where the winner changed with the order, both places are favoured alike."
)
ONE_ORDER_MEANING = (
    "Each pair was shown in one order. p: the binomial test that both places win alike; where the same system always "
    "stands first, that is a question about the systems too."
)


def order_meaning(summary: Summary) -> str:
    return ORDER_MEANING if any(found.n_pairs for found in summary.order.values()) else ONE_ORDER_MEANING


def panel_text(panel: PanelSummary) -> str:
    """How far the judges agree, with what that is."""
    said = f"alpha {interval(panel.alpha, 2)}, n={panel.alpha.n}"
    told = "; ".join(text for text in (reason(panel.alpha), caution(panel.alpha)) if text)
    return f"{said} ({told})" if told else said


PANEL_MEANING = (
    "Alpha is Krippendorff's: 1 where the judges say the same, 0 where they agree as by chance; below 0.67 few would build "
    "on it. With the others: Spearman with their mean."
)
PANEL_HEADS = ("with the others", "higher than they by", "their alpha without it", "n")


def panel_cells(found: JudgeInPanel, digits: int) -> list[str]:
    """One judge beside the others."""
    return [
        interval(found.with_rest, 2),
        interval(found.shift, digits),
        interval(found.alpha_without, 2),
        f"{found.with_rest.n:,}",
    ]


def pooling_text(summary: Summary) -> str:
    """What the numbers over several judges are made of; empty with one judge."""
    kinds = {panel.pooled for panel in summary.panel.values()}
    said = {"mean": "each score is the mean over the judges", "vote": "each choice is the judges' vote"}
    n_judges = max((len(panel.judges) for panel in summary.panel.values()), default=0)
    return f"over {n_judges} judges: {', '.join(said[kind] for kind in sorted(kinds))}" if n_judges else ""

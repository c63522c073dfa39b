"""The cost of a run: calls, tokens, dollars."""

from __future__ import annotations

from collections.abc import Iterator

from ....sections import Section
from ....words import count, duration, price
from ..summary import Summary


def cost_sections(summary: Summary) -> Iterator[Section]:
    """Calls, tokens, cost and time, and the parameters that were not sent."""
    lines = [cost_text(summary), *(f"adjusted: {adjustment}" for adjustment in summary.adjustments)]
    if any(lines):
        yield Section("Time and cost", tuple(line for line in lines if line))


def known_cost(summary: Summary) -> str:
    """What the run cost, and how many calls have no price."""
    return price(summary.cost_usd) + _unpriced(summary)


def _unpriced(summary: Summary) -> str:
    is_partial = summary.cost_usd is not None and summary.n_unpriced
    return f" (excluding {count(summary.n_unpriced, 'call')} without a price)" if is_partial else ""


def cost_text(summary: Summary) -> str:
    """Calls, tokens, cost and time; empty where nothing is known."""
    if not (
        summary.n_calls or summary.tokens_in or summary.tokens_out or summary.cost_usd or summary.seconds
    ):
        return ""
    calls = count(summary.n_calls, "call")
    if summary.n_cached:
        calls += f" ({summary.n_cached:,} from the cache)"
    if summary.n_reasks:
        of_reasks = f", {price(summary.reasks_usd)}" if summary.cost_usd is not None else ""
        calls += f", {count(summary.n_reasks, 'follow-up question')} among them{of_reasks}"
    tokens = f"{summary.tokens_in:,} tokens in, {summary.tokens_out:,} out"
    if summary.cached_tokens:
        tokens += f" ({summary.cached_tokens:,} from the provider's prompt cache)"
    cost = "cost unknown (no price given)" if summary.cost_usd is None else price(summary.cost_usd)
    if summary.cost_usd == 0 and not summary.n_unpriced:
        cost = "free"
    cost += _unpriced(summary)
    if summary.cost_usd and summary.n_calls and summary.n_cached >= summary.n_calls:
        cost += ", paid earlier"
    elif summary.cost_usd and summary.paid_earlier_usd:
        cost += f", {price(summary.paid_earlier_usd)} of it paid earlier"
    if saved := summary.cache_saved_usd or 0.0:
        cost += f", {price(saved)} saved by the prompt cache" if saved > 0 else ""
    if summary.cost_usd and summary.price_dates:
        cost += f" (estimate: published prices of {', '.join(sorted(set(summary.price_dates.values())))})"
    return " · ".join([calls, tokens, cost, duration(summary.seconds)])

"""The choices of a report: win rates, and how choices follow the order shown."""

from __future__ import annotations

from collections.abc import Iterator

from ....sections import SHARES, WIN_RATES, Column, Counts, Part, Section, Value
from ....stats import PositionBias
from ....words import failures_text, p_text, percent, percent_cell, short_name
from ..summary import PairSummary, Summary

ORDER_MEANING = (
    "An unbiased judge names the same winner in both orders, and each position wins half of the "
    "decided choices. p: binomial test for position bias, among pairs whose winner changed with the "
    "order."
)


ONE_ORDER_MEANING = (
    "Each pair was shown in one order. p: binomial test for position bias; if one system is always "
    "shown first, a better system has the same effect."
)


def pair_sections(summary: Summary) -> Iterator[Section]:
    """One section for each criterion that is decided by a choice, then the position bias."""
    for criterion, pairs in summary.pairs.items():
        line = "choice between two responses; a tie counts as half a win"
        rows = tuple(pair_row(pair) for pair in pairs)
        yield Section(short_name(criterion), (line,), pair_columns(()), rows, criterion=criterion)
    yield from _order(summary)


def pair_columns(names: tuple[str, ...]) -> tuple[str | Column, ...]:
    won = Column("win rate of the first [95 % CI]", WIN_RATES)
    changed = Column("order conflicts", SHARES)
    return ("pair", *names, won, "wins / losses / ties", "n", "failed", changed, "remark")


def pair_row(pair: PairSummary, *names: str) -> tuple[Value, ...]:
    parts = (
        Part(pair.system_a, pair.a, "first"),
        Part("tie", pair.tie, "tie"),
        Part(pair.system_b, pair.b, "second"),
    )
    return (
        f"{pair.system_a} vs {pair.system_b}",
        *names,
        percent_cell(pair.won_by_a),
        Counts(f"{pair.a} / {pair.b} / {pair.tie}", parts),
        f"{pair.won_by_a.n:,}",
        f"{pair.failed:,}",
        percent(pair.order_conflicts) if pair.order_conflicts.n else "",
        failures_text(pair.failures),
    )


def _order(summary: Summary) -> Iterator[Section]:
    """Position bias by criterion; with several judges, also of each judge."""
    rows: list[tuple[Value, ...]] = []
    for criterion, bias in summary.order.items():
        judges = {
            spec: model.order[criterion] for spec, model in summary.models.items() if criterion in model.order
        }
        rows.append(_order_row(criterion, "all" if judges else "", bias))
        rows += [_order_row(criterion, judge, judge_bias) for judge, judge_bias in judges.items()]
    if not rows:
        return
    columns = (
        "criterion",
        "judge",
        Column("same winner in both orders", SHARES),
        "pairs",
        Column("first position wins", WIN_RATES),
        "choices",
        "p",
    )
    has_both = any(bias.n_pairs for bias in summary.order.values())
    meaning = ORDER_MEANING if has_both else ONE_ORDER_MEANING
    yield Section("Position bias", (), columns, tuple(rows), notes=(meaning,))


def _order_row(criterion: str, judge: str, bias: PositionBias) -> tuple[Value, ...]:
    first = bias.first_share
    return (
        criterion,
        judge,
        percent_cell(bias.agreement),
        f"{bias.n_pairs:,}",
        percent_cell(first),
        f"{first.n:,}",
        p_text(bias.p),
    )

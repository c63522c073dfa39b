"""Choices between systems, pair by pair, and whether the place shown decides them."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from ...records import Estimate
from ...report import PairSummary, Summary
from ...report.words import failures_text, order_meaning, p_text, percent
from ...stats import PositionBias
from ..charts import Domain, Mark, Part, axis, stacked, strip

SHARES = Domain(0.0, 1.0)
_MOST_PAIRS = 60


class PairRow(Struct, frozen=True):
    """Two systems against each other."""

    pair: PairSummary
    bar: Markup
    strip: Markup
    remark: str
    judge: str = ""
    """whose choices they are, where several judges are shown apart"""


class OrderRow(Struct, frozen=True):
    """One judge, or all: how often both orders agree, and how often the first place won."""

    judge: str
    found: PositionBias
    agreement: Markup
    first: Markup
    test: str


class PairsPart(Struct, frozen=True):
    """One criterion that is decided by a choice."""

    name: str
    rows: tuple[PairRow, ...]
    n_hidden: int
    axis: Markup
    order: tuple[OrderRow, ...]
    order_meaning: str
    by_judge: tuple[PairRow, ...]


def pair_parts(summary: Summary) -> tuple[PairsPart, ...]:
    """All criteria that are decided by a choice."""
    return tuple(_criterion(summary, name, pairs) for name, pairs in summary.pairs.items())


def share_strip(found: Estimate, title: str, reference: float | None = 0.5) -> Markup:
    """A share with its interval on an axis from 0 to 1."""
    return strip([Mark(found.value, found.low, found.high)], SHARES, title, reference=reference)


def _criterion(summary: Summary, name: str, pairs: Sequence[PairSummary]) -> PairsPart:
    orders = [("", summary.order[name])] if name in summary.order else []
    if len(summary.models) > 1:
        orders += [(spec, model.order[name]) for spec, model in summary.models.items() if name in model.order]
    return PairsPart(
        name=name,
        rows=tuple(_row(pair) for pair in pairs[:_MOST_PAIRS]),
        n_hidden=max(0, len(pairs) - _MOST_PAIRS),
        axis=axis(SHARES),
        order=tuple(_order(judge, found) for judge, found in orders if found.first_share.n or found.n_pairs),
        order_meaning=order_meaning(summary),
        by_judge=tuple(
            _row(pair, spec)
            for spec, model in summary.models.items()
            for pair in model.pairs.get(name, ())[:_MOST_PAIRS]
        ),
    )


def _order(judge: str, found: PositionBias) -> OrderRow:
    return OrderRow(
        judge=judge,
        found=found,
        agreement=share_strip(found.agreement, f"same winner in {percent(found.agreement)}", reference=None),
        first=share_strip(found.first_share, f"first place won {percent(found.first_share)}"),
        test=p_text(found.p),
    )


def _row(pair: PairSummary, judge: str = "") -> PairRow:
    a, b = pair.system_a, pair.system_b
    parts = [Part(a, pair.a, "side-a"), Part("tie", pair.tie, "s-tie"), Part(b, pair.b, "side-b")]
    said = [failures_text(pair.failures)]
    if pair.order_conflicts.value:
        said.append(f"the order changed the choice in {percent(pair.order_conflicts)}")
    return PairRow(
        pair=pair,
        bar=stacked(parts, f"{a} {pair.a}, tie {pair.tie}, {b} {pair.b}"),
        strip=share_strip(pair.won_by_a, f"{a} won {percent(pair.won_by_a)}"),
        remark="; ".join(text for text in said if text),
        judge=judge,
    )

"""The rule of position bias in an audit: pairs shown in
both orders, and whether the judge prefers a position.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct, structs

from ...data import OrderChoice
from ...stats import Position, mean_interval, paired_test, position_bias
from ..run_view.positions import position_of
from ..run_view.result_facts import cluster_of
from ..significance import SIGNIFICANCE
from .audit import AuditVerdict, PositionAudit
from .probe_effect import MARGIN_SHARE, is_within


class PairInBothOrders(Struct, frozen=True):
    """A pair judged in both orders: the position chosen in each, none for a failure."""

    cluster: str
    ab: Position | None
    ba: Position | None
    has_other_answers: bool = False


def position_audit(rows: Sequence[PairInBothOrders]) -> PositionAudit:
    """Several samples of a pair count each, and belong together."""
    bias = position_bias([row.ab for row in rows], [row.ba for row in rows])
    read = [row for row in rows if row.ab is not None and row.ba is not None]
    leans = [(row.ab == row.ba == "first") - float(row.ab == row.ba == "second") for row in read]
    groups: list[Hashable] = [row.cluster for row in read]
    clusters = groups if len(set(groups)) < len(groups) else None
    failed = len(rows) - bias.n_pairs
    return PositionAudit(
        n=bias.n_pairs,
        failed=failed,
        same=bias.n_pairs - bias.first_both - bias.second_both - bias.other_conflicts,
        first=bias.first_both,
        second=bias.second_both,
        ties=bias.other_conflicts,
        bias=mean_interval(leans, clusters, failed, (-1.0, 1.0), "(first - second) / n"),
        verdict="unclear",
        p=paired_test(leans, clusters).p if leans else None,
        other_answers=sum(row.has_other_answers for row in rows),
    )


def shown_in_file(choices: Sequence[OrderChoice]) -> list[PairInBothOrders]:
    """The choices of a file, by pair; an order that is missing is a failure."""
    pairs: dict[tuple[str, str], dict[str, OrderChoice]] = {}
    for choice in choices:
        pairs.setdefault((choice.item, choice.sample), {})[choice.order] = choice
    return [
        PairInBothOrders(
            cluster_of(next(iter(both.values())).group, item),
            _place(both.get("ab")),
            _place(both.get("ba")),
            len({choice.pair for choice in both.values()}) > 1,
        )
        for (item, _), both in pairs.items()
    ]


def _place(choice: OrderChoice | None) -> Position | None:
    return None if choice is None or choice.choice is None else position_of(choice.choice, choice.order)


def decided_position(position: PositionAudit, p: float | None) -> PositionAudit:
    verdict: AuditVerdict = "unclear"
    is_small = is_within(position.bias, MARGIN_SHARE, position.failed, 1.0)
    if is_small:
        verdict = "holds"
    elif p is not None and p <= SIGNIFICANCE:
        verdict = "moves"
    return structs.replace(position, verdict=verdict, p=p)

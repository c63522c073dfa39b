"""How many labels, and in how many groups, an interval of the planned width takes."""

from __future__ import annotations

from ....sections import Section
from ....stats.label_plan import MOST_PRACTICAL
from ....words import NO_VALUE
from ..card import CriterionCard
from .estimate_rows import FAR, label_count


def plan_section(card: CriterionCard) -> Section:
    """The plan of each system; groups where items share one."""
    has_groups = any(plan.groups is not None for plan in card.plan.values())
    rows = tuple(
        (
            name,
            f"{plan.width:g}",
            str(plan.n_labels),
            label_count(plan.with_judge),
            *((_group_count(plan.groups),) if has_groups else ()),
            label_count(plan.without_judge),
            plan.why,
        )
        for name, plan in card.plan.items()
    )
    columns = (
        "system",
        "interval width",
        "labels so far",
        "labels needed",
        *(("in groups",) if has_groups else ()),
        "needed without judge",
        "remark",
    )
    return Section("Labels needed", (), columns, rows, 3, is_detail=True)


def _group_count(n: int | None) -> str:
    if n is None:
        return NO_VALUE
    return f"{n:,}" if n <= MOST_PRACTICAL else FAR

"""A plan before any label: items, groups and labels for an interval's width, a difference, or a gate."""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct

from ..sections import Section
from ..stats.sample_size import design_effect, size_for_distance, size_for_width
from ..words import count
from .pilot import Pilot

Goal = Literal["width", "difference", "gate"]


JUDGED_SHARE = 0.1
"""With a judge, so many items are judged that they add this share to the variance of the corrected mean."""


class SamplePlan(Struct, frozen=True):
    """What it takes to reach a goal."""

    goal: Goal
    target: float
    sd: float
    icc: float
    group_size: int
    correlation: float
    power: float
    design_effect: float
    items: int | None
    """items to judge; judged scores are as precise as the goal asks"""
    groups: int | None
    labels: int | None
    """human labels with this judge, in as many groups as `label_groups`, out of `judged_items`"""
    label_groups: int | None
    labels_without_judge: int | None
    judged_items: int | None
    """items that the judge has to score for `labels` to suffice"""
    summary: str


def planned(goal: Goal, target: float, pilot: Pilot, correlation: float, power: float) -> SamplePlan:
    """Sizes for the goal: all scores judged, and labels that correct the judge."""

    def size(sd: float) -> tuple[int | None, int | None]:
        found = (
            size_for_width(target, sd, pilot.group_size, pilot.icc)
            if goal == "width"
            else size_for_distance(target, sd, pilot.group_size, pilot.icc, power)
        )
        return found.groups, found.items

    groups, items = size(pilot.sd)
    label_groups, labels, judged = groups, items, items
    explained = correlation**2
    if explained > JUDGED_SHARE and groups is not None:
        # A corrected mean has the variance (1 - r²) / labels + r² / judged items.
        label_groups, labels = size(pilot.sd * math.sqrt((1 - explained) / (1 - JUDGED_SHARE)))
        judged = math.ceil(groups * explained / JUDGED_SHARE) * pilot.group_size
    return SamplePlan(
        goal, target, pilot.sd, pilot.icc, pilot.group_size, correlation, power,
        design_effect(pilot.group_size, pilot.icc), items, groups, labels, label_groups, items, judged,
        _summary(goal, target, power, groups, items, labels, judged, pilot),
    )  # fmt: skip


def _summary(
    goal: Goal,
    target: float,
    power: float,
    groups: int | None,
    items: int | None,
    labels: int | None,
    judged: int | None,
    pilot: Pilot,
) -> str:
    aim = {
        "width": f"An interval {target:g} wide",
        "difference": f"A difference of {target:g}, found with {100 * power:g} % power,",
        "gate": f"A gate decided at {target:g} from its threshold, with {100 * power:g} % power,",
    }[goal]
    if groups is None or items is None:
        return f"{aim} takes far more items than is practical."
    where = f" in {count(groups, 'group')} of {pilot.group_size}" if pilot.group_size > 1 else ""
    each = " of each system" if goal == "difference" else ""
    text = f"{aim} takes {count(items, 'item')}{each}{where}"
    if not labels or not judged or labels >= items:
        return f"{text}."
    saved = f"{count(labels, 'label')} in place of {items:,}"
    return f"{text}; with this judge, {saved}, if it scores {judged:,} items."


def plan_sections(plan: SamplePlan, source: str) -> list[Section]:
    """The sentence, then the numbers; those of groups and of a judge only where there are any."""
    has_groups, has_judge = plan.group_size > 1, plan.correlation > 0
    rows = (
        ("items", _text(plan.items), True),
        ("groups", _text(plan.groups), has_groups),
        ("labels with the judge", _text(plan.labels), has_judge),
        ("labelled groups with the judge", _text(plan.label_groups), has_groups and has_judge),
        ("items judged for them", _text(plan.judged_items), has_judge),
        ("labels without a judge", _text(plan.labels_without_judge), True),
        ("design effect", f"{plan.design_effect:.2f}", has_groups),
    )
    lines = [plan.summary]
    if not has_judge:
        lines.append(
            "Next: a judge that agrees with people saves labels. Give its correlation with them "
            "(adjudge trust): --correlation R"
        )
    groups = f", ICC {plan.icc:.2f}, {plan.group_size} items in a group" if has_groups else ""
    correlation = f"; the judge's correlation with people {plan.correlation:g}" if has_judge else ""
    note = f"Standard deviation {plan.sd:.2f}{groups} ({source}){correlation}."
    if has_groups:
        note += " More labels in the same groups buy little: add groups."
    shown = tuple(row[:2] for row in rows if row[2])
    return [Section("Plan", tuple(lines), ("needed", "number"), shown, depth=1, notes=(note,))]


def _text(n: int | None) -> str:
    return "far more than is practical" if n is None else f"{n:,}"

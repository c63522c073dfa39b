"""A plan before any label: items, groups and labels for an interval's width, a difference, or a gate."""

from __future__ import annotations

import math
from collections import Counter
from typing import Literal

from msgspec import Struct

from ..errors import DataError
from ..sections import Section
from ..stats.sample_size import design_effect, intraclass_correlation, size_for_distance, size_for_width
from ..words import count
from .run_view.result_facts import cluster_of
from .run_view.run_view import RunView

Goal = Literal["width", "difference", "gate"]


class Pilot(Struct, frozen=True):
    """What is assumed of the scores, or what a run has shown."""

    sd: float
    icc: float = 0.0
    group_size: int = 1
    source: str = "given"


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
    """human labels with this judge, in as many groups as `label_groups`"""
    label_groups: int | None
    labels_without_judge: int | None
    summary: str


def pilot_of(view: RunView, criterion: str | None) -> Pilot:
    """Spread, ICC and group size of a run's scores."""
    rows = [row for row in view.results if row.value is not None and criterion in (None, row.criterion)]
    if len({row.criterion for row in rows}) > 1:
        names = ", ".join(sorted({row.criterion for row in rows}))
        raise DataError(f"run {view.name} has several criteria: {names}. Choose one: --criterion NAME.")
    values = [row.value for row in rows if row.value is not None]
    if len(values) < 3:
        raise DataError(
            f"run {view.name} has {count(len(values), 'score')}: a pilot needs three that differ."
        )
    mean = math.fsum(values) / len(values)
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    if sd <= 0:
        raise DataError(f"all scores of run {view.name} are the same: give --sd.")
    groups = [cluster_of(row.group, row.item) for row in rows]
    size = round(len(values) / len(Counter(groups)))
    return Pilot(sd, intraclass_correlation(values, groups), max(1, size), f"run {view.name}")


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
    label_groups, labels = size(pilot.sd * math.sqrt(1 - correlation**2))
    return SamplePlan(
        goal, target, pilot.sd, pilot.icc, pilot.group_size, correlation, power,
        design_effect(pilot.group_size, pilot.icc), items, groups, labels, label_groups, items,
        _summary(goal, target, power, groups, items, labels, pilot),
    )  # fmt: skip


def _summary(
    goal: Goal,
    target: float,
    power: float,
    groups: int | None,
    items: int | None,
    labels: int | None,
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
    text = f"{aim} takes {count(items, 'item')}{where}"
    return (
        f"{text}; with this judge, {count(labels, 'label')} in place of {items}."
        if labels and labels < items
        else f"{text}."
    )


def plan_sections(plan: SamplePlan, source: str) -> list[Section]:
    """The sentence, then the numbers."""
    rows = (
        ("items", _text(plan.items)),
        ("groups", _text(plan.groups)),
        ("labels with the judge", _text(plan.labels)),
        ("labelled groups with the judge", _text(plan.label_groups)),
        ("labels without a judge", _text(plan.labels_without_judge)),
        ("design effect", f"{plan.design_effect:.2f}"),
    )
    note = (
        f"Standard deviation {plan.sd:.2f}, ICC {plan.icc:.2f}, {plan.group_size} per group "
        f"({source}); the judge's correlation with people {plan.correlation:g}. More labels in the "
        "same groups buy little: add groups."
    )
    return [Section("Plan", (plan.summary, note), ("needed", "number"), rows)]


def _text(n: int | None) -> str:
    return "far more than is practical" if n is None else f"{n:,}"

"""When labels suffice: a rule such as a mean or a width, checked after every label."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ...errors import DataError
from ...records import Label
from ...stats import LabelStream, labels_needed
from ..labels.by_system import entries_by_system, limits_of, probabilities_of
from ..labels.labelled import Entry, LabelledTable
from .stop import Stop, StopDecision


class StopRule(Struct, frozen=True):
    """When to stop labelling: once the mean is shown to be on
    one side of a number, or its interval is narrow enough.
    """

    text: str
    kind: Literal["mean", "width"]
    is_at_least: bool
    value: float


def parse_stop_rule(text: str) -> StopRule:
    """mean>=4, mean<=2 or width<=0.3."""
    match = re.fullmatch(r"\s*(mean|width)\s*(>=|<=|>|<)\s*([-+0-9.eE]+)\s*", text)
    try:
        value = float(match[3]) if match is not None else math.nan
    except ValueError:
        value = math.nan
    if match is None or not math.isfinite(value):
        raise DataError(f'--stop "{text}": write a rule as in --stop "mean>=4" or --stop "width<=0.3".')
    kind: Literal["mean", "width"] = "mean" if match[1] == "mean" else "width"
    is_at_least = match[2].startswith(">")
    if kind == "width" and (is_at_least or value <= 0):
        raise DataError(
            f'--stop "{text}": a width is a number above 0 that the interval must not exceed: "width<=0.3".'
        )
    return StopRule(text.strip(), kind, is_at_least, value)


_WIDTH_PER_DISTANCE = 1.4
"""An interval of this many distances decides with 80 % power: 2 * 1.96 / (1.96 + 0.84)."""


def stop_labelling(
    tables: Mapping[str, LabelledTable],
    labels: Sequence[Label],
    rule: StopRule,
    plan_width: float | None = None,
) -> Stop:
    """Whether the labels suffice, system by system, however often one looks. Labels count in the order given.

    `plan_width` is the interval width of the fixed number of labels to compare with; by default the width
    that the rule gives, or that decides the distance that the mean turns out to have.
    """
    if any(table.classes for table in tables.values()):
        raise DataError(
            "--stop looks at a mean, and labels without an order have none. Leave it out, or stop by "
            "hand: the card shows the intervals of kappa, precision and recall."
        )
    places: dict[tuple[str, str, str | None], int] = {}
    for place, label in enumerate(labels):
        places.setdefault((label.criterion, label.item, label.subject), place)
    criteria = {
        name: {
            system: _stop(table, system, entries, places, rule, plan_width)
            for system, entries in entries_by_system(table).items()
            if any(entry.label is not None for entry in entries)
        }
        for name, table in tables.items()
        if table.labelled()
    }
    decisions = [decision for by_system in criteria.values() for decision in by_system.values()]
    answers = {decision.answer for decision in decisions}
    is_done = bool(decisions) and all(decision.decision == "stop" for decision in decisions)
    return Stop(
        rule=rule.text,
        decision="stop" if is_done else "continue",
        answer="no" if "no" in answers else "yes" if answers == {"yes"} else None,
        n_labels=sum(decision.n_labels for decision in decisions),
        criteria=criteria,
    )


def _stop(
    table: LabelledTable,
    system: str,
    entries: Sequence[Entry],
    places: Mapping[tuple[str, str, str | None], int],
    rule: StopRule,
    plan_width: float | None,
) -> StopDecision:
    limits = limits_of(table)
    if limits is None:
        raise DataError(
            f'--stop "{rule.text}": {table.criterion} has no known scale with two ends that people and '
            "judge share, and without it no rule holds after every label. With --scores, name it: --scale "
            "LOW,HIGH. Otherwise use --plan WIDTH instead."
        )
    if rule.kind == "mean" and not limits[0] < rule.value < limits[1]:
        raise DataError(
            f'--stop "{rule.text}": choose a number inside the scale of {table.criterion}, '
            f"{limits[0]:g} to {limits[1]:g}."
        )
    if probabilities_of(entries) is not None:
        raise DataError(
            f'--stop "{rule.text}": the labelled items of {system} were drawn with different '
            "probabilities (sample --where "
            "uncertain). A stop rule needs equal chances: draw with adjudge sample RUN -n N."
        )
    labelled = sorted(
        (entry for entry in entries if entry.label is not None),
        key=lambda entry: places[table.criterion, entry.row.item, entry.row.subject],
    )
    judged, said = [entry.judge for entry in entries], [entry.label for entry in entries]
    stream = LabelStream(
        [entry.label for entry in labelled], [entry.judge for entry in labelled], judged, limits
    )
    answer, n_decided = _decided(stream, rule)
    mean = stream.estimate()
    width = plan_width if plan_width is not None else rule.value
    if rule.kind == "mean" and plan_width is None:
        width = _WIDTH_PER_DISTANCE * abs((mean.value or 0.0) - rule.value)
    n_fixed = labels_needed(said, judged, width).with_judge
    is_all = len(labelled) == len(entries)
    return StopDecision(
        decision="stop" if answer is not None or is_all else "continue",
        answer=answer,
        reason="decided" if answer is not None else "all_labelled" if is_all else "undecided",
        n_labels=len(labelled),
        n_items=len(entries),
        n_decided=n_decided,
        mean=mean,
        n_fixed=n_fixed,
        n_saved=None if n_fixed is None or n_decided is None else n_fixed - n_decided,
    )


def _decided(stream: LabelStream, rule: StopRule) -> tuple[Literal["yes", "no"] | None, int | None]:
    """The answer to the rule, and the number of labels at which it was first known."""
    if rule.kind == "width":
        n = stream.reaching(rule.value)
        return (None, None) if n is None else ("yes", n)
    crossing = stream.crossing(rule.value)
    if crossing is None:
        return None, None
    return "yes" if (crossing.side == "above") == rule.is_at_least else "no", crossing.n

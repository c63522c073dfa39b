"""The words on whether to go on labelling."""

from __future__ import annotations

from ....sections import Section
from ....words import interval
from ...sampling.stop import Stop, StopDecision
from .estimate_rows import label_count

STOP_MEANING = (
    "The interval is a confidence sequence: it holds after every label, however often you look. "
    "Fixed number: how many labels a number chosen in advance needs for the width of --plan, or else "
    "to detect the present distance with 80 % power."
)


def stop_section(stop: Stop) -> Section:
    """Whether to go on labelling."""
    columns = (
        "criterion",
        "system",
        "decision",
        "mean [95 % at every look]",
        "labels",
        "items",
        "decided at",
        "fixed number",
        "labels saved",
    )
    rows = tuple(
        (
            criterion,
            system,
            _stop_text(found),
            interval(found.mean),
            str(found.n_labels),
            str(found.n_items),
            label_count(found.n_decided),
            label_count(found.n_fixed),
            label_count(found.n_saved),
        )
        for criterion, by_system in stop.criteria.items()
        for system, found in by_system.items()
    )
    n_open = sum(row[2] == "continue" for row in rows)
    verdict = (
        "Stop labelling"
        if stop.decision == "stop"
        else f"Continue labelling: {n_open} of {len(rows)} undecided"
    )
    answer = "" if stop.answer is None else f" ({stop.rule}: {stop.answer})"
    return Section(f"Stop rule {stop.rule}", (f"{verdict}{answer}.", STOP_MEANING), columns, rows)


def _stop_text(found: StopDecision) -> str:
    if found.answer is not None:
        return f"stop: {found.answer}"
    return "stop: all items labelled" if found.reason == "all_labelled" else "continue"

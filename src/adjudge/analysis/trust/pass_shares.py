"""The share of items that people would pass, from a judge of two levels (Rogan-Gladen)."""

from __future__ import annotations

from collections.abc import Sequence

from ...records import Estimate
from ...stats import corrected_share, halved
from ..labels.by_system import entries_by_system, probabilities_of
from ..labels.labelled import LabelledTable
from ..run_view.criteria import levels_of


def pass_shares(table: LabelledTable) -> dict[str, Estimate]:
    """On a scale of two levels: the share that people would pass, corrected as by Rogan and Gladen."""
    levels = levels_of(table.scale)
    if table.kind != "scores" or levels is None or len(levels) != 2 or not table.is_same_scale:
        return {}
    good = levels[0] if table.scale is not None and table.scale.direction < 0 else levels[1]

    def passed(values: Sequence[float | None]) -> list[float | None]:
        # Raters who disagree on two levels have a mean midway: half a pass.
        levels_by_item = halved(values, levels)
        return [
            None if levels_of_item is None else sum(level == good for level in levels_of_item) / 2
            for levels_of_item in levels_by_item
        ]

    return {
        system: corrected_share(
            passed([entry.label for entry in entries]),
            passed([entry.judge for entry in entries]),
            table.groups([entry.row for entry in entries]),
            probabilities_of(entries),
        )
        for system, entries in entries_by_system(table).items()
        if any(entry.label is not None for entry in entries)
    }

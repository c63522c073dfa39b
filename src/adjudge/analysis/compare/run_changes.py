"""What changed between two runs apart from their scores: protocol, judge, settings, texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, NamedTuple

from ...words import count, listed
from ..run_view.run_view import Contents, RunView
from .match import ComparisonTable

ChangeKind = Literal["protocol", "judge", "recording", "setting", "texts"]


class RunChange(NamedTuple):
    """One difference between two runs apart from their scores."""

    kind: ChangeKind
    text: str

    @property
    def is_of_judging(self) -> bool:
        """Whether the judge changed: other texts or another recording do not change the judge."""
        return self.kind not in ("recording", "texts")


def changed_texts(first: Contents | None, second: Contents | None) -> tuple[int | None, dict[str, int]]:
    """How many common items have different texts, and in which fields."""
    if first is None or second is None:
        return None, {}
    fields: Counter[str] = Counter()
    n = 0
    for item, first_texts in first.items():
        second_texts = second.get(item)
        if second_texts is None or second_texts == first_texts:
            continue
        n += 1
        fields.update(
            name
            for name in {**first_texts, **second_texts}
            if first_texts.get(name) != second_texts.get(name)
        )
    return n, dict(fields.most_common())


def text_changes(n: int | None, fields: Mapping[str, int], n_items: int) -> tuple[RunChange, ...]:
    if not n:
        return ()
    named = listed([f"{name} on {times}" for name, times in fields.items()])
    return (RunChange("texts", f"the texts of {n:,} of {count(n_items, 'common item')} (field {named})"),)


_COMPARED_SETTINGS = ("samples", "estimator", "temperature")


def judging_changes(
    first: RunView, second: RunView, tables: Mapping[str, ComparisonTable]
) -> tuple[RunChange, ...]:
    """Differences of protocol, judge and settings."""
    protocols = dict.fromkeys(
        table.protocols for table in tables.values() if table.protocols[0] != table.protocols[1]
    )
    changes = [RunChange("protocol", f"the protocol: {before} → {after}") for before, after in protocols]
    models = dict.fromkeys(table.models for table in tables.values() if table.models[0] != table.models[1])
    for before, after in models:
        # Two recordings may be of the same judge; the file names do not show it.
        if _are_recorded(before, after):
            changes.append(RunChange("recording", f"the recording: {before} → {after}"))
        else:
            changes.append(RunChange("judge", f"the judge: {before} → {after}"))
    if first.run is not None and second.run is not None:
        settings = [view.run.manifest["settings"] for view in (first, second) if view.run is not None]
        changes += [
            RunChange("setting", f"{key}: {_setting(before)} → {_setting(after)}")
            for key in _COMPARED_SETTINGS
            if (before := settings[0].get(key)) != (after := settings[1].get(key))
        ]
    return tuple(changes)


def _are_recorded(*models: str) -> bool:
    return all(model.startswith("replay:") for model in models)


def _setting(value: object) -> str:
    return "default" if value is None else str(value)

"""What people say of an item, for promises about agreement with people.

The label is the majority of the raters, of scores their mean. A human tie or no majority agrees with no
answer. Labels that were drawn with unequal probabilities do not stand for the items, and an exact bound
cannot weight them: refused.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from ...errors import DataError
from ...records import Label

NO_MAJORITY = "tie"
"""Stands for a human tie and for raters without a majority."""


def people_of(
    labels: Sequence[Label], criterion: str | None, *, is_choice: bool, mean: bool
) -> dict[str, float | str]:
    """Item → label on one criterion: the mean of numbers if `mean`, otherwise the majority."""
    chosen = _on_criterion(labels, criterion, is_choice=is_choice)
    if len({label.probability for label in chosen}) > 1:
        raise DataError(
            "The labels were drawn with unequal probabilities (column probability), so they do not "
            "represent the items.\nLabel a simple random sample instead: adjudge sample RUN -n N, "
            "without --where uncertain."
        )
    ratings: dict[str, list[float | str]] = defaultdict(list)
    for label in chosen:
        ratings[label.item].append(label.value)
    return {item: _label_of(values, mean=mean) for item, values in ratings.items()}


def _on_criterion(labels: Sequence[Label], criterion: str | None, *, is_choice: bool) -> list[Label]:
    names = list(dict.fromkeys(label.criterion for label in labels))
    if criterion is None and len(names) > 1:
        criterion = "choice" if is_choice and "choice" in names else None
        if criterion is None:
            raise DataError(
                f"The labels are about several criteria ({', '.join(names)}). Choose one: --criterion NAME."
            )
    if criterion is not None and criterion not in names and names != [""]:
        raise DataError(f"--criterion {criterion}: the labels are about {', '.join(names)}.")
    return [label for label in labels if criterion is None or names == [""] or label.criterion == criterion]


def _label_of(values: Sequence[float | str], *, mean: bool) -> float | str:
    numbers = [value for value in values if not isinstance(value, str)]
    if mean and len(numbers) == len(values):
        return round(math.fsum(numbers) / len(numbers), 12)
    (first, votes), *_ = Counter(values).most_common(1)
    return first if 2 * votes > len(values) else NO_MAJORITY


def agrees(answer: float | str | None, label: float | str, within: float | None) -> bool:
    """Whether a judge's answer counts as people's."""
    if answer is None or label == NO_MAJORITY:
        return False
    if within is None:
        return answer == label
    return not isinstance(answer, str) and not isinstance(label, str) and abs(answer - label) <= within + 1e-9


def first_by_item(pairs: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Item → its first group that is given."""
    groups: dict[str, str] = {}
    for item, group in pairs:
        if group is not None:
            groups.setdefault(item, group)
    return groups

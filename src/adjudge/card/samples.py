"""The single values behind each result of a run: what a judge said each time it was asked the same.

A result is one value; how much of it would come out again can only be seen in the samples. Both orders of a pair
are not the same question, so an order has its samples to itself: the one with most of them is taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ..engine import settings_of
from ..records import Judgment, Subject
from ..store import RunRow, Store
from .join import as_sample
from .shapes import Kind

Place = tuple[str, str, str, str, Subject | None, Kind]


def single_values(
    store: Store, run: RunRow, named: Mapping[tuple[str, str], str]
) -> dict[Place, tuple[float, ...]]:
    """By protocol, criterion, model, item, subject and kind the values of all samples; empty where none was repeated.

    `named` says under which name a run's model stands on the card.
    """
    if settings_of(run).samples < 2:
        return {}
    found: dict[Place, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for place in store.judgments(run):
        if place.item is None or place.judgment is None or place.about.kind in ("reask", "steps"):
            continue
        model = named.get((run.name, place.about.model), place.about.model)
        for criterion, subject, kind, value in _values(place.judgment, place.about.criteria):
            key: Place = place.about.protocol, criterion, model, place.item.id, subject, kind
            found[key][place.about.order].append(value)
    return {key: _most(orders) for key, orders in found.items()}


def _most(orders: Mapping[str, Sequence[float]]) -> tuple[float, ...]:
    most = max(orders.values(), key=len)
    return tuple(most)


def _values(
    judgment: Judgment, criteria: tuple[str, ...]
) -> Iterator[tuple[str, Subject | None, Kind, float]]:
    """The scores of a judgment, and its choice under the criterion that a result has it."""
    for score in judgment.scores:
        if score.value is not None:
            yield score.criterion, score.subject, "scores", score.value
    if judgment.choice is not None and criteria:
        criterion = "overall" if "overall" in criteria else criteria[0]
        yield criterion, None, "choices", as_sample(judgment.choice)

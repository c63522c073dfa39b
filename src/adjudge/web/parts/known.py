"""What a store knows of a run beside its summary: the card where there are labels, times, and scores to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ...card import card_of_run
from ...card.join import Joined, join
from ...card.shapes import Card
from ...data.labels import LabelFile
from ...engine import protocols_of, results
from ...errors import DataError
from ...ranking import Ranking, ranking_of_run
from ...records import Scale
from ...report import Summary
from ...store import RunRow, Store
from ...store.browsing import Spent, spent

MOST_TIMED = 2000
"""Of how many replies time and cost are drawn."""


class Known(TypedDict):
    """The keywords of `run_parts`."""

    card: Card | None
    ranking: Ranking | None
    points: Mapping[str, Joined] | None
    timing: Sequence[Spent] | None
    values: Mapping[tuple[str, str], Sequence[float]] | None
    manifest: Mapping[str, Any] | None


def known_of(store: Store, run: RunRow, summary: Summary, said: LabelFile | None = None) -> Known:
    """All that can be drawn of a run. `said` are labels of a file; without them those in the store count."""
    labels = said if said is not None else LabelFile(tuple(store.labels(run)))
    has_card = bool(labels.labels) and summary.n_scores > 0
    return Known(
        card=card_of_run(store, run, labels) if has_card else None,
        ranking=_ranking(store, run) if summary.pairs else None,
        points=points_of(store, run, labels) if has_card else None,
        timing=spent(store, run, MOST_TIMED),
        values=values_of(store, run, summary),
        manifest=run.manifest,
    )


def _ranking(store: Store, run: RunRow) -> Ranking | None:
    """None where there is nothing to rank, as with pairs of a single system."""
    try:
        return ranking_of_run(store, run)
    except DataError:
        return None


def points_of(store: Store, run: RunRow, said: LabelFile) -> dict[str, Joined]:
    """The judge's answers beside people's, by the names of the card's criteria."""
    scales: dict[str | tuple[str, str], Scale | None] = {
        (key, criterion): scale
        for key, protocol in protocols_of(store, run).items()
        for criterion, scale in protocol.criteria.items()
    }
    return join(results(store, run), said.labels, scales)


def values_of(store: Store, run: RunRow, summary: Summary) -> dict[tuple[str, str], list[float]]:
    """The scores of criteria that have too many different ones to be counted by value."""
    many = {
        name
        for by_criterion in summary.systems.values()
        for name, cell in by_criterion.items()
        if cell.distribution_of == "nothing"
    }
    names = {
        (about.protocol, about.criterion): name for name, about in summary.criteria.items() if name in many
    }
    found: dict[tuple[str, str], list[float]] = {}
    for result in results(store, run) if names else ():
        name = names.get((result.protocol, result.criterion))
        if name is not None and result.value is not None:
            found.setdefault((name, result.system), []).append(result.value)
    return found

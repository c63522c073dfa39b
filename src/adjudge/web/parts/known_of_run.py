"""What a store knows of a run beyond its summary: the card where there are labels, times, and scores to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ...analysis.audit.audit import Audit
from ...analysis.audit.of_runs import audit_view
from ...analysis.brief.brief import Brief, Estimates, brief_of_run, estimates_of
from ...analysis.labels.join import join
from ...analysis.labels.judged_texts import labels_of_run
from ...analysis.labels.labelled import LabelledTable
from ...analysis.rank.ranking import Ranking
from ...analysis.report.summary import Summary
from ...analysis.run_view.run_view import RunView
from ...analysis.trust.card import Card
from ...data.labels import LabelFile
from ...store import Store
from ...store.browsing import Spent, spent

MOST_TIMED = 2000
"""Time and cost are drawn for at most this many replies."""


Points = Mapping[str, LabelledTable]
"""The judge's answers with the human labels, by the name of the criterion on the card."""


class Known(TypedDict):
    """The keywords of `run_parts`."""

    card: Card | None
    ranking: Ranking | None
    points: Mapping[str, LabelledTable] | None
    timing: Sequence[Spent] | None
    values: Mapping[tuple[str, str], Sequence[float]] | None
    manifest: Mapping[str, Any] | None
    audit: Audit | None
    brief: Brief | None


def known_of(
    store: Store,
    view: RunView,
    summary: Summary,
    given: LabelFile | None = None,
    estimates: Estimates | None = None,
) -> Known:
    """Everything that can be drawn of a run. `given` are labels of a file; the default is the labels in the
    store.

    `estimates` are those of the same run and labels, where they were kept.
    """
    assert view.run is not None
    labels = labels_of_run(store, view.run, given)
    if estimates is None:
        estimates = estimates_of(store, view, summary, given)
    card, ranking = estimates.card, estimates.ranking
    return Known(
        card=card,
        ranking=ranking,
        points=join(view, labels.labels) if card is not None else None,
        timing=spent(store, view.run, MOST_TIMED),
        values=values_of(view, summary),
        manifest=view.run.manifest,
        audit=audit_view(view) if view.is_audit else None,
        brief=brief_of_run(store, view, summary, estimates),
    )


def values_of(view: RunView, summary: Summary) -> dict[tuple[str, str], list[float]]:
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
    values: dict[tuple[str, str], list[float]] = {}
    for result in view.results if names else ():
        name = names.get((result.protocol, result.criterion))
        if name is not None and result.value is not None:
            values.setdefault((name, result.system), []).append(result.value)
    return values

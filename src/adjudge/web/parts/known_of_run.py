"""What a store knows of a run beyond its summary: the card where there are labels, times, and scores to
draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from msgspec import UNSET

from ...analysis.audit.audit import Audit
from ...analysis.audit.of_runs import audit_view
from ...analysis.brief.brief import Brief, Estimates, brief_of_run, estimates_of
from ...analysis.labels.join import join
from ...analysis.labels.judged_texts import labels_of_run, other_texts_note
from ...analysis.labels.labelled import LabelledTable
from ...analysis.rank.ranking import Ranking
from ...analysis.report.summary import Summary
from ...analysis.run_view.panel import pooled_over_models
from ...analysis.run_view.run_view import RunView
from ...analysis.trust.card import Card
from ...analysis.tune.kept import KeptTuning, kept_tuning
from ...data.labels import LabelFile
from ...store import RunRow, Store
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
    labels_note: str
    of_run: Card | None
    """the card of the scores that the report shows: of one judge, or of several as one"""
    points_of_run: Mapping[str, LabelledTable] | None
    tuning: KeptTuning | None


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
    if view.is_audit:
        return _known_of_audit(store, view, view.run)
    labels = labels_of_run(store, view.run, given)
    if estimates is None:
        about = "new-inputs" if summary.about is UNSET else summary.about
        estimates = estimates_of(store, view, summary, given, about)
    card, ranking = estimates.card, estimates.ranking
    points = join(view, labels.labels) if card is not None else None
    of_run, points_of_run = card, points
    if estimates.panel is not None:
        of_run, points_of_run = estimates.panel, join(pooled_over_models(view)[0], labels.labels)
    return Known(
        card=card,
        ranking=ranking,
        points=points,
        timing=spent(store, view.run, MOST_TIMED),
        values=values_of(view, summary),
        manifest=view.run.manifest,
        audit=None,
        brief=brief_of_run(store, view, summary, estimates),
        labels_note=other_texts_note(labels),
        of_run=of_run,
        points_of_run=points_of_run,
        tuning=kept_tuning(store, view.run),
    )


def _known_of_audit(store: Store, view: RunView, run: RunRow) -> Known:
    """An audit alone: its probes are no systems, so there is no ranking, no card and no run in short."""
    return Known(
        card=None,
        ranking=None,
        points=None,
        timing=spent(store, run, MOST_TIMED),
        values=None,
        manifest=run.manifest,
        audit=audit_view(view),
        brief=None,
        labels_note="",
        of_run=None,
        points_of_run=None,
        tuning=None,
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

"""The numbers of `adjudge demo`: likelihoods of responses with known faults, compared with two free baselines.

Reads a finished run and the labels that belong to the demo's items. The labels are known by construction:
they are not human ratings. Prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Literal

from msgspec import Struct

from ..analysis.report import summarise
from ..analysis.result_types import Cell
from ..analysis.run_view import RunView, tabulate
from ..data import read_labels
from ..records import Estimate, Label
from ..stats import correlate, wilson
from ..stats.arrays import make_estimate, no_interval
from ..store import RunRow, Store

FAULTS = {
    "altered-fact": "factuality",
    "omission": "accuracy",
    "shuffled": "coherence",
    "broken-grammar": "fluency",
    "off-topic": "relevance",
}
"""System → the criterion that its responses were made to fail."""

INTACT = "faithful"
"""The system whose responses have no fault."""

TOO_NARROW = 0.01
"""A narrower interval of a correlation is not reported: there are too few texts for such precision."""
TOO_ALIKE = "the few texts give almost the same value, so a bootstrap interval would have a width near 0"

Measure = Literal["likelihood", "length", "copied_bigrams"]
MEASURES: tuple[Measure, ...] = ("likelihood", "length", "copied_bigrams")


class Between(Struct, frozen=True):
    """How similarly the criteria rank the same items: Spearman between two criteria, over all pairs of criteria."""

    lowest: float | None
    median: float | None
    highest: float | None
    n_pairs: int
    n_items: int


class Figures(Struct, frozen=True):
    """All numbers of the demo, as written to JSON."""

    run: str
    is_recorded: bool
    n_items: int
    n_scores: int
    n_failed: int
    seconds: float
    systems: dict[str, dict[str, Cell]]
    labels: dict[str, dict[Measure, Estimate]]
    """criterion → Spearman with the labels, over items, sources resampled"""
    faults: dict[str, dict[Measure, Estimate]]
    """system → the share of sources whose intact response scores above the faulty one"""
    between: Between
    report: str = ""


class _Item(Struct):
    """The values of one item, from all its judgments."""

    system: str
    source: str
    values: dict[str, float | None] = {}
    words: float | None = None
    copied: float | None = None

    def measured(self, measure: Measure, criterion: str) -> float | None:
        if measure == "likelihood":
            return self.values.get(criterion)
        return self.words if measure == "length" else self.copied


def figures_of(store: Store, run: RunRow, labels: Path) -> Figures:
    """The numbers of a finished run over the demo's items."""
    view = tabulate(store, run, keep_notes=True)
    items = _items(view)
    summary = summarise(view)
    values = [pair.spearman.value for pair in summary.correlations]
    pairs = sorted(value for value in values if value is not None)
    return Figures(
        run=run.name,
        is_recorded=any(model["spec"].startswith("replay:") for model in run.manifest["models"]),
        n_items=summary.n_items,
        n_scores=summary.n_scores,
        n_failed=summary.n_failed,
        seconds=summary.seconds,
        systems=summary.systems,
        labels=_with_labels(items, read_labels(labels).labels),
        faults={system: _ahead(items, system, criterion) for system, criterion in FAULTS.items()},
        between=Between(
            pairs[0] if pairs else None,
            median(pairs) if pairs else None,
            pairs[-1] if pairs else None,
            len(pairs),
            min((pair.spearman.n for pair in summary.correlations), default=0),
        ),
    )


def _items(view: RunView) -> dict[str, _Item]:
    items: dict[str, _Item] = {}
    for result in view.results:
        item = items.setdefault(result.item, _Item(result.system, result.group or result.item))
        item.values[result.criterion] = result.value
    for name, item in items.items():
        notes = view.judgment_notes.get(name, {})
        item.words = float(notes["words"]) if "words" in notes else item.words
        item.copied = float(notes["copied_bigrams"]) if "copied_bigrams" in notes else item.copied
    return items


def _with_labels(items: dict[str, _Item], labels: Sequence[Label]) -> dict[str, dict[Measure, Estimate]]:
    correlations: dict[str, dict[Measure, Estimate]] = {}
    for criterion in dict.fromkeys(label.criterion for label in labels):
        rated = [label for label in labels if label.criterion == criterion and label.item in items]
        correlations[criterion] = {
            measure: _correlation(rated, items, lambda item, m=measure, c=criterion: item.measured(m, c))  # type: ignore[misc]
            for measure in MEASURES
        }
    return correlations


def _correlation(
    labels: Sequence[Label], items: dict[str, _Item], measured: Callable[[_Item], float | None]
) -> Estimate:
    judged = [items[label.item] for label in labels]
    values = [measured(item) for item in judged]
    estimate = correlate(
        [float("nan") if value is None else value for value in values],
        [float(label.value) for label in labels],
        "spearman",
        "item",
        groups=[item.source for item in judged],
        n_failed=sum(value is None for value in values),
    )
    return _unless_too_alike(estimate)


def _unless_too_alike(estimate: Estimate) -> Estimate:
    """The estimate without its interval where the few texts, written after one pattern, give almost the same value.

    Resampling them gives a width near 0, which would claim a precision that five texts cannot support.
    """
    if (
        not estimate.caution
        or estimate.low is None
        or estimate.high is None
        or estimate.high - estimate.low >= TOO_NARROW
    ):
        return estimate
    return make_estimate(
        estimate.value or 0.0, no_interval(TOO_ALIKE), "Spearman, item level", n=estimate.n,
        n_failed=estimate.n_failed, n_undefined=estimate.n_undefined, unit=estimate.unit, seed=estimate.seed,
    )  # fmt: skip


def _ahead(items: dict[str, _Item], system: str, criterion: str) -> dict[Measure, Estimate]:
    """For each source, whether the intact response scores above the faulty one; equal values count as half."""
    intact = {item.source: item for item in items.values() if item.system == INTACT}
    faulty = [item for item in items.values() if item.system == system and item.source in intact]
    shares: dict[Measure, Estimate] = {}
    for measure in MEASURES:
        pairs = [
            (intact[item.source].measured(measure, criterion), item.measured(measure, criterion))
            for item in faulty
        ]
        known = [(good, bad) for good, bad in pairs if good is not None and bad is not None]
        wins = sum(1.0 if good > bad else 0.5 if good == bad else 0.0 for good, bad in known)
        shares[measure] = wilson(wins, len(known), n_failed=len(pairs) - len(known))
    return shares

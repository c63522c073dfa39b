"""The card of a stored run, and `adjudge.trust`: results, labels and scales from wherever they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from msgspec import structs

from ..data import read_labels
from ..data.labels import LabelFile
from ..engine import Run
from ..errors import DataError
from ..records import Label, Result, Scale
from ..stats import Resample, Retest, bounds, minimum_detectable, nearest, retest, spread, wilson
from ..stats.resample import N_RESAMPLES
from ..store import Store, open_store
from ..words import count
from .correction import Entry, bias, calibration, corrected, differences, entries, pass_shares, plans, pooled
from .human_agreement import (
    agreement,
    ceiling,
    ceiling_of_choices,
    correlations,
    judges_apart,
    levels_of,
    of_choices,
    pairwise,
    replacement,
    stated_confidence,
)
from .label_join import Joined, Row, choices, join, numbers
from .misread import misread_share, with_misread
from .result_types import Card, CriterionCard, Draws, Quality, SystemFailures
from .run_view import RunView, by_criterion, side_by_side, tabulate, view_of_results
from .trust_words import opening, sentences

# What a judge's answers show without people: their spread, their noise, and where they are missing.
#
# Failures go with low scores in real data, so each system's mean has the bounds that its failures leave open.


def quality(joined: Joined) -> Quality:
    """All that can be said from the judge's answers alone."""
    n_failed = sum(row.answer is None for row in joined.rows)
    values = [value for value in numbers(row.answer for row in joined.rows) if value is not None]
    levels = levels_of(joined.scale)
    by_level = nearest(values, levels) if levels else values
    counts = Counter(value for value in by_level if value is not None)
    given = Counter(choice for choice in choices(row.answer for row in joined.rows) if choice is not None)
    by_system = entries(joined)
    return Quality(
        n=len(joined.rows),
        n_failed=n_failed,
        spread=spread(counts, len(levels) if levels else None) if joined.kind == "scores" else None,
        counts={choice: given.get(choice, 0) for choice in ("a", "b", "tie")} if given else {},
        sample_sd=_sample_sd(joined.rows),
        retest=_retest(joined.rows),
        minimum_detectable=_detectable(by_system) if joined.kind == "scores" else None,
        failures={system: _failures(own, joined) for system, own in by_system.items()},
    )


def _failures(own: Sequence[Entry], joined: Joined) -> SystemFailures:
    known = [entry.judge for entry in own if entry.judge is not None]
    n_failed = len(own) - len(known)
    scale = joined.scale
    low, high = (scale.low, scale.high) if scale is not None else (None, None)
    if joined.kind == "choices":
        low, high = 0.0, 1.0
    return SystemFailures(
        n=len(own),
        failed=wilson(n_failed, len(own)),
        by_status=dict(Counter(entry.row.status for entry in own if entry.judge is None)),
        n_samples=sum(entry.row.n_samples for entry in own),
        n_samples_failed=sum(entry.row.n_samples_failed for entry in own),
        bounds=bounds(known, n_failed, low, high),
    )


def _sample_sd(rows: Sequence[Row]) -> float | None:
    """The noise of asking again, over items that were asked several times."""
    squares = [row.spread**2 for row in rows if row.spread is not None]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else None


def _retest(rows: Sequence[Row]) -> Retest | None:
    """How much of what the scores show would come out again: samples of one item against different items."""
    repeated = [row.samples for row in rows if len(row.samples) > 1]
    if not repeated:
        return None
    width = max(map(len, repeated))
    return retest([[*samples, *[None] * (width - len(samples))] for samples in repeated])


def _detectable(by_system: dict[str, list[Entry]]) -> float | None:
    """From the pooled deviation within systems, at the size of the smallest of them."""
    squares, n, n_systems, smallest = 0.0, 0, 0, math.inf
    for own in by_system.values():
        known = [entry.judge for entry in own if entry.judge is not None]
        if len(known) < 2:
            continue
        mean = math.fsum(known) / len(known)
        squares += math.fsum((value - mean) ** 2 for value in known)
        n, n_systems, smallest = n + len(known), n_systems + 1, min(smallest, len(known))
    if not n_systems or n <= n_systems:
        return None
    return minimum_detectable(int(smallest), math.sqrt(squares / (n - n_systems)))


# Puts the judge card together: results and labels in, one card out. No file, no store, no model.


def judge_card(
    view: RunView,
    labels: Sequence[Label],
    *,
    resample: Resample = "inputs",
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    plan_width: float | None = None,
    n_empty: int = 0,
) -> Card:
    """Compare a judge with people's labels, criterion by criterion.

    `plan_width` asks how many labels it takes to know each mean to that width. `resample` says what a claim is
    about: new inputs, new systems, or both.
    """
    tables = join(view, labels)
    draws = Draws(resample, n_resamples, seed)
    cards = {name: _criterion(joined, draws, plan_width) for name, joined in tables.items()}
    judged = {card.criterion for card in cards.values()}
    judges = judges_apart(tables, draws)
    return Card(
        summary=opening(cards, judges),
        criteria=cards,
        judges=judges,
        resample=resample,
        seed=seed,
        n_labels=len(labels),
        n_labels_empty=n_empty,
        notes=_notes(labels, judged, n_empty),
        run=view.name,
    )


def _notes(labels: Sequence[Label], judged: set[str], n_empty: int) -> tuple[str, ...]:
    """What to say of the labels as a whole."""
    notes = []
    strange = sorted({label.criterion for label in labels} - judged)
    if strange:
        notes.append(
            f"Labels of {', '.join(strange)} are not used: the judge's criteria are {', '.join(sorted(judged))}. "
            "Rename them in the label file, if they mean the same."
        )
    if n_empty:
        notes.append(f"{count(n_empty, 'row')} of the label file without a value yet.")
    return tuple(notes)


def _criterion(joined: Joined, draws: Draws, plan_width: float | None) -> CriterionCard:
    labelled = joined.labelled()
    is_scores = joined.kind == "scores"
    means = corrected(joined)
    card = CriterionCard(
        criterion=joined.criterion,
        protocol=joined.protocol,
        model=joined.model,
        kind=joined.kind,
        scale=joined.scale,
        raters=joined.raters,
        n_items=len(joined.rows),
        n_labelled=len(labelled),
        n_failed=sum(row.answer is None for row in labelled),
        n_unknown=joined.n_unknown,
        sentences=(),
        notes=_criterion_notes(joined),
        item={**correlations(joined, "item", draws), **agreement(joined, draws.seed)}
        if is_scores
        else of_choices(joined),
        group=correlations(joined, "group", draws) if is_scores else {},
        system=correlations(joined, "system", draws) if is_scores else {},
        pairwise=pairwise(joined, draws.seed) if is_scores else None,
        ceiling=ceiling(joined, draws) if is_scores else ceiling_of_choices(joined),
        alt_test=replacement(joined),
        bias=bias(joined),
        corrected=means,
        pooled=pooled(joined),
        differences=differences(joined, means),
        pass_share=pass_shares(joined),
        calibration=calibration(joined, draws.seed),
        plan=plans(joined, plan_width),
        confidence=stated_confidence(joined, draws.seed),
        quality=quality(joined),
    )
    return structs.replace(card, sentences=sentences(card))


def _criterion_notes(joined: Joined) -> tuple[str, ...]:
    labelled = joined.labelled()
    notes = list(joined.notes)
    if not labelled and not notes:
        notes.append(
            f"There are no labels of '{joined.criterion}': only what the scores show by themselves is given."
        )
    if labelled and all(row.answer is None for row in labelled):
        notes.append("The judge failed on every labelled item: there is nothing to hold against people.")
    if labelled and joined.scale is None and joined.kind == "scores":
        notes.append("The scale is not known: judge and people are taken to use the same one.")
    is_part = 0 < len(labelled) < len(joined.rows)
    if is_part and any(row.probability is None for row in labelled):
        notes.append(
            f"Labels on {len(labelled)} of {len(joined.rows)} items: corrected means hold if those are a random part "
            "(adjudge sample draws one)."
        )
    return tuple(notes)


class CardSettings(TypedDict, total=False):
    """What a user may ask of a card."""

    resample: Resample
    n_resamples: int
    seed: int
    plan_width: float | None


def trust(
    source: Run | Iterable[Result],
    labels: str | Path | Sequence[Label] | None = None,
    *,
    scales: dict[str, Scale] | None = None,
    versus: str | None = None,
    checked: str | Path | None = None,
    **settings: Unpack[CardSettings],
) -> Card:
    """Hold a run, or any results, against labels: a file, a list, or for a run the labels in its store.

    The scales of a run are known; for other results `scales` gives them by criterion. `versus` names a second run in
    the same store; `checked` is a file of replies that were checked by hand.
    """
    card = _held(source, labels, scales, versus, **settings)
    return card if checked is None else with_checked(card, checked)


def _held(
    source: Run | Iterable[Result],
    labels: str | Path | Sequence[Label] | None,
    scales: dict[str, Scale] | None,
    versus: str | None,
    **settings: Unpack[CardSettings],
) -> Card:
    said = read_labels(labels) if isinstance(labels, str | Path) else None
    if said is None and labels is not None and not isinstance(labels, str | Path):
        said = LabelFile(tuple(labels))
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            other = None if versus is None else store.run(versus)
            views = [tabulate(store, run) for run in (store.run(source.name), other) if run is not None]
            return card_of_views(store, views, said, **settings)
    if versus is not None:
        raise DataError("versus names a run; give the results of both judges in one list instead.")
    if said is None:
        raise DataError("Results alone cannot be trusted: give labels, a file or a list of Label.")
    view = view_of_results(source, by_criterion(scales))
    return judge_card(view, said.labels, n_empty=said.n_empty, **settings)


def card_of_views(
    store: Store, views: Sequence[RunView], given: LabelFile | None, **settings: Unpack[CardSettings]
) -> Card:
    """The card of a run, or of two runs as two judges, by the labels that are given or by those in the store.

    Labels that are given take the place of those in the store: the two may be the same ones, and counting them twice
    would make two raters of one.
    """
    stored = [label for view in views if view.run is not None for label in store.labels(view.run)]
    labels = given or LabelFile(tuple(stored))
    notes = [note for view in views for note in view.notes()]
    known = {_identity(label) for label in labels.labels}
    n_other = sum(_identity(label) not in known for label in stored)
    if n_other:
        notes.append(
            f"The store has {count(n_other, 'other label')}, not used: the labels that were given take their place."
        )
    if not labels.labels:
        name = views[0].name
        raise DataError(
            f"{name} has no labels in {store.path}. Give a file with --labels FILE, or make one to fill in:\n"
            f"adjudge sample {name} -n 50 -o labels.csv"
        )
    card = judge_card(side_by_side(views), labels.labels, n_empty=labels.n_empty, **settings)
    return structs.replace(card, notes=(*notes, *card.notes))


def _identity(label: Label) -> tuple[object, ...]:
    return label.item, label.criterion, label.subject, label.rater, label.value


def with_checked(card: Card, path: str | Path) -> Card:
    """The card with what a check of replies by hand found, and every interval as wide as that makes it."""
    return with_misread(card, misread_share(path))

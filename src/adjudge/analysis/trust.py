"""The card of a stored run, and `adjudge.trust`: results, labels and scales from wherever they are."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from msgspec import structs

from ..data import read_labels
from ..data.labels import LabelFile
from ..engine import Run, protocols_of, results, settings_of
from ..errors import DataError
from ..records import Judgment, Label, Result, Scale, Subject
from ..stats import Resample, Retest, bounds, minimum_detectable, nearest, retest, spread, wilson
from ..stats.resample import N_RESAMPLES
from ..store import RunRow, Store, open_store
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
from .label_join import Joined, Row, Samples, Scales, as_sample, choices, join, numbers
from .misread import misread_share, with_misread
from .result_types import Card, CriterionCard, Draws, Kind, Quality, SystemFailures
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
    results: Iterable[Result],
    labels: Sequence[Label],
    *,
    resample: Resample = "inputs",
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    scales: Scales | None = None,
    samples: Samples | None = None,
    plan_width: float | None = None,
    n_empty: int = 0,
    run: str = "",
) -> Card:
    """Hold results against labels, criterion by criterion.

    `scales` has the criteria's scales by (protocol, criterion) or by criterion; without one, Gwet's coefficient is not
    given. `samples` has the single values of items that were judged several times. `plan_width` asks how many labels it
    takes to know each mean to that width. `resample` says what a claim is about: new inputs, new systems, or both.
    """
    tables = join(results, labels, scales or {}, samples)
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
        run=run,
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


# The single values behind each result of a run: what a judge said each time it was asked the same.
#
# A result is one value; how much of it would come out again can only be seen in the samples. Both orders of a pair
# are not the same question, so an order has its samples to itself: the one with most of them is taken.


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
            return card_of_run(store, store.run(source.name), said, other, **settings)
    if versus is not None:
        raise DataError("versus names a run; give the results of both judges in one list instead.")
    if said is None:
        raise DataError("Results alone cannot be trusted: give labels, a file or a list of Label.")
    by_criterion: dict[str | tuple[str, str], Scale | None] = dict((scales or {}).items())
    return judge_card(source, said.labels, scales=by_criterion, n_empty=said.n_empty, **settings)


def card_of_run(
    store: Store,
    run: RunRow,
    said: LabelFile | None,
    versus: RunRow | None = None,
    **settings: Unpack[CardSettings],
) -> Card:
    """The card of a run by the labels that are given, or by those in the store; `versus` is a second judge.

    Labels that are given take the place of those in the store: the two may be the same ones, and counting them twice
    would make two raters of one.
    """
    runs = [run] if versus is None else [run, versus]
    kept = [label for one in runs for label in store.labels(one)]
    notes = []
    if said is None:
        said = LabelFile(tuple(kept))
    else:
        given = {_said(label) for label in said.labels}
        n_other = sum(_said(label) not in given for label in kept)
        if n_other:
            notes.append(
                f"The store has {count(n_other, 'other label')}, not used: the labels that were given take their place."
            )
    if not said.labels:
        raise DataError(
            f"{run.name} has no labels in {store.path}. Give a file with --labels FILE, or make one to fill in:\n"
            f"adjudge sample {run.name} -n 50 -o labels.csv"
        )
    scales: dict[str | tuple[str, str], Scale | None] = {
        (key, criterion): scale
        for one in runs
        for key, protocol in protocols_of(store, one).items()
        for criterion, scale in protocol.criteria.items()
    }
    judged = [(one, list(results(store, one))) for one in runs]
    named = _told_apart(judged)
    card = judge_card(
        (_named(row, named[one.name, row.model]) for one, rows in judged for row in rows),
        said.labels,
        scales=scales,
        samples={key: own for one in runs for key, own in single_values(store, one, named).items()},
        n_empty=said.n_empty,
        run=" and ".join(one.name for one in runs),
        **settings,
    )
    about = [note for one in runs for note in _about_run(one)]
    return structs.replace(card, notes=(*about, *notes, *card.notes))


def _said(label: Label) -> tuple[object, ...]:
    return label.item, label.criterion, label.subject, label.rater, label.value


def _named(row: Result, model: str) -> Result:
    return row if row.model == model else structs.replace(row, model=model)


def _told_apart(judged: Sequence[tuple[RunRow, Sequence[Result]]]) -> dict[tuple[str, str], str]:
    """What to call each run's models: by the run, too, where one model judged one criterion in both."""
    cells = [
        {(row.protocol.partition("@")[0], row.criterion, row.model) for row in rows} for _, rows in judged
    ]
    is_same = len(cells) > 1 and bool(set.intersection(*cells))
    return {
        (run.name, row.model): f"{row.model} in {run.name}" if is_same else row.model
        for run, rows in judged
        for row in rows
    }


def _about_run(run: RunRow) -> list[str]:
    """What the store knows and the numbers do not show."""
    fake = [told["spec"] for told in run.manifest["models"] if told["is_fake"]]
    notes = [f"{spec} is a fake judge for tests: these numbers say nothing about any judge." for spec in fake]
    if run.status != "done":
        notes.append(
            f"The run is {run.status}, not done: items that were not judged yet are not on this card."
        )
    return notes


def with_checked(card: Card, path: str | Path) -> Card:
    """The card with what a check of replies by hand found, and every interval as wide as that makes it."""
    return with_misread(card, misread_share(path))

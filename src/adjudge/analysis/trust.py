"""`adjudge.trust`: the judge card, which says how far a judge's scores can be trusted.

Joins results with labels and puts the parts of the card together, from a stored run or from any results.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack, get_args

from msgspec import structs

from ..data import read_labels, read_scores
from ..data.labels import LabelFile
from ..engine import Run
from ..errors import DataError
from ..records import Label, Result, Review, Scale
from ..stats import (
    Resample,
    Retest,
    bounds,
    detectable_difference,
    equal_rates,
    nearest,
    retest,
    spread,
    standard_error,
    wilson,
)
from ..stats.alt_test import EPSILON
from ..stats.arrays import undefined
from ..stats.resample import N_RESAMPLES
from ..store import Store, open_store
from ..words import count
from .correction import (
    Entry,
    bias,
    calibration,
    corrected,
    differences,
    entries_by_system,
    misread_share,
    pass_shares,
    plans,
    pooled,
    with_misread,
)
from .human_agreement import (
    agreement,
    agreement_by,
    alternative_annotator_test,
    best_judges,
    by_class,
    ceiling,
    ceiling_of_choices,
    check_fields,
    choice_agreements,
    confusion_matrix,
    correlations,
    levels_of,
    pairwise,
    replacement_verdict,
    severities,
    severity_note,
    single_score,
    stated_confidence,
    two_judges,
)
from .label_join import (
    About,
    LabelledItem,
    LabelledTable,
    choices,
    join,
    numbers,
    read_labels_for,
    with_criterion,
    with_reviews,
)
from .probabilities import believed_probabilities
from .result_types import (
    Card,
    CorrectedMean,
    CriterionCard,
    Quality,
    Resampling,
    ReviewTally,
    SystemFailures,
)
from .run_view import (
    RunView,
    attributes_of,
    by_criterion,
    cluster_of,
    side_by_side,
    tabulate,
    view_of_results,
)
from .sampling import parse_stop_rule, stop_labelling
from .trust_words import opening, reviews_note, sentences

# -- Checks that need no labels


def quality(table: LabelledTable) -> Quality:
    """The spread, noise and failures of the judge's answers."""
    n_failed = sum(row.answer is None for row in table.rows)
    values = [value for value in numbers(row.answer for row in table.rows) if value is not None]
    levels = levels_of(table.scale)
    by_level = nearest(values, levels) if levels else values
    counts = Counter(value for value in by_level if value is not None)
    choice_counts = Counter(
        choice for choice in choices(row.answer for row in table.rows) if choice is not None
    )
    by_system = entries_by_system(table)
    return Quality(
        n=len(table.rows),
        n_failed=n_failed,
        spread=spread(counts, len(levels) if levels else None) if table.kind == "scores" else None,
        counts={choice: choice_counts.get(choice, 0) for choice in table.classes or ("a", "b", "tie")}
        if choice_counts
        else {},
        sample_sd=_sample_sd(table.rows),
        retest=_retest(table.rows),
        minimum_detectable=_detectable(table, by_system) if table.kind == "scores" else None,
        failures={system: _failures(entries, table) for system, entries in by_system.items()},
        failures_p=_failures_p(by_system),
    )


def _failures(entries: Sequence[Entry], table: LabelledTable) -> SystemFailures:
    """The failures of one system. Low scores fail more often in real data, so the bounds of the mean are given, too."""
    scores = [entry.judge for entry in entries if entry.judge is not None]
    n_failed = len(entries) - len(scores)
    scale = table.scale
    low, high = (scale.low, scale.high) if scale is not None else (None, None)
    if table.kind == "choices":
        low, high = 0.0, 1.0
    return SystemFailures(
        n=len(entries),
        failed=wilson(n_failed, len(entries)),
        by_status=dict(Counter(entry.row.status for entry in entries if entry.judge is None)),
        n_samples=sum(entry.row.n_samples for entry in entries),
        n_samples_failed=sum(entry.row.n_samples_failed for entry in entries),
        bounds=None if table.classes else bounds(scores, n_failed, low, high),
    )


def _sample_sd(rows: Sequence[LabelledItem]) -> float | None:
    """The pooled standard deviation over items that were judged several times."""
    squares = [row.spread**2 for row in rows if row.spread is not None]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else None


def _retest(rows: Sequence[LabelledItem]) -> Retest | None:
    """Test-retest reliability: the variance of samples of one item compared with that between items."""
    repeated = [row.samples for row in rows if len(row.samples) > 1]
    if not repeated:
        return None
    width = max(map(len, repeated))
    return retest([[*samples, *[None] * (width - len(samples))] for samples in repeated])


def _failures_p(by_system: dict[str, list[Entry]]) -> float | None:
    """The p-value of the test that the judge fails equally often on every system; none where there is nothing to test."""
    number: dict[str, int] = {}
    return equal_rates(
        [[float(entry.judge is None) for entry in entries] for entries in by_system.values()],
        [
            [number.setdefault(cluster_of(entry.row.group, entry.row.item), len(number)) for entry in entries]
            for entries in by_system.values()
        ],
    ).p


def _detectable(table: LabelledTable, by_system: dict[str, list[Entry]]) -> float | None:
    """The minimum detectable difference of two systems."""
    judged = [[entry for entry in entries if entry.judge is not None] for entries in by_system.values()]
    return detectable_difference(
        [
            standard_error(
                [entry.judge for entry in entries if entry.judge is not None],
                table.groups([entry.row for entry in entries]),
            )
            for entries in judged
        ]
    )


# -- The judge card


def judge_card(
    view: RunView,
    labels: Sequence[Label],
    *,
    resample: Resample = "inputs",
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    plan_width: float | None = None,
    stop: str | None = None,
    epsilon: float = EPSILON,
    by: Sequence[str] = (),
    about: About = "new-inputs",
    n_empty: int = 0,
    reviews: Sequence[Review] = (),
) -> Card:
    """Compare a judge with people's labels, criterion by criterion; `reviews` of disagreements change labels.

    `plan_width` is the interval width for which the card says how many labels are needed, `stop` a rule that says when
    there are enough (mean>=4, width<=0.3). `resample` says what the intervals generalise to: new inputs, new systems, or
    both. `epsilon` is how much less often than a human rater the judge may be closer to the other raters. `by` names
    fields of the items by which agreement is shown. `about` says what corrected means are about: new inputs, or these items.
    """
    rule = None if stop is None else parse_stop_rule(stop)
    labels = with_criterion(view, labels)
    check_about(about, resample)
    tables = {name: structs.replace(table, about=about) for name, table in join(view, labels).items()}
    if by:
        check_fields(by, tables)
    resampling = Resampling(resample, n_resamples, seed)
    cards = {
        name: _criterion(table, resampling, plan_width, epsilon, by, reviews)
        for name, table in tables.items()
    }
    criteria = {card.criterion for card in cards.values()}
    judge_pairs = two_judges(tables, resampling)
    return Card(
        summary=opening(cards, judge_pairs),
        criteria=cards,
        judges=judge_pairs,
        resample=resample,
        seed=seed,
        n_labels=len(labels),
        n_labels_empty=n_empty,
        notes=_about_note(about) + _notes(labels, criteria, n_empty),
        run=view.name,
        stop=None if rule is None else stop_labelling(tables, labels, rule, plan_width),
        best=best_judges(tables, seed),
    )


def _about_note(about: About) -> tuple[str, ...]:
    if about == "new-inputs":
        return ()
    return (
        "Corrected means, differences and bias are about these items (--about these-items), not about new inputs.",
    )


def check_about(about: str, resample: Resample = "inputs") -> None:
    """An error where `about` is unknown, or contradicts the resampling."""
    if about not in get_args(About):
        raise DataError(f"--about {about}: choose new-inputs or these-items.")
    if about == "these-items" and resample != "inputs":
        raise DataError(
            f"--about these-items says nothing of new systems, so --resample {resample} cannot go with it. Leave one out."
        )


def _notes(labels: Sequence[Label], judged: set[str], n_empty: int) -> tuple[str, ...]:
    """Notes on the labels as a whole."""
    notes = []
    unknown = sorted({label.criterion for label in labels} - judged)
    if unknown:
        notes.append(
            f"Labels of {', '.join(unknown)} are not used: the judge's criteria are {', '.join(sorted(judged))}. "
            "Rename them in the label file if they mean the same."
        )
    if n_empty:
        notes.append(f"{count(n_empty, 'row')} of the label file without a value.")
    return tuple(notes)


def _criterion(
    table: LabelledTable,
    resampling: Resampling,
    plan_width: float | None,
    epsilon: float,
    by: Sequence[str],
    reviews: Sequence[Review],
) -> CriterionCard:
    labelled = table.labelled()
    if table.classes:
        return _class_card(table, resampling, epsilon, by)
    is_scores = table.kind == "scores"
    # Reviewers see the judge's answer and pick disagreements, which can only raise agreement: it stays that with the labels
    # as people gave them. The sample behind the means is the same with either label.
    settled, tally = with_reviews(table, reviews)
    means = _corrected_after_review(table, settled)
    human_ceiling = ceiling(table, resampling) if is_scores else ceiling_of_choices(table)
    test = alternative_annotator_test(table, epsilon, resampling.seed)
    severity = severities(table)
    card = CriterionCard(
        criterion=table.criterion,
        protocol=table.protocol,
        model=table.model,
        kind=table.kind,
        scale=table.scale,
        raters=table.raters,
        n_items=len(table.rows),
        n_labelled=len(labelled),
        n_failed=sum(row.answer is None for row in labelled),
        n_unknown=table.n_unknown,
        sentences=(),
        notes=(*_criterion_notes(table), *severity_note(severity)),
        item={**correlations(table, "item", resampling), **agreement(table, resampling.seed)}
        if is_scores
        else choice_agreements(table),
        group=correlations(table, "group", resampling) if is_scores else {},
        system=correlations(table, "system", resampling) if is_scores else {},
        pairwise=pairwise(table, resampling.seed) if is_scores else None,
        ceiling=human_ceiling,
        alt_test=test,
        bias=bias(settled),
        corrected=means,
        pooled=pooled(settled),
        differences=differences(settled, means),
        pass_share=pass_shares(settled),
        calibration=calibration(table, resampling.seed),
        plan=plans(settled, plan_width),
        confidence=stated_confidence(table, resampling.seed),
        quality=quality(table),
        verdict=replacement_verdict(test, human_ceiling),
        severity=severity,
        confusion=confusion_matrix(table) if labelled else None,
        by=agreement_by(table, by) if labelled else {},
        probabilities=believed_probabilities(table),
        single_score=single_score(table, resampling.seed),
    )
    if tally is not None:
        tally = _with_effects(tally, settled, resampling)
        card = structs.replace(card, reviews=tally, notes=(*reviews_note(card, tally), *card.notes))
    return structs.replace(card, sentences=sentences(card))


def _class_card(
    table: LabelledTable, resampling: Resampling, epsilon: float, by: Sequence[str]
) -> CriterionCard:
    """The card of a judge that chooses classes: without means, and what is made of them."""
    labelled = table.labelled()
    top = ceiling_of_choices(table)
    test = alternative_annotator_test(table, epsilon, resampling.seed)
    card = CriterionCard(
        criterion=table.criterion,
        protocol=table.protocol,
        model=table.model,
        kind="choices",
        scale=table.scale,
        raters=table.raters,
        n_items=len(table.rows),
        n_labelled=len(labelled),
        n_failed=sum(row.answer is None for row in labelled),
        n_unknown=table.n_unknown,
        sentences=(),
        notes=_criterion_notes(table),
        item=choice_agreements(table),
        group={},
        system={},
        pairwise=None,
        ceiling=top,
        alt_test=test,
        bias=undefined("labels have no order", n=len(labelled), unit="item"),
        corrected={},
        pooled=None,
        differences={},
        pass_share={},
        calibration={},
        plan={},
        confidence=stated_confidence(table, resampling.seed),
        quality=quality(table),
        verdict=replacement_verdict(test, top),
        confusion=confusion_matrix(table) if labelled else None,
        by=agreement_by(table, by) if labelled else {},
        classes=by_class(table),
        probabilities=believed_probabilities(table),
    )
    return structs.replace(card, sentences=sentences(card))


def _corrected_after_review(table: LabelledTable, settled: LabelledTable) -> dict[str, CorrectedMean]:
    """The corrected means with reviewed labels, each with that of the labels as people gave them."""
    means = corrected(settled)
    if settled is table:
        return means
    before = corrected(table)
    return {
        name: structs.replace(mean, as_labelled=before[name].value) if name in before else mean
        for name, mean in means.items()
    }


def _with_effects(tally: ReviewTally, settled: LabelledTable, resampling: Resampling) -> ReviewTally:
    """The agreement with reviewed labels, and how many of the other labels would change."""
    after = (
        correlations(settled, "item", resampling, ("spearman",))["spearman"]
        if settled.kind == "scores"
        else choice_agreements(settled)["exact"]
    )
    changed = wilson(tally.n_random_changed, tally.n_random) if tally.n_random else None
    return structs.replace(tally, agreement=after, random_changed=changed)


def _criterion_notes(table: LabelledTable) -> tuple[str, ...]:
    labelled = table.labelled()
    notes = list(table.notes)
    if not labelled and not notes:
        notes.append(
            f"There are no labels of '{table.criterion}': only checks that need no labels are shown."
        )
    if labelled and all(row.answer is None for row in labelled):
        notes.append("The judge failed on every labelled item: there is nothing to compare with people.")
    if labelled and table.scale is None and table.kind == "scores" and table.is_same_scale:
        notes.append("The scale is unknown: judge and people are assumed to use the same one.")
    is_part = 0 < len(labelled) < len(table.rows) and not table.classes
    if is_part and any(row.probability is None for row in labelled):
        notes.append(
            f"Labels on {len(labelled)} of {len(table.rows)} items: corrected means are valid if these are a random sample "
            "(adjudge sample draws one)."
        )
    if is_part and len({row.probability for row in labelled}) > 1:
        notes.append(
            "The labelled items were drawn with different probabilities. Corrected means, bias and pass shares are weighted "
            "by them; agreement and correlations describe the labelled items as they were drawn."
        )
    return tuple(notes)


class CardSettings(TypedDict, total=False):
    """The settings of a judge card."""

    resample: Resample
    n_resamples: int
    seed: int
    plan_width: float | None
    stop: str | None
    epsilon: float
    by: Sequence[str]
    about: About


def trust(
    source: Run | Iterable[Result],
    labels: str | Path | Sequence[Label] | None = None,
    *,
    scales: dict[str, Scale] | None = None,
    versus: str | Sequence[str] | None = None,
    checked: str | Path | None = None,
    **settings: Unpack[CardSettings],
) -> Card:
    """Compare a run, or any results, with labels: a file, a list, or for a run the labels in its store.

    The scales of a run are known; for other results `scales` gives them by criterion. `versus` names other runs in
    the same store; `checked` is a file of replies that were checked by hand.
    """
    card = _card(source, labels, scales, versus, **settings)
    return card if checked is None else with_checked(card, checked)


def _card(
    source: Run | Iterable[Result],
    labels: str | Path | Sequence[Label] | None,
    scales: dict[str, Scale] | None,
    versus: str | Sequence[str] | None,
    **settings: Unpack[CardSettings],
) -> Card:
    given = LabelFile(tuple(labels)) if labels is not None and not isinstance(labels, str | Path) else None
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            others = [versus] if isinstance(versus, str) else versus or ()
            views = views_of_judges(store, [source.name, *others])
            label_file = read_labels_for(views, labels) if isinstance(labels, str | Path) else given
            return card_of_views(store, views, label_file, **settings)
    label_file = read_labels(labels) if isinstance(labels, str | Path) else given
    if versus is not None:
        raise DataError("versus names a run; give the results of both judges in one list instead.")
    if label_file is None:
        raise DataError("Results alone make no judge card. Give labels: a file, or a list of Label.")
    view = view_of_results(source, by_criterion(scales))
    return judge_card(view, label_file.labels, n_empty=label_file.n_empty, **settings)


def view_of_scores(
    path: str | Path,
    labels: Sequence[Label],
    *,
    renames: Mapping[str, str] | None = None,
    scale: tuple[float, float] | None = None,
    label_scale: tuple[float, float] | None = None,
) -> RunView:
    """The view of scores made with another tool.

    `scale` is the scale of the scores, higher is better; with `label_scale` they are rescaled to that of the labels.
    Scores and labels that both name no criterion, or one of them one, are about the same one.
    """
    named = {label.criterion for label in labels if label.criterion}
    results = read_scores(path, renames, criterion=named.pop() if len(named) == 1 else "score")
    if scale is not None and label_scale is not None:
        (low, high), (label_low, label_high) = scale, label_scale
        factor = (label_high - label_low) / (high - low)
        results = tuple(
            structs.replace(result, value=label_low + (result.value - low) * factor)
            if result.value is not None
            else result
            for result in results
        )
    given = label_scale or scale
    scales = (
        None if given is None else dict.fromkeys((row.criterion for row in results), Scale(*given, given[1]))
    )
    return view_of_results(results, by_criterion(scales), name=Path(path).name)


def views_of_judges(store: Store, names: Sequence[str]) -> list[RunView]:
    """The runs that are compared with people, each once."""
    runs = [store.run(name) for name in names]
    again = [
        name for place, name in enumerate(names) if runs[place].name in {run.name for run in runs[:place]}
    ]
    if again:
        raise DataError(
            f"--versus {again[0]} is a run that is compared already. Name another one; adjudge runs lists them."
        )
    return [tabulate(store, run) for run in runs]


def card_of_views(
    store: Store, views: Sequence[RunView], label_file: LabelFile | None, **settings: Unpack[CardSettings]
) -> Card:
    """The card of a run, or of several runs as several judges, with the labels of a file or those in the store.

    The labels of a file replace those in the store: they may be the same, and would count twice.
    """
    stored = [label for view in views if view.run is not None for label in store.labels(view.run)]
    labels = label_file or LabelFile(tuple(stored))
    notes = [note for view in views for note in view.notes()]
    known = {_identity(label) for label in labels.labels}
    n_other = sum(_identity(label) not in known for label in stored)
    if n_other:
        notes.append(f"{count(n_other, 'other label')} in the store not used: the given labels replace them.")
    if not labels.labels:
        name = views[0].name
        raise DataError(
            f"{name} has no labels in {store.path}. Give a file with --labels FILE, or make one to fill in:\n"
            f"adjudge sample {name} -n 50 -o labels.csv"
        )
    by = settings.get("by", ())
    views = [
        view
        if view.run is None
        else structs.replace(view, attributes=attributes_of(store.items(view.run), by))
        for view in views
    ]
    reviews = [review for view in views if view.run is not None for review in store.reviews(view.run)]
    card = judge_card(side_by_side(views), labels.labels, n_empty=labels.n_empty, reviews=reviews, **settings)
    return structs.replace(card, notes=(*notes, *card.notes))


def _identity(label: Label) -> tuple[object, ...]:
    return label.item, label.criterion, label.subject, label.rater, label.value


def with_checked(card: Card, path: str | Path) -> Card:
    """The card with its intervals widened for the misread replies found in a check by hand."""
    return with_misread(card, misread_share(path))

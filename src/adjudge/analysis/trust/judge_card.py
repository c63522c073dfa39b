"""The judge card put together, criterion by criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from ...data.label_scales import Ends
from ...records import Label, Review
from ...stats import Resample, wilson
from ...stats.alt_test import EPSILON
from ...stats.arrays import undefined
from ...stats.resample import N_RESAMPLES
from ...words import count
from ..about import About, about_note, check_about
from ..labels.join import join, with_criterion
from ..labels.labelled import LabelledTable
from ..labels.other_scale import rescaled, rescaled_reviews
from ..labels.reviews import ReviewTally, with_reviews
from ..labels.unusable_labels import check_matches, unknown_criteria_note
from ..run_view.panel import pooled_over_models
from ..run_view.run_view import RunView
from ..sampling.stop_rule import parse_stop_rule, stop_labelling
from .agreement import agreement, choice_agreements, correlations, pairwise
from .agreement_by import agreement_by, check_fields
from .best_constant import best_constant
from .best_judge import best_judges
from .calibration import calibration
from .card import Card, CorrectedMean, CriterionCard, Resampling
from .ceiling import ceiling, ceiling_of_choices
from .classes import by_class
from .confusion_matrix import confusion_matrix
from .corrected_differences import differences
from .corrected_means import bias, corrected_means, plans, pooled_mean
from .informative_failures import failures_of
from .labelled_sample import sample_of_labels
from .noise import noise_of
from .pass_shares import pass_shares
from .probabilities import believed_probabilities
from .quality import quality
from .rater_severity import severities, severity_note
from .recommendation import bias_tolerance, with_recommendation
from .replacement import alternative_annotator_test, replacement_verdict
from .settings import check_settings
from .single_score import single_score
from .stated_confidence import stated_confidence
from .text_baseline import baseline_of
from .two_judges import AGREEMENT_MARGIN, two_judges
from .words.reviews import reviews_note
from .words.sample import sample_notes
from .words.sentences import card_sentences, opening


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
    label_scale: Ends | None = None,
    n_empty: int = 0,
    reviews: Sequence[Review] = (),
    must_match: bool = False,
    with_panel: bool = False,
    margin: float | None = None,
) -> Card:
    """Compare a judge with people's labels, criterion by criterion; `reviews` of disagreements change labels.

    `plan_width` is the interval width for which the card says how many labels are needed, `stop` a rule that
    says when there are enough (mean>=4, width<=0.3). `resample` says what the intervals generalise to: new
    inputs, new systems, or both. `epsilon` is how much less often than a human rater the judge may be closer
    to the other raters. `by` names fields of the items by which agreement is shown. `about` says what
    corrected means are about: new inputs, or these items. `label_scale` is the scale of labels that are not
    on the judge's: scores are rescaled to it. With `must_match`, labels of which none belongs to a score are
    an error. `with_panel` adds a card of all judges of the view as one, before those of each. `margin` is the
    difference in agreement of two judges that does not matter.
    """
    rule = None if stop is None else parse_stop_rule(stop)
    labels = with_criterion(view, labels)
    check_settings(resample, plan_width, epsilon, margin, seed)
    check_about(about, resample)
    if label_scale is not None:
        view, reviews = rescaled(view, label_scale), rescaled_reviews(reviews, view, label_scale)
    tables = _tables(view, labels, about, must_match=must_match)
    if by:
        check_fields(by, tables)
    resampling = Resampling(resample, n_resamples, seed)
    together = _panel_tables(view, labels, about) if with_panel else {}
    cards = _cards(view, {**together, **tables}, resampling, plan_width, epsilon, by, reviews)
    criteria = {card.criterion for card in cards.values()}
    judge_pairs = two_judges(tables, resampling, AGREEMENT_MARGIN if margin is None else margin)
    return Card(
        summary=opening(cards, judge_pairs),
        criteria=cards,
        judges=judge_pairs,
        resample=resample,
        seed=seed,
        n_labels=len(labels),
        n_labels_empty=n_empty,
        notes=_about_note(about) + _scale_note(label_scale) + _notes(labels, criteria, n_empty),
        run=view.name,
        stop=None if rule is None else stop_labelling({**together, **tables}, labels, rule, plan_width),
        best=best_judges(tables, seed),
        noise=noise_of(tables.values()),
        is_stored=view.run is not None,
    )


def _cards(
    view: RunView,
    tables: Mapping[str, LabelledTable],
    resampling: Resampling,
    plan_width: float | None,
    epsilon: float,
    by: Sequence[str],
    reviews: Sequence[Review],
) -> dict[str, CriterionCard]:
    cards = {}
    for name, table in tables.items():
        card = _criterion(table, resampling, plan_width, epsilon, by, reviews)
        sample = sample_of_labels(table, len(tables))
        is_drawn = all(row.probability is not None for row in table.labelled())
        notes = [] if sample is None else sample_notes(sample, table.kind, is_drawn=is_drawn)
        card = structs.replace(
            card,
            constant=best_constant(table),
            baseline=baseline_of(table, view.texts),
            tolerance=bias_tolerance(table),
            sample=sample,
            notes=(*card.notes, *notes),
        )
        cards[name] = with_recommendation(card, view.name if view.run is not None else "")
    return cards


def _panel_tables(view: RunView, labels: Sequence[Label], about: About) -> dict[str, LabelledTable]:
    """The tables of all judges as one, as report and gate pool them."""
    tables = join(pooled_over_models(view)[0], labels)
    return {f"{name} · {table.model}": structs.replace(table, about=about) for name, table in tables.items()}


def _tables(
    view: RunView, labels: Sequence[Label], about: About, *, must_match: bool
) -> dict[str, LabelledTable]:
    tables = {name: structs.replace(table, about=about) for name, table in join(view, labels).items()}
    if must_match:
        check_matches(tables, labels)
    return tables


def _about_note(about: About) -> tuple[str, ...]:
    if about == "new-inputs":
        return ()
    return (about_note("Corrected means, differences and bias"),)


def _scale_note(label_scale: Ends | None) -> tuple[str, ...]:
    if label_scale is None:
        return ()
    low, high = label_scale
    return (
        f"The scores are rescaled to the scale of the labels, {low:g} to {high:g}: so are all means and "
        f"biases.",
    )


def _notes(labels: Sequence[Label], judged: set[str], n_empty: int) -> tuple[str, ...]:
    """Notes on the labels as a whole."""
    notes = []
    if note := unknown_criteria_note(labels, judged):
        notes.append(note)
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
    # Reviewers see the judge's answer and pick disagreements, which can only raise agreement: it stays that
    # with the labels as people gave them. The sample behind the means is the same with either label.
    settled, tally = with_reviews(table, reviews)
    means, pooled = _corrected_after_review(table, settled), pooled_mean(settled)
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
        bias=bias(settled, pooled),
        corrected=means,
        pooled=pooled,
        differences=differences(settled, means),
        pass_share=pass_shares(settled),
        calibration=calibration(table, resampling.seed),
        plan=plans(settled, plan_width),
        confidence=stated_confidence(table, resampling.seed),
        quality=quality(table),
        verdict=replacement_verdict(test, human_ceiling),
        severity=severity,
    )
    card = _with_parts(card, table, settled, by, resampling.seed)
    if tally is not None:
        tally = _with_effects(tally, settled, resampling)
        card = structs.replace(card, reviews=tally, notes=(*reviews_note(card, tally), *card.notes))
    return structs.replace(card, sentences=card_sentences(card))


def _with_parts(
    card: CriterionCard, table: LabelledTable, settled: LabelledTable, by: Sequence[str], seed: int
) -> CriterionCard:
    """The card with what rests on single items: classes of answers, parts of the items."""
    has_labels = bool(card.n_labelled)
    return structs.replace(
        card,
        confusion=confusion_matrix(table) if has_labels else None,
        by=agreement_by(table, by) if has_labels else {},
        probabilities=believed_probabilities(table),
        single_score=single_score(table, seed),
        panel=table.judges,
        informative_failures=failures_of(settled),
    )


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
    return structs.replace(card, sentences=card_sentences(card))


def _corrected_after_review(table: LabelledTable, settled: LabelledTable) -> dict[str, CorrectedMean]:
    """The corrected means with reviewed labels, each with that of the labels as people gave them."""
    means = corrected_means(settled)
    if settled is table:
        return means
    before = corrected_means(table)
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
    if is_part and len({row.probability for row in labelled}) > 1:
        notes.append(
            "The labelled items were drawn with different probabilities. Corrected means, bias and "
            "pass shares are weighted by them; agreement and correlations describe the labelled "
            "items as they were drawn."
        )
    return tuple(notes)

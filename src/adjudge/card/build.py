"""Puts the judge card together: results and labels in, one card out. No file, no store, no model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from ..records import Label, Result
from ..stats import Resample
from ..stats.resample import N_RESAMPLES
from ..words import count
from .agreement import (
    agreement,
    ceiling,
    ceiling_of_choices,
    correlations,
    of_choices,
    pairwise,
    replacement,
    stated_confidence,
)
from .correction import bias, calibration, corrected, differences, pass_shares, plans, pooled
from .join import Joined, Samples, Scales, join
from .quality import quality
from .sentences import opening, sentences
from .shapes import Card, CriterionCard, Draws
from .versus import judges_apart


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

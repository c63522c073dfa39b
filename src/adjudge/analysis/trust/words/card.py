"""The judge card as sections of text and tables, the same for terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from ....sections import Section, how_to_read, notices
from ....stats import ScoreInterval
from ....words import count, number, percent, short_name
from ..card import Card, CriterionCard
from ..classes import classes_section
from .agreement import agreement_by_sections, agreement_section, rater_sections
from .corrected import NO_DIFFERENCES, corrected_section, more_sections, simultaneity
from .estimate_rows import sourced
from .judges import best_judge_section, judges_section
from .noise import noise_section
from .quality import quality_section
from .replacement import replacement_sections
from .stop import stop_section

MEANING = (
    "[low, high] is a 95 % confidence interval; the unit is what it treats as independent. The label "
    "of an item is the mean of its ratings, for choices the majority. n is the number of "
    "observations; failed counts those without an answer from the judge, excluded those that could "
    "not be used."
)


EFFECTIVE_LABELS = (
    "Effective labels: the number of labels that would give an equally narrow interval without a "
    "judge. If it exceeds the number of labels, the judge saves labels; if not, the judge does not "
    "help here."
)


_MEANINGS = {
    "exact": (
        "exact agreement: the share of an item's raters who gave the same answer as the judge, averaged "
        "over items"
    ),
    "kappa": (
        "quadratic kappa and Krippendorff alpha: 1 is perfect agreement, 0 is chance; an error is "
        "weighted by the square of its distance from the label"
    ),
    "gwet": (
        "Gwet AC2: chance-corrected agreement with each rater, stable where nearly all answers are the same"
    ),
    "soft_pairwise": (
        "soft pairwise accuracy: 1 if judge and people are equally certain which of two systems is better"
    ),
}


_BOTH_ORDERS = (
    "exact agreement counts a choice that changed with the order shown as a tie, which agrees with a "
    "human tie; with order conflicts wrong, such a choice agrees with no label: this is the rule of "
    "published figures (MT-Bench, Auto-J)"
)


_PAIRS = (
    "pairwise accuracy: the share of item pairs that judge and people order in the same way, ties "
    "included; with tie calibration, scores that differ by less than a threshold chosen on other "
    "items count as tied"
)


def trust_sections(card: Card) -> Iterator[Section]:
    """All sections of the card."""
    title = f"Judge card: {card.run}" if card.run else "Judge card"
    yield Section(title, sourced(card.summary), depth=1, notices=notices(card.notes))
    if card.stop is not None:
        yield stop_section(card.stop)
    for name, criterion_card in card.criteria.items():
        yield from _criterion(name, criterion_card, is_only=len(card.criteria) == 1)
    if card.judges:
        yield judges_section(card)
    yield from (best_judge_section(best) for best in card.best if len(best.agreement) > 2)
    if card.noise:
        yield noise_section(card.noise)
    meanings = (*_meanings(card), f"Resampling unit: {card.resample}; seed {card.seed}")
    yield how_to_read(*meanings, is_detail=True)


def _meanings(card: Card) -> Iterator[str]:
    """The terms of this card, each explained if it is used."""
    yield MEANING
    labelled = [criterion_card for criterion_card in card.criteria.values() if criterion_card.n_labelled]
    scored = [criterion_card for criterion_card in labelled if criterion_card.kind == "scores"]
    shown = {
        name
        for criterion_card in scored
        for statistics in (criterion_card.item, criterion_card.system)
        for name in statistics
    }
    yield from (meaning for name, meaning in _MEANINGS.items() if name in shown)
    if any(criterion_card.pairwise is not None for criterion_card in scored):
        yield _PAIRS
    if any("both_orders" in criterion_card.item for criterion_card in labelled):
        yield _BOTH_ORDERS
    if labelled:
        yield EFFECTIVE_LABELS


def _criterion(name: str, card: CriterionCard, is_only: bool) -> Iterator[Section]:
    raters = count(len(card.raters), "rater")
    about = f"{card.n_labelled} of {count(card.n_items, 'item')} labelled by {raters}; judge: {card.model}"
    opening = () if is_only else sourced(card.sentences)
    yield Section(
        short_name(name), (about, *opening), notices=notices(card.notes), kind="criterion", criterion=name
    )
    if card.n_labelled:
        yield agreement_section(card)
        yield from rater_sections(card)
        yield from replacement_sections(card)
        yield from _details(card)
        if card.is_nominal:
            yield quality_section(card)
            return
        everywhere = {} if card.pooled is None else {"(all systems)": card.pooled}
        means = "Means" if card.kind == "scores" else "Win rates"
        title = f"{means} corrected with human labels"
        yield corrected_section(title, {**card.corrected, **everywhere}, card.scale)
        if card.differences:
            differences = corrected_section(
                "Differences corrected with human labels", card.differences, None, "n"
            )
            lines = (*simultaneity(card), *differences.lines)
            yield structs.replace(differences, lines=lines, is_detail=True)
        elif card.kind == "scores" and len(card.corrected) > 1:
            yield Section("Differences corrected with human labels", (NO_DIFFERENCES,), is_detail=True)
        yield from more_sections(card)
    yield quality_section(card)


def _details(card: CriterionCard) -> Iterator[Section]:
    """The classes, the confusion matrix, agreement in parts of the items, and the interval of a single
    score."""
    if isinstance(card.classes, dict):
        yield classes_section(card.classes)
    matrix = card.confusion
    if matrix is not None and matrix.n_ratings:
        what = (
            f"Rows: judge. Columns: human rating ({count(matrix.n_ratings, 'rating')} of "
            f"{count(matrix.n_items, 'item')})."
        )
        rows = tuple(
            (row, *(str(n) for n in counts)) for row, counts in zip(matrix.judge, matrix.counts, strict=True)
        )
        yield Section("Confusion matrix", (what,), ("judge", *matrix.human), rows, 3, is_detail=True)
    for field, parts in card.by.items():
        # Parts that are all too small say nothing.
        if any(part.agreement.low is not None for part in parts.values()):
            yield agreement_by_sections(field, parts, card)
    single = card.single_score
    if single is not None:
        yield Section(
            "Interval of a single score", tuple(_single_score_lines(single)), depth=3, is_detail=True
        )


def _single_score_lines(single: ScoreInterval) -> Iterator[str]:
    if single.below is None or single.above is None:
        yield f"No interval: {single.reason}."
        return
    ends = " to ".join(
        f"score {'+' if end >= 0 else '−'} {number(abs(end))}" for end in (single.below, single.above)
    )
    yield (
        f"95 % of items have a human label from {ends}, within the scale (split conformal, "
        f"{count(single.n, 'labelled item')})."
    )
    if single.coverage.value is not None:
        yield f"Measured on held-out labelled items: {percent(single.coverage)} inside."

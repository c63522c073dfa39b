"""The note on reviews of disagreements."""

from __future__ import annotations

from collections.abc import Iterator

from ....words import count, number, percent
from ...labels.reviews import ReviewTally
from ..card import CriterionCard
from .sentences import main_agreement, main_statistic


def reviews_note(card: CriterionCard, tally: ReviewTally) -> Iterator[str]:
    """What reviews did to the labels of a criterion, and which numbers follow them."""
    if not tally.n_reviewed:
        if tally.n_unlabelled:
            yield f"{count(tally.n_unlabelled, 'review')} of items without a label: no number uses them."
        return
    said = {
        "changed to the judge's answer": tally.n_changed,
        "confirmed": tally.n_confirmed,
        "left out because the item is unclear": tally.n_unclear,
        "unchanged because reviewers disagree": tally.n_split,
        "unchanged because the judge has no answer on the scale of the labels": tally.n_unusable,
    }
    parts = ", ".join(f"{n} {what}" for what, n in said.items() if n)
    yield f"{tally.n_reviewed} of {count(tally.n_labels, 'label')} were reviewed: {parts}."
    before, after = main_agreement(card), tally.agreement
    means = "means and bias" if card.kind == "scores" else "win rates"
    note = f"Corrected {means} use the reviewed labels; the other labels stand as people gave them"
    if after is not None and after.value is not None and before.value is not None:
        note += (
            f". Agreement is with the labels before review ({main_statistic(card)} "
            f"{number(before.value)}; after review {number(after.value)}), because reviewing "
            "disagreements alone can only raise it"
        )
    yield f"{note}."
    yield _random_check(tally)
    if tally.n_unlabelled:
        yield f"{count(tally.n_unlabelled, 'more review')} of items without a label: no number uses them."


def _random_check(tally: ReviewTally) -> str:
    if tally.random_changed is None:
        return (
            "No label was reviewed at random, so errors on which judge and people agree are unknown, "
            "and the corrected numbers may lean towards the judge."
        )
    return (
        f"Of {count(tally.n_random, 'label')} reviewed at random, {tally.n_random_changed} changed "
        f"({percent(tally.random_changed)}): about this share of the labels that were not reviewed "
        "would change, too."
    )

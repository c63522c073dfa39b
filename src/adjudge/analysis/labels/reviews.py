"""Reviews of disagreements: what counts as the truth of a labelled item."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import cast

from msgspec import Struct, structs

from ...records import Estimate, Review, Subject
from ...results.combine import Kind
from .labelled import Answer, LabelledTable


class ReviewTally(Struct, frozen=True):
    """What the reviews of one criterion did to its labels."""

    n_labels: int
    n_reviewed: int
    """labels that were reviewed"""
    n_changed: int
    """labels replaced by the judge's answer"""
    n_confirmed: int
    """labels that stand, because people are right or both are defensible"""
    n_unclear: int
    """items that are left out like items without a label"""
    n_split: int
    """labels that stand, because reviewers disagree"""
    n_unusable: int
    """labels that stand although the judge is right: it failed, or its answers are on another scale"""
    n_unlabelled: int
    """reviews of items without a label, which are not used"""
    n_random: int = 0
    """labels that were reviewed at random"""
    n_random_changed: int = 0
    """changed or left out"""
    random_changed: Estimate | None = None
    """of the labels reviewed at random, the share that changed:
    an estimate for all labels that were not reviewed
    """
    agreement: Estimate | None = None
    """with the reviewed labels: Spearman over items, for choices the share of equal choices"""


#
# A review is about what a label is about: an item, a criterion, and for a pair one response. It changes a
# label, never which items are labelled, so that the labelled items stay the sample that was drawn: a review
# of an item without a label is not used.

Cell = tuple[str, str, Subject | None]
"""item, criterion, subject"""


REVIEW_COLUMNS: dict[str, type] = {
    "item": str, "criterion": str, "subject": str, "protocol": str, "model": str, "judge": str, "people": str,
    "verdict": str, "reviewer": str, "reason": str, "note": str, "made": str,
}  # fmt: skip
"""The columns of exported reviews. `judge` and `people` are the answers that the reviewer saw."""


def review_row(review: Review) -> dict[str, str | None]:
    """A review under the names of the export format; an
    answer is a text, since it may be a score or a choice.
    """

    def text(answer: Answer | None) -> str | None:
        return f"{answer:g}" if isinstance(answer, float | int) else answer

    row = {name: getattr(review, name, None) for name in REVIEW_COLUMNS}
    return {**row, "judge": text(review.answer), "people": text(review.label)}


_UNCLEAR = object()


def with_reviews(table: LabelledTable, reviews: Sequence[Review]) -> tuple[LabelledTable, ReviewTally | None]:
    """The table with reviewed labels in place of people's, and
    what changed; none where no review is about this criterion.
    """
    of_cell: dict[Cell, list[Review]] = defaultdict(list)
    for review in reviews:
        if review.criterion == table.criterion and _is_of_kind(review, table.kind):
            of_cell[review.item, review.criterion, review.subject].append(review)
    if not of_cell:
        return table, None
    counts: Counter[str] = Counter()
    rows = []
    for row in table.rows:
        found = of_cell.pop((row.item, table.criterion, row.subject), [])
        if not found:
            rows.append(row)
        elif row.label is None:
            counts["unlabelled"] += len(found)
            rows.append(row)
        else:
            settled, outcome = _settled(found, row.label, is_same_scale=table.is_same_scale)
            counts.update((outcome, "reviewed"))
            if any(review.reason == RANDOM for review in found):
                counts["random"] += 1
                counts["random_changed"] += outcome in ("changed", "unclear")
            rows.append(structs.replace(row, label=settled))
    tally = ReviewTally(
        n_labels=len(table.labelled()),
        n_reviewed=counts["reviewed"],
        n_changed=counts["changed"],
        n_confirmed=counts["confirmed"],
        n_unclear=counts["unclear"],
        n_split=counts["split"],
        n_unusable=counts["unusable"],
        n_unlabelled=counts["unlabelled"],
        n_random=counts["random"],
        n_random_changed=counts["random_changed"],
    )
    return structs.replace(table, rows=tuple(rows)) if tally.n_reviewed else table, tally


RANDOM = "random"
"""The reason of a review of a label that was drawn at random, whether judge and people agree or not."""


def _is_of_kind(review: Review, kind: Kind) -> bool:
    """Whether a review is of a score or of a choice, as the table is."""
    known = review.answer if review.answer is not None else review.label
    return known is None or isinstance(known, str) == (kind == "choices")


def _settled(reviews: Sequence[Review], label: Answer, *, is_same_scale: bool) -> tuple[Answer | None, str]:
    """The label after review, none where the item is unclear; and what happened. Most reviewers decide."""
    votes: Counter[object] = Counter()
    n_unusable = 0
    for review in reviews:
        if review.verdict == "unclear":
            votes[_UNCLEAR] += 1
        elif review.verdict != "judge":
            votes[label] += 1
        elif review.answer is None or not is_same_scale:
            n_unusable += 1
        else:
            votes[review.answer] += 1
    if not votes:
        return label, "unusable"
    (winner, most), *others = votes.most_common()
    if others and others[0][1] == most:
        return label, "split"
    if winner is _UNCLEAR:
        return None, "unclear"
    return (label, "confirmed") if winner == label else (cast("Answer", winner), "changed")

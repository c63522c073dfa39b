"""Whether a judge can be used for a criterion: alone, only corrected with labels, not at all, or not known.

One rule for every report, page and command. It says "alone" or "corrected" only where an interval of the
judge card shows it; `docs/trust.md` has the rules in words.
"""

from __future__ import annotations

import shlex

from msgspec import structs

from ..labels.by_system import limits_of
from ..labels.labelled import LabelledTable, numbers
from .card import BestConstant, Card, CriterionCard, Recommendation, Use
from .mean_error import TOLERANCE, is_mean_near
from .words.recommendation import FROM_STORE, next_step, no_labels_step, reason_of

ENOUGH_LABELS = 100
"""With so many independent labelled items, a judge that is not shown to beat the best constant is not
usable."""


FEWEST_ITEMS = 10
"""With fewer labelled items nothing is decided; a judge that gave the same answer to so many items is
constant."""


def recommend(card: CriterionCard, run: str = "") -> Recommendation:
    """What the numbers of the card allow; `run` is the name that commands know it by, empty for other
    scores."""
    use = use_of(card)
    return Recommendation(use, reason_of(card, use), next_step(card, use, run, ENOUGH_LABELS))


def without_labels(criterion: str, run: str, n_items: int) -> Recommendation:
    """Without labels nothing is known."""
    reason = f"No item has a human label of {criterion}, so its agreement with people is unknown."
    return Recommendation("unknown", reason, no_labels_step(run, n_items))


def with_recommendation(card: CriterionCard, run: str) -> CriterionCard:
    return structs.replace(card, recommendation=recommend(card, run))


def with_labels_of_file(card: Card, path: str) -> Card:
    """The card with commands that read the labels from a file, which are not in the store."""
    criteria = {}
    for name, about in card.criteria.items():
        step = about.recommendation.next.replace(FROM_STORE, f"--labels {shlex.quote(path)}")
        found = structs.replace(about.recommendation, next=step)
        criteria[name] = structs.replace(about, recommendation=found)
    return structs.replace(card, criteria=criteria)


def bias_tolerance(table: LabelledTable) -> float | None:
    """The bias that does not matter; where the scale is unknown, of the range of the ratings, which is
    narrower."""
    if table.kind == "choices" or not table.is_same_scale:
        return None
    limits = limits_of(table)
    ratings = [rating for row in table.labelled() for rating in numbers(row.ratings) if rating is not None]
    if limits is None and ratings:
        limits = min(ratings), max(ratings)
    return None if limits is None else TOLERANCE * (limits[1] - limits[0])


def use_of(card: CriterionCard) -> Use:
    """The rule itself."""
    n_compared = card.n_labelled - card.n_failed
    if not n_compared:
        return "unknown"
    if gives_one_answer(card):
        return "no"
    if n_compared < FEWEST_ITEMS:
        return "unknown"
    if card.verdict.answer == "yes" and is_mean_near(card):
        return "alone"
    is_shown = beats_constant(card)
    if is_shown:
        return "corrected"
    return "no" if is_shown is False else "unknown"


def gives_one_answer(card: CriterionCard) -> bool:
    """Whether the judge gave one answer to all items."""
    n_answers = card.quality.n - card.quality.n_failed
    counts = card.quality.counts
    spread = card.quality.spread
    is_same = max(counts.values()) == n_answers if counts else spread is not None and spread.mode_share == 1.0
    return n_answers >= FEWEST_ITEMS and is_same


def beats_constant(card: CriterionCard) -> bool | None:
    """Whether the judge agrees better with people than the best constant, as it stands or once labels have
    removed its mean bias; none where the labels are too few to say.

    On another scale than the labels only the order of the items can agree, which a constant answer does not
    have.
    """
    if card.constant is None:
        return _is_above_zero(card)
    leads = card.constant.lead, card.constant.corrected
    if any(lead.low is not None and lead.low > 0 for lead in leads):
        return True
    return False if _is_decided(card.constant) else None


def _is_above_zero(card: CriterionCard) -> bool | None:
    order = card.item.get("spearman")
    if order is None or order.low is None or order.high is None:
        return None
    if order.low > 0:
        return True
    return False if order.high < 0 or order.n >= ENOUGH_LABELS else None


def _is_decided(constant: BestConstant) -> bool:
    """Whether a lead that is not shown means that there is none to speak of."""
    high = constant.corrected.high
    return (high is not None and high <= 0) or constant.n_units >= ENOUGH_LABELS

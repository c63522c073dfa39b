"""The noise ceiling: how well a human rater agrees with the others, and the judge beside one."""

from __future__ import annotations

from itertools import combinations

from msgspec import structs

from ...records import Estimate
from ...stats import fleiss_kappa, krippendorff_alpha, mean_interval, noise_ceiling
from ...stats.agreement import CHOICES
from ...stats.arrays import make_estimate, no_interval, within
from ..labels.labelled import LabelledItem, LabelledTable, numbers
from .agreement import share_alike
from .card import PeopleCeiling, Resampling
from .estimates import count_failed, undefined_items, with_failures


def ceiling(table: LabelledTable, resampling: Resampling) -> PeopleCeiling:
    """The noise ceiling of the raters, and the judge compared with the same raters (Spearman)."""
    rows = table.labelled()
    judge = numbers(row.answer for row in rows)
    ratings = [numbers(row.ratings) for row in rows]
    groups = table.groups(rows)
    estimates = noise_ceiling(
        ratings,
        judge,
        "spearman",
        clusters=groups,
        n_resamples=max(1, resampling.n // 2),
        seed=resampling.seed,
    )
    n_failed = count_failed(rows)
    return _ceiling(
        with_failures(estimates.lower, n_failed),
        upper=with_failures(estimates.upper, n_failed),
        judge=with_failures(estimates.judge, n_failed),
        share=with_failures(estimates.share, n_failed),
        by_rater=dict(zip(table.raters, estimates.by_rater, strict=False)),
        alpha=krippendorff_alpha(ratings, clusters=groups, seed=resampling.seed),
        corrected=with_failures(_at_most_one(estimates.corrected), n_failed),
    )


def _at_most_one(estimate: Estimate) -> Estimate:
    """A disattenuated correlation within what is possible: few raters can put it above 1."""
    if estimate.value is None:
        return estimate
    within_range = within(estimate, (-1.0, 1.0))
    if estimate.value <= 1:
        return within_range
    return structs.replace(within_range, value=1.0, low=None, high=None, reason="the estimate is above 1")


def ceiling_of_choices(table: LabelledTable) -> PeopleCeiling:
    """How often two raters agree, and how often the judge agrees with a rater, on pairs with two ratings."""
    rows = [row for row in table.rated() if sum(rating is not None for rating in row.ratings) >= 2]
    if not rows:
        undefined_estimate = undefined_items("no pair has two ratings")
        return _ceiling(
            undefined_estimate, judge=undefined_estimate, share=undefined_estimate, alpha=undefined_estimate
        )
    places = {choice: float(place) for place, choice in enumerate(table.classes or CHOICES)}
    ratings = [[None if rating is None else places.get(rating) for rating in row.ratings] for row in rows]
    alpha = krippendorff_alpha(ratings, "nominal", clusters=table.groups(rows))
    judged = [row for row in rows if row.answer is not None]
    rater_agreement = [share_alike(list(combinations(_ratings(row), 2))) for row in judged]
    judge_agreement = [share_alike([(row.answer, rating) for rating in _ratings(row)]) for row in judged]
    groups = table.groups(judged)
    n_failed = len(rows) - len(judged)
    people, judge = (
        mean_interval(shares, groups, n_failed, limits=(0.0, 1.0), name=name)
        for shares, name in (
            (rater_agreement, "share of rater pairs with the same choice"),
            (judge_agreement, "share of raters with the same choice as the judge"),
        )
    )
    if people.value and judge.value is not None:
        ratio = make_estimate(
            judge.value / people.value, no_interval("it is a ratio of two shares"),
            "the judge as a share of the ceiling", n=people.n, n_failed=people.n_failed, unit=people.unit,
        )  # fmt: skip
    else:
        ratio = undefined_items(
            "raters never make the same choice, or the judge failed on every pair", len(judged)
        )
    top = _ceiling(people, judge=judge, share=ratio, alpha=alpha)
    if not table.classes:
        return top
    by_item = [[str(rating) for rating in _ratings(row)] for row in rows]
    return structs.replace(top, fleiss=fleiss_kappa(by_item, table.classes, table.groups(rows)))


def _ratings(row: LabelledItem) -> list[float | str]:
    return [rating for rating in row.ratings if rating is not None]


def _ceiling(
    lower: Estimate,
    *,
    judge: Estimate,
    share: Estimate,
    upper: Estimate | None = None,
    by_rater: dict[str, float | None] | None = None,
    alpha: Estimate | None = None,
    corrected: Estimate | None = None,
) -> PeopleCeiling:
    return PeopleCeiling(
        **structs.asdict(lower), upper=upper, judge=judge, share=share, by_rater=by_rater or {}, alpha=alpha,
        corrected=corrected,
    )  # fmt: skip

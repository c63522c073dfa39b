"""Whether the judge can replace a human rater: the alternative annotator test, and the verdict of the
card."""

from __future__ import annotations

from ...stats import AltTest, alt_test
from ...stats.agreement import CHOICES
from ...stats.alt_test import EPSILON, Closeness
from ..labels.labelled import LabelledTable
from ..run_view.criteria import levels_of
from .card import PeopleCeiling, ReplacementVerdict, VerdictReason
from .estimates import undefined_items


def alternative_annotator_test(table: LabelledTable, epsilon: float = EPSILON, seed: int = 0) -> AltTest:
    """Can the judge replace a human rater? The test needs two raters with thirty items each."""
    rows = table.rated()
    if not table.is_same_scale:
        undefined_estimate = undefined_items("the labels are on a different scale", len(rows))
        return AltTest(undefined_estimate, undefined_estimate, None, epsilon, ())
    answers, ratings = [row.answer for row in rows], [row.ratings for row in rows]
    closeness: Closeness = "near" if table.kind == "scores" else "equal"
    levels = table.classes or (CHOICES if table.kind == "choices" else levels_of(table.scale) or ())
    return alt_test(
        answers,
        ratings,
        closeness,
        eps=epsilon,
        names=table.raters,
        levels=levels,
        clusters=table.groups(rows),
        seed=seed,
    )


def replacement_verdict(test: AltTest | None, ceiling: PeopleCeiling | None) -> ReplacementVerdict:
    """Whether the judge can replace a human rater, from the test and the human ceiling together."""
    if test is None or test.passes is None:
        return ReplacementVerdict("undefined", ("undefined",))
    reasons: list[VerdictReason] = []
    if ceiling is not None and ceiling.standing == "below":
        reasons.append("below_rater")
    if (test.winning_rate.value or 0.0) < 0.5:
        reasons.append("loses")
    if test.constant is not None and not test.constant.is_beaten:
        reasons.append("constant")
    if test.shuffled is not None and not test.shuffled.is_beaten:
        reasons.append("shuffled")
    if not reasons:
        return ReplacementVerdict("yes")
    return ReplacementVerdict("no" if "below_rater" in reasons else "not shown", tuple(reasons))

"""The judge beside answers that cost nothing: the best constant, and a regression on words and length."""

from __future__ import annotations

from collections.abc import Iterator

from ....words import interval, number, percent, share
from ..card import CriterionCard


def baseline_lines(card: CriterionCard) -> Iterator[str]:
    """What a judge must beat to be worth its price."""
    constant = card.constant
    if constant is not None:
        answer = constant.answer if isinstance(constant.answer, str) else f"{constant.answer:g}"
        if card.kind == "choices":
            yield (
                f"Always answering {answer}: equal to the label on {share(constant.constant)} of items, the "
                f"judge on {share(constant.judge)} (lead {percent(constant.lead)})."
            )
        else:
            yield (
                f"Always answering {answer}: {number(constant.constant)} points from the labels on average, "
                f"the judge {number(constant.judge)} (lead {interval(constant.lead)})."
            )
    baseline = card.baseline
    if baseline is None:
        return
    what = "equal choices" if card.kind == "choices" else "variance of the labels explained on held-out items"
    yield (
        f"A regression on words and length of the same {baseline.lead.n} labels: {what} "
        f"{share(baseline.regression)}, by the judge {share(baseline.judge)} (lead {percent(baseline.lead)})."
    )


def not_beaten(card: CriterionCard) -> str:
    """A warning where the judge is not shown to beat the regression; empty otherwise."""
    baseline = card.baseline
    if baseline is None or baseline.lead.low is None or baseline.lead.low > 0:
        return ""
    of_labels = f"words and length of {baseline.lead.n:,} labels"
    if baseline.lead.high is not None and baseline.lead.high < 0:
        return (
            f"A regression on {of_labels} agrees better with people than the judge (the judge's lead "
            f"{percent(baseline.lead)})"
        )
    return (
        f"The judge is not shown to agree better with people than a regression on {of_labels} "
        f"(lead {percent(baseline.lead)})"
    )

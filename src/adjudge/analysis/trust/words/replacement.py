"""The words on whether the judge can replace a human rater."""

from __future__ import annotations

from collections.abc import Iterator

from ....sections import Section, Value, notices
from ....stats import AltTest
from ....words import number
from ..card import CriterionCard
from .estimate_rows import COUNTS, estimate_row

_ANSWERS = {"yes": "Yes", "no": "No", "not shown": "Not shown", "undefined": "Unknown"}


_REASONS = {
    "below_rater": "the judge agrees with the raters significantly less than a human rater does",
    "loses": "the judge wins against fewer than half of the raters",
    "constant": "the judge is not significantly closer to the raters than the best constant answer",
    "shuffled": (
        "the judge is not significantly closer to the raters than its own answers shuffled over the items"
    ),
}


def replacement_sections(card: CriterionCard) -> Iterator[Section]:
    """The verdict of the card, with the test behind it and what passes without looking at the items."""
    test = card.alt_test
    if test is None:
        return
    reasons = [_REASONS[reason] for reason in card.verdict.reasons if reason in _REASONS]
    why = "; ".join(reasons) or ("" if card.verdict.answer == "yes" else test.winning_rate.reason)
    lines = [f"{_ANSWERS[card.verdict.answer]}{': ' + why if why else ''}."]
    if test.passes is not None:
        lines += _test_lines(test)
    rows = [
        estimate_row(("winning rate",), test.winning_rate),
        estimate_row(("advantage",), test.advantage),
    ]
    for name, rival in (("constant", test.constant), ("shuffled", test.shuffled)):
        if rival is not None:
            answer = rival.answer if isinstance(rival.answer, str) else f"{rival.answer or 0:g}"
            what = f"best constant ({answer})" if name == "constant" else "shuffled answers"
            rows.append(_plain_row(f"{what}: winning rate", rival.winning_rate))
            rows.append(_plain_row(f"{what}: advantage", rival.advantage))
            rows.append(estimate_row((f"judge − {what.partition(' (')[0]}: advantage",), rival.lead))
    yield Section(
        "Can the judge replace a human rater?",
        tuple(lines),
        ("estimate", "value [95 % CI]", *COUNTS),
        tuple(rows),
        3,
        notices(test.cautions),
        is_detail=True,
    )


def _test_lines(test: AltTest) -> Iterator[str]:
    yield (
        f"Alternative annotator test, eps = {test.eps:g}: each rater in turn is left out, and judge "
        "and rater are compared with the others. Advantage: how often the judge is at least as "
        "close to them. The judge wins against a rater if it is significantly less than "
        f"{test.eps:g} behind; eps accounts for the higher cost of human raters."
    )
    yield (
        "Yes requires three things: the judge wins against at least half of the raters, it is "
        "significantly closer to them than a constant answer and than its own answers shuffled, and "
        "it is not significantly below a human rater."
    )


def _plain_row(name: str, value: float) -> tuple[Value, ...]:
    return (name, number(value), *[""] * len(COUNTS))

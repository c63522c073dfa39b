"""What the card says where numbers alone would mislead:
perfect judges, groups of two, words that need a meaning.
"""

from __future__ import annotations

from functools import partial

import pytest

from adjudge.analysis.trust.card import Card, CriterionCard
from adjudge.analysis.trust.words.card import trust_sections
from adjudge.records import Choice, Label, Result, Scale
from adjudge.terminal.sections import section_lines
from judged import FIVE, choice, score
from views import judge_card

scored = partial(score, criterion="tact", model="judge")


def results_of(values: list[float], systems: int = 1, *, is_grouped: bool = False) -> list[Result]:
    return [
        scored(f"i{k}", value, f"s{k % systems}", f"g{k // systems}" if is_grouped else None)
        for k, value in enumerate(values)
    ]


def labels_of(values: list[float], raters: tuple[str, ...] = ("ann",)) -> list[Label]:
    return [Label(f"i{k}", "tact", rater, value) for k, value in enumerate(values) for rater in raters]


def card_of(results: list[Result], labels: list[Label], scale: Scale | None = FIVE) -> Card:
    return judge_card(results, labels, scales={"tact": scale}, n_resamples=100)


def tact(results: list[Result], labels: list[Label], scale: Scale | None = FIVE) -> CriterionCard:
    return card_of(results, labels, scale).criteria["tact"]


def printed(card: Card) -> str:
    parts = list(trust_sections(card))
    return "\n".join(text for text, _ in section_lines(parts, None))


VALUES = [float(1 + k % 5) for k in range(20)]


UP = [value + 1 for value in VALUES if value < 5]


@pytest.mark.parametrize(
    ("values", "labels", "scale", "words"),
    [
        (VALUES, labels_of(VALUES), FIVE, "scored every labelled item the same as people"),
        (VALUES, labels_of(VALUES, ("ann", "ben")), FIVE, "Spearman 1.00 [–] (perfect agreement, so without "
                                                          "an interval)"),
        (UP, labels_of([value - 1 for value in UP]), None, "1.00 points higher than people"),
        ([6 - value for value in VALUES], labels_of(VALUES), FIVE, "not significantly better than chance"),
        ([3.0] * 20, labels_of(VALUES), FIVE, "constant"),
        (VALUES, labels_of(VALUES)[:4], FIVE, "Agreement with people is uncertain"),
        (VALUES, [Label("i0", "wit", "ann", 3.0)], FIVE, "no labels of 'tact'"),
        ([(value + 1) if k % 3 else value for k, value in enumerate(VALUES)], labels_of(VALUES), None,
        "points higher than people"),
        ([(value + 1) if k % 3 else value for k, value in enumerate(VALUES)], labels_of(VALUES), Scale(1, 6,
        6), "points too lenient"),
        ([(value + 1) if k % 3 else value for k, value in enumerate(VALUES)], labels_of(VALUES), Scale(1, 6,
        1), "points too harsh"),
    ],
)  # fmt: skip
def test_a_card_opens_with_what_its_numbers_mean(
    values: list[float], labels: list[Label], scale: Scale | None, words: str
) -> None:
    sentences = tact(results_of(values), labels, scale).sentences
    assert words in " ".join(sentence.text for sentence in sentences)


def test_labels_of_a_criterion_that_was_not_judged_are_named() -> None:
    card = card_of(results_of(VALUES), [*labels_of(VALUES), Label("i0", "wit", "ann", 3.0)])
    assert "of wit is not used" in card.notes[0]


def test_a_judge_that_chooses_as_people_do_is_said_to_agree() -> None:
    winners: list[Choice] = ["a", "b", "tie"] * 6
    results = [choice(f"i{k}", winner, criterion="tact", model="judge") for k, winner in enumerate(winners)]
    labels = [Label(f"i{k}", "tact", "ann", winner) for k, winner in enumerate(winners)]
    card = judge_card(results, labels, n_resamples=100)
    assert "exact agreement 1.00 [" in card.criteria["tact"].sentences[0].text


def test_groups_of_two_items_are_warned_about() -> None:
    people = [float(1 + k * 7 % 5) for k in range(24)]
    judge = [float(1 + k * 3 % 5) for k in range(24)]
    twos = tact(results_of(judge, 2, is_grouped=True), labels_of(people)).group
    threes = tact(results_of(judge, 3, is_grouped=True), labels_of(people)).group
    for name in ("pearson", "spearman", "kendall"):
        assert twos[name].caution != threes[name].caution
    mixed = tact(results_of(judge, 3, is_grouped=True)[:-1], labels_of(people)).group
    assert "1 of 8 groups have only two items" in mixed["spearman"].caution


def test_terms_are_explained_only_where_they_are_used() -> None:
    people = [float(1 + k * 7 % 5) for k in range(24)]
    judge = [float(1 + k * 3 % 5) for k in range(24)]
    with_labels = printed(card_of(results_of(judge, 2, is_grouped=True), labels_of(people, ("ann", "ben"))))
    without_labels = printed(card_of(results_of(judge), []))
    for term in ("quadratic kappa", "Gwet AC2", "Effective labels:"):
        assert term in with_labels
        assert term not in without_labels


def test_a_difference_counts_inputs() -> None:
    judge = [float(1 + k * 3 % 5) for k in range(24)]
    labels = [label for k, label in enumerate(labels_of(judge[::-1])) if k % 3]
    card = card_of(results_of(judge, 2, is_grouped=True), labels)
    difference = card.criteria["tact"].differences["s0 - s1"]
    assert difference.unit == "labelled input"
    assert difference.n == 12
    assert sum(mean.n for mean in card.criteria["tact"].corrected.values()) == 16


def test_a_judge_with_kappa_below_0_disagrees() -> None:
    """Worse than chance is no lack of evidence."""
    results = [choice(f"i{k}", "a" if k % 2 else "b", criterion="tact") for k in range(60)]
    labels = [Label(f"i{k}", "tact", "ann", "b" if k % 2 or k % 5 == 0 else "a") for k in range(60)]
    card = judge_card(results, labels).criteria["tact"]
    assert (card.item["kappa"].high or 0) < 0
    assert "significantly disagrees with people" in card.sentences[0].text


def test_a_card_gives_one_answer_on_replacing_a_rater() -> None:
    """The headline and the verdict come from one rule."""
    values = [float(1 + k % 5) for k in range(40)]
    labels = [
        *labels_of(values, ("ann", "ben")),
        *(Label(f"i{k}", "tact", "cho", value) for k, value in enumerate(values)),
    ]
    text = printed(card_of(results_of([value if k % 2 else 3.0 for k, value in enumerate(values)]), labels))
    assert "below a human rater" in text
    assert "No: the judge agrees with the raters significantly less" in text
    assert "Yes." not in text

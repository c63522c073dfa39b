"""What the card says where numbers alone would mislead: perfect judges, groups of two, words that need a meaning."""

from __future__ import annotations

import pytest

from adjudge.analysis.result_types import Card, CriterionCard
from adjudge.analysis.trust_words import trust_sections
from adjudge.records import Choice, Label, Result, Scale
from adjudge.stats import caution
from views import judge_card

FIVE = Scale(low=1, high=5, best=5, step=1)


def results_of(values: list[float], systems: int = 1, *, is_grouped: bool = False) -> list[Result]:
    return [
        Result(
            item=f"i{k}", protocol="p@1", criterion="tact", model="judge", status="ok", value=value,
            system=f"s{k % systems}", group=f"g{k // systems}" if is_grouped else None,
        )
        for k, value in enumerate(values)
    ]  # fmt: skip


def labels_of(values: list[float], raters: tuple[str, ...] = ("ann",)) -> list[Label]:
    return [Label(f"i{k}", "tact", rater, value) for k, value in enumerate(values) for rater in raters]


def card_of(results: list[Result], labels: list[Label], scale: Scale | None = FIVE) -> Card:
    return judge_card(results, labels, scales={"tact": scale}, n_resamples=100)


def tact(results: list[Result], labels: list[Label], scale: Scale | None = FIVE) -> CriterionCard:
    return card_of(results, labels, scale).criteria["tact"]


def printed(card: Card) -> str:
    parts = list(trust_sections(card))
    lines = [line for part in parts for line in part.lines]
    rows = [" | ".join(row) for part in parts for row in (part.columns, *part.rows)]
    return "\n".join([*lines, *rows])


VALUES = [float(1 + k % 5) for k in range(20)]


@pytest.mark.parametrize("raters", [("ann",), ("ann", "ben")])
def test_a_judge_that_gives_what_people_gave_is_said_to_agree(raters: tuple[str, ...]) -> None:
    said = tact(results_of(VALUES), labels_of(VALUES, raters)).sentences
    assert "orders all of them just as people do" in said[0].text
    assert "no item says otherwise" in said[0].text
    assert "not shown" not in said[0].text
    assert "gave every labelled item just what people gave it" in said[1].text


def test_a_judge_that_gives_as_much_more_everywhere_is_said_to_do_so() -> None:
    values = [float(1 + k % 4) for k in range(20)]
    said = tact(results_of([value + 1 for value in values]), labels_of(values), None).sentences
    assert "it gave every labelled item 1.00 points more than people did" in said[1].text.lower()


def test_a_judge_that_runs_against_people_is_not_said_to_agree() -> None:
    said = tact(results_of([6 - value for value in VALUES]), labels_of(VALUES)).sentences
    assert "is not shown to agree" in said[0].text


def test_a_judge_that_chooses_as_people_do_is_said_to_agree() -> None:
    choices: list[Choice] = ["a", "b", "tie"] * 6
    results = [
        Result(
            item=f"i{k}", protocol="p@1", criterion="tact", model="judge", status="ok", choice=choice,
            system_a="old", system_b="new",
        )
        for k, choice in enumerate(choices)
    ]  # fmt: skip
    labels = [Label(f"i{k}", "tact", "ann", choice) for k, choice in enumerate(choices)]
    card = judge_card(results, labels, n_resamples=100)
    assert "chooses as people do on every one" in card.criteria["tact"].sentences[0].text
    assert "Cohen kappa" in printed(card)


def test_groups_of_two_items_are_said_to_allow_two_correlations_only() -> None:
    people = [float(1 + k * 7 % 5) for k in range(24)]
    judge = [float(1 + k * 3 % 5) for k in range(24)]
    twos = tact(results_of(judge, 2, is_grouped=True), labels_of(people)).group
    threes = tact(results_of(judge, 3, is_grouped=True), labels_of(people)).group
    for name in ("pearson", "spearman", "kendall"):
        assert "all groups have two items only" in caution(twos[name])
        assert "two items" not in caution(threes[name])
    mixed = tact(results_of(judge, 3, is_grouped=True)[:-1], labels_of(people)).group
    assert "1 of 8 groups have two items only" in caution(mixed["spearman"])


def test_words_that_need_a_meaning_have_it_and_raters_their_names() -> None:
    people = [float(1 + k * 7 % 5) for k in range(24)]
    judge = [float(1 + k * 3 % 5) for k in range(24)]
    text = printed(card_of(results_of(judge, 2, is_grouped=True), labels_of(people, ("ann", "ben"))))
    for word in ("equal answers:", "quadratic kappa and", "Gwet AC2:", "soft pairwise accuracy:", "Worth:"):
        assert word in text
    assert "rater 'ann' is left out" in text
    for word in ("examination", "near ties as ties", "it counts decisions", "the items do not differ"):
        assert word not in text
    without_labels = printed(card_of(results_of(judge), []))
    assert "Worth:" not in without_labels
    assert "quadratic kappa" not in without_labels


def test_a_difference_says_that_it_counts_inputs() -> None:
    judge = [float(1 + k * 3 % 5) for k in range(24)]
    labels = [label for k, label in enumerate(labels_of(judge[::-1])) if k % 3]
    card = card_of(results_of(judge, 2, is_grouped=True), labels)
    found = card.criteria["tact"].differences["s0 - s1"]
    assert found.unit == "labelled input"
    assert found.n == 12
    assert sum(mean.n for mean in card.criteria["tact"].corrected.values()) == 16
    assert "A labelled input counts once" in printed(card)

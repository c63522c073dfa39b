"""Reviews of disagreements: which labels they change, which numbers follow, and what the card says of it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from adjudge.analysis.brief.brief import CriterionBrief
from adjudge.analysis.brief.words import _trust
from adjudge.analysis.labels.reviews import with_reviews
from adjudge.analysis.trust.card import CriterionCard
from adjudge.analysis.trust.corrected_means import corrected_means
from adjudge.analysis.trust.words.card import trust_sections
from adjudge.records import Label, Result, Review, Scale
from adjudge.sections import cell_text
from judged import FIVE, choice, score
from views import join, judge_card

N = 40


def results() -> list[Result]:
    rng = random.Random(2)
    return [
        score(f"i{k}", float(rng.randint(1, 5)), "AB"[k % 2], f"g{k // 2}", criterion="tact", model="judge")
        for k in range(N)
    ]


def labels(n: int = N) -> list[Label]:
    rng = random.Random(3)
    return [Label(f"i{k}", "tact", "ann", float(rng.randint(1, 5))) for k in range(n)]


def review(item: str, verdict: Any, answer: float | str | None = None, **more: Any) -> Review:
    return Review(
        item, "tact", "tact", "judge", verdict=verdict, answer=answer, **{"reviewer": "eva", **more}
    )


def card_of(*reviews: Review, given: list[Label] | None = None, n: int = N, **settings: Any) -> CriterionCard:
    known = labels(n) if given is None else given
    card = judge_card(results(), known, scales={"tact": FIVE}, reviews=reviews, **settings)
    return card.criteria["tact"]


def disagreements() -> list[tuple[str, float, float]]:
    """Item, judge's score and label, the largest difference first."""
    both = [
        (result.item, result.value or 0.0, float(label.value))
        for result, label in zip(results(), labels(), strict=True)
        if result.value != label.value
    ]
    return sorted(both, key=lambda each: -abs(each[1] - each[2]))


def test_where_the_judge_is_right_its_answer_is_the_label_behind_the_corrected_means() -> None:
    (item, answer, label), *_ = disagreements()
    before, after = card_of(), card_of(review(item, "judge", answer))
    pooled = before.pooled, after.pooled
    # All items are labelled, so the corrected mean is that of the labels.
    assert pooled[0] is not None
    assert pooled[1] is not None
    assert (pooled[1].value or 0) - (pooled[0].value or 0) == pytest.approx((answer - label) / N)
    assert (after.bias.value or 0) - (before.bias.value or 0) == pytest.approx((label - answer) / N)
    system = next(result.system for result in results() if result.item == item)
    assert after.corrected[system].as_labelled == before.corrected[system].value
    assert after.corrected[system].value != before.corrected[system].value
    assert before.corrected[system].as_labelled is None


def test_agreement_is_with_the_labels_as_people_gave_them_and_that_after_review_stands_beside_it() -> None:
    reviews = [review(item, "judge", answer) for item, answer, _ in disagreements()[:10]]
    before, after = card_of(), card_of(*reviews)
    assert after.item == before.item
    assert after.ceiling == before.ceiling
    tally = after.reviews
    assert tally is not None
    assert tally.agreement is not None
    assert (tally.agreement.value or 0) > (before.item["spearman"].value or 0)
    note = " ".join(after.notes)
    assert f"10 of {N} labels were reviewed: 10 changed to the judge's answer." in note
    assert "can only raise it" in note
    assert "No label was reviewed at random" in note


def test_people_right_and_both_defensible_leave_every_number_as_it_is() -> None:
    (first, one, _), (second, other, _), *_ = disagreements()
    after = card_of(review(first, "people", one), review(second, "both", other))
    before = card_of()
    assert {name: mean.value for name, mean in after.corrected.items()} == {
        name: mean.value for name, mean in before.corrected.items()
    }
    assert after.bias == before.bias
    assert after.reviews is not None
    assert (after.reviews.n_reviewed, after.reviews.n_confirmed, after.reviews.n_changed) == (2, 2, 0)


def test_an_unclear_item_is_left_out_like_an_item_without_a_label() -> None:
    item = disagreements()[0][0]
    after = card_of(review(item, "unclear"))
    without = card_of(given=[label for label in labels() if label.item != item])
    assert after.bias == without.bias
    for system, mean in without.corrected.items():
        assert after.corrected[system].value == mean.value
        assert (after.corrected[system].low, after.corrected[system].n) == (mean.low, mean.n)
    assert "1 left out because the item is unclear" in " ".join(after.notes)


def test_reviewers_who_disagree_leave_the_label_and_most_of_them_decide() -> None:
    item, answer, _ = disagreements()[0]
    split = card_of(review(item, "judge", answer), review(item, "people", answer, reviewer="max"))
    assert split.reviews is not None
    assert (split.reviews.n_split, split.reviews.n_changed) == (1, 0)
    assert split.bias == card_of().bias
    decided = card_of(
        review(item, "judge", answer),
        review(item, "judge", answer, reviewer="kim"),
        review(item, "people", answer, reviewer="max"),
    )
    assert decided.reviews is not None
    assert (decided.reviews.n_split, decided.reviews.n_changed) == (0, 1)


def test_a_review_of_an_item_without_a_label_changes_no_number_and_is_counted() -> None:
    # Such items are picked, not drawn: they would make the labelled items another sample.
    before, after = card_of(n=20), card_of(review("i30", "judge", 5.0), n=20)
    assert (after.corrected, after.bias) == (before.corrected, before.bias)
    assert after.reviews is not None
    assert (after.reviews.n_unlabelled, after.reviews.n_reviewed) == (1, 0)
    assert after.notes[0] == "1 review of items without a label: no number uses them."


def test_a_judge_without_an_answer_or_on_another_scale_changes_no_label() -> None:
    item = disagreements()[0][0]
    failed = card_of(review(item, "judge", None))
    assert failed.reviews is not None
    assert failed.reviews.n_unusable == 1
    assert failed.bias == card_of().bias
    tenfold = [Label(one.item, "tact", "ann", float(one.value) * 20) for one in labels()]
    other = card_of(review(item, "judge", 5.0), given=tenfold)
    assert other.reviews is not None
    assert other.reviews.n_unusable == 1


def test_labels_reviewed_at_random_say_how_many_of_the_others_would_change() -> None:
    answers = {result.item: result.value for result in results()}
    given = {label.item: label.value for label in labels()}
    drawn = [f"i{k}" for k in range(10)]
    reviews = [
        review(
            item,
            "judge" if k < 2 and answers[item] != given[item] else "people",
            answers[item],
            reason="random",
        )
        for k, item in enumerate(drawn)
    ]
    card = card_of(*reviews)
    tally = card.reviews
    assert tally is not None
    assert tally.random_changed is not None
    n_changed = sum(one.verdict == "judge" for one in reviews)
    assert n_changed > 0
    assert (tally.n_random, tally.n_random_changed) == (10, n_changed)
    assert tally.random_changed.value == n_changed / 10
    assert f"Of 10 labels reviewed at random, {n_changed} changed" in " ".join(card.notes)


def test_a_choice_is_replaced_as_a_score_is() -> None:
    judged = [
        choice(f"p{k}", "ab"[k % 2], "old", "new", criterion="better", model="judge") for k in range(20)
    ]
    given = [Label(f"p{k}", "better", "ann", "a") for k in range(20)]
    settled = [
        Review(f"p{k}", "p", "better", "judge", "eva", "judge", None, "b", "a") for k in range(1, 20, 2)
    ]
    before, after = (
        judge_card(judged, given, reviews=reviews).criteria["better"] for reviews in ([], settled)
    )
    assert before.corrected["old"].value == pytest.approx(1)
    assert after.corrected["old"].value == pytest.approx(0.5)
    assert after.item["exact"] == before.item["exact"]
    assert after.reviews is not None
    assert after.reviews.agreement is not None
    assert (before.item["exact"].value, after.reviews.agreement.value) == (0.5, 1.0)


def test_the_card_shows_the_means_before_review_and_the_strip_counts_the_labels() -> None:
    item, answer, _ = disagreements()[0]
    card = judge_card(results(), labels(), scales={"tact": FIVE}, reviews=[review(item, "judge", answer)])
    section = next(one for one in trust_sections(card) if one.title == "Means corrected with human labels")
    filled = section.filled()
    column = [head.name for head in filled.heads].index("before review")
    assert all(cell_text(row[column]) for row in filled.rows[:2])
    plain = trust_sections(judge_card(results(), labels(), scales={"tact": FIVE}))
    table = next(one for one in plain if one.title == "Means corrected with human labels").filled()
    assert "before review" not in [head.name for head in table.heads]
    line = CriterionBrief("tact", "scores", None, agreement=card.criteria["tact"].item["spearman"],
    n_labels=40,
                          n_reviewed=12, n_changed=5)  # fmt: skip
    parts = list(_trust(None, line))  # type: ignore[arg-type]
    assert any("12 of 40 labels" in part and "5 changed" in part for part in parts)


@pytest.mark.slow
def test_means_after_the_review_of_all_disagreements_are_unbiased_for_the_settled_labels() -> None:
    """The sample stays the one that was drawn, so that settling its disagreements adds no bias of its own."""
    rng = random.Random(11)
    truth = [rng.randint(2, 4) for _ in range(400)]
    people = [min(5, max(1, value + rng.choice((-1, 0, 0, 0, 1)))) for value in truth]
    judge = [min(5, value + rng.choice((0, 0, 1))) for value in truth]
    # The truth where judge and people differ, else what both say.
    settled = [t if j != p else p for t, j, p in zip(truth, judge, people, strict=True)]
    mean = sum(settled) / len(settled)
    judged = [
        score(f"i{k}", float(value), "A", criterion="tact", model="judge") for k, value in enumerate(judge)
    ]
    errors = []
    for _ in range(120):
        drawn = rng.sample(range(400), 60)
        given = [Label(f"i{k}", "tact", "ann", float(people[k]), probability=60 / 400) for k in drawn]
        reviews = [
            review(f"i{k}", "judge", float(truth[k])) for k in drawn if judge[k] != people[k]
        ]  # fmt: skip
        (table,) = join(judged, given, {"tact": Scale(1, 5, 5)}).values()
        after, _ = with_reviews(table, reviews)
        errors.append((corrected_means(after)["A"].value or 0.0) - mean)
    average = sum(errors) / len(errors)
    spread = (sum((error - average) ** 2 for error in errors) / len(errors) / len(errors)) ** 0.5
    assert abs(average) < 4 * spread

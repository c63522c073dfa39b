"""The judge beside a regression on words and length, on the card and on its first screen."""

from __future__ import annotations

import random

import pytest
from msgspec import structs

from adjudge.analysis.run_view.attributes import attributes_and_texts
from adjudge.analysis.run_view.criteria import by_criterion
from adjudge.analysis.run_view.given_results import view_of_results
from adjudge.analysis.trust.card import CriterionCard
from adjudge.analysis.trust.judge_card import judge_card
from adjudge.analysis.trust.text_baseline import MOST_TEXTS, with_text
from adjudge.analysis.trust.words.baseline import baseline_lines, not_beaten
from adjudge.records import Item, Label
from judged import FIVE, choice, score

GOOD, BAD = ["clear", "kind", "exact"], ["rude", "vague", "wrong"]


def text_of(level: float, rng: random.Random) -> str:
    return " ".join(rng.choice(GOOD if rng.random() < level / 5 else BAD) for _ in range(12))


def card_of(noise: float, *, words_say_it: bool, n: int = 60, groups: bool = False) -> CriterionCard:
    """The judge errs by `noise`; the words of the texts say what people think, or nothing."""
    rng = random.Random(4)
    items, results, labels = [], [], []
    for k in range(n):
        level = float(rng.randint(1, 5))
        judged = min(5.0, max(1.0, round(level + rng.gauss(0, noise))))
        group = f"g{k // 2}" if groups else None
        items.append(Item(f"i{k}", {"response": text_of(level if words_say_it else 3, rng)}, group=group))
        results.append(score(f"i{k}", judged, group=group))
        labels.append(Label(f"i{k}", "clarity", "ann", level))
    view = view_of_results(results, by_criterion({"clarity": FIVE}))
    view = structs.replace(view, texts=attributes_and_texts(items, (), with_text([i.id for i in items]))[1])
    return judge_card(view, labels, n_resamples=100).criteria["clarity"]


def test_a_good_judge_beats_the_regression() -> None:
    card = card_of(0.3, words_say_it=False)
    assert card.baseline is not None
    assert card.baseline.judge > 0.8
    assert card.baseline.regression < 0.2
    assert (card.baseline.lead.low or 0) > 0.5
    assert not_beaten(card) == ""
    (_, line) = baseline_lines(card)
    assert line.startswith("A regression on words and length of the same 60 labels: variance of the labels")


def test_a_judge_that_adds_nothing_to_words_is_named() -> None:
    card = card_of(3.0, words_say_it=True)
    assert card.baseline is not None
    assert card.baseline.regression > card.baseline.judge
    warning = not_beaten(card)
    if (card.baseline.lead.high or 0.0) < 0:
        assert "A regression on words and length of 60 labels agrees better with people" in warning
    else:
        assert "not shown to agree better with people than a regression on words" in warning


def test_groups_are_left_out_together() -> None:
    card = card_of(0.3, words_say_it=False, groups=True)
    assert card.baseline is not None
    assert card.baseline.lead.unit == "group (n=30)"


@pytest.mark.parametrize("n", [5, 19])
def test_few_labels_have_no_baseline(n: int) -> None:
    assert card_of(0.3, words_say_it=True, n=n).baseline is None


def test_without_texts_there_is_no_baseline() -> None:
    labels = [Label(f"i{k}", "clarity", "ann", float(1 + k % 5)) for k in range(40)]
    view = view_of_results(
        [score(f"i{k}", float(1 + k % 5)) for k in range(40)], by_criterion({"clarity": FIVE})
    )
    assert judge_card(view, labels, n_resamples=100).criteria["clarity"].baseline is None


def test_pairs_are_compared_by_their_choices() -> None:
    """The longer response wins: length alone predicts it."""
    rng = random.Random(5)
    items, results, labels = [], [], []
    for k in range(60):
        lengths = rng.sample(range(10, 300), 2)
        items.append(Item(f"i{k}", {"response_a": "x" * lengths[0], "response_b": "y" * lengths[1]}))
        results.append(choice(f"i{k}", rng.choice("ab")))
        labels.append(Label(f"i{k}", results[-1].criterion, "ann", "a" if lengths[0] > lengths[1] else "b"))
    view = view_of_results(results, {})
    view = structs.replace(view, texts=attributes_and_texts(items, (), with_text([i.id for i in items]))[1])
    (card,) = judge_card(view, labels, n_resamples=100).criteria.values()
    assert card.baseline is not None
    assert card.baseline.regression > 0.8
    assert card.baseline.judge < 0.7


def test_of_many_labels_the_same_texts_are_kept_whatever_their_order() -> None:
    ids = [f"item {k}" for k in range(3000)]
    assert len(with_text(ids)) == MOST_TEXTS
    assert with_text(ids) == with_text(list(reversed(ids)))

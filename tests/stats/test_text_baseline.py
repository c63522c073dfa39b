"""Labels predicted from words and length, without a judge."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.stats.text_baseline import FEWEST, _features, _held_out, text_baseline

GOOD, BAD, OTHER = ["clear", "kind", "exact"], ["rude", "vague", "wrong"], ["the", "a", "answer", "is", "now"]


def texts_and_labels(n: int, seed: int = 1) -> tuple[list[str], list[float]]:
    """Good words raise the label, bad ones lower it."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        level = int(rng.integers(1, 6))
        words = [*rng.choice(GOOD, level), *rng.choice(BAD, 6 - level), *rng.choice(OTHER, 6)]
        texts.append(" ".join(rng.permutation(words).tolist()))
        labels.append(float(level))
    return texts, labels


def test_words_that_go_with_the_label_predict_it() -> None:
    texts, labels = texts_and_labels(200)
    predicted = text_baseline(texts, labels)
    assert predicted is not None
    assert np.corrcoef(np.array(predicted, dtype=float), labels)[0, 1] > 0.8


@pytest.mark.slow
def test_labels_that_have_nothing_to_do_with_the_text_are_not_predicted() -> None:
    texts, labels = texts_and_labels(200)
    found = []
    for seed in range(10):
        shuffled = np.random.default_rng(seed).permutation(labels)
        predicted = text_baseline(texts, shuffled.tolist())
        assert predicted is not None
        found.append(np.corrcoef(np.array(predicted, dtype=float), shuffled)[0, 1])
    assert np.mean(found) < 0.05


def test_length_alone_is_used() -> None:
    rng = np.random.default_rng(3)
    lengths = rng.integers(5, 400, 120)
    predicted = text_baseline(["x" * int(n) for n in lengths], np.log(lengths).tolist())
    assert predicted is not None
    assert np.corrcoef(np.array(predicted, dtype=float), np.log(lengths))[0, 1] > 0.95


def test_items_of_one_group_never_predict_each_other() -> None:
    """Each text is there twice with its label, which says nothing about the others."""
    rng = np.random.default_rng(4)
    texts = ["".join(rng.choice(list("abcdefghijklmnop"), 8).tolist()) for _ in range(60)] * 2
    labels = rng.normal(size=60).tolist() * 2
    alone = text_baseline(texts, labels)
    grouped = text_baseline(texts, labels, clusters=[place % 60 for place in range(120)])
    assert alone is not None
    assert grouped is not None
    assert np.corrcoef(np.array(alone, dtype=float), labels)[0, 1] > 0.3
    assert np.corrcoef(np.array(grouped, dtype=float), labels)[0, 1] < 0.3


def test_pairs_are_predicted_by_the_difference_of_their_texts() -> None:
    texts, labels = texts_and_labels(300)
    first, second = texts[:150], texts[150:]
    wins = [1.0 if a > b else 0.0 if a < b else 0.5 for a, b in zip(labels[:150], labels[150:], strict=True)]
    predicted = text_baseline(first, wins, against=second)
    assert predicted is not None
    assert np.corrcoef(np.array(predicted, dtype=float), wins)[0, 1] > 0.7


def test_few_labels_and_equal_labels_have_no_baseline() -> None:
    texts, labels = texts_and_labels(FEWEST + 1)
    assert text_baseline(texts, [*labels[: FEWEST - 1], None, None]) is None
    assert text_baseline(texts, [3.0] * len(texts)) is None
    predicted = text_baseline(texts, [*labels[:FEWEST], None])
    assert predicted is not None
    assert predicted[-1] is None


def test_each_prediction_is_that_of_a_ridge_without_its_group() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(50, 7))
    y = x[:, 0] + rng.normal(0, 0.5, 50)
    groups = np.arange(50) // 3
    around = x - x.mean(axis=0)
    size = float(np.trace(around @ around.T)) / len(x)

    def without(place: int, strength: float) -> float:
        kept = groups != groups[place]
        middle, mean = x[kept].mean(axis=0), y[kept].mean()
        centred = x[kept] - middle
        slopes = np.linalg.solve(
            centred.T @ centred + strength * size * np.eye(7), centred.T @ (y[kept] - mean)
        )
        return float(mean + (x[place] - middle) @ slopes)

    found = _held_out(x, y, groups)
    expected = [[without(place, strength) for place in range(50)] for strength in (0.01, 0.1, 1, 10, 100)]
    assert min(np.abs(found - one).max() for one in expected) < 1e-8


def test_words_of_languages_without_spaces_are_characters() -> None:
    rows = _features([["很好", "不好", "good answer", "good try"]])
    assert rows.shape[1] == 3

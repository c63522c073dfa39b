"""What a check of the reader by hand does to a card: every number becomes as uncertain as its readings."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adjudge.analysis.trust.card import Card, CriterionCard
from adjudge.analysis.trust.trust import with_checked
from adjudge.records import Estimate, Label
from judged import FIVE, choice, score
from views import judge_card

N = 60


@pytest.fixture(scope="module")
def card() -> Card:
    rng = random.Random(4)
    results, labels = [], []
    for k in range(N):
        truth = rng.choice([2, 3, 4])
        value = float(truth + rng.choice([0, 0, 1]))
        about = {"criterion": "tact", "model": "judge", "n_samples": 1, "confidence": 0.8}
        results.append(score(f"i{k}", value, "AB"[k % 2], f"g{k // 2}", **about))
        labels += [Label(f"i{k}", "tact", rater, float(truth + rng.choice([-1, 0, 0]))) for rater in "xy"]
    return judge_card(results, labels, scales={"tact": FIVE}, n_resamples=200)


def checked(path: Path, n_wrong: int, n: int, **columns: Any) -> Path:
    rows = [
        {"item": f"i{k}", "reply": f"r{k}", "right": "no" if k < n_wrong else "yes", **columns}
        for k in range(n)
    ]
    path.write_bytes(b"\n".join(msgspec.json.encode(row) for row in rows))
    return path


def only(card: Card) -> CriterionCard:
    return card.criteria["tact"]


def width(estimate: Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


def test_a_mean_is_widened_by_the_bound_times_the_width_of_the_scale(card: Card, tmp_path: Path) -> None:
    wider = with_checked(card, checked(tmp_path / "c.jsonl", 0, 60))
    assert wider.misread is not None
    upper = wider.misread.high or 0
    # Wilson for 0 of 60: z² / (n + z²).
    assert upper == pytest.approx(1.959964**2 / (60 + 1.959964**2), abs=1e-6)
    before, after = only(card).bias, only(wider).bias
    assert (after.low, after.high) == (
        pytest.approx((before.low or 0) - 4 * upper),
        pytest.approx((before.high or 0) + 4 * upper),
    )
    assert after.value == before.value
    assert "misread" in after.method
    alone = only(wider).corrected["A"].judge_only
    assert width(alone) > width(only(card).corrected["A"].judge_only)


def test_no_interval_leaves_its_scale(card: Card, tmp_path: Path) -> None:
    wider = only(with_checked(card, checked(tmp_path / "c.jsonl", 9, 10)))
    alone = wider.corrected["A"].judge_only
    assert (alone.low, alone.high) == (1, 5)
    exact, spearman = wider.item["exact"], wider.item["spearman"]
    assert (exact.low, exact.high) == (0, 1)
    assert spearman.high == 1
    assert wider.quality.failures["A"].bounds is not None
    assert (wider.quality.failures["A"].bounds.low, wider.quality.failures["A"].bounds.high) == (1, 5)


def test_shares_move_by_the_bound_and_pairs_of_items_by_twice_of_it(card: Card, tmp_path: Path) -> None:
    wider = with_checked(card, checked(tmp_path / "c.jsonl", 1, 200))
    upper = (wider.misread or card.misread or Estimate(0, 0, 0, 0)).high or 0
    exact, pairs = only(wider).item["exact"], only(wider).pairwise
    assert width(exact) == pytest.approx(width(only(card).item["exact"]) + 2 * upper)
    before = only(card).pairwise
    assert pairs is not None
    assert before is not None
    assert width(pairs.plain) == pytest.approx(width(before.plain) + 4 * upper)


def test_a_coefficient_may_be_larger_or_smaller_by_what_was_unrelated(card: Card, tmp_path: Path) -> None:
    """Of unrelated readings a share e leaves 1 - e of a correlation: checked by making such readings."""
    wider = with_checked(card, checked(tmp_path / "c.jsonl", 3, 60))
    upper = (wider.misread or card.misread or Estimate(0, 0, 0, 0)).high or 0
    before, after = only(card).item["pearson"], only(wider).item["pearson"]
    assert after.low == pytest.approx((before.low or 0) * (1 - upper))
    assert after.high == pytest.approx(min(1, (before.high or 0) / (1 - upper)))
    rng = random.Random(1)
    truth = [rng.gauss(0, 1) for _ in range(20_000)]
    judge = [value + rng.gauss(0, 1) for value in truth]
    shuffled = rng.sample(judge, len(judge))
    misread = [other if rng.random() < 0.2 else score for score, other in zip(judge, shuffled, strict=True)]
    assert _pearson(misread, truth) == pytest.approx(0.8 * _pearson(judge, truth), abs=0.02)


def _pearson(x: list[float], y: list[float]) -> float:
    from scipy.stats import pearsonr

    return float(pearsonr(x, y).statistic)


def test_what_labels_correct_and_what_people_said_is_not_widened(card: Card, tmp_path: Path) -> None:
    wider = only(with_checked(card, checked(tmp_path / "c.jsonl", 3, 60)))
    before = only(card)
    for name, mean in wider.corrected.items():
        assert (mean.low, mean.high) == (before.corrected[name].low, before.corrected[name].high)
        assert mean.labels_only == before.corrected[name].labels_only
    assert wider.ceiling is not None
    assert before.ceiling is not None
    assert (wider.ceiling.low, wider.ceiling.high) == (before.ceiling.low, before.ceiling.high)
    assert width(wider.ceiling.judge) > width(before.ceiling.judge)
    assert wider.alt_test is not None
    assert before.alt_test is not None
    assert len(wider.alt_test.cautions) == len(before.alt_test.cautions) + 1


def test_every_estimate_that_rests_on_readings_says_so(card: Card, tmp_path: Path) -> None:
    wider = only(with_checked(card, checked(tmp_path / "c.jsonl", 2, 60)))
    assert wider.pairwise is not None
    assert wider.confidence is not None
    stated = [
        *wider.item.values(), *wider.group.values(), *wider.system.values(), *wider.corrected.values(),
        *wider.differences.values(), *wider.calibration.values(), wider.bias, wider.pairwise.held_out,
        wider.confidence.error, *(failure.failed for failure in wider.quality.failures.values()),
    ]  # fmt: skip
    for estimate in stated:
        assert estimate.value is None or "misread" in estimate.method, estimate


def test_the_sentences_are_written_from_the_widened_numbers(card: Card, tmp_path: Path) -> None:
    wider = with_checked(card, checked(tmp_path / "c.jsonl", 3, 10))
    assert (only(card).bias.low or 0) > 0 > (only(wider).bias.low or 0)
    assert only(card).sentences[1] != only(wider).sentences[1] == wider.summary[1]
    assert len(wider.notes) == len(card.notes) + 1


def test_several_readings_of_one_reply_count_as_one_observation(tmp_path: Path) -> None:
    from adjudge.analysis.trust.misread import misread_share

    single = misread_share(checked(tmp_path / "one.jsonl", 3, 30))
    path = tmp_path / "five.jsonl"
    path.write_bytes(b"\n".join([(tmp_path / "one.jsonl").read_bytes()] * 5))
    five = misread_share(path)
    assert five.n == 150
    assert five.unit == "reply (n=30)"
    assert (five.value, five.low, five.high) == (single.value, single.low, single.high)


def test_two_judges_differ_only_as_far_as_the_readings_allow(tmp_path: Path) -> None:
    rng = random.Random(2)
    results, labels = [], []
    for k in range(200):
        truth = rng.choice("ab")
        for model, right in (("good", 0.9), ("fair", 0.7)):
            winner: Any = truth if rng.random() < right else "ab".replace(truth, "")
            results.append(choice(f"i{k}", winner, model=model))
        labels.append(Label(f"i{k}", "overall", "ann", truth))
    before = judge_card(results, labels)
    after = with_checked(before, checked(tmp_path / "c.jsonl", 3, 10))
    lows = [card.judges[0].result.difference.low or 0 for card in (before, after)]
    assert lows[0] > 0 > lows[1]
    assert before.summary[-1] == before.judges[0].sentence

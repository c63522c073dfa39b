"""A cascade's promise, and a tuning's claims, over many draws of labels on recorded judges."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import promises_cascade
import promises_tune

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (DATA / "tuning.jsonl.gz").exists(), reason="the recorded judges are not here"),
]

DRAWS = 1000


def most(rate: float, draws: int) -> float:
    return rate + 2 * math.sqrt(rate * (1 - rate) / draws)


@pytest.mark.parametrize(
    ("target", "n_labels", "least"),
    [(0.93, 200, 0.82), (0.93, 500, 0.89), (0.95, 200, 0.68), (0.95, 500, 0.8)],
)
def test_a_small_and_a_large_model_keep_the_promise_and_decide_much(
    target: float, n_labels: int, least: float
) -> None:
    judges = promises_cascade.tuning_judges(("base/gpt-mini", "base/gpt-full"))
    outcome = promises_cascade.simulate(judges, target, n_labels, DRAWS)
    assert outcome.missed <= most(promises_cascade.RISK, DRAWS)
    assert outcome.decided >= least


@pytest.mark.parametrize(
    ("judges", "least"), [((0, 1, 2), 0.72), ((0, 2), 0.7), ((0, 1), 0.62), ((1, 2), 0.62)]
)
def test_overconfident_judges_keep_the_promise_on_the_other_half_and_decide_much(
    judges: tuple[int, ...], least: float
) -> None:
    names = [promises_cascade.EVERYONE[at] for at in judges]
    outcome = promises_cascade.simulate(promises_cascade.recorded_judges(names), 0.8, 100, DRAWS, whole=False)
    assert outcome.missed <= most(promises_cascade.RISK, DRAWS)
    assert outcome.decided >= least


def test_groups_keep_the_promise() -> None:
    judges = promises_cascade.tuning_judges(("base/gpt-mini", "base/gpt-full"))
    groups = [item // 4 for item in range(len(judges.agrees[0]))]
    outcome = promises_cascade.simulate(judges, 0.93, 500, DRAWS // 4, groups=groups)
    assert outcome.missed <= most(promises_cascade.RISK, DRAWS // 4)
    assert outcome.decided > 0.8


@pytest.mark.parametrize(("n_labels", "looks"), [(100, 1), (200, 1), (400, 1), (200, 5)])
def test_nothing_better_is_rarely_claimed_also_after_five_looks(n_labels: int, looks: int) -> None:
    data = promises_tune.candidates((8,))
    best = max(data.agreement, key=data.agreement.get)
    assert promises_tune.simulate(data, best, n_labels, DRAWS // looks, looks=looks).claimed <= 0.025


def test_a_real_gain_is_claimed_as_often_as_by_an_exact_test_on_the_locked_part() -> None:
    data = promises_tune.candidates((1, 8), ("base/gpt-full", "cal-high/gpt-full"))
    rates = promises_tune.simulate(data, "base/gpt-full k=1", 400, DRAWS // 2)
    assert rates.claimed >= 0.9 * rates.exact
    assert rates.exact > 0.5

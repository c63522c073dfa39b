"""Drift: no false alarm over many looks, and a shift that is found."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.stats.drift import drift


def looks(
    rng: np.random.Generator, n: int, k: int, shift: float = 0.0
) -> tuple[list[float], list[list[float]]]:
    truth = rng.normal(3, 0.7, n)
    stored = (truth + rng.normal(0, 0.5, n)).tolist()
    return stored, [(truth + shift + rng.normal(0, 0.5, n)).tolist() for _ in range(k)]


@pytest.mark.slow
def test_a_judge_that_does_not_change_raises_few_alarms_over_fifty_looks() -> None:
    rng = np.random.default_rng(3)
    alarms = sum(
        any(look.verdict == "changed" for look in drift(*looks(rng, 60, 50), margin=0.2)) for _ in range(100)
    )
    assert alarms <= 10


def test_a_shift_is_found() -> None:
    found = drift(*looks(np.random.default_rng(1), 200, 3, shift=0.3), margin=0.2)
    assert found[-1].verdict == "changed"


def test_many_items_show_that_nothing_changed() -> None:
    found = drift(*looks(np.random.default_rng(2), 2000, 1), margin=0.2)
    assert found[0].verdict == "not changed"


def test_few_items_are_not_enough_evidence() -> None:
    found = drift(*looks(np.random.default_rng(2), 5, 1), margin=0.2)
    assert found[0].verdict == "not enough evidence"
    assert "fewer than 10" in found[0].latest.reason


def test_a_failed_item_is_left_out_and_counted() -> None:
    stored, fresh = looks(np.random.default_rng(2), 50, 1)
    found = drift([None, *stored[1:]], fresh, margin=0.2)
    assert (found[0].latest.n, found[0].latest.n_failed) == (49, 1)


def test_items_that_fail_at_a_look_alone_could_hide_a_change() -> None:
    stored, (fresh, *_) = looks(np.random.default_rng(2), 2000, 1)
    failing = [None if n % 10 == 0 else value for n, value in enumerate(fresh)]
    assert drift(stored, [fresh], margin=0.2, reach=4.0)[0].verdict == "not changed"
    assert drift(stored, [failing], margin=0.2, reach=4.0)[0].verdict == "not enough evidence"
    without = [None if n % 10 == 0 else value for n, value in enumerate(stored)]
    assert drift(without, [failing], margin=0.2, reach=4.0)[0].verdict == "not changed"


def test_criteria_and_judges_share_the_false_alarms() -> None:
    stored, fresh = looks(np.random.default_rng(1), 60, 3)
    alone, shared = drift(stored, fresh, 0.2), drift(stored, fresh, 0.2, n_tests=4)
    assert [look.alpha for look in shared] == pytest.approx([look.alpha / 4 for look in alone])
    assert all((b.latest.low or 0) < (a.latest.low or 0) for a, b in zip(alone, shared, strict=True))

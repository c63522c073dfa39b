"""The gate on simulated pairs of runs: how often it sees a
real drop, and how often it sees one that is not there.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from adjudge.analysis.gate.decision import decision_by_values
from adjudge.analysis.gate.not_enough_evidence import detectable_distance, outcome_of
from adjudge.stats import minimum_detectable
from judged import judged_run
from running import adjudge


def pair_of_runs(
    rng: np.random.Generator, n: int, per_group: int, drop: float
) -> tuple[list[float], list[float], list[int]]:
    """Scores of the same items before and after a change; items of one group change alike to some degree."""
    groups = np.repeat(np.arange(n // per_group), per_group)
    hard = rng.normal(0, 0.7, n)
    before = 3.4 + hard + rng.normal(0, 0.6, n)
    after = 3.4 + hard + rng.normal(0, 0.6, n) - drop
    if per_group > 1:
        after += rng.normal(0, 0.4, n // per_group)[groups]
    return before.tolist(), after.tolist(), groups.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "per_group", "allowed"), [(60, 1, 0.0), (60, 1, 0.2), (120, 3, 0.1)])
def test_a_drop_of_the_size_it_claims_to_see_is_caught_and_none_is_made_up(
    n: int, per_group: int, allowed: float
) -> None:
    rng, n_runs = np.random.default_rng(11), 2000
    n_units = n // per_group
    sd = math.sqrt(2 * 0.6**2 / per_group + (0.4**2 if per_group > 1 else 0.0))
    size = minimum_detectable(n_units, sd, is_paired=True)
    assert size is not None
    outcomes: dict[str, list[str]] = {"none": [], "real": []}
    claimed: list[float] = []
    for name, drop in (("none", allowed), ("real", allowed + size)):
        for _ in range(n_runs):
            before, after, groups = pair_of_runs(rng, n, per_group, drop)
            apart = [new - old for old, new in zip(before, after, strict=True)]
            clusters = groups if per_group > 1 else None
            decision = decision_by_values(apart, clusters, None, -allowed, 1)
            outcomes[name].append(outcome_of(decision))
            if len(claimed) < 100:
                claimed.append(detectable_distance(apart, clusters, -allowed, None) or 0.0)
    assert np.mean(claimed) == pytest.approx(size, rel=0.03)
    # At the very edge of what is allowed it must not fail more often than once in twenty (it aims at one in
    # forty).
    false = outcomes["none"].count("worse")
    assert binomtest(false, n_runs, 0.05, alternative="greater").pvalue > 0.5, false / n_runs
    caught = outcomes["real"].count("worse")
    assert binomtest(caught, n_runs, 0.8, alternative="less").pvalue > 0.05, caught / n_runs


@pytest.mark.slow
def test_the_command_catches_a_drop_and_lets_an_unchanged_system_be(tmp_path: Path) -> None:
    rng, n_runs, n = np.random.default_rng(5), 120, 60
    sd = math.sqrt(2 * 0.6**2 + 2 / 12)
    size = minimum_detectable(n, sd, is_paired=True)
    assert size is not None
    # The bound counts one more item, as much better as the scale allows: the baseline's mean is 3.4.
    size += (5 - 3.4 + size) / (n + 1)
    codes: dict[float, list[int]] = {0.0: [], size: []}
    for drop, exit_codes in codes.items():
        for k in range(n_runs):
            folder = tmp_path / f"{drop:.3f}-{k}"
            folder.mkdir()
            before, after, _ = pair_of_runs(rng, n, 1, drop)
            for name, values in (("main", before), ("run", after)):
                judged_run(folder, name, {"x": np.clip(np.round(values), 1, 5).tolist()}, is_grouped=False)
            done = adjudge(
                "gate", "run", "--max-drop", "tact=0", "--baseline", "main", "--store", folder / "adjudge.db"
            )
            exit_codes.append(done.code)
    assert codes[0.0].count(1) <= 0.05 * n_runs
    assert binomtest(codes[size].count(1), n_runs, 0.8, alternative="less").pvalue > 0.05, codes[size]
    assert set(codes[0.0]) | set(codes[size]) <= {0, 1, 3}

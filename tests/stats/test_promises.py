"""The promises of `bench/promises.py`, each in a few hundred simulated worlds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from promises import Check, all_checks

WORLDS = 400


@pytest.mark.slow
@pytest.mark.parametrize("check", list(all_checks()), ids=lambda check: f"{check.subject}: {check.design}")
def test_simulations_keep_what_is_promised(check: Check) -> None:
    assert check.holds(check.run(WORLDS, 2), WORLDS)

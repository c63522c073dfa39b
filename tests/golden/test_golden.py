"""Every command says today what it said when its golden files were made; see README.md beside this file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from make import HERE, SCENARIOS, differences, made


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_outputs_are_those_of_the_golden_files(scenario: str, tmp_path: Path) -> None:
    differing = differences(scenario, made(scenario, tmp_path))
    assert not differing, f"\n{differing}\n\nIf this is meant: python tests/golden/make.py {scenario}"


def test_there_is_a_folder_for_each_scenario_and_no_other() -> None:
    assert {path.name for path in HERE.iterdir() if (path / "exits.txt").exists()} == set(SCENARIOS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_outputs_do_not_depend_on_the_seed_of_hashes(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "make.py"), "--check"],
        env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr

"""The figures of the embedded judge, measured again: minutes of work, for `make proof-local`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adjudge.models.local.weights import SMOLLM2

BENCH = Path(__file__).parents[1] / "bench"


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    if not SMOLLM2.path.exists():
        pytest.skip("the weights are not in the cache (adjudge models pull smollm2-135m)")
    command = [sys.executable, str(BENCH / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.embedded
def test_shared_beginnings_loading_and_memory_are_as_promised() -> None:
    done = run("local.py")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.embedded
def test_likelihoods_agree_with_people_as_far_as_was_measured(shared: Path, tmp_path: Path) -> None:
    done = run(
        "quality.py", "--limit", "12", "--data", str(shared / "data"), "--store", str(tmp_path / "q.db")
    )
    assert done.returncode == 0, done.stdout + done.stderr

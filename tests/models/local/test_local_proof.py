"""The figures of the embedded judge, measured again. The short ones belong to `make proof`; the rest to `make
proof-local`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import ModelError
from adjudge.models.local.weights import SMOLLM2, pull

BENCH = Path(__file__).parents[3] / "bench"


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    try:
        pull(SMOLLM2, lambda _text: None)
    except ModelError as error:
        pytest.skip(f"the weights cannot be had: {error}")
    command = [sys.executable, str(BENCH / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_on_a_few_documents_the_likelihood_goes_with_peoples_ratings(shared: Path, tmp_path: Path) -> None:
    done = run(
        "quality.py", "--limit", "2", "--sfres", "8", "--json", "--data", str(shared / "data"), "--store",
        str(tmp_path / "q.db")
    )  # fmt: skip
    figures: dict[str, Any] = json.loads(done.stdout)
    for name in ("coherence", "consistency"):
        value, _, _ = figures["summeval"][name][f"gptscore/{name}"]["overall"]
        assert figures["summeval"][name]["failed"] == 0
        assert value > 0.1, figures["summeval"][name]
    assert figures["sfres"]["naturalness"]["failed"] == 0
    assert figures["between_criteria"]["lowest"] > 0.95


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


@pytest.mark.embedded
def test_english_is_read_and_the_other_languages_are_measured(shared: Path) -> None:
    done = run("languages.py", "--data", str(shared / "data"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "English   8 of 8" in done.stdout

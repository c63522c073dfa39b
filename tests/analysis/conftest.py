"""What tests of several analyses share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from running import Outcome, adjudge


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """`adjudge gate` on the store of the test's own folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path, **environment: str) -> Outcome:
        return adjudge("gate", *arguments, "--store", tmp_path / "adjudge.db", **environment)

    return run

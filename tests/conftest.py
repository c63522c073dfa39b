"""What all tests share: the folder of real data, where there is one."""

from __future__ import annotations

import functools
import gzip
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import HealthCheck, settings

from thorough import tries

# Without bytecode every process that a test starts compiles the whole package again: half a second each.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The proxies of whoever runs the tests must not get the requests to the fake servers.
for _name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
    os.environ.pop(_name, None)
    os.environ.pop(_name.upper(), None)

# What the viewer keeps between two starts, and what a user has confirmed of run files, must not come from an
# earlier run of the tests, nor stay behind.
# The weights of the embedded judge are the user's: without them its tests would be skipped on every machine.
_CACHE = tempfile.TemporaryDirectory(prefix="adjudge-tests-")
_WEIGHTS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adjudge" / "models"
if _WEIGHTS.is_dir():
    (Path(_CACHE.name) / "adjudge").mkdir()
    (Path(_CACHE.name) / "adjudge" / "models").symlink_to(_WEIGHTS.resolve())
os.environ["XDG_CACHE_HOME"] = os.environ["XDG_DATA_HOME"] = _CACHE.name

# `main` rebuilds its parser at each call, which takes longer than most commands; here it is built once.
typer.main.get_command = functools.cache(typer.main.get_command)

# No property has a deadline: how long one example takes says more about the machine than about the code.
settings.register_profile(
    "project", max_examples=tries(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("project")

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real replies and labels beside the repository; tests that need it are skipped
    without."""
    if not SHARED.is_dir():
        pytest.skip("the real replies are not beside this repository (../shared)")
    return SHARED


@pytest.fixture(scope="session")
def real_rows(shared: Path) -> Callable[[str], list[dict[str, Any]]]:
    """The rows of one file of real data, by its name without suffixes."""

    def read(name: str) -> list[dict[str, Any]]:
        with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    return read


@pytest.fixture(scope="session")
def attacks(shared: Path) -> list[dict[str, str]]:
    """The attack cases, each with what the right behaviour is."""
    lines = (shared / "attacks.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="session")
def weights() -> Path:
    """The weights of the embedded judge; tests that need them are skipped without."""
    from adjudge.models.local.weights import SMOLLM2

    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    if not SMOLLM2.path.exists():
        pytest.skip("the weights are not in the cache (adjudge models pull smollm2-135m)")
    return SMOLLM2.path

"""The options of a run as keywords of Python functions, for editors and type checkers.

Each is declared in `options.py`, which says what it means and its default; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict

from ..records import Estimator, Rubric
from .options import EmptyPolicy, OrderPolicy


class JudgeKeywords(TypedDict, total=False):
    """The options of a run that say how one judge is asked."""

    samples: int
    estimator: Estimator | None
    rubric: Rubric | str | Path | Sequence[Rubric | str | Path] | None
    examples: str | Path | None
    criterion: str | Sequence[str] | Mapping[str, str]
    steps: Sequence[str] | Literal["generate"]
    step: float | None
    map: Mapping[str, str]
    transcript_tokens: int | None
    map_scores: str | Path | None
    order: OrderPolicy
    concurrency: int
    timeout: float | None
    rpm: float | None
    tpm: float | None
    budget: float | None
    price: tuple[float, float] | Mapping[str, tuple[float, float]] | None
    key_env: str | Mapping[str, str] | None
    temperature: float | None
    max_tokens: int | None
    more_room: bool
    reasoning_effort: str | None
    thinking_tokens: int | None
    seed: int | None
    reask: int
    patience: float
    empty: EmptyPolicy


class RunKeywords(JudgeKeywords, total=False):
    """All options of a run."""

    together: bool
    traces: str | None
    run: str | None
    replace: bool
    limit: int | None
    batch: bool
    wait: bool
    skip_bad: bool
    shard: str | None
    ray: str | None
    replicas: int | None
    store: str | Path | None

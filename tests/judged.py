"""Runs of recorded replies with known scores, for tests of `compare` and `gate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import adjudge
from running import EXAMPLES, write_rows

Scores = Mapping[str, Sequence[float | None]]


def judged_run(
    folder: Path, name: str, scores: Scores, *, text: str = "answer", is_grouped: bool = True, **options: Any
) -> str:
    """A run `name` in adjudge.db: item number k of a system has the k-th score; none is a reply without one."""
    items, replies = [], []
    for system, values in scores.items():
        for k, value in enumerate(values):
            item = f"{system}-{k}" if len(scores) > 1 else f"q{k}"
            group = {"group": f"g{k}"} if is_grouped else {}
            fields = {"instruction": f"Question {k}?", "response": f"{text} {k}."}
            items.append({"id": item, "system": system, **group, **fields})
            told = "I cannot say." if value is None else f"So be it. [RESULT] {value:g}"
            replies.append({"item": item, "text": told})
    file = write_rows(folder / f"{name}.replies.jsonl", replies)
    settings = {"protocol": "prometheus/direct", "rubric": EXAMPLES / "tact.toml", "model": f"replay:{file}"}
    adjudge.run(items, **{**settings, **options}, run=name, store=folder / "adjudge.db")
    return name


def cycle(values: Sequence[float | None], n: int) -> list[float | None]:
    """So many values, one after the other, over and over."""
    return [values[k % len(values)] for k in range(n)]

"""Results with known scores and choices, and runs of recorded replies with known scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import adjudge
from adjudge.records import Choice, Result, Scale
from running import EXAMPLES, as_id, write_rows

Scores = Mapping[str, Sequence[float | None]]

FIVE = Scale(1.0, 5.0, 5.0, 1.0)


def score(
    item: str, value: float | None, system: str = "all", group: str | None = None, **fields: Any
) -> Result:
    """A judge's score of an item; without a value the reply could not be read."""
    status = "ok" if value is not None else "unparsed"
    common = {"protocol": "p@1", "criterion": "clarity", "model": "m", "status": status}
    return Result(item=item, value=value, system=system, group=group, **{**common, **fields})


def choice(
    item: str, chosen: Choice | None, a: str | None = "x", b: str | None = "y", **fields: Any
) -> Result:
    """A judge's choice between the responses of two systems; none where the reply could not be read."""
    common = {
        "protocol": "p@1",
        "criterion": "overall",
        "model": "m",
        "status": "ok" if chosen else "unparsed",
    }
    return Result(item=item, choice=chosen, system_a=a, system_b=b, **{**common, **fields})


def numbers_in(value: Any) -> list[float]:
    """All numbers with a fraction in what was decoded or made of JSON."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [number for part in value for number in numbers_in(part)]
    return [value] if isinstance(value, float) else []


def judged_run(
    folder: Path, name: str, scores: Scores, *, text: str = "answer", is_grouped: bool = True, **options: Any
) -> str:
    """A run `name` in adjudge.db: item number k of a system has the k-th score; none is a reply without
    one."""
    items, replies = [], []
    for system, values in scores.items():
        for k, value in enumerate(values):
            item = as_id(f"{system}-{k}" if len(scores) > 1 else f"q{k}")
            group = {"group": f"g{k}"} if is_grouped else {}
            fields = {"instruction": f"Question {k}?", "response": f"{text} {k}."}
            items.append({"id": item, "system": system, **group, **fields})
            reply = "I cannot say." if value is None else f"So be it. [RESULT] {value:g}"
            replies.append({"item": item, "text": reply})
    file = write_rows(folder / f"{name}.replies.jsonl", replies)
    settings = {"protocol": "prometheus/direct", "rubric": EXAMPLES / "tact.toml", "model": f"replay:{file}"}
    adjudge.run(items, **{**settings, **options}, run=name, store=folder / "adjudge.db")
    return name


def cycle(values: Sequence[float | None], n: int) -> list[float | None]:
    """So many values, one after the other, over and over."""
    return [values[k % len(values)] for k in range(n)]

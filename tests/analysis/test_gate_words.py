"""The sentences of a gate that the golden outputs do not show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from judged import cycle, judged_run
from running import Outcome, write_rows


def test_what_a_decision_leaves_open_is_said(tmp_path: Path, gate: Callable[..., Outcome]) -> None:
    judged_run(tmp_path, "run", {"x": [None] * 20 + cycle([4, 4, 4, 5], 100)})
    labels = write_rows(tmp_path / "l.jsonl", [{"item": "q1", "criterion": "wit", "rater": "r", "value": 3}])
    printed = " ".join(
        gate("run", "--min", "tact=4.1", "--max-failed", "20%", "--labels", labels).out.split()
    )
    assert "so it could be on the other side of the threshold" in printed
    assert "No label matches tact: the judge's scores alone decide." in printed

"""The sentences of a gate that the golden outputs do not show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from judged import cycle, judged_run
from running import Outcome, write_rows


def test_what_a_decision_leaves_open_is_said(tmp_path: Path, gate: Callable[..., Outcome]) -> None:
    judged_run(tmp_path, "run", {"x": [None] * 20 + cycle([4, 4, 4, 5], 100)})
    printed = " ".join(gate("run", "--min", "tact=4.1", "--max-failed", "20%").out.split())
    assert "so it could be on the other side of the threshold" in printed


def test_labels_of_which_none_matches_are_a_mistake(tmp_path: Path, gate: Callable[..., Outcome]) -> None:
    judged_run(tmp_path, "run", {"x": cycle([4, 4, 4, 5], 100)})
    for number, (item, criterion) in enumerate((("q1", "wit"), ("elsewhere", "tact"))):
        row = {"item": item, "criterion": criterion, "rater": "r", "value": 3}
        labels = write_rows(tmp_path / f"{number}.jsonl", [row])
        done = gate("run", "--min", "tact=2", "--labels", labels)
        assert done.code == 2
        assert "No label matches tact" in done.err

"""Judging other items as those of a run were judged: no setting of the run is lost."""

from __future__ import annotations

from pathlib import Path

from adjudge.results.manifest import settings_to_judge_alike
from adjudge.run_options.options import RunOptions
from adjudge.run_options.recorded import recorded_settings
from adjudge.store import open_store
from running import DIRECT, EXAMPLES, adjudge

FLAGS = (
    "--samples", "3", "--order", "given", "--temperature", "0.5", "--max-tokens", "300", "--more-room",
    "--reasoning-effort", "high", "--seed", "7", "--reask", "2", "--empty", "fail", "--limit", "2",
)  # fmt: skip


def test_every_setting_of_a_run_but_its_items_and_steps_judges_others_alike(tmp_path: Path) -> None:
    store = tmp_path / "adjudge.db"
    judge = ("-m", "fake:text=[RESULT] 4", "--run", "first", "--store", store)
    adjudge("run", EXAMPLES / "answers.jsonl", *DIRECT, *FLAGS, *judge)
    with open_store(store, write=False) as opened:
        run = opened.run("first")
    alike = recorded_settings(RunOptions(**settings_to_judge_alike(run)))
    assert alike == {**run.manifest["settings"], "limit": None}
    assert alike != {**recorded_settings(RunOptions()), "limit": None}, "the flags were recorded"

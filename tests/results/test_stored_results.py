"""The table `results` holds what combining the judgments gives, whatever happened to either of them
before."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from adjudge.records import Judgment
from adjudge.results import combine, disagreement
from adjudge.results.stored_results import bring_up_to_date, results
from adjudge.store import open_store, rows
from adjudge.store.results import CannotStoreError, StoredItem
from running import adjudge
from stored import assert_stored_as_combined

N_ITEMS = 6


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run of two samples, some of which cannot be read, and a run of pairs in both orders."""
    folder = tmp_path_factory.mktemp("judged")
    items, pairs, replies = (folder / name for name in ("items.jsonl", "pairs.jsonl", "replies.jsonl"))
    numbers = range(N_ITEMS)
    items.write_text(
        "".join(
            json.dumps({"id": f"i{n}", "system": f"s{n % 2}", "instruction": "Greet.", "response": f"Hi {n}"})
            + "\n"
            for n in numbers
        )
    )
    pairs.write_text(
        "".join(
            json.dumps({"id": f"i{n}", "instruction": "Greet.", "response_a": f"Hi {n}", "response_b": "Go."})
            + "\n"
            for n in numbers
        )
    )
    said = [
        {
            "item": f"i{n}",
            "sample": sample,
            "text": f"Feedback: so. [RESULT] {1 + (n + sample) % 5}" if n else "?",
        }
        for n in numbers
        for sample in (0, 1)
    ]
    chosen = [
        {"item": f"i{n}", "order": order, "text": f"Both. [RESULT] {'AB'[n % 2]}"}
        for n in numbers
        for order in ("ab", "ba")
    ]
    replies.write_text("".join(json.dumps(row) + "\n" for row in said))
    (folder / "chosen.jsonl").write_text("".join(json.dumps(row) + "\n" for row in chosen))
    rubric = [
        "--rubric",
        Path(__file__).parents[2] / "examples" / "tact.toml",
        "--store",
        folder / "adjudge.db",
    ]
    for name, more in {
        "scores": [items, "-p", "prometheus/direct", "-m", f"replay:{replies}", "--samples", "2"],
        "pairs": [pairs, "-p", "prometheus/pairwise", "-m", f"replay:{folder / 'chosen.jsonl'}"],
    }.items():
        done = adjudge("run", *more, *rubric, "--run", name, "-q")
        assert done.code == 0, done.err
    return folder / "adjudge.db"


@pytest.fixture
def path(judged: Path, tmp_path: Path) -> Path:
    shutil.copy(judged, tmp_path / "s.db")
    return tmp_path / "s.db"


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def n_rows(path: Path, table: str = "results") -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def exported(path: Path, run: str = "scores") -> str:
    done = adjudge("export", run, "--store", path)
    assert done.code == 0, done.err
    return done.out


def test_what_is_stored_is_what_is_combined(path: Path) -> None:
    assert_stored_as_combined(path)
    assert n_rows(path) == 2 * N_ITEMS


CHANGES = ("judgment changed", "judgment deleted", "call failed", "call answered", "judgments replaced")


def make(what: str, path: Path, item: int) -> None:
    """One change of the judgments of an item, as a run, a merge or a repair may make it."""
    of_item = f"run = (SELECT id FROM runs WHERE name = 'scores') AND item = {item}"
    with closing(sqlite3.connect(path)) as connection:
        if what == "judgment changed":
            body = connection.execute(f"SELECT body FROM judgments WHERE {of_item} AND slot = 0").fetchone()
            if body is not None:
                judgment = msgspec.json.decode(rows.unpack(body[0]), type=Judgment)
                new = rows.judgment_columns(structs.replace(judgment, explanation="Read again."))
                connection.execute(
                    f"UPDATE judgments SET body = ?, checksum = ? WHERE {of_item} AND slot = 0", new
                )
        elif what == "judgment deleted":
            connection.execute(f"DELETE FROM judgments WHERE {of_item} AND slot = 1")
        elif what != "judgments replaced":
            kind = "timeout" if what == "call failed" else None
            connection.execute(
                f"UPDATE places SET error_kind = ?, error_message = '' WHERE {of_item} AND slot = 1", (kind,)
            )
            for row in connection.execute(
                f"SELECT {rows.PLACE_SEALED} FROM places WHERE {of_item}"
            ).fetchall():
                connection.execute(
                    f"UPDATE places SET checksum = ? WHERE {of_item} AND slot = ?",
                    (rows.checksum(row), row[2]),
                )
        connection.commit()
    if what == "judgments replaced":
        assert adjudge("reread", "scores", "--store", path).code == 0


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, N_ITEMS - 1), st.booleans()), max_size=6))
def test_after_any_changes_what_is_stored_is_what_is_combined(
    judged: Path, tmp_path: Path, changes: list[tuple[str, int, bool]]
) -> None:
    path = tmp_path / "changed.db"
    shutil.copy(judged, path)
    for what, item, is_read in changes:
        make(what, path, item)
        if is_read:
            assert_stored_as_combined(path)
    assert_stored_as_combined(path)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE results SET value = 5.0 WHERE seq = 2",
        "UPDATE results SET reading = 7",
        "DELETE FROM results WHERE seq = 3",
        "DELETE FROM results",
        "DELETE FROM result_items WHERE seq = 1",
        "UPDATE result_items SET n = 0",
        "UPDATE result_items SET texts = NULL",
        "DELETE FROM results WHERE seq = 3; UPDATE result_items SET n = 0 WHERE seq = 3",
        "UPDATE result_texts SET body = x'00'",
        "DROP TABLE results",
        "DROP TABLE result_items",
        "DROP TABLE result_texts",
        "DELETE FROM result_texts",
        "DELETE FROM result_sets",
        "UPDATE result_sets SET items = 1",
    ],
)
def test_damaged_or_dropped_results_are_made_again(path: Path, damage: str) -> None:
    before = exported(path)
    change(path, *damage.split("; "))
    assert exported(path) == before
    assert_stored_as_combined(path)
    assert exported(path) == before


def test_a_dropped_table_is_no_damage(path: Path, tmp_path: Path) -> None:
    before = exported(path)
    change(path, "DROP TABLE results", "DROP TABLE result_items", "DROP TABLE result_texts")
    assert adjudge("doctor", "--store", path).code == 0
    into = tmp_path / "into.db"
    assert adjudge("runs", "merge", path, "--store", into).code == 0
    assert exported(into) == before
    assert adjudge("runs", "delete", "scores", "--yes", "--store", path).code == 0
    assert_stored_as_combined(path)


def test_a_deleted_run_leaves_no_results(path: Path) -> None:
    assert_stored_as_combined(path)
    assert adjudge("runs", "delete", "scores", "--yes", "--store", path).code == 0
    assert n_rows(path) == N_ITEMS
    assert n_rows(path, "changed_items") == 0


def test_merging_stores_again_what_it_changes(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    shutil.copy(path, other)
    for table in ("judgments", "places"):
        change(path, f"DELETE FROM {table} WHERE item > 2")
    assert_stored_as_combined(path)
    assert adjudge("runs", "merge", other, "--store", path).code == 0
    assert_stored_as_combined(path)
    assert exported(path) == exported(other)


def test_results_of_another_version_of_combine_are_made_again(path: Path) -> None:
    before = exported(path)
    change(path, "UPDATE result_sets SET version = 0", "UPDATE results SET value = 0.5, version = 0")
    assert exported(path) == before


SOURCE = (1, "9c564512be440919")
"""the version of `combine`, and a digest of its code"""


def test_code_that_combines_otherwise_has_another_version() -> None:
    """Where this fails: raise VERSION in combine.py if the change can change a result; then note the new
    digest."""
    code = "\n".join(code_lines(inspect.getsource(module)) for module in (combine, disagreement))
    assert (combine.VERSION, hashlib.sha256(code.encode()).hexdigest()[:16]) == SOURCE


def code_lines(source: str) -> str:
    """The lines of code, the same in every version of Python: no comments, docstrings, blanks or indents."""
    docs = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for number in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    lines = [line.strip() for number, line in enumerate(source.splitlines(), 1) if number not in docs]
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def test_a_store_that_cannot_be_written_is_combined_in_memory(path: Path) -> None:
    change(path, "DELETE FROM result_sets")
    with open_store(path, write=False) as store:
        run = store.run("scores")
        with closing(sqlite3.connect(path)) as other:
            expected = list(results(store, run))
            change(path, "DELETE FROM result_sets")
            other.execute("BEGIN IMMEDIATE")  # as a process that does not let go
            assert not bring_up_to_date(store, run)
            assert list(results(store, run)) == expected
            other.rollback()
        assert bring_up_to_date(store, run)


def test_one_that_stops_half_way_leaves_the_rest_to_the_next(path: Path) -> None:
    change(path, "DELETE FROM result_sets", "DELETE FROM results")
    with open_store(path, write=False) as store:
        run = store.run("scores")
        with store.writing_results(run, combine.VERSION) as writer:
            for _, _, stale in writer.pages():
                half = {seq: state for seq, state in stale.items() if seq < 2}
                writer.put(half, [StoredItem(seq, ()) for seq in half])
                break
    change(path, "DELETE FROM result_items WHERE seq < 2")
    assert_stored_as_combined(path)


def test_of_two_that_store_at_a_time_the_later_one_goes_on(path: Path) -> None:
    change(path, "DELETE FROM result_sets")
    with open_store(path, write=False) as earlier, open_store(path, write=False) as later:
        run = earlier.run("scores")
        with earlier.writing_results(run, combine.VERSION) as writer:
            assert bring_up_to_date(later, run)
            with pytest.raises(CannotStoreError):
                writer.finish()
    assert_stored_as_combined(path)

"""`adjudge pair`: pairs from the outputs of several systems, and what does not match."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from adjudge.data import ItemFile
from adjudge.data.pairs import make_pairs, pair_id
from adjudge.errors import DataError
from running import adjudge, read_rows, write_rows


def outputs(folder: Path, systems: str, n: int = 6, **fields: Any) -> list[Path]:
    """A file of outputs for each letter."""
    return [
        write_rows(
            folder / f"{name}.jsonl",
            (
                {"id": f"q{k}", "instruction": f"Question {k}?", "response": f"{name} on {k}", **fields}
                for k in range(n)
            ),
        )
        for name in systems
    ]


def test_two_files_become_pairs_that_a_run_can_read(tmp_path: Path) -> None:
    first_file, other = outputs(tmp_path, "xy")
    target = tmp_path / "pairs.jsonl"
    done = adjudge("pair", first_file, other, "-o", target)
    assert done.code == 0, done.err
    assert "6 pairs of 2 systems on 6 inputs" in done.err
    rows = read_rows(target)
    assert [row["id"] for row in rows] == [f"q{k}:x:y" for k in range(6)]
    for k, row in enumerate(rows):
        assert row["group"] == f"q{k}"
        assert row["instruction"] == f"Question {k}?"
        assert {row["system_a"], row["system_b"]} == {"x", "y"}
        assert row["response_a"] == f"{row['system_a']} on {k}"
        assert row["response_b"] == f"{row['system_b']} on {k}"
        assert "response" not in row
    assert Counter(row["system_a"] for row in rows) == {"x": 3, "y": 3}, "sides are dealt out evenly"
    assert ItemFile(target).check() == 6


def test_the_pairs_go_to_the_terminal_without_a_file(tmp_path: Path) -> None:
    done = adjudge("pair", *outputs(tmp_path, "xy", 2))
    assert [json.loads(line)["group"] for line in done.out.splitlines()] == ["q0", "q1"]


def test_the_same_seed_gives_the_same_pairs_and_another_one_others(tmp_path: Path) -> None:
    files = outputs(tmp_path, "vwxyz", 20)
    drawn = make_pairs(files, design="random", per_item=2, seed=1).rows
    assert make_pairs(files, design="random", per_item=2, seed=1).rows == drawn
    assert make_pairs(files, design="random", per_item=2, seed=2).rows != drawn


def test_the_designs_make_as_many_pairs_as_they_say(tmp_path: Path) -> None:
    files = outputs(tmp_path, "uvwxyz", 30)
    everything = make_pairs(files).rows
    assert len(everything) == 30 * 15
    ring = make_pairs(files, design="ring").rows
    assert len(ring) == 30 * 6
    for k in range(30):
        met = Counter(
            s for row in ring if row["group"] == f"q{k}" for s in (row["system_a"], row["system_b"])
        )
        assert set(met.values()) == {2}, "each system meets two others"
    assert len({tuple(sorted((row["system_a"], row["system_b"]))) for row in ring}) == 15, (
        "another ring for each input"
    )
    drawn = make_pairs(files, design="random", per_item=4).rows
    assert set(Counter(row["group"] for row in drawn).values()) == {4}
    for rows in (everything, ring, drawn):
        assert len({row["id"] for row in rows}) == len(rows)
    sides = Counter((row["system_a"], row["system_b"]) for row in everything)
    assert all(sides[first, other] == sides[other, first] for first, other in sides)


def test_ids_that_do_not_match_are_named_and_counted(tmp_path: Path) -> None:
    first_file = write_rows(
        tmp_path / "x.jsonl", ({"id": name, "response": "r"} for name in ("a", "b", "only-x"))
    )
    other = write_rows(tmp_path / "y.jsonl", ({"id": name, "response": "r"} for name in ("a", "b", "c")))
    third = write_rows(tmp_path / "z.jsonl", ({"id": name, "response": "r"} for name in ("b", "c")))
    target = tmp_path / "pairs.jsonl"
    done = adjudge("pair", first_file, other, third, "-o", target, "--json")
    assert done.code == 0, done.err
    assert done.json["pairs"] == len(read_rows(target)) == 1 + 3 + 1
    assert done.json["unmatched"] == {"x": ["only-x"]}
    assert done.json["missing"] == {"x": ["c"], "z": ["a"]}
    warnings = adjudge("pair", first_file, other, third, "-o", target).err
    assert "1 output of x has no counterpart: only-x" in warnings
    assert "z has no output for 1 id that others have: a" in warnings


def test_pairs_of_one_input_without_ids_are_one_group(tmp_path: Path) -> None:
    files = [
        write_rows(
            tmp_path / f"{name}.jsonl",
            ({"instruction": f"Question {k // 3}?", "response": f"{name} on {k}"} for k in range(9)),
        )
        for name in "xy"
    ]
    assert adjudge("pair", *files, "-o", tmp_path / "pairs.jsonl").code == 0
    rows = read_rows(tmp_path / "pairs.jsonl")
    assert len({row["id"] for row in rows}) == 9
    questions_by_group: dict[str, set[str]] = {}
    for row in rows:
        questions_by_group.setdefault(row["group"], set()).add(row["instruction"])
    assert [len(questions) for questions in questions_by_group.values()] == [1, 1, 1]


def test_nothing_in_common_is_an_error_that_shows_the_ids(tmp_path: Path) -> None:
    first_file = write_rows(tmp_path / "x.jsonl", [{"id": "x-1", "group": "g", "response": "r"}])
    other = write_rows(tmp_path / "y.jsonl", [{"id": "y-1", "group": "g", "response": "r"}])
    done = adjudge("pair", first_file, other, "-o", tmp_path / "pairs.jsonl")
    assert done.code == 2
    assert "x: 'x-1', y: 'y-1'" in done.err
    assert "--by group" in done.err
    assert not (tmp_path / "pairs.jsonl").exists()
    assert make_pairs([first_file, other], by="group").rows[0]["id"] == "g:x:y"


def test_one_file_with_several_systems_is_joined_by_group(tmp_path: Path) -> None:
    rows = [
        {"id": f"{k}-{name}", "group": f"q{k}", "system": name, "response": name}
        for k in range(3)
        for name in "xyz"
    ]
    paired = make_pairs([write_rows(tmp_path / "all.jsonl", rows)], by="group")
    assert len(paired.rows) == 9
    assert paired.systems == ("x", "y", "z")


@pytest.mark.parametrize("twice", ["one file", "two files"])
def test_an_output_that_is_there_twice_is_an_error(twice: str, tmp_path: Path) -> None:
    row = {"id": "q", "system": "x", "response": "r"}
    other = write_rows(tmp_path / "y.jsonl", [{"id": "q", "response": "r"}])
    if twice == "one file":
        files = [write_rows(tmp_path / "x.jsonl", [row, row]), other]
    else:
        files = [write_rows(tmp_path / "x.jsonl", [row]), write_rows(tmp_path / "again.jsonl", [row]), other]
    done = adjudge("pair", *files, "-o", tmp_path / "pairs.jsonl")
    assert done.code == 2
    assert "'q'" in done.err
    assert "already" in done.err


def test_fields_that_differ_are_left_out_and_named(tmp_path: Path) -> None:
    first_file = write_rows(
        tmp_path / "x.jsonl",
        [{"id": "q", "instruction": "I", "seconds": 1, "reference": "R", "response": "x"}],
    )
    other = write_rows(tmp_path / "y.jsonl", [{"id": "q", "instruction": "I", "seconds": 2, "response": "y"}])
    paired = make_pairs([first_file, other])
    assert paired.rows[0]["instruction"] == "I"
    assert paired.rows[0]["reference"] == "R", "a field that one of them has is no contradiction"
    assert "seconds" not in paired.rows[0]
    assert paired.differing == {"seconds": ("q",)}
    assert "field 'seconds' differs" in adjudge("pair", first_file, other).err


def test_another_field_can_hold_the_output(tmp_path: Path) -> None:
    files = [
        write_rows(tmp_path / f"{name}.jsonl", [{"id": "q", "summary": name, "response": "same"}])
        for name in "xy"
    ]
    row = make_pairs(files, field="summary").rows[0]
    assert {row["response_a"], row["response_b"]} == {"x", "y"}
    assert row["response"] == "same"
    done = adjudge("pair", *files, "--field", "sumary")
    assert done.code == 2
    assert "no field 'sumary'" in done.err
    assert "response, summary" in done.err


def test_csv_and_packed_files_are_read_like_any_other(tmp_path: Path) -> None:
    with (tmp_path / "x.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["id", "instruction", "response"], ["q1", "I", "from x"]])
    with gzip.open(tmp_path / "y.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps({"id": "q1", "instruction": "I", "response": "from y"}) + "\n")
    paired = make_pairs([tmp_path / "x.csv", tmp_path / "y.jsonl.gz"])
    assert paired.systems == ("x", "y")
    assert paired.differing == {}


def test_a_transcript_stays_one(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    files = [
        write_rows(tmp_path / f"{name}.jsonl", [{"id": "q", "talk": chat, "response": chat}]) for name in "xy"
    ]
    row = make_pairs(files).rows[0]
    assert row["talk"] == chat
    assert row["response_a"] == chat


def test_no_two_pairs_share_an_id_whatever_the_names_hold() -> None:
    assert pair_id("a:b", "c", "d") != pair_id("a", "b:c", "d")
    assert pair_id("q", "x:y", "z") != pair_id("q", "x", "y:z")
    assert pair_id("q", "x", "y") == pair_id("q", "y", "x")
    assert pair_id("q", "x%3A", "y") != pair_id("q", "x:", "y")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--design", "star"], "choose all, ring or random"),
        (["--by", "name"], "choose id or group"),
        (["--per-item", "2"], "for --design ring or random"),
        (["--json"], "-o FILE"),
    ],
)
def test_flags_that_make_no_sense_are_refused_in_words(flags: list[str], said: str, tmp_path: Path) -> None:
    done = adjudge("pair", *outputs(tmp_path, "xy"), *flags)
    assert done.code == 2
    assert said in done.err


def test_pairs_are_not_paired_again(tmp_path: Path) -> None:
    target = tmp_path / "pairs.jsonl"
    adjudge("pair", *outputs(tmp_path, "xy"), "-o", target)
    with pytest.raises(DataError, match="a pair already"):
        make_pairs([target])


def test_one_system_alone_makes_no_pair(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="one system, x"):
        make_pairs(outputs(tmp_path, "x"))

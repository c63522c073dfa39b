"""TOML that a stranger wrote is read, or refused, in a time that grows with its length."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.toml_text import parse_toml
from running import EXAMPLES, adjudge, write_rows

ROOT = Path(__file__).parents[1]
CRITERION = ("--criterion", "c", "-m", "fake:text=4")
LONG = ".".join(["a"] * 400_000) + " = 1\n"


@pytest.mark.parametrize("path", sorted((ROOT / "src" / "adjudge").rglob("*.toml"))[::7])
def test_our_own_files_read_as_before(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert parse_toml(text) == tomllib.loads(text)


@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                "b-1",
                ".",
                ". ",
                " = ",
                '"x.y"',
                "'''",
                '"""',
                "'",
                '"',
                "\\",
                "\n",
                "# c.d\n",
                "[",
                "]",
                "1.5",
                "{",
                "}",
                ",",
                "é",
            ]
        )
    )
)
def test_any_other_text_reads_or_fails_as_before(parts: list[str]) -> None:
    text = "".join(parts)
    try:
        expected = tomllib.loads(text)
    except ValueError as error:
        with pytest.raises(ValueError, match=f"{re.escape(str(error))}|more than 50 parts"):
            parse_toml(text)
        return
    assert parse_toml(text) == expected


def test_dots_in_texts_and_comments_are_no_keys() -> None:
    dots = "a." * 500
    text = f'x = "{dots}"\ny = """\n{dots}\n"""\n# {dots}\nz = \'\'\'{dots}\'\'\'\n"{dots}" = 1.5\n'
    assert parse_toml(text) == tomllib.loads(text)


@pytest.mark.parametrize(
    "text",
    [LONG, f"[{LONG[:-5]}]\n", f"x = {{ {LONG[:-1]} }}\n", " . ".join(["a"] * 300_000), '"a".' * 200_000],
)
def test_a_key_of_very_many_parts_is_refused_at_once(text: str) -> None:
    """Python's parser alone would take minutes, and the test with it."""
    with pytest.raises(tomllib.TOMLDecodeError, match=r"more than 50 parts \(at line 1, column \d+\)"):
        parse_toml(text)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("adjudge.toml", ("run", "r")),
        ("p/protocol.toml", ("run", "items.jsonl", "-p", "p", "-m", "fake:text=4")),
        ("p/protocol.toml", ("protocols", "check", "p")),
        ("rubric.toml", ("run", "items.jsonl", "--rubric", "rubric.toml", "-m", "fake:text=4")),
        (
            "map.toml",
            ("run", "items.jsonl", "--criterion", "c", "-m", "fake:text=4", "--map-scores", "map.toml"),
        ),
        ("c.toml", ("run", "items.jsonl", "--cascade", "c.toml")),
    ],
)
def test_every_file_of_a_stranger_is_read_that_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "items.jsonl", [{"id": "1", "task": "t", "instruction": "i", "response": "r"}])
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(LONG, encoding="utf-8")
    (tmp_path / "p").mkdir(exist_ok=True)
    (tmp_path / "p" / "user.md").write_text("{{response}}", encoding="utf-8")
    given = ("-p", "prometheus/direct") if "--rubric" in words else ()
    done = adjudge(*words, *given)
    assert done.code in (1, 2)
    assert "more than 50 parts" in done.out + done.err


@pytest.mark.parametrize("kind", ["link", "pipe", "large"])
def test_a_map_of_scores_is_a_short_regular_file_of_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    write_rows(project / "items.jsonl", [{"id": "1", "task": "t", "response": "r"}])
    file = project / "map.toml"
    if kind == "link":
        file.symlink_to(EXAMPLES / "tact.toml")
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.write_bytes(b"# " + b"x" * 1_000_000)
    judge = ("--criterion", "c", "-m", "fake:text=4", "--map-scores", "map.toml")
    done = adjudge("run", "items.jsonl", *judge)
    assert done.code == 2
    assert {"link": "a link out", "pipe": "not a regular", "large": "larger than 1 MB"}[kind] in done.err

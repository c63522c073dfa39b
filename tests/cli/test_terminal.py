"""What a user sees on a terminal: tables that are never cut,
prose broken between words, help and mistakes in plain words.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from adjudge.terminal.sections import MOST_LINES
from adjudge.terminal.tables import table_lines, wrapped
from adjudge.terminal_text import n_columns
from running import EXAMPLES, adjudge

WIDTHS = (80, 120)
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(width: int, *arguments: str | Path, cwd: Path) -> list[str]:
    """The lines that a command prints on a terminal of so many columns, without their style."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    environment = {
        name: value for name, value in os.environ.items() if name not in ("COLUMNS", "GITHUB_ACTIONS")
    }
    command = [sys.executable, "-c", "from adjudge.cli import main; main()", *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=its, stdout=its, stderr=its, cwd=cwd, env={**environment, "TERM": "xterm"}
    ):
        os.close(its)
        shown = b""
        # Linux ends the stream of a terminal without a writer with an error.
        while block := _read(ours):
            shown += block
    os.close(ours)
    return _STYLE.sub("", shown.decode()).replace("\r\n", "\n").splitlines()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of two runs that can be compared and one of pairs."""
    folder = tmp_path_factory.mktemp("terminal")
    store = ["--store", folder / "adjudge.db", "--quiet"]
    for name in ("draft", "repaired"):
        protocol = EXAMPLES / "protocols-guide" / ("courtesy-draft" if name == "draft" else "courtesy")
        replies = EXAMPLES / "inbox" / f"both.{name}.replies.jsonl"
        done = adjudge(
            "run", EXAMPLES / "inbox" / "both.jsonl", "-p", protocol, "-m", f"replay:{replies}", "--run",
            name, *store
        )  # fmt: skip
        assert done.code == 0, done.err
    outputs = [EXAMPLES / "ranking" / f"{name}.jsonl" for name in ("clear", "terse", "wordy")]
    assert adjudge("pair", *outputs, "-o", folder / "pairs.jsonl").code == 0
    done = adjudge(
        "run", folder / "pairs.jsonl", "-p", "prometheus/pairwise", "--rubric",
        EXAMPLES / "ranking" / "helpful.toml",
        "-m", f"replay:{EXAMPLES / 'ranking' / 'replies.jsonl'}", "--run", "styles", *store,
    )  # fmt: skip
    assert done.code == 0, done.err
    return folder


COMMANDS = (
    ("report", "repaired"),
    ("report", "styles"),
    ("compare", "draft", "repaired"),
    ("rank", "styles"),
    ("gate", "repaired", "--min", "courtesy=2", "--max-drop", "courtesy=1", "--baseline", "draft"),
)


@pytest.mark.parametrize(
    "width", [WIDTHS[0], *(pytest.param(width, marks=pytest.mark.slow) for width in WIDTHS[1:])]
)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command[0]))
def test_every_word_and_interval_that_is_piped_stands_whole_on_a_terminal(
    judged: Path, command: tuple[str, ...], width: int
) -> None:
    piped = adjudge(*command, "--store", judged / "adjudge.db").out
    lines = on_terminal(width, *command, cwd=judged)
    shown = "\n".join(lines)
    assert "…" not in shown
    intervals = re.findall(r"\[[−+]?\d[^\[\]]*, [^\[\]]*\]", piped)
    assert intervals
    assert max(map(n_columns, lines)) <= width
    there = {word.rstrip(":") for line in lines for word in line.split()}
    if "Columns hidden" in shown:
        # What stands in no table is there, and no interval is cut.
        prose = [line for line in piped.splitlines() if line.startswith("  ")]
        assert {word.rstrip(":") for line in prose for word in line.split() if len(word) < 30} <= there
        assert set(re.findall(r"\[[−+]?\d[^\[\]]*, [^\[\]]*\]", " ".join(shown.split()))) <= set(intervals)
        return
    assert not [interval for interval in intervals if interval not in shown]
    # A path longer than the terminal is the one thing that cannot stand on a line of it.
    assert {word.rstrip(":") for word in piped.split() if len(word) < 30 and "─" not in word} <= there


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_a_result_is_one_screen_of_a_usual_terminal(judged: Path, command: tuple[str, ...]) -> None:
    short, full = (on_terminal(80, *command, *more, cwd=judged) for more in ((), ("--full",)))
    assert len(short) <= MOST_LINES < len(full)
    assert max(map(n_columns, short)) <= 80
    assert "--full" in " ".join(short)
    assert "--full" not in " ".join(full)


@pytest.mark.parametrize("command", [("report", "draft"), ("runs",), ("compare", "draft", "repaired")])
def test_piped_output_is_compact(judged: Path, command: tuple[str, ...]) -> None:
    out = adjudge(*command, "--store", judged / "adjudge.db").out
    lines = out.splitlines()
    assert not [line for line in lines if line != line.rstrip()], "no spaces before a line end"
    assert "\n\n\n" not in out, "no two empty lines"


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_the_ids_of_protocols_can_be_copied_from_the_list(tmp_path: Path, width: int) -> None:
    ids = [row["id"] for row in adjudge("protocols", "list", "--json").json]
    lines = on_terminal(width, "protocols", "list", cwd=tmp_path)
    firsts = [line.split()[0] for line in lines if line.strip()]
    assert set(ids) <= set(firsts)
    hidden = "scale, task, languages, criteria, source" if width == 80 else "criteria, source"
    assert f": {hidden}" in " ".join(lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_of_runs_is_a_table_and_cuts_nothing_that_it_shows(judged: Path, width: int) -> None:
    rows = adjudge("runs", "--json", "--store", judged / "adjudge.db").json
    lines = on_terminal(width, "runs", cwd=judged)
    for row in rows:
        (line,) = (line for line in lines if line.split()[:1] == [row["run"]])
        for spec in row["models"]:
            assert spec.rpartition("/")[2].removesuffix(".jsonl") in line
        if width == 120:
            assert row["started"][:16] in line
            assert all(ref.partition("@")[0] in line for ref in row["protocols"])
    assert (": protocols, started. --json has all." in " ".join(lines)) == (width == 80)


def test_a_table_of_long_words_is_tall_and_not_a_list_of_records() -> None:
    rows = [(f"model-{k}", " ".join(["A_LONG_VARIABLE_OF_A_PROVIDER"] * 6)) for k in range(3)]
    lines = [text for text, _ in table_lines(("model", "needs"), rows, 80)]
    assert not [line for line in lines if line.startswith(" model:")]
    assert len([line for line in lines if line.startswith(" model-")]) == 3
    assert max(map(n_columns, lines)) <= 80
    narrow = [text for text, _ in table_lines(("model", "needs"), rows, 60)]
    assert [line for line in narrow if line.startswith(" model: model-0")]


def test_a_piped_table_has_one_line_for_each_row_however_wide_it_is() -> None:
    ids = [row["id"] for row in adjudge("protocols", "list", "--json").json]
    lines = [line.split() for line in adjudge("protocols", "list").out.splitlines() if line.strip()]
    assert [words[0] for words in lines[2:]] == ids


TABLE = (
    ("system", "mean [95 %]", "remark"),
    [("oak", "3.10 [2.70, 3.50]", "a few words of some length"), ("elm", "-1.00 [–]", ""), ("日本語",
    "9 % [1 %, 24 %]", "")],
)  # fmt: skip


@pytest.mark.parametrize("width", range(40, 100, 3))
def test_a_table_of_any_width_keeps_intervals_whole_and_its_lines_short(width: int) -> None:
    lines = [text for text, _ in table_lines(*TABLE, width)]
    for interval in ("[2.70, 3.50]", "[–]", "[1 %, 24 %]", "[95 %]"):
        assert any(interval in line for line in lines), (interval, lines)
    assert max(map(n_columns, lines)) <= width


def test_at_80_columns_a_table_leaves_columns_out_and_no_record_is_stacked() -> None:
    heads = ("system", "mean", *(f"measure-{k}" for k in range(12)), "outcome")
    rows = [("oak", "3.10 [2.70, 3.50]", *(f"{k}.00 [0.00, {k}.50]" for k in range(12)), "pass")] * 2
    lines = [text for text, _ in table_lines(heads, rows, 80, is_of_numbers=True)]
    assert lines[0].split()[:2] == ["system", "mean"]
    assert lines[0].split()[-1] == "outcome"
    assert "measure-11" in " ".join(lines[-3:])
    assert "measure-0" in lines[0]
    assert max(map(n_columns, lines)) <= 80


def test_a_table_without_room_becomes_a_list_without_empty_cells() -> None:
    lines = [text for text, _ in table_lines(*TABLE, 24)]
    assert lines[:2] == [" system: oak", "   mean [95 %]: 3.10"]
    assert sum("remark" in line for line in lines) == 1


def test_spare_columns_go_before_the_table_does_and_are_named() -> None:
    lines = [text for text, _ in table_lines(*TABLE, 40, spare=("remark",))]
    assert lines[0].split("  ")[0] == " system"
    wide = [text for text, _ in table_lines(*TABLE, 60, spare=("remark",))]
    narrow = [text for text, _ in table_lines(*TABLE, 25, spare=("remark",))]
    assert "remark" in wide[0]
    assert "remark" not in narrow[0]
    assert "remark" in " ".join(narrow[1:])


def test_lines_of_prose_keep_their_mark_and_stand_under_it() -> None:
    assert wrapped("  ! one two three [1.00, 2.00]", 18) == ["  ! one two three", "    [1.00, 2.00]"]


def test_a_cell_can_do_nothing_to_the_terminal() -> None:
    lines = [text for text, _ in table_lines(("a",), [("\x1b[2J\nb",)], 80)]
    assert "\x1b" not in "".join(lines)


# -- help and mistakes


@pytest.mark.parametrize(
    "command",
    [
        ("run",), ("report",), ("trust",), ("pair",), ("rank",), ("view",), ("annotate",), ("runs", "show"),
        ("runs", "rename"), ("protocols", "show"), ("protocols", "check"), ("protocols", "import"),
        ("models", "test"),
    ],
)  # fmt: skip
def test_help_names_no_type_of_python_and_doubles_no_brackets(command: tuple[str, ...]) -> None:
    shown = adjudge(*command, "--help").out
    assert f"adjudge {' '.join(command)} [OPTIONS]" in shown.splitlines()[0]
    assert not re.search(r"\[\[|<list|<str>|<path>|<int>|<float>|\{[A-Z]", shown)


@pytest.mark.parametrize(
    ("flag", "value"), [("--samples", "x"), ("--budget", "much"), ("--concurrency", "0")]
)
def test_a_number_that_is_none_is_named_with_its_flag(flag: str, value: str) -> None:
    judged = ("-p", "prometheus/direct", "-m", "fake:text=4")
    done = adjudge("run", EXAMPLES / "answers.jsonl", *judged, flag, value)
    assert done.code == 2
    assert flag in done.err
    assert value in done.err


def test_a_run_without_a_protocol_says_where_to_find_one() -> None:
    done = adjudge("run", EXAMPLES / "answers.jsonl", "-m", "fake:text=4")
    assert done.code == 2
    assert "adjudge protocols list" in done.err
    assert "--criterion" in done.err


def test_a_run_without_a_model_says_which_forms_there_are() -> None:
    done = adjudge("run", EXAMPLES / "answers.jsonl", "-p", "geval/score")
    assert done.code == 2
    assert "-m MODEL" in done.err


def test_a_command_to_go_on_with_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    assert f"adjudge protocols check '{folder}'" in adjudge("protocols", "new", folder).out


def test_the_same_problem_of_many_outputs_is_reported_once(tmp_path: Path) -> None:
    files = [tmp_path / "x.jsonl", tmp_path / "y.jsonl"]
    for file in files:
        file.write_text("".join(f'{{"id": {at}, "prompt_id": "o"}}\n' for at in range(50)), encoding="utf-8")
    done = adjudge("pair", *files)
    assert done.code == 2
    assert done.err.count("'response'") == 2
    assert done.err.count("(50 ") == 2


# -- logs of GitHub


def test_json_holds_no_command_of_a_runner_and_is_the_same_value(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(
        '{"instruction": "i", "response": "x ##[error]y"}\n', encoding="utf-8"
    )
    done = adjudge(
        "protocols", "show", "prometheus/direct", "--rubric", EXAMPLES / "tact.toml", "--item",
        tmp_path / "items.jsonl:1",
        "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "##[" not in done.out
    assert "##[error]y" in json.dumps(done.json)


def test_text_with_either_form_of_a_command_is_fenced_off_in_a_log(tmp_path: Path) -> None:
    for at, text in enumerate(("::error::x", "mid ##[error]x", "harmless")):
        path = tmp_path / f"{at}.jsonl"
        path.write_text(json.dumps({"instruction": "i", "response": text}), encoding="utf-8")
        done = adjudge(
            "protocols", "show", "prometheus/direct", "--rubric", EXAMPLES / "tact.toml", "--item",
            f"{path}:1",
            GITHUB_ACTIONS="true",
        )  # fmt: skip
        fenced = re.search(r"^::stop-commands::(\w+)\n(.*?)^::\1::$", done.out, re.MULTILINE | re.DOTALL)
        assert (fenced is not None and text in fenced[2]) is (text != "harmless")


def test_a_mistake_that_quotes_a_file_is_fenced_off_in_a_log(tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("item,criterion,rater,value\n1,tact,ann,##[error]x\n", encoding="utf-8")
    done = adjudge("trust", "--scores", labels, "--labels", labels, GITHUB_ACTIONS="true")
    assert done.code == 2
    assert done.err.startswith("::stop-commands::")


def test_what_goes_into_a_file_is_not_fenced_off(tmp_path: Path) -> None:
    item = tmp_path / "items.jsonl"
    item.write_text('{"instruction": "i", "response": "::error::x"}', encoding="utf-8")
    arguments = ["show", "prometheus/direct", "--rubric", str(EXAMPLES / "tact.toml"), "--item", f"{item}:1"]
    with (tmp_path / "out.txt").open("w", encoding="utf-8") as file:
        command = [sys.executable, "-c", "from adjudge.cli import main; main()", "protocols", *arguments]
        subprocess.run(command, stdout=file, env={**os.environ, "GITHUB_ACTIONS": "true"}, check=True)
    assert "stop-commands" not in (tmp_path / "out.txt").read_text(encoding="utf-8")

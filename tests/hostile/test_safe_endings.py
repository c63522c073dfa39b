"""Links and devices in a protocol, escape sequences on a
terminal, full disks: a message and exit 2, and no byte acts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adjudge.data import read_small
from adjudge.data.encoding import SMALL_LIMIT
from adjudge.errors import DataError
from fakeserver import Answer, FakeServer, Request, chat
from running import DIRECT, EXAMPLES, adjudge, answers, ended, model_at, started, write_rows

ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
EVIL = "ev\x1b[31mil\x07\u202e\U000e0041\x9b2J\r"


# -- short files


def protocol(folder: Path) -> Path:
    home = folder / "mine"
    assert adjudge("protocols", "new", home).code == 0
    (home / "system.md").write_text("You judge.\n")
    return home


def outside(folder: Path) -> Path:
    secret = folder / "passwords"
    secret.write_text("hunter2\n")
    return secret


@pytest.mark.parametrize("name", ["system.md", "user.md", "protocol.toml", "cases.toml"])
@pytest.mark.parametrize("kind", ["link", "device", "pipe", "large", "folder"])
def test_a_file_of_a_protocol_is_a_short_regular_file_of_its_folder(
    tmp_path: Path, name: str, kind: str
) -> None:
    home = protocol(tmp_path)
    file = home / name
    file.unlink()
    if kind == "link":
        file.symlink_to(outside(tmp_path))
    elif kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.write_bytes(b"# " + b"x" * SMALL_LIMIT)
    done = adjudge("protocols", "check", home)
    if name == "cases.toml" and kind in ("device", "pipe", "folder"):
        assert done.code in (0, 1)  # no file of cases at all
    else:
        assert done.code == 1, done.out
        assert name in done.out
    assert "hunter2" not in done.out + done.err
    items = write_rows(tmp_path / "items.jsonl", [{"question": "Q", "response": "R"}])
    if name != "cases.toml":
        run = adjudge(
            "run", items, "-p", home, "-m", "fake:text=<score>4</score>", "--store", tmp_path / "s.db", "-q"
        )
        assert run.code == 2
        assert name in run.err


def test_a_link_inside_the_folder_is_fine(tmp_path: Path) -> None:
    home = protocol(tmp_path)
    (home / "system.md").rename(home / "shared.md")
    (home / "system.md").symlink_to("shared.md")
    link = tmp_path / "linked"
    link.symlink_to(home)
    assert adjudge("protocols", "check", link).code == 0


@pytest.mark.parametrize("flag", ["--rubric", "--examples", "--steps"])
def test_a_rubric_examples_or_steps_that_lead_away_are_refused(tmp_path: Path, flag: str) -> None:
    away, home = tmp_path / "away", tmp_path / "home"
    away.mkdir()
    home.mkdir()
    name = {"--rubric": "r.toml", "--examples": "e.jsonl", "--steps": "s.txt"}[flag]
    source = away / name
    source.write_text("name = 'hunter2'\n")
    (home / name).symlink_to(source)
    items = answers(tmp_path / "items.jsonl", 2)
    how = {
        "--rubric": ("-p", "prometheus/direct"),
        "--examples": ("-p", "commentary-zh/structure"),
        "--steps": ("-p", "geval/score", "--criterion", "x"),
    }[flag]
    done = adjudge(
        "run", items, *how, flag, home / name, "-m", "fake:text=4", "--store", tmp_path / "s.db", "-q"
    )
    assert done.code == 2
    assert name in done.err
    assert "link out of its folder" in done.err


def test_a_gate_file_that_leads_away_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "gate.toml").write_text("[gate]\n")
    (home / "gate.toml").symlink_to(tmp_path / "gate.toml")
    done = adjudge("gate", "last", "--config", home / "gate.toml", "--store", tmp_path / "s.db")
    assert done.code == 2
    assert "gate.toml" in done.err


def test_a_packed_bomb_of_examples_is_refused(tmp_path: Path) -> None:
    import gzip

    row = {"task": "t", "response": "r" * 100_000, "judgment": "4", "kind": "positive"}
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress((json.dumps(row) + "\n").encode() * 40))
    done = adjudge(
        "run", answers(tmp_path / "i.jsonl", 1), "-p", "commentary-zh/evidence", "--examples",
        tmp_path / "e.jsonl.gz",
        "-m", "fake:text=4", "--store", tmp_path / "s.db",
    )  # fmt: skip
    assert done.code == 2
    assert "1 MB" in done.err


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_small(tmp_path / "none")
    with pytest.raises(DataError, match="not a regular file"):
        read_small(Path("/dev/null"))
    with pytest.raises(DataError, match="cannot be read"):
        read_small(tmp_path / ("x" * 300))


# -- terminals


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evil")
    rows = [
        {
            "id": f"i{k}",
            "system": f"{EVIL}{k % 2}",
            "group": f"{EVIL}{k}",
            "instruction": EVIL,
            "response": EVIL,
        }
        for k in range(40)
    ]

    def judge(_: Request) -> Answer:
        return chat(f"{EVIL} [RESULT] 4")

    with FakeServer(judge) as server:
        run = ("run", write_rows(folder / "i.jsonl", rows), *DIRECT, "-m", model_at(server), "--run", "tact")
        assert adjudge(*run, "--store", folder / "s.db", "-q").code == 0
    return folder / "s.db"


def on_terminal(*arguments: str | Path) -> tuple[int, str]:
    """The exit code of a command on a terminal, and what the terminal got."""
    import pty

    pid, handle = pty.fork()
    if pid == 0:
        code = "from adjudge.cli import main; main()"
        os.execv(sys.executable, [sys.executable, "-c", code, *map(str, arguments)])
    received = b""
    while True:
        try:
            block = os.read(handle, 65536)
        except OSError:
            break
        if not block:
            break
        received += block
    os.close(handle)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), received.decode("utf-8", "replace")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "tact"), ("export", "tact", "--format", "csv"), ("sample", "tact"), ("sample", "tact",
        "--replies"),
        ("runs", "show", "tact", "--prompt"), ("runs", "show", "tact", "--json"), ("report", "tact"),
        ("report", "tact", "--json"),
        ("report", "tact", "--markdown"), ("runs",), ("gate", "tact", "--min", "tact=3"), ("report",
        EVIL.replace("\x00", "")),
    ],
)  # fmt: skip
def test_nothing_that_acts_reaches_a_terminal(store: Path, arguments: tuple[str, ...]) -> None:
    code, text = on_terminal(*arguments, "--store", store)
    assert code in (0, 2, 3)
    styled = re.sub("\x1b\\[[0-9;]*m", "", text.replace("\r\n", "\n"))
    assert not ACTING.search(styled), ACTING.findall(styled)[:5]
    assert "\x1b[31mil" not in text


def test_into_a_pipe_an_export_is_byte_for_byte(store: Path) -> None:
    rows = adjudge("export", "tact", "--store", store).rows
    assert all(row["group"].startswith(EVIL) for row in rows)
    assert EVIL in adjudge("sample", "tact", "--store", store).out.replace("\r\n", "\n")
    assert EVIL in adjudge("export", "tact", "--store", store, "--format", "csv").out


# -- endings


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("gate", "tact", "--min", "tact=5"), ("gate", "tact", "--min", "tact=3"), ("report", "tact"),
        ("export", "tact"),
        ("export", "tact", "--format", "csv"), ("runs",), ("sample", "tact"), ("report", "tact", "--json"),
        ("protocols", "list"),
    ],
)  # fmt: skip
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_device_is_a_message_and_exit_2(store: Path, arguments: tuple[str, ...]) -> None:
    more = () if arguments[0] == "protocols" else ("--store", str(store))
    code = "from adjudge.cli import main; main()"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments, *more], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "no space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_gate_whose_output_is_closed_still_says_worse(store: Path) -> None:
    code = "from adjudge.cli import main; main()"
    command = [sys.executable, "-c", code, "gate", "tact", "--min", "tact=4.5", "--store", str(store)]
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "")


LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", LONG, "-p", "geval/score", "-m", "fake:text=1"), ("run", "i.jsonl", "-p", LONG, "-m",
        "fake:text=1"),
        ("run", "i.jsonl", *DIRECT[:2], "--rubric", f"{LONG}.toml", "-m", "fake:text=1"), ("export", "tact",
        "-o", LONG),
        ("report", "tact", "--html", LONG), ("sample", "tact", "-o", LONG), ("gate", "tact", "--config",
        LONG),
        ("gate", "tact", "--min", "tact=3", "--labels", LONG), ("gate", "tact", "--min", "tact=3",
        "--junit", LONG),
        ("trust", "tact", "--labels", LONG), ("doctor", "--repair", LONG), ("protocols", "new", LONG),
        ("protocols", "check", LONG),
        ("pair", LONG, LONG),
    ],
)  # fmt: skip
def test_a_name_of_300_characters_is_a_message_and_exit_2(store: Path, arguments: tuple[str, ...]) -> None:
    more = () if arguments[0] in ("protocols", "pair") else ("--store", str(store))
    done = adjudge(*arguments, *more)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert "an error inside Adjudge" not in done.err


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("user.md", "{{response}}", "{{response}} {{rubric.x}}"), ("user.md", "{{response}}",
        "{{response}} {{example.x}}"),
        ("protocol.toml", "low = 1", f"low = {'9' * 5000}"), ("protocol.toml", "low = 1",
        f"low = -{'9' * 400}"),
    ],
)  # fmt: skip
def test_odd_protocols_are_problems_with_a_message(tmp_path: Path, name: str, old: str, new: str) -> None:
    home = protocol(tmp_path)
    text = (home / name).read_text()
    assert old in text
    (home / name).write_text(text.replace(old, new, 1))
    done = adjudge("protocols", "check", home)
    assert done.code == 1, done.err
    items = write_rows(tmp_path / "i.jsonl", [{"question": "Q", "response": "R"}])
    run = adjudge(
        "run", items, "-p", home, "-m", "fake:text=<score>4</score>", "--store", tmp_path / "s.db", "-q"
    )
    assert run.code == 2
    assert name in run.err


def test_a_long_integer_in_a_gate_file_is_a_message(tmp_path: Path, store: Path) -> None:
    (tmp_path / "gate.toml").write_text(f"[gate]\nmin = {{ tact = {'9' * 5000} }}\n")
    done = adjudge("gate", "tact", "--config", tmp_path / "gate.toml", "--store", store)
    assert done.code == 2
    assert "gate.toml" in done.err


def test_a_fault_of_the_program_is_a_message_without_values(
    monkeypatch: pytest.MonkeyPatch, store: Path
) -> None:
    from adjudge.cli import runs

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("sk-secret")

    monkeypatch.setattr(runs, "print_table", broken)
    done = adjudge("runs", "--store", store)
    assert done.code == 2
    assert "RuntimeError" in done.err
    assert "sk-secret" not in done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_items_drawn_to_be_labelled_appear_whole_or_not_at_all(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "draw.csv"
    assert adjudge("sample", "tact", "-o", out, "--store", store).code == 0
    assert adjudge("sample", "tact", "-o", out, "--store", store).code == 2  # it may hold labels
    large = tmp_path / "large.db"
    run = ("run", answers(tmp_path / "i.jsonl", 1200), *DIRECT, "-m", "fake:text=[RESULT] 4", "--run", "tact")
    assert adjudge(*run, "--store", large, "-q").code == 0
    # More than SQLite's index of its log takes, less than the tables.
    limit = (
        "import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, (34_000, 34_000)); "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    )
    code = f"{limit}; from adjudge.cli import main; main()"
    small = tmp_path / "small"
    small.mkdir()
    for command in (("sample", "tact", "-n", "1200"), ("export", "tact")):
        done = subprocess.run(
            [sys.executable, "-c", code, *command, "-o", str(small / "out"), "--store", str(large)],
            capture_output=True, text=True
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert "cannot be written" in done.stderr
        assert list(small.iterdir()) == []


@pytest.mark.parametrize("bad", ["a\x1b[2J", "a\nb", "x" * 2001])
def test_an_id_is_short_and_printable(tmp_path: Path, bad: str) -> None:
    items = write_rows(
        tmp_path / "i.jsonl",
        [
            {"id": "fine", "response": "r", "instruction": "i"},
            {"id": bad, "response": "r", "instruction": "i"},
        ],
    )
    done = adjudge("run", items, *DIRECT, "-m", "fake:text=[RESULT] 4", "--store", tmp_path / "s.db", "-q")
    assert done.code == 2
    assert "line 2" in done.err
    assert "\x1b" not in done.err


@pytest.mark.slow
def test_a_run_whose_store_is_deleted_stops(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 400)
    store = tmp_path / "s.db"
    with FakeServer(lambda _: chat("[RESULT] 4"), hold_from=40) as server:
        run = ("run", items, *DIRECT, "-m", model_at(server), "--store", store, "-q", "--concurrency", "8")
        process = started(*run)
        from clock import until

        until(lambda: server.n_requests >= 40)
        for file in tmp_path.glob("s.db*"):
            file.unlink()
        server.release()
        done = ended(process)
        assert done.code == 2
        assert "deleted" in done.err
        assert server.n_requests < 120
    assert shutil.disk_usage(tmp_path).free  # the folder itself is whole


def test_the_rubric_of_the_examples_is_still_read() -> None:
    assert read_small(EXAMPLES / "tact.toml")


def test_a_run_without_end_is_refused(tmp_path: Path) -> None:
    items = write_rows(tmp_path / "items.jsonl", [{"id": "1", "instruction": "Say.", "response": "It."}])
    done = adjudge(
        "run", items, "-p", "prometheus/direct", "--rubric", EXAMPLES / "tact.toml", "-m",
        "fake:text=[RESULT] 4",
        "--samples", str(2**64), "--store", tmp_path / "s.db",
    )  # fmt: skip
    assert done.code == 2
    assert "at most 10,000 replies" in done.err


@pytest.mark.parametrize("order", ["ab", "AB", " Ab"])
def test_choices_made_elsewhere_are_read_in_any_case(tmp_path: Path, order: str) -> None:
    lines = [f"{k},{order},A\n{k},ba,tie" for k in range(4)]
    (tmp_path / "orders.csv").write_text("\n".join(["item,order,choice", *lines]))
    done = adjudge("audit", "--scores", tmp_path / "orders.csv", "--json")
    assert done.json["judges"]["judge"]["position"]["ties"] == 4

"""How tests run `adjudge`: inside this process where only its output counts, in one of its own where signals
do.

Also the fake hosts of the engine's tests: they answer by what they are asked, never by turn.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from adjudge.cli import main
from adjudge.store import schema
from fakeserver import Answer, FakeServer, Request, chat

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


def as_id(text: str) -> str:
    """A text as an id may be: control characters become spaces, and it has at most 2,000 characters."""
    return re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", text)[:2000]


def adjudge(*arguments: str | Path, **environment: str) -> Outcome:
    """Run a command in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    argv, env = sys.argv, dict(os.environ)
    sys.argv = ["adjudge", *map(str, arguments)]
    os.environ.update(environment)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    finally:
        sys.argv = argv
        os.environ.clear()
        os.environ.update(env)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Outcome(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))  # type: ignore[attr-defined]


def started(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.Popen[str]:
    """Start a command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "from adjudge.cli import main; main()", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", cwd=cwd, env={**os.environ,
        **environment},
    )  # fmt: skip


def python(code: str, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    """Start a script in a process of its own; a warning in it is an error."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env={**os.environ, **environment},
    )  # fmt: skip


def ended(process: subprocess.Popen[str], seconds: float = 60.0) -> Outcome:
    """What a started command left behind."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"still running after {seconds} s: {out}\n{err}") from None
    return Outcome(process.returncode, out, err)


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def answers(path: Path, n: int, *, first: int = 1) -> Path:
    """Items for `prometheus/direct` and the like: number k is answered by the text `answer k.`"""
    return write_rows(
        path,
        (
            {"id": f"i{k}", "group": f"g{k % 5}", "system": "odd" if k % 2 else "even",
            "instruction": "Say a number.",
             "response": f"answer {k}.", "task": "Say a number."}
            for k in range(first, first + n)
        ),
    )  # fmt: skip


def prompt_of(request: Request) -> str:
    return "\n".join(message["content"] for message in request.json["messages"])


def number_in(request: Request) -> int:
    """Which of the items of `answers` a prompt is about."""
    match = re.search(r"answer (\d+)\.", prompt_of(request))
    assert match is not None, "a prompt without its item"
    return int(match[1])


def score_of(number: int) -> int:
    """What the fake judges of these tests give to item `number`."""
    return number % 5 + 1


def by_number(request: Request) -> Answer:
    """A judge that gives every item its score, in Prometheus' format."""
    return chat(f"Feedback: it is {number_in(request)}. [RESULT] {score_of(number_in(request))}")


def judge_host(plan: Callable[[Request], Answer] = by_number, **settings: Any) -> FakeServer:
    return FakeServer(plan, **settings)


def model_at(server: FakeServer, name: str = "judge") -> str:
    return f"{server.url}/v1#{name}"


def asked_once(server: FakeServer) -> bool:
    """Whether no body was sent twice."""
    bodies = [request.body for request in server.requests]
    return len(bodies) == len(set(bodies))


DIRECT = ("-p", "prometheus/direct", "--rubric", str(EXAMPLES / "tact.toml"))
"""The protocol that most tests judge by; its criterion is `tact`."""


def compare_folder(folder: Path) -> Path:
    home = folder / "preference"
    home.mkdir()
    (home / "protocol.toml").write_text(
        """title = "The better of two outputs"
task = "compare"
language = { prompt = "en", reply = "en" }
source = "a test"
inputs = ["instruction", "response_a", "response_b"]

[[criteria]]
name = "preference"

[answer]
reader = "free"
choices = { a = "Output (a)", b = "Output (b)" }
"""
    )
    (home / "user.md").write_text("{{instruction}}\n\n{{response_a}}\n\n{{response_b}}\n\nWhich is better?\n")
    return home


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    done = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True)
    return done.returncode == 0


needs_mount = pytest.mark.skipif(
    not (sys.platform.startswith("linux") and can_mount()), reason="no small file system can be mounted here"
)


def older(path: Path, version: int = 1) -> None:
    """The same store as an older version of the layout left it."""
    connection = sqlite3.connect(path)
    with connection:
        later = [name for name, (since, _) in schema._EMPTY_BEFORE.items() if since > version]
        if "result_sets" in later:
            later += schema.RESULT_TABLES
            for table, event in product(("places", "judgments", "items"), ("changed", "gone")):
                connection.execute(f"DROP TRIGGER {table}_{event}")
        for table in later:
            connection.execute(f"DROP TABLE {table}")
        if version == 1:
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute("DROP TABLE counts")
            for table in schema._CHECKED:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
        else:
            for name, since in schema._COUNTED_SINCE.items():
                if since > version:
                    connection.execute(f"ALTER TABLE counts DROP COLUMN {name}")
        if version < schema._TEXT_HASH_SINCE:
            connection.execute("ALTER TABLE labels DROP COLUMN text_hash")
        connection.execute("DELETE FROM migrations WHERE number > ?", (version,))
    connection.close()

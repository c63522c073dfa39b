"""A stage for golden outputs: runs commands and asks pages in a folder of its own, and writes down what they
say.

It knows the command line (`adjudge.cli.main`) and, in `open_web` alone, the web application.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import difflib
import functools
import io
import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import typer.main
from json_text import json_text
from page_faults import page_faults
from page_text import page_text

from adjudge.cli import main

_built = functools.cache(typer.main.get_command)
"""A command is rebuilt for every call, which takes longer than most commands: once is enough here."""

EXAMPLES = Path(__file__).parents[2] / "examples"
PORT = 8123
WIDE, NARROW = 100, 60
PAGE = ".page.txt"
"""How the file of a page ends: it holds what a reader sees (`page_text.py`)."""

NORMAL: tuple[tuple[str, str, str], ...] = (
    (r"\x1b\[[0-9;?]*[A-Za-z]", "", "styles of the terminal: not what is said"),
    (r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00|Z| UTC)?", r"DAY\1TIME", "the clock"),
    (r'("seconds": )[\d.e+-]+', r"\g<1>0", "durations, in JSON"),
    (r"\b\d+\.\d(\s+)s\b", r"0.0\1s", "durations, for people; a line may end within"),
    (r", [\d.,]+/s\b", ", 0/s", "the pace of a run"),
    (r"/[^\s\"'<>&]*/((?:likelihoods|items)\.jsonl)", r"DEMO/\1", "where the package is"),
    (r"/[^\s\"'<>&]*/bin/adjudge\b", "adjudge", "where the command is"),
)  # fmt: skip
"""What is replaced, by what, and why; the folder of the stage and the version are, too (`Stage.plain`)."""


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


class _Stream(io.TextIOWrapper):
    """A standard stream that may claim to be a terminal."""

    is_terminal = False

    def isatty(self) -> bool:
        return self.is_terminal


def command(*arguments: str | Path, width: int | None = None) -> Outcome:
    """Run a command in this process: on a terminal of so many columns, or into a pipe."""
    streams = [_Stream(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    streams[0].is_terminal = width is not None
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    argv, env = sys.argv, dict(os.environ)
    sys.argv = ["adjudge", *map(str, arguments)]
    for name in [n for n in os.environ if n.startswith(("ADJUDGE", "GITHUB", "OPENAI", "ANTHROPIC"))]:
        del os.environ[name]
    os.environ |= {
        "COLUMNS": str(width or WIDE),
        "LINES": "50",
        "NO_COLOR": "1",
        "TERM": "xterm",
        "TZ": "UTC",
    }
    build, typer.main.get_command = typer.main.get_command, _built
    try:
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            main()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    finally:
        typer.main.get_command = build
        sys.argv = argv
        os.environ.clear()
        os.environ.update(env)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Outcome(code, *(stream.buffer.getvalue().decode() for stream in streams))  # type: ignore[attr-defined]


@functools.cache
def version() -> str:
    return command("--version").out.split()[-1]


@contextlib.contextmanager
def open_web(store: Path, run: str | None = None, n: int = 50) -> Iterator[Any]:
    """The ASGI application of `view`, or with a run that of `annotate`. THE ONE PLACE THAT IMPORTS IT."""
    from adjudge.web.pages.annotate import open_session
    from adjudge.web.routes import build_app
    from adjudge.web.security import Secrets

    secrets = Secrets(token="token", session="session", csrf="csrf")
    if run is None:
        yield build_app(store, port=PORT, secrets=secrets)
        return
    with open_session(store, run, n) as session:
        yield build_app(store, port=PORT, secrets=secrets, session=session)


def ask(app: Any, url: str, post: object = None) -> tuple[int, str]:
    """The status and the body of one answer; with `post` as one of our own pages sends it."""
    parts = urlsplit(url)
    headers = {"host": f"127.0.0.1:{PORT}", "cookie": f"adjudge_{PORT}=session"}
    body = b""
    if post is not None:
        body = json.dumps(post).encode()
        headers |= {"origin": f"http://127.0.0.1:{PORT}", "content-type": "application/json"}
        headers |= {"x-adjudge-csrf": "csrf", "content-length": str(len(body))}
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1",
        "scheme": "http",
        "method": "GET" if post is None else "POST", "path": unquote(parts.path),
        "raw_path": parts.path.encode(),
        "root_path": "", "query_string": parts.query.encode(), "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", PORT), "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
    }  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    status = next(message["status"] for message in sent if message["type"] == "http.response.start")
    return status, b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body").decode()


def final_answer(app: Any, url: str) -> tuple[int, str]:
    """The answer of a page once it no longer asks its reader to wait for a later version."""
    deadline = time.monotonic() + 60
    status, text = ask(app, url)
    while "data-live=" in text and time.monotonic() < deadline:
        time.sleep(0.01)
        status, text = ask(app, url)
    return status, text


class Stage:
    """One scenario: works in `work` (the current folder while it runs), and writes golden files into
    `out`."""

    def __init__(self, work: Path, out: Path) -> None:
        self.work, self.out = work.resolve(), out
        self.exits: dict[str, int] = {}
        self.written: dict[str, str] = {}
        """Every golden file in full, also where only its differences are written."""
        self.version = version()
        self.work.mkdir(parents=True, exist_ok=True)
        self.out.mkdir(parents=True, exist_ok=True)
        # A copy without links, so that every path in an output is a relative one.
        linked = [path.name for path in EXAMPLES.iterdir() if path.is_symlink()]
        ignored = shutil.ignore_patterns(*linked, "__pycache__")
        shutil.copytree(EXAMPLES, self.work / "examples", ignore=ignored, dirs_exist_ok=True)

    def play(self, scenario: Callable[[Stage], None]) -> None:
        """Run a scenario in its folder, and write the exit codes of all its commands."""
        with contextlib.chdir(self.work):
            scenario(self)
        lines = (f"{name} {code}\n" for name, code in sorted(self.exits.items()))
        (self.out / "exits.txt").write_text("".join(lines), encoding="utf-8")

    # --- what goes in

    def rows(self, name: str, rows: Iterable[Mapping[str, Any]]) -> str:
        """A JSONL file in the folder of the stage."""
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (self.work / name).write_text(text, encoding="utf-8")
        return name

    def text(self, name: str, *lines: str) -> str:
        (self.work / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return name

    def labels(
        self, name: str, run: str, low: int = 1, high: int = 5, raters: Sequence[str] = ("ann", "ben")
    ) -> str:
        """Labels for every item of a run, near to what the judges said; choices for choices.

        Of many criteria the first and the last have labels: the cards of the others would say the same in
        other numbers.
        """
        outputs: dict[tuple[str, str, str], dict[str, str]] = {}
        for row in csv.DictReader(io.StringIO(command("export", run, "--format", "csv").out)):
            key = row["item"], row["criterion"], row["subject"]
            if key not in outputs or not (outputs[key]["score"] or outputs[key]["choice"]):
                outputs[key] = row
        criteria = list(dict.fromkeys(criterion for _, criterion, _ in outputs))
        labelled = (criteria[0], criteria[-1])
        outputs = {key: row for key, row in outputs.items() if key[1] in labelled}
        with_subject = any(subject for _, _, subject in outputs)
        is_choice = {
            criterion for (_, criterion, subject), row in outputs.items() if row["choice"] and not subject
        }
        lines = ["item,criterion,subject,rater,value" if with_subject else "item,criterion,rater,value"]
        for place, ((item, criterion, subject), row) in enumerate(outputs.items()):
            for turn, rater in enumerate(raters):
                if criterion in is_choice and not subject:
                    value = (
                        ("a", "b", "tie")[place % 3] if (place + turn) % 3 == 0 else row["choice"] or "tie"
                    )
                else:
                    judged = float(row["score"] or (low + high) / 2)
                    value = f"{min(high, max(low, round(judged - ((place + 2 * turn) % 3 == 0)))):g}"
                who = f"{subject},{rater}" if with_subject else rater
                lines.append(f"{item},{criterion},{who},{value}")
        return self.text(name, *lines)

    # --- what comes out

    def plain(self, text: str) -> str:
        """The text without what differs from one time or machine to the next."""
        text = text.replace(str(self.work), "FOLDER")
        for pattern, new, _ in NORMAL:
            text = re.sub(pattern, new, text)
        return re.sub(rf"(?<![\w.]){re.escape(self.version)}(?![\w.])", "VERSION", text)

    def say(self, name: str, *arguments: str | Path, width: int | None = WIDE, like: str = "") -> Outcome:
        """Run a command; write its output, its messages and its exit code. `like`: see `write`."""
        assert name not in self.exits, f"{name} is written twice"
        done = command(*arguments, width=width)
        self.exits[name] = done.code
        if done.out:
            self.write(name, done.out, like)
        if done.err:
            self.write(f"{name}.err", done.err)
        return done

    def write(self, name: str, text: str, like: str = "") -> None:
        """A golden file: the text, or where it says nearly what the file `like` does, only the lines that
        differ."""
        text = self.plain(text)
        if name.endswith(".json") and text[:1] in "{[":
            text = json_text(text)
        elif name.endswith(PAGE):
            faults = page_faults(text)
            assert not faults, f"{name}: {'; '.join(faults)}"
            text = page_text(text)
        self.written[name] = text
        if like:
            text = changes(like, self.written[like], text)
        (self.out / name).write_bytes(text.encode())

    def forms(self, name: str, *arguments: str | Path, forms: str = "tjm", like: str = "") -> None:
        """A command in several forms: t on a terminal, n on a narrow one, p piped, j JSON, m Markdown.

        `like` is the name of another command: each form is written as what differs from the same form of that
        one.
        """
        endings = {"t": "txt", "n": "narrow.txt", "p": "piped.txt", "j": "json", "m": "md"}
        widths = {"t": WIDE, "n": NARROW}
        flags = {"j": ("--json",), "m": ("--markdown",)}
        for form in forms:
            ending, given = endings[form], (*arguments, *flags.get(form, ()))
            self.say(f"{name}.{ending}", *given, width=widths.get(form), like=like and f"{like}.{ending}")

    def file(self, name: str, made: str | Path) -> None:
        """A file that a command has written."""
        path = self.work / made
        text = path.read_text(encoding="utf-8") if path.exists() else "(not written)\n"
        self.write(name, text)

    def report_page(self, name: str, run: str, *more: str | Path) -> None:
        """The report as a page."""
        self.exits[f"{name}{PAGE}"] = command("report", run, "--html", "made.html", *more).code
        self.file(f"{name}{PAGE}", "made.html")

    def pages(self, **urls: str) -> None:
        """Pages of the viewer, by the name of their golden file."""
        with open_web(self.work / "adjudge.db") as app:
            for name, url in urls.items():
                self.page(app, name.replace("_", "-"), url)

    def page(self, app: Any, name: str, url: str, like: str = "") -> str:
        # The page of an item knows its neighbours once the list of items is complete.
        for run in parse_qs(urlsplit(url).query).get("run", ()):
            final_answer(app, query("/items", run=run))
        status, text = final_answer(app, url)
        self.exits[f"{name}{PAGE}"] = status
        self.write(f"{name}{PAGE}", text, like and f"{like}{PAGE}")
        return text


def query(path: str, **values: str | tuple[str, ...]) -> str:
    return f"{path}?{urlencode(values, doseq=True)}"


def changes(like: str, before: str, after: str) -> str:
    """The lines in which a text differs from that of the file `like`, without their numbers, which would
    move."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[2:]
    if not lines:
        return f"the same as {like}\n"
    return "".join(
        f"{line}\n" for line in [f"like {like}, but:", *(re.sub("^@@.*", "@@", li) for li in lines)]
    )

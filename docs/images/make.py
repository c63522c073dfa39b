"""Draws docs/images/report.svg and demo.svg: a report and the end of the demo in a terminal, as they are
printed today.

Run from the root of the repository: python docs/images/make.py
"""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

import adjudge
from adjudge.analysis.report.report import summarise
from adjudge.analysis.report.words.report import report_sections
from adjudge.analysis.run_view.tabulate import tabulate
from adjudge.store import open_store
from adjudge.terminal.sections import section_lines

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        draw("report.svg", "adjudge report news", report_lines(Path(folder)), 112)
        draw("demo.svg", "adjudge demo", demo_lines(Path(folder)), 84)


def report_lines(folder: Path) -> list[tuple[str, str]]:
    """The report of a small run."""
    run = adjudge.run(
        EXAMPLES / "news.jsonl",
        "gptscore-ko/factuality",
        f"replay:{EXAMPLES / 'news.replies.jsonl'}",
        store=folder / "adjudge.db",
        run="news",
    )
    with open_store(run.store, write=False) as store:
        summary = summarise(tabulate(store, store.run(run.name)))
    return section_lines(report_sections(summary), 112)


def demo_lines(folder: Path) -> list[tuple[str, str]]:
    """The two gates of the recorded demo, as a terminal of 80 columns shows them."""
    command = f"{sys.executable} -c 'from adjudge.cli import main; main()' demo --recorded -q"
    main_end, side_end = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
    with subprocess.Popen(shlex.split(command), stdout=side_end, cwd=folder, env=environment):
        os.close(side_end)
        chunks = []
        # Linux reports the end of a terminal as an error.
        with contextlib.suppress(OSError):
            while chunk := os.read(main_end, 65536):
                chunks.append(chunk)
    lines = b"".join(chunks).decode().replace("\r\n", "\n").split("\n")
    first, last = (
        next(at for at, line in enumerate(lines) if line.startswith(start))
        for start in ("$ adjudge gate", "── 4")
    )
    return [(line, _style(line)) for line in lines[first : last - 1]]


def _style(line: str) -> str:
    """Headings are bold and commands cyan; a decision has the colour of its exit code."""
    if "(exit " in line:
        return "bold green" if "(exit 0)" in line else "bold yellow"
    return "bold" if line.startswith("── ") else "cyan" if line.startswith(("$ ", "    --")) else ""


def draw(name: str, title: str, lines: list[tuple[str, str]], width: int) -> None:
    """Write the picture of a terminal with these lines."""
    console = Console(record=True, width=width, force_terminal=True, file=io.StringIO())
    for text, style in lines:
        console.print(Text(text, style=style), soft_wrap=True)
    picture = console.export_svg(title=title)
    # Fonts are taken from the reader's machine: a picture loads nothing from elsewhere.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.S)
    picture = re.sub(r"<!-- .*? -->", "", picture, flags=re.S)
    picture = re.sub(r"replay:[^<\s]*/examples/", "replay:examples/", picture)
    (HERE / name).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()

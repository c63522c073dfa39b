"""Draws docs/images/report.svg: the report of a run in a terminal, as it is printed today.

Run from the root of the repository: python docs/images/make.py
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

import adjudge
from adjudge.analysis.report import summarise
from adjudge.analysis.report_words import report_sections
from adjudge.analysis.run_view import tabulate
from adjudge.cli.terminal import section_lines
from adjudge.store import open_store

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = adjudge.run(
            EXAMPLES / "news.jsonl",
            "gptscore-ko/factuality",
            f"replay:{EXAMPLES / 'news.replies.jsonl'}",
            store=Path(folder) / "adjudge.db",
            run="news",
        )
        console = Console(record=True, width=112, force_terminal=True, file=(Path(folder) / "out").open("w"))
        with open_store(run.store, write=False) as store:
            summary = summarise(tabulate(store, store.run(run.name)))
        for text, style in section_lines(report_sections(summary), console.width):
            console.print(Text(text, style=style), soft_wrap=True)
    picture = console.export_svg(title="adjudge report news")
    # Fonts are taken from the reader's machine: a picture loads nothing from elsewhere.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.S)
    picture = re.sub(r"<!-- .*? -->", "", picture, flags=re.S)
    picture = re.sub(r"replay:[^<\s]*/", "replay:examples/", picture)
    (HERE / "report.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()

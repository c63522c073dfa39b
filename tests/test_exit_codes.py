"""The exit codes in the documentation are those of the program."""

from __future__ import annotations

import re
from pathlib import Path

from adjudge.exit_codes import MEANINGS


def test_the_page_on_running_lists_every_exit_code() -> None:
    page = (Path(__file__).parents[1] / "docs" / "running.md").read_text(encoding="utf-8")
    section = page.partition("## Exit codes\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| (\d+) \| (.+) \|$", section, re.M))
    without_links = {int(code): re.sub(r"\[(.+?)\]\(.+?\)", r"\1", text) for code, text in rows.items()}
    assert without_links == MEANINGS

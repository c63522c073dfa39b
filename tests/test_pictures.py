"""The picture of the demo in the README says what the demo prints today.

It is compared with the golden output of the demo (`tests/golden`): every word of the picture is printed. The
picture has 80 columns, so its lines break elsewhere. After a change of the demo: python docs/images/make.py
"""

from __future__ import annotations

import html
import re

from running import ROOT


def words_of(text: str) -> set[str]:
    """The words and numbers of a terminal, without rules and line ends."""
    return {word for word in re.sub(r"[─…│]+|\\$", " ", text, flags=re.MULTILINE).split() if word != "\\"}


def test_the_picture_of_the_demo_says_what_the_demo_prints() -> None:
    picture = (ROOT / "docs" / "images" / "demo.svg").read_text(encoding="utf-8")
    lines = [
        html.unescape(line).replace("\xa0", " ") for line in re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    ]
    printed = (ROOT / "tests" / "golden" / "demo" / "demo.txt").read_text(encoding="utf-8")
    shown = words_of("\n".join(lines)) - {"adjudge", "demo"}
    assert len(shown) > 40
    assert shown - words_of(printed) == set()

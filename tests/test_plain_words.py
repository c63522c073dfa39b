"""Messages, documents and docstrings use the field's terms: phrases that readers had to decode do not come
back.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PHRASES = {
    r"whoever|whatever the \w+ were": "who or what it is",
    r"for want of": "without",
    r"held against": "compared with",
    r"comes? to no|stands? beside": "a verb of the field",
    r"nobody|somebody": "no one, a person, or the passive",
    r"of (?:its|their) own(?=[.,;:)]| (?:to|and|are|is|only|but|with|in)\b)": "separate, or its own …",
    r"told apart|told from": "distinguished",
    r"this start of the run": "this attempt",
    r"asks? through": "the name of the provider",
    r"decision bounds": "confidence bounds",
    r"re-asks?": "follow-up question",
    r"in our own words": "worded differently",
}
"""A phrase, and what is written in its place."""


QUOTES_PEOPLE = (
    "src/adjudge/protocols/builtin/",
    "src/adjudge/parse/",
    "src/adjudge/render/injection",
    "src/adjudge/demo/",
    "src/adjudge/probes/",
    "docs/glossary.md",
    "docs/images/",
)
"""Files that hold what judges and raters write, or the words that are not to be used."""


def files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "src", "docs", "skills", "*.md", "llms.txt"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    ).stdout.split()  # fmt: skip
    return [
        name
        for name in listed
        if not name.startswith(("bench/", "tests/", "examples/"))
        and name.endswith((".py", ".md", ".html", ".toml", ".txt"))
        and not name.startswith(QUOTES_PEOPLE)
    ]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout of the repository")
def test_no_phrase_must_be_decoded() -> None:
    found = []
    pattern = re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in PHRASES))
    for name in files():
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        found += [f"{name}: {match[0]}" for match in pattern.finditer(text)]
    assert not found

"""Reads the evaluation steps in the reply of a judge that was asked to write them."""

from __future__ import annotations

import re

_LIST_ENTRY = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s+(\S.*)$")


_MOST_STEPS = 12


def written_steps(text: str) -> tuple[str, ...]:
    """The entries of a numbered or bulleted list; without a list, each line that is not empty."""
    listed = [entry[1].strip() for line in text.splitlines() if (entry := _LIST_ENTRY.match(line))]
    steps = listed or [line.strip() for line in text.splitlines() if line.strip()]
    return tuple(steps[:_MOST_STEPS])

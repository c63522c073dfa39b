"""Long texts that many pages of a static copy repeat, such as the source in every prompt: each line is
written once, into a script that a page loads when the drawer with the text is opened.

A page opened from a folder may load a script beside it, and nothing else. A line is data in it: a JSON
string, which the page shows as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from ..parts.safe_text import visible_text

LONGEST_FILE = 100_000
"""Characters of one script, but for a longer line: a drawer loads those that have its lines."""


class SharedTexts:
    """The lines of the texts of a copy, and where each of them stands."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}
        self._files: list[list[str]] = []
        self._n_characters = 0

    def places(self, text: str) -> str:
        """Where the lines of a text stand, in their order: `1.0 1.7 4.2`, of file and line."""
        return " ".join(self._place(line) for line in visible_text(text).split("\n"))

    def _place(self, line: str) -> str:
        known = self._places.get(line)
        if known is None:
            if not self._files or self._n_characters + len(line) > LONGEST_FILE:
                self._files.append([])
                self._n_characters = 0
            self._files[-1].append(line)
            self._n_characters += len(line)
            known = self._places[line] = f"{len(self._files)}.{len(self._files[-1]) - 1}"
        return known

    def scripts(self, shown: Callable[[str], str]) -> list[str]:
        """The files, the first one for the places `1.…`, with each line as `shown` changes it."""
        return [
            f"adjudgeTexts({number}, {json.dumps(list(map(shown, lines)))});\n"
            for number, lines in enumerate(self._files, 1)
        ]

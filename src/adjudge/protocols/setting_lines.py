"""The line of a setting in a TOML file: a hint for an editor, not a parser."""

from __future__ import annotations

import re

Steps = tuple[str | int, ...]
"""The way to a value in a TOML file: keys, and the number of an entry in a list."""


def line_number(text: str, start: int) -> int:
    """The line number of a character offset."""
    return text.count("\n", 0, start) + 1


def line_of_key(toml: str, key: str) -> int:
    """The line that sets a key, or the first one: a hint for an editor, not a parser."""
    match = _set_at_line_start(key).search(toml)
    return line_number(toml, match.start(1)) if match else 1


def line_of_steps(toml: str, steps: Steps) -> int:
    """The line of a value inside tables, or of the innermost table that is found: a hint as well."""
    place, heading = 0, ""
    for step in steps:
        if isinstance(step, int):
            entries = list(
                re.finditer(rf"^[ \t]*(\[\[[ \t]*{re.escape(heading)}[ \t]*\]\])", toml, re.MULTILINE)
            )
            place = entries[step].start(1) if step < len(entries) else place
            continue
        is_top = not heading
        # Inside a table, a key may stand on the line of its braces.
        inside = re.compile(rf"^[^#\n]*?(?<![\w-])({re.escape(step)})[\"']?[ \t]*[=\].]", re.MULTILINE)
        match = (_set_at_line_start(step) if is_top else inside).search(toml, place)
        place = match.start(1) if match else place
        heading = step
    return line_number(toml, place)


def _set_at_line_start(key: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*((?:\[+)?[ \t]*{re.escape(key)}[ \t]*[=\]])", re.MULTILINE)

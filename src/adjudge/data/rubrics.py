"""Rubrics of the user's: a criterion in words and a text for each level of its scale.

Reads TOML, and JSON with the key names that Prometheus uses. Knows nothing of the protocols that
take a rubric. A file is either read as a whole or refused with all of its problems.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from adjudge.data.json_rows import exact
from adjudge.data.lines import BadRowError, BrokenFileError, read_text
from adjudge.errors import DataError, listed
from adjudge.records import Rubric, Scale

_KEYS = ("name", "criterion", "levels", "best", "names")
_JSON_KEYS = ("name", "criteria", "best", "names")
_JSON_LEVEL = re.compile(r"score(.+)_description")
_NUMBER = re.compile(r"[+-]?[0-9]{1,12}(\.[0-9]{1,6})?")
_DEFAULT_LEVELS = tuple(Fraction(level) for level in range(1, 6))


def read_rubric(path: str | Path) -> Rubric:
    """The rubric in a .toml or .json file.

    Its levels are the scale, with the greatest common divisor of their distances as the step;
    a rubric without levels is scored from 1 to 5. The highest level is the best one unless
    `best` names the lowest. The name is the file's stem unless `name` gives it.
    """
    path = Path(path)
    if path.suffix.lower() == ".toml":
        values = _toml(path)
        known: Iterable[str] = _KEYS
    elif path.suffix.lower() == ".json":
        values = _prometheus(path)
        known = (*_JSON_KEYS, "score1_description")
    else:
        raise DataError(f"{path}: format unknown by its name. Name it .toml or .json.")
    problems = [_unknown(key, known) for key in values if key not in _KEYS]
    reading = _Reading(values, "criterion" if known is _KEYS else "criteria", problems)
    rubric = reading.rubric(path.stem)
    if rubric is None or problems:
        raise DataError(listed(str(path), problems))
    return rubric


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise BrokenFileError(
            path, f'not TOML ({error}). Put texts in quotes, and level numbers with a point too: "0.5" = "…".'
        ) from None
    except RecursionError:
        raise BrokenFileError(path, "nested too deeply. A rubric has criterion and [levels].") from None


def _prometheus(path: Path) -> dict[str, Any]:
    """The file's values under the keys of the TOML form; keys of neither form stay as they are."""
    try:
        row = exact(read_text(path).encode("utf-8"), "The file must be one JSON object")
    except BadRowError as bad:
        raise BrokenFileError(path, str(bad)) from None
    values: dict[str, Any] = {}
    levels: dict[str, Any] = {}
    for key, value in row.items():
        if match := _JSON_LEVEL.fullmatch(key):
            levels[match[1]] = value
        elif key in _JSON_KEYS:
            values["criterion" if key == "criteria" else key] = value
        else:
            # A key of the TOML form alone is unknown here: renamed, so that it cannot be taken for one.
            values[f"{key}" if key not in _KEYS else f"{key} "] = value
    return values | ({"levels": levels} if levels else {})


def _unknown(key: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(key.strip(), known, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else f"Known keys: {', '.join(known)}."
    return f"unknown key '{key.strip():.80}'. {hint}"


class _Reading:
    """One reading of a rubric's values; what is wrong goes to `problems`, and nothing is lost."""

    def __init__(self, values: Mapping[str, Any], criterion_key: str, problems: list[str]) -> None:
        self._values = values
        self._criterion_key = criterion_key
        self._problems = problems

    def rubric(self, stem: str) -> Rubric | None:
        """The rubric, or none where problems were found."""
        name = self._text("name", self._values.get("name", stem), "Name the criterion, or leave 'name' out.")
        criterion = self._text(
            self._criterion_key,
            self._values.get("criterion"),
            "Say in words what is judged: a question or a sentence.",
        )
        levels = self._levels()
        steps = sorted(levels) or list(_DEFAULT_LEVELS)
        best = self._best(steps)
        names = self._names(steps)
        if self._problems:
            return None
        scale = Scale(
            low=float(steps[0]),
            high=float(steps[-1]),
            best=float(best),
            step=float(_common_step(steps)),
            levels={float(level): levels[level] for level in sorted(levels)},
            names={float(level): names[level] for level in sorted(names)},
        )
        return Rubric(name=name, criterion=criterion, scale=scale)

    def _text(self, key: str, value: object, advice: str) -> str:
        if not isinstance(value, str) or not value.strip():
            what = (
                "is missing"
                if value is None
                else "is not a text"
                if not isinstance(value, str)
                else "is empty"
            )
            self._problems.append(f"'{key}' {what}. {advice}")
            return ""
        return str(value)

    def _levels(self) -> dict[Fraction, str]:
        if "levels" not in self._values:
            return {}
        levels = self._by_level("levels", self._values["levels"])
        if len(levels) < 2 and not self._problems:
            self._problems.append(
                "[levels] has fewer than two levels. Give a text for each, or leave [levels] out for 1 to 5."
            )
        return levels

    def _names(self, steps: list[Fraction]) -> dict[Fraction, str]:
        if "names" not in self._values:
            return {}
        names = self._by_level("names", self._values["names"])
        for level in names:
            if level not in steps:
                shown = ", ".join(_written(step) for step in steps)
                self._problems.append(
                    f"[names] has {_written(level)}, which is no level. The levels are {shown}."
                )
        twice = {name for name in names.values() if list(names.values()).count(name) > 1}
        for name in sorted(twice):
            self._problems.append(f"[names] gives '{name:.80}' to two levels. Name each level differently.")
        return names

    def _by_level(self, key: str, table: object) -> dict[Fraction, str]:
        """A table from level to text."""
        if not isinstance(table, dict):
            self._problems.append(
                f"'{key}' is not a table. Write [{key}], then a line for each level: 1 = \"…\"."
            )
            return {}
        found: dict[Fraction, str] = {}
        for written, text in table.items():
            if isinstance(text, dict) and _NUMBER.fullmatch(written):
                self._problems.append(
                    f'[{key}] {written}.…: quote a level that has a point: "{written}.5" = "…".'
                )
            elif not _NUMBER.fullmatch(written):
                self._problems.append(
                    f"[{key}] '{written:.80}' is not a number. Name each level by its number, such as 1."
                )
            elif Fraction(written) in found:
                self._problems.append(f"[{key}] {written} is there twice. Keep one of them.")
            else:
                found[Fraction(written)] = self._text(
                    f"{key} {written}", text, "Write in quotes what the level means."
                )
        return found

    def _best(self, steps: list[Fraction]) -> Fraction:
        best = self._values.get("best", steps[-1])
        if isinstance(best, bool) or not isinstance(best, int | float | str | Fraction):
            value = None
        elif isinstance(best, str):  # a number of a JSON file, or a text
            value = Fraction(best) if _NUMBER.fullmatch(best) else None
        else:
            value = Fraction(str(best)) if math.isfinite(best) else None
        if value not in (steps[0], steps[-1]):
            self._problems.append(
                f"'best' is {best if not isinstance(best, dict | list) else 'no number'}. "
                f"Give the level at the good end: {_written(steps[0])} or {_written(steps[-1])}."
            )
        return value if value is not None else steps[-1]


def _common_step(steps: list[Fraction]) -> Fraction:
    """The greatest common divisor of the distances between levels."""
    distances = [high - low for low, high in pairwise(steps)]
    denominator = math.lcm(*(distance.denominator for distance in distances))
    return Fraction(math.gcd(*(int(distance * denominator) for distance in distances)), denominator)


def _written(level: Fraction) -> str:
    return f"{float(level):g}"

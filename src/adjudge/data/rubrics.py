"""Rubrics that users give a judge."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..did_you_mean import did_you_mean
from ..errors import DataError, problem_list
from ..records import Rubric, Scale
from ..toml_text import parse_toml
from ..untrusted import has_control, safe
from .encoding import BadRowError, BrokenFileError, read_small_text
from .json_rows import exact

_KEYS = ("name", "criterion", "levels", "best", "names", "labels")


_JSON_KEYS = ("name", "criteria", "best", "names")


_IN_DATA_SET = ("orig_criteria", "orig_score")


_JSON_LEVEL = re.compile(r"score(.+)_description")


_NUMBER = re.compile(r"[+-]?[0-9]{1,12}(\.[0-9]{1,6})?")


_DEFAULT_LEVELS = tuple(Fraction(level) for level in range(1, 6))


MOST_LABELS = 50


_LONGEST_LABEL = 60


def nominal_scale(labels: Mapping[str, str]) -> Scale:
    """The scale of classes: label → description. Each has a number, which means nothing but its place."""
    return Scale(
        low=0.0,
        high=float(len(labels) - 1),
        best="none",
        step=1.0,
        levels={float(place): text for place, text in enumerate(labels.values())},
        names={float(place): label for place, label in enumerate(labels)},
    )


def rubric_of_labels(name: str, criterion: str, labels: Mapping[str, str]) -> Rubric:
    """A rubric from labels that are not in a file; the same problems are reported."""
    problems: list[str] = []
    values = {"name": name, "criterion": criterion, "labels": dict(labels)}
    rubric = _RubricReader(values, "criterion", problems).rubric(name)
    if rubric is None:
        raise DataError(problem_list(f"labels of '{name}'", problems))
    return rubric


def read_rubric(path: str | Path) -> Rubric:
    """The rubric in a .toml or .json file.

    Its levels are the scale, with the greatest common divisor of their distances as the step;
    a rubric without levels is scored from 1 to 5. The highest level is the best one unless
    `best` names the lowest. The name is the file's stem unless `name` gives it.
    """
    path = Path(path)
    known: tuple[str, ...]
    if path.suffix.lower() == ".toml":
        values, unknown = _toml(path)
        known, criterion_key = _KEYS, "criterion"
    elif path.suffix.lower() == ".json":
        values, unknown = _prometheus(path)
        known, criterion_key = (*_JSON_KEYS, "score1_description"), "criteria"
    else:
        raise DataError(f"{path}: format unknown by its name. Name it .toml or .json.")
    problems = [_unknown(key, known) for key in unknown]
    rubric = _RubricReader(values, criterion_key, problems).rubric(path.stem)
    if rubric is None:
        raise DataError(problem_list(str(path), problems))
    return rubric


def _toml(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The file's values, and its unknown keys."""
    try:
        values = parse_toml(read_small_text(path))
    except ValueError as error:  # also of int(), which refuses thousands of digits
        raise BrokenFileError(
            path, f'not TOML ({error}). Put texts in quotes, and level numbers with a point too: "0.5" = "…".'
        ) from None
    except RecursionError:
        raise BrokenFileError(path, "nested too deeply. A rubric has criterion and [levels].") from None
    return values, [key for key in values if key not in _KEYS]


def _prometheus(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The file's values under the keys of the TOML form, and its unknown keys."""
    try:
        found = exact(read_small_text(path).encode("utf-8"), "The file must be one JSON object")
    except BadRowError as bad:
        raise BrokenFileError(path, str(bad)) from None
    # Prometheus' data set writes orig_criteria and orig_score1_description.
    row = {key.removeprefix("orig_") if key.startswith(_IN_DATA_SET) else key: found[key] for key in found}
    values = {"criterion" if key == "criteria" else key: row[key] for key in _JSON_KEYS if key in row}
    levels = {match[1]: row[key] for key in row if (match := _JSON_LEVEL.fullmatch(key))}
    if levels:
        values["levels"] = levels
    return values, [key for key in row if key not in _JSON_KEYS and not _JSON_LEVEL.fullmatch(key)]


def _unknown(key: str, known: Sequence[str]) -> str:
    hint = did_you_mean(key, known, f"Known keys: {', '.join(known)}.")
    return f"unknown key '{key:.80}'. {hint}"


class _RubricReader:
    """Checks the values of a rubric; adds what is wrong to `problems`."""

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
        if "labels" in self._values:
            return self._classes(name, criterion)
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

    def _classes(self, name: str, criterion: str) -> Rubric | None:
        """A rubric with classes in place of levels: `[labels]`, name = description."""
        table = self._values["labels"]
        for key in ("levels", "best", "names"):
            if key in self._values:
                self._problems.append(
                    f"'{key}' is given beside [labels]. Labels have no levels: leave one of the two out."
                )
        if not isinstance(table, dict) or not 2 <= len(table) <= MOST_LABELS:
            self._problems.append(
                f'[labels] needs 2 to {MOST_LABELS} labels, each with a description: refund = "The customer'
                ' wants money back."'
            )
            return None
        same: dict[str, str] = {}
        for label, text in table.items():
            flat = " ".join(re.split(r"[\s_-]+", label.strip().casefold()))
            if not flat or has_control(label) or len(label) > _LONGEST_LABEL:
                self._problems.append(f"[labels] '{safe(label[:40])}' is no name. Write one to five words.")
            elif (other := same.setdefault(flat, label)) != label:
                self._problems.append(
                    f"[labels] '{other}' and '{label}' read the same: case, spaces and hyphens do not count."
                )
            self._text(f"labels {label:.40}", text, "Say in a sentence what belongs to it.")
        return None if self._problems else Rubric(name, criterion, nominal_scale(table))

    def _text(self, key: str, value: object, advice: str) -> str:
        # A `Number` of a JSON file is a subclass of str and does not count as text.
        if type(value) is str and value.strip() and "\0" not in value:
            return value
        if value is None:
            fault = "is missing"
        elif type(value) is not str:
            fault = "is not a text"
        else:
            fault = "has a NUL character" if "\0" in value else "is empty"
        self._problems.append(f"'{key}' {fault}. {advice}")
        return ""

    def _levels(self) -> dict[Fraction, str]:
        if "levels" not in self._values:
            return {}
        table = self._values["levels"]
        if isinstance(table, dict) and len(table) < 2:
            self._problems.append(
                "[levels] has fewer than two levels. Give a text for each, or leave [levels] out for 1 to 5."
            )
        return self._by_level("levels", table)

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
        repeated = {name for name in names.values() if list(names.values()).count(name) > 1}
        for name in sorted(repeated):
            self._problems.append(f"[names] gives '{name:.80}' to two levels. Name each level differently.")
        return names

    def _by_level(self, key: str, table: object) -> dict[Fraction, str]:
        """A table from level to text."""
        if not isinstance(table, dict):
            self._problems.append(
                f"'{key}' is not a table. Write [{key}], then a line for each level: 1 = \"…\"."
            )
            return {}
        texts: dict[Fraction, str] = {}
        for written, text in table.items():
            if isinstance(text, dict) and _NUMBER.fullmatch(written):
                self._problems.append(
                    f'[{key}] {written}.…: quote a level that has a point: "{written}.5" = "…".'
                )
            elif not _NUMBER.fullmatch(written):
                self._problems.append(
                    f"[{key}] '{written:.80}' is not a number. Name each level by its number, such as 1."
                )
            elif Fraction(written) in texts:
                self._problems.append(f"[{key}] {written} is declared twice. Keep one of them.")
            else:
                texts[Fraction(written)] = self._text(
                    f"{key} {written}", text, "Write in quotes what the level means."
                )
        return texts

    def _best(self, steps: list[Fraction]) -> Fraction:
        if "best" not in self._values:
            return steps[-1]
        written = str(self._values["best"])
        best = Fraction(written) if _NUMBER.fullmatch(written) else None
        if best is None or best not in (steps[0], steps[-1]):
            self._problems.append(
                f"'best' is {written:.80}. "
                f"Give the level at the good end: {_written(steps[0])} or {_written(steps[-1])}."
            )
            return steps[-1]
        return best


def _common_step(steps: list[Fraction]) -> Fraction:
    """The greatest common divisor of the distances between levels."""
    distances = [high - low for low, high in pairwise(steps)]
    denominator = math.lcm(*(distance.denominator for distance in distances))
    return Fraction(math.gcd(*(int(distance * denominator) for distance in distances)), denominator)


def _written(level: Fraction) -> str:
    return f"{float(level):g}"

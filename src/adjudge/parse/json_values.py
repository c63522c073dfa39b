"""A value of a JSON object as a score or as an option, found by its path."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..lazy_patterns import lazily
from ..records import Reading, Scale
from .asked.values import score_value
from .free.option_names import OptionNames
from .json_documents import JsonDocument, Path
from .numbers.number import number_at
from .text.characters import narrow
from .text.refusals import abstains

_LOOSE = lazily(r"[\s_\-]+")


class FoundValue(NamedTuple):
    """A value at a path: what it is, where it stands, and whether its keys were spelled as asked."""

    value: Any
    path: Path
    span: tuple[int, int]
    is_exact: bool
    cut: str
    doubled: frozenset[Path]


def look_up(document: JsonDocument, wanted: tuple[str, ...]) -> FoundValue | None:
    value: Any = document.value
    path: list[str | int] = []
    is_exact = True
    for key in wanted:
        if isinstance(value, list):
            position = _numbered(value, key)
            if position is None:
                return None
            path.append(position)
            value = value[position]
            continue
        if not isinstance(value, dict):
            return None
        if key not in value:
            loose = [other for other in value if flat(other) == flat(key)]
            if len(loose) != 1:
                return None
            key, is_exact = loose[0], False
        path.append(key)
        value = value[key]
    place = tuple(path)
    # Only the last value of an object that never ends may have been going to be another one.
    cut = document.cut if document.cut and place == _last_path(document.value) else ""
    return FoundValue(
        value, place, document.places.get(place, document.span), is_exact, cut, document.doubled
    )


def _last_path(value: Any) -> Path:
    path: list[str | int] = []
    while isinstance(value, dict | list) and value:
        key: Any = next(reversed(value)) if isinstance(value, dict) else len(value) - 1
        path.append(key)
        value = value[key]
    return tuple(path)


_NUMBER_KEYS = ("number", "no", "n", "id", "index", "point", "claim")


def _numbered(entries: list[Any], key: str) -> int | None:
    """Where a list of objects has the one with this number;
    in a list without numbers, the entry at that position.
    """
    if not key.isdigit():
        return None
    numbers = [
        next((str(entry[name]) for name in _NUMBER_KEYS if isinstance(entry.get(name), int | str)), None)
        if isinstance(entry, dict)
        else None
        for entry in entries
    ]
    if any(number is not None and number.isdigit() for number in numbers):
        return numbers.index(key) if numbers.count(key) == 1 else None
    return int(key) - 1 if 1 <= int(key) <= len(entries) else None


def number_of(entry: FoundValue, scale: Scale) -> Reading:
    """A JSON value as a score: a number, or a text that is nothing but one."""
    value = entry.value
    if isinstance(value, bool):
        return Reading(status="unparsed", span=entry.span)
    if isinstance(value, str):
        return _number_in(narrow(value).strip().strip("*"), entry, scale)
    if not isinstance(value, int | float) or value in (float("inf"), float("-inf")):
        return Reading(status="unparsed", span=entry.span)
    if entry.cut and entry.cut == str(value) and _could_go_on(float(value), scale):
        return Reading(status="unparsed", span=entry.span)
    status = scale.status_of(float(value))
    return Reading(float(value) if status == "ok" else None, status, "anchored", entry.span)


_TRUTHS = {True: ("true", "yes", "supported", "met"), False: ("false", "no", "not supported", "not met")}


def option_of(entry: FoundValue, names: OptionNames) -> Reading:
    """A JSON value as one of several named options: its
    name, or a truth value where the names are yes and no.
    """
    value = entry.value
    if isinstance(value, bool):
        written = next((word for word in _TRUTHS[value] if names.exactly(word)), "")
    else:
        written = value if isinstance(value, str) and value != entry.cut else ""
    name = names.exactly(written) or names.opens(narrow(written))
    return Reading(name, "ok" if name else "unparsed", "anchored", entry.span)


def _number_in(written: str, entry: FoundValue, scale: Scale) -> Reading:
    read = score_value(scale)(written, 0)
    number = number_at(written, 0)
    rest = written[number.until if number else 0 :].strip(" .。")
    if read is None or (number is not None and rest):
        return Reading(status="refused" if abstains(written, 0) else "unparsed", span=entry.span)
    value, status, _ = read
    return Reading(value if status == "ok" else None, status, "anchored", entry.span)


def _could_go_on(value: float, scale: Scale) -> bool:
    """Whether a number at which a reply was cut off may have been the beginning of another one."""
    if scale.step is None or scale.step != int(scale.step):
        return True
    return scale.high is None or any(scale.status_of(value * 10 + digit) == "ok" for digit in range(10))


def flat(text: str) -> str:
    return _LOOSE.sub("", narrow(text)).casefold()

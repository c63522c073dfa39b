"""Mistakes in the settings of a protocol: no TOML, an unknown key, a value of another type, each in plain
words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import inspect

from ..did_you_mean import did_you_mean
from .setting_lines import Steps, line_number, line_of_steps

_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")


class Mistake(NamedTuple):
    """One thing in a TOML file that cannot be used: its line, what it is, and what to do."""

    line: int
    message: str
    todo: str
    name: str = "bad-value"


def toml_mistake(file: str, toml: str, error: Exception, lists: Iterable[str]) -> Mistake:
    """Why a text is no TOML, with its line. `lists` are the keys that need double brackets."""
    match = _AT_LINE.search(str(error))
    line = int(match[1]) if match else line_number(toml.rstrip(), len(toml))
    names = "|".join(map(re.escape, lists))
    single = re.search(rf"^[ \t]*\[[ \t]*({names})[ \t]*\][ \t]*(?:#.*)?$", toml, re.MULTILINE)
    if single and re.match(rf"[ \t]*\[+[ \t]*{single[1]}[ \t]*\]", toml.split("\n")[line - 1]):
        # The parser complains of the second heading, which may be the right one.
        message = f"[{single[1]}] is a single table, but the file has several."
        return Mistake(line_number(toml, single.start(1)), message, _double(single[1]), "not-toml")
    return Mistake(line, f"{file} is not valid TOML: {error}.", "Fix it there.", "not-toml")


def key_meant(word: str, known: Sequence[str]) -> str:
    """What to do about an unknown key: take the likeliest one, or one of all."""
    return did_you_mean(word, known) or f"Known keys: {', '.join(known)}."


def mistakes_in(toml: str, value: object, kind: Any, key: str, entry: int | None = None) -> list[Mistake]:
    """All that keeps the value of a key (or one entry of its list) from being of a type, in plain words."""
    info = inspect.type_info(kind)
    if entry is None:
        mistakes = _mistakes(value, info, _SettingPath((key,), key))
    else:
        mistakes = _mistakes(value, info, _entry_path(_SettingPath((key,), key), entry, value))
    return [
        Mistake(line_of_steps(toml, steps), message, todo, name) for steps, message, todo, name in mistakes
    ]


class _SettingPath(NamedTuple):
    steps: Steps
    key: str
    """what the value is called: its key, or which entry of a list it is"""
    inside: str = ""
    """what it stands in: "[answer]", "the scale of 'depth'"; nothing at the top"""
    name: str = ""
    """what it is called by what stands inside it; nothing for a table at the top"""
    owner: str = ""
    """the same where a noun goes before it: the scale of 'depth', not of criterion 'depth'"""

    def words(self) -> str:
        return f"{self.key} in {self.inside}" if self.inside else self.key

    def within(self, key: str) -> _SettingPath:
        """The place of a key of the table that stands here."""
        table = self.name or f"[{self.key}]"
        inner = f"the {key} of {self.owner or table}"
        return _SettingPath((*self.steps, key), key, table, inner, inner)


_Problem = tuple[Steps, str, str, str]


_ENTRIES = {"criteria": "criterion"}
"""What one entry of a list is called, where that is not the list's own key; its name then says enough."""


def _entry_path(place: _SettingPath, number: int, value: object) -> _SettingPath:
    noun = _ENTRIES.get(place.key, place.key)
    entry_name = value.get("name") if isinstance(value, dict) else None
    name = f"'{entry_name}'" if isinstance(entry_name, str) and entry_name else ""
    words = f"{noun} {name or number + 1}"
    key = f"entry {number + 1} of {place.key}"
    owner = name if name and place.key in _ENTRIES else words
    return _SettingPath((*place.steps, number), key, place.inside, words, owner)


def _mistakes(value: object, kind: inspect.Type, place: _SettingPath) -> Iterator[_Problem]:
    options = [
        option
        for option in (kind.types if isinstance(kind, inspect.UnionType) else (kind,))
        if not isinstance(option, inspect.NoneType)
    ]
    option = next((option for option in options if _has_shape(value, option)), None)
    if isinstance(option, inspect.StructType) and isinstance(value, dict):
        yield from _in_struct(value, option, place)
    elif isinstance(option, inspect.DictType) and isinstance(value, dict):
        yield from _in_dict(value, option, place)
    elif isinstance(option, inspect.ListType | inspect.VarTupleType) and isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _mistakes(entry, option.item_type, _entry_path(place, number, entry))
    elif option is None:
        yield from _unfit(value, options, place)


def _has_shape(value: object, kind: inspect.Type) -> bool:
    """Whether a value is of a kind as far as can be seen from outside."""
    match kind:
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.FloatType() | inspect.IntType():
            return isinstance(value, int | float) and not isinstance(value, bool)
        case inspect.LiteralType():
            return value in kind.values
        case inspect.StructType() | inspect.DictType():
            return isinstance(value, dict)
        case inspect.ListType() | inspect.VarTupleType():
            return isinstance(value, list)
    return False


def _in_struct(value: dict[str, Any], kind: inspect.StructType, place: _SettingPath) -> Iterator[_Problem]:
    fields = {field.encode_name: field for field in kind.fields}
    for key, inner in value.items():
        here = place.within(key)
        if key in fields:
            yield from _mistakes(inner, fields[key].type, here)
        elif kind.forbid_unknown_fields:
            todo = key_meant(key, list(fields))
            yield here.steps, f"unknown key '{key}' in {here.inside}.", todo, "unknown-key"
    for key, field in fields.items():
        if field.required and key not in value:
            here = place.within(key)
            yield place.steps, f"key '{key}' is missing in {here.inside}.", f"Add {key} = …", "missing-key"


def _in_dict(value: dict[str, Any], kind: inspect.DictType, place: _SettingPath) -> Iterator[_Problem]:
    for key, inner in value.items():
        here = place.within(key)
        if isinstance(kind.key_type, inspect.LiteralType) and key not in kind.key_type.values:
            todo = key_meant(key, [str(known) for known in kind.key_type.values])
            yield here.steps, f"unknown key '{key}' in {here.inside}.", todo, "unknown-key"
        else:
            yield from _mistakes(inner, kind.value_type, here)


def _unfit(value: object, options: Sequence[inspect.Type], place: _SettingPath) -> Iterator[_Problem]:
    """A value that is of none of the kinds that may stand in its place."""
    words = [
        str(word) for option in options if isinstance(option, inspect.LiteralType) for word in option.values
    ]
    table = next(
        (
            option.item_type
            for option in options
            if isinstance(option, inspect.ListType | inspect.VarTupleType)
        ),
        None,
    )
    if words and isinstance(value, str):
        others = [option for option in options if not isinstance(option, inspect.LiteralType)]
        allowed = ", ".join([*words, *([_either(others)] if others else [])])
        todo = f"{did_you_mean(value, words)} It can be: {allowed}.".lstrip()
        yield place.steps, f"{place.words()} cannot be '{_short(value)}'.", todo, "bad-value"
    elif isinstance(value, dict) and isinstance(table, inspect.StructType):
        message = f"{place.words()} is a single table, but must be a list of tables."
        yield place.steps, message, _double(place.key), "bad-value"
        if any(field.encode_name in value for field in table.fields):
            yield from _in_struct(value, table, _entry_path(place, 0, value))
    else:
        message = f"{place.words()} must be {_either(options)}, not {_called(value)}."
        yield place.steps, message, _remedy(value, options, place.key), "bad-value"


def _double(key: str) -> str:
    return f"Write [[{key}]], in double brackets."


def _remedy(value: object, options: Sequence[inspect.Type], key: str) -> str:
    if isinstance(value, str):
        if any(isinstance(option, inspect.FloatType | inspect.BoolType) for option in options):
            return "Write it without quotation marks."
        if any(isinstance(option, inspect.ListType | inspect.VarTupleType) for option in options):
            return f'Write {key} = ["{_short(value)}"].'
    return "Correct the value."


def _either(options: Sequence[inspect.Type], *, several: bool = False) -> str:
    return " or ".join(dict.fromkeys(_kind(option, several=several) for option in options))


def _kind(kind: inspect.Type, *, several: bool = False) -> str:
    match kind:
        case inspect.StrType():
            return "texts" if several else "a text"
        case inspect.BoolType():
            return "true or false"
        case inspect.FloatType() | inspect.IntType():
            return "numbers" if several else "a number"
        case inspect.LiteralType():
            return "one of " + ", ".join(map(str, kind.values))
        case inspect.ListType() | inspect.VarTupleType():
            inner = kind.item_type
            options = inner.types if isinstance(inner, inspect.UnionType) else (inner,)
            return f"{'lists' if several else 'a list'} of {_either(options, several=True)}"
    return "tables" if several else "a table"


def _called(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() if abs(value) > 10**15:
            return "a number of that size"
        case int() | float():
            return f"the number {value:g}"
        case str():
            return f"the text '{_short(value)}'"
        case list():
            return "a list"
        case dict():
            return "a table"
    return "a date or a time"


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"

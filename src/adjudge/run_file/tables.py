"""The tables of a run file: which keys [runs.NAME] may have,
which type each value has, and what is wrong with one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Struct, structs

from ..did_you_mean import did_you_mean
from ..records import Rubric
from ..run_options.options import Declared, JudgeSettings, declared_options


def _file_type(declared: Declared) -> Any:
    """The type of an option's value in the file."""
    is_union = get_origin(declared.type) in (Union, UnionType)
    members = get_args(declared.type) if is_union else (declared.type,)
    types: list[Any] = []
    for member in members:
        origin = get_origin(member)
        if origin is Mapping:
            types.append(dict[get_args(member)])  # type: ignore[misc]
        elif origin is Sequence:
            types.append(list[str])
        elif member in (Path, Rubric) or (origin is Literal and len(members) > 1):
            types.append(str)
        else:
            types.append(member)
    return Union[tuple(dict.fromkeys(types))]  # noqa: UP007  the members are known only here


@cache
def run_settings() -> type[Struct]:
    """The type of a table [runs.NAME]: its own keys, and every option of a run."""
    fields: list[tuple[str, Any, Any]] = [
        ("items", str | None, None),
        ("judge", tuple[JudgeSettings, ...], ()),
        ("protocol", str | list[str] | None, None),
        ("models", str | list[str] | None, None),
        ("quiet", bool | None, None),
        ("dry_run", bool | None, None),
        ("yes", bool | None, None),
        ("no_reask", bool | None, None),
        ("cascade", str | None, None),
        ("check", str | float | None, None),
    ]
    for name, declared in declared_options().items():
        fields.append((name, _file_type(declared) | None, None))
    return msgspec.defstruct("RunSettings", fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


def converted_table(values: Any, kind: Any, where: str, problems: list[str]) -> Any:
    """The values of a table as a struct; none, and every problem by its key, where they do not fit."""
    if not isinstance(values, dict):
        problems.append(f"{where}: give a table. Write [{where}] and its keys below.")
        return None
    before = len(problems)
    fields = {field.name: field for field in structs.fields(kind)}
    for key, value in list(values.items()):
        place = f"{where}.{key}"
        if key not in fields:
            problems.append(f"{place}: {unknown_key(key, fields)}")
        elif key == "judge":
            _check_judges(value, place, problems)
        else:
            if key == "reask" and isinstance(value, bool):
                values[key] = value = int(value)
            try:
                msgspec.convert(value, fields[key].type)
            except msgspec.ValidationError:
                problems.append(f"{place}: give {_words(fields[key].type)}, not {_shown(value)}.")
    problems += [
        f"{where}.{key}: it is missing. Add {key} = …"
        for key, field in fields.items()
        if field.required and key not in values
    ]
    return msgspec.convert(values, kind) if len(problems) == before else None


def _check_judges(value: Any, where: str, problems: list[str]) -> None:
    if not isinstance(value, list):
        problems.append(f'{where}: give a list of tables, as in judge = [{{ criterion = "Is it polite?" }}].')
        return
    for number, entry in enumerate(value):
        place = f"{where}[{number}]"
        settings = converted_table(entry, JudgeSettings, place, problems)
        if settings is not None and not (settings.protocol or settings.rubric or settings.criterion):
            problems.append(f"{place}: give a protocol, a rubric or a criterion.")


def unknown_key(key: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    hint = did_you_mean(key, known, f"The keys are {', '.join(known)}.")
    return f"unknown key. {hint}"


_KINDS: dict[Any, str] = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list of texts",
    tuple: "two numbers, [in, out]", dict: "a table",
}  # fmt: skip


def _words(kind: Any) -> str:
    members = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    words = []
    for member in members:
        if get_origin(member) is Literal:
            words.append(", ".join(f'"{choice}"' for choice in get_args(member)))
        elif member is not type(None):
            words.append(_KINDS.get(get_origin(member) or member, "another value"))
    return " or ".join(words)


def _shown(value: Any) -> str:
    return f"'{value!s:.60}'"

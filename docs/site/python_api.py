"""Reference pages of the Python package and of its JSON, from signatures, fields and docstrings."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import typing
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec

import adjudge
from adjudge.run_options.keywords import JudgeKeywords
from adjudge.run_options.options import declared_options


def api_page() -> str:
    """The page of all public names: functions first, then classes with their fields and methods."""
    values = {name: getattr(adjudge, name) for name in adjudge.__all__ if not name.startswith("_")}
    functions = {name: value for name, value in values.items() if inspect.isfunction(value)}
    classes = {name: value for name, value in values.items() if inspect.isclass(value)}
    lines = ["# Python API", "", "All public names of the package `adjudge`.", "", "## Functions"]
    for name, function in functions.items():
        lines += ["", f"### {name}", "", *_signature(f"adjudge.{name}", function), "", _doc(function)]
    lines += [
        "",
        "### Options of a run",
        "",
        "Keywords of `run` and `run_async`; those marked * of `Judge` too.",
    ]
    lines += ["", "| keyword | type | default | meaning |", "|---|---|---|---|", *_options()]
    lines += ["", "## Classes and records"]
    for name, each in classes.items():
        lines += ["", f"### {name}", "", _doc(each), *_field_table(each), *_methods(each)]
    return "\n".join(lines) + "\n"


def _options() -> Iterator[str]:
    """A row for each option of a run."""
    of_judge = JudgeKeywords.__annotations__
    for name, declared in declared_options().items():
        mark = " *" if name in of_judge else ""
        text = declared.option.help.replace("|", "\\|")
        default = "the environment's" if name == "store" else f"`{declared.default!r}`"
        yield f"| `{name}`{mark} | {_type_text(declared.type)} | {default} | {text} |"


def json_page(outputs: dict[str, type]) -> str:
    """The page of what `--json` prints: the type of each command, then every type that it holds."""
    lines = ["# JSON outputs", "", _JSON_INTRODUCTION, "", "| command | type |", "|---|---|"]
    for command, each in outputs.items():
        lines.append(f"| `{command} --json` | [{each.__name__}](#{each.__name__.lower()}) |")
    for each in _with_parts(outputs.values()):
        lines += ["", f"## {each.__name__}", "", _doc(each), *_field_table(each)]
    return "\n".join(lines) + "\n"


_JSON_INTRODUCTION = """Every command that prints a result takes `--json`: the same content as the tables. A
statistic that is undefined is null, with its reason; an unset field is left out."""


def _signature(name: str, function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    shown = [_parameter(each) for each in parameters if each.name not in ("self", "cls")]
    one = f"{name}({', '.join(shown)})"
    many = f"{name}(\n" + "".join(f"    {each},\n" for each in shown) + ")"
    return ["```python", one if len(one) <= 100 else many, "```"]


def _parameter(each: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(each.kind, "")
    kind = "" if each.annotation is each.empty else f": {each.annotation}"
    return f"{stars}{each.name}{kind}" + ("" if each.default is each.empty else f" = {each.default!r}")


def _methods(each: type) -> Iterator[str]:
    for name, value in vars(each).items():
        if name.startswith("_") or not (inspect.isfunction(value) or isinstance(value, property)):
            continue
        if isinstance(value, property):
            yield from ("", f"**{name}** {_doc(value)}")
        else:
            yield from ("", *_signature(f"{each.__name__}.{name}", value), "", _doc(value))


def _doc(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    return "" if text == inspect.getdoc(msgspec.Struct) else text


def _field_table(each: type) -> list[str]:
    if not issubclass(each, msgspec.Struct):
        return []
    texts = _field_texts(each)
    rows = [
        f"| `{name}` | {_type_text(kind)} | {texts.get(name, '')} |"
        for name, kind in typing.get_type_hints(each).items()
        if not name.startswith("_")
    ]
    return ["", "| field | type | meaning |", "|---|---|---|", *rows] if rows else []


@cache
def _field_texts(each: type) -> dict[str, str]:
    """The docstring below each field, also of the classes that it extends."""
    texts: dict[str, str] = {}
    for part in reversed(each.__mro__):
        if not issubclass(part, msgspec.Struct) or part is msgspec.Struct:
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(part))).body[0]
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, text in pairwise(statements):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and _is_text(text):
                value = typing.cast("ast.Constant", typing.cast("ast.Expr", text).value).value
                texts[field.target.id] = " ".join(str(value).split()).replace("|", "\\|")
    return texts


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _type_text(kind: Any) -> str:
    if kind is type(None):
        return "null"
    if kind is msgspec.UnsetType:
        return ""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(text for text in map(_type_text, inside) if text)
    if origin is typing.Literal:
        return ", ".join(f'`"{each}"`' if isinstance(each, str) else f"`{each}`" for each in inside)
    if origin is typing.Annotated:
        return _type_text(inside[0])
    if origin is tuple or origin is list:
        return "list of " + " or ".join(dict.fromkeys(_type_text(each) for each in inside if each is not ...))
    if origin is dict or (origin is not None and len(inside) == 2):
        return f"object: {_type_text(inside[0])} → {_type_text(inside[1])}"
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind.__name__
    names = {str: "text", bool: "true or false", float: "number", int: "integer"}
    return names.get(kind, getattr(kind, "__name__", str(kind)))


def _with_parts(outputs: typing.Iterable[type]) -> list[type]:
    """The types and all structs in their fields, each once, in the order in which they appear."""
    waiting, known = list(outputs), dict[type, None]()
    while waiting:
        each = waiting.pop(0)
        if each in known:
            continue
        known[each] = None
        for kind in typing.get_type_hints(each).values():
            waiting += _structs_in(kind)
    return list(known)


def _structs_in(kind: Any) -> Iterator[type]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for part in typing.get_args(kind):
        yield from _structs_in(part)

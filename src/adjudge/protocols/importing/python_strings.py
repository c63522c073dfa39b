"""Prompts in a Python file: its string constants, found in the syntax tree.

Nothing is executed or imported. F-strings are left out: their text exists only while the
program runs, and what stands in their braces is code, not the name of an input.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import warnings
from collections.abc import Callable, Iterator

from msgspec import Struct

from ...errors import DataError
from .found import (
    MIN_LITERAL,
    MIN_PLAIN,
    MIN_UNANNOUNCED,
    Found,
    Search,
    has_judge_words,
    is_prompt_name,
    is_prose,
    length_of,
)
from .slots import Template, templated, templated_as_format

MIN_UNNAMED = 120
"""Characters that a string needs where no name says what it is; messages of a program are shorter."""

KEPT_BRACES = (
    "doubled braces were kept; if str.format fills this prompt, write the literal ones as single braces"
)

_FORMAT_METHODS = ("format", "format_map")
_ROLES = ("system", "user", "human", "assistant", "ai")
_STRIPS: dict[str, Callable[[str], str]] = {"strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip}
_DEDENTS: dict[str, Callable[[str], str]] = {"dedent": textwrap.dedent, "cleandoc": inspect.cleandoc}


class _Constant(Struct, frozen=True):
    """A string constant with the names around it, innermost first."""

    value: str
    names: tuple[str, ...]
    node: ast.expr
    undone: tuple[str, ...] = ()


def parsed(source: str) -> ast.Module | None:
    """The syntax tree of a text, or none where it is no Python."""
    tree = _parse(source)
    return tree if isinstance(tree, ast.Module) else None


def syntax_problem(source: str) -> str:
    """Why a text is no Python, with the line where that is known."""
    problem = _parse(source)
    if isinstance(problem, SyntaxError):
        return f"line {problem.lineno}: {problem.msg}"
    return "" if isinstance(problem, ast.Module) else str(problem) or type(problem).__name__


def _parse(source: str) -> ast.Module | Exception:
    try:
        with warnings.catch_warnings():
            # An invalid escape in someone's file is not our user's concern.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return error


def string_variables(source: str) -> dict[str, str]:
    """The string constants that a Python text assigns to names at its top level."""
    tree = parsed(source)
    if tree is None:
        raise DataError("the document is not valid Python. Give it unchanged.")
    constants = (constant for constant in _constants(tree)[0] if constant.names)
    return {constant.names[0]: constant.value for constant in constants}


def prompts_in_python(tree: ast.Module, first_line: int = 1) -> Search:
    """The prompts among the string constants of a tree whose text begins at `first_line`."""
    constants, f_strings = _constants(tree)
    formatted = _formatted(tree)
    search = Search([], [])
    for constant in constants:
        found = _found(constant, formatted, first_line - 1)
        if _is_prompt(found):
            if _is_unicode(constant.value):
                search.prompts.append(found)
            else:
                search.notes.append(f"line {found.first_line}: a string with half a character was left out.")
    if f_strings:
        lines = ", ".join(str(node.lineno + first_line - 1) for node in f_strings[:5])
        search.notes.append(
            f"{len(f_strings)} f-string(s) that look like prompts were left out (line {lines}): what stands in "
            "their braces is code. Write them as plain strings with {name} to import them."
        )
    return search


def _is_prompt(found: Found) -> bool:
    template = found.template
    announced = found.name in _ROLES or any(is_prompt_name(name) for name in found.names)
    if not is_prose(template, MIN_LITERAL if announced else MIN_UNANNOUNCED):
        return False
    speaks = has_judge_words(template.literal)
    if not found.names:
        return speaks and bool(template.slots) and length_of(template.literal) >= MIN_UNNAMED
    if template.slots:
        return speaks or announced
    return speaks and announced and length_of(template.literal) >= MIN_PLAIN


def _found(constant: _Constant, formatted: set[str | int], offset: int) -> Found:
    template, undone, doubts = _template(constant, formatted)
    node = constant.node
    return Found(
        names=constant.names,
        template=template,
        first_line=node.lineno + offset,
        last_line=(node.end_lineno or node.lineno) + offset,
        undone=(
            "The Python string was evaluated: escapes became the characters they stand for.",
            *constant.undone,
            *undone,
        ),
        doubts=doubts,
    )


def _template(
    constant: _Constant, formatted: set[str | int]
) -> tuple[Template, tuple[str, ...], tuple[str, ...]]:
    """The string as a template: doubled braces are undone only where the file itself formats it."""
    value = constant.value
    plain = templated(value)
    is_formatted = id(constant.node) in formatted or (
        constant.names[:1] != () and constant.names[0] in formatted
    )
    if is_formatted and (template := templated_as_format(value)) is not None:
        undone = ("Doubled braces became single ones, since the file fills this string with str.format.",)
        return template, undone if template.doubled_braces else (), ()
    has_single = "{" in value.replace("{{", "") and bool(plain.slots)
    if is_formatted or (has_single and "{{" in value):
        return plain, (), (KEPT_BRACES,) if "{{" in value or "}}" in value else ()
    return plain, (), ()


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


# -- walking the tree


def _constants(tree: ast.Module) -> tuple[list[_Constant], list[ast.JoinedStr]]:
    """All string constants but docstrings, in the order of the file, and f-strings about judging."""
    constants: list[_Constant] = []
    f_strings: list[ast.JoinedStr] = []
    # An explicit stack: a long chain of operators is as deep as it is long.
    stack: list[tuple[ast.AST, tuple[str, ...]]] = [(tree, ())]
    while stack:
        node, names = stack.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring, or a string that nothing uses
        if isinstance(node, ast.expr) and (folded := _folded(node)) is not None:
            value, undone = folded
            constants.append(_Constant(value, names, node, undone))
            continue
        if isinstance(node, ast.JoinedStr):
            if _is_judging(node):
                f_strings.append(node)
            continue
        stack.extend(reversed(list(_children(node, names))))
    return constants, f_strings


def _children(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[ast.AST, tuple[str, ...]]]:
    """The nodes below one, each with the names that now stand around it."""
    if isinstance(node, ast.Assign):
        yield node.value, (*_target_names(node.targets), *names)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.value, (*_target_names([node.target]), *names)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        for child in ast.iter_child_nodes(node):
            yield child, (node.name, *names)
    elif isinstance(node, ast.Dict):
        role = _role(node)
        for key, value in zip(node.keys, node.values, strict=True):
            name = _text(key)
            yield value, (role if role and name == "content" else name, *names) if name else names
    elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and _text(node.elts[0]) in _ROLES:
        yield node.elts[1], (_text(node.elts[0]), *names)
    elif isinstance(node, ast.Call):
        yield node.func, names
        # A positional argument is a message more often than a prompt, unless a name announces it.
        kept = names if names and is_prompt_name(names[0]) else ()
        for argument in node.args:
            yield argument, kept
        for keyword in node.keywords:
            yield keyword.value, (keyword.arg, *names) if keyword.arg else names
    elif isinstance(node, ast.Expr | ast.Raise | ast.Assert | ast.Compare):
        for child in ast.iter_child_nodes(node):
            yield child, ()
    else:
        for child in ast.iter_child_nodes(node):
            yield child, names


def _text(node: ast.AST | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _role(node: ast.Dict) -> str:
    """Who speaks in a chat message written as a dict: its content goes by that name."""
    for key, value in zip(node.keys, node.values, strict=True):
        if _text(key) == "role":
            return _text(value)
    return ""


def _target_names(targets: list[ast.expr]) -> list[str]:
    names = []
    for target in targets:
        if isinstance(target, ast.Name):
            names.append(target.id)
        elif isinstance(target, ast.Attribute):
            names.append(target.attr)
        elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            names.append(str(target.slice.value))
    return names[:1]


def _folded(node: ast.expr, depth: int = 4) -> tuple[str, tuple[str, ...]] | None:
    """The string that an expression of constants alone comes to, and what was worked out for it."""
    if isinstance(node, ast.Constant):
        return (node.value, ()) if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp):
        return _joined(node)
    if not isinstance(node, ast.Call) or node.keywords or depth == 0:
        return None
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if isinstance(function, ast.Attribute) and name in _STRIPS and not node.args:
        inner, change = _folded(function.value, depth - 1), _STRIPS[name]
    elif name in _DEDENTS and len(node.args) == 1:
        inner, change = _folded(node.args[0], depth - 1), _DEDENTS[name]
    else:
        return None
    return (change(inner[0]), (*inner[1], f"The string is used as {name}() leaves it.")) if inner else None


def _joined(node: ast.BinOp) -> tuple[str, tuple[str, ...]] | None:
    """A chain of `"…" + "…"`; the chain leans to the left, so it is walked down there."""
    parts: list[str] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
        if not isinstance(left.right, ast.Constant) or not isinstance(left.right.value, str):
            return None
        parts.append(left.right.value)
        left = left.left
    if not isinstance(left, ast.Constant) or not isinstance(left.value, str):
        return None
    parts.append(left.value)
    return "".join(reversed(parts)), ("Strings joined by + became one.",)


def _is_judging(node: ast.JoinedStr) -> bool:
    text = "".join(
        part.value for part in node.values if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    return len(text) >= MIN_PLAIN and has_judge_words(text)


def _formatted(tree: ast.Module) -> set[str | int]:
    """What the file calls `.format` on: names, and constants by their identity."""
    owners: set[str | int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in _FORMAT_METHODS:
            owner = node.func.value
            owners.update([id(owner), *_target_names([owner])])
    return owners
